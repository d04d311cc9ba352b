//! The laws, one file each.

pub mod afd;
pub mod ared;
pub mod blue;
pub mod dcn;
pub mod erd;
pub mod pi;
pub mod red;
pub mod rem;
pub mod sred;
pub mod step;
