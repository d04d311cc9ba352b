//! # RED-PD: RED with preferential dropping
//!
//! RED with a filter before it. The filter drops packets of flows that, judging by RED's drops, send more
//! than a TCP flow with a reference round-trip time. Each such flow has its own drop probability, which
//! rises while the flow keeps being identified and falls otherwise: it settles where the flow's rate into
//! the queue is about that of the reference TCP. All other flows see a less loaded RED.
//!
//! ## Law
//!
//! Time is divided into intervals; `p` is the drop rate of the RED queue averaged over intervals, `f` the
//! rate of the reference TCP, `CL` the time between two of its losses:
//!
//! ```text
//! f(R, p)  = sqrt(1.5) / (R sqrt(p))                                             [mahajan00 eq 1]
//! CL       = R / sqrt(1.5 p)
//! interval = (K / M) CL, within [interval_min, interval_max]                     [mahajan00 eq 3]
//! p        <- (1 - alpha) p + alpha (drops / arrivals of this interval)
//! ```
//!
//! Each interval has a list of the flows with packets dropped or marked by RED, not by the filter. At its
//! end, a flow in at least `K` of the last `M` lists is *identified*. Its filter probability `P`:
//!
//! ```text
//! P_delta = (drops_flow / mean drops of the identified flows) p                  [mahajan00 eq 5]
//! P <- P + min(P_delta, P + p)         identified, M - 1 intervals after the last change
//! P <- P - min(P - P / beta, p_d)      in none of the M lists, l intervals after the last change
//! P <= P_min:                          the flow is no longer monitored
//! ```
//!
//! On arrival a packet of a monitored flow is dropped with `P`, unless RED's average is below `min`. The
//! remaining packets go to RED. A flow whose loss rate rises repeatedly while it does not slow down as TCP
//! would (`1/sqrt(x)` for a loss rate `x` times as high) is *unresponsive*: its `P` rises by twice as much,
//! and falls by the second set of parameters. This gives, for a flow at `gamma f`:
//!
//! ```text
//! to come down to alpha f:   (gamma - alpha) / (gamma p) * (M - 1) * interval    [mahajan00 eq 6]
//! to be released from P:     (m + n) l * interval                                [mahajan00 eq 7]
//! n = P / p_d - 2 subtractive, m = log((P - n p_d) / P_min) / log(beta) multiplicative decreases
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `rtt` (`target_rtt`, `R`) | R | time | 40ms | round-trip time of the reference TCP: the larger, the more flows are restrained, up to max-min fairness |
//! | `k` (`K`) | K | 1 | 3 | lists a flow must be in; too few: unlucky flows are identified |
//! | `m` (`M`) | M | 1 | 5 | number of lists; at most 16 |
//! | `identify` | | | `"multiple"` | `"single"`: `k` or more dropped packets in all `m` lists together, Figure 8's worse rule |
//! | `burst_drops` | | packets | | also identifies a flow in fewer than `k` lists with this many drops in all `m` together: flows that burst to evade the lists |
//! | `alpha` | | 1 | 0.5 | weight of the newest interval's drop rate |
//! | `interval_min` | | time | 2 `rtt` | shortest interval; must exceed a round trip |
//! | `interval_max` | | time | 10 `rtt` | longest interval, also used before the first drop |
//! | `max_flows` | | 1 | 50 | flows per list, those with the most drops |
//! | `max_monitored` | | 1 | 256 | maximum number of monitored flows; 0 only identifies |
//! | `beta`, `p_d`, `p_min`, `l` | beta, `p_d`, `P_minThresh`, l | | 2, 0.05, 0.005, 3 | how the probability of a flow falls |
//! | `u_beta`, `u_p_d`, `u_p_min`, `u_l` | the same | | 1.5, 0.05, 0.0025, 5 | of an unresponsive flow |
//! | `unresponsive_test` | | | true | detect unresponsive flows; also penalises TCP flows, see Limits |
//! | `unresponsive_penalty` | | 1 | 1 | factor on the probability of unresponsive flows; above 1 they get less than their share |
//! | `noidle` | | | true | the filter passes packets that find fewer than two packets waiting, so that it cannot idle the link |
//! | `ns2_spacing` | | | false | space the filter drops of a flow by a packet count, as in the authors' code |
//! | `ns2_below_min` | | | false | filter unresponsive flows also below `min`, as in the authors' code |
//! | `ns2_last_interval` | | | false | test for unresponsive flows on the last interval only, as in the authors' code |
//! | `drop_rate` (`P_testFRp`) | p | 1 | | drop every packet with this probability instead of RED's, and always filter: the controlled experiments of the paper |
//! | `limit` | | queue length | 50 | capacity of the queue |
//! | `min`, `max` | | queue length | 10, 33 | RED's thresholds; below `min` the filter is off |
//! | `burst`, `weight` | w | packets; 1 | none, 1/512 | RED's weight of the newest sample, or the burst from which it is derived |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.1 | RED's drop probability when the average reaches `max` |
//! | `avpkt`, `bandwidth` | | size; rate | the link's | typical packet size, and the rate that drains an idle queue's average |
//! | `gentle` | | | true | RED's ramp from `max` to twice `max` |
//! | `byte_mode` (`bytemode`) | | | false | RED drops in proportion to size, and drops count in bytes: no flow gains by larger packets |
//! | `ecn`, `harddrop`, `nodrop` | | | false, true, false | as RED; the filter always drops |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Where `P_delta` exceeds the flow's "existing drop rate", its own and the queue's, the paper doubles
//!    "the dropping probability", which is zero at first. Here that drop rate doubles, so the first
//!    probability is at most `p`. ns-2 doubles `P` where `P_delta` exceeds `P`, and starts at most at
//!    `2 p`.
//! 2. The paper does not define what happens at 1: here and in ns-2, a step that would reach 1 goes
//!    half-way.
//! 3. The bounds of the interval are those of the authors' ns-2 scripts (80 and 400 ms at 40 ms). Above 6 %
//!    loss the lower bound makes intervals longer than equation 3, and identification more likely than
//!    equation 4; lower `interval_min` to follow the equation.
//! 4. The paper gives no numbers for the unresponsiveness test nor for its "bigger quanta": those are the scripts'.
//! 5. Where the text and the authors' code for ns-2 differ, the text is followed, and three rules of the
//!    code are options:
//!    * `ns2_spacing`. Text (section 5): each packet is dropped "with a certain probability". Code: a count
//!      per flow spaces drops evenly as in RED, which gives a rate of `2P / (1 + P)`; the count continues
//!      while the filter is off, so an overdue drop happens at once.
//!    * `ns2_below_min`. Text (1.2): below `min` nothing is filtered. Code: unresponsive flows are, without
//!      `noidle` even at an empty queue; other flows are never filtered with fewer than two packets
//!      waiting.
//!    * `ns2_last_interval`. Text (6.2): rates and losses over "several congestion epochs", here from one increase to the next.
//!      Code: those of the last interval.
//! 6. Not options: ns-2's quantum follows the smaller of the last interval's drop rate and the average, and doubles `P` alone (in Figure 22 that
//!    gives the flows of 40 ms 1.01, 1.04 and 1.04 Mb/s at R = 90, 130 and 170 ms, where they get 1.03, 1.02 and 1.04 without it and 1.11,
//!    1.16 and 1.20 in ns-2, all without the test). ns-2 also wants 0.4 s between changes, an interval's drop rate above 0.1 % and a drop in
//!    the last interval; its count of `ns2_spacing` persists after a flow is no longer monitored. `noidle`
//!    for all flows comes from ns-2.
//! 7. The rules before Figure 8's are K out of M "loss events"; `"single"` counts packets, looks at the end of
//!    each interval, and in byte mode counts `avpkt` bytes as one.
//! 8. For evasive flows the paper proposes a rule like `burst_drops` (section 6.3), without numbers: it is
//!    off by default.
//! 9. The paper gives no parameters for RED: the defaults are those of the scripts. A drop rate below 1e-9
//!    counts as zero.
//!
//! ## Limits
//!
//! RED-PD acts only through RED's drops: without congestion no flow is restrained, and a flow that bursts
//! in fewer than `K` of `M` intervals is not detected without `burst_drops`. `rtt` is fixed; the paper
//! suggests adapting it to the drop rate but gives no rule. Above `max_flows` only the flows with most
//! drops are considered (beyond sixteen times as many in one interval, only the first); if `max_monitored`
//! flows are monitored, a new one waits until one is released. Delay is RED's. Memory: both tables are
//! allocated at the start. Per packet: one look-up, at most one draw, and RED; per interval, a scan of both
//! tables.
//!
//! The test for unresponsive flows, on by default as in the authors' scripts, also penalises conformant
//! TCP: a queue knows neither the round-trip time of a flow nor its losses elsewhere, and section 6.2 asks
//! for caution. With only fourteen TCP flows with SACK (Figure 22, `rtt` 90 ms), 87 % of the filter drops
//! are penalties (64 % with the authors' rules); with TCP flows of 30 ms beside UDP (Figure 15), 82 % (58
//! %). `unresponsive_test = false` avoids this. (`aqmkit run red-pd/fig22-target-r`, `red-pd/ns2-mix`:
//! `drops.penalty` and `drops.unfair`.)
//!
//! ## Evidence
//!
//! `tests/oracle/red_pd.rs` transcribes sections 4 and 5 literally, with equal decisions on random and
//! bursty traces, with the text's rules and with each of the authors'. `tests/aqm/red_pd.rs` checks that a flow
//! above `f(R, p)` gets about that rate, and the authors' rules by hand. `tests/aqm/history.rs` measures
//! equation 4 at 1, 5 and 10 %, and the times of equations 6 and 7 (10.58 s).
//!
//! ## References
//!
//! * mahajan00: R. Mahajan, S. Floyd, Controlling High-Bandwidth Flows at the Congested Router, ACIRI 2000.

