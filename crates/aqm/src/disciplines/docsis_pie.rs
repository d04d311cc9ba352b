//! # DOCSIS-PIE: PIE in cable modems
//!
//! PIE as every DOCSIS 3.1 cable modem has it on its upstream queues. The modem knows the rates that its shaper grants, so it
//! computes the delay from the bytes that wait. A queue below a third of the buffer is left alone; the first drop
//! after a quiet time is followed by a pause of `max_burst`.
//!
//! ## Law
//!
//! Every `tupdate`, with `tokens` of `traffic_burst` left in the shaper's bucket:
//!
//! ```text
//! qdelay = backlog / peak_rate                                 backlog <= tokens     [rfc8034 sec 4.2]
//!        = (backlog - tokens) / msr + tokens / peak_rate       else
//!
//! burst_allowance > 0:  drop_prob = 0, burst_allowance -= tupdate                    [rfc8034 sec 4.3]
//! else  p = alpha (qdelay - target) + beta (qdelay - qdelay_old)
//!       drop_prob  < 1e-6  < 1e-5  < 1e-4  < 1e-3  < 0.01  < 0.1   < 1    < 10   else
//!       p is over   2048     512     128     32      8       2     0.5   0.125  0.03125   [sec 4.4]
//!       p <= 0.02 where drop_prob >= 0.1;  drop_prob += p
//!       drop_prob *= 0.98 where qdelay, qdelay_old < latency_low;  += 0.02 where qdelay > latency_high
//!       0 <= drop_prob <= 0.85 avpkt / min_pktsize                                   [sec 4.5, 4.6]
//!
//! quiet: qdelay, qdelay_old < target / 2, drop_prob = 0, burst_allowance = 0
//! active -> quiescent when quiet;  quiescent -> inactive when quiet for more than burst_reset
//! ```
//!
//! On arrival:
//!
//! ```text
//! let through when burst_allowance > 0;  accu_prob = 0 where drop_prob = 0
//! inactive: let through below limit / 3, else quiescent                              [sec 4.3]
//! p1 = min(drop_prob size / avpkt, 0.85);  accu_prob += p1                           [sec 4.6]
//! let through when qdelay_old < target / 2 and drop_prob < 0.2, or backlog <= 2 avpkt
//! let through with accu_prob below 0.85, drop from 8.5, else drop with p1;  accu_prob = 0
//! a drop when quiescent: active, burst_allowance = max_burst
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `BUFFER_SIZE` | queue length | by `buffer` | capacity of the queue; a third of it is what a burst may fill unhindered |
//! | `buffer` | | time | 100ms | capacity as a time at `peak_rate` ("buffer control"), where `limit` is not given |
//! | `target` | `LATENCY_TARGET` | time | 10ms | target delay of the service flow |
//! | `tupdate` | INTERVAL | time | 16ms | time between updates; if halved, halve `alpha` |
//! | `alpha` | A | 1/s | 0.25 | weight of the error; too large: the queue oscillates |
//! | `beta` | B | 1/s | 2.5 | weight of the change |
//! | `max_burst` | `MAX_BURST` | time | 142ms | no drops for this long after the first drop |
//! | `burst_reset` | `BURST_RESET_TIMEOUT` | time | 1s | quiet time after which the queue is left alone again |
//! | `msr` | MSR | rate | the link's | maximum sustained traffic rate of the service flow; another rate than the link's makes the delay wrong in proportion |
//! | `peak_rate` | `PEAK_RATE` | rate | `msr` | rate of the first `traffic_burst` bytes |
//! | `traffic_burst` | B | size | 3044b | maximum traffic burst: tokens that the shaper saves up at `msr` |
//! | `latency_low` | `LATENCY_LOW` | time | 5ms | below it the probability decays |
//! | `latency_high` | `LATENCY_HIGH` | time | 200ms | above it the probability rises by 0.02 per update |
//! | `avpkt` | `MEAN_PKTSIZE` | size | 1024b | the packet that is dropped with `drop_prob`; no drop if at most two of these wait |
//! | `min_pktsize` | `MIN_PKTSIZE` | size | 64b | shortest packet; bounds `drop_prob` |
//!
//! ## Deviations
//!
//! 1. The modem asks for grants and waits for them, some milliseconds at least; that is a delay of the path here, not of the
//!    queue.
//! 2. The shaper of the link is not the discipline's. A link with a constant rate has no peak rate; `peak_rate` belongs to
//!    links whose rate has steps.
//! 3. `limit` may be in packets; a third of it is then too.
//! 4. There is no `ecn`: modems bridge frames and do not change IP headers [rfc8034 sec 4.7].
//! 5. Lengths count headers as the link does; the modem counts from the destination address of the frame to its checksum.
//!
//! ## Limits
//!
//! There is no fairness: a burst of one flow delays all. A flow that ignores drops has the drop probability of the others. The
//! first burst may fill a third of the buffer and then has `max_burst` more. The estimate is only as good as `msr`: a
//! modem whose channel is congested waits longer than it computes. State: about a hundred bytes. Per
//! packet: some comparisons, a draw from 0.85 on; per update, fifteen operations.
//!
//! ## Evidence
//!
//! `tests/oracle/docsis_pie.rs` transcribes the pseudo-code with equal decisions on random and bursty traces, with one rate
//! and with two. `tests/aqm/linux_and_docsis.rs` works the three states, the delay at two rates and the auto-tuning above one by hand, and
//! compares with a queue whose law never starts. Wrong variants that were seen to fail: a quarter of the buffer for a third, no pause after the first drop, `drop_prob` bounded by one,
//! tokens that do not run out.
//!
//! ## References
//!
//! * rfc8034: G. White, R. Pan, Active Queue Management Based on PIE for DOCSIS Cable Modems, 2017, with the pseudo-code of its
//!   appendix A, which is Annex M of CM-SP-MULPIv3.1.
//! * docsis-ns3: `CableLabs`, `dual-queue-coupled-aqm.cc`, the same pseudo-code in ns-3, and the default buffer (C.1.2.17).

