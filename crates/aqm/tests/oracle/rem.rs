//! Athuraliya et al. 2001, equations 2, 4 and 5, with marks at departure as ns-2 makes them.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, Timer, assert_seen, compare, drop_packet, mark, out, signal};

struct Rem {
    limit: usize,
    gamma: f64,
    alpha: f64,
    phi: f64,
    target: f64,
    inw: f64,
    /// Packets that the link sends in a period.
    c: f64,
    backlog_price: bool,
    mark_at_departure: bool,
    timer: Timer,
    count: f64,
    x: f64,
    price: f64,
    prob: f64,
    q_old: f64,
    queue: VecDeque<Pkt>,
}

impl Rem {
    fn new(backlog_price: bool, mark_at_departure: bool) -> Self {
        Rem {
            limit: 100,
            gamma: 0.1,
            alpha: 0.2,
            phi: 1.05,
            target: 10.0,
            inw: 0.5,
            c: 10e6 / 8000.0 * 0.004,
            backlog_price,
            mark_at_departure,
            timer: Timer::new(Duration::from_millis(4)),
            count: 0.0,
            x: 0.0,
            price: 0.0,
            prob: 0.0,
            q_old: 0.0,
            queue: VecDeque::new(),
        }
    }

    fn update(&mut self, now: Instant) {
        while self.timer.due(now).is_some() {
            let q = self.queue.len() as f64;
            self.x = (1.0 - self.inw) * self.x + self.inw * self.count;
            self.count = 0.0;
            let rise = if self.backlog_price {
                self.gamma * (q - (1.0 - self.alpha) * self.q_old - self.alpha * self.target)
            } else {
                self.gamma * (self.alpha * (q - self.target) + self.x - self.c)
            };
            self.q_old = q;
            self.price = f64::max(0.0, self.price + rise);
            self.prob = 1.0 - libm::pow(self.phi, -self.price);
        }
    }
}

impl Literal for Rem {
    fn arriving(&mut self, mut packet: Pkt, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.update(now);
        self.count += 1.0;
        if self.queue.len() == self.limit {
            return drop_packet(packet, seen);
        }
        let marked_later = self.mark_at_departure && packet.ecn != Ecn::NotEct;
        if marked_later || rng.uniform() >= self.prob || signal(&mut packet, true, seen) {
            self.queue.push_back(packet);
        }
    }

    fn departing(&mut self, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.update(now);
        let Some(mut packet) = self.queue.pop_front() else { return seen.push(Seen::Empty) };
        if self.mark_at_departure && packet.ecn != Ecn::NotEct && rng.uniform() < self.prob {
            mark(&mut packet, seen);
        }
        out(packet, seen);
    }
}

#[test]
fn rem_is_the_papers_price() {
    for (price, mark_at) in [("rate", "arrival"), ("rate", "departure"), ("backlog", "arrival")] {
        let params = format!(
            r#"{{"limit": 100, "gamma": 0.1, "alpha": 0.2, "phi": 1.05, "target": 10, "weight": 0.5, "ecn": true,
                "interval": "4ms", "price": "{price}", "mark_at": "{mark_at}"}}"#
        );
        let literal = || Rem::new(price == "backlog", mark_at == "departure");
        let stats = compare(&spec("rem", &params), &link(), literal);
        assert_seen(&stats, &[Why::Overflow, Why::Early], &[Why::Early]);
    }
}
