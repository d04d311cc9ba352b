//! The catalogue: one file per discipline. [`crate::registry`] lists them.

pub mod cbq;
pub mod cbt;
pub mod csfq;
pub mod drr;
pub mod erd;
pub mod fifo;
pub mod fq;
pub mod fred;
pub mod red;
pub mod sfq;
