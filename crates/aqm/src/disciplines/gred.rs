//! # GRED: generic RED
//!
//! One FIFO shared by up to sixteen *virtual queues*, each with RED thresholds, a limit and an average of its own: Linux's
//! differentiated drop precedences. With `grio`, important classes also count in the averages of less important ones; classes
//! of equal `prio` then share one average.
//!
//! ## Law
//!
//! On arrival of a packet of virtual queue `v`, with `q_v` the backlog of `v` and `q` that of all:
//!
//! ```text
//! own average:      avg_v <- (1 - w) avg_v + w q_v                   where v was not idle     [gred, red.h]
//!                   avg_v <- (1 - w)^(idle bandwidth / avpkt) avg_v  else
//! grio:             avg = avg_v + sum of avg_u, prio_u < prio_v, u not idle
//! grio, equal prio: all of them have one average of q, and it alone decides
//!
//! avg <  min_v:     pass, count = none
//! avg >= max_v:     forced drop, count = none
//! else:             count = none: count = 0, r = uniform [0, 1), pass
//!                   count += 1; drop where max_p (avg - min) / (max - min) count >= r, and count = 0, r = uniform
//! q_v + size > limit_v:   drop
//! ```
//!
//! The gap between drops is uniform on 1 to `1/p_b`, with one random number for each drop. A virtual queue is idle from when its last
//! packet left until its next packet arrives.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `limit` | queue length | 1000 | capacity of the queue, and of a virtual queue without a limit of its own; its unit is the unit of all averages |
//! | `grio` | | | false | add the averages of more important virtual queues, as RIO does |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//! | `harddrop` | | | false | with `ecn`: drop even ECN-capable packets from `max` on |
//! | `classes` | DP | | one class `*` | a virtual queue for each entry, at most 16. Packets of a class that no entry covers pass up to `limit`, as in Linux without a default |
//! | `class` | | | `"*"` | name of a class, or `"*"` for all classes without an entry (Linux: `default`) |
//! | `prio` | `prio` | 1 | 8 | with `grio`: lower numbers are more important, from 1 to 255; equal ones share one average |
//! | `min` | `qth_min` | queue length | `max`/3 | average below which no packet of the class is dropped |
//! | `max` | `qth_max` | queue length | 3 `min`, or `limit`/4 | average from which all packets of the class are dropped |
//! | `max_p` (`probability`) | `max_P` | 1 | 0.02 | drop probability when the average reaches `max` |
//! | `weight` | w | 1 | by `burst` | weight of the newest sample |
//! | `burst` | | packets | (2 `min` + `max`)/3, unless `weight` is given | instead of `weight`, as in RED; the default is that of `tc`. With 1/512 the average needs half a minute to fall from above `max`, and until then everything is dropped |
//! | `avpkt` | | size | the link's mean | typical packet size: with `bandwidth` it sets how fast an idle average decays |
//! | `bandwidth` | | rate | the link's | how fast an idle virtual queue would have drained |
//!
//! An entry of `classes` may also have a `limit`: the capacity of this virtual queue.
//!
//! ## Deviations
//!
//! 1. `tc` needs all of `limit`, `min`, `max`, `avpkt` and `burst`, in bytes; here they are optional, and lengths may be in packets.
//! 2. Linux limits virtual queues only, so that together they may exceed `limit`; here `limit` also holds for the whole queue.
//! 3. A virtual queue is chosen by the class of a packet, not by the last four bits of `tc_index`; it is identified by a name, not by a number.
//! 4. The idle decay is exact; Linux reads powers of two from a table, rounds averages, and cuts the number `count p_b` to whole bytes.
//! 5. `ecn` and `harddrop` are those of the table; Linux 4.20 and later can also set them for each virtual queue.
//!
//! ## Limits
//!
//! A class that floods is limited only by its own `limit` and `max`: without `grio` it does not raise the averages of others, but their packets
//! wait behind its packets in the FIFO. Drops are decided per class, not per flow. State: an average, a count and a random number
//! for each virtual queue. Per packet: as RED; with `grio` one addition per virtual queue.
//!
//! ## Evidence
//!
//! `tests/oracle/gred.rs` transcribes the arrival and departure of `sch_gred.c` with `red_action` of `red.h`, in all three modes, with equal
//! decisions on random and bursty traces. `tests/aqm/linux_and_docsis.rs` checks averages and the sum of `grio` by hand, checks the uniform gaps, and
//! compares with the same queue without thresholds. Wrong variants that were seen to fail: idle queues that still count in averages, a
//! sum over equal `prio`, a new random number for each packet.
//!
//! ## References
//!
//! * gred: Linux, `net/sched/sch_gred.c`, J. Hadi Salim, 1998 to 2002; tc-gred in iproute2.
//! * red.h: Linux, `include/net/red.h`.
//! * clark98: D. Clark, W. Fang, Explicit Allocation of Best-Effort Packet Delivery Service (RIO), IEEE/ACM `ToN` 6(4), 1998.

