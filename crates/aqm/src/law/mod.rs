//! Mathematics that several disciplines share: no packets, no time of its own.

pub mod early;
pub mod ewma;
pub mod misbehaving;
pub mod preferential;
pub mod sharing;
pub mod tcp;
