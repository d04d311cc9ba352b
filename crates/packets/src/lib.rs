//! Real packets without an operating system: what their headers say, the shaper that gives each its departure, and captures replayed in
//! virtual time.
//!
//! Nothing here makes a system call or reads a clock: time is an argument. The live path moves packets of the kernel through the same
//! [`Shaper`] that [`replay`] sends those of a capture through, so that both treat a packet alike, and a capture can be replayed on any system.

#![forbid(unsafe_code)]

pub mod buckets;
pub mod frame;
pub mod meter;
pub mod replay;
pub mod shaper;
pub mod wire;

pub use buckets::Buckets;
pub use meter::Meter;
pub use shaper::{Setup, Shaper};
