//! # voip: telephone calls, rated by the E-model
//!
//! Calls with the codecs of the telephone network, a jitter buffer at the receiver, and an estimate of the mean opinion
//! score (MOS). One flow is one direction of a call: for both, use two groups, one with `direction = "reverse"`.
//!
//! ## Model
//!
//! The speaker talks in spurts with pauses, both exponential, with means of 1.004 s and 1.587 s (p59). Each packet has
//! `packet` of speech and 12 bytes of RTP header. Without `vad` packets are also sent in pauses.
//!
//! | `codec` | bit/s | Ie | Bpl | look-ahead |
//! |---|---|---|---|---|
//! | `g711` | 64000 | 0 | 25.1 | 0 |
//! | `g711-bare` | 64000 | 0 | 4.3 | 0 |
//! | `g729` | 8000 | 11 | 19.0 | 5 ms |
//!
//! Ie and Bpl are those of g113 for G.711 with and without concealment of losses, and for G.729A with VAD.
//!
//! **Jitter buffer.** All packets of a spurt are played with the same delay after transmission; packets that arrive
//! later are useless. Without `jitter_buffer` this delay is that of ramjee94 (algorithm 1), set at the first packet of
//! each spurt. For packets with one-way delays `n`:
//!
//! ```text
//! d <- 0.998002 d + 0.001998 n        v <- 0.998002 v + 0.001998 |d - n|        time = d + max(4 v, packet)
//! ```
//!
//! With it the time is the delay of that first packet plus `jitter_buffer`.
//!
//! **Rating** (g107 with its default values). For each 10 s of a call, with `Ta` the mean time from mouth to ear (packet, look-ahead,
//! network, `path_delay`, jitter buffer), `Ppl` the percentage of packets lost or late, and `BurstR` the mean length of the runs of
//! such packets over that of random losses of the same number, at least 1:
//!
//! ```text
//! R     = 94.77 - 1.41 - Idte - Idle - Idd - Ieff       Ieff = Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl)
//! Idd   = 0                                             Ta <= 100 ms
//!       = 25 ((1 + X^6)^(1/6) - 3 (1 + (X / 3)^6)^(1/6) + 2)      X = log2(Ta / 100 ms)
//! Idte  = ((94.77 - Re) / 2 + sqrt((94.77 - Re)^2 / 4 + 100) - 1) (1 - exp(-Ta))      Re = 80 + 2.5 (TERV - 14)
//!         TERV = 65 - 40 log10((1 + Ta / 10) / (1 + Ta / 150)) + 6 exp(-0.3 Ta^2),    Ta in ms
//! Idle  = (94.77 - Rle) / 2 + sqrt((94.77 - Rle)^2 / 4 + 169)     Rle = 10.5 (110 + 7) (2 Ta + 1)^(-1/4)
//! MOS   = 1 + 0.035 R + R (R - 60) (100 - R) 7e-6       from 1 at R <= 0 to 4.5 at R >= 100
//! ```
//!
//! An interval in which nothing could be played has MOS 1. Published classes: R of 90 and more "very satisfied", 80 "satisfied", 70
//! "some users dissatisfied", 60 "many", 50 "nearly all" (g109).
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `calls` | | 1 | how many, **each** in one direction; 0 for none |
//! | `codec` | | g711 | `g711`, `g711-bare` or `g729` |
//! | `packet` | time | 20ms | speech in a packet, a multiple of 10ms; longer packets save headers and add delay |
//! | `vad` | | false | whether nothing is sent in pauses |
//! | `path_delay` | time | 0s | additional one-way delay in the rating, because the `delays` of a topology are on the reverse path and do not delay datagrams |
//! | `jitter_buffer` | time | adaptive | time that packets wait in addition to the delay of the first one of their spurt |
//!
//! Counters: `packets_sent`, `packets_due` (of rated intervals), `packets_missed` (of these, lost or late), `packets_late`,
//! `bytes_received`, `delay_sum_s` (mouth to ear, over `packets_played`), `packets_played`, `mos_sum`, `mos_intervals`, `r_sum`. From these come the results
//! `mos` and `missed`.
//!
//! ## Deviations
//!
//! 1. An interval is rated 2 s after its end; a packet that has not arrived by then counts as lost.
//! 2. p59 draws single talk, double talk and silence of two speakers; here each speaker has spurts and pauses of the published
//!    means, independent of the other's.
//! 3. The echo path is assumed to have twice the delay of this direction. All other values of g107 are its defaults: a handset with
//!    good echo control.
//! 4. Sender and receiver have the same clock.
//! 5. The values of g113 are for packets of 10 ms (G.711) and 20 ms (G.729A), independent of `packet`.
//! 6. `4 v` has a lower bound of one packet, so that calls without jitter do not miss packets; ramjee94 has no bound.
//!
//! ## Evidence
//!
//! `voip/emodel.rs`: R = 93.2 and MOS = 4.41 without impairment, the published values of the delay impairment, losses worked by
//! hand. `tests/traffic/voip.rs`: rates, spurts, losses, late packets and bursts counted by hand, both jitter buffers.
//!
//! ## References
//!
//! * g107: ITU-T Recommendation G.107, The E-model: a computational model for use in transmission planning, 2015.
//! * g109: ITU-T Recommendation G.109, Definition of categories of speech transmission quality, 1999.
//! * g113: ITU-T Recommendation G.113, Appendix I, Provisional planning values for the equipment impairment factor and
//!   packet-loss robustness factor, 2007.
//! * p59: ITU-T Recommendation P.59, Artificial conversational speech, 1993.
//! * ramjee94: R. Ramjee, J. Kurose, D. Towsley, H. Schulzrinne, Adaptive Playout Mechanisms for Packetized Audio
//!   Applications in Wide-Area Networks, INFOCOM 1994.

