//! The figures of RED for a part of a queue whose length is told: see `red.rs` for the corrections.

use aqmkit_base::{Instant, Rng};

use crate::trace::seconds;

#[derive(Clone)]
pub(crate) struct RedPart {
    pub(crate) w: f64,
    pub(crate) th_min: f64,
    pub(crate) th_max: f64,
    pub(crate) maxp: f64,
    drain_rate: f64,
    pub(crate) avg: f64,
    pub(crate) last: Instant,
    count: i64,
    in_early_drop: bool,
}

impl RedPart {
    pub(crate) fn new(w: f64, th_min: f64, th_max: f64, maxp: f64) -> Self {
        RedPart {
            w,
            th_min,
            th_max,
            maxp,
            drain_rate: 1250.0,
            avg: 0.0,
            last: Instant::ZERO,
            count: -1,
            in_early_drop: false,
        }
    }

    pub(crate) fn compute_avg(&mut self, q_len: usize, now: Instant) {
        if q_len > 0 {
            self.avg = (1.0 - self.w) * self.avg + self.w * q_len as f64;
        } else {
            let n = ((seconds(self.last, now) * self.drain_rate - 1.0) as i64).max(0);
            self.avg *= libm::pow(1.0 - self.w, n as f64);
            // One idle time counts once.
            self.last = now;
        }
    }

    /// Whether the packet is dropped.
    pub(crate) fn drops(&mut self, avg: f64, q_len: usize, full: bool, rng: &mut Rng) -> bool {
        self.count += 1;
        let mut drop = false;
        if full {
            drop = true;
        } else if avg > self.th_min && q_len > 1 {
            if avg > self.th_max {
                drop = true;
            } else if !self.in_early_drop {
                self.count = 1;
                self.in_early_drop = true;
            } else {
                let pb = self.maxp * (avg - self.th_min) / (self.th_max - self.th_min);
                let room = 1.0 - self.count as f64 * pb;
                drop = rng.uniform() < if room <= 0.0 { 1.0 } else { pb / room };
            }
        } else {
            self.in_early_drop = false;
        }
        if drop {
            self.count = 0;
        }
        drop
    }
}
