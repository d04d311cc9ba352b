//! ns-2's weighted round robin CBQ, with the bounds of the estimator that ALTQ has. Times are seconds from the last
//! call, where there is no more to rounding than there must be: who is above its share is a matter of nanoseconds.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, START, assert_seen, compare, seconds};

const BYTES_PER_SEC: f64 = 1.25e6;
const MAXPKT: f64 = 1500.0;

#[derive(Clone)]
struct Class {
    lender: Option<usize>,
    level: u32,
    allotment: f64,
    borrow: bool,
    pri: usize,
    avgidle: f64,
    last_time: f64,
    undertime: f64,
    delayed: bool,
    bytes_alloc: f64,
    queue: Vec<Pkt>,
}

fn class(lender: Option<usize>, level: u32, allotment: f64, pri: usize, borrow: bool) -> Class {
    let (avgidle, last_time, bytes_alloc, delayed, queue) = (0.0, 0.0, 0.0, false, Vec::new());
    Class { lender, level, allotment, borrow, pri, avgidle, last_time, undertime: -1.0, delayed, bytes_alloc, queue }
}

struct Cbq {
    /// The link, the group, and the three classes.
    c: Vec<Class>,
    active: [Vec<usize>; 3],
    formal: bool,
    qlimit: usize,
    last_call: Instant,
}

impl Cbq {
    fn under(&self, i: usize, now: f64) -> bool {
        self.c[i].undertime + 16.0 / BYTES_PER_SEC < now
    }

    fn desc_with_demand(&self, i: usize) -> bool {
        let descends = |leaf: usize| {
            let mut at = leaf;
            loop {
                match self.c[at].lender {
                    None => return false,
                    Some(_) if !self.c[at].borrow => return false,
                    Some(lender) if lender == i => return true,
                    Some(lender) => at = lender,
                }
            }
        };
        (2..5).any(|leaf| !self.c[leaf].queue.is_empty() && descends(leaf))
    }

    fn satisfied(&self, i: usize, now: f64) -> bool {
        let demand = if self.c[i].level == 1 { !self.c[i].queue.is_empty() } else { self.desc_with_demand(i) };
        !(self.under(i, now) && demand)
    }

    fn send_permitted(&mut self, i: usize, now: f64) -> bool {
        if self.under(i, now) {
            self.c[i].delayed = false;
            return true;
        }
        let mut lender = if self.c[i].borrow { self.c[i].lender } else { None };
        while let Some(l) = lender {
            let eligible = |level| !self.formal || (0..5).all(|n| self.c[n].level >= level || self.satisfied(n, now));
            if self.under(l, now) && eligible(self.c[l].level) {
                return true;
            }
            lender = self.c[l].lender;
        }
        false
    }

    fn delayed(&mut self, i: usize, now: f64) {
        let c = &mut self.c[i];
        let extradelay = 1000.0 / BYTES_PER_SEC * (1.0 / c.allotment - 1.0);
        if c.undertime - now + extradelay > 0.0 && !c.delayed {
            c.undertime += extradelay + 15.0 * c.avgidle;
            c.delayed = true;
        }
    }

    fn update(&mut self, i: usize, size: f64, now: f64) {
        let c = &mut self.c[i];
        let fin_time = now + size / BYTES_PER_SEC;
        let idle = (fin_time - c.last_time) - size / (c.allotment * BYTES_PER_SEC);
        let gn = libm::pow(15.0 / 16.0, 16.0);
        let maxidle = 1000.0 / BYTES_PER_SEC * f64::max((1.0 / c.allotment - 1.0) * (1.0 - gn) / gn, 1.0 / 16.0);
        c.avgidle += (idle - c.avgidle) / 16.0;
        c.avgidle = c.avgidle.min(maxidle).max(-MAXPKT / (c.allotment * BYTES_PER_SEC));
        if c.avgidle <= 0.0 {
            c.undertime = fin_time + size / BYTES_PER_SEC * (1.0 / c.allotment - 1.0) - 15.0 * c.avgidle;
        }
        c.last_time = fin_time;
        if let Some(lender) = c.lender {
            self.update(lender, size, now);
        }
    }

