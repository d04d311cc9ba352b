//! # WRED: weighted RED
//!
//! RED with one average of the whole queue and separate thresholds for each class, so that less important
//! classes are dropped earlier.
//!
//! ## Law
//!
//! On arrival of a packet of class `c`:
//!
//! ```text
//! avg <- (1 - w) avg + w q                           the whole queue, all classes        [cisco]
//! as RED with min_c, max_c, max_p_c, and the class's own count of packets between drops
//! ```
//!
//! The default `min` is `floor((9 + i)/18 max)` for entry i of the list (from zero to eight): half of `max`
//! for precedence 0, up to 17/18 for reserved flows. With `max` = 40 these are the 20, 22, 24, 26, 28, 31,
//! 33, 35 and 37 of Cisco routers.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 240 | capacity of the queue; its unit is the unit of the average |
//! | `weight` | w | 1 | 1/512 | weight of the newest sample; "exponential weighting constant" 9 |
//! | `burst` | | packets | | instead of `weight`, as in RED, with the lowest `min` of the classes |
//! | `avpkt` | | size | the link's mean | typical packet size: sets the drain rate |
//! | `bandwidth` | | rate | the link's | how fast an idle queue's average decays |
//! | `gentle` | | | false | the ramps from `max` to twice `max` |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//! | `harddrop` | | | true | with `ecn`: drop even ECN-capable packets above `max` |
//! | `classes` | | | one class `*` | an entry for each class, least important first |
//! | `class` | | | `"*"` | name of a class, or `"*"` for all classes without an entry |
//! | `min` | `min_c` | queue length | by the place in the list | average below which no packet of the class is dropped; the further apart, the stricter the preference |
//! | `max` | `max_c` | queue length | 40 | average above which all packets of the class are dropped |
//! | `max_p` (`probability`) | `max_p_c` | 1 | 0.1 | drop probability when the average reaches `max`; "mark probability denominator" 10 |
//!
//! ## Deviations
//!
//! 1. Drops are spaced as in RED, with its two-packet rule and its idle time; the algorithm of routers is
//!    not published.
//! 2. Routers derive `max` from buffers and link speed; here it is a parameter.
//! 3. Flow-based WRED is not included.
//! 4. Linux's `gred` has a queue length and an average for each class (`DP`), and shares one among equal
//!    `prio` with `grio`; here there is one average for all classes. Its `probability`, `burst`, `avpkt`
//!    and `bandwidth` mean the same here; `DP` is a class of the link, `setup DPs` the length of the list.
//!
//! ## Limits
//!
//! A class that floods raises the average for all: others are dropped too if their thresholds are below it.
//! No class has a guarantee. Unknown classes use the entry `*`, or else the last. State: one average, a
//! count for each class. Per packet: as RED.
//!
//! ## Evidence
//!
//! `tests/oracle/rio.rs` compares it with RED's figures with one average and thresholds per class, with
//! equal decisions on random and bursty traces; `tests/aqm/worked_flows.rs` checks the nine thresholds.
//!
//! ## References
//!
//! * cisco: Cisco IOS Quality of Service Solutions Configuration Guide, Congestion Avoidance Overview.
//! * floyd93: S. Floyd, V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM
//!   `ToN` 1(4), 1993.

use aqmkit_base::{Amount, BitRate, Bytes, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::classes::{ClassMap, REST};
use crate::discipline::{Discipline, discipline};
use crate::law::early::{DropMode, Ramp};
use crate::law::ewma::{Averaging, AveragingParams, QueueAverage};
use crate::link::Link;
use crate::packet::{MarkRules, PacketView};
use crate::params::{ParamError, in_unit, usable_limit};
use crate::verdict::{Verdict, Why};

/// Default weight of the newest sample: the routers' "exponential weighting constant" 9.
const WEIGHT: f64 = 1.0 / 512.0;

/// The parameters of WRED as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Weight of the newest sample of the queue; 1/512 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Burst to admit, in packets; replaces `weight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Size of a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// How fast an idle queue's average decays; the link's rate if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BitRate>,
    /// Whether the probabilities ramp to 1 between `max` and twice `max`.
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
    /// Whether forced drops also apply to ECN-capable packets.
    pub harddrop: bool,
    /// The classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassParams>,
}

