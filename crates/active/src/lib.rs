//! An active measurement (RFC 7799) of the path between two hosts: `aqmkit measure --to HOST`.
//!
//! One host serves ([`Server`]), the other measures ([`measure`]). Sparse UDP packets cross the path and return all the time; first nothing else does, then TCP
//! connections carry data to the server, then from it. Time and data are bounded by the host that measures, and by [`MOST_TIME`] and [`MOST_DATA`].
//! The result has the form of files of measurements ([`aqmkit_estimate::measurement`]), one for each direction.
//!
//! | module | holds |
//! |---|---|
//! | `client` | the test, in its order |
//! | `server` | the other host |
//! | `protocol` | what the two say to each other |
//! | `transfer` | a TCP connection that loads the path, at its two ends |
//! | `probe` | the sparse packets |
//! | `assemble` | measurements of all that |

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod assemble;
mod client;
mod probe;
mod protocol;
mod server;
mod transfer;

pub use client::{ActiveError, Measured, Phase, Settings, measure};
pub use protocol::{MOST_DATA, MOST_TIME, PORT};
pub use server::Server;
