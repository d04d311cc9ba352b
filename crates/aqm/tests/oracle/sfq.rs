//! The law of SFQ, with both kinds of turn and with a hash that changes.

use aqmkit_aqm::Why;
use aqmkit_base::flow::salt;
use aqmkit_base::{Duration, FlowKey, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::queues::Queues;
use crate::trace::{Oracle, assert_seen, compare};

struct Sfq {
    queues: Queues,
    round: Vec<usize>,
    allot: Vec<i64>,
    quantum: Option<i64>,
    limit: u64,
    depth: usize,
    headdrop: bool,
    perturbation: u64,
    perturb: Option<Duration>,
    /// When the hash changes next; the first call is the beginning.
    next: Option<Instant>,
}

impl Sfq {
    fn new(divisor: usize, limit: u64, bytes: bool) -> Self {
        Sfq {
            queues: Queues::new(divisor, bytes),
            round: Vec::new(),
            allot: vec![0; divisor],
            quantum: None,
            limit,
            depth: 1000,
            headdrop: false,
            perturbation: 0x6171_6d6b_6974_0004,
            perturb: None,
            next: None,
        }
    }

    fn append(&mut self, p: Pkt) -> usize {
        let i = self.hash(p);
        if self.queues.q[i].is_empty() {
            self.round.push(i);
            self.allot[i] = self.quantum.unwrap_or(0);
        }
        self.queues.push(i, p);
        i
    }

    fn hash(&self, p: Pkt) -> usize {
        (FlowKey(p.flow).hash(salt(self.perturbation)) % self.queues.q.len() as u64) as usize
    }

    fn perturb(&mut self, now: Instant) {
        let Some(period) = self.perturb else { return };
        let mut next = *self.next.get_or_insert(now + period);
        while next <= now {
            self.perturbation += 1;
            next += period;
            let mut waiting: Vec<Pkt> = self.queues.q.iter().flatten().copied().collect();
            waiting.sort_by_key(|p| p.id);
            for i in std::mem::take(&mut self.round) {
                while !self.queues.q[i].is_empty() {
                    self.queues.remove(i, 0);
                }
            }
            for p in waiting {
                self.append(p);
            }
        }
        self.next = Some(next);
    }

    fn take(&mut self, i: usize, at: usize) -> Pkt {
        let p = self.queues.remove(i, at);
        if self.queues.q[i].is_empty() {
            self.round.retain(|&other| other != i);
        }
        p
    }
}

impl Oracle for Sfq {
    fn arriving(&mut self, p: Pkt, now: Instant, _rng: &mut Rng) -> bool {
        self.perturb(now);
        let i = self.hash(p);
        let mut dropped = false;
        if self.queues.q[i].len() >= self.depth {
            if !self.headdrop {
                return false;
            }
            self.take(i, 0);
            dropped = true;
        }
        self.append(p);
        while self.queues.total() > self.limit {
            let longest = self.queues.longest();
            let at = if self.headdrop { 0 } else { self.queues.q[longest].len() - 1 };
            self.take(longest, at);
            dropped = true;
        }
        !dropped
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.perturb(now);
        loop {
            let i = *self.round.first()?;
            if let Some(quantum) = self.quantum {
                if self.allot[i] > 0 {
                    let p = self.take(i, 0);
                    self.allot[i] -= i64::from(p.len);
                    return Some(p);
                }
                self.allot[i] += quantum;
                self.round.rotate_left(1);
            } else {
                self.round.rotate_left(1);
                return Some(self.take(i, 0));
            }
        }
    }
}

#[test]
fn sfq_serves_packets_in_turn() {
    let stats = compare(&spec("sfq", r#"{"limit": 60, "divisor": 8}"#), &link(), 20, || Sfq::new(8, 60, false));
    assert_seen(&stats, &[Why::Evicted, Why::Overflow]);
    let bytes = spec("sfq", r#"{"limit": "30000b", "divisor": 8, "headdrop": true}"#);
    let oracle = || Sfq { headdrop: true, ..Sfq::new(8, 30_000, true) };
    assert_seen(&compare(&bytes, &link(), 20, oracle), &[Why::Evicted]);
}

#[test]
fn sfq_serves_quanta_in_turn() {
    let params = spec("sfq", r#"{"limit": 60, "divisor": 8, "depth": 12, "quantum": "900b"}"#);
    let stats = compare(&params, &link(), 20, || Sfq { depth: 12, quantum: Some(900), ..Sfq::new(8, 60, false) });
    assert_seen(&stats, &[Why::Evicted, Why::Overflow, Why::Unfair]);
    let head = spec("sfq", r#"{"limit": 60, "divisor": 8, "depth": 12, "headdrop": true}"#);
    let oracle = || Sfq { depth: 12, headdrop: true, ..Sfq::new(8, 60, false) };
    assert_seen(&compare(&head, &link(), 20, oracle), &[Why::Evicted, Why::Unfair]);
}

/// Fails where packets are moved in another order than they came in, as do more wakeups.
#[test]
fn sfq_moves_packets_when_the_hash_changes() {
    let params = spec("sfq", r#"{"limit": 60, "divisor": 8, "perturb": "15ms", "quantum": "1500b"}"#);
    let perturb = Some(Duration::from_millis(15));
    let stats = compare(&params, &link(), 20, || Sfq { perturb, quantum: Some(1500), ..Sfq::new(8, 60, false) });
    assert_seen(&stats, &[Why::Evicted, Why::Overflow]);
}
