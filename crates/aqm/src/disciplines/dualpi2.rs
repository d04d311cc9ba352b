//! # DualPI2: the dual-queue coupled AQM of L4S
//!
//! Two queues that share a link: packets of scalable congestion controls (ECT(1), such as Prague) wait
//! about a millisecond in the L queue, all others about `target` in the Classic queue. One PI controller of
//! the delay computes a base probability; Classic packets are dropped with its square and L packets marked
//! with a multiple of it, so that flows get about the same rate in both queues.
//!
//! ## Law
//!
//! ```text
//! arrival:     both queues at `limit`: drop;  ECT(1) or CE -> L, else -> C      [rfc9332 A.1]
//! every tupdate, with q the longer of the two heads' delays:                    [rfc9332 A.2]
//!              p' <- p' + alpha (q - target) + beta (q - q_old), from 0 to 1
//!              p_CL = k p',  p_C = p'^2 = (p_CL / k)^2
//! departure from L, while p_CL < 1:                                             [rfc9332 A.2]
//!              p'_L = 0 to 1 as its delay goes from min_th to min_th + range, where more than
//!                     min_qlen_step packets remain in L, else 0
//!              mark with likelihood max(p'_L, p_CL)
//!   saturated: drop with likelihood p_C, else mark with likelihood p_CL
//! departure from C: with likelihood p_C drop, or mark ECT(0) while p_C < min(1/k^2, 1)
//! likelihood:  count <- count + likelihood;  above 1: count <- count - 1 and act    one count for each queue
//! tupdate = min(target, max_rtt / 3),  alpha = 0.1 tupdate / max_rtt^2,  beta = 0.3 / max_rtt   [rfc9332 A.1]
//! ```
//!
//! While less than two `mtu` remain in both queues, `p'` counts as zero. After a drop the next packet is
//! dequeued. The scheduler is weighted round robin: L is served while its credit in bytes allows, and the
//! Classic queue gets `classic_protection` of the link while both have packets; or, with `tshift`, the
//! queue whose head waited longer, with `tshift` added to L.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | limit | queue length | 10000 | capacity of both queues together; the RFC has 250 ms of the fastest link |
//! | `memlimit` (`memory_limit`) | | size | | the same in bytes, besides `limit` |
//! | `coupling_factor` (`k`) | k | 1 | 2 | ratio of the marking probability to the root of the drop probability; larger values take rate from L |
//! | `target` | target | time | `typical_rtt` | target of the Classic delay; below the round-trip time the link idles |
//! | `tupdate` | Tupdate | time | `min(target, max_rtt/3)` | time between updates, at least 10us |
//! | `alpha` | alpha | Hz | by `max_rtt` | integral gain, unscaled |
//! | `beta` | beta | Hz | by `max_rtt` | proportional gain, unscaled |
//! | `max_rtt` | `RTT_max` | time | 100ms, or 6 `typical_rtt` | longest round-trip time for which the controller is stable |
//! | `typical_rtt` | | time | 15ms, or `max_rtt`/6 | default of `target` |
//! | `min_th` | minTh | time | 800us | L delay at which marking starts |
//! | `range` | range | time | 400us | width of the ramp: all packets are marked at `min_th + range` |
//! | `step_thresh` | | time or packets | | instead of the ramp: mark all L packets whose delay, or the queue behind them, exceeds this (`"1ms"`, `"5p"`) |
//! | `min_qlen_step` (`th_len`) | `Th_len` | packets | 1 | packets that must remain in L for a mark by delay: on slow links one packet alone takes longer than `min_th`; 0 always marks, as `tc` by default |
//! | `classifier` | | | `"l4s_ect"` | packets for L: `"l4s_ect"` (ECT(1) and CE) or `"any_ect"` |
//! | `overload` | | | `"drop_on_overload"` | when marking saturates: `"drop_on_overload"` drops in both queues, also ECT; with `"overflow"`, `p'` stops at 1/k and the queue grows to `limit` |
//! | `drop_at` | | | `"drop_dequeue"` | where `p'` is applied: `"drop_dequeue"` or `"drop_enqueue"`; L's own delay always at departure |
//! | `classic_protection` | | 1 | 0.0625 | share of the Classic queue while L is busy, 0.1 for 10 %; 0 is strict priority, with which L can starve it |
//! | `tshift` | | time | | time-shifted FIFO instead of weighted round robin; the RFC's example is 50ms |
//! | `random` | | | false | draw random numbers (one for L, two for C) instead of accumulating likelihoods |
//! | `mtu` | MTU | size | 1500b | twice this must remain for `p'` to act; with 0 it always acts |
//!
//! ## Deviations
//!
//! 1. Linux draws random numbers (`random`), marks L by a step of 1 ms (`step_thresh`), whose guard it
//!    tests on arrival (by default not at all), gives the Classic queue 10 %, and updates every 16 ms with
//!    gains 0.16 and 3.2 Hz, in 1/256 Hz.
//! 2. In `tc`, `max_rtt` and `typical_rtt` override given gains; here given gains win. Flags of `tc` are
//!    values here: `overload = "overflow"`, `classifier = "any_ect"`. A plain number for `step_thresh` is
//!    packets, not microseconds. There is no GSO splitting.
//! 3. The size of the packet, not the MTU, must fit under `limit`, as in ns-3.
//! 4. `L.len` in the guard is the queue behind the packet, following the order of lines in the pseudo-code;
//!    at 0 there is no guard, whereas the pseudo-code would still not mark the last packet.
//! 5. A likelihood above 1 counts as 1: the RFC's `count` would grow without limit.
//! 6. ns-3 controls the Classic delay alone (the RFC's first pass, without overload).
//! 7. The floor of two MTU is Linux's; the weighted round robin, which the RFC leaves open, is Linux's too.
//! 8. The mean delay of L is mostly the wait for what is being transmitted. One flow of Prague and one of cubic, 40 Mbit/s, 10 ms: 0.19 ms; with Classic
//!    packets of two segments, as where a device takes super-packets whole, 0.35; with L packets of two segments 0.18; with Linux's parameters
//!    (1) 0.20; without segmentation offload 0.19; at 20 Mbit/s 0.32, at 100 Mbit/s 0.07; with four flows of each 0.26. A transmitter that takes more than
//!    one packet at once is thus enough for a longer L queue than here. (`linux-6`, `aqmkit run bench/linux/l-queue.toml`, with
//!    `--set traffic.classic.transport.mss=2896b`.)
//!
//! ## Limits
//!
//! The delay of L is bounded only if its flows respond to marks: an unresponsive flow is dropped with
//! `p'^2` once marking saturates, and delays other L flows until then. Rates are equal only for equal round
//! trips. A flow whose packets change codepoint (CE upon ECT(0)) may be reordered. State: four numbers. Per
//! packet: O(1).
//!
//! ## Evidence
//!
//! `tests/oracle/dualpi2.rs` transcribes the pseudo-code of A.1 and A.2 literally, with either scheduler,
//! and with equal decisions and marks on random and bursty traces of all codepoints; `p_C` instead of
//! `p_CL` in overload, or one count for both queues, fails the test. `tests/oracle/dualpi2_linux.rs` does
//! the same for Linux: random numbers, drops on arrival, the step in time or packets, and overflow instead
//! of drops. A floor of two MTU that counts the packet itself, or the smaller of two numbers for the
//! square, fails the test. `tests/aqm/worked_control.rs` checks the gains, `tc`'s derived values, the shares of
//! the scheduler and the steps by hand.
//!
//! ## References
//!
//! * rfc9332: K. De Schepper, B. Briscoe, G. White, Dual-Queue Coupled Active Queue Management (AQM) for L4S,
//!   2023, appendix A.
//! * deschepper16: K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, PI2: A Linearized AQM for both Classic and
//!   Scalable TCP, `CoNEXT` 2016.

