//! Figures 3.6 to 3.10 of Parris 2001 with the gentle ramp, under the adaptation of Floyd, Gummadi and Shenker
//! 2001, or that of Feng et al. 1999.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, START, Seen, Timer, assert_seen, compare, drop_packet, out, signal};
use crate::trace::seconds;

#[derive(PartialEq)]
enum Status {
    Above,
    Between,
    Below,
}

struct Ared {
    w: f64,
    th_min: f64,
    th_max: f64,
    drain_rate: f64,
    q_limit: usize,
    timer: Option<Timer>,
    gentle: bool,
    nodrop: bool,
    status: Status,
    max_p: f64,
    q_avg: f64,
    count: i64,
    in_early_drop: bool,
    last: Instant,
    queue: VecDeque<Pkt>,
}

impl Ared {
    fn new(th_min: f64, th_max: f64, timer: Option<Timer>) -> Self {
        Ared {
            w: 0.05,
            th_min,
            th_max,
            drain_rate: 1250.0,
            q_limit: 60,
            timer,
            gentle: true,
            nodrop: false,
            status: Status::Between,
            max_p: 0.1,
            q_avg: 0.0,
            count: -1,
            in_early_drop: false,
            last: START,
            queue: VecDeque::new(),
        }
    }

    fn avg_of_idle(&self, now: Instant) -> f64 {
        let n = ((seconds(self.last, now) * self.drain_rate - 1.0) as i64).max(0);
        self.q_avg * libm::pow(1.0 - self.w, n as f64)
    }

    fn every_interval(&mut self, now: Instant) {
        while let Some(at) = self.timer.as_mut().and_then(|t| t.due(now)) {
            let avg = if self.queue.is_empty() { self.avg_of_idle(at) } else { self.q_avg };
            let band = self.th_max - self.th_min;
            if avg > self.th_min + 0.6 * band && self.max_p <= 0.5 {
                self.max_p += f64::min(0.01, self.max_p / 4.0);
            } else if avg < self.th_min + 0.4 * band && self.max_p >= 0.01 {
                self.max_p *= 0.9;
            }
        }
    }

    fn feng(&mut self) {
        if self.th_min < self.q_avg && self.q_avg < self.th_max {
            self.status = Status::Between;
        }
        if self.q_avg < self.th_min && self.status != Status::Below {
            self.status = Status::Below;
            self.max_p /= 3.0;
        }
        if self.q_avg > self.th_max && self.status != Status::Above {
            self.status = Status::Above;
            self.max_p = f64::min(1.0, self.max_p * 2.0);
        }
    }

    /// Why not: forced, early, or let it in.
    fn drop_test(&mut self, rng: &mut Rng) -> Option<bool> {
        self.count += 1;
        if self.q_avg > self.th_min && self.queue.len() > 1 {
            if self.q_avg > if self.gentle { 2.0 * self.th_max } else { self.th_max } {
                return Some(true);
            }
            if !self.in_early_drop {
                self.count = 1;
                self.in_early_drop = true;
                return None;
            }
            let pb = if self.q_avg <= self.th_max {
                self.max_p * (self.q_avg - self.th_min) / (self.th_max - self.th_min)
            } else {
                self.max_p + (1.0 - self.max_p) * (self.q_avg - self.th_max) / self.th_max
            };
            let room = 1.0 - self.count as f64 * pb;
            let pa = if room <= 0.0 { 1.0 } else { pb / room };
            return (rng.uniform() < pa).then_some(false);
        }
        self.in_early_drop = false;
        None
    }
}

impl Literal for Ared {
    fn arriving(&mut self, mut packet: Pkt, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.every_interval(now);
        if self.queue.is_empty() {
            self.q_avg = self.avg_of_idle(now);
            self.last = now;
        } else {
            self.q_avg = (1.0 - self.w) * self.q_avg + self.w * self.queue.len() as f64;
        }
        if self.timer.is_none() && self.gentle {
            self.feng();
        }
        if self.queue.len() >= self.q_limit {
            self.count = 0;
            return drop_packet(packet, seen);
        }
        match self.drop_test(rng) {
            None => self.queue.push_back(packet),
            Some(forced) => {
                self.count = 0;
                let unmarked = self.nodrop && !forced && !packet.ecn.is_capable();
                if unmarked || signal(&mut packet, !forced, seen) {
                    self.queue.push_back(packet);
                }
            }
        }
    }

    fn departing(&mut self, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.every_interval(now);
        match self.queue.pop_front() {
            Some(packet) => {
                out(packet, seen);
                if self.queue.is_empty() {
                    self.last = now;
                }
            }
            None => seen.push(Seen::Empty),
        }
    }
}

#[test]
fn ared_is_the_adaptation_on_red() {
    for (min, max, drops) in
        [(5.0, 15.0, &[Why::Early, Why::Forced][..]), (10.0, 30.0, &[Why::Early, Why::Overflow][..])]
    {
        let params =
            format!(r#"{{"limit": 60, "weight": 0.05, "min": {min}, "max": {max}, "interval": "10ms", "ecn": true}}"#);
        let timer = Timer::new(Duration::from_millis(10));
        let stats = compare(&spec("ared", &params), &link(), || Ared::new(min, max, Some(timer.clone())));
        assert_seen(&stats, drops, &[Why::Early]);
    }
}

#[test]
fn fengs_variant_is_its_adaptation_on_red() {
    let params = r#"{"limit": 60, "weight": 0.05, "min": 5, "max": 15, "variant": "feng", "ecn": true}"#;
    let stats = compare(&spec("ared", params), &link(), || Ared::new(5.0, 15.0, None));
    assert_seen(&stats, &[Why::Early, Why::Forced], &[Why::Early]);
}

/// RED with the adaptation, as Linux has it: without the gentle ramp.
#[test]
fn red_adapts_in_the_words_of_tc() {
    let params =
        r#"{"limit": 60, "weight": 0.05, "min": 5, "max": 15, "adaptive": true, "interval": "10ms", "ecn": true}"#;
    let timer = Timer::new(Duration::from_millis(10));
    let oracle = || Ared { gentle: false, ..Ared::new(5.0, 15.0, Some(timer.clone())) };
    let stats = compare(&spec("red", params), &link(), oracle);
    assert_seen(&stats, &[Why::Early, Why::Forced], &[Why::Early]);
}

/// Fails where packets that cannot carry a mark are let in above `max` in spite of `harddrop`.
#[test]
fn red_lets_in_what_it_cannot_mark() {
    let params = r#"{"limit": 60, "weight": 0.05, "min": 5, "max": 15, "ecn": true, "nodrop": true}"#;
    let oracle = || Ared { gentle: false, nodrop: true, ..Ared::new(5.0, 15.0, None) };
    let stats = compare(&spec("red", params), &link(), oracle);
    assert_seen(&stats, &[Why::Forced], &[Why::Early]);
    assert_eq!(stats.dropped[Why::Early as usize], 0);
}
