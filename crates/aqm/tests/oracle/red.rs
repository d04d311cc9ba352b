//! Figures 3.6 to 3.10. Corrected: `old` is `in_early_drop`; `n` below zero counts as zero; a `p_a` whose
//! denominator is not positive is 1.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare, seconds};

#[derive(PartialEq)]
#[allow(clippy::enum_variant_names, reason = "the figure's names")]
enum DropType {
    NoDrop,
    EarlyDrop,
    ForcedDrop,
}

pub(crate) struct Red {
    /// ns-2's `wait_` (`modify_p` of `queue/red.cc`).
    wait: bool,
    w: f64,
    maxp: f64,
    pub(crate) th_max: f64,
    th_min: f64,
    drain_rate: f64,
    pub(crate) q_limit: usize,
    pub(crate) q_avg: f64,
    count: i64,
    in_early_drop: bool,
    idle: bool,
    last: Instant,
    pub(crate) queue: Vec<Pkt>,
}

impl Red {
    fn compute_avg(&mut self, now: Instant) {
        let q_len = self.queue.len();
        if q_len > 0 {
            self.q_avg = (1.0 - self.w) * self.q_avg + self.w * q_len as f64;
        } else {
            self.idle = false;
            let delta_time = seconds(self.last, now);
            let n = ((delta_time * self.drain_rate - 1.0) as i64).max(0);
            self.q_avg *= libm::pow(1.0 - self.w, n as f64);
        }
    }

    /// Packets have left the queue, or were put there.
    pub(crate) fn moved(&mut self, now: Instant) {
        if self.queue.is_empty() {
            if !self.idle {
                self.idle = true;
                self.last = now;
            }
        } else {
            self.idle = false;
        }
    }

    fn drop_early(&self, rng: &mut Rng) -> bool {
        let pb = self.maxp * (self.q_avg - self.th_min) / (self.th_max - self.th_min);
        let room = 1.0 - self.count as f64 * pb;
        let pa = match (self.wait, room) {
            (true, room) if room > 0.0 => 0.0,
            (true, room) if room > -1.0 => pb / (1.0 + room),
            (false, room) if room > 0.0 => pb / room,
            _ => 1.0,
        };
        rng.uniform() < pa
    }
}

impl Oracle for Red {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.count += 1;
        self.compute_avg(now);
        let q_len = self.queue.len();
        let mut drop_type = DropType::NoDrop;
        if q_len >= self.q_limit {
            drop_type = DropType::ForcedDrop;
        } else if self.q_avg > self.th_min && q_len > 1 {
            if self.q_avg > self.th_max {
                drop_type = DropType::ForcedDrop;
            } else if !self.in_early_drop {
                self.count = 1;
                self.in_early_drop = true;
            } else if self.drop_early(rng) {
                drop_type = DropType::EarlyDrop;
            }
        } else {
            self.in_early_drop = false;
        }
        if drop_type == DropType::NoDrop {
            self.queue.push(p);
            true
        } else {
            self.count = 0;
            false
        }
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        let p = if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) };
        self.moved(now);
        p
    }
}

/// The average of an idle queue decays at 10 Mbit/s of 1000-byte packets.
pub(crate) fn oracle(w: f64, th_min: f64, th_max: f64, q_limit: usize) -> Red {
    Red {
        wait: false,
        w,
        maxp: 0.1,
        th_max,
        th_min,
        drain_rate: 1250.0,
        q_limit,
        q_avg: 0.0,
        count: -1,
        in_early_drop: false,
        idle: false,
        last: Instant::ZERO,
        queue: Vec::new(),
    }
}

#[test]
fn red_is_figures_3_6_to_3_10() {
    for (weight, max, limit, reasons) in
        [(1.0 / 256.0, 40.0, 60, [Why::Overflow, Why::Early]), (1.0 / 16.0, 15.0, 240, [Why::Early, Why::Forced])]
    {
        let params = format!(r#"{{"limit": {limit}, "min": 5, "max": {max}, "weight": {weight}}}"#);
        let stats = compare(&spec("red", &params), &link(), 5, || oracle(weight, 5.0, max, limit));
        assert_seen(&stats, &reasons);
    }
}

/// The weight of a burst, and a slower rate for the average of an idle queue; with the link's rate it fails.
#[test]
fn red_is_figures_3_6_to_3_10_in_the_words_of_tc() {
    let params =
        r#"{"limit": 60, "min": 5, "max": 15, "burst": 10, "avpkt": "500b", "bandwidth": "1mbit", "probability": 0.1}"#;
    let oracle = || Red { drain_rate: 250.0, ..oracle(1.0 / 16.0, 5.0, 15.0, 60) };
    let stats = compare(&spec("red", params), &link(), 5, oracle);
    assert_seen(&stats, &[Why::Early, Why::Forced]);
}

#[test]
fn red_that_waits_is_as_in_ns2() {
    let params = r#"{"limit": 60, "min": 5, "max": 40, "weight": 0.0625, "wait": true}"#;
    let waits = || Red { wait: true, ..oracle(1.0 / 16.0, 5.0, 40.0, 60) };
    assert_seen(&compare(&spec("red", params), &link(), 6, waits), &[Why::Early, Why::Forced]);
}
