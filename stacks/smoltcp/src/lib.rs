//! The TCP implementation smoltcp behind the queues of aqmkit.
//!
//! `docs/stacks/smoltcp.md` is the reference page: what an experiment can set, and what was measured.

mod device;
mod end;
mod sequence;

use std::sync::Arc;

use aqmkit_base::param::require;
use aqmkit_base::{Bytes, Duration, ParamError};
use aqmkit_stack::{Factory, Kind, NewEnd, Settings, Stack};
use serde::{Deserialize, Serialize};

/// The parameters, in the table `smoltcp` of `[transport]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Bytes of the largest IP packet.
    pub mtu: u16,
    /// Bytes of the receive buffer, which is the largest window.
    pub receive_buffer: Bytes,
    /// Bytes of the send buffer.
    pub send_buffer: Bytes,
    /// How long an acknowledgement may wait for data to go with it; 0 for none.
    pub ack_delay: Duration,
    /// How long a peer may be silent; 0 for ever.
    pub timeout: Duration,
    /// Whether small segments wait for acknowledgements.
    pub nagle: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            mtu: 1500,
            receive_buffer: Bytes(1 << 20),
            send_buffer: Bytes(1 << 20),
            ack_delay: Duration::from_millis(10),
            timeout: Duration::from_secs(60),
            nagle: true,
        }
    }
}

/// The stack as an entry of a catalogue.
#[derive(Debug)]
pub struct Smoltcp;

impl Kind for Smoltcp {
    const NAME: &'static str = "smoltcp";
    const VERSION: &'static str = "0.14.0/1";
    const PAGE: &'static str = include_str!("../../../docs/stacks/smoltcp.md");
    const CONTROLS: &'static [&'static str] = &["cubic", "reno", "none"];

    type Params = Params;

    fn check(params: &Params, settings: &Settings) -> Result<(), ParamError> {
        require(!settings.ecn, "ecn", settings.ecn, "it must be false: smoltcp has no ECN")?;
        require((576..=9000).contains(&params.mtu), "mtu", params.mtu, "it must be from 576 to 9000 bytes")?;
        let buffer = |field: &str, value: Bytes| {
            require((2_000..1 << 30).contains(&value.0), field, value, "it must be from 2 kB to 1 GB")
        };
        buffer("receive_buffer", params.receive_buffer)?;
        buffer("send_buffer", params.send_buffer)
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
        format!("smoltcp/{}", self.settings.congestion)
    }

    /// Its datagrams are whole IP packets.
    fn headers(&self) -> u32 {
        0
    }

    fn end(&self, new: &NewEnd) -> Box<dyn Stack> {
        Box::new(end::End::new(&self.params, &self.settings, new))
    }
}
