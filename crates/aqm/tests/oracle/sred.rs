//! The law of Ott, Lakshman and Wong 1999, with a queue in bytes. Readings: while the list fills,
//! H is 0 and P is not updated; `1/(256 P)^2` of P = 0 is above one.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare};

struct Sred {
    m: usize,
    p: f64,
    alpha: f64,
    p_max: f64,
    full: bool,
    b: u64,
    zombie_list: Vec<(u64, u32)>,
    p_t: f64,
    queue: Vec<Pkt>,
}

impl Sred {
    fn hit(&mut self, flow: u64, rng: &mut Rng) -> f64 {
        if self.zombie_list.len() < self.m {
            self.zombie_list.push((flow, 0));
            return 0.0;
        }
        let zombie = &mut self.zombie_list[rng.below(self.m as u64) as usize];
        let mut h = 0.0;
        if zombie.0 == flow {
            zombie.1 += 1;
            h = 1.0;
        } else if rng.uniform() < self.p {
            *zombie = (flow, 0);
        }
        self.p_t = (1.0 - self.alpha) * self.p_t + self.alpha * h;
        h
    }

    fn q(&self) -> u64 {
        self.queue.iter().map(|p| u64::from(p.len)).sum()
    }

    fn p_zap(&self, h: f64) -> f64 {
        let b = self.b as f64;
        let p_sred = match self.q() as f64 {
            q if q < b / 6.0 => 0.0,
            q if q < b / 3.0 => self.p_max / 4.0,
            _ => self.p_max,
        };
        let simple = if self.p_t * 256.0 < 1.0 { p_sred } else { p_sred / (256.0 * self.p_t).powi(2) };
        if self.full && h > 0.0 { simple * (1.0 + h / self.p_t) } else { simple }
    }
}

impl Oracle for Sred {
    fn arriving(&mut self, p: Pkt, _now: Instant, rng: &mut Rng) -> bool {
        let h = self.hit(p.flow, rng);
        if self.q() + u64::from(p.len) > self.b {
            return false;
        }
        let p_zap = self.p_zap(h);
        // Nothing is drawn where there is nothing to decide.
        if p_zap >= 1.0 || (p_zap > 0.0 && rng.uniform() < p_zap) {
            return false;
        }
        self.queue.push(p);
        true
    }

    fn departing(&mut self, _now: Instant) -> Option<Pkt> {
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }
    }
}

#[test]
fn sred_is_the_papers_law() {
    for (full, flows, m) in [(true, 3, 10), (false, 3, 10), (true, 300, 100), (false, 300, 100)] {
        let params = format!(r#"{{"limit": "60kb", "zombies": {m}, "max_p": 0.4, "weight": 0.02, "full": {full}}}"#);
        let stats = compare(&spec("sred", &params), &link(), flows, || Sred {
            m,
            p: 0.25,
            alpha: 0.02,
            p_max: 0.4,
            full,
            b: 60 * 1024,
            zombie_list: Vec::new(),
            p_t: 0.0,
            queue: Vec::new(),
        });
        assert_seen(&stats, &[Why::Overflow]);
        if flows == 300 {
            assert_seen(&stats, &[Why::Early]);
        }
    }
}