mod params;

use aqmkit_base::{Amount, Duration, Instant};

pub use self::params::{DropAt, Overload, Params, Threshold};
use crate::law::pi::PiController;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, at_least, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{Dual, Lane};
use crate::verdict::{Verdict, Why};

/// The parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    params: Params,
    target: Duration,
    tupdate: Duration,
    pi: PiController,
    /// Maximum probability of marking Classic packets.
    p_cmax: f64,
    /// Backlog in bytes below which the base probability is not applied.
    floor: u64,
}

impl Config {
    fn new(params: &Params) -> Result<Self, ParamError> {
        usable_limit("limit", params.limit)?;
        in_range("coupling_factor", params.coupling_factor, f64::MIN_POSITIVE, 255.0)?;
        in_range("classic_protection", params.classic_protection, 0.0, 1.0)
            .map_err(|e| e.cite("a fraction: tc's 10% is 0.1"))?;
        let k = params.coupling_factor;
        let gains = params.gains();
        at_least("max_rtt", gains.max_rtt, Duration::from_micros(1))?;
        at_least("tupdate", gains.tupdate, Duration::from_micros(10))?;
        in_range("alpha", gains.pi.alpha_hz, 0.0, 1e9)?;
        in_range("beta", gains.pi.beta_hz, 0.0, 1e9)?;
        Ok(Config {
            params: params.clone(),
            target: gains.target,
            tupdate: gains.tupdate,
            pi: gains.pi,
            p_cmax: (1.0 / (k * k)).min(1.0),
            floor: params.mtu.0.saturating_mul(2),
        })
    }

