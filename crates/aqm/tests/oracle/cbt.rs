//! Figures 4.2 to 4.6. Corrected: the parenthesis and brace of Figure 4.3; `count` of Figure 4.5 is
//! `count_cl`; `n` below zero counts as zero; a `p_a` whose denominator is not positive is 1.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare, seconds};

struct Class {
    w: f64,
    max_p: f64,
    th_max: f64,
    th_min: f64,
    drain_rate: f64,
    q_len: i64,
    q_avg: f64,
    count: i64,
    in_early_drop: bool,
    idle: bool,
    last: Instant,
}

struct Cbt {
    q_limit: i64,
    classes: [Class; 3],
    queue: Vec<Pkt>,
}

impl Class {
    fn compute_avg(&mut self, now: Instant) {
        if self.q_len > 0 {
            self.q_avg = (1.0 - self.w) * self.q_avg + self.w * self.q_len as f64;
        } else {
            self.idle = false;
            let delta_time = seconds(self.last, now);
            let n = ((delta_time * self.drain_rate - 1.0) as i64).max(0);
            self.q_avg *= libm::pow(1.0 - self.w, n as f64);
        }
    }

    fn drop_early(&self, rng: &mut Rng) -> bool {
        let pb = self.max_p * (self.q_avg - self.th_min) / (self.th_max - self.th_min);
        let room = 1.0 - self.count as f64 * pb;
        let pa = if room <= 0.0 { 1.0 } else { pb / room };
        rng.uniform() < pa
    }
}

impl Oracle for Cbt {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        let q_len_aggregate = self.classes.iter().map(|c| c.q_len).sum::<i64>();
        let cl = &mut self.classes[usize::from(p.class)];
        cl.count += 1;
        cl.compute_avg(now);
        let mut drop = false;
        if q_len_aggregate >= self.q_limit {
            drop = true;
        } else if cl.q_len > 1 && cl.q_avg > cl.th_min {
            if cl.q_avg > cl.th_max {
                drop = true;
            } else if !cl.in_early_drop {
                cl.count = 1;
                cl.in_early_drop = true;
            } else if cl.drop_early(rng) {
                drop = true;
            }
        } else {
            cl.in_early_drop = false;
        }
        if drop {
            cl.count = 0;
        } else {
            cl.q_len += 1;
            self.queue.push(p);
        }
        !drop
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        if self.queue.is_empty() {
            // Only before the first packet: every class has been idle since then.
            self.classes.iter_mut().filter(|c| !c.idle && c.q_len == 0).for_each(|c| (c.idle, c.last) = (true, now));
            return None;
        }
        let p = self.queue.remove(0);
        let cl = &mut self.classes[usize::from(p.class)];
        cl.q_len -= 1;
        if cl.q_len == 0 {
            if !cl.idle {
                cl.idle = true;
                cl.last = now;
            }
        } else {
            cl.idle = false;
        }
        Some(p)
    }
}

fn class(w: f64, th_min: f64, th_max: f64, drain_rate: f64) -> Class {
    Class {
        w,
        max_p: 0.1,
        th_max,
        th_min,
        drain_rate,
        q_len: 0,
        q_avg: 0.0,
        count: -1,
        in_early_drop: false,
        idle: false,
        last: Instant::ZERO,
    }
}

#[test]
fn cbt_is_figures_4_2_to_4_6() {
    // BULK-MPEG at 30 ms, Table 5.3; the drain rates are plain numbers.
    let classes = r#"[{"class": "tcp", "min": 5, "max": 17.73, "weight": 0.00390625, "drain_rate": 590},
                      {"class": "multimedia", "max": 7.81, "weight": 0.0625, "drain_rate": 260},
                      {"class": "other", "max": 4.29, "weight": 0.25, "drain_rate": 143}]"#;
    for limit in [30, 240] {
        let params = spec("cbt", &format!(r#"{{"limit": {limit}, "classes": {classes}}}"#));
        let stats = compare(&params, &link(), 9, || Cbt {
            q_limit: limit,
            classes: [
                class(1.0 / 256.0, 5.0, 17.73, 590.0),
                class(1.0 / 16.0, 7.81, 7.81, 260.0),
                class(1.0 / 4.0, 4.29, 4.29, 143.0),
            ],
            queue: Vec::new(),
        });
        assert_seen(&stats, &[Why::Early, Why::Forced]);
    }
}
