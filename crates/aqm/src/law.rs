//! Mathematics that several disciplines share: no packets, no time of its own.

pub mod adaptive;
pub mod cobalt;
pub mod control;
pub mod curvy;
pub mod dq_rate;
pub mod early;
pub mod ewma;
pub mod misbehaving;
pub mod part;
pub mod pi;
pub mod preferential;
pub mod priorities;
pub mod rate;
pub mod sharing;
pub mod tcp;
pub mod token_bucket;
