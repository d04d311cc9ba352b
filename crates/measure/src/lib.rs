//! Measurement of runs: recorders of events, and the results computed from them.
//!
//! A simulation and a live run report the same events: those of a link to a [`LinkRecorder`], those of hosts and
//! applications to a [`HostRecorder`]. [`join()`] computes the [`Output`] from both, so that each metric has one
//! definition for simulated and live runs. A simulation has both in one place: the [`Recorder`].
//!
//! Nothing here does I/O or reads a clock: times are arguments.

#![forbid(unsafe_code)]

mod arithmetic;
pub mod circuits;
pub mod colour;
pub mod counters;
mod drops;
mod fates;
mod hosts;
mod join;
mod limits;
mod link;
pub mod metric;
pub mod output;
mod plan;
mod queue;
mod recorder;
mod responses;
mod series;
mod times;

pub use arithmetic::{by_reason, utilization};
pub use circuits::Circuits;
pub use counters::{Received, Seen, Sent, Traffic};
pub use drops::{DropLog, Owners};
pub use hosts::{FinishedExchange, HostRecorder};
pub use join::join;
pub use limits::SenderSample;
pub use link::{LinkRecorder, Passed, PassedClass};
pub use output::Output;
pub use plan::{GroupInfo, LinkInfo, Plan, WindowSpec};
pub use recorder::Recorder;
pub use times::Times;
