//! Decisions of Linux's `sch_dualpi2` about each packet, in real numbers: probabilities from 0 to 1, delays in seconds,
//! weights as fractions. Both numbers of a square are drawn, where Linux leaves out the second if the first decides.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, Timer, assert_seen, compare, drop_packet, mark, out};
use crate::trace::seconds;

/// The unit of the step threshold.
#[derive(Clone, Copy)]
enum Step {
    Seconds(f64),
    Packets(usize),
}

struct Linux {
    limit: usize,
    coupling_factor: f64,
    pi2_target: f64,
    pi2_alpha: f64,
    pi2_beta: f64,
    timer: Timer,
    step_thresh: Step,
    wc: f64,
    drop_early: bool,
    drop_overload: bool,
    any_ect: bool,
    pi2_prob: f64,
    last_qdelay: f64,
    credit: f64,
    l_queue: VecDeque<(Pkt, Instant)>,
    c_queue: VecDeque<(Pkt, Instant)>,
}

const MTU: f64 = 1500.0;

impl Linux {
    fn reset_default() -> Self {
        Linux {
            limit: 60,
            coupling_factor: 2.0,
            pi2_target: 0.015,
            pi2_alpha: 41.0 / 256.0,
            pi2_beta: 819.0 / 256.0,
            timer: Timer::new(Duration::from_millis(16)),
            step_thresh: Step::Seconds(0.001),
            wc: 0.125,
            drop_early: false,
            drop_overload: true,
            any_ect: false,
            pi2_prob: 0.0,
            last_qdelay: 0.0,
            credit: MTU * (0.125 - 0.875),
            l_queue: VecDeque::new(),
            c_queue: VecDeque::new(),
        }
    }

    fn calculate_probability(&mut self, now: Instant) {
        let head = |queue: &VecDeque<(Pkt, Instant)>| queue.front().map_or(0.0, |(_, since)| seconds(*since, now));
        let qdelay = head(&self.l_queue).max(head(&self.c_queue));
        let delta = self.pi2_alpha * (qdelay - self.pi2_target) + self.pi2_beta * (qdelay - self.last_qdelay);
        self.last_qdelay = qdelay;
        self.pi2_prob = (self.pi2_prob + delta).clamp(0.0, 1.0);
        if !self.drop_overload {
            self.pi2_prob = self.pi2_prob.min(1.0 / self.coupling_factor);
        }
    }

    fn timers(&mut self, now: Instant) {
        while let Some(at) = self.timer.due(now) {
            self.calculate_probability(at);
        }
    }

    fn backlog(&self) -> u32 {
        self.l_queue.iter().chain(&self.c_queue).map(|(pkt, _)| pkt.len).sum()
    }

    fn is_l4s(&self, pkt: &Pkt) -> bool {
        matches!((pkt.ecn, self.any_ect), (Ecn::Ect1 | Ecn::Ce, _) | (Ecn::Ect0, true))
    }

    fn roll_twice(prob: f64, rng: &mut Rng) -> bool {
        let (first, second) = (rng.uniform(), rng.uniform());
        first < prob && second < prob
    }

    /// `must_drop`, which marks too, on arrival or before departure. Where it is not asked, and below two MTU,
    /// Linux draws no number; here one is drawn that decides nothing.
    fn must_drop(&self, pkt: &mut Pkt, l4s: bool, here: bool, rng: &mut Rng, seen: &mut Vec<Seen>) -> bool {
        let prob = if here && f64::from(self.backlog()) >= 2.0 * MTU { self.pi2_prob } else { 0.0 };
        let local_l_prob = prob * self.coupling_factor;
        let overload = local_l_prob > 1.0;
        if l4s {
            self.scalable_marking(pkt, local_l_prob, prob, overload, rng, seen)
        } else {
            Linux::classic_marking(pkt, prob, overload, rng, seen)
        }
    }

    fn classic_marking(pkt: &mut Pkt, prob: f64, overload: bool, rng: &mut Rng, seen: &mut Vec<Seen>) -> bool {
        if Linux::roll_twice(prob, rng) {
            if overload || pkt.ecn == Ecn::NotEct {
                return true;
            }
            mark(pkt, seen);
        }
        false
    }

