//! Mathematics that several disciplines share: no packets, no time of its own.

pub mod curvy;
pub mod dq_rate;
pub mod early;
pub mod ewma;
pub mod part;
pub mod pi;
pub mod sharing;
pub mod token_bucket;
