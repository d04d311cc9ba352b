//! A deterministic packet-level simulator of congested links.

pub mod output;