pub mod emodel;
mod listener;

use aqmkit_base::{Duration, Ecn, Instant, Rng, dist};
use serde::{Deserialize, Serialize};

use super::model::{Data, Knob, Model, ParamError, Population, count_or_none, texts};
use super::{Action, Application, Cx, Event};
use emodel::Impairment;
use listener::{JitterBuffer, Listener};

/// Mean length of a talk spurt and of a pause, in seconds (p59).
const SPURT: f64 = 1.004;
const PAUSE: f64 = 1.587;
/// Bytes of an RTP header.
const RTP: u32 = 12;
/// The speech in a packet is a multiple of this, with either codec.
const FRAME: Duration = Duration::from_millis(10);

/// How speech is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// G.711 with the concealment of its appendix I.
    #[default]
    G711,
    /// G.711 without concealment: a loss is silence.
    G711Bare,
    /// G.729A with VAD.
    G729,
}

impl Codec {
    /// Bytes per second of speech.
    fn bytes_per_s(self) -> u64 {
        match self {
            Codec::G711 | Codec::G711Bare => 8000,
            Codec::G729 => 1000,
        }
    }

    /// Impairment factors of the codec and its loss concealment (g113).
    #[must_use]
    pub fn impairment(self) -> Impairment {
        let (ie, bpl) = match self {
            Codec::G711 => (0.0, 25.1),
            Codec::G711Bare => (0.0, 4.3),
            Codec::G729 => (11.0, 19.0),
        };
        Impairment { ie, bpl }
    }

    /// Look-ahead: speech beyond the packet that the encoder needs.
    fn look_ahead(self) -> Duration {
        match self {
            Codec::G711 | Codec::G711Bare => Duration::ZERO,
            Codec::G729 => Duration::from_millis(5),
        }
    }
}

/// The parameters of telephone calls as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many calls, each in one direction; 0 for none.
    pub calls: usize,
    /// How speech is encoded.
    pub codec: Codec,
    /// Speech in a packet.
    pub packet: Duration,
    /// Voice activity detection: whether to send nothing in pauses.
    pub vad: bool,
    /// One-way delay that the rating adds to that of the links.
    pub path_delay: Duration,
    /// Time that packets wait in addition to the delay of the first packet of their spurt; `None` for an adaptive
    /// buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_buffer: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        let packet = Duration::from_millis(20);
        Params { calls: 1, codec: Codec::G711, packet, vad: false, path_delay: Duration::ZERO, jitter_buffer: None }
    }
}

