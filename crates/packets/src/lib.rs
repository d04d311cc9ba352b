//! Real packets without an operating system: their headers, the shaper that computes departures, and the replay of
//! captures in virtual time.
//!
//! Nothing here makes a system call or reads a clock: time is an argument. The live path and [`replay`] use the same
//! [`Shaper`], so that both treat packets in the same way, and captures can be replayed on any system.

#![forbid(unsafe_code)]

pub mod buckets;
pub mod frame;
mod headers;
pub mod meter;
pub mod offload;
pub mod outgoing;
pub mod replay;
pub mod shaper;
pub mod super_packet;
pub mod wire;

pub use buckets::Buckets;
pub use meter::Meter;
pub use shaper::{Setup, Shaper};
