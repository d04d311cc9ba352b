//! Places to keep packets and flows.

pub mod ring;

pub use ring::Ring;