use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, BitRate, Bytes, Instant, Rng};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::classes::{ClassMap, REST};
use crate::discipline::{Discipline, discipline};
use crate::disciplines::red::RedParams;
use crate::law::early::Ramp;
use crate::law::ewma::{Averaging, AveragingParams, Ewma, in_packets};
use crate::link::Link;
use crate::packet::{MarkRules, PacketView};
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::qdisc::Backlog;
use crate::storage::fits;
use crate::verdict::{Verdict, Why};

/// Maximum number of virtual queues: Linux's `MAX_DPs`.
const MOST: usize = 16;

/// Default weight of the newest sample.
const WEIGHT: f64 = 1.0 / 512.0;

/// The parameters of GRED as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Whether the averages of more important virtual queues are added.
    pub grio: bool,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
    /// Whether forced drops also apply to ECN-capable packets.
    pub harddrop: bool,
    /// The virtual queues.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassParams>,
}

/// The parameters of one virtual queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassParams {
    /// The name of a class of the link, or `*`.
    pub class: String,
    /// Its importance: lower numbers are more important.
    pub prio: u8,
    /// Its own limit; that of the whole queue if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Average below which nothing is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    /// Average from which everything is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Amount>,
    /// Drop probability as the average reaches `max`.
    #[serde(alias = "probability")]
    pub max_p: f64,
    /// Weight of the newest sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Burst to admit, in packets; replaces `weight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Size of a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// How fast an idle average decays; the link's rate if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BitRate>,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(1000.0), grio: false, ecn: false, harddrop: false, classes: Vec::new() }
    }
}

impl Default for ClassParams {
    fn default() -> Self {
        ClassParams {
            class: REST.to_owned(),
            prio: 8,
            limit: None,
            min: None,
            max: None,
            max_p: 0.02,
            weight: None,
            burst: None,
            avpkt: None,
            bandwidth: None,
        }
    }
}

impl ClassParams {
    /// The settings of its average, as far as given.
    fn averaging(&self) -> AveragingParams {
        let &ClassParams { weight, burst, avpkt, bandwidth, .. } = self;
        AveragingParams { weight, burst, avpkt, bandwidth }
    }

    /// The thresholds; omitted ones as `tc` derives them: a quarter of `limit`, and a third of that.
    fn thresholds(&self, limit: Amount) -> (Amount, Amount) {
        let own = self.limit.filter(|own| own.unit() == limit.unit()).unwrap_or(limit);
        let quarter = match own {
            Amount::Packets(packets) => Amount::Packets(packets / 4.0),
            Amount::Bytes(bytes) => Amount::Bytes(bytes / 4),
        };
        let max = self.max.or_else(|| self.min.is_none().then_some(quarter));
        RedParams { limit: own, min: self.min, max, ..RedParams::default() }.thresholds()
    }

    /// The burst that `tc` derives if neither weight nor burst is given: `(2 min + max) / 3` in packets (iproute2,
    /// `q_red.c`), at least one more than `min`. `None` if `min` is below a packet: then no burst gives a weight.
    fn usual_burst(&self, min: Amount, max: Amount, link: &Link) -> Result<Option<u32>, ParamError> {
        let avpkt = link.avpkt(self.avpkt)?;
        let (min, max) = (in_packets(min, avpkt), in_packets(max, avpkt));
        let burst = ((2.0 * min + max) / 3.0).max(min + 1.0).ceil();
        Ok((min >= 1.0).then_some(burst as u32))
    }

    /// The settings of its average, with `tc`'s burst if neither weight nor burst is given.
    fn completed_averaging(&self, min: Amount, max: Amount, link: &Link) -> Result<AveragingParams, ParamError> {
        let own = self.averaging();
        let usual = if own.weight.is_none() { self.usual_burst(min, max, link)? } else { None };
        Ok(AveragingParams { burst: own.burst.or(usual), ..own })
    }

