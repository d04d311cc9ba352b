//! The catalogue: one file per discipline. [`crate::registry`] lists them.

pub mod afd;
pub mod blue;
pub mod cbq;
pub mod cbt;
pub mod choke;
pub mod erd;
pub mod fifo;
pub mod fred;
pub mod red;
pub mod rio;
pub mod rio_ps;
pub mod sfb;
pub mod sred;
pub mod wred;
