//! # SFB: stochastic fair BLUE
//!
//! BLUE for each bin of a Bloom filter. Independent hashes map every flow to one bin per level. An
//! unresponsive flow drives the probability of all its bins to one, and only such a flow (or one that
//! shares every bin with it) is limited to the rate of the penalty box.
//!
//! ## Law
//!
//! On arrival, with the flow's bin `b_i` at each of L levels:
//!
//! ```text
//! for each level:  qlen_i > bin_size:  p_i <- min(p_i + d1, 1)       at most once per freeze    [feng01]
//!                  qlen_i = 0:         p_i <- max(p_i - d2, 0)       likewise
//! min_i qlen_i >= max:                 drop
//! p_min = min_i p_i
//! p_min = 1:   drop, but for penalty_rate packets a second                       (penalty box)
//! else:        mark or drop with p_min
//! ```
//!
//! The `qlen` of a bin counts the queued packets of its flows. Two sets of bins with different hashes
//! alternate, so that no two flows collide permanently. Every `rehash` the second set becomes active and
//! the first restarts empty with new hashes. During the last `db` before that, flows found unresponsive in
//! the first set also update the probabilities of the second (moving hashes with double buffering, feng01).
//!
//! With `ecn` and a probability above one half, selected packets whose draw is below `2 p_min - 1` are
//! dropped, ECN-capable or not (Linux).
//!
//! ## Parameters
//!
//! Names and defaults as in `tc-sfb(8)` (Linux's own are d1 = 1/1000, d2 = 1/6000); times with their units.
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 1000 | capacity of the queue |
//! | `levels` | L | | 8 | bins per flow; too few: innocent flows share all bins of an unresponsive one |
//! | `bins` | N | | 16 | bins per level; as above |
//! | `target` (`bin_size`) | `bin_size` | packets | 4/5 of `max`, or 20 | a bin with more packets steps up; too small: flows with a large window suffer |
//! | `max` | | packets | 5/4 of `target`, or 25 | packets of a flow are dropped if each of its bins holds this many |
//! | `increment` (`d1`) | d1 | 1 | 0.0005 | step up |
//! | `decrement` (`d2`) | d2 | 1 | 0.00005 | step down |
//! | `freeze` (`freeze_time`) | `freeze_time` | time | 0s | minimum time between steps of a bin; the BLUE paper has 100 ms, `tc` none |
//! | `rehash` | | time | 600s | lifetime of a set of hashes; 0 unlimited. Too long: an innocent flow suffers for long |
//! | `db` | | time | 60s | time before its activation during which the second set learns; 0 never |
//! | `penalty_rate` | | packets/s | 10 | rate of the penalty box, for all its flows together |
//! | `penalty_burst` | | packets | 20 | burst of the penalty box |
//! | `ecn` | | | true | mark ECN-capable packets instead of dropping them early |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. The paper's algorithm drops if *any* bin is over `bin_size`, which affects innocent flows of that
//!    bin; here, as in Linux, all bins of the flow must have reached `max`.
//! 2. Linux steps up at `bin_size` (`>=`); the paper and this implementation above it. A step within
//!    `freeze` after another is skipped, as in BLUE.
//! 3. Linux counts in its second set only packets of unresponsive flows, and keeps the set's old
//!    probabilities; here both sets count every packet from the start, and a set begins at zero.
//! 4. The salt of a set is its number, not a secret.
//! 5. Packets that pass the penalty box are not marked, as in Linux.
//! 6. Beside Linux 6.1's `sch_sfb` with its defaults, four flows of cubic, 40 Mbit/s, 20 ms: a mean delay of 3.05 ms and 0.56 % of losses there, 3.64 ms and
//!    0.45 % here (`bench/linux/run.sh 40000 25 sfb`, `aqmkit run bench/linux/simulated.toml`). What moves it is the hosts: without
//!    compressed acknowledgements (`comp_sack_delay` of the profile) it is 2.66 ms and 0.53 %, with round trips of 19 to 21 ms 4.92 ms and 0.43 %, as flows with
//!    exactly the same round trip stay together in the queue.
//! 7. Linux counts in super-packets of several segments (GSO), unless the shaper in front cuts them, so that its bins hold more data. One change at a time (four flows of cubic,
//!    `linux-6`, 40 Mbit/s, 20 ms; mean delay in ms, simulated): 3.4; with packets of two segments (`mss` 2896) 11.0; stepping up at `bin_size` 3.4; with the
//!    kernel's d1 and d2, which `tc` replaces, 3.9. In Linux itself the step at `>=` moves the median delay of four Reno flows at that rate from 2.7 to 4.6 ms. (`aqmkit compare sfb sfb:target=19,max=25
//!    sfb:increment=0.001,decrement=0.000166 --rate 40mbit --rtt 20ms --bulk 4 --cc cubic --transport linux-6`.)
//!
//! ## Limits
//!
//! With M unresponsive flows, an innocent flow shares all its bins with them with probability
//! `(1 - (1 - 1/N)^M)^L`; it then shares the penalty box until the next `rehash`. Delay is bounded by
//! `limit` and, for each flow, by `max` packets. Fairness is not exact: SFB does not distinguish flows
//! below `target`. State: two sets of L N bins for any number of flows, and one number per queued packet.
//! Per packet: L/4 hashes for each set, 2 L bins, on arrival and on departure; one draw. With eight levels
//! and several flows this takes more than 67 ns, the smallest packet's time at 10 Gbit/s (`docs/cost.md`);
//! fewer `levels` cost less.
//!
//! ## Evidence
//!
//! `tests/oracle/sfb.rs` transcribes the algorithm with deviation 1 literally and with sets of its own,
//! with equal decisions on random and bursty traces; `tests/aqm/worked_flows.rs` checks the penalty box and the
//! change of sets by hand, `tests/aqm/published_flows.rs` an unresponsive flow driven to `p = 1` while the
//! others lose almost nothing. They fail with the maximum instead of the minimum over bins, with one hash
//! for all levels or both sets, and if the second set does not learn or miscounts queued packets.
//!
//! ## References
//!
//! * feng01: W. Feng, D. Kandlur, D. Saha, K. Shin, Stochastic Fair Blue: A Queue Management Algorithm
//!   for Enforcing Fairness, INFOCOM 2001.

