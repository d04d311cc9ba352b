//! The protocol between client and server: one JSON object per line over TCP. UDP probes go to the same port number and begin with the token of the test.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::transfer::{Received, Sent};

/// The port of a server, in TCP and UDP, unless another is given.
pub const PORT: u16 = 7799;
/// The longest load in one direction that a server takes part in.
pub const MOST_TIME: Duration = Duration::from_secs(60);
/// The most data in one direction that a server takes part in, in bytes.
pub const MOST_DATA: u64 = 10_000_000_000;
/// The most connections in one direction.
pub(crate) const MOST_FLOWS: u32 = 64;

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;
/// The longest request, in bytes.
pub(crate) const LONGEST_REQUEST: u64 = 4 << 10;
/// The longest reply: a report of a minute with 64 connections has a few megabytes.
pub(crate) const LONGEST_REPLY: u64 = 16 << 20;
/// How long the other host may take for a line.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Where data go, as seen from the host that measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Direction {
    /// To the server.
    Up,
    /// From it.
    Down,
}

/// The first line of a connection, and later ones of the connection that began a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Begins a test, which ends with this connection.
    Begin { version: u32 },
    /// This connection carries data in a direction, up to these limits.
    Carry { token: u64, direction: Direction, seconds: f64, bytes: u64 },
    /// Asks for what the server has seen.
    Report,
}

/// The server's reply; connections that carry data have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// The test has begun, at this time of the server's clock in seconds.
    Begun { token: u64, at: f64 },
    /// The server's counts and samples; times are on its clock.
    Report { received: Vec<Received>, sent: Vec<Sent> },
    /// The server does not take part, with the reason.
    Refused { why: String },
}

/// Sends a line.
pub(crate) fn say(mut to: &TcpStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Reads a line of at most `longest` bytes. Nothing is read beyond it: data may follow.
pub(crate) fn hear<T: DeserializeOwned>(from: &TcpStream, longest: u64) -> io::Result<T> {
    let mut line = String::new();
    BufReader::with_capacity(1, from.take(longest)).read_line(&mut line)?;
    if line.is_empty() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}
