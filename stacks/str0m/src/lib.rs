//! Video over the WebRTC implementation str0m behind the queues of aqmkit.
//!
//! `docs/stacks/str0m.md` is the reference page: what an experiment can set, and what was measured.

mod crypto;
mod end;
mod handshake;
mod peer;
mod video;

use std::sync::Arc;

use aqmkit_base::param::require;
use aqmkit_base::{BitRate, Duration, ParamError};
use aqmkit_stack::{Factory, Kind, NewEnd, Settings, Stack};
use aqmkit_stack_common::UDP_HEADERS;
use serde::{Deserialize, Serialize};

/// The parameters, in the table `str0m` of `[transport]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The estimate of the bandwidth at the start.
    pub start_rate: BitRate,
    /// The least rate of the video, whatever the estimate.
    pub min_rate: BitRate,
    /// The largest rate of the video; str0m probes for as much.
    pub max_rate: BitRate,
    /// The share of the estimate that the video takes.
    pub share: f64,
    /// Frames per second.
    pub frames: u16,
    /// How long a connection may take to open.
    pub timeout: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            start_rate: BitRate::from_bps(300_000),
            min_rate: BitRate::from_bps(50_000),
            max_rate: BitRate::from_mbps(4),
            share: 0.9,
            frames: 30,
            timeout: Duration::from_secs(30),
        }
    }
}

/// The stack as an entry of a catalogue.
#[derive(Debug)]
pub struct Str0m;

impl Kind for Str0m {
    const NAME: &'static str = "str0m";
    const VERSION: &'static str = "0.25.0/1";
    const PAGE: &'static str = include_str!("../../../docs/stacks/str0m.md");
    const CONTROLS: &'static [&'static str] = &["gcc"];

    type Params = Params;

    fn check(params: &Params, settings: &Settings) -> Result<(), ParamError> {
        require(!settings.ecn, "ecn", settings.ecn, "it must be false: str0m has no ECN")?;
        let rate = |field: &str, value: BitRate| {
            let range = BitRate::from_bps(10_000)..=BitRate::from_mbps(1000);
            require(range.contains(&value), field, value, "it must be from 10 kbit/s to 1 Gbit/s")
        };
        rate("start_rate", params.start_rate)?;
        rate("min_rate", params.min_rate)?;
        rate("max_rate", params.max_rate)?;
        let (least, most) = (params.min_rate, params.max_rate);
        require(least <= most, "min_rate", least, "it must not be above max_rate")?;
        let share = params.share;
        require(share > 0.0 && share <= 1.0, "share", share, "it must be above 0 and at most 1")?;
        require((1..=120).contains(&params.frames), "frames", params.frames, "it must be from 1 to 120 in a second")?;
        require(!params.timeout.is_zero(), "timeout", params.timeout, "it must be above 0")
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
        format!("str0m/{}", self.settings.congestion)
    }

    fn headers(&self) -> u32 {
        UDP_HEADERS
    }

    fn end(&self, new: &NewEnd) -> Box<dyn Stack> {
        Box::new(end::End::new(&self.params, new))
    }
}
