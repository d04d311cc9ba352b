//! The command `aqmkit`, and experiments on live links.

#![forbid(unsafe_code)]

pub mod cli;
#[cfg(live)]
mod live;
