//! A script drives one endpoint, as packetdrill drives a host's TCP: it says which segments arrive and what the application does, and
//! which segments the endpoint must send at which times. The scripts are the files in `scripts/`; each names its source.
//!
//! A script begins with settings, and then has one line for each thing that happens. `#` begins a comment.
//!
//! ```text
//! profile linux-6                        # a transport profile
//! set mss = "1000b"                      # one of its fields; the value is JSON, as in experiment files
//!
//! 0.000 < syn                            # a segment arrives at the endpoint, at this second
//! 0.000 > syn-ack                        # the endpoint sends a segment
//! 0.100 < ack 1
//! 0.100 write 5000                       # the application writes so many bytes
//! 0.100 > data 1..5001                   # full segments that carry these sequence numbers, all at this time; the last may be shorter
//! 0.200 < ack 1001 sack 2001-3001
//! 0.200 state cwnd 10 ssthresh initial   # what the endpoint shows of itself
//! 9.000 end                              # it has sent nothing else until then
//! ```
//!
//! Sequence numbers are packetdrill's: the SYN has 0, the first byte of data 1. The endpoint starts as a server; `connect` makes it a
//! client. `close` closes its direction.
//!
//! | of a segment | means |
//! |---|---|
//! | `syn`, `syn-ack`, `ack N`, `data A..B`, `reset` | what it is; a FIN is not among the things that scripts are for |
//! | `ack N` after `data` | what it acknowledges. Left out: of what arrives, what was acknowledged last; of what is sent, anything |
//! | `sack A-B ...`, `dsack A-B` | blocks, the newest first, and what came twice (RFC 2883) |
//! | `win N` | of what arrives, from then on: the receive window in bytes |
//! | `ece`, `cwr`, `ect0`, `ect1`, `ce`, `not-ect` | ECN flags and the field in the IP header; of what is sent, the latter may be left out |
//! | `ts V E` | timestamp and echo, in ms; of what is sent, they may be left out |
//! | `again` | of what is sent: a retransmission |
//! | `no-sack` | of a SYN or SYN-ACK that arrives: it does not permit SACK, though the endpoint asks for it |
//!
//! | of the state | means |
//! |---|---|
//! | `cwnd`, `ssthresh`, `flight`, `pipe` | in segments, or in bytes with a `b` behind; `ssthresh initial`: never reduced |
//! | `rto`, `srtt` | in seconds |
//! | `timeouts`, `fast`, `probes`, `resent`, `reductions`, `undone` | counts: timeouts, fast retransmits, tail loss probes, segments sent again, reductions after marks, reductions undone |
//!
//! Whole numbers must be met exactly, others to half of their last digit. `event NAME` is `connected`, `closed` or `failed`, at this time.

mod parse;
mod play;
mod scale;

use aqmkit_base::{Ecn, Instant};
use aqmkit_transport::{Event, Profile};

/// The content of a script.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The profile of the endpoint.
    pub(crate) profile: Profile,
    /// The steps, in the order of time.
    pub(crate) steps: Vec<Step>,
}

/// A line of a script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Its number, from 1.
    pub(crate) line: usize,
    /// When it happens.
    pub(crate) at: Instant,
    /// The action.
    pub(crate) act: Act,
}

/// An action or an expectation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// The application opens the connection.
    Connect,
    /// The application writes this many bytes.
    Write(u64),
    /// The application closes its direction.
    Close,
    /// A segment arrives.
    Arrives(Words),
    /// The endpoint sends this.
    Sends(Words),
    /// Values that the endpoint reports about itself.
    State(Vec<(Quantity, Value)>),
    /// The endpoint tells its owner this.
    Tells(Event),
    /// The script ends.
    End,
}

/// The type of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Syn,
    SynAck,
    Ack,
    Data { start: u64, end: u64 },
    Reset,
}

/// The description of a segment in a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Words {
    pub(crate) form: Form,
    pub(crate) ack: Option<u64>,
    pub(crate) sack: Vec<(u64, u64)>,
    pub(crate) dsack: Option<(u64, u64)>,
    pub(crate) window: Option<u32>,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) ecn: Option<Ecn>,
    pub(crate) ece: bool,
    pub(crate) cwr: bool,
    pub(crate) again: bool,
    pub(crate) no_sack: bool,
}

/// Something that an endpoint shows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Cwnd,
    Ssthresh,
    Flight,
    Pipe,
    Rto,
    Srtt,
    Timeouts,
    Fast,
    Probes,
    Resent,
    Reductions,
    Undone,
}

/// An expected value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// A number, and how far from it is near enough.
    Near(f64, f64),
    /// A number of bytes, of what is otherwise counted in segments.
    Bytes(u64),
    /// The initial value of the profile.
    Initial,
}

/// Plays a script.
///
/// # Errors
/// The number of the first line that is wrong or was not met, and why.
pub(crate) fn play(text: &str) -> Result<(), String> {
    let script = parse::parse(text)?;
    play::play(&script)
}

/// Plays a script with segments of one byte. Returns whether it can be written so: whether its numbers are of whole segments.
///
/// # Errors
/// As [`play`].
pub(crate) fn play_in_single_bytes(text: &str) -> Result<bool, String> {
    match scale::in_single_bytes(&parse::parse(text)?) {
        Some(script) => play::play(&script).map(|()| true),
        None => Ok(false),
    }
}
