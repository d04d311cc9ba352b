//! # HHF: heavy-hitter filter
//!
//! Two queues: one for the few flows that send much, one for all others, which gets `non_hh_weight` times as much of the
//! link and is served first when it becomes backlogged. Every flow starts in the light queue; a multi-stage filter of four arrays of counters
//! recognises it when it has sent more than `admit_bytes` within `reset_timeout`.
//!
//! ## Law
//!
//! Arrival of a packet of flow `f`, with the 32-bit hash `h(f)`:
//!
//! ```text
//! every reset_timeout, at an arrival: all counters are 0
//! h in the table of heavy hitters:    last seen = now, to the heavy queue                    [hhf]
//! else  the four counters: three of ten bits of h each, one of their exclusive or with the remaining two bits
//!       low = the least of the four + size
//!       low > admit_bytes and room in the table:  f becomes a heavy hitter, to the heavy queue
//!       else every counter below low is set to low, to the light queue                       [estan02 sec 3.3]
//! a queue in no list: deficit = weight quantum; light ones to the end of the new, the heavy one to that of the old
//! over limit: drop from the head of the heavy queue, or of the light one where that is empty
//!
//! request: the first of the new queues, else of the old
//!          deficit <= 0: deficit += weight quantum, to the end of the old, look again
//!          send its head, deficit -= size
//!          empty: a new queue to the end of the old where there are any, else to no list
//! ```
//!
//! `weight` is 1 for the heavy queue and `non_hh_weight` for the light one. An entry of the table that was not seen for
//! `evict_timeout` is used for the next heavy hitter. With the defaults, flows above 128 kB / 40 ms = 26 Mbit/s are heavy.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `backlog_limit` | queue length | 1000 | capacity of both queues together |
//! | `quantum` | | size | 1500b | bytes that the heavy queue sends per round: one full-size packet, at least 256b |
//! | `hh_limit` (`hh_flows_limit`) | | | 2048 | most heavy hitters, at most 2048; further ones stay light |
//! | `reset_timeout` | | time | 40ms | time in which `admit_bytes` are counted; too long: many short flows fill the counters |
//! | `admit_bytes` | | size | 128kb | bytes within `reset_timeout` that make a flow heavy; on a link slower than `admit_bytes / reset_timeout` no flow ever is |
//! | `evict_timeout` | | time | 1s | silence after which a heavy hitter is forgotten |
//! | `non_hh_weight` | | 1 | 2 | weight of the light queue; that of the heavy one is 1 |
//! | `salt` | | | 0 | salt of the hash: determines which flows share counters |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Times are exact; Linux counts in jiffies of 1 to 10 ms.
//! 2. `limit` may be in bytes; then one arrival can cause several drops. A packet that is larger than `limit` is dropped itself.
//! 3. The salt is a parameter, so that runs are repeatable; Linux uses a random key.
//! 4. Counters of an earlier period are recognised by the number of the period; Linux has a valid bit for each counter.
//!
//! ## Limits
//!
//! There is no management of the delay within a queue: packets are dropped only at `limit`, so light flows wait for their whole queue. All heavy hitters share one FIFO, without fairness among them. A light flow that shares all four counters with others may be classified as heavy. When a flow moves to the other queue,
//! its packets may be reordered once, as in Linux. State: 4096 counters, at most `hh_limit` entries. Per packet: four counters, the entries with
//! one hash.
//!
//! ## Evidence
//!
//! `tests/oracle/hhf.rs` transcribes classification and scheduler of `sch_hhf.c` with plain lists and bits, with equal decisions on random and
//! bursty traces. `tests/aqm/linux_and_docsis.rs` checks the admission of one flow, its eviction and the weights by hand, and compares the delay
//! of a light flow with that in a queue without heavy hitters. Wrong variants that were seen to fail: counters that heavy hitters still increase (no shielding), a plain update instead of the conservative one, the heavy queue in
//! the list of new queues.
//!
//! ## References
//!
//! * hhf: Linux, `net/sched/sch_hhf.c`, T. Lam, N. Dukkipati, 2013; tc-hhf(8).
//! * estan02: C. Estan, G. Varghese, New Directions in Traffic Measurement and Accounting, SIGCOMM 2002.