use std::collections::VecDeque;

use aqmkit_base::flow::salt;
use aqmkit_base::{Amount, Duration, FlowKey, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::token_bucket::TokenBucket;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, period_or_none, usable_limit};
use crate::verdict::{Verdict, Why};

/// The parameters of SFB as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Bins per flow: one per level.
    pub levels: u32,
    /// Bins per level.
    pub bins: u32,
    /// Packets in a bin above which its probability rises.
    #[serde(alias = "bin_size", skip_serializing_if = "Option::is_none")]
    pub target: Option<u32>,
    /// Packets at which a bin is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Step up.
    #[serde(alias = "d1")]
    pub increment: f64,
    /// Step down.
    #[serde(alias = "d2")]
    pub decrement: f64,
    /// Minimum time between two steps of a bin.
    #[serde(alias = "freeze_time")]
    pub freeze: Duration,
    /// How long a set of hashes is used.
    pub rehash: Duration,
    /// How long the second set warms up before it takes over.
    pub db: Duration,
    /// Rate of the penalty box in packets per second.
    pub penalty_rate: f64,
    /// Burst of the penalty box in packets.
    pub penalty_burst: u32,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(1000.0),
            levels: 8,
            bins: 16,
            target: None,
            max: None,
            increment: 0.0005,
            decrement: 0.00005,
            freeze: Duration::ZERO,
            rehash: Duration::from_secs(600),
            db: Duration::from_secs(60),
            penalty_rate: 10.0,
            penalty_burst: 20,
            ecn: true,
        }
    }
}

impl Params {
    /// `bin_size` and `max`, each derived from the other if absent, as in `tc`.
    fn bin_sizes(&self) -> (u32, u32) {
        let up = |target: u32| ((5 * u64::from(target) + 1) / 4).max(u64::from(target) + 1).min(u32::MAX.into()) as u32;
        let down = |max: u32| (((4 * u64::from(max) + 3) / 5) as u32).min(max.saturating_sub(1));
        match (self.target, self.max) {
            (Some(target), Some(max)) => (target, max),
            (Some(target), None) => (target, up(target)),
            (None, Some(max)) => (down(max), max),
            (None, None) => (20, 25),
        }
    }
}

impl Discipline for Params {
    discipline!("sfb", Sfb);

    const THRESHOLDS: &'static [&'static str] = &["max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let config = Sfb::config(self, link)?;
        Ok(Params { target: Some(config.bin_size), max: Some(config.max), ..self.clone() })
    }
}

