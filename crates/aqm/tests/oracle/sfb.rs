//! The algorithm of Feng et al. 2001, with sets of bins in a map and each packet carrying its bins. Readings: a
//! packet is dropped where every bin has reached `max`; a full queue comes first; a packet enters the set
//! in use and the next; the penalty box is a bucket of packets.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_base::flow::salt;
use aqmkit_base::{Duration, FlowKey, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare, seconds};

const L: u64 = 6;
const N: u64 = 7;

#[derive(Clone, Copy, Default)]
struct Bin {
    qlen: u32,
    p_m: f64,
    last: Option<Instant>,
}

/// Which set, which level, which bin.
type Place = (u64, u64, u64);

struct Sfb {
    delta: (f64, f64),
    freeze_time: Duration,
    bin_size: u32,
    max: u32,
    rehash: Duration,
    db: Duration,
    q_limit: usize,
    b: BTreeMap<Place, Bin>,
    set: u64,
    swap: Option<Instant>,
    tokens: f64,
    token_time: Instant,
    queue: Vec<(Pkt, Vec<Place>)>,
}

/// The independent hash functions of a set: sixteen bits for each level.
fn h(flow: u64, set: u64) -> Vec<Place> {
    let word = |i: u64| FlowKey(flow).hash(salt(set) ^ salt(i / 4 * 4)) >> (16 * (i % 4)) & 0xffff;
    (0..L).map(|i| (set, i, word(i) * N / 65536)).collect()
}

impl Sfb {
    fn time_passes(&mut self, now: Instant) {
        while let Some(at) = self.swap.filter(|at| *at <= now) {
            let old = self.set;
            self.b.retain(|place, _| place.0 != old);
            self.set += 1;
            self.swap = Some(at + self.rehash);
        }
    }

    fn update(&mut self, places: &[Place], now: Instant) {
        for place in places {
            let bin = self.b.entry(*place).or_default();
            if bin.last.is_some_and(|last| now.since(last) <= self.freeze_time) && !self.freeze_time.is_zero() {
                continue;
            }
            if bin.qlen > self.bin_size {
                bin.p_m = (bin.p_m + self.delta.0).min(1.0);
                bin.last = Some(now);
            } else if bin.qlen == 0 {
                bin.p_m = (bin.p_m - self.delta.1).max(0.0);
                bin.last = Some(now);
            }
        }
    }

    fn rate_limit(&mut self, now: Instant) -> bool {
        self.tokens = (self.tokens + seconds(self.token_time, now) * 200.0).min(5.0);
        self.token_time = now;
        let drop = self.tokens < 1.0;
        if !drop {
            self.tokens -= 1.0;
        }
        drop
    }

    fn drops(&mut self, p: &Pkt, now: Instant, rng: &mut Rng) -> bool {
        let places = h(p.flow, self.set);
        self.update(&places, now);
        let bins: Vec<Bin> = places.iter().map(|place| self.b[place]).collect();
        let p_min = bins.iter().map(|bin| bin.p_m).fold(1.0, f64::min);
        if bins.iter().all(|bin| bin.qlen >= self.max) {
            return true;
        }
        if p_min < 1.0 {
            return rng.uniform() < p_min;
        }
        if self.swap.is_some_and(|at| now + self.db > at) {
            self.update(&h(p.flow, self.set + 1), now);
        }
        self.rate_limit(now)
    }
}

impl Oracle for Sfb {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.time_passes(now);
        if self.queue.len() >= self.q_limit || self.drops(&p, now, rng) {
            return false;
        }
        let places = [h(p.flow, self.set), h(p.flow, self.set + 1)].concat();
        places.iter().for_each(|place| self.b.entry(*place).or_default().qlen += 1);
        self.queue.push((p, places));
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        if self.swap.is_none() && !self.rehash.is_zero() {
            // The first call says when time begins.
            self.swap = Some(now + self.rehash);
            self.token_time = now;
        }
        self.time_passes(now);
        if self.queue.is_empty() {
            return None;
        }
        let (p, places) = self.queue.remove(0);
        let alive = places.iter().filter(|place| place.0 >= self.set);
        alive.for_each(|place| self.b.entry(*place).or_default().qlen -= 1);
        Some(p)
    }
}

#[test]
fn sfb_is_the_papers_algorithm() {
    for (freeze, rehash, db) in [(0, 0, 0), (0, 30, 20), (2, 30, 30)] {
        let params = format!(
            r#"{{"limit": 100, "levels": {L}, "bins": {N}, "target": 8, "max": 12, "increment": 0.3, "decrement": 0.02,
                "freeze": "{freeze}ms", "rehash": "{rehash}ms", "db": "{db}ms", "penalty_rate": 200, "penalty_burst": 5}}"#
        );
        let stats = compare(&spec("sfb", &params), &link(), 12, || Sfb {
            delta: (0.3, 0.02),
            freeze_time: Duration::from_millis(freeze),
            bin_size: 8,
            max: 12,
            rehash: Duration::from_millis(rehash),
            db: Duration::from_millis(db),
            q_limit: 100,
            b: BTreeMap::new(),
            set: 0,
            swap: None,
            tokens: 5.0,
            token_time: Instant::ZERO,
            queue: Vec::new(),
        });
        assert_seen(&stats, &[Why::Overflow, Why::Early, Why::Unfair]);
        if freeze == 0 {
            assert_seen(&stats, &[Why::Penalty]);
        }
    }
}
