//! # CBT: class-based thresholds
//!
//! One FIFO shared by classes of traffic, each with its own average queue and thresholds. Thresholds are
//! proportional to the bandwidth allocated to each class, so packets of a class that sends too much are
//! dropped while the others find room. This gives shares of the link without scheduling and a bound on the
//! delay; other classes use unallocated shares.
//!
//! ## Law
//!
//! On arrival of a packet of class `c`, with `q` the queue and `q_c` the packets of the class in it before
//! this packet:
//!
//! ```text
//! avg_c <- (1 - w_c) avg_c + w_c q_c                      q_c > 0                 [parris01 fig 4.6]
//! avg_c <- (1 - w_c)^n avg_c, n = idle_c * drain_c - 1    class absent for `idle_c`
//! q = limit:                              drop                                    [parris01 fig 4.3]
//! q_c > 1 packet and avg_c > max_c:       drop
//! q_c > 1 packet and avg_c > min_c:       early drop as RED does, with p_b and count of the class
//! Th_c    = B_c L / P_c                   threshold from bandwidth, delay, size   [parris01 eq 4.1]
//! drain_c = B_c / P_c
//! ```
//!
//! Only arrivals of the class move its average. With `min = max`, the default of a class, there is no early
//! drop, only a threshold on the average, for unresponsive traffic.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `q_limit` | queue length | 240 | capacity of the queue, in packets or bytes |
//! | `latency` | L | time | | mean delay when every class is at its threshold; required if a class gives `bandwidth` and no `max` |
//! | `counting` | | | `"packets"` | unit of the thresholds and averages; `"bytes"` makes the shares independent of packet sizes |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//! | `classes` | | | equal parts of RED's 5 to 40 packets for the link's classes | an entry for each class, with the fields below |
//! | `class` | cl | | `"*"` | name of a class, or `"*"` for all classes without an entry |
//! | `max` | `Th_max` | queue length | `bandwidth * latency / packet_size` | average above which all packets of the class are dropped |
//! | `min` | `Th_min` | queue length | `max` | average above which packets are dropped early |
//! | `weight` | w | 1 | 1/256 | weight of the newest sample; the dissertation: 1/256 for TCP, 1/16 for multimedia, 1/4 for other traffic |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.1 | early drop probability when the average reaches `max` |
//! | `bandwidth` | B | rate | by the thresholds' shares (eq 4.3) | bandwidth of the class when all are busy; the sum should be the link's rate |
//! | `packet_size` | P | size | the link's mean | typical packet size of the class; if it is wrong, thresholds in packets give wrong shares |
//! | `drain_rate` | `drain_rate` | packets/s | `bandwidth / packet_size` | how fast the average of an absent class decays |
//!
//! ## Deviations
//!
//! 1. Figure 4.1 has a reversed comparison, and its early-drop branch never enqueues. Figure 4.3 and its
//!    text are followed, with the misplaced parenthesis and the surplus brace corrected; `count` in Figure
//!    4.5 is per class.
//! 2. Byte counting, which the dissertation recommends, is an addition: thresholds and averages are in
//!    bytes, `Th_c = B_c L`; "more than one packet" and `drain_rate` stay packets.
//! 3. The dissertation gives no drain rates. `B_c / P_c` follows its text; if no bandwidth is given, `B_c`
//!    is the share of the link that equation 4.3 assigns to the threshold.
//! 4. An idle time under one packet counts as none, and an overdue early drop happens at once (see RED,
//!    deviations 2 and 3).
//! 5. Marking is not in the dissertation: a mark takes the place of an early drop, never of a forced one.
//!
//! ## Limits
//!
//! Shares hold on average and only if `packet_size` is right (or with byte counting); a burst is admitted
//! until the average of its class has risen. Unknown classes use the entry `*`, or else the last. The set
//! of classes cannot change while packets wait. State: an average, a count and a time for each class. Per
//! packet: as RED.
//!
//! ## Evidence
//!
//! `tests/oracle/cbt.rs` transcribes Figures 4.2 to 4.6 literally, with equal decisions on random and
//! bursty traces; `tests/aqm/closed_forms.rs` checks the thresholds of Tables 4.3, 5.2 and 5.3.
//!
//! ## References
//!
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter IV.

use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, BitRate, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::classes::{ClassMap, REST, names_or_rest};
use crate::discipline::{Discipline, discipline};
use crate::law::early::Ramp;
use crate::law::ewma::Averaging;
use crate::law::ewma::QueueAverage;
use crate::law::part::Part;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::verdict::{Verdict, Why};