use aqmkit_base::flow::salt;
use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Bytes, Duration, FlowKey, Instant};
use serde::{Deserialize, Serialize};

use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, in_range, positive_time, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{FlowQueues, Links, List, fits, over};
use crate::verdict::Why;

/// Lists of the heavy-hitter table, by ten bits of the hash.
const TABLE: usize = 1024;
/// Arrays of the filter, and counters per array.
const ARRAYS: usize = 4;
const COUNTERS: usize = 1024;

/// The parameters of HHF as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of both queues together.
    pub limit: Amount,
    /// Bytes that the heavy queue sends per round.
    pub quantum: Bytes,
    /// Maximum number of heavy hitters.
    #[serde(alias = "hh_flows_limit")]
    pub hh_limit: u32,
    /// Period after which the filter is reset.
    pub reset_timeout: Duration,
    /// Bytes in that period that make a flow a heavy hitter.
    pub admit_bytes: Bytes,
    /// Idle time after which a heavy hitter is forgotten.
    pub evict_timeout: Duration,
    /// Weight of the light queue.
    pub non_hh_weight: u32,
    /// Salt of the hash: determines which flows share counters.
    pub salt: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(1000.0),
            quantum: Bytes(1500),
            hh_limit: 2048,
            reset_timeout: Duration::from_millis(40),
            admit_bytes: Bytes(128 << 10),
            evict_timeout: Duration::from_secs(1),
            non_hh_weight: 2,
            salt: 0,
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), ParamError> {
        usable_limit("limit", self.limit)?;
        in_range("quantum", self.quantum.as_f64(), 256.0, 1_048_576.0).map_err(|e| e.cite("tc-hhf(8)"))?;
        in_range("hh_limit", f64::from(self.hh_limit), 0.0, 2048.0).map_err(|e| e.cite("Linux: twice 1024"))?;
        positive_time("reset_timeout", self.reset_timeout)?;
        in_range("admit_bytes", self.admit_bytes.as_f64(), 0.0, f64::from(u32::MAX))?;
        in_range("non_hh_weight", f64::from(self.non_hh_weight), 1.0, 2048.0)
            .map_err(|e| e.cite("Linux: quantum times weight is below 2^31"))
    }

    /// Bytes that queue `q` sends per round.
    fn round(&self, q: usize) -> i64 {
        let weight = if q == HEAVY { 1 } else { i64::from(self.non_hh_weight) };
        weight * self.quantum.0 as i64
    }
}

impl Discipline for Params {
    discipline!("hhf");
    const MARKS: bool = false;

    fn effective(&self, _link: &Link) -> Result<Self, ParamError> {
        self.check().map(|()| self.clone())
    }

    fn build<P: Packet + 'static>(&self, _link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        self.check()?;
        Ok(Box::new(Hhf::<P>::new(self, now)))
    }
}

/// The two queues.
const HEAVY: usize = 0;
const LIGHT: usize = 1;

/// The multi-stage filter: counters of bytes per flow since the last reset.
#[derive(Clone, Debug)]
struct Filter {
    /// The period in which a counter was last updated, and its value then.
    counters: Vec<(u64, u64)>,
    period: u64,
    reset: Instant,
}

impl Filter {
    fn new(now: Instant) -> Self {
        Filter { counters: vec![(0, 0); ARRAYS * COUNTERS], period: 0, reset: now }
    }

    /// Begins a new period if the last one is over.
    fn catch_up(&mut self, timeout: Duration, now: Instant) {
        if now.since(self.reset) > timeout {
            self.period += 1;
            self.reset = now;
        }
    }

