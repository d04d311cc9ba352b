//! The catalogue: one file per discipline. [`crate::registry`] lists them.

pub mod red;