use aqmkit_base::{Amount, BitRate, Bytes, Duration, Instant, Rng};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::pi::{PROB_HIGH, PROB_LOW, PiController, auto_tune_in_bytes};
use crate::law::token_bucket::TokenBucket;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, SHORTEST_PERIOD, at_least, in_range, positive_time, usable_limit};
use crate::timer::unmoved;
use crate::verdict::{Verdict, Why};

/// The parameters of DOCSIS-PIE as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Limit of the queue; `buffer` at the peak rate if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Limit of the queue, as a time.
    pub buffer: Duration,
    /// Target queue delay.
    pub target: Duration,
    /// Time between updates.
    pub tupdate: Duration,
    /// Gain on the difference from the target, per second.
    pub alpha: f64,
    /// Gain on the change since the last update, per second.
    pub beta: f64,
    /// How long nothing is dropped after the first drop.
    pub max_burst: Duration,
    /// Quiet time after which a third of the buffer counts as free again.
    pub burst_reset: Duration,
    /// The sustained rate of the service flow; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msr: Option<BitRate>,
    /// The peak rate; the sustained one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<BitRate>,
    /// Bytes that may be sent at the peak rate.
    pub traffic_burst: Bytes,
    /// Delay below which the probability decays.
    pub latency_low: Duration,
    /// Delay above which the probability rises faster.
    pub latency_high: Duration,
    /// Packet size at which the drop probability applies unscaled.
    pub avpkt: Bytes,
    /// Size of the shortest packet.
    pub min_pktsize: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: None,
            buffer: Duration::from_millis(100),
            target: Duration::from_millis(10),
            tupdate: Duration::from_millis(16),
            alpha: 0.25,
            beta: 2.5,
            max_burst: Duration::from_millis(142),
            burst_reset: Duration::from_secs(1),
            msr: None,
            peak_rate: None,
            traffic_burst: Bytes(3044),
            latency_low: Duration::from_millis(5),
            latency_high: Duration::from_millis(200),
            avpkt: Bytes(1024),
            min_pktsize: Bytes(64),
        }
    }
}

