//! Hollot et al. 2001: the difference equation of section IV, and a draw for each arrival.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, Timer, assert_seen, compare, drop_packet, out, signal};

struct Pi {
    limit: usize,
    q_ref: f64,
    a: f64,
    b: f64,
    byte_mode: bool,
    timer: Timer,
    p: f64,
    q_old: f64,
    queue: VecDeque<Pkt>,
}

impl Pi {
    fn sample(&mut self, now: Instant) {
        while self.timer.due(now).is_some() {
            let q = self.queue.len() as f64;
            self.p = self.p + self.a * (q - self.q_ref) - self.b * (self.q_old - self.q_ref);
            self.p = self.p.clamp(0.0, 1.0);
            self.q_old = q;
        }
    }
}

impl Literal for Pi {
    fn arriving(&mut self, mut packet: Pkt, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.sample(now);
        if self.queue.len() == self.limit {
            return drop_packet(packet, seen);
        }
        let scale = if self.byte_mode { f64::from(packet.len) / 1000.0 } else { 1.0 };
        if rng.uniform() >= self.p * scale || signal(&mut packet, true, seen) {
            self.queue.push_back(packet);
        }
    }

    fn departing(&mut self, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.sample(now);
        match self.queue.pop_front() {
            Some(packet) => out(packet, seen),
            None => seen.push(Seen::Empty),
        }
    }
}

#[test]
fn pi_is_the_papers_difference_equation() {
    for (a, b, q_ref, byte_mode) in [(0.01, 0.0099, 20.0, false), (0.02, 0.015, 5.0, true)] {
        let params = format!(
            r#"{{"limit": 100, "q_ref": {q_ref}, "a": {a}, "b": {b}, "w": 200, "byte_mode": {byte_mode}, "ecn": true}}"#
        );
        let timer = Timer::new(Duration::from_millis(5));
        let literal = || Pi {
            limit: 100,
            q_ref,
            a,
            b,
            byte_mode,
            timer: timer.clone(),
            p: 0.0,
            q_old: 0.0,
            queue: VecDeque::new(),
        };
        let stats = compare(&spec("pi", &params), &link(), literal);
        assert_seen(&stats, &[Why::Overflow, Why::Early], &[Why::Early]);
    }
}
