//! De Schepper et al. 2015, Algorithm 1.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::{Ecn, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::curvy_red::shl;
use crate::events::{Literal, Seen, assert_seen, compare, drop_packet, mark, out};
use crate::trace::seconds;

struct Dualq {
    limit: usize,
    s_l: i32,
    s_c: i32,
    f_c: i32,
    t: usize,
    /// Experiment 6: marks take two random numbers too.
    squared: bool,
    q_c: f64,
    lq: VecDeque<(Pkt, Instant)>,
    cq: VecDeque<(Pkt, Instant)>,
}

impl Literal for Dualq {
    fn arriving(&mut self, packet: Pkt, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        if self.lq.len() + self.cq.len() >= self.limit {
            drop_packet(packet, seen);
        } else if packet.ecn == Ecn::NotEct {
            self.cq.push_back((packet, now));
        } else {
            self.lq.push_back((packet, now));
        }
    }

    fn departing(&mut self, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        if let Some((mut pkt, _)) = self.lq.pop_front() {
            let time = self.cq.front().map_or(0.0, |(_, since)| seconds(*since, now));
            let mut rnd = || if self.squared { rng.uniform().max(rng.uniform()) } else { rng.uniform() };
            if self.lq.len() > self.t || shl(time, self.s_l) > rnd() {
                mark(&mut pkt, seen);
            }
            return out(pkt, seen);
        }
        while let Some((pkt, since)) = self.cq.pop_front() {
            self.q_c += shl(seconds(since, now) - self.q_c, -self.f_c);
            if shl(self.q_c, self.s_c) > rng.uniform().max(rng.uniform()) {
                drop_packet(pkt, seen);
            } else {
                return out(pkt, seen);
            }
        }
        seen.push(Seen::Empty);
    }
}

#[test]
fn dualq_is_algorithm_1() {
    for (s_l, s_c, f_c, t, squared) in [(4, 1, 5, 5, false), (3, 1, 5, 5, true), (7, 4, 2, 60, false)] {
        let u_l = if squared { 2 } else { 1 };
        let params = format!(r#"{{"limit": 100, "s_l": {s_l}, "s_c": {s_c}, "f": {f_c}, "t": {t}, "u_l": {u_l}}}"#);
        let (lq, cq) = (VecDeque::new(), VecDeque::new());
        let literal = || Dualq { limit: 100, s_l, s_c, f_c, t, squared, q_c: 0.0, lq: lq.clone(), cq: cq.clone() };
        let stats = compare(&spec("dualq", &params), &link(), literal);
        assert_seen(&stats, &[Why::Overflow, Why::Early], &[Why::Step, Why::Coupled]);
    }
}
