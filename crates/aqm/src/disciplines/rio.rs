//! # RIO: RED with in and out
//!
//! Two REDs on one FIFO. Packets within a user's profile (IN) see the average of IN packets only, all
//! others (OUT) the average of the whole queue: as congestion grows, OUT packets are dropped long before
//! any IN packet.
//!
//! ## Law
//!
//! On arrival, with `q` the queue and `q_in` its IN packets, before this one:
//!
//! ```text
//! IN:     avg_in    <- (1 - w) avg_in + w q_in                                   [clark98]
//! always: avg_total <- (1 - w) avg_total + w q
//! IN:     as RED with avg_in    and min_in,  max_in,  P_max_in
//! OUT:    as RED with avg_total and min_out, max_out, P_max_out
//! ```
//!
//! "As RED" means RED's spacing of drops, its two-packet rule and its idle time, which here also applies
//! while a busy queue has no IN packets. With `coupled = false`, OUT packets see the average of OUT
//! packets, updated by OUT arrivals only.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 240 | capacity of the queue; its unit is the unit of the averages |
//! | `in` | | class names | none | classes that are IN, `"*"` for all; with none every packet is OUT and RIO is RED |
//! | `in_min` (`in_thresh_`) | `min_in` | queue length | 15 | average of IN below which no IN packet is dropped |
//! | `in_max` (`in_maxthresh_`) | `max_in` | queue length | 30 | average of IN above which every IN packet is dropped |
//! | `in_max_p` | `P_max_in` | 1 | 1/50 | drop probability of IN when its average reaches `in_max` |
//! | `out_min` (`out_thresh_`) | `min_out` | queue length | 5 | the same for OUT; should be below `in_min`, otherwise OUT is not dropped first |
//! | `out_max` (`out_maxthresh_`) | `max_out` | queue length | 15 | likewise, well below `in_max` |
//! | `out_max_p` | `P_max_out` | 1 | 1/5 | likewise, above `in_max_p` |
//! | `weight` | w | 1 | 0.002 | weight of the newest sample, for both |
//! | `avpkt` | | size | the link's mean | typical packet size: sets the drain rate |
//! | `coupled` | | | true | OUT sees the average of the whole queue (RIO-C) or of OUT only (false, RIO-D) |
//! | `gentle` | | | false | both ramps from their maximum to twice that |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//! | `harddrop` | | | true | with `ecn`: drop even ECN-capable packets above the maximum |
//!
//! ## Deviations
//!
//! 1. ns-2 updates the average of the whole queue only when an IN packet arrives: without IN traffic it
//!    drops no OUT packet until the queue is full. Here every arrival updates it, as in the paper.
//! 2. In ns-2 both idle periods refer to the whole queue; here IN is idle while no IN packet waits.
//! 3. In ns-2 forced drops of OUT packets affect the count of IN packets between drops; here each has its
//!    own count. The defaults are ns-2's; the paper has 40/70/0.02 and 10/30/0.2 at 33 Mb/s.
//! 4. ALTQ has three precedences, updates the averages of the packet's precedence and all lower ones, and
//!    defaults to 35/45, 20/30 and 5/15. For more than two precedences, see WRED.
//! 5. Decoupling and marking are not in the paper.
//!
//! ## Limits
//!
//! IN is protected only while its own load is moderate: with the average of `q_in` above `in_max` it is
//! dropped like OUT. RIO does not police the IN mark. Delay depends on the thresholds, as with RED. State:
//! two averages, two counts. Per packet: RED's work, twice the average for IN.
//!
//! ## Evidence
//!
//! `tests/oracle/rio.rs` transcribes the paper's algorithm literally, with equal decisions on random and
//! bursty traces; `tests/aqm/published_flows.rs` checks that IN has no losses while OUT sends twice the link
//! rate; with RED both lose packets.
//!
//! ## References
//!
//! * clark98: D. Clark, W. Fang, Explicit Allocation of Best-Effort Packet Delivery Service, IEEE/ACM
//!   `ToN` 6(4), 1998.