impl Discipline for Params {
    discipline!("docsis-pie", DocsisPie);
    const MARKS: bool = false;

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let config = DocsisPie::config(self, link)?;
        Ok(Params {
            limit: Some(config.limit),
            msr: Some(config.msr),
            peak_rate: Some(config.peak_rate),
            ..config.params
        })
    }
}

/// DOCSIS-PIE's parameters, checked and complete.
#[derive(Clone, Debug)]
pub struct Config {
    params: Params,
    law: PiController,
    limit: Amount,
    msr: BitRate,
    peak_rate: BitRate,
}

impl Config {
    /// The delay of a queue of this many bytes behind a shaper with this many tokens.
    fn qdelay(&self, backlog: u64, tokens: f64) -> Duration {
        let (bytes, peak) = (backlog as f64, self.peak_rate.bytes_per_sec());
        let seconds =
            if bytes <= tokens { bytes / peak } else { (bytes - tokens) / self.msr.bytes_per_sec() + tokens / peak };
        Duration::from_secs_f64(seconds)
    }

    /// The highest probability: with it a packet of minimum size is dropped with `PROB_LOW`.
    fn highest(&self) -> f64 {
        PROB_LOW * self.params.avpkt.as_f64() / self.params.min_pktsize.as_f64()
    }
}

/// The state of the burst protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is dropped while less than a third of the buffer is full.
    Inactive,
    /// The next drop is the first one.
    Quiescent,
    /// Drops have begun.
    Active,
}

/// DOCSIS-PIE's state.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisPie {
    state: State,
    drop_prob: f64,
    accu_prob: f64,
    qdelay: Duration,
    qdelay_old: Duration,
    burst_allowance: Duration,
    /// How long it has been quiet in the state `Quiescent`.
    burst_reset: Duration,
    shaper: TokenBucket,
}

