//! Reading files of unknown origin, replacing files atomically, and packing files into a program.
//!
//! With the feature `texts`, [`bounded`] reads text files with a maximum size for each kind; [`write_atomically`],
//! [`put`] and [`Temporary`] write files; and [`full`] recognises full disks. With the feature `packed`, [`packed`]
//! packs a directory in a build script and unpacks it in the program.

#![forbid(unsafe_code)]

#[cfg(feature = "texts")]
mod atomic;
#[cfg(feature = "texts")]
pub mod bounded;
#[cfg(feature = "texts")]
mod error;
#[cfg(feature = "texts")]
pub mod full;
#[cfg(feature = "packed")]
pub mod packed;

#[cfg(feature = "texts")]
pub use atomic::{Temporary, put, write_atomically};
#[cfg(feature = "texts")]
pub use error::{Cause, ExportError};
