//! Figures 3.12 to 3.15. Corrected: the surplus brace; `q` is `q_len`; an enqueued packet ends the idle
//! time, as does the average that has taken it into account (Figure 3.7); `n` below zero counts as zero;
//! a `p_a` whose denominator is not positive is 1; a packet that passes all tests needs room under
//! `q_limit`. `many_flows` off is Lin and Morris's first version.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare, seconds};

#[derive(Default)]
struct Flow {
    q_len: i64,
    strikes: i64,
}

struct Fred {
    w: f64,
    maxp: f64,
    th_max: f64,
    th_min: f64,
    drain_rate: f64,
    minq: f64,
    q_limit: usize,
    many_flows: bool,
    q_avg: f64,
    count: i64,
    avgcq: f64,
    n_active: i64,
    idle: bool,
    last: Instant,
    flows: BTreeMap<u64, Flow>,
    queue: Vec<Pkt>,
}

impl Fred {
    fn compute_avg(&mut self, now: Instant) {
        let q_len = self.queue.len();
        if q_len > 0 || !self.idle {
            self.q_avg = (1.0 - self.w) * self.q_avg + self.w * q_len as f64;
        } else {
            self.idle = false;
            let delta_time = seconds(self.last, now);
            let n = ((delta_time * self.drain_rate - 1.0) as i64).max(0);
            self.q_avg *= libm::pow(1.0 - self.w, n as f64);
        }
        self.avgcq = if self.n_active > 0 { self.q_avg / self.n_active as f64 } else { self.q_avg };
        self.avgcq = self.avgcq.max(1.0);
        if q_len == 0 && !self.idle {
            self.last = now;
            self.idle = true;
        }
    }

    fn drop_early(&self, rng: &mut Rng) -> bool {
        let pb = self.maxp * (self.q_avg - self.th_min) / (self.th_max - self.th_min);
        let room = 1.0 - self.count as f64 * pb;
        let pa = if room <= 0.0 { 1.0 } else { pb / room };
        rng.uniform() < pa
    }
}

impl Oracle for Fred {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        let f = p.flow;
        self.flows.entry(f).or_default();
        if self.queue.is_empty() {
            self.compute_avg(now);
        }
        let (q_len_f, strikes) = (self.flows[&f].q_len as f64, self.flows[&f].strikes);
        let greedy = !self.many_flows && self.q_avg >= self.th_max && q_len_f > 2.0 * self.avgcq;
        if q_len_f >= self.th_min || greedy || (q_len_f >= self.avgcq && strikes > 1) {
            self.flows.entry(f).or_default().strikes += 1;
            return false;
        }
        if self.th_min <= self.q_avg && self.q_avg < self.th_max {
            self.count += 1;
            if q_len_f >= self.minq.max(self.avgcq) && self.drop_early(rng) {
                self.count = 0;
                return false;
            }
        } else if self.q_avg < self.th_min {
            self.count = -1;
        } else if q_len_f >= 2.0 || !self.many_flows {
            self.count = 0;
            return false;
        }
        if self.queue.len() >= self.q_limit {
            return false;
        }
        if q_len_f == 0.0 {
            self.n_active += 1;
        }
        self.compute_avg(now);
        self.flows.entry(f).or_default().q_len += 1;
        self.queue.push(p);
        self.idle = false;
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        if self.queue.is_empty() {
            return None;
        }
        let p = self.queue.remove(0);
        let flow = self.flows.entry(p.flow).or_default();
        flow.q_len -= 1;
        let q_len_f = flow.q_len;
        self.compute_avg(now);
        if q_len_f == 0 {
            self.n_active -= 1;
            self.flows.remove(&p.flow);
        }
        Some(p)
    }
}

fn oracle(many_flows: bool, th_max: f64, q_limit: usize) -> Fred {
    Fred {
        w: 1.0 / 64.0,
        maxp: 0.1,
        th_max,
        th_min: 5.0,
        drain_rate: 1250.0,
        minq: 2.0,
        q_limit,
        many_flows,
        q_avg: 0.0,
        count: -1,
        avgcq: 1.0,
        n_active: 0,
        idle: true,
        last: Instant::ZERO,
        flows: BTreeMap::new(),
        queue: Vec::new(),
    }
}

#[test]
fn fred_is_figures_3_12_to_3_15() {
    let params = |limit, max| format!(r#"{{"limit": {limit}, "max": {max}, "weight": 0.015625}}"#);
    for (flows, limit, max) in [(3, 240, 60), (12, 240, 30), (100, 60, 20)] {
        let stats = compare(&spec("fred", &params(limit, max)), &link(), flows, || oracle(true, f64::from(max), limit));
        match flows {
            3 => assert_seen(&stats, &[Why::Unfair]),
            12 => assert_seen(&stats, &[Why::Unfair, Why::Early, Why::Forced]),
            _ => assert_seen(&stats, &[Why::Forced, Why::Overflow]),
        }
    }
}

#[test]
fn without_many_flows_it_is_lin_and_morris() {
    let params = r#"{"limit": 60, "max": 20, "weight": 0.015625, "many_flows": false}"#;
    let stats = compare(&spec("fred", params), &link(), 20, || oracle(false, 20.0, 60));
    assert_seen(&stats, &[Why::Unfair, Why::Early, Why::Forced]);
}