impl DocsisPie {
    /// `drop_early` of the pseudo-code.
    fn drop_early(&mut self, config: &Config, pkt: PacketView, queue: QueueView, rng: &mut Rng) -> bool {
        if !self.burst_allowance.is_zero() {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        if self.state == State::Inactive {
            if queue.length(config.limit.unit()) < config.limit.value() / 3.0 {
                return false;
            }
            self.state = State::Quiescent;
        }
        let p1 = (self.drop_prob * f64::from(pkt.len) / config.params.avpkt.as_f64()).min(PROB_LOW);
        self.accu_prob += p1;
        let calm = self.qdelay_old < config.params.target / 2 && self.drop_prob < 0.2;
        if calm || queue.bytes <= 2 * config.params.avpkt.0 || self.accu_prob < PROB_LOW {
            return false;
        }
        if self.accu_prob < PROB_HIGH && rng.uniform() >= p1 {
            return false;
        }
        self.accu_prob = 0.0;
        if self.state == State::Quiescent {
            self.state = State::Active;
            self.burst_allowance = config.params.max_burst;
        }
        true
    }

    /// `calculate_drop_prob` of the pseudo-code.
    fn calculate_drop_prob(&mut self, config: &Config) {
        let params = &config.params;
        if !self.burst_allowance.is_zero() {
            self.drop_prob = 0.0;
            self.burst_allowance = self.burst_allowance.saturating_sub(params.tupdate);
            return;
        }
        let step = config.law.step(self.qdelay, self.qdelay_old, params.target);
        let mut p = step * auto_tune_in_bytes(self.drop_prob);
        if self.drop_prob >= 0.1 {
            p = p.min(0.02);
        }
        self.drop_prob += p;
        if self.qdelay < params.latency_low && self.qdelay_old < params.latency_low {
            self.drop_prob *= 0.98;
        } else if self.qdelay > params.latency_high {
            self.drop_prob += 0.02;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, config.highest());
    }

    /// Advances towards `Inactive` while it is quiet.
    fn rest(&mut self, params: &Params) {
        let half = params.target / 2;
        let short = self.qdelay < half && self.qdelay_old < half;
        let quiet = short && self.drop_prob == 0.0 && self.burst_allowance.is_zero();
        match self.state {
            State::Active if quiet => (self.state, self.burst_reset) = (State::Quiescent, Duration::ZERO),
            State::Quiescent if quiet => {
                self.burst_reset += params.tupdate;
                if self.burst_reset > params.burst_reset {
                    self.state = State::Inactive;
                    self.burst_reset = Duration::ZERO;
                }
            }
            State::Quiescent => self.burst_reset = Duration::ZERO,
            State::Active | State::Inactive => {}
        }
    }
}

impl Aqm for DocsisPie {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        for (field, gain) in [("alpha", params.alpha), ("beta", params.beta)] {
            in_range(field, gain, 0.0, 10.0).map_err(|e| e.cite("RFC 8034, appendix A: A is 0.25, B is 2.5"))?;
        }
        positive_time("target", params.target)?;
        at_least("tupdate", params.tupdate, SHORTEST_PERIOD)?;
        let msr = params.msr.unwrap_or(link.rate);
        in_range("msr", msr.bytes_per_sec(), 1.0, f64::MAX)?;
        let peak_rate = params.peak_rate.unwrap_or(msr);
        if peak_rate < msr {
            let want = format!("it must be at least msr, {msr}");
            return Err(ParamError::new("peak_rate", peak_rate, want).cite("RFC 8034, section 4.2"));
        }
        if params.latency_high < params.latency_low {
            let want = format!("it must be at least latency_low, {}", params.latency_low);
            return Err(ParamError::new("latency_high", params.latency_high, want));
        }
        in_range("avpkt", params.avpkt.as_f64(), 1.0, f64::INFINITY)?;
        in_range("min_pktsize", params.min_pktsize.as_f64(), 1.0, params.avpkt.as_f64())
            .map_err(|e| e.cite("avpkt is the mean"))?;
        let buffer = peak_rate.bytes_per_sec() * params.buffer.as_secs_f64();
        let limit = params.limit.unwrap_or(Amount::Bytes((buffer as u64).max(2 * params.avpkt.0)));
        usable_limit("limit", limit)?;
        let law = PiController { alpha_hz: params.alpha, beta_hz: params.beta };
        Ok(Config { params: params.clone(), law, limit, msr, peak_rate })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(config: &Config, now: Instant) -> Self {
        DocsisPie {
            state: State::Inactive,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            burst_allowance: Duration::ZERO,
            burst_reset: Duration::ZERO,
            shaper: TokenBucket::full(config.params.traffic_burst.as_f64(), now),
        }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.full {
            self.accu_prob = 0.0;
            return Verdict::Drop(Why::Overflow);
        }
        if self.drop_early(config, pkt, queue, env.rng) { Verdict::Drop(Why::Early) } else { Verdict::Pass }
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, _queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let (rate, burst) = (config.msr.bytes_per_sec(), config.params.traffic_burst.as_f64());
        self.shaper.spend(f64::from(pkt.len), rate, burst, env.now);
        Verdict::Pass
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.params.tupdate)
    }

    fn on_tick(&mut self, config: &Config, queue: QueueView, now: Instant) {
        let tokens = self.shaper.level(config.msr.bytes_per_sec(), config.params.traffic_burst.as_f64(), now);
        self.qdelay = config.qdelay(queue.bytes, tokens);
        self.calculate_drop_prob(config);
        self.rest(&config.params);
        self.qdelay_old = self.qdelay;
    }

    /// The delay of the backlog is the same at every tick, unless tokens are refilled meanwhile.
    fn skip_ticks(&mut self, config: &Config, queue: QueueView, first: Instant, _ticks: u64) -> bool {
        (queue.bytes == 0 || config.peak_rate == config.msr) && unmoved(self, config, queue, first)
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("p", self.drop_prob);
        out("qdelay", self.qdelay.as_secs_f64());
        out("burst_allowance", self.burst_allowance.as_secs_f64());
        out("state", f64::from(self.state as u8));
    }
}
