//! # RED: random early detection
//!
//! Keeps the *average* queue short while letting bursts through. Each arrival updates a slow average of
//! the queue; as it climbs from `min` to `max`, arriving packets are marked or dropped more and more
//! often, and the drops are spread evenly in time so that no one flow takes a cluster.
//!
//! ## Law
//!
//! On arrival, with `q` the queue before this packet:
//!
//! ```text
//! avg <- (1 - w) avg + w q                 queue not empty                        [parris01 fig 3.7]
//! avg <- (1 - w)^n avg                     queue empty for `idle`: n = idle * drain_rate - 1, an integer
//! forced drop                              q >= limit, or avg > max               [parris01 fig 3.8]
//! p_b  = max_p (avg - min) / (max - min)                                          [parris01 eq 3.1]
//! p_a  = p_b / (1 - count p_b)             drop with p_a                          [parris01 eq 3.2]
//! ```
//!
//! Drops need `avg > min` and more than one packet waiting; the first arrival above `min` is never
//! dropped and starts `count` at 1, which is also the count of the first arrival after a drop. At a constant
//! average the gap between drops is then uniform on 1 to `1/p_b - 1`, so about twice `p_b` of the packets
//! are dropped. With `gentle`, `p_b` goes on from `max_p` at `max` to 1 at twice `max` instead of jumping
//! to 1. In byte mode `p_b` is scaled by the packet's size over the typical size.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `q_limit` | queue length | 240 | what the queue may hold; its unit, packets or bytes, is the unit of the average |
//! | `min` | `Th_min` | queue length | 5 | below it nothing is dropped; too small and the link idles |
//! | `max` | `Th_max` | queue length | 15 | above it everything is dropped; keep it at two or three times `min` |
//! | `weight` | w | 1 | 1/512 | weight of the newest sample; too large and bursts are punished |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.1 | drop probability as the average reaches `max`; too small for many flows |
//! | `avpkt` | s | size | the link's mean | typical packet: sets the drain rate, and the scale of byte mode |
//! | `gentle` | | | false | the ramp from `max` to twice `max` |
//! | `byte_mode` (`bytemode`) | | | false | drop probability in proportion to the packet's size |
//! | `ecn` | | | false | mark ECN-capable packets where an early drop is due |
//! | `harddrop` | | | true | with `ecn`: drop even ECN-capable packets above `max` (twice `max` if gentle) |
//!
//! ## Deviations
//!
//! 1. Figure 3.8 sets a flag `old` and tests `in_early_drop`; they are one flag here.
//! 2. A negative number of samples for an idle time under one packet counts as none, and one idle time
//!    counts once: the figure would count it again if the packet that ended it was dropped.
//! 3. Where the average has risen so far since the last drop that `count p_b` is above 1, equation 3.2 is
//!    negative and the figure would never drop again before the average leaves the band; here the drop is
//!    overdue and happens at once, as in ns-2.
//! 4. Marking, `gentle` and byte mode are not in Parris's pseudo-code: they follow Floyd and Jacobson 1993
//!    and Floyd's notes of 1997 and 2000. A mark resets `count` as a drop does. In byte mode `count` goes
//!    on counting packets (ns-2 counts bytes), and the scale is the mean packet, not the largest.
//! 5. ns-2 samples the queue once more after idle decay; the pseudo-code does not.
//!
//! ## Limits
//!
//! Delay depends on the thresholds and on the number of flows; there is no delay target. State: one
//! average, one counter, one time. Per packet: one multiply, one draw between the thresholds, one `pow`
//! after idling.
//!
//! ## Evidence
//!
//! `tests/oracle/red.rs` is Figures 3.6 to 3.10, literally, with equal decisions on random and bursty
//! traces. `tests/closed_forms.rs` checks the uniform gaps; drawing with `p_b` alone, or with
//! `2 - count p_b`, fails it.
//!
//! ## References
//!
//! * floyd93: S. Floyd, V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM
//!   `ToN` 1(4), 1993.
//! * floyd00: S. Floyd, Recommendation on using the "gentle" variant of RED, note, 2000.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter III.3.2.

use aqmkit_base::{Amount, Bytes, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView, Verdict};
use crate::law::early::{DropMode, Ramp};
use crate::law::ewma::QueueAverage;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::qdisc::Why;
use crate::registry::{Discipline, Link, discipline};

