//! The algorithm of Feng et al. 1999. Readings: `p_m` stays from 0 to 1; before the first update nothing is
//! frozen; while the link stays idle its event comes back after every `freeze_time`.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare};

struct Blue {
    d1: f64,
    d2: f64,
    freeze_time: Duration,
    l: usize,
    q_limit: usize,
    p_m: f64,
    last_update: Option<Instant>,
    idle: bool,
    started: bool,
    queue: Vec<Pkt>,
}

impl Blue {
    fn frozen(&self, now: Instant) -> bool {
        self.last_update.is_some_and(|last| now.since(last) <= self.freeze_time)
    }

    fn upon_packet_loss(&mut self, now: Instant) {
        if !self.frozen(now) {
            self.p_m = (self.p_m + self.d1).min(1.0);
            self.last_update = Some(now);
        }
    }

    fn upon_link_idle(&mut self, now: Instant) {
        if !self.frozen(now) {
            self.p_m = (self.p_m - self.d2).max(0.0);
            self.last_update = Some(now);
        }
    }

    fn stay_idle(&mut self, now: Instant) {
        while let Some(last) = self.last_update.filter(|_| self.idle) {
            let again = last + self.freeze_time;
            if again > now {
                break;
            }
            self.p_m = (self.p_m - self.d2).max(0.0);
            self.last_update = Some(again);
        }
    }
}

impl Oracle for Blue {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.stay_idle(now);
        self.idle = false;
        let q_len = self.queue.len();
        if q_len >= self.q_limit || q_len > self.l {
            self.upon_packet_loss(now);
        }
        if q_len >= self.q_limit || rng.uniform() < self.p_m {
            return false;
        }
        self.queue.push(p);
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        if !self.queue.is_empty() {
            return Some(self.queue.remove(0));
        }
        // The first call only says when time begins.
        if self.started {
            self.stay_idle(now);
            if !self.idle {
                self.idle = true;
                self.upon_link_idle(now);
            }
        }
        self.started = true;
        None
    }
}

#[test]
fn blue_is_the_papers_algorithm() {
    for (trigger, l) in [("", usize::MAX), (r#", "trigger": 20"#, 20)] {
        let params = format!(r#"{{"limit": 60, "d1": 0.05, "d2": 0.02, "freeze": "5ms"{trigger}}}"#);
        let stats = compare(&spec("blue", &params), &link(), 5, || Blue {
            d1: 0.05,
            d2: 0.02,
            freeze_time: Duration::from_millis(5),
            l,
            q_limit: 60,
            p_m: 0.0,
            last_update: None,
            idle: false,
            started: false,
            queue: Vec::new(),
        });
        assert_seen(&stats, &[Why::Overflow, Why::Early]);
    }
}
