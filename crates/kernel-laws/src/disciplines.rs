//! The laws, one file per discipline.

pub mod afd;
pub mod ared;
pub mod blue;
pub mod cbt;
pub mod codel;
pub mod csfq;
pub mod dcn;
pub mod erd;
pub mod fred;
pub mod pi;
pub mod pie;
pub mod red;
pub mod rem;
pub mod rio;
pub mod sfb;
pub mod sred;
pub mod step;
pub mod wred;