impl Params {
    /// Payload bytes of a datagram.
    fn payload(&self) -> u32 {
        RTP + (self.codec.bytes_per_s() * self.packet.as_nanos() / 1_000_000_000) as u32
    }
}

impl Model for Params {
    const NAME: &'static str = "voip";

    fn check(&self) -> Result<(), ParamError> {
        count_or_none("calls", self.calls)?;
        let frames = self.packet.whole(FRAME);
        if !(1..=20).contains(&frames) || FRAME * frames != self.packet {
            return Err(ParamError::new("packet", self.packet, "it must be a multiple of 10ms, from 10ms to 200ms"));
        }
        if self.path_delay > Duration::from_secs(10) {
            return Err(ParamError::new("path_delay", self.path_delay, "it must be at most 10s"));
        }
        match self.jitter_buffer {
            Some(buffer) if buffer > Duration::from_secs(1) => {
                Err(ParamError::new("jitter_buffer", buffer, "it must be at most 1s"))
            }
            _ => Ok(()),
        }
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("calls", &mut self.calls))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        Ok(Box::new(Calls(self.clone())))
    }
}

struct Calls(Params);

impl Population for Calls {
    fn instances(&self) -> usize {
        self.0.calls
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        let p = &self.0;
        let buffer = p.jitter_buffer.map_or_else(|| JitterBuffer::adaptive(p.packet), JitterBuffer::fixed);
        Box::new(Call {
            params: p.clone(),
            listener: Listener::new(p.codec.impairment(), p.packet + p.codec.look_ahead() + p.path_delay, buffer),
            until: Instant::ZERO,
            talking: false,
            spurt: 0,
            over: false,
        })
    }

    fn mean_payload(&self) -> Option<f64> {
        Some(f64::from(self.0.payload()))
    }
}

/// One direction of a call: speaker and listener.
struct Call {
    params: Params,
    listener: Listener,
    /// When the current spurt or pause ends.
    until: Instant,
    talking: bool,
    /// Number of the current or, in a pause, the last spurt.
    spurt: u32,
    over: bool,
}

impl Call {
    /// Advances to the spurt or pause at the present time.
    fn talk(&mut self, cx: &mut Cx<'_>) {
        while self.until <= cx.now {
            self.talking = !self.talking;
            self.spurt = self.spurt.wrapping_add(u32::from(self.talking));
            let mean = if self.talking { SPURT } else { PAUSE };
            self.until += Duration::from_secs_f64(dist::exponential(cx.rng, mean).max(1e-3));
        }
    }

    fn wake(&mut self, cx: &mut Cx<'_>) {
        self.listener.rate(cx.now);
        self.talk(cx);
        if self.talking || !self.params.vad {
            let tag = self.listener.expect(cx.now, self.spurt);
            cx.want(Action::Datagram { len: self.params.payload(), tag, ecn: Ecn::NotEct });
        }
        cx.want(Action::WakeAt(cx.now + self.params.packet));
    }
}

impl Application for Call {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            Event::Start => {
                // A random phase: calls are not synchronised, and do not start at the beginning of a spurt.
                let phase = self.params.packet.mul_f64(cx.rng.uniform());
                self.talking = cx.rng.chance(PAUSE / (SPURT + PAUSE));
                self.until = cx.now + phase;
                self.listener.begin(cx.now + phase);
                cx.want(Action::WakeAt(cx.now + phase));
            }
            Event::Wake => self.wake(cx),
            _ => {}
        }
    }

    fn on_datagram(&mut self, tag: u64, len: u32, sent: Instant, now: Instant) {
        self.listener.packet(tag, len, sent, now);
    }

    fn counters(&self) -> &'static [&'static str] {
        listener::COUNTERS
    }

    fn counter(&self, index: usize) -> f64 {
        self.listener.counter(index)
    }
}
