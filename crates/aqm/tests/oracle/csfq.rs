//! Figure 3 of Stoica, Shenker and Zhang with the amendments of section 2.2. Readings: packets at the same time
//! count with the next one; alpha = 0 drops nothing; on becoming congested alpha is at least the largest label;
//! congested, alpha is at most C.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare, seconds};

const C: f64 = 10e6;
const K: f64 = 0.02;
const K_ALPHA: f64 = 0.05;
const K_C: f64 = 0.04;

#[derive(Clone, Copy)]
struct Rate {
    r: f64,
    last: Option<Instant>,
    l: f64,
}

impl Rate {
    fn estimate_rate(&mut self, l: f64, k: f64, first: f64, now: Instant) {
        self.l += l;
        let t = self.last.map_or(first, |last| seconds(last, now));
        if t > 0.0 {
            let e = libm::exp(-(t / k));
            self.r = (1.0 - e) * self.l / t + e * self.r;
            self.last = Some(now);
            self.l = 0.0;
        }
    }
}

struct Csfq {
    flows: Vec<Rate>,
    a: Rate,
    f: Rate,
    alpha: f64,
    tmp_alpha: f64,
    congested: bool,
    start_time: Option<Instant>,
    kalpha: i32,
    queue: Vec<Pkt>,
    limit: usize,
    threshold: usize,
}

impl Csfq {
    fn new(threshold: usize) -> Self {
        let none = Rate { r: 0.0, last: None, l: 0.0 };
        Csfq {
            flows: vec![none; 9],
            a: none,
            f: none,
            alpha: C,
            tmp_alpha: 0.0,
            congested: false,
            start_time: None,
            kalpha: 28,
            queue: Vec::new(),
            limit: 60,
            threshold,
        }
    }

    fn estimate_alpha(&mut self, l: f64, label: f64, dropped: bool, now: Instant) {
        self.a.estimate_rate(l, K_ALPHA, 0.0, now);
        if !dropped {
            self.f.estimate_rate(l, K_ALPHA, 0.0, now);
        }
        let start_time = self.start_time.unwrap();
        let window = seconds(start_time, now);
        let stays_uncongested = !self.congested && self.queue.len() < self.threshold;
        if self.a.r >= C && !stays_uncongested {
            if !self.congested {
                self.congested = true;
                self.start_time = Some(now);
                self.alpha = [self.alpha, self.tmp_alpha, label].into_iter().fold(0.0, f64::max);
                self.kalpha = 28;
            } else if window > K_C {
                self.alpha = (self.alpha * C / self.f.r).min(C);
                self.start_time = Some(now);
                self.kalpha = 28;
            }
        } else if self.congested {
            self.congested = false;
            self.start_time = Some(now);
            self.tmp_alpha = 0.0;
        } else if window < K_C {
            self.tmp_alpha = self.tmp_alpha.max(label);
        } else {
            self.alpha = self.tmp_alpha;
            self.start_time = Some(now);
            self.tmp_alpha = 0.0;
            self.kalpha = 28;
        }
    }
}

impl Oracle for Csfq {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        let l = 8.0 * f64::from(p.len);
        let flow = &mut self.flows[p.flow as usize];
        flow.estimate_rate(l, K, K, now);
        let label = flow.r;
        let skip = self.alpha == 0.0 || (!self.congested && self.queue.len() < self.threshold);
        let prob = if skip { 0.0 } else { (1.0 - self.alpha / label).max(0.0) };
        if prob > 0.0 && prob > rng.uniform() {
            self.estimate_alpha(l, label, true, now);
            return false;
        }
        self.estimate_alpha(l, label, false, now);
        if self.queue.len() == self.limit {
            if self.kalpha > 0 {
                self.kalpha -= 1;
                self.alpha *= 0.99;
            }
            return false;
        }
        self.queue.push(p);
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        if self.start_time.is_none() {
            self.start_time = Some(now);
            (self.a.last, self.f.last) = (Some(now), Some(now));
        }
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }
    }
}

#[test]
fn csfq_is_figure_3() {
    for threshold in [0, 30] {
        let times = r#""k": "20ms", "k_alpha": "50ms", "k_c": "40ms""#;
        let params = spec("csfq", &format!(r#"{{"limit": 60, "threshold": {threshold}, {times}}}"#));
        let stats = compare(&params, &link(), 9, || Csfq::new(threshold));
        assert_seen(&stats, &[Why::Unfair, Why::Overflow]);
    }
}
