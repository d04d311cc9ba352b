//! The catalogue: one file per discipline. [`crate::registry`] lists them.

pub mod cbq;
pub mod cbt;
pub mod dcn;
pub mod erd;
pub mod fifo;
pub mod floyd_fall;
pub mod fred;
pub mod red;
pub mod red_pd;