mod params;

use aqmkit_base::{Amount, Duration, FlowKey, Instant, Rng};

pub use self::params::{Identify, Params};
use super::red::{self, Red};
use crate::aqm::{Aqm, Env, QueueView};
use crate::law::early;
use crate::law::preferential::{Pace, Response, Responses};
use crate::law::tcp;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range};
use crate::storage::drop_history::MAX_LISTS;
use crate::storage::{DropHistory, FlowTable};
use crate::verdict::{Verdict, Why};

/// Rules of the authors' ns-2 code that differ from the text.
#[derive(Clone, Copy, Debug)]
struct Ns2Rules {
    /// The filter spaces a flow's drops as RED spaces its own.
    spacing: bool,
    /// Unresponsive flows are filtered regardless of RED's average.
    below_min: bool,
    /// A flow's rate and loss are those of the last interval, not since its probability last rose.
    last_interval: bool,
}

/// RED-PD's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    red: red::Config,
    /// Below this the filter is inactive.
    min: f64,
    rtt: f64,
    k: usize,
    m: usize,
    identify: Identify,
    burst_drops: Option<f64>,
    alpha: f64,
    interval_min: Duration,
    interval_max: Duration,
    max_flows: usize,
    max_monitored: usize,
    paces: [Pace; 2],
    unresponsive_test: bool,
    unresponsive_penalty: f64,
    noidle: bool,
    ns2: Ns2Rules,
    drop_rate: Option<f64>,
    /// The bytes that count as one packet; `None` if packets are counted.
    byte_unit: Option<f64>,
    ecn: bool,
}