use aqmkit_base::{Amount, Bytes, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::classes::ClassSet;
use crate::discipline::{Discipline, discipline};
use crate::law::early::Ramp;
use crate::law::ewma::{Averaging, AveragingParams};
use crate::law::part::Part;
use crate::link::Link;
use crate::packet::{MarkRules, PacketView};
use crate::params::{ParamError, in_unit, usable_limit};
use crate::verdict::{Verdict, Why};

/// The parameters of RIO as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Names of the classes that are IN.
    #[serde(rename = "in")]
    pub inside: Vec<String>,
    /// Average of IN below which no IN packet is dropped.
    #[serde(alias = "in_thresh_")]
    pub in_min: Amount,
    /// Average of IN above which every IN packet is dropped.
    #[serde(alias = "in_maxthresh_")]
    pub in_max: Amount,
    /// Drop probability of IN as its average reaches `in_max`.
    pub in_max_p: f64,
    /// Average below which no OUT packet is dropped.
    #[serde(alias = "out_thresh_")]
    pub out_min: Amount,
    /// Average above which every OUT packet is dropped.
    #[serde(alias = "out_maxthresh_")]
    pub out_max: Amount,
    /// Drop probability of OUT as the average reaches `out_max`.
    pub out_max_p: f64,
    /// Weight of the newest sample of the queue.
    pub weight: f64,
    /// Size of a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether OUT packets are judged by the whole queue.
    pub coupled: bool,
    /// Whether the probabilities ramp to 1 between the maximum and twice that.
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
    /// Whether forced drops also apply to ECN-capable packets.
    pub harddrop: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            inside: Vec::new(),
            in_min: Amount::Packets(15.0),
            in_max: Amount::Packets(30.0),
            in_max_p: 0.02,
            out_min: Amount::Packets(5.0),
            out_max: Amount::Packets(15.0),
            out_max_p: 0.2,
            weight: 0.002,
            avpkt: None,
            coupled: true,
            gentle: false,
            ecn: false,
            harddrop: true,
        }
    }
}

impl Discipline for Params {
    discipline!("rio", Rio);

    const THRESHOLDS: &'static [&'static str] = &["in_min", "in_max", "out_min", "out_max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Rio::config(self, link)?;
        Ok(Params { avpkt: Some(link.avpkt(self.avpkt)?), ..self.clone() })
    }
}

/// The checked parameters of the two REDs, as in RIO-PS too.
#[derive(Clone, Debug)]
pub(crate) struct CoreConfig {
    limit: Amount,
    inside: Ramp,
    outside: Ramp,
    averaging: Averaging,
    coupled: bool,
    marks: MarkRules,
}

impl CoreConfig {
    pub(crate) fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let unit = params.limit.unit();
        let ramp = |side: &str, min, max, max_p| {
            let field = |name: &str| format!("{side}_{name}");
            let (min, max) = (in_unit(&field("min"), min, unit)?, in_unit(&field("max"), max, unit)?);
            let ramp = Ramp { min, max, max_p, gentle: params.gentle };
            ramp.check().map_err(|e| ParamError { field: field(&e.field), ..e })
        };
        let of_queue =
            AveragingParams { weight: Some(params.weight), avpkt: params.avpkt, ..AveragingParams::default() };
        Ok(CoreConfig {
            limit: usable_limit("limit", params.limit)?,
            inside: ramp("in", params.in_min, params.in_max, params.in_max_p)?,
            outside: ramp("out", params.out_min, params.out_max, params.out_max_p)?,
            averaging: of_queue.check(link, params.out_min, params.weight)?,
            coupled: params.coupled,
            marks: MarkRules { ecn: params.ecn, harddrop: params.harddrop, nodrop: false },
        })
    }

    pub(crate) fn limit(&self) -> Amount {
        self.limit
    }
}

/// The state of the two REDs, as in RIO-PS too.
#[derive(Clone, Debug)]
pub(crate) struct Core {
    inside: Part,
    /// Its average is that of the whole queue if RIO is coupled.
    outside: Part,
}

