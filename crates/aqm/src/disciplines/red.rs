//! # RED: random early detection
//!
//! Keeps the *average* queue short while letting bursts pass. Each arrival updates a slow average of the
//! queue; as it rises from `min` to `max`, the probability that arriving packets are marked or dropped
//! increases, and drops are spaced evenly so that no flow suffers a cluster.
//!
//! ## Law
//!
//! On arrival, with `q` the queue before this packet:
//!
//! ```text
//! avg <- (1 - w) avg + w q                 queue not empty                        [parris01 fig 3.7]
//! avg <- (1 - w)^n avg                     queue empty for `idle`: n = idle * bandwidth / avpkt - 1, an integer
//! forced drop                              q >= limit, or avg > max               [parris01 fig 3.8]
//! p_b  = max_p (avg - min) / (max - min)                                          [parris01 eq 3.1]
//! p_a  = p_b / (1 - count p_b)             drop with p_a                          [parris01 eq 3.2]
//! ```
//!
//! Drops need `avg > min` and more than one packet waiting; the first arrival above `min` is never dropped
//! and sets `count` to 1, which is also the count of the first arrival after a drop. At a constant average
//! the gap between drops is then uniform on 1 to `1/p_b - 1`, so about a fraction of twice `p_b` of the
//! packets is dropped. With `gentle`, `p_b` rises from `max_p` at `max` to 1 at twice `max` instead of
//! jumping to 1. In byte mode `p_b` is scaled by the packet size over the typical size.
//!
//! Instead of `weight`, a `burst` of L packets that may pass can be given: w is then the largest of 1/2,
//! 1/4, 1/8 ... with `L + 1 - min <= (1 - (1 - w)^L) / w`, `min` in packets                    [tc, floyd93
//! eq 3]
//!
//! With `adaptive`, every `interval`, with the average at that instant, and `min` and `max` apart by `d`:
//!
//! ```text
//! avg > min + 0.6 d and max_p <= 0.5:    max_p <- max_p + min(0.01, max_p / 4)    [floyd01]
//! avg < min + 0.4 d and max_p >= 0.01:   max_p <- 0.9 max_p
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `q_limit` | queue length | 240 | capacity of the queue; its unit, packets or bytes, is the unit of the average |
//! | `min` | `Th_min` | queue length | `max`/3, or 5 | average below which there are no drops; too small: the link idles |
//! | `max` | `Th_max` | queue length | 3 `min`, or 15 | average above which all packets are dropped; use two or three times `min`. If `limit` is in bytes and neither is given, they are a quarter and a twelfth of it |
//! | `burst` | L | packets | | instead of `weight`: length of a burst that passes; at least `min` |
//! | `weight` | w | 1 | 1/512, or by `burst` | weight of the newest sample; too large: bursts are dropped |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.1 | drop probability when the average reaches `max`; too small for many flows |
//! | `avpkt` | s | size | the link's mean | typical packet size: with `bandwidth` it sets how fast the average of an idle queue decays; the scale of byte mode |
//! | `bandwidth` | | rate | the link's | rate at which that queue would have drained |
//! | `gentle` | | | false | the ramp from `max` to twice `max` |
//! | `byte_mode` (`bytemode`) | | | false | drop probability in proportion to the packet's size |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//! | `harddrop` | | | true | with `ecn`: drop even ECN-capable packets above `max` (twice `max` if gentle) |
//! | `nodrop` | | | false | with `ecn`: admit packets that should be marked but are not ECN-capable |
//! | `adaptive` (`adaptative`) | | | false | adapt `max_p` so that the average settles midway between the thresholds |
//! | `interval` | | time | 500ms | time between adaptations, at least 100us |
//! | `wait` (`wait_`) | | | false | after a drop, no early drop for the next `1/p_b` packets, and then gaps uniform up to `2/p_b`, as in ns-2 |
//!
//! ## Deviations
//!
//! 1. Figure 3.8 sets a flag `old` and tests `in_early_drop`; they are one flag here.
//! 2. A negative number of samples (an idle period shorter than one packet) counts as zero, and an idle
//!    period counts once: the figure would count it again if the packet that ended it were dropped.
//! 3. If the average has risen since the last drop so that `count p_b` exceeds 1, equation 3.2 is negative
//!    and the figure would not drop again until the average leaves the band; here the overdue drop happens
//!    at once, as in ns-2.
//! 4. Marking, `gentle` and byte mode are not in Parris's pseudo-code: they follow Floyd and Jacobson 1993
//!    and Floyd's notes of 1997 and 2000. A mark resets `count` as a drop does. In byte mode `count` still
//!    counts packets (ns-2 counts bytes), and the scale is the mean packet size, not the largest.
//! 5. ns-2 samples the queue once more after idle decay; the pseudo-code does not.
//! 6. ns-2's `wait_`, true in ns-2 2.35 and not in Floyd and Jacobson 1993, drops a third as often at the same average. It is why ns-2's RED
//!    has a longer queue where few flows share a link, and ns-2's adaptive RED where hundreds do, since `max_p` is bounded; its `gentle_`
//!    does not matter there. Fifty flows with SACK at 100 Mbit/s, `min` 30, `max` 90: see Evidence.
//! 7. `tc` has other defaults: `probability` 0.02, no `harddrop`, a `burst` of `(2 min + max) / (3 avpkt)`,
//!    a `bandwidth` of 10 Mbit/s for any link. Its `limit` is in bytes; with a limit in packets the default
//!    thresholds are those of ns-2. `ared` derives thresholds from a delay and weights from the link rate.
//! 8. Linux decays the average of an idle queue by powers of two from a table, rounds the average, and
//!    stops the count (and its drops) while the average is above `max`; it has no byte mode. With `nodrop`
//!    it does not count the packets it admits; here that resets `count` as a mark does.
//! 9. ALTQ's RED, which ran in parris01's router, draws with half of `p_b`: its denominator is `2 (max - min) / max_p`, so that
//!    `max_p` is reached over twice the band (`red_probd` in KAME's `freebsd2/sys/netinet/altq_red.c` of August 1999). `max_p` at half
//!    is the same; it changes the cells of parris01's appendix B by no more than other seeds do.
//!
//! ## Limits
//!
//! Delay depends on the thresholds and on the number of flows; there is no delay target. State: one
//! average, one counter, one time. Per packet: one multiply, one draw between the thresholds, one `pow`
//! after idling.
//!
//! ## Evidence
//!
//! `tests/oracle/red.rs` transcribes Figures 3.6 to 3.10 literally, with equal decisions on random and
//! bursty traces, with a slower `bandwidth` and with `nodrop` too; `tests/oracle/ared.rs` has `adaptive`.
//! `tests/aqm/tc.rs` compares the weights of bursts with the table in Linux's `net/red.h`, and derived values
//! with those of `tc`. `tests/aqm/closed_forms.rs` checks the uniform gaps; drawing with `p_b` alone, or with
//! `2 - count p_b`, fails the test.
//!
//! ns-2 2.35 beside it (50 transfers with SACK, 100 Mbit/s, round trips of 20 to 300 ms, limit 500; mean queue in packets / drops in % / use of the
//! link): 28.3 / 0.83 / 0.922 in ns-2, 27.6 / 0.74 / 0.926 with `wait`, 20.4 / 0.87 / 0.890 without; with delayed acknowledgements 23.9 / 0.295 / 0.943,
//! 23.9 / 0.291 / 0.947, 18.2 / 0.377 / 0.914. `crates/sim/tests/sim/peers.rs` runs the first.
//!
//! ## References
//!
//! * floyd93: S. Floyd, V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM
//!   `ToN` 1(4), 1993.
//! * floyd01: S. Floyd, R. Gummadi, S. Shenker, Adaptive RED, 2001.
//! * tc: tc-red(8) and what it computes of its parameters.
//! * floyd00: S. Floyd, Recommendation on using the "gentle" variant of RED, note, 2000.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter III.3.2.