    /// Its counter in each array.
    fn places(hash: u32) -> [usize; ARRAYS] {
        let bits = |shift: u32| (hash >> shift) as usize & (COUNTERS - 1);
        let three = [bits(0), bits(10), bits(20)];
        let fourth = three[0] ^ three[1] ^ three[2] ^ (hash >> 30) as usize;
        [three[0], COUNTERS + three[1], 2 * COUNTERS + three[2], 3 * COUNTERS + fourth]
    }

    fn value(&self, place: usize) -> u64 {
        let (period, value) = self.counters[place];
        if period == self.period { value } else { 0 }
    }

    /// Upper bound of the bytes that a flow has sent, with this packet.
    fn bound(&self, hash: u32, len: u64) -> u64 {
        Self::places(hash).into_iter().map(|place| self.value(place)).min().unwrap_or(0) + len
    }

    /// The conservative update: no counter is raised above what the flow can have sent.
    fn raise(&mut self, hash: u32, to: u64) {
        for place in Self::places(hash) {
            self.counters[place] = (self.period, self.value(place).max(to));
        }
    }
}

/// A heavy hitter.
#[derive(Clone, Copy, Debug)]
struct HeavyHitter {
    hash: u32,
    seen: Instant,
}

/// The table of heavy hitters, in lists by ten bits of their hash.
#[derive(Clone, Debug)]
struct Table {
    entries: Vec<HeavyHitter>,
    free: Vec<u32>,
    lists: Vec<List>,
    links: Links,
}

impl Table {
    fn new() -> Self {
        Table { entries: Vec::new(), free: Vec::new(), lists: vec![List::default(); TABLE], links: Links::default() }
    }

    fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// The entry of a flow. Expired entries found on the way are removed, except for the last of the list, which is
    /// kept for reuse.
    fn seek(&mut self, hash: u32, timeout: Duration, now: Instant) -> Option<&mut HeavyHitter> {
        let list = &mut self.lists[hash as usize & (TABLE - 1)];
        let mut next = list.front();
        while let Some(at) = next {
            next = self.links.after(at);
            if now.since(self.entries[at].seen) > timeout {
                next?;
                self.links.remove(list, at);
                self.free.push(at as u32);
            } else if self.entries[at].hash == hash {
                return self.entries.get_mut(at);
            }
        }
        None
    }

    /// Inserts a flow: it replaces an expired one in its list, or becomes a new entry if the table may grow.
    fn admit(&mut self, hash: u32, limit: u32, timeout: Duration, now: Instant) -> bool {
        let flow = HeavyHitter { hash, seen: now };
        let list = &mut self.lists[hash as usize & (TABLE - 1)];
        let mut all = std::iter::successors(list.front(), |&at| self.links.after(at));
        if let Some(at) = all.find(|&at| now.since(self.entries[at].seen) > timeout) {
            self.entries[at] = flow;
            return true;
        }
        if self.entries.len() - self.free.len() >= limit as usize {
            return false;
        }
        let at = match self.free.pop() {
            Some(at) => at as usize,
            None => {
                self.entries.push(flow);
                self.entries.len() - 1
            }
        };
        self.entries[at] = flow;
        self.links.push_back(list, at);
        true
    }
}

/// HHF: the filter and the two queues.
#[derive(Clone, Debug)]
struct Hhf<P> {
    params: Params,
    /// Mixed from the parameter, which is a plain number.
    salt: u64,
    filter: Filter,
    table: Table,
    queues: FlowQueues<P>,
    deficits: [i64; 2],
    listed: [bool; 2],
    rounds: Links,
    new: List,
    old: List,
    stats: Stats,
}

impl<P: Packet> Hhf<P> {
    fn new(params: &Params, now: Instant) -> Self {
        Hhf {
            params: params.clone(),
            salt: salt(params.salt),
            filter: Filter::new(now),
            table: Table::new(),
            queues: FlowQueues::new(2, Counting::Packets),
            deficits: [0; 2],
            listed: [false; 2],
            rounds: Links::default(),
            new: List::default(),
            old: List::default(),
            stats: Stats::default(),
        }
    }

