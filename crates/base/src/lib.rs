//! The shared types of aqmkit.
//!
//! Every quantity that has a dimension is a type here: an [`Instant`] is not a [`Duration`], [`Bytes`]
//! are not packets, a [`BitRate`] is not a number. Only products with a meaning exist, so a gain "per
//! second" cannot be fed milliseconds. Everything is plain data: nothing here reads a clock, owns global
//! randomness, or does I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`time`] | [`Instant`], [`Duration`]: integer nanoseconds |
//! | [`size`] | [`Bytes`], and [`Amount`]: a queue length in packets or in bytes |
//! | [`rate`] | [`BitRate`], and how long it takes to send so many bytes |
//! | [`ecn`] | the two ECN bits of the IP header |
//! | [`flow`] | [`FlowKey`], [`FlowKind`], [`ClassId`]: who a packet belongs to |
//! | [`framing`] | [`Framing`]: how many bytes a link sends for a packet |
//! | [`rng`] | the one random generator, a stream for each named object |
//! | [`dist`] | distributions, as inverse transforms with the same bits on every machine |
//! | [`mod@page`] | reference pages: a name, and the doc comment that opens a file |
//! | [`near`] | "did you mean …?" |
//! | [`read`] | reading tables of parameters, with errors that have a path |
//! | [`param`] | [`ParamError`]: a parameter that cannot be used, and what would be right |
//! | [`wire`] | propagation, and losses, marks, jitter and reordering on the way |
//! | [`units`] | reading and writing quantities as `tc` does: `10mbit`, `30ms`, `1500b` |

#![forbid(unsafe_code)]

pub mod dist;
pub mod ecn;
pub mod flow;
pub mod framing;
pub mod near;
pub mod page;
pub mod param;
pub mod rate;
pub mod read;
pub mod rng;
pub mod size;
pub mod time;
pub mod trace;
pub mod units;
pub mod wire;

pub use ecn::Ecn;
pub use flow::{ClassId, FlowKey, FlowKind};
pub use framing::{Framing, LinkLayer, Overhead};
pub use param::ParamError;
pub use rate::BitRate;
pub use rng::Rng;
pub use size::{Amount, Bytes};
pub use time::{Duration, Instant};
