//! The parts that the adapters of QUIC stacks have in common.
//!
//! | module | holds |
//! |---|---|
//! | [`handshake`] | a handshake whose messages have the lengths of TLS 1.3 and carry nothing but the transport parameters |
//! | [`params`] | the parameters in experiment files |
//! | [`seed`] | seeds of 32 bytes, and connection IDs that are counted |
//! | [`trace`] | a trace as a writer of the standard library |

pub mod handshake;
pub mod params;
pub mod seed;
pub mod trace;

pub use params::Params;
pub use trace::TraceWriter;

/// Bytes of an AEAD's tag, and of the sample that protects a header, as with AES-GCM.
pub const TAG: usize = 16;