impl Config {
    /// Equation 3.
    fn interval(&self, p: f64) -> Duration {
        let length = self.k as f64 / self.m as f64 * tcp::epoch(self.rtt, p);
        Duration::from_secs_f64(length).clamp(self.interval_min, self.interval_max)
    }

    /// The weight of a packet in arrivals and drops: one, or its bytes.
    fn count(&self, pkt: PacketView) -> u32 {
        if self.byte_unit.is_some() { pkt.len } else { 1 }
    }

    fn pace(&self, unresponsive: bool) -> &Pace {
        &self.paces[usize::from(unresponsive)]
    }

    /// Whether the filter is active, given RED's average and the packets waiting; it is not if the link might idle.
    fn filters(&self, unresponsive: bool, avg: f64, waiting: u32) -> bool {
        let enough = waiting > 1;
        if self.drop_rate.is_some() {
            true
        } else if !self.ns2.below_min {
            avg >= self.min && (enough || !self.noidle)
        } else if unresponsive {
            enough || !self.noidle
        } else {
            avg >= self.min && enough
        }
    }

    fn identifies(&self, lists: usize, drops: u64) -> bool {
        let dropped = |packets: f64| drops as f64 >= packets * self.byte_unit.unwrap_or(1.0);
        match self.identify {
            Identify::Multiple => lists >= self.k || self.burst_drops.is_some_and(dropped),
            Identify::Single => dropped(self.k as f64),
        }
    }
}

