//! The parts that the adapters of QUIC stacks have in common.
//!
//! | module | holds |
//! |---|---|
//! | [`end`] | [`End`], which makes a [`Stack`](aqmkit_stack::Stack) of a connection: one stream of zeros in each direction |
//! | [`handshake`] | a handshake whose messages have the lengths of TLS 1.3 and carry nothing but the transport parameters |
//! | [`params`] | the parameters in experiment files |
//! | [`clock`] | virtual time as the standard library's |
//! | [`seed`] | seeds of 32 bytes, and connection IDs that are counted |

pub mod clock;
pub mod end;
pub mod handshake;
pub mod params;
pub mod seed;

pub use end::{Connection, End, Progress, Sent};
pub use params::Params;

/// Bytes of the headers of UDP and IPv4.
pub const HEADERS: u32 = 28;

/// Bytes of an AEAD's tag, and of the sample that protects a header, as with AES-GCM.
pub const TAG: usize = 16;
