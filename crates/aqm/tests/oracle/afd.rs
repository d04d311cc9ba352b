//! The law of Pan et al. 2003, with the shadow buffer counted afresh for every packet. Readings: `m_fair`
//! stays from 0 to the whole sample, where it starts; nothing is drawn for a flow at or below it.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare};

struct Afd {
    b: usize,
    s: f64,
    q_target: f64,
    bytes: bool,
    limit: f64,
    oldest: Option<usize>,
    shadow: Vec<(u64, u32)>,
    m_fair: f64,
    q_old: f64,
    update: Option<Instant>,
    queue: Vec<Pkt>,
}

impl Afd {
    fn measure(&self, len: u32) -> f64 {
        if self.bytes { f64::from(len) } else { 1.0 }
    }

    fn q(&self) -> f64 {
        self.queue.iter().map(|p| self.measure(p.len)).sum()
    }

    fn time_passes(&mut self, now: Instant) {
        while let Some(at) = self.update.filter(|at| *at <= now) {
            let q = self.q();
            self.m_fair += 1.7 * (self.q_old - self.q_target) - 1.8 * (q - self.q_target);
            self.m_fair = self.m_fair.max(0.0).min(self.b as f64 * self.measure(1000));
            self.q_old = q;
            self.update = Some(at + Duration::from_micros(6250));
        }
    }

    fn sample(&mut self, p: &Pkt, rng: &mut Rng) {
        if self.shadow.len() < self.b {
            self.shadow.push((p.flow, p.len));
            return;
        }
        match &mut self.oldest {
            Some(_) => {
                self.shadow.remove(0);
                self.shadow.push((p.flow, p.len));
            }
            None => self.shadow[rng.below(self.b as u64) as usize] = (p.flow, p.len),
        }
    }
}

impl Oracle for Afd {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.time_passes(now);
        if self.s <= 1.0 || rng.uniform() < 1.0 / self.s {
            self.sample(&p, rng);
        }
        if self.q() + self.measure(p.len) > self.limit {
            return false;
        }
        let m: f64 = self.shadow.iter().filter(|e| e.0 == p.flow).map(|e| self.measure(e.1)).sum();
        let d = if m > self.m_fair { 1.0 - self.m_fair / m } else { 0.0 };
        if d >= 1.0 || (d > 0.0 && rng.uniform() < d) {
            return false;
        }
        self.queue.push(p);
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.update.get_or_insert(now + Duration::from_micros(6250));
        self.time_passes(now);
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }
    }
}

#[test]
fn afd_is_the_papers_law() {
    for (limit, bytes, target, s, oldest) in
        [("60", false, 12.0, 1.0, Some(0)), ("60", false, 12.0, 3.0, None), ("60kb", true, 12288.0, 2.0, None)]
    {
        let replace = if oldest.is_some() { "oldest" } else { "random" };
        let params = format!(r#"{{"limit": "{limit}", "buffer": 50, "sampling": {s}, "replace": "{replace}"}}"#);
        let stats = compare(&spec("afd", &params), &link(), 6, || Afd {
            b: 50,
            s,
            q_target: target,
            bytes,
            limit: if bytes { 61440.0 } else { 60.0 },
            oldest,
            shadow: Vec::new(),
            m_fair: if bytes { 50_000.0 } else { 50.0 },
            q_old: 0.0,
            update: None,
            queue: Vec::new(),
        });
        assert_seen(&stats, &[Why::Unfair]);
    }
}