/// A monitored flow.
#[derive(Clone, Copy, Debug, Default)]
struct Monitored {
    /// Its drop probability in the filter.
    p: f64,
    /// The interval after which it last changed.
    changed: u64,
    /// Packets that the filter has passed since its last drop of the flow.
    passed: u32,
    unresponsive: bool,
    /// Since when arrivals and drops (of the filter and of the queue) are counted.
    since: Instant,
    arrivals: u64,
    drops: u64,
    responses: Responses,
}

impl Monitored {
    /// Restarts the counts of arrivals and drops.
    fn count_from(&mut self, now: Instant) {
        (self.since, self.arrivals, self.drops) = (now, 0, 0);
    }

    /// Draws whether the filter drops the flow's next packet.
    fn unlucky(&self, config: &Config, rng: &mut Rng) -> bool {
        let p = if self.unresponsive { self.p * config.unresponsive_penalty } else { self.p };
        if config.ns2.spacing { early::drop_early(p, f64::from(self.passed), rng) } else { rng.chance(p) }
    }

    /// Records the response to the last change, and restarts the counts.
    fn respond(&mut self, now: Instant) {
        let time = now.since(self.since).as_secs_f64();
        if self.arrivals > 0 && time > 0.0 {
            let arrivals = self.arrivals as f64;
            self.responses.push(Response { rate: arrivals / time, loss: self.drops as f64 / arrivals });
        }
        self.count_from(now);
    }
}

/// RED-PD's state.
#[derive(Clone, Debug)]
pub struct RedPd {
    red: Red,
    /// When this interval began, its length, and how many have ended.
    start: Instant,
    interval: Duration,
    ended: u64,
    /// Arrivals and drops in this interval, after the filter.
    arrivals: u64,
    drops: u64,
    /// The queue's drop rate; `None` before the first interval has ended.
    drop_rate: Option<f64>,
    history: DropHistory,
    /// The flows identified at the end of the last interval, with their drops, most first.
    identified: Vec<(u64, FlowKey)>,
    monitored: FlowTable<Monitored>,
}

impl RedPd {
    /// The drop rate of the queue.
    fn p(&self, config: &Config) -> f64 {
        config.drop_rate.or(self.drop_rate).unwrap_or(0.0)
    }

    /// Ends all intervals that are over, as if each ended on time: nothing else happened since.
    fn catch_up(&mut self, config: &Config, now: Instant) {
        while self.start + self.interval <= now {
            self.start += self.interval;
            self.end_interval(config);
            if self.drop_rate == Some(0.0) && self.history.is_empty() && self.monitored.is_empty() {
                // From here on all intervals are alike.
                let same = now.since(self.start).whole(self.interval);
                self.start += self.interval * same;
                self.ended += same;
            }
        }
    }

    fn end_interval(&mut self, config: &Config) {
        self.ended += 1;
        let sample = if self.arrivals > 0 { self.drops as f64 / self.arrivals as f64 } else { 0.0 };
        let average = self.drop_rate.map_or(sample, |p| (1.0 - config.alpha) * p + config.alpha * sample);
        self.drop_rate = Some(if average < 1e-9 { 0.0 } else { average });
        (self.arrivals, self.drops) = (0, 0);
        self.history.cut();
        self.identify(config);
        self.raise(config);
        self.lower(config);
        if config.ns2.last_interval {
            let now = self.start;
            self.monitored.retain(|_, flow| {
                flow.count_from(now);
                true
            });
        }
        self.history.advance();
        self.interval = config.interval(self.p(config));
    }