impl Core {
    pub(crate) fn new(now: Instant) -> Self {
        Core { inside: Part::new(now), outside: Part::new(now) }
    }

    /// The backlog by which OUT packets are judged.
    fn out_view(&self, config: &CoreConfig, queue: QueueView) -> QueueView {
        if config.coupled { queue } else { self.outside.queued }
    }

    fn update_averages(&mut self, config: &CoreConfig, is_in: bool, queue: QueueView, now: Instant) {
        let unit = config.limit.unit();
        if is_in {
            let length = self.inside.queued.length(unit);
            self.inside.avg.on_arrival(config.averaging, length, now);
        }
        if config.coupled || !is_in {
            let length = self.out_view(config, queue).length(unit);
            self.outside.avg.on_arrival(config.averaging, length, now);
        }
    }

    pub(crate) fn on_arrival(
        &mut self,
        config: &CoreConfig,
        is_in: bool,
        pkt: PacketView,
        queue: QueueView,
        env: &mut Env<'_>,
    ) -> Verdict {
        self.update_averages(config, is_in, queue, env.now);
        let out_waiting = self.out_view(config, queue).packets;
        let (part, ramp, waiting) = if is_in {
            let waiting = self.inside.queued.packets;
            (&mut self.inside, &config.inside, waiting)
        } else {
            (&mut self.outside, &config.outside, out_waiting)
        };
        if queue.full {
            part.mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let decision = part.mode.on_arrival(ramp, part.avg.get(), waiting, 1.0, env.rng);
        let verdict = pkt.early(decision, config.marks);
        if !matches!(verdict, Verdict::Drop(_)) {
            part.enqueued(pkt.len);
        }
        verdict
    }

    /// A packet has left the queue; `queue` remains.
    pub(crate) fn left(&mut self, config: &CoreConfig, is_in: bool, len: u32, queue: QueueView, now: Instant) {
        if is_in {
            self.inside.dequeued(len, now);
        } else {
            self.outside.dequeued(len, now);
        }
        if config.coupled && queue.packets == 0 {
            self.outside.avg.on_empty(now);
        }
    }

    /// An average cannot be converted to another unit, nor to another part of the queue.
    pub(crate) fn on_change(&mut self, old: &CoreConfig, new: &CoreConfig, now: Instant) {
        let fresh = Part::new(now);
        if old.limit.unit() != new.limit.unit() {
            (self.inside.avg, self.inside.mode) = (fresh.avg, fresh.mode);
        }
        if old.limit.unit() != new.limit.unit() || old.coupled != new.coupled {
            (self.outside.avg, self.outside.mode) = (fresh.avg, fresh.mode);
        }
    }

    pub(crate) fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("avg.in", self.inside.avg.get());
        out("avg.out", self.outside.avg.get());
        out("queue.in", f64::from(self.inside.queued.packets));
    }
}

/// RIO's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    core: CoreConfig,
    inside: ClassSet,
}

/// RIO's state.
#[derive(Clone, Debug)]
pub struct Rio {
    core: Core,
}

impl Aqm for Rio {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let core = CoreConfig::new(params, link)?;
        Ok(Config { core, inside: ClassSet::new("in", link, &params.inside)? })
    }

    fn limit(config: &Config) -> Amount {
        config.core.limit
    }

    fn new(_config: &Config, now: Instant) -> Self {
        Rio { core: Core::new(now) }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.core.on_arrival(&config.core, config.inside.contains(pkt.class), pkt, queue, env)
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.core.left(&config.core, config.inside.contains(pkt.class), pkt.len, queue, env.now);
        Verdict::Pass
    }

    fn on_discard(&mut self, config: &Config, pkt: PacketView, queue: QueueView, now: Instant) {
        self.core.left(&config.core, config.inside.contains(pkt.class), pkt.len, queue, now);
    }

    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        if old.inside != new.inside {
            return Err(ParamError::new("in", "another list", "the classes cannot change while packets wait"));
        }
        self.core.on_change(&old.core, &new.core, now);
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        self.core.probe(out);
    }
}