/// The parameters of RED as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What the queue may hold.
    pub limit: Amount,
    /// Average below which nothing is dropped.
    pub min: Amount,
    /// Average above which everything is dropped.
    pub max: Amount,
    /// Weight of the newest sample of the queue.
    pub weight: f64,
    /// Drop probability as the average reaches `max`.
    #[serde(alias = "probability")]
    pub max_p: f64,
    /// Size of a typical packet; the link's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether the probability ramps from `max_p` to 1 between `max` and twice `max`.
    pub gentle: bool,
    /// Whether the probability is in proportion to the packet's size.
    #[serde(alias = "bytemode")]
    pub byte_mode: bool,
    /// Whether ECN-capable packets are marked where an early drop is due.
    pub ecn: bool,
    /// Whether even ECN-capable packets are dropped where a forced drop is due.
    pub harddrop: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            min: Amount::Packets(5.0),
            max: Amount::Packets(15.0),
            weight: 1.0 / 512.0,
            max_p: 0.1,
            avpkt: None,
            gentle: false,
            byte_mode: false,
            ecn: false,
            harddrop: true,
        }
    }
}

impl Discipline for Params {
    discipline!("red", Red, Red);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Red::config(self, link)?;
        Ok(Params { avpkt: Some(link.avpkt(self.avpkt)?), ..self.clone() })
    }
}

/// RED's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    ramp: Ramp,
    weight: f64,
    /// Typical packets that the link drains in a second: as many samples of zero in an idle second,
    /// whether the average counts packets or bytes.
    drain_rate: f64,
    mean_packet: f64,
    byte_mode: bool,
    ecn: bool,
    harddrop: bool,
}

/// RED's state.
#[derive(Clone, Debug)]
pub struct Red {
    avg: QueueAverage,
    mode: DropMode,
}

impl Config {
    /// The thresholds and `max_p`.
    pub(super) fn ramp(&self) -> &Ramp {
        &self.ramp
    }
}

/// The parts of RED that adaptive RED, whose ramp moves, is made of too.
impl Red {
    /// The average as the last arrival left it.
    pub(super) fn avg(&self) -> f64 {
        self.avg.get()
    }

    /// The average as an arrival now would find it.
    pub(super) fn avg_at(&self, config: &Config, queue: QueueView, now: Instant) -> f64 {
        if queue.packets > 0 { self.avg.get() } else { self.avg.while_idle(config.weight, config.drain_rate, now) }
    }

    /// The average takes in the queue that an arrival finds.
    pub(super) fn average(&mut self, config: &Config, queue: QueueView, now: Instant) {
        self.avg.on_arrival(config.weight, queue.length(config.limit.unit()), config.drain_rate, now);
    }

    /// What becomes of the arrival.
    pub(super) fn decide(
        &mut self,
        config: &Config,
        ramp: &Ramp,
        pkt: PacketView,
        queue: QueueView,
        env: &mut Env<'_>,
    ) -> Verdict {
        if queue.full {
            self.mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let scale = if config.byte_mode { f64::from(pkt.len) / config.mean_packet } else { 1.0 };
        let decision = self.mode.on_arrival(ramp, self.avg.get(), queue.packets, scale, env.rng);
        pkt.early(decision, config.ecn, config.harddrop)
    }
}

impl Aqm for Red {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let unit = params.limit.unit();
        let (min, max) = (in_unit("min", params.min, unit)?, in_unit("max", params.max, unit)?);
        in_range("weight", params.weight, f64::MIN_POSITIVE, 1.0)?;
        let mean_packet = link.avpkt(params.avpkt)?;
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            ramp: Ramp { min, max, max_p: params.max_p, gentle: params.gentle }.check()?,
            weight: params.weight,
            drain_rate: link.packets_per_sec(mean_packet),
            mean_packet: mean_packet.as_f64(),
            byte_mode: params.byte_mode,
            ecn: params.ecn,
            harddrop: params.harddrop,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(_config: &Config, now: Instant) -> Self {
        Red { avg: QueueAverage::new(now), mode: DropMode::default() }
    }

    /// Figure 3.8.
    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.average(config, queue, env.now);
        self.decide(config, &config.ramp, pkt, queue, env)
    }

    /// Figure 3.10.
    fn on_departure(&mut self, _config: &Config, _pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.packets == 0 {
            self.avg.on_empty(env.now);
        }
        Verdict::Pass
    }

    fn on_discard(&mut self, _config: &Config, _pkt: PacketView, queue: QueueView, now: Instant) {
        if queue.packets == 0 {
            self.avg.on_empty(now);
        }
    }

    /// An average of packets says nothing about bytes: where the unit changes, it starts afresh.
    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        if old.limit.unit() != new.limit.unit() {
            *self = Red::new(new, now);
        }
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("avg", self.avg.get());
    }
}
