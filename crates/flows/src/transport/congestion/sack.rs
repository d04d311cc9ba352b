//! # sack: RFC 5681 with SACK
//!
//! The window is `newreno`'s: half of what was in flight at a loss, one segment more for each window. What differs is how
//! losses are mended, and that is RFC 6675's, which this control always negotiates. Where the peer refuses, RFC 6582
//! mends them.
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

pub(in crate::transport) use super::newreno::NewReno as Sack;