mod params;

use aqmkit_base::{Amount, Duration, Instant};

pub use self::params::RedParams;
pub(crate) use self::params::params_with_red;
use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::adaptive::Adaptation;
use crate::law::early::{DropMode, Ramp};
use crate::law::ewma::{Averaging, QueueAverage};
use crate::link::Link;
use crate::packet::{MarkRules, PacketView};
use crate::params::{ParamError, usable_limit};
use crate::verdict::{Verdict, Why};

params_with_red! {
    /// The parameters of RED as a user writes them.
    pub struct Params {}
    red = RedParams::default(),
    then {
        /// Whether `max_p` adapts, to keep the average midway between the thresholds.
        #[serde(alias = "adaptative")]
        pub adaptive: bool = false,
        /// How often.
        pub interval: Duration = Adaptation::default().interval,
        /// As ns-2's `wait_`: whether drops are at least `1/p_b` packets apart.
        pub wait: bool = false,
    }
}

impl Discipline for Params {
    discipline!("red", Red);

    const THRESHOLDS: &'static [&'static str] = &["min", "max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Red::config(self, link)?;
        Ok(self.clone().with_red(self.red().complete(link)?))
    }
}

/// RED's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    ramp: Ramp,
    averaging: Averaging,
    /// In byte mode, the packet size at which the probability is not scaled.
    byte_unit: Option<f64>,
    marks: MarkRules,
    adaptation: Option<Adaptation>,
    wait: bool,
}