/// The parameters of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassParams {
    /// The name of a class of the link, or `*`.
    pub class: String,
    /// Average below which no packet of the class is dropped; derived from its index if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    /// Average above which every packet of the class is dropped.
    pub max: Amount,
    /// Drop probability as the average reaches `max`.
    #[serde(alias = "probability")]
    pub max_p: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            weight: None,
            burst: None,
            avpkt: None,
            bandwidth: None,
            gentle: false,
            ecn: false,
            harddrop: true,
            classes: Vec::new(),
        }
    }
}

impl Default for ClassParams {
    fn default() -> Self {
        ClassParams { class: REST.to_owned(), min: None, max: Amount::Packets(40.0), max_p: 0.1 }
    }
}

impl ClassParams {
    /// `min`, as the routers derive it for the i-th precedence.
    fn min(&self, i: usize) -> Amount {
        let part = (9 + i.min(8)) as u64;
        self.min.unwrap_or(match self.max {
            Amount::Packets(max) => Amount::Packets((max * part as f64 / 18.0).trunc()),
            Amount::Bytes(max) => Amount::Bytes((u128::from(max) * u128::from(part) / 18) as u64),
        })
    }
}

impl Discipline for Params {
    discipline!("wred", Wred);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let full = self.complete();
        Wred::config(&full, link)?;
        let AveragingParams { weight, burst, avpkt, bandwidth } =
            full.averaging().complete(link, full.least_min(), WEIGHT)?;
        Ok(Params { weight, burst, avpkt, bandwidth, ..full })
    }
}

impl Params {
    /// The same with all classes and thresholds filled in.
    fn complete(&self) -> Self {
        let mut full = self.clone();
        if full.classes.is_empty() {
            full.classes.push(ClassParams::default());
        }
        for (i, class) in full.classes.iter_mut().enumerate() {
            class.min = Some(class.min(i));
        }
        full
    }

    fn averaging(&self) -> AveragingParams {
        let &Params { weight, burst, avpkt, bandwidth, .. } = self;
        AveragingParams { weight, burst, avpkt, bandwidth }
    }

    /// The average at which drops begin.
    fn least_min(&self) -> Amount {
        let mins = self.classes.iter().filter_map(|class| class.min);
        mins.min_by(|a, b| a.value().total_cmp(&b.value())).unwrap_or(Amount::Packets(0.0))
    }
}

/// WRED's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    averaging: Averaging,
    marks: MarkRules,
    map: ClassMap,
    ramps: Vec<Ramp>,
}

/// WRED's state.
#[derive(Clone, Debug)]
pub struct Wred {
    avg: QueueAverage,
    /// By entry.
    modes: Vec<DropMode>,
}

impl Aqm for Wred {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let full = params.complete();
        let unit = full.limit.unit();
        let ramp = |(i, class): (usize, &ClassParams)| {
            let checked = || {
                let (min, max) = (in_unit("min", class.min(i), unit)?, in_unit("max", class.max, unit)?);
                Ramp { min, max, max_p: class.max_p, gentle: full.gentle }.check()
            };
            checked().map_err(|e: ParamError| e.within(&format!("classes[{i}]")))
        };
        Ok(Config {
            limit: usable_limit("limit", full.limit)?,
            averaging: full.averaging().check(link, full.least_min(), WEIGHT)?,
            marks: MarkRules { ecn: full.ecn, harddrop: full.harddrop, nodrop: false },
            map: ClassMap::new(link, full.classes.iter().map(|c| c.class.as_str()))?,
            ramps: full.classes.iter().enumerate().map(ramp).collect::<Result<_, _>>()?,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(config: &Config, now: Instant) -> Self {
        Wred { avg: QueueAverage::new(now), modes: vec![DropMode::default(); config.ramps.len()] }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.avg.on_arrival(config.averaging, queue.length(config.limit.unit()), env.now);
        let entry = config.map.entry(pkt.class);
        let (mode, ramp) = (&mut self.modes[entry], &config.ramps[entry]);
        if queue.full {
            mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let decision = mode.on_arrival(ramp, self.avg.get(), queue.packets, 1.0, env.rng);
        pkt.early(decision, config.marks)
    }

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

    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        if old.limit.unit() != new.limit.unit() {
            // An average of packets says nothing about bytes.
            self.avg = QueueAverage::new(now);
        }
        self.modes.resize(new.ramps.len(), DropMode::default());
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("avg", self.avg.get());
    }
}