/// The threshold, in packets, that limits a class to `bandwidth` at this latency: `Th = B L / P`. With a `packet_size`
/// of one byte it is the threshold in bytes.
///
/// Parris 2001, equations 4.1, 4.9 and 4.25.
#[must_use]
pub fn threshold(bandwidth: BitRate, latency: Duration, packet_size: Bytes) -> f64 {
    bandwidth.bytes_per_sec() * latency.as_secs_f64() / packet_size.as_f64()
}

/// The bandwidth, in bytes per second, of a class that may queue `queued` bytes if all classes together may queue
/// `all`: `B_i = P_i Th_i / sum(P_j Th_j) C`. The whole capacity if nothing may be queued.
///
/// Parris 2001, equation 4.3.
#[must_use]
pub fn bandwidth(queued: f64, all: f64, capacity: BitRate) -> f64 {
    let share = if all > 0.0 { queued / all } else { 1.0 };
    share * capacity.bytes_per_sec()
}

/// The parameters of CBT as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Mean delay when every class is at its threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// The unit of thresholds and averages.
    pub counting: Counting,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
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
    /// Average above which packets are dropped early; `max` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    /// Average above which everything is dropped; from `bandwidth` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Amount>,
    /// Weight of the newest sample.
    pub weight: f64,
    /// Early drop probability as the average reaches `max`.
    #[serde(alias = "probability")]
    pub max_p: f64,
    /// The rate of the class when all classes are busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BitRate>,
    /// Its typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<Bytes>,
    /// Packets per second that leave while the class is busy; from `bandwidth` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_rate: Option<f64>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            latency: None,
            counting: Counting::Packets,
            ecn: false,
            classes: Vec::new(),
        }
    }
}

impl Default for ClassParams {
    fn default() -> Self {
        ClassParams {
            class: REST.to_owned(),
            min: None,
            max: None,
            weight: 1.0 / 256.0,
            max_p: 0.1,
            bandwidth: None,
            packet_size: None,
            drain_rate: None,
        }
    }
}

impl Discipline for Params {
    discipline!("cbt", Cbt);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let full = self.filled_in(link)?;
        Config::of(&full, link).map(|_| full)
    }
}

impl Params {
    /// With omitted classes, thresholds and rates filled in.
    fn filled_in(&self, link: &Link) -> Result<Self, ParamError> {
        let mut full = self.clone();
        if full.classes.is_empty() {
            full.classes = self.equal_classes(link);
        }
        for (i, class) in full.classes.iter_mut().enumerate() {
            let field = format!("classes[{i}]");
            class.set_thresholds(self, link).map_err(|e| e.within(&field))?;
        }
        full.set_rates(link);
        Ok(full)
    }

    /// If no class is described: the dissertation's thresholds of RED, 5 and 40 packets, with the 40 divided equally
    /// among the link's classes.
    fn equal_classes(&self, link: &Link) -> Vec<ClassParams> {
        let names = names_or_rest(link);
        let packets = |n: f64| match self.counting {
            Counting::Packets => Amount::Packets(n),
            Counting::Bytes => Amount::Bytes((n * link.mean_packet.as_f64()) as u64),
        };
        let max = 40.0 / names.len() as f64;
        let (min, max) = (Some(packets(max.min(5.0))), Some(packets(max)));
        names.into_iter().map(|class| ClassParams { class, min, max, ..ClassParams::default() }).collect()
    }

    /// Fills in the drain rates (and with them the bandwidths of equation 4.3) once thresholds are known.
    fn set_rates(&mut self, link: &Link) {
        let total: f64 = self.classes.iter().map(ClassParams::bytes_at_threshold).sum();
        for class in &mut self.classes {
            let fair = bandwidth(class.bytes_at_threshold(), total, link.rate);
            // The displayed rate is rounded to a bit; the one used is not.
            let rate = class.bandwidth.map_or(fair, BitRate::bytes_per_sec);
            class.bandwidth = Some(class.bandwidth.unwrap_or(BitRate::from_bytes_per_sec(fair)));
            class.drain_rate.get_or_insert(rate / class.packet_size.unwrap_or(link.mean_packet).as_f64());
        }
    }
}

impl ClassParams {
    /// Fills in the packet size and both thresholds.
    fn set_thresholds(&mut self, all: &Params, link: &Link) -> Result<(), ParamError> {
        let size = *self.packet_size.get_or_insert(link.mean_packet);
        in_range("packet_size", size.as_f64(), 1.0, f64::INFINITY)?;
        let max = match self.max {
            Some(max) => max,
            None => self.threshold(all, size)?,
        };
        self.max = Some(max);
        self.min.get_or_insert(max);
        Ok(())
    }

