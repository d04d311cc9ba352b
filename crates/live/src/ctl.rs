//! Control of a running bottleneck over a Unix socket: one line of JSON per request and per reply.
//!
//! The owner of a bottleneck creates a [`Control`] and [`serve`]s it; `aqmkit ctl` is a [`Client`]. Sockets are
//! `NAME.sock` in [`directory`], which only their owner may enter.

mod client;
pub(crate) mod control;
mod place;
mod report;
mod server;
mod settings;

use serde::{Deserialize, Serialize};

pub(crate) use client::is_dead;
pub use client::{Client, CtlError, running};
pub use control::Control;
pub use place::{DIRECTORY, OF_ROOT, directory, is_safe, prepare};
pub(crate) use report::title;
pub use report::{Counted, DirectionReport, Report};
pub use server::{Server, serve};

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Report the state.
    Report,
    /// Change something.
    Change(Change),
}

/// A change of parameters, of the rate, or of the discipline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// The direction to change; `None` for all.
    pub direction: Option<String>,
    /// The new rate in bit/s.
    pub rate_bps: Option<u64>,
    /// The discipline that replaces the current one.
    pub aqm: Option<String>,
    /// Parameters of the discipline. Unnamed ones keep their values, or get the defaults of a new discipline.
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

/// The reply to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The state, after the change if there was one.
    Report(Box<Report>),
    /// The change was refused, and why.
    Refused(String),
}
