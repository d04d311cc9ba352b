//! The catalogue: one file per discipline. [`crate::registry`] lists them.

pub mod ared;
pub mod cbq;
pub mod cbt;
pub mod curvy_red;
pub mod dualpi2;
pub mod dualq;
pub mod erd;
pub mod fifo;
pub mod fred;
pub mod pi;
pub mod red;
pub mod rem;