    /// The limit in bytes, in addition to `limit`.
    fn memory(&self) -> Option<Amount> {
        self.params.memlimit.map(|bytes| Amount::Bytes(bytes.0))
    }

    /// The scheduler's credit after an idle period: L is first unless its share is the smaller.
    fn first_credit(&self) -> f64 {
        self.params.mtu.as_f64() * (2.0 * self.params.classic_protection - 1.0)
    }
}

/// The likelihood accumulator of one queue: the RFC's `recur`.
#[derive(Clone, Copy, Debug, Default)]
struct Count(f64);

impl Count {
    /// Returns true for a share `likelihood` of the calls, evenly spaced.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood.min(1.0);
        if self.0 > 1.0 {
            self.0 -= 1.0;
            return true;
        }
        false
    }
}

/// Two queues and one controller.
#[derive(Clone, Debug)]
pub struct Dualpi2<P> {
    config: Config,
    queues: Dual<P>,
    /// The base probability p'.
    p: f64,
    prevq: Duration,
    lq: Count,
    cq: Count,
    /// Bytes, weighted by the shares, by which L is behind (negative) or ahead.
    credit: f64,
    next_update: Instant,
}

impl<P: Packet> Dualpi2<P> {
    /// Empty queues at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used.
    pub fn new(params: &Params, now: Instant) -> Result<Self, ParamError> {
        let config = Config::new(params)?;
        Ok(Dualpi2 {
            queues: Dual::default(),
            p: 0.0,
            prevq: Duration::ZERO,
            lq: Count::default(),
            cq: Count::default(),
            credit: config.first_credit(),
            next_update: now + config.tupdate,
            config,
        })
    }

    /// `dualpi2_update` for every period up to and including `now`, each at its own time.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            if self.settled() {
                let periods = now.since(self.next_update).whole(self.config.tupdate);
                self.next_update += self.config.tupdate * periods;
            } else {
                self.update(self.next_update);
            }
            self.next_update += self.config.tupdate;
        }
    }

    /// Whether no update would change anything before a packet arrives, so that all periods until now can be skipped.
    fn settled(&self) -> bool {
        let empty = self.queues.l.is_empty() && self.queues.c.is_empty();
        empty && self.prevq.is_zero() && self.updated(Duration::ZERO) == self.p
    }

    /// The base probability after an update with the queue delay `curq`.
    fn updated(&self, curq: Duration) -> f64 {
        self.config.pi.update(self.p, curq, self.prevq, self.config.target)
    }

    fn update(&mut self, at: Instant) {
        let (l, c) = (Dual::head_delay(&self.queues.l, at), Dual::head_delay(&self.queues.c, at));
        let curq = l.max(c);
        self.p = self.updated(curq);
        if self.config.params.overload == Overload::Overflow {
            self.p = self.p.min(1.0 / self.config.params.coupling_factor);
        }
        self.prevq = curq;
    }

    /// `scheduler()`, and whether both queues hold packets.
    fn schedule(&self, now: Instant) -> Option<(Lane, bool)> {
        match (self.queues.l.is_empty(), self.queues.c.is_empty()) {
            (true, true) => None,
            (false, true) => Some((Lane::L, false)),
            (true, false) => Some((Lane::C, false)),
            (false, false) => {
                let (l, c) = (Dual::head_delay(&self.queues.l, now), Dual::head_delay(&self.queues.c, now));
                let l_first = self.config.params.tshift.map_or(self.credit <= 0.0, |shift| l + shift >= c);
                Some((if l_first { Lane::L } else { Lane::C }, true))
            }
        }
    }

    /// A packet of `len` bytes was sent from `lane` while both queues held packets.
    fn charge(&mut self, lane: Lane, len: u32) {
        let w_c = self.config.params.classic_protection;
        self.credit += match lane {
            Lane::L => w_c * f64::from(len),
            Lane::C => (w_c - 1.0) * f64::from(len),
        };
    }

    /// `laqm`: the probability that L's own delay marks a packet leaving it.
    fn laqm(&self, delay: Duration) -> f64 {
        let params = &self.config.params;
        let spared = params.min_qlen_step as usize;
        if spared > 0 && self.queues.l.len() <= spared {
            return 0.0;
        }
        let over = match params.step_thresh {
            Some(Threshold::Delay(step)) => delay > step,
            Some(Threshold::Length(Amount::Packets(step))) => self.queues.l.len() as f64 > step,
            Some(Threshold::Length(Amount::Bytes(step))) => self.queues.l.bytes() > step,
            None => delay >= params.min_th + params.range,
        };
        if over {
            1.0
        } else if params.step_thresh.is_none() && delay > params.min_th {
            (delay - params.min_th).as_secs_f64() / params.range.as_secs_f64()
        } else {
            0.0
        }
    }

    /// Decides about a packet of `lane`, given the probability `native` that L's own delay marks it and the base
    /// probability `p`.
    fn decide(&mut self, lane: Lane, capable: bool, native: f64, p: f64, cx: &mut Cx<'_, P>) -> Verdict {
        let p_cl = p * self.config.params.coupling_factor;
        let p_c = p * p;
        let may_drop = self.config.params.overload == Overload::DropOnOverload;
        match lane {
            Lane::L if p_cl < 1.0 || !may_drop => {
                let why = if native >= p_cl { Why::Step } else { Why::Coupled };
                if self.linear(native.max(p_cl), cx) { Verdict::Mark(why) } else { Verdict::Pass }
            }
            Lane::L if self.squared(lane, p, cx) => Verdict::Drop(Why::Overload),
            Lane::L if self.linear(p_cl, cx) => Verdict::Mark(Why::Coupled),
            Lane::C if self.squared(lane, p, cx) => {
                if !capable {
                    Verdict::Drop(Why::Early)
                } else if may_drop && p_c >= self.config.p_cmax {
                    Verdict::Drop(Why::Overload)
                } else {
                    Verdict::Mark(Why::Early)
                }
            }
            _ => Verdict::Pass,
        }
    }

    /// True with this probability, for the L queue.
    fn linear(&mut self, likelihood: f64, cx: &mut Cx<'_, P>) -> bool {
        if self.config.params.random { cx.rng.uniform() < likelihood } else { self.lq.recur(likelihood) }
    }

    /// True with probability `p^2`.
    fn squared(&mut self, lane: Lane, p: f64, cx: &mut Cx<'_, P>) -> bool {
        if self.config.params.random {
            return cx.rng.uniform().max(cx.rng.uniform()) < p;
        }
        match lane {
            Lane::L => self.lq.recur(p * p),
            Lane::C => self.cq.recur(p * p),
        }
    }

    /// The base probability if it is applied at this point and the backlog is large enough; otherwise 0.
    fn acting(&self, here: DropAt) -> f64 {
        if here == self.config.params.drop_at && self.queues.bytes() >= self.config.floor { self.p } else { 0.0 }
    }
}

