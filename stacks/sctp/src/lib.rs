//! The SCTP implementation sctp-proto behind the queues of aqmkit.
//!
//! `docs/stacks/sctp.md` is the reference page: what an experiment can set, and what was measured.

mod association;
mod clock;
mod tsn;

use std::sync::Arc;

use aqmkit_base::param::require;
use aqmkit_base::{Bytes, Duration, ParamError};
use aqmkit_stack::{Factory, Kind, NewEnd, Settings, Stack};
use aqmkit_stack_common::{End, UDP_HEADERS};
use serde::{Deserialize, Serialize};

/// The parameters, in the table `sctp` of `[transport]`. Their defaults are those of sctp-proto, except for the message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Bytes of the largest SCTP packet.
    pub mtu: u16,
    /// Bytes of each message into which the stream is divided.
    pub message: Bytes,
    /// Bytes that the receiver accepts ahead of its application; the largest window.
    pub receive_buffer: Bytes,
    /// Bytes that the sender keeps until they are acknowledged.
    pub send_buffer: Bytes,
    /// The retransmission timeout until there is a measurement (`RTO.Initial`).
    pub rto_initial: Duration,
    /// The least retransmission timeout (`RTO.Min`).
    pub rto_min: Duration,
    /// How often INIT and COOKIE ECHO are sent again before the association fails (`Max.Init.Retransmits`).
    pub init_retransmits: u16,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            mtu: 1228,
            message: Bytes(16_384),
            receive_buffer: Bytes(1 << 20),
            send_buffer: Bytes(1 << 20),
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_secs(1),
            init_retransmits: 8,
        }
    }
}

/// The stack as an entry of a catalogue.
#[derive(Debug)]
pub struct Sctp;

impl Kind for Sctp {
    const NAME: &'static str = "sctp";
    const VERSION: &'static str = "0.10.8/1";
    const PAGE: &'static str = include_str!("../../../docs/stacks/sctp.md");
    const CONTROLS: &'static [&'static str] = &["reno"];

    type Params = Params;

    fn check(params: &Params, settings: &Settings) -> Result<(), ParamError> {
        require(!settings.ecn, "ecn", settings.ecn, "it must be false: sctp-proto has no ECN")?;
        require((576..=1472).contains(&params.mtu), "mtu", params.mtu, "it must be from 576 to 1472 bytes")?;
        let (message, send, receive) = (params.message, params.send_buffer, params.receive_buffer);
        require((1..=65_536).contains(&message.0), "message", message, "it must be from 1 B to 64 KiB")?;
        let buffer = |field: &str, value: Bytes| {
            let right = "it must be from the size of a message to 1 GB";
            require((message.0..1 << 30).contains(&value.0), field, value, right)
        };
        buffer("send_buffer", send)?;
        // A receiver whose buffer is full of parts of messages gives the association up.
        let room = (2 * message.0).max(1500);
        let right = "it must be from twice the size of a message, and 1500 B, to 1 GB";
        require((room..1 << 30).contains(&receive.0), "receive_buffer", receive, right)?;
        let timeout = |field: &str, value: Duration| {
            let range = Duration::from_millis(1)..=Duration::from_secs(60);
            require(range.contains(&value), field, value, "it must be from 1 ms to 60 s")
        };
        timeout("rto_initial", params.rto_initial)?;
        timeout("rto_min", params.rto_min)
    }

    fn factory(params: &Params, settings: &Settings) -> Arc<dyn Factory> {
        Arc::new(Ends { params: params.clone(), settings: settings.clone() })
    }
}

/// Makes the ends.
#[derive(Debug)]
struct Ends {
    params: Params,
    settings: Settings,
}

impl Factory for Ends {
    fn name(&self) -> String {
        format!("sctp/{}", self.settings.congestion)
    }

    /// Its packets are in datagrams of UDP (RFC 6951).
    fn headers(&self) -> u32 {
        UDP_HEADERS
    }

    fn end(&self, new: &NewEnd) -> Box<dyn Stack> {
        let association = association::Sctp::new(&self.params, new);
        Box::new(End::new(association, 1, false))
    }
}