    /// The same with everything omitted filled in.
    fn complete(&self, limit: Amount, link: &Link) -> Result<Self, ParamError> {
        let (min, max) = self.thresholds(limit);
        let own = self.completed_averaging(min, max, link)?;
        let AveragingParams { weight, burst, avpkt, bandwidth } = own.complete(link, min, WEIGHT)?;
        Ok(ClassParams { min: Some(min), max: Some(max), weight, burst, avpkt, bandwidth, ..self.clone() })
    }

    /// The virtual queue of these parameters.
    fn check(&self, limit: Amount, link: &Link) -> Result<Rules, ParamError> {
        let unit = limit.unit();
        let (lower, upper) = self.thresholds(limit);
        let (min, max) = (in_unit("min", lower, unit)?, in_unit("max", upper, unit)?);
        in_range("prio", f64::from(self.prio), 1.0, 255.0)?;
        let own = self.limit.unwrap_or(limit);
        in_unit("limit", own, unit)?;
        Ok(Rules {
            prio: self.prio,
            limit: usable_limit("limit", own)?,
            ramp: Ramp { min, max, max_p: self.max_p, gentle: false }.check()?,
            averaging: self.completed_averaging(lower, upper, link)?.check(link, lower, WEIGHT)?,
        })
    }
}

impl Params {
    /// The virtual queues; a single one if none is named.
    fn entries(&self) -> Vec<ClassParams> {
        if self.classes.is_empty() { vec![ClassParams::default()] } else { self.classes.clone() }
    }
}

impl Discipline for Params {
    discipline!("gred", Gred);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Gred::config(self, link)?;
        let full = self.entries().iter().map(|class| class.complete(self.limit, link)).collect::<Result<_, _>>()?;
        Ok(Params { classes: full, ..self.clone() })
    }
}

/// One virtual queue's parameters, checked.
#[derive(Clone, Debug)]
struct Rules {
    prio: u8,
    limit: Amount,
    ramp: Ramp,
    averaging: Averaging,
}

/// How the averages of the virtual queues combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Each has its own.
    Own,
    /// Those of more important queues are added.
    Rio,
    /// All have one.
    Wred,
}

/// GRED's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    mode: Mode,
    marks: MarkRules,
    map: ClassMap,
    names: Vec<String>,
    queues: Vec<Rules>,
}

/// The average of a queue with idle periods.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    avg: Ewma,
    idle_since: Option<Instant>,
}

impl Average {
    /// `red_calc_qavg`, and the end of an idle period.
    fn on_arrival(&mut self, by: Averaging, length: f64, now: Instant) {
        match self.idle_since.take() {
            None => self.avg.sample(by.weight, length),
            Some(since) => self.avg.decay(by.weight, now.since(since).as_secs_f64() * by.drain_rate),
        }
    }
}

/// The early-drop state of a virtual queue: packets since the last drop, and the number at which the next is due.
#[derive(Clone, Copy, Debug, Default)]
struct Spacing {
    count: Option<u32>,
    draw: f64,
}

impl Spacing {
    /// `red_action`.
    fn on_arrival(&mut self, ramp: &Ramp, avg: f64, rng: &mut Rng) -> Option<Why> {
        if avg < ramp.min {
            self.count = None;
            return None;
        }
        if avg >= ramp.max {
            self.count = None;
            return Some(Why::Forced);
        }
        let due = match self.count {
            None => false,
            Some(count) if ramp.base_probability(avg) * f64::from(count + 1) < self.draw => {
                self.count = Some(count + 1);
                return None;
            }
            Some(_) => true,
        };
        *self = Spacing { count: Some(0), draw: rng.uniform() };
        due.then_some(Why::Early)
    }
}

/// One virtual queue.
#[derive(Clone, Debug, Default)]
struct VirtualQueue {
    queued: QueueView,
    average: Average,
    spacing: Spacing,
}

/// GRED's state.
#[derive(Clone, Debug)]
pub struct Gred {
    queues: Vec<VirtualQueue>,
    /// The single shared average, in the mode `Wred`.
    shared: Average,
}

impl Gred {
    /// The sum of the averages of busy virtual queues that are more important than this one.
    fn more_important(&self, config: &Config, prio: u8) -> f64 {
        let all = config.queues.iter().zip(&self.queues);
        let above = all.filter(|(rules, queue)| rules.prio < prio && queue.average.idle_since.is_none());
        above.map(|(_, queue)| queue.average.avg.get()).sum()
    }

