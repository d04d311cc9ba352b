//! # cbr: packets of one size at one rate
//!
//! Unresponsive datagrams at constant bit rate: a voice call, or a flood that fills the link.
//!
//! ## Model
//!
//! Packet `n` of a flow leaves at `start + phase + n interval`, without drift, because fractions of a
//! nanosecond are carried over. The phase is uniform on one interval, so that flows are not synchronised.
//! With `jitter = j` each gap is stretched by a factor uniform on `1 - j` to `1 + j`.
//!
//! Sizes and rates are **those of the IP packet**: 28 bytes of IP and UDP header are in `packet` and in
//! `rate`, so that 5mbit take half of a link of 10mbit. The defaults are the UDP blast of parris01 A.3.2: 1270
//! packets per second of 1047 bytes of payload, 1075 with headers (table 4.1), together 10.922 Mb/s.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `flows` | | 1 | how many flows, **each** with this rate |
//! | `packet` | size | 1075b | size of the IP packet; at least 29b |
//! | `rate` | rate | 10.922mbit | rate of a flow with IP and UDP headers; not together with `interval` |
//! | `interval` | time | from `rate` | time from packet to packet |
//! | `jitter` | 1 | 0 | gaps vary by this share, 0 to 1; 0 and the flow may lock to a periodic queue |
//!
//! Counters: `packets_sent`, `packets_received`, `bytes_received` (payload), `delay_sum_s` (one way, over the
//! packets received).
//!
//! ## Deviations
//!
//! 1. parris01 has 1 KB (1024 bytes, table A.2), 1047 bytes (table 4.1) and 1075 to 1080 bytes with headers in other
//!    places; table 4.1 adds up, and is the default.
//! 2. In the testbed the link to the first router limited the blast to 10 Mb/s; add this link to the path, or set `rate = "10mbit"`.
//!
//! ## Evidence
//!
//! `tests/traffic/cbr.rs`: packets and bytes per second, no drift over an hour, bounds of the jitter.
//!
//! ## References
//!
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, table 4.1, appendix A.3.2.
//! * rfc7928: N. Kuhn et al., Characterization Guidelines for Active Queue Management, 2016, section 5.

use aqmkit_base::{BitRate, Bytes, Duration, Ecn, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::datagrams::{Flow, Out, Sender, payload_of};
use super::model::{Data, Knob, Model, ParamError, Population, count, in_range, texts};

/// Rate of the UDP blast: 1270 packets of 1075 bytes per second.
const BLAST: BitRate = BitRate::from_bps(1270 * 1075 * 8);

/// The parameters of constant bit rate as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of flows, each with this rate.
    pub flows: usize,
    /// Size of the IP packet.
    pub packet: Bytes,
    /// Rate of a flow with IP and UDP headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Time between packets; not together with `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Relative jitter: gaps are uniform on 1 - `jitter` to 1 + `jitter` times the mean.
    pub jitter: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { flows: 1, packet: Bytes(1075), rate: None, interval: None, jitter: 0.0 }
    }
}

impl Model for Params {
    const NAME: &'static str = "cbr";

    fn check(&self) -> Result<(), ParamError> {
        count("flows", self.flows)?;
        payload_of("packet", self.packet)?;
        in_range("jitter", self.jitter, 0.0, 1.0)?;
        match (self.rate, self.interval) {
            (Some(rate), Some(_)) => Err(ParamError::new("rate", rate, "give either rate or interval")),
            (Some(rate), None) if rate.as_bps() == 0 => Err(ParamError::new("rate", rate, "it must be above zero")),
            (None, Some(every)) if every.is_zero() => {
                Err(ParamError::new("interval", every, "it must be at least 1ns"))
            }
            _ => Ok(()),
        }
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("flows", &mut self.flows))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        let gap = match self.interval {
            Some(every) => Gap::Every(every),
            None => Gap::Rate { rate: self.rate.unwrap_or(BLAST), packet: self.packet, carry: 0 },
        };
        let payload = payload_of("packet", self.packet)?;
        Ok(Box::new(Flows { flows: self.flows, payload, gap, jitter: self.jitter }))
    }
}

/// How the time to the next packet is determined.
#[derive(Clone, Copy)]
enum Gap {
    Every(Duration),
    Rate { rate: BitRate, packet: Bytes, carry: u64 },
}

impl Gap {
    fn next(&mut self) -> Duration {
        match self {
            Gap::Every(every) => *every,
            Gap::Rate { rate, packet, carry } => rate.transmit(*packet, carry),
        }
    }
}

struct Flows {
    flows: usize,
    payload: u32,
    gap: Gap,
    jitter: f64,
}

impl Population for Flows {
    fn instances(&self) -> usize {
        self.flows
    }

    fn make(&self, _index: usize, rng: &mut Rng) -> Box<dyn Application> {
        let phase = self.gap.clone().next().mul_f64(rng.uniform());
        let Flows { payload, gap, jitter, .. } = *self;
        Flow::of(Even { payload, gap, jitter, phase })
    }

    fn mean_payload(&self) -> Option<f64> {
        Some(f64::from(self.payload))
    }
}

/// The sender of one flow.
struct Even {
    payload: u32,
    gap: Gap,
    jitter: f64,
    phase: Duration,
}

impl Even {
    fn gap(&mut self, rng: &mut Rng) -> Duration {
        let gap = self.gap.next();
        if self.jitter == 0.0 { gap } else { gap.mul_f64(1.0 + self.jitter * (2.0 * rng.uniform() - 1.0)) }
    }
}

impl Sender for Even {
    fn start(&mut self, out: &mut Out<'_, '_>) {
        out.wake_at(out.cx.now + self.phase);
    }

    fn wake(&mut self, out: &mut Out<'_, '_>) {
        out.send(self.payload, Ecn::NotEct);
        let gap = self.gap(out.cx.rng);
        out.wake_at(out.cx.now + gap);
    }
}
