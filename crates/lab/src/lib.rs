//! The command `aqmkit`.

#![forbid(unsafe_code)]

pub mod cli;
