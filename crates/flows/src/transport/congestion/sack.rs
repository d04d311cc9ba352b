//! # sack: RFC 5681 with SACK
//!
//! The window is `newreno`'s: half of what was in flight at a loss, one segment more for each window. What differs is how
//! losses are mended, and that is RFC 6675's, which this control always negotiates. Where the peer refuses, RFC 6582
//! mends them.

pub(in crate::transport) use super::newreno::NewReno as Sack;