    /// `hhf_classify`: the queue of a packet.
    fn classify(&mut self, flow: FlowKey, len: u32, now: Instant) -> usize {
        let hash = (flow.hash(self.salt) >> 32) as u32;
        let &Params { hh_limit, evict_timeout, .. } = &self.params;
        self.filter.catch_up(self.params.reset_timeout, now);
        if let Some(known) = self.table.seek(hash, evict_timeout, now) {
            known.seen = now;
            return HEAVY;
        }
        let sent = self.filter.bound(hash, u64::from(len));
        if sent > self.params.admit_bytes.0 {
            let admitted = self.table.admit(hash, hh_limit, evict_timeout, now);
            return if admitted { HEAVY } else { LIGHT };
        }
        self.filter.raise(hash, sent);
        LIGHT
    }

    /// `hhf_drop`: from the head of the heavy queue, if it is not empty.
    fn drop_one(&mut self, why: Why, cx: &mut Cx<'_, P>) {
        let from = if self.queues.is_empty(HEAVY) { LIGHT } else { HEAVY };
        if let Some((packet, ())) = self.queues.pop(from) {
            cx.discard(packet, why, &mut self.stats);
        }
    }

    fn shrink(&mut self, why: Why, cx: &mut Cx<'_, P>) {
        while over(self.queues.backlog(), self.params.limit) {
            self.drop_one(why, cx);
        }
    }
}

impl<P: Packet> Qdisc<P> for Hhf<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let q = self.classify(packet.flow(), packet.len(), cx.now);
        if !fits(Backlog::default(), packet.len(), self.params.limit) {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        self.queues.push(q, packet, ());
        if !self.listed[q] {
            // Bursts of light flows are served first; the heavy queue is always in the old list.
            self.rounds.push_back(if q == HEAVY { &mut self.old } else { &mut self.new }, q);
            self.listed[q] = true;
            self.deficits[q] = self.params.round(q);
        }
        self.shrink(Why::Evicted, cx);
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Dequeued<P> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(q) = list.front() else { return Dequeued::Empty };
            if self.deficits[q] <= 0 {
                self.deficits[q] += self.params.round(q);
                self.rounds.remove(list, q);
                self.rounds.push_back(&mut self.old, q);
                continue;
            }
            if let Some((packet, ())) = self.queues.pop(q) {
                self.deficits[q] -= i64::from(packet.len());
                self.stats.dequeued += 1;
                return Dequeued::Packet(packet);
            }
            self.rounds.remove(list, q);
            if is_new && !self.old.is_empty() {
                // Otherwise it could immediately be new again, and starve the old one.
                self.rounds.push_back(&mut self.old, q);
            } else {
                self.listed[q] = false;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, _link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let params = params.of::<Params>()?;
        params.check()?;
        if params.salt != self.params.salt {
            let want = "heavy hitters are known by their hashes; another salt needs a new queue";
            return Err(ParamError::new("salt", params.salt, want));
        }
        self.params = params.clone();
        self.shrink(Why::Reconfigured, cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("heavy_hitters", self.table.len() as f64);
        out("queue.heavy", self.queues.length(HEAVY).packets as f64);
        out("queue.light", self.queues.length(LIGHT).packets as f64);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        for (q, packet) in self.queues.packets() {
            see(InnerQueue::Named(if q == HEAVY { "heavy" } else { "light" }), packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten bits of the hash for each of the first three arrays, and all of them with the last two bits for the fourth, as `hhf_classify` has it.
    #[test]
    fn a_flow_has_a_counter_in_each_array() {
        let of = |last: u32, three: [u32; 3]| Filter::places(last << 30 | three[2] << 20 | three[1] << 10 | three[0]);
        assert_eq!(of(3, [1, 2, 3]), [1, 1024 + 2, 2048 + 3, 3072 + 3]);
        assert_eq!(of(0, [0, 1023, 0]), [0, 1024 + 1023, 2048, 3072 + 1023]);
        assert_eq!(of(3, [1023, 1023, 1023]), [1023, 1024 + 1023, 2048 + 1023, 3072 + 1020]);
    }
}
