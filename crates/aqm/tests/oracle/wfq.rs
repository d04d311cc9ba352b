//! The law of WFQ: finish numbers, with `R(t)` followed from one finish number to the next by looking at every
//! conversation.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::queues::Queues;
use crate::trace::{Oracle, assert_seen, compare, seconds};

#[derive(Clone, Copy)]
struct Numbers {
    id: u64,
    bid: f64,
    f: f64,
}

struct Wfq {
    queues: Queues,
    /// F of the last packet of each conversation, if it has had any since the beginning.
    f: Vec<Option<f64>>,
    weight: [f64; 3],
    numbers: Vec<Numbers>,
    r: f64,
    last: Option<Instant>,
    delta: f64,
    self_clocked: bool,
    limit: u64,
}

/// 10 Mbit/s.
const MU: f64 = 1_250_000.0;

impl Wfq {
    fn new(limit: u64, bytes: bool) -> Self {
        Wfq {
            queues: Queues::new(9, bytes),
            f: vec![None; 9],
            weight: [1.0; 3],
            numbers: Vec::new(),
            r: 0.0,
            last: None,
            delta: 0.0,
            self_clocked: false,
            limit,
        }
    }

    fn active(&self) -> Vec<usize> {
        (0..9).filter(|&i| self.f[i].is_some_and(|f| f > self.r)).collect()
    }

    fn advance(&mut self, now: Instant) {
        let mut time = seconds(self.last.unwrap_or(now), now);
        self.last = Some(now);
        while !self.self_clocked && !self.active().is_empty() {
            let n_ac: f64 = self.active().iter().map(|i| self.weight[i % 3]).sum();
            let next = self.active().iter().map(|&i| self.f[i].unwrap()).fold(f64::INFINITY, f64::min);
            let needed = (next - self.r) * n_ac / MU;
            if needed > time {
                self.r += time * MU / n_ac;
                break;
            }
            time -= needed;
            self.r = next;
        }
        self.reset_if_idle();
    }

    /// Nothing waits, and no conversation has had more than its share.
    fn reset_if_idle(&mut self) {
        let idle = (0..9).all(|i| self.queues.q[i].is_empty() && self.f[i].is_none_or(|f| f <= self.r - self.delta));
        if idle {
            self.r = 0.0;
            self.f = vec![None; 9];
        }
    }
}

impl Oracle for Wfq {
    fn arriving(&mut self, p: Pkt, now: Instant, _rng: &mut Rng) -> bool {
        self.advance(now);
        let i = p.flow as usize;
        let length = f64::from(p.len) / self.weight[i % 3];
        let last = self.f[i].unwrap_or(f64::NEG_INFINITY);
        let f = last.max(self.r) + length;
        let bid = last.max(self.r - self.delta) + length;
        self.f[i] = Some(f);
        self.numbers.push(Numbers { id: p.id, bid, f });
        self.queues.push(i, p);
        let mut dropped = false;
        while self.queues.total() > self.limit {
            let longest = self.queues.longest();
            let gone = self.queues.last(longest);
            self.numbers.retain(|n| n.id != gone.id);
            dropped = true;
        }
        !dropped
    }

    fn departing(&mut self, _now: Instant) -> Option<Pkt> {
        let Some(at) = (0..self.numbers.len()).min_by(|&a, &b| self.numbers[a].bid.total_cmp(&self.numbers[b].bid))
        else {
            if self.self_clocked {
                self.r = f64::INFINITY;
                self.reset_if_idle();
            }
            return None;
        };
        let Numbers { id, f, .. } = self.numbers.remove(at);
        if self.self_clocked {
            self.r = self.r.max(f);
        }
        let i =
            (0..9).find(|&i| self.queues.q[i].first().is_some_and(|p| p.id == id)).expect("it is first of its queue");
        Some(self.queues.remove(i, 0))
    }
}

#[test]
fn wfq_emulates_rounds() {
    let stats = compare(&spec("wfq", r#"{"limit": 60}"#), &link(), 9, || Wfq::new(60, false));
    assert_seen(&stats, &[Why::Evicted, Why::Overflow]);
    let bytes = compare(&spec("wfq", r#"{"limit": "30000b"}"#), &link(), 9, || Wfq::new(30_000, true));
    assert_seen(&bytes, &[Why::Evicted, Why::Overflow]);
}

#[test]
fn wfq_puts_the_idle_ahead_by_delta() {
    let stats = compare(&spec("wfq", r#"{"limit": 60, "delta": "4000b"}"#), &link(), 9, || Wfq {
        delta: 4000.0,
        ..Wfq::new(60, false)
    });
    assert_seen(&stats, &[Why::Evicted, Why::Overflow]);
}

#[test]
fn wfq_may_be_self_clocked_and_weighted() {
    // Weights whose sums and quotients are exact.
    let classes =
        r#"[{"class": "tcp", "weight": 2}, {"class": "multimedia", "weight": 0.5}, {"class": "other", "weight": 1}]"#;
    for (clock, self_clocked) in [("self", true), ("rounds", false)] {
        let params = spec("wfq", &format!(r#"{{"limit": 60, "clock": "{clock}", "classes": {classes}}}"#));
        let oracle = || Wfq { self_clocked, weight: [2.0, 0.5, 1.0], ..Wfq::new(60, false) };
        assert_seen(&compare(&params, &link(), 9, oracle), &[Why::Evicted, Why::Overflow]);
    }
}