/// The salts, each for four levels. Sets that use one at different levels are never active together.
const LEVELS: [u64; 4] = [salt(0), salt(4), salt(8), salt(12)];

/// SFB's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    params: Params,
    bin_size: u32,
    max: u32,
}

impl Config {
    /// The flow's bin at each level, in set number `set`. One hash serves four levels.
    fn bins_of(&self, flow: FlowKey, set: u64) -> impl Iterator<Item = usize> + use<> {
        let bins = u64::from(self.params.bins);
        let (mut word, of_set) = (0, salt(set));
        (0..u64::from(self.params.levels)).map(move |level| {
            if level % 4 == 0 {
                word = flow.hash(of_set ^ LEVELS[(level / 4) as usize]);
            }
            let bin = ((word & 0xffff) * bins) >> 16;
            word >>= 16;
            (level * bins + bin) as usize
        })
    }
}

/// One BLUE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bin {
    /// Packets of its flows in the queue.
    qlen: u32,
    p: f64,
    last_update: Option<Instant>,
}

impl Bin {
    fn step(&mut self, delta: f64, freeze: Duration, now: Instant) {
        if freeze.is_zero() {
            self.p = (self.p + delta).clamp(0.0, 1.0);
        } else if self.last_update.is_none_or(|last| now.since(last) > freeze) {
            self.p = (self.p + delta).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }
}

/// The minimum over the bins of a flow.
struct Least {
    qlen: u32,
    p: f64,
}

/// SFB's state.
#[derive(Clone, Debug)]
pub struct Sfb {
    /// Sets number `set` and `set + 1`, each at its number modulo two.
    banks: [Vec<Bin>; 2],
    /// The number of the set in use.
    set: u64,
    /// When the next set takes over, if ever: when the timer is due.
    until: Option<Instant>,
    /// For each packet in the queue, the number of the set in use when it arrived.
    waiting: VecDeque<u64>,
    penalty: TokenBucket,
}

impl Sfb {
    fn bank(&mut self, set: u64) -> &mut [Bin] {
        &mut self.banks[(set % 2) as usize]
    }

    /// Steps the flow's bins in a set.
    fn update(&mut self, config: &Config, flow: FlowKey, set: u64, now: Instant) -> Least {
        let params = &config.params;
        let mut least = Least { qlen: u32::MAX, p: 1.0 };
        let bank = self.bank(set);
        for at in config.bins_of(flow, set) {
            let bin = &mut bank[at];
            if bin.qlen > config.bin_size {
                bin.step(params.increment, params.freeze, now);
            } else if bin.qlen == 0 {
                bin.step(-params.decrement, params.freeze, now);
            }
            least = Least { qlen: least.qlen.min(bin.qlen), p: least.p.min(bin.p) };
        }
        least
    }

    /// Whether the second set is warming up.
    fn warming(&self, config: &Config, now: Instant) -> bool {
        self.until.is_some_and(|until| now + config.params.db > until)
    }

    fn enter(&mut self, config: &Config, flow: FlowKey) {
        for set in [self.set, self.set + 1] {
            let bank = self.bank(set);
            config.bins_of(flow, set).for_each(|at| bank[at].qlen += 1);
        }
        self.waiting.push_back(self.set);
    }

    /// A packet that arrived when set `then` was in use has left: subtracts it from the sets that counted it.
    fn leave(&mut self, config: &Config, flow: FlowKey, then: u64) {
        for set in [self.set, self.set + 1] {
            if set <= then + 1 {
                let bank = self.bank(set);
                config.bins_of(flow, set).for_each(|at| bank[at].qlen = bank[at].qlen.saturating_sub(1));
            }
        }
    }

