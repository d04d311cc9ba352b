//! The shared types of aqmkit.
//!
//! Every quantity that has a dimension is a type here: an [`Instant`] is not a [`Duration`], [`Bytes`] are not packets,
//! a [`BitRate`] is not a number. Only meaningful products are defined, so a gain per second cannot be multiplied by
//! milliseconds. All types are plain data: nothing here reads a clock, has a global random generator, or does I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`time`] | [`Instant`], [`Duration`]: integer nanoseconds |
//! | [`size`] | [`Bytes`], and [`Amount`]: a queue length in packets or in bytes |
//! | [`rate`] | [`BitRate`], and transmission times |
//! | [`rates`] | [`Rates`]: the rates of the two directions of a link |
//! | [`ecn`] | the two ECN bits of the IP header |
//! | [`flow`] | [`FlowKey`], [`FlowKind`], [`ClassId`]: the flow and the class of a packet |
//! | [`framing`] | [`Framing`]: the bytes that a link sends for a packet |
//! | [`limit`] | [`SendLimit`]: what limits a TCP sender |
//! | [`rng`] | the random generator, with a stream for each named object |
//! | [`dist`] | distributions by inverse transform, bit-identical on every machine |
//! | [`mod@page`] | reference pages: a name, and the doc comment that opens a file |
//! | [`near`] | "did you mean …?" |
//! | [`read`] | reading tables of parameters, with errors that have a path |
//! | [`param`] | [`ParamError`]: an invalid parameter, and what would be valid |
//! | [`trace`] | rates that vary, as delivery opportunities |
//! | [`transmitter`] | the transmitter of a link: rate or trace, framing, and the wire behind it |
//! | [`wire`] | propagation, losses, marks, jitter, reordering and slots |
//! | [`Transmission`] | which part of a packet is sent when |
//! | [`units`] | reading and writing quantities as `tc` does: `10mbit`, `30ms`, `1500b` |

#![forbid(unsafe_code)]

pub mod dist;
pub mod ecn;
pub mod flow;
pub mod framing;
pub mod limit;
pub mod near;
pub mod page;
pub mod param;
pub mod rate;
pub mod rates;
pub mod read;
pub mod rng;
pub mod size;
pub mod time;
pub mod trace;
mod transmission;
pub mod transmitter;
pub mod units;
pub mod wire;

pub use ecn::Ecn;
pub use flow::{ClassId, FlowKey, FlowKind};
pub use framing::{Framing, LinkLayer, Overhead};
pub use limit::SendLimit;
pub use param::ParamError;
pub use rate::BitRate;
pub use rates::Rates;
pub use rng::Rng;
pub use size::{Amount, Bytes};
pub use time::{Duration, Instant};
pub use transmission::Transmission;
