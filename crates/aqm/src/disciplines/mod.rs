//! The catalogue: one file per discipline. [`crate::registry`] lists them.

pub mod afd;
pub mod ared;
pub mod blue;
pub mod cbq;
pub mod cbt;
pub mod choke;
pub mod codel;
pub mod curvy_red;
pub mod dualpi2;
pub mod dualq;
pub mod erd;
pub mod fifo;
pub mod fq_codel;
pub mod fq_pie;
pub mod fred;
pub mod pi;
pub mod pi2;
pub mod pie;
pub mod red;
pub mod rem;
pub mod rio;
pub mod rio_ps;
pub mod sfb;
pub mod sred;
pub mod step;
pub mod wred;
