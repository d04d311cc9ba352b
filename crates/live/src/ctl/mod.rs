//! Control of a running bottleneck over a Unix socket, with one line of JSON per request and reply.
//!
//! The owner of a bottleneck creates a [`Control`] and [`serve`]s it; `aqmkit ctl` is a [`Client`]. Sockets
//! are `NAME.sock` in [`directory`], which only their owner can enter.

mod client;
mod control;
mod report;
mod server;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use client::{Client, CtlError, running};
pub use control::Control;
pub use report::{Counted, DirectionReport, Report};
pub use server::{Server, serve};

/// The environment variable that names another directory for sockets.
pub const DIRECTORY: &str = "AQMKIT_RUNTIME_DIR";

/// Where sockets are: `$AQMKIT_RUNTIME_DIR`; else `/run/aqmkit` for root, and `$XDG_RUNTIME_DIR/aqmkit` for others.
#[must_use]
pub fn directory() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(directory) = named(DIRECTORY) {
        return directory;
    }
    let user = rustix::process::geteuid();
    if user.is_root() {
        return "/run/aqmkit".into();
    }
    let fallback = || std::env::temp_dir().join(format!("aqmkit-{}", user.as_raw()));
    named("XDG_RUNTIME_DIR").map_or_else(fallback, |directory| directory.join("aqmkit"))
}

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