    fn scalable_marking(
        &self,
        pkt: &mut Pkt,
        local_l_prob: f64,
        prob: f64,
        overload: bool,
        rng: &mut Rng,
        seen: &mut Vec<Seen>,
    ) -> bool {
        if overload && self.drop_overload && Linux::roll_twice(prob, rng) {
            return true;
        }
        // In overload this is certain.
        if rng.uniform() < local_l_prob {
            mark(pkt, seen);
        }
        false
    }

    /// `dequeue_packet`: the packet, whether it is of the L queue, and the change of credit.
    fn dequeue_packet(&mut self) -> Option<(Pkt, Instant, bool, f64)> {
        let (l, c) = (self.l_queue.len(), self.c_queue.len());
        if l > 0 && (c == 0 || self.credit <= 0.0) {
            let (pkt, since) = self.l_queue.pop_front()?;
            Some((pkt, since, true, if c > 0 { self.wc * f64::from(pkt.len) } else { 0.0 }))
        } else if c > 0 {
            let (pkt, since) = self.c_queue.pop_front()?;
            Some((pkt, since, false, if l > 0 { -(1.0 - self.wc) * f64::from(pkt.len) } else { 0.0 }))
        } else {
            self.credit = MTU * (self.wc - (1.0 - self.wc));
            None
        }
    }

    /// `do_step_aqm`, for a packet that has no mark of this queue yet.
    fn do_step_aqm(&self, since: Instant, now: Instant) -> bool {
        match self.step_thresh {
            Step::Seconds(thresh) => seconds(since, now) > thresh,
            Step::Packets(thresh) => self.l_queue.len() > thresh,
        }
    }
}

impl Literal for Linux {
    /// `dualpi2_enqueue_skb`.
    fn arriving(&mut self, mut pkt: Pkt, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.timers(now);
        if self.l_queue.len() + self.c_queue.len() >= self.limit {
            return drop_packet(pkt, seen);
        }
        let l4s = self.is_l4s(&pkt);
        if self.drop_early && self.must_drop(&mut pkt, l4s, true, rng, seen) {
            return drop_packet(pkt, seen);
        }
        if l4s { &mut self.l_queue } else { &mut self.c_queue }.push_back((pkt, now));
    }

    /// `dualpi2_qdisc_dequeue`.
    fn departing(&mut self, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.timers(now);
        while let Some((mut pkt, since, from_l, credit_change)) = self.dequeue_packet() {
            let marks = seen.len();
            if self.must_drop(&mut pkt, from_l, !self.drop_early, rng, seen) {
                drop_packet(pkt, seen);
                continue;
            }
            if from_l && self.do_step_aqm(since, now) && seen.len() == marks {
                mark(&mut pkt, seen);
            }
            self.credit += credit_change;
            return out(pkt, seen);
        }
        seen.push(Seen::Empty);
    }
}

const GAINS: &str = r#""random": true, "limit": 60, "target": "15ms", "tupdate": "16ms", "alpha": 0.16015625, "beta": 3.19921875,
    "min_qlen_step": 0, "classic_protection": 0.125"#;

#[test]
fn dualpi2_is_what_linux_does() {
    let params = format!(r#"{{{GAINS}, "step_thresh": "1ms"}}"#);
    let stats = compare(&spec("dualpi2", &params), &link(), Linux::reset_default);
    assert_seen(&stats, &[Why::Overflow, Why::Early, Why::Overload], &[Why::Step, Why::Coupled, Why::Early]);
}

#[test]
fn dualpi2_drops_on_arrival_as_linux_does() {
    let params = format!(r#"{{{GAINS}, "step_thresh": "5p", "drop_at": "drop_enqueue"}}"#);
    let literal = || Linux { step_thresh: Step::Packets(5), drop_early: true, ..Linux::reset_default() };
    let stats = compare(&spec("dualpi2", &params), &link(), literal);
    assert_seen(&stats, &[Why::Overflow, Why::Early, Why::Overload], &[Why::Step, Why::Coupled, Why::Early]);
}

#[test]
fn dualpi2_overflows_as_linux_does() {
    let params = format!(r#"{{{GAINS}, "step_thresh": "1ms", "overload": "overflow", "classifier": "any_ect"}}"#);
    let literal = || Linux { drop_overload: false, any_ect: true, ..Linux::reset_default() };
    let stats = compare(&spec("dualpi2", &params), &link(), literal);
    assert_seen(&stats, &[Why::Overflow, Why::Early], &[Why::Step, Why::Coupled]);
    assert_eq!(stats.dropped[Why::Overload as usize], 0);
}