/// RED's state.
#[derive(Clone, Debug)]
pub struct Red {
    avg: QueueAverage,
    mode: DropMode,
    /// The ramp with the current `max_p`.
    ramp: Ramp,
}

/// Used by the RED variants.
impl Config {
    /// RED's part of their parameters, checked.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub(super) fn new(params: &RedParams, link: &Link) -> Result<Self, ParamError> {
        let unit = params.limit.unit();
        let (min, max) = params.in_unit(unit)?;
        let full = params.complete(link)?.averaging;
        let byte_unit = params.byte_mode.then_some(link.avpkt(full.avpkt)?.as_f64());
        if params.nodrop && !params.ecn {
            return Err(ParamError::new("nodrop", true, "it needs ecn = true").cite("tc-red(8)"));
        }
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            ramp: params.given(Ramp { min, max, max_p: params.max_p, gentle: params.gentle }.check())?,
            averaging: params.given(full.check(link, params.thresholds().0, 1.0))?,
            byte_unit,
            marks: MarkRules { ecn: params.ecn, harddrop: params.harddrop, nodrop: params.nodrop },
            adaptation: None,
            wait: false,
        })
    }

    /// The same with an adaptive `max_p`.
    pub(super) fn adaptive(self, adaptation: Option<Adaptation>) -> Self {
        Config { adaptation, ..self }
    }

    /// The same with or without ns-2's distance between drops.
    pub(super) fn waiting(self, wait: bool) -> Self {
        Config { wait, ..self }
    }

    /// Capacity of the queue.
    pub(super) fn limit(&self) -> Amount {
        self.limit
    }

    /// The thresholds, and the initial `max_p`.
    pub(super) fn ramp(&self) -> &Ramp {
        &self.ramp
    }

    /// In byte mode, the packet size at which the probability is not scaled.
    pub(super) fn byte_unit(&self) -> Option<f64> {
        self.byte_unit
    }
}

/// RED's components, which variants use too.
impl Red {
    /// RED at an empty queue.
    pub(super) fn at(config: &Config, now: Instant) -> Self {
        Red { avg: QueueAverage::new(now), mode: DropMode::default().waiting(config.wait), ramp: config.ramp }
    }

    /// The average after the last arrival.
    pub(super) fn avg(&self) -> f64 {
        self.avg.get()
    }