    /// Section 4.2.
    fn identify(&mut self, config: &Config) {
        self.identified.clear();
        let flows = self.history.iter().filter(|&(_, lists, drops)| config.identifies(lists, drops));
        self.identified.extend(flows.map(|(flow, _, drops)| (drops, flow)));
        self.identified.sort_unstable_by_key(|&(drops, flow)| (std::cmp::Reverse(drops), flow));
    }

    /// Equation 5: raises the drop probability of identified flows.
    fn raise(&mut self, config: &Config) {
        let total: u64 = self.identified.iter().map(|(drops, _)| drops).sum();
        let mean = total as f64 / self.identified.len() as f64;
        let p = self.p(config);
        for &(drops, key) in &self.identified {
            let quantum = drops as f64 / mean * p;
            if let Some(flow) = self.monitored.get_mut(key) {
                if self.ended - flow.changed + 1 >= config.m as u64 {
                    flow.respond(self.start);
                    flow.unresponsive |= config.unresponsive_test && flow.responses.unresponsive();
                    flow.p = config.pace(flow.unresponsive).increased(flow.p, quantum, p);
                    flow.changed = self.ended;
                }
            } else if self.monitored.len() < config.max_monitored {
                let first = config.pace(false).increased(0.0, quantum, p);
                let new = Monitored { p: first, changed: self.ended, since: self.start, ..Monitored::default() };
                *self.monitored.or_default(key) = new;
            }
        }
    }

    /// Lowers the drop probability of monitored flows without drops in any list.
    fn lower(&mut self, config: &Config) {
        if self.monitored.is_empty() {
            return;
        }
        self.monitored.retain(|key, flow| {
            let pace = config.pace(flow.unresponsive);
            if self.ended - flow.changed < pace.wait || !self.history.spared(key) {
                return true;
            }
            flow.p = pace.decreased(flow.p);
            flow.changed = self.ended;
            flow.p > pace.p_min
        });
    }

