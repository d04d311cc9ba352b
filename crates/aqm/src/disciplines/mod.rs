//! The catalogue: one file per discipline. [`crate::registry`] lists them.

pub mod cbq;
pub mod cbt;
pub mod erd;
pub mod fifo;
pub mod fred;
pub mod red;

pub mod codel;
pub mod fq_codel;
pub mod fq_pie;
pub mod pi2;
pub mod pie;
pub mod step;
