//! # sack: RFC 5681 with SACK
//!
//! The window is that of `newreno`: half of the flight size at a loss, one more segment per window. Losses
//! are repaired by RFC 6675, because this control always negotiates SACK; if the peer refuses, by RFC 6582.
//!
//! ## Law
//!
//! That of `newreno`. The windows of recovery are the threshold; what is in the network is counted by rfc6675's `Pipe`, or by
//! the record of what was sent where `loss_detection` is `"rack"`.
//!
//! ## Parameters
//!
//! None of its own; those of the transport profile.
//!
//! ## Deviations
//!
//! None of its own.
//!
//! ## Evidence
//!
//! `tests/transport/recovery.rs`: recovery packet by packet.
//!
//! ## References
//!
//! * rfc6675: E. Blanton et al., A Conservative Loss Recovery Algorithm Based on Selective Acknowledgment (SACK) for
//!   TCP, 2012.

pub(crate) use super::newreno::NewReno as Sack;
