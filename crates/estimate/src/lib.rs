//! Estimates the bottleneck of a path from measurements that people have: `aqmkit measure`.
//!
//! | module | holds |
//! |---|---|
//! | [`read()`] | readers of flent, irtt, iperf3, ping and captures, into one form |
//! | [`measurement`] | that form: round trips of sparse packets, and flows with what they carried, how long it took and what was lost |
//! | [`Trial`] | several files of one test on one time axis, and when the load ran |
//! | [`estimate()`] | rate, base round trip, delay under load, buffer, kind of queue and losses, with intervals |
//! | [`Measured`] | the estimate as a file that `advise` and `compare` read |
//!
//! Unknown stays unknown: what the files do not show is listed ([`Estimate::unseen`]), not guessed.

#![forbid(unsafe_code)]

mod base;
mod estimate;
mod evidence;
mod loss;
mod measured;
pub mod measurement;
mod quantile;
mod queue;
mod rate;
mod read;
mod trial;
mod words;

pub use estimate::{Estimate, estimate};
pub use measured::{Measured, MeasuredError};
pub use quantile::Value;
pub use queue::{Kind, Verdict};
pub use read::{ReadError, read};
pub use trial::{Given, Trial, TrialError};