    /// The current `max_p`.
    pub(super) fn max_p(&self) -> f64 {
        self.ramp.max_p
    }

    /// The ramp, whose `max_p` may be changed.
    pub(super) fn ramp(&mut self) -> &mut Ramp {
        &mut self.ramp
    }

    /// The average that an arrival now would see.
    fn avg_at(&self, config: &Config, queue: QueueView, now: Instant) -> f64 {
        if queue.packets > 0 { self.avg.get() } else { self.avg.while_idle(config.averaging, now) }
    }

    /// Updates the average with the queue that an arrival sees.
    pub(super) fn average(&mut self, config: &Config, queue: QueueView, now: Instant) {
        self.avg.on_arrival(config.averaging, queue.length(config.limit.unit()), now);
    }

    /// Decides about an arrival.
    pub(super) fn decide(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.full {
            self.mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let scale = config.byte_unit.map_or(1.0, |unit| f64::from(pkt.len) / unit);
        let decision = self.mode.on_arrival(&self.ramp, self.avg.get(), queue.packets, scale, env.rng);
        pkt.early(decision, config.marks)
    }

    /// The queue has become empty.
    pub(super) fn on_idle(&mut self, now: Instant) {
        self.avg.on_empty(now);
    }

    /// Figure 3.8.
    pub(super) fn arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.average(config, queue, env.now);
        self.decide(config, pkt, queue, env)
    }

    /// A packet has left; `queue` remains: Figure 3.10.
    pub(super) fn departure(&mut self, queue: QueueView, now: Instant) {
        if queue.packets == 0 {
            self.on_idle(now);
        }
    }

    /// Applies changed parameters. An average in packets cannot be converted to bytes: if the unit changes, it
    /// restarts. `max_p` keeps its value unless its initial value changes.
    pub(super) fn change(&mut self, old: &Config, new: &Config, now: Instant) {
        let max_p = if old.ramp.max_p == new.ramp.max_p { self.ramp.max_p } else { new.ramp.max_p };
        if old.limit.unit() != new.limit.unit() {
            *self = Red::at(new, now);
        }
        self.ramp = Ramp { max_p, ..new.ramp };
        self.mode = self.mode.waiting(new.wait);
    }
}

impl Aqm for Red {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let adaptation = Adaptation { interval: params.interval, ..Adaptation::default() }.check()?;
        let adaptation = params.adaptive.then_some(adaptation);
        Ok(Config::new(&params.red(), link)?.adaptive(adaptation).waiting(params.wait))
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(config: &Config, now: Instant) -> Self {
        Red::at(config, now)
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.arrival(config, pkt, queue, env)
    }

    fn on_departure(&mut self, _config: &Config, _pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.departure(queue, env.now);
        Verdict::Pass
    }

    fn on_discard(&mut self, _config: &Config, _pkt: PacketView, queue: QueueView, now: Instant) {
        self.departure(queue, now);
    }

    fn tick(config: &Config) -> Option<Duration> {
        config.adaptation.map(|adaptation| adaptation.interval)
    }

    fn on_tick(&mut self, config: &Config, queue: QueueView, now: Instant) {
        let avg = self.avg_at(config, queue, now);
        if let Some(adaptation) = config.adaptation {
            adaptation.adapt(&mut self.ramp, avg);
        }
    }

    /// The average of a queue without arrivals does not grow: below the target it stays there.
    fn skip_ticks(&mut self, config: &Config, queue: QueueView, first: Instant, _ticks: u64) -> bool {
        let avg = self.avg_at(config, queue, first);
        config.adaptation.is_none_or(|adaptation| adaptation.at_rest(&self.ramp, avg))
    }

    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        self.change(old, new, now);
        if new.adaptation.is_none() {
            self.ramp = new.ramp;
        }
        Ok(())
    }

    fn probe(&self, config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("avg", self.avg.get());
        if config.adaptation.is_some() {
            out("max_p", self.ramp.max_p);
        }
    }
}