impl<P: Packet> Qdisc<P> for Dualpi2<P> {
    /// `dualpi2_enqueue`.
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
        self.queues.stats.enqueued += 1;
        let fits = |limit| self.queues.fits(packet.len(), limit);
        if !fits(self.config.params.limit) || !self.config.memory().is_none_or(fits) {
            return self.queues.discard(packet, Why::Overflow, cx);
        }
        let lane = self.config.params.classifier.lane(packet.ecn());
        if self.config.params.drop_at == DropAt::DropEnqueue {
            let p = self.acting(DropAt::DropEnqueue);
            match self.decide(lane, packet.ecn().is_capable(), 0.0, p, cx) {
                Verdict::Drop(why) => return self.queues.discard(packet, why, cx),
                Verdict::Mark(why) => self.queues.mark(&mut packet, why, cx),
                Verdict::Pass => {}
            }
        }
        self.queues.lane(lane).push(packet, cx.now);
    }

    /// `dualpi2_dequeue`.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        self.catch_up(cx.now);
        while let Some((lane, contended)) = self.schedule(cx.now) {
            let Some((mut packet, delay)) = self.queues.lane(lane).pop(cx.now) else { break };
            let native = if lane == Lane::L { self.laqm(delay) } else { 0.0 };
            let p = self.acting(DropAt::DropDequeue);
            match self.decide(lane, packet.ecn().is_capable(), native, p, cx) {
                Verdict::Drop(why) => {
                    self.queues.discard(packet, why, cx);
                    continue;
                }
                Verdict::Mark(why) => self.queues.mark(&mut packet, why, cx),
                Verdict::Pass => {}
            }
            if contended {
                self.charge(lane, packet.len());
            }
            self.queues.stats.dequeued += 1;
            return Dequeued::Packet(packet);
        }
        self.credit = self.config.first_credit();
        Dequeued::Empty
    }

    fn wakeup(&self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn on_wakeup(&mut self, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.queues.stats
    }

    /// Packets stay in the queue they are in, whatever the new classifier.
    fn reconfigure(&mut self, params: &dyn AnyParams, _link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        self.catch_up(cx.now);
        self.config = Config::new(params.of::<Params>()?)?;
        self.next_update = self.next_update.min(cx.now + self.config.tupdate);
        self.queues.shrink(self.config.params.limit, cx);
        if let Some(memory) = self.config.memory() {
            self.queues.shrink(memory, cx);
        }
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("p", self.p);
        out("p_c", self.p * self.p);
        out("p_cl", self.p * self.config.params.coupling_factor);
        out("l.packets", self.queues.l.len() as f64);
        out("c.packets", self.queues.c.len() as f64);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.queues.waiting(see);
    }
}
