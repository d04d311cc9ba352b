//! The laws, one file each.

pub mod ared;
pub mod blue;
pub mod dcn;
pub mod erd;
pub mod pi;
pub mod red;
pub mod rem;
pub mod step;