    /// Section 5: the filter in front of the queue.
    fn filter(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Option<Why> {
        let avg = self.red.avg();
        let flow = self.monitored.get_mut(pkt.flow)?;
        let count = u64::from(config.count(pkt));
        flow.arrivals += count;
        if config.filters(flow.unresponsive, avg, queue.packets) && flow.unlucky(config, env.rng) {
            flow.drops += count;
            flow.passed = 0;
            return Some(if flow.unresponsive { Why::Penalty } else { Why::Unfair });
        }
        flow.passed = flow.passed.saturating_add(1);
        None
    }

    /// The queue behind the filter: RED, or one with a fixed drop rate.
    fn output(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let Some(p) = config.drop_rate else {
            return self.red.arrival(&config.red, pkt, queue, env);
        };
        let scale = config.byte_unit.map_or(1.0, |unit| f64::from(pkt.len) / unit);
        match env.rng.chance(p * scale) {
            true => pkt.signal(config.ecn, Why::Early),
            false if queue.full => Verdict::Drop(Why::Overflow),
            false => Verdict::Pass,
        }
    }
}

impl Aqm for RedPd {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let red = params.red_config(link)?;
        let (k, m) = (params.k as usize, params.m as usize);
        in_range("m", f64::from(params.m), 1.0, MAX_LISTS as f64)?;
        let most = if params.identify == Identify::Multiple { f64::from(params.m) } else { 1e6 };
        in_range("k", f64::from(params.k), 1.0, most).map_err(|e| e.cite("Mahajan & Floyd 2000, section 4.2"))?;
        in_range("burst_drops", params.burst_drops.unwrap_or(1.0), 1.0, f64::INFINITY)?;
        in_range("alpha", params.alpha, 0.01, 1.0)?;
        in_range("max_flows", f64::from(params.max_flows), 1.0, 65_536.0)?;
        in_range("max_monitored", f64::from(params.max_monitored), 0.0, 1_048_576.0)?;
        in_range("unresponsive_penalty", params.unresponsive_penalty, 0.0, f64::INFINITY)?;
        in_range("drop_rate", params.drop_rate.unwrap_or_default(), 0.0, 1.0)?;
        in_range("rtt", params.rtt.as_secs_f64(), 1e-4, f64::INFINITY)?;
        let interval_min = params.interval_min.unwrap_or(params.rtt * 2);
        let interval_max = params.interval_max.unwrap_or((params.rtt * 10).max(interval_min));
        in_range("interval_min", interval_min.as_secs_f64(), 1e-4, f64::INFINITY)?;
        in_range("interval_max", interval_max.as_secs_f64(), interval_min.as_secs_f64(), f64::INFINITY)?;
        Ok(Config {
            min: red.ramp().min,
            byte_unit: red.byte_unit(),
            red,
            rtt: params.rtt.as_secs_f64(),
            k,
            m,
            identify: params.identify,
            burst_drops: params.burst_drops,
            alpha: params.alpha,
            interval_min,
            interval_max,
            max_flows: params.max_flows as usize,
            max_monitored: params.max_monitored as usize,
            paces: params.paces()?,
            unresponsive_test: params.unresponsive_test,
            unresponsive_penalty: params.unresponsive_penalty,
            noidle: params.noidle,
            ns2: params.ns2_rules(),
            drop_rate: params.drop_rate,
            ecn: params.ecn,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.red.limit()
    }

    fn new(config: &Config, now: Instant) -> Self {
        RedPd {
            red: Red::at(&config.red, now),
            start: now,
            interval: config.interval(config.drop_rate.unwrap_or(0.0)),
            ended: 0,
            arrivals: 0,
            drops: 0,
            drop_rate: None,
            history: DropHistory::new(config.m, config.max_flows),
            identified: Vec::with_capacity(config.m * config.max_flows),
            monitored: FlowTable::with_capacity(config.max_monitored),
        }
    }

    /// Figure 10.
    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.catch_up(config, env.now);
        if let Some(why) = self.filter(config, pkt, queue, env) {
            return Verdict::Drop(why);
        }
        let verdict = self.output(config, pkt, queue, env);
        let count = config.count(pkt);
        self.arrivals += u64::from(count);
        if verdict != Verdict::Pass {
            self.drops += u64::from(count);
            self.history.record(pkt.flow, count);
            if let Some(flow) = self.monitored.get_mut(pkt.flow) {
                flow.drops += u64::from(count);
            }
        }
        verdict
    }

    fn on_departure(&mut self, _config: &Config, _pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.red.departure(queue, env.now);
        Verdict::Pass
    }

    fn on_discard(&mut self, _config: &Config, _pkt: PacketView, queue: QueueView, now: Instant) {
        self.red.departure(queue, now);
    }

    /// Monitored flows are kept; lists of another kind are cleared. The current interval gets its new length, but does
    /// not end before now, because the arrivals since its start have been counted.
    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        self.catch_up(old, now);
        self.interval = new.interval(self.p(new)).max(now.since(self.start));
        self.red.change(&old.red, &new.red, now);
        if (old.m, old.max_flows, old.byte_unit) != (new.m, new.max_flows, new.byte_unit) {
            self.history = DropHistory::new(new.m, new.max_flows);
            (self.arrivals, self.drops) = (0, 0);
        }
        Ok(())
    }

    fn probe(&self, config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("avg", self.red.avg());
        out("drop_rate", self.p(config));
        out("interval", self.interval.as_secs_f64());
        out("identified", self.identified.len() as f64);
        out("monitored", self.monitored.len() as f64);
        out("unresponsive", self.monitored.iter().filter(|(_, flow)| flow.unresponsive).count() as f64);
        out("filter.max", self.monitored.iter().map(|(_, flow)| flow.p).fold(0.0, f64::max));
    }
}
