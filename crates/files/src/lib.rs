//! Files that somebody else has written, and files that appear whole or not at all.
//!
//! [`bounded`] reads texts up to the bounds of their kind, [`write_atomically`], [`put`] and [`Temporary`] write, and [`full`] knows
//! a disk without room.

#![forbid(unsafe_code)]

mod atomic;
pub mod bounded;
mod error;
pub mod full;

pub use atomic::{Temporary, put, write_atomically};
pub use error::{Cause, ExportError};