    /// Equation 4.1.
    fn threshold(&self, all: &Params, size: Bytes) -> Result<Amount, ParamError> {
        let missing = |field| {
            let want = "a class needs either max, or bandwidth and the discipline's latency";
            ParamError::new(field, "nothing", want).cite("Parris 2001, equation 4.1")
        };
        let bandwidth = self.bandwidth.ok_or_else(|| missing("max"))?;
        let latency = all.latency.ok_or_else(|| missing("latency"))?;
        Ok(match all.counting {
            Counting::Packets => Amount::Packets(threshold(bandwidth, latency, size)),
            Counting::Bytes => Amount::Bytes((threshold(bandwidth, latency, Bytes(1)) + 0.5) as u64),
        })
    }

    /// Bytes queued by the class when it is at its threshold.
    fn bytes_at_threshold(&self) -> f64 {
        match (self.max, self.packet_size) {
            (Some(Amount::Packets(packets)), Some(size)) => packets * size.as_f64(),
            (Some(Amount::Bytes(bytes)), _) => bytes as f64,
            _ => 0.0,
        }
    }

    fn config(&self, counting: Counting) -> Result<ClassConfig, ParamError> {
        let length = |field, value: Option<Amount>| in_unit(field, value.unwrap_or(Amount::Packets(0.0)), counting);
        let drain_rate = self.drain_rate.unwrap_or(0.0);
        in_range("weight", self.weight, f64::MIN_POSITIVE, 1.0)?;
        in_range("drain_rate", drain_rate, 0.0, f64::INFINITY)?;
        let (max, min) = (length("max", self.max)?, length("min", self.min)?);
        let ramp = Ramp { min, max, max_p: self.max_p, gentle: false }.check()?;
        Ok(ClassConfig { ramp, averaging: Averaging { weight: self.weight, drain_rate } })
    }
}

/// CBT's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    counting: Counting,
    ecn: bool,
    map: ClassMap,
    classes: Vec<ClassConfig>,
}

impl Config {
    /// Checks complete parameters.
    fn of(full: &Params, link: &Link) -> Result<Config, ParamError> {
        let checked = |(i, class): (usize, &ClassParams)| {
            class.config(full.counting).map_err(|e| e.within(&format!("classes[{i}]")))
        };
        Ok(Config {
            limit: usable_limit("limit", full.limit)?,
            counting: full.counting,
            ecn: full.ecn,
            map: ClassMap::new(link, full.classes.iter().map(|c| c.class.as_str()))?,
            classes: full.classes.iter().enumerate().map(checked).collect::<Result<_, _>>()?,
        })
    }
}

/// The parameters of one class, checked.
#[derive(Clone, Debug)]
struct ClassConfig {
    ramp: Ramp,
    averaging: Averaging,
}

/// CBT's state.
#[derive(Clone, Debug)]
pub struct Cbt {
    /// By entry.
    classes: Vec<Part>,
}

impl Aqm for Cbt {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        Config::of(&params.filled_in(link)?, link)
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(config: &Config, now: Instant) -> Self {
        Cbt { classes: vec![Part::new(now); config.classes.len()] }
    }

    /// Figure 4.3.
    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let cl = config.map.entry(pkt.class);
        let (class, of_class) = (&mut self.classes[cl], &config.classes[cl]);
        let length = class.queued.length(config.counting);
        class.avg.on_arrival(of_class.averaging, length, env.now);
        if queue.full {
            class.mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let why = class.mode.on_arrival(&of_class.ramp, class.avg.get(), class.queued.packets, 1.0, env.rng);
        let verdict = why.map_or(Verdict::Pass, |why| pkt.signal(config.ecn && why == Why::Early, why));
        if !matches!(verdict, Verdict::Drop(_)) {
            class.enqueued(pkt.len);
        }
        verdict
    }

    /// Figure 4.4.
    fn on_departure(&mut self, config: &Config, pkt: PacketView, _queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.classes[config.map.entry(pkt.class)].dequeued(pkt.len, env.now);
        Verdict::Pass
    }

    fn on_discard(&mut self, config: &Config, pkt: PacketView, _queue: QueueView, now: Instant) {
        self.classes[config.map.entry(pkt.class)].dequeued(pkt.len, now);
    }

    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        if old.map != new.map {
            return Err(ParamError::new("classes", "another list", "the classes cannot change while packets wait"));
        }
        if old.counting != new.counting {
            // An average of packets says nothing about bytes.
            for class in &mut self.classes {
                class.avg = QueueAverage::new(now);
            }
        }
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        const AVG: [&str; 8] = ["avg.0", "avg.1", "avg.2", "avg.3", "avg.4", "avg.5", "avg.6", "avg.7"];
        for (name, class) in AVG.iter().zip(&self.classes) {
            out(name, class.avg.get());
        }
    }
}
