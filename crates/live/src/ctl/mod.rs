//! Control of a running bottleneck over a Unix socket, with one line of JSON per request and reply.
//!
//! The owner of a bottleneck creates a [`Control`] and [`serve`]s it; `aqmkit ctl` is a [`Client`]. Sockets
//! are `NAME.sock` in [`directory`], which only their owner can enter.

mod client;
mod control;
mod place;
mod report;
mod server;

use serde::{Deserialize, Serialize};

pub use client::{Client, CtlError, running};
pub use control::Control;
pub use place::{DIRECTORY, OF_ROOT, directory, is_safe, prepare};
pub use report::{Counted, DirectionReport, Report};
pub use server::{Server, serve};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// How it stands.
    Report,
    /// A change.
    Change(Change),
}

/// A change of parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// The direction to change; all of them where it is left out.
    pub direction: Option<String>,
    /// New rate.
    pub rate_bps: Option<u64>,
    /// Parameters of the discipline, by name.
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

/// What is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// How it stands, after the change if one was asked for.
    Report(Box<Report>),
    /// Why not.
    Refused(String),
}
