//! # on-off: bursts of datagrams and silence
//!
//! Unresponsive datagrams that alternate between a peak rate and silence: talk spurts with exponential
//! times, and sources of long-range dependent traffic with Pareto times.
//!
//! ## Model
//!
//! ```text
//! silence of a drawn time -> max(1, round(draw of burst / gap)) packets, one every gap = packet / rate -> silence ...
//! ```
//!
//! as the exponential and Pareto generators of ns-2 do: a burst is drawn as a number of packets with mean `on` over
//! the gap, and a source begins silent. With `law = "pareto"` both times are Pareto of the first kind with exponent
//! `shape`; many such sources with a shape between 1 and 2 give traffic with Hurst parameter `(3 - shape) / 2`
//! (willinger97). The mean rate is near `rate on / (on + off)`; the rounding to at least one packet adds to it
//! where a burst is short.
//!
//! Sizes and rates are those of the IP packet: 28 bytes of IP and UDP header are in `packet` and in `rate`.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `flows` | | 1 | how many sources, **each** with this rate |
//! | `rate` | rate | 64kbit | rate in a burst |
//! | `packet` | size | 210b | size of the IP packet; at least 29b |
//! | `on` | time | 500ms | mean length of a burst |
//! | `off` | time | 500ms | mean length of a silence |
//! | `law` | | exponential | `exponential`, `pareto`, `pareto-ii` or `constant` |
//! | `shape` | 1 | 1.5 | tail exponent of the Pareto laws |
//!
//! The defaults are those of ns-2.
//!
//! Counters: those of `cbr`: `packets_sent`, `packets_received`, `bytes_received`, `delay_sum_s`.
//!
//! ## Deviations
//!
//! 1. In ns-2 `packetSize_` and `rate_` are without the headers that an agent may add.
//!
//! ## Evidence
//!
//! `tests/traffic/on_off.rs`: mean rate, peak rate, lengths of bursts and silences for each law, the variance of the
//! sum over time scales, which falls slower with Pareto times.
//!
//! ## References
//!
//! * ns2: The Network Simulator ns-2.35, `tools/expoo.cc`, `tools/pareto.cc`, `tcl/lib/ns-default.tcl`.
//! * willinger97: W. Willinger, M. Taqqu, R. Sherman, D. Wilson, Self-Similarity Through High-Variability, IEEE/ACM
//!   Transactions on Networking 5(1), 1997.

use aqmkit_base::{BitRate, Bytes, Duration, Ecn, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::datagrams::{Flow, Out, Sender, payload_of};
use super::law::{Law, check_shape};
use super::model::{Data, Knob, Model, ParamError, Population, count, texts};

/// The parameters of on-off sources as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of sources, each with this rate.
    pub flows: usize,
    /// Rate during a burst, with IP and UDP headers.
    pub rate: BitRate,
    /// Size of the IP packet, with headers.
    pub packet: Bytes,
    /// Mean length of a burst.
    pub on: Duration,
    /// Mean length of a silence.
    pub off: Duration,
    /// Distribution of burst lengths and silences.
    pub law: Law,
    /// Tail exponent of the Pareto laws.
    pub shape: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            flows: 1,
            rate: BitRate::from_bps(64_000),
            packet: Bytes(210),
            on: Duration::from_millis(500),
            off: Duration::from_millis(500),
            law: Law::Exponential,
            shape: 1.5,
        }
    }
}

impl Model for Params {
    const NAME: &'static str = "on-off";

    fn check(&self) -> Result<(), ParamError> {
        count("flows", self.flows)?;
        payload_of("packet", self.packet)?;
        check_shape("shape", self.shape)?;
        if self.rate.as_bps() == 0 {
            return Err(ParamError::new("rate", self.rate, "it must be above zero"));
        }
        if self.on.is_zero() {
            return Err(ParamError::new("on", self.on, "it must be above zero"));
        }
        Ok(())
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("flows", &mut self.flows))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        let payload = payload_of("packet", self.packet)?;
        Ok(Box::new(Sources { params: self.clone(), payload }))
    }
}

struct Sources {
    params: Params,
    payload: u32,
}

impl Population for Sources {
    fn instances(&self) -> usize {
        self.params.flows
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        let params = self.params.clone();
        Flow::of(Source { params, payload: self.payload, carry: 0, left: 0 })
    }

    fn mean_payload(&self) -> Option<f64> {
        Some(f64::from(self.payload))
    }
}
struct Source {
    params: Params,
    payload: u32,
    /// Fraction of a nanosecond, carried from gap to gap.
    carry: u64,
    /// Packets left to send in the current burst.
    left: u64,
}

impl Source {
    fn draw(&self, mean: Duration, rng: &mut Rng) -> f64 {
        self.params.law.draw(mean.as_secs_f64(), self.params.shape, rng)
    }

    /// Draws a silence and the following burst; returns the time to its first packet.
    fn next_burst(&mut self, out: &mut Out<'_, '_>) -> Duration {
        let gap = self.params.packet.0 as f64 * 8.0 / self.params.rate.as_bps() as f64;
        self.left = ((self.draw(self.params.on, out.cx.rng) / gap + 0.5) as u64).max(1);
        Duration::from_secs_f64(self.draw(self.params.off, out.cx.rng))
    }
}

impl Sender for Source {
    fn start(&mut self, out: &mut Out<'_, '_>) {
        let silence = self.next_burst(out);
        out.wake_at(out.cx.now + silence);
    }

    fn wake(&mut self, out: &mut Out<'_, '_>) {
        out.send(self.payload, Ecn::NotEct);
        self.left = self.left.saturating_sub(1);
        let mut wait = self.params.rate.transmit(self.params.packet, &mut self.carry);
        if self.left == 0 {
            wait += self.next_burst(out);
        }
        out.wake_at(out.cx.now + wait);
    }
}
