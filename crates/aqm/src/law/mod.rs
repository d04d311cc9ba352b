//! Mathematics that several disciplines share: no packets, no time of its own.

pub mod early;
pub mod ewma;
pub mod rate;
pub mod sharing;
