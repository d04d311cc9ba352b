//! The parts that the adapters of stacks have in common, whatever the protocol.
//!
//! | module | holds |
//! |---|---|
//! | [`end`] | [`End`], which makes a [`Stack`](aqmkit_stack::Stack) of a connection: one stream of zeros in each direction |
//! | [`clock`] | virtual time as the standard library's |

pub mod clock;
pub mod end;

pub use end::{Connection, End, Progress, Sent};

/// Bytes of the headers of UDP and IPv4.
pub const UDP_HEADERS: u32 = 28;

/// The data of every stream.
pub static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
