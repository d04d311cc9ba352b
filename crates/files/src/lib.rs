//! Reading files of unknown origin, and replacing files atomically.
//!
//! [`bounded`] reads texts up to the bounds of their kind, [`write_atomically`], [`put`] and [`Temporary`] write, and
//! [`full`] recognises full disks.

#![forbid(unsafe_code)]

mod atomic;
pub mod bounded;
mod error;
pub mod full;

pub use atomic::{Temporary, put, write_atomically};
pub use error::{Cause, ExportError};