    fn decide(&mut self, config: &Config, pkt: PacketView, env: &mut Env<'_>) -> Verdict {
        let params = &config.params;
        let least = self.update(config, pkt.flow, self.set, env.now);
        if least.qlen >= config.max {
            return Verdict::Drop(Why::Unfair);
        }
        if least.p >= 1.0 {
            if self.warming(config, env.now) {
                self.update(config, pkt.flow, self.set + 1, env.now);
            }
            let passes = self.penalty.take(1.0, params.penalty_rate, f64::from(params.penalty_burst), env.now);
            return if passes { Verdict::Pass } else { Verdict::Drop(Why::Penalty) };
        }
        let draw = env.rng.uniform();
        if draw >= least.p {
            Verdict::Pass
        } else {
            // That many marks mean that the flow does not respond, or that congestion is severe.
            let enough = draw < 2.0 * least.p - 1.0;
            pkt.signal(params.ecn && !enough, Why::Early)
        }
    }
}

impl Aqm for Sfb {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, _link: &Link) -> Result<Config, ParamError> {
        usable_limit("limit", params.limit)?;
        in_range("levels", params.levels.into(), 1.0, 16.0)?;
        in_range("bins", params.bins.into(), 1.0, 4096.0)?;
        in_range("increment", params.increment, 0.0, 1.0)?;
        in_range("decrement", params.decrement, 0.0, 1.0)?;
        in_range("penalty_rate", params.penalty_rate, 0.0, f64::MAX)?;
        period_or_none("rehash", params.rehash)?;
        if !params.rehash.is_zero() && params.db > params.rehash {
            let want = format!("it must not be above rehash = {}", params.rehash);
            return Err(ParamError::new("db", params.db, want).cite("tc-sfb(8)"));
        }
        let (bin_size, max) = params.bin_sizes();
        if max <= bin_size {
            let want = format!("it must be above target = {bin_size}: otherwise no bin steps up");
            return Err(ParamError::new("max", max, want).cite("tc-sfb(8): slightly larger"));
        }
        Ok(Config { params: params.clone(), bin_size, max })
    }

    fn limit(config: &Config) -> Amount {
        config.params.limit
    }

    fn new(config: &Config, now: Instant) -> Self {
        let bank = vec![Bin::default(); (config.params.levels * config.params.bins) as usize];
        let penalty = TokenBucket::full(config.params.penalty_burst.into(), now);
        let until = Sfb::tick(config).map(|period| now + period);
        Sfb { banks: [bank.clone(), bank], set: 0, until, waiting: VecDeque::new(), penalty }
    }

    /// The algorithm, once per arrival.
    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.full {
            return Verdict::Drop(Why::Overflow);
        }
        let verdict = self.decide(config, pkt, env);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.enter(config, pkt.flow);
        }
        verdict
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, _queue: QueueView, _env: &mut Env<'_>) -> Verdict {
        if let Some(then) = self.waiting.pop_front() {
            self.leave(config, pkt.flow, then);
        }
        Verdict::Pass
    }

    /// Only the newest is ever removed: arrivals at a full queue are dropped.
    fn on_discard(&mut self, config: &Config, pkt: PacketView, _queue: QueueView, _now: Instant) {
        if let Some(then) = self.waiting.pop_back() {
            self.leave(config, pkt.flow, then);
        }
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.params.rehash).filter(|period| !period.is_zero())
    }

    /// The second set takes over; the first is cleared and becomes the next.
    fn on_tick(&mut self, config: &Config, _queue: QueueView, now: Instant) {
        self.bank(self.set).fill(Bin::default());
        self.set += 1;
        self.until = Some(now + config.params.rehash);
    }

    /// Empty sets stay empty when they rotate.
    fn skip_ticks(&mut self, config: &Config, _queue: QueueView, first: Instant, ticks: u64) -> bool {
        if self.banks.iter().flatten().any(|bin| *bin != Bin::default()) {
            return false;
        }
        self.set += ticks;
        self.until = Some(first + config.params.rehash * ticks);
        true
    }

    /// The next set takes over when the timer is due under the new parameters, but not later than before.
    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        let shape = |config: &Config| (config.params.levels, config.params.bins);
        if shape(old) != shape(new) {
            let want = "levels and bins cannot change while packets wait";
            return Err(ParamError::new("bins", format!("{} levels of {}", new.params.levels, new.params.bins), want));
        }
        self.until = Sfb::tick(new).map(|period| self.until.map_or(now + period, |until| until.min(now + period)));
        Ok(())
    }

    fn probe(&self, config: &Config, out: &mut dyn FnMut(&str, f64)) {
        let bins = &self.banks[(self.set % 2) as usize];
        out("p.max", bins.iter().map(|bin| bin.p).fold(0.0, f64::max));
        out("p.mean", bins.iter().map(|bin| bin.p).sum::<f64>() / bins.len() as f64);
        out("bins.over", bins.iter().filter(|bin| bin.qlen > config.bin_size).count() as f64);
    }
}