    /// A packet has left; `rest` is the remaining total backlog.
    fn left(&mut self, config: &Config, pkt: PacketView, queue: QueueView, now: Instant) {
        let Some(own) = self.queues.get_mut(config.map.entry(pkt.class)) else { return };
        own.queued.packets -= 1;
        own.queued.bytes -= u64::from(pkt.len);
        if config.mode == Mode::Wred {
            if queue.packets == 0 {
                self.shared.idle_since = Some(now);
            }
        } else if own.queued.packets == 0 {
            own.average.idle_since = Some(now);
        }
    }
}

impl Aqm for Gred {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let limit = usable_limit("limit", params.limit)?;
        let entries = params.entries();
        in_range("classes", entries.len() as f64, 1.0, MOST as f64).map_err(|e| e.cite("Linux: MAX_DPs is 16"))?;
        let names: Vec<String> = entries.iter().map(|entry| entry.class.clone()).collect();
        // Classes without an entry bypass the virtual queues: the entry after the last.
        let past = (!names.iter().any(|name| name == REST)).then_some(REST);
        let map = ClassMap::new(link, names.iter().map(String::as_str).chain(past))?;
        let checked = |(i, entry): (usize, &ClassParams)| {
            entry.check(limit, link).map_err(|e| e.within(&format!("classes[{i}]")))
        };
        let queues: Vec<Rules> = entries.iter().enumerate().map(checked).collect::<Result<_, _>>()?;
        let equal = queues.iter().enumerate().any(|(i, a)| queues[..i].iter().any(|b| a.prio == b.prio));
        let mode = match (params.grio, equal) {
            (false, _) => Mode::Own,
            (true, false) => Mode::Rio,
            (true, true) => Mode::Wred,
        };
        let marks = MarkRules { ecn: params.ecn, harddrop: params.harddrop, nodrop: false };
        Ok(Config { limit, mode, marks, map, names, queues })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(config: &Config, _now: Instant) -> Self {
        Gred { queues: vec![VirtualQueue::default(); config.queues.len()], shared: Average::default() }
    }

    /// `gred_enqueue`.
    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let entry = config.map.entry(pkt.class);
        let Some(rules) = config.queues.get(entry) else {
            return if queue.full { Verdict::Drop(Why::Overflow) } else { Verdict::Pass };
        };
        let added = if config.mode == Mode::Rio { self.more_important(config, rules.prio) } else { 0.0 };
        let own = &mut self.queues[entry];
        let (average, backlog) = match config.mode {
            Mode::Wred => (&mut self.shared, queue),
            Mode::Own | Mode::Rio => (&mut own.average, own.queued),
        };
        average.on_arrival(rules.averaging, backlog.length(config.limit.unit()), env.now);
        let decision = own.spacing.on_arrival(&rules.ramp, average.avg.get() + added, env.rng);
        let verdict = pkt.early(decision, config.marks);
        if let Verdict::Drop(_) = verdict {
            return verdict;
        }
        let waiting = Backlog { packets: u64::from(backlog.packets), bytes: backlog.bytes };
        if queue.full || !fits(waiting, pkt.len, rules.limit) {
            return Verdict::Drop(Why::Overflow);
        }
        own.queued.packets += 1;
        own.queued.bytes += u64::from(pkt.len);
        verdict
    }

    /// `gred_dequeue`.
    fn on_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.left(config, pkt, queue, env.now);
        Verdict::Pass
    }

    fn on_discard(&mut self, config: &Config, pkt: PacketView, queue: QueueView, now: Instant) {
        self.left(config, pkt, queue, now);
    }

    /// An average cannot be converted to another unit, nor from one virtual queue to all.
    fn on_change(&mut self, old: &Config, new: &Config, _now: Instant) -> Result<(), ParamError> {
        if old.map != new.map {
            return Err(ParamError::new("classes", "another list", "the classes cannot change while packets wait"));
        }
        if old.limit.unit() != new.limit.unit() || old.mode != new.mode {
            self.shared = Average::default();
            for queue in &mut self.queues {
                (queue.average, queue.spacing) = (Average::default(), Spacing::default());
            }
        }
        Ok(())
    }

    fn probe(&self, config: &Config, out: &mut dyn FnMut(&str, f64)) {
        if config.mode == Mode::Wred {
            out("avg", self.shared.avg.get());
        }
        for (name, queue) in config.names.iter().zip(&self.queues) {
            if config.mode != Mode::Wred {
                out(&format!("avg.{name}"), queue.average.avg.get());
            }
            out(&format!("queue.{name}"), queue.queued.length(Counting::Packets));
        }
    }
}