    /// Who is eligible, and whether it counts.
    fn eligible(&mut self, now: f64) -> Option<(usize, bool)> {
        let mut first = None;
        for prio in 0..3 {
            let peers = self.active[prio].clone();
            let alloc: f64 = peers.iter().map(|&i| self.c[i].allotment).sum();
            let m = peers.len() as f64 * MAXPKT / alloc;
            let mut deficit = 0;
            loop {
                for &i in &peers {
                    if deficit < 2 && self.c[i].bytes_alloc <= 0.0 {
                        self.c[i].bytes_alloc += (self.c[i].allotment * m).trunc();
                    }
                    if !self.c[i].queue.is_empty() {
                        if first.is_none() && self.c[i].borrow {
                            first = Some(i);
                        }
                        if !self.send_permitted(i, now) {
                            self.delayed(i, now);
                        } else if self.c[i].bytes_alloc > 0.0 || deficit > 1 {
                            return Some((i, true));
                        } else {
                            deficit = 1;
                        }
                    }
                    self.c[i].bytes_alloc = 0.0;
                }
                if deficit != 1 {
                    break;
                }
                deficit = 2;
            }
        }
        first.map(|i| (i, false))
    }
}

impl Oracle for Cbq {
    fn arriving(&mut self, p: Pkt, _now: Instant, _rng: &mut Rng) -> bool {
        let queue = &mut self.c[2 + usize::from(p.class)].queue;
        let fits = queue.len() < self.qlimit;
        if fits {
            queue.push(p);
        }
        fits
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        for c in &mut self.c {
            c.last_time -= seconds(self.last_call, now);
            c.undertime -= seconds(self.last_call, now);
        }
        self.last_call = now;
        let (i, counts) = self.eligible(0.0)?;
        let p = self.c[i].queue.remove(0);
        if counts && self.c[i].bytes_alloc > 0.0 {
            self.c[i].bytes_alloc -= f64::from(p.len);
        }
        let goes_on = counts && self.c[i].bytes_alloc > 0.0;
        if counts {
            self.update(i, f64::from(p.len), 0.0);
        }
        let peers = &mut self.active[self.c[i].pri];
        while peers[0] != i {
            peers.rotate_left(1);
        }
        if !goes_on {
            peers.rotate_left(1);
        }
        Some(p)
    }
}

/// Fails where a group's estimator is left out, where who borrows from nobody counts, where a class that is passed over
/// keeps its bytes, and where a class that is held is delayed twice.
#[test]
fn cbq_with_priorities_is_weighted_round_robin_with_an_estimator() {
    for (link_sharing, priorities, borrow) in
        [("formal", [2, 1, 2], true), ("ancestors", [2, 1, 3], true), ("formal", [1, 1, 2], false)]
    {
        let [tcp, multimedia, other] = priorities;
        let params = format!(
            r#"{{"link_sharing": "{link_sharing}", "classes": [
                {{"class": "tcp", "share": 0.5, "limit": 30, "parent": "elastic", "priority": {tcp}}},
                {{"class": "multimedia", "share": 0.125, "limit": 30, "parent": "elastic", "priority": {multimedia}, "borrow": {borrow}}},
                {{"class": "other", "share": 0.25, "limit": 30, "prio": {other}}}]}}"#
        );
        let mut active = [const { Vec::new() }; 3];
        for (leaf, priority) in [2, 3, 4].into_iter().zip(priorities) {
            active[priority - 1].push(leaf);
        }
        let oracle = || Cbq {
            c: vec![
                class(None, 3, 1.0, 0, true),
                class(Some(0), 2, 0.625, 0, true),
                class(Some(1), 1, 0.5, tcp - 1, true),
                class(Some(1), 1, 0.125, multimedia - 1, borrow),
                class(Some(0), 1, 0.25, other - 1, true),
            ],
            active: active.clone(),
            formal: link_sharing == "formal",
            qlimit: 30,
            last_call: START,
        };
        assert_seen(&compare(&spec("cbq", &params), &link(), 9, oracle), &[Why::Overflow]);
    }
}
