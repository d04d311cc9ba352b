//! The algorithm of Clark and Fang 1998, decoupled too; over it the counting of Guo and Matta 2001; and RED's
//! figures with thresholds by class.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::red_part::RedPart;
use crate::trace::{Oracle, assert_seen, compare};

struct Rio {
    inside: RedPart,
    outside: RedPart,
    coupled: bool,
    q_limit: usize,
    /// With whether each is an In packet.
    queue: Vec<(Pkt, bool)>,
}

impl Rio {
    fn new(w: f64, coupled: bool, inside: (f64, f64, f64), outside: (f64, f64, f64), q_limit: usize) -> Self {
        let red = |(min, max, p)| RedPart::new(w, min, max, p);
        Rio { inside: red(inside), outside: red(outside), coupled, q_limit, queue: Vec::new() }
    }

    fn count(&self, is_in: bool) -> usize {
        self.queue.iter().filter(|(_, i)| *i == is_in).count()
    }

    fn arrives(&mut self, p: Pkt, is_in: bool, now: Instant, rng: &mut Rng) -> bool {
        let total = self.queue.len();
        let out = if self.coupled { total } else { self.count(false) };
        let inside = self.count(true);
        if is_in {
            self.inside.compute_avg(inside, now);
        }
        if self.coupled || !is_in {
            self.outside.compute_avg(out, now);
        }
        let (red, q_len) = if is_in { (&mut self.inside, inside) } else { (&mut self.outside, out) };
        let drop = red.drops(red.avg, q_len, total >= self.q_limit, rng);
        if !drop {
            self.queue.push((p, is_in));
        }
        !drop
    }

    fn departs(&mut self, now: Instant) -> Option<Pkt> {
        if self.queue.is_empty() {
            for red in [&mut self.inside, &mut self.outside] {
                if red.last == Instant::ZERO {
                    red.last = now;
                }
            }
            return None;
        }
        let (p, is_in) = self.queue.remove(0);
        if is_in && self.count(true) == 0 {
            self.inside.last = now;
        }
        let out = if self.coupled { self.queue.len() } else { self.count(false) };
        if out == 0 && (self.coupled || !is_in) {
            self.outside.last = now;
        }
        Some(p)
    }
}

impl Oracle for Rio {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        // In are tcp and other, numbers 0 and 2.
        self.arrives(p, p.class != 1, now, rng)
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.departs(now)
    }
}

#[test]
fn rio_is_the_papers_algorithm() {
    for (coupled, limit) in [(true, 240), (false, 240), (true, 25)] {
        let params = format!(
            r#"{{"limit": {limit}, "in": ["tcp", "other"], "in_min": 8, "in_max": 25, "in_max_p": 0.05,
                "out_min": 5, "out_max": 20, "out_max_p": 0.2, "weight": 0.0625, "coupled": {coupled}}}"#
        );
        let stats = compare(&spec("rio", &params), &link(), 9, || {
            Rio::new(1.0 / 16.0, coupled, (8.0, 25.0, 0.05), (5.0, 20.0, 0.2), limit)
        });
        assert_seen(&stats, if limit == 25 { &[Why::Overflow, Why::Early] } else { &[Why::Early, Why::Forced] });
    }
}

struct RioPs {
    core: Rio,
    l_t: u32,
    slr: f64,
    t_c: Duration,
    t_u: Duration,
    most: usize,
    /// Packets so far, and the last one's time and place among all.
    flows: BTreeMap<u64, (u32, Instant, u64)>,
    update: Option<Instant>,
}

impl RioPs {
    fn remove_idle(&mut self, now: Instant) {
        let t_u = self.t_u;
        self.flows.retain(|_, flow| now.since(flow.1) <= t_u);
    }

    fn time_passes(&mut self, now: Instant) {
        while let Some(at) = self.update.filter(|at| *at <= now) {
            self.remove_idle(at);
            let short = self.flows.values().filter(|flow| flow.0 <= self.l_t).count() as f64;
            let long = self.flows.values().filter(|flow| flow.0 > self.l_t).count() as f64;
            if short > self.slr * long {
                self.l_t = (self.l_t - 1).max(1);
            } else if short < self.slr * long {
                self.l_t += 1;
            }
            self.update = Some(at + self.t_c);
        }
    }
}

impl Oracle for RioPs {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.time_passes(now);
        self.remove_idle(now);
        if !self.flows.contains_key(&p.flow) && self.flows.len() == self.most {
            let oldest = *self.flows.iter().min_by_key(|(_, flow)| flow.2).unwrap().0;
            self.flows.remove(&oldest);
        }
        let flow = self.flows.entry(p.flow).or_insert((0, now, 0));
        *flow = (flow.0 + 1, now, p.id);
        let short = flow.0 <= self.l_t;
        self.core.arrives(p, short, now, rng)
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.update.get_or_insert(now + self.t_c);
        self.time_passes(now);
        self.core.departs(now)
    }
}

#[test]
fn rio_ps_is_the_papers_rule_over_rio() {
    for (flows, most) in [(9, 4096), (60, 20)] {
        let params = format!(
            r#"{{"limit": 60, "lt": 6, "slr": 2, "t_c": "7ms", "t_u": "20ms", "flows": {most}, "weight": 0.0625,
                "in_max": 20, "out_max": 15}}"#
        );
        let stats = compare(&spec("rio-ps", &params), &link(), flows, || RioPs {
            core: Rio::new(1.0 / 16.0, true, (0.15 * 60.0, 20.0, 0.05), (0.15 * 60.0, 15.0, 0.1), 60),
            l_t: 6,
            slr: 2.0,
            t_c: Duration::from_millis(7),
            t_u: Duration::from_millis(20),
            most,
            flows: BTreeMap::new(),
            update: None,
        });
        assert_seen(&stats, &[Why::Early, Why::Forced]);
    }
}

struct Wred {
    avg: RedPart,
    classes: [RedPart; 3],
    q_limit: usize,
    queue: Vec<Pkt>,
}

impl Oracle for Wred {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        let q_len = self.queue.len();
        self.avg.compute_avg(q_len, now);
        let drop = self.classes[usize::from(p.class)].drops(self.avg.avg, q_len, q_len >= self.q_limit, rng);
        if !drop {
            self.queue.push(p);
        }
        !drop
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        let p = if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) };
        if self.queue.is_empty() && (p.is_some() || self.avg.last == Instant::ZERO) {
            self.avg.last = now;
        }
        p
    }
}

#[test]
fn wred_is_red_by_class() {
    let params = r#"{"limit": 25, "weight": 0.0625, "classes":
        [{"class": "multimedia", "max": 20}, {"class": "tcp", "max": 36, "max_p": 0.05}, {"class": "*", "min": 4, "max": 8}]}"#;
    let stats = compare(&spec("wred", params), &link(), 9, || {
        let red = |min, max, p| RedPart::new(1.0 / 16.0, min, max, p);
        Wred {
            avg: red(0.0, 0.0, 0.0),
            // 10 is 9/18 of 20, 20 is 10/18 of 36.
            classes: [red(20.0, 36.0, 0.05), red(10.0, 20.0, 0.1), red(4.0, 8.0, 0.1)],
            q_limit: 25,
            queue: Vec::new(),
        }
    });
    assert_seen(&stats, &[Why::Overflow, Why::Early, Why::Forced]);
}
