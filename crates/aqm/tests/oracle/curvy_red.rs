//! De Schepper et al. 2015, Algorithm 1, lines 7 to 14, on one queue.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, assert_seen, compare, out, signal};
use crate::trace::seconds;

struct CurvyRed {
    limit: usize,
    s_c: i32,
    f_c: i32,
    ecn: bool,
    q_c: f64,
    cq: VecDeque<(Pkt, Instant)>,
}

/// `x << s`, of a number that is not an integer.
pub(crate) fn shl(x: f64, s: i32) -> f64 {
    x * 2.0_f64.powi(s)
}

impl Literal for CurvyRed {
    fn arriving(&mut self, packet: Pkt, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        if self.cq.len() < self.limit {
            self.cq.push_back((packet, now));
        } else {
            seen.push(Seen::Dropped(packet.id));
        }
    }

    fn departing(&mut self, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        while let Some((mut pkt, since)) = self.cq.pop_front() {
            let time = seconds(since, now);
            self.q_c += shl(time - self.q_c, -self.f_c);
            if shl(self.q_c, self.s_c) > rng.uniform().max(rng.uniform()) && !signal(&mut pkt, self.ecn, seen) {
                continue;
            }
            return out(pkt, seen);
        }
        seen.push(Seen::Empty);
    }
}

#[test]
fn curvy_red_is_algorithm_1() {
    for (s_c, f_c, ecn, marks) in [(1, 5, false, &[][..]), (5, 2, true, &[Why::Early][..])] {
        let params = format!(r#"{{"limit": 100, "s_c": {s_c}, "f": {f_c}, "ecn": {ecn}}}"#);
        let literal = || CurvyRed { limit: 100, s_c, f_c, ecn, q_c: 0.0, cq: VecDeque::new() };
        let stats = compare(&spec("curvy-red", &params), &link(), literal);
        assert_seen(&stats, &[Why::Overflow, Why::Early], marks);
    }
}
