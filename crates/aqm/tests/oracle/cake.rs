//! `cake_enqueue`, `cake_hash` and `cake_dequeue` of Linux's `sch_cake.c`, in plain lists and with signed times. Readings: rates and quanta are
//! exact; the longest queue is that of `Queues`.

use std::collections::BTreeMap;

use aqmkit_aqm::Packet;
use aqmkit_aqm::Why;
use aqmkit_base::flow::salt;
use aqmkit_base::{BitRate, Bytes, FlowKey, Instant, Rng};

use crate::cobalt::Cobalt;
use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, assert_seen, compare, out};
use crate::queues::Queues;

#[derive(Clone, Copy, PartialEq)]
enum Set {
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

struct Flow {
    set: Set,
    deficit: i64,
    cvars: Cobalt,
    srchost: usize,
    dsthost: usize,
}

#[derive(Clone, Copy, Default)]
struct Host {
    srchost_tag: u32,
    dsthost_tag: u32,
    srchost_bulk_flow_count: i64,
    dsthost_bulk_flow_count: i64,
}

struct Tin {
    flows: Vec<Flow>,
    tags: Vec<u32>,
    hosts: Vec<Host>,
    new_flows: Vec<usize>,
    old_flows: Vec<usize>,
    decaying_flows: Vec<usize>,
    sparse_flow_count: i64,
    bulk_flow_count: i64,
    qlen: usize,
    flow_quantum: i64,
    tin_quantum: i64,
    tin_deficit: i64,
    rate: Option<BitRate>,
    time_next_packet: i64,
}

struct Cake {
    limit: usize,
    rate: Option<BitRate>,
    ingress: bool,
    dsrc: bool,
    ddst: bool,
    salt: u64,
    tin_of: fn(usize) -> usize,
    tins: Vec<Tin>,
    queues: Queues,
    since: BTreeMap<u64, i64>,
    time_next_packet: i64,
    failsafe_next_packet: i64,
    cur_tin: usize,
}

fn ns(now: Instant) -> i64 {
    now.as_nanos() as i64
}

/// The parameters of the comparisons.
const TARGET: i64 = 1_000_000;
const INTERVAL: i64 = 10_000_000;

fn tin(rate: Option<BitRate>, part: u64, tin_quantum: i64) -> Tin {
    let rate = rate.map(|rate| BitRate::from_bps(rate.as_bps() / part));
    let mtu_time = rate.map_or(0, |rate| rate.time_to_send(Bytes(1514)).as_nanos() as i64);
    let target = (mtu_time * 3 / 2).max(TARGET);
    let interval = (INTERVAL + target - TARGET).max(target * 2);
    let cvars = || Cobalt { target, interval, p_inc: 1.0 / 256.0, p_dec: 1.0 / 4096.0, ..Cobalt::new(true, mtu_time) };
    let flow = || Flow { set: Set::None, deficit: 0, cvars: cvars(), srchost: 0, dsthost: 0 };
    Tin {
        flows: (0..1024).map(|_| flow()).collect(),
        tags: vec![0; 1024],
        hosts: vec![Host::default(); 1024],
        new_flows: Vec::new(),
        old_flows: Vec::new(),
        decaying_flows: Vec::new(),
        sparse_flow_count: 0,
        bulk_flow_count: 0,
        qlen: 0,
        flow_quantum: 400,
        tin_quantum,
        tin_deficit: 0,
        rate,
        time_next_packet: 0,
    }
}

impl Tin {
    /// Found by its tag, else an empty one, else its own.
    fn host_index(&mut self, hash: u32, source: bool) -> usize {
        let index = hash as usize % 1024;
        let (outer, inner) = (index - index % 8, index % 8);
        let mut k = inner;
        for _ in 0..8 {
            let tag = if source { self.hosts[outer + k].srchost_tag } else { self.hosts[outer + k].dsthost_tag };
            if tag == hash {
                return outer + k;
            }
            k = (k + 1) % 8;
        }
        for _ in 0..8 {
            let host = self.hosts[outer + k];
            if (if source { host.srchost_bulk_flow_count } else { host.dsthost_bulk_flow_count }) == 0 {
                break;
            }
            k = (k + 1) % 8;
        }
        let host = &mut self.hosts[outer + k];
        *(if source { &mut host.srchost_tag } else { &mut host.dsthost_tag }) = hash;
        outer + k
    }

    fn bulk(&mut self, i: usize, by: i64) {
        self.hosts[self.flows[i].srchost].srchost_bulk_flow_count += by;
        self.hosts[self.flows[i].dsthost].dsthost_bulk_flow_count += by;
    }

    fn hash(&mut self, flow_hash: u32, srchost_hash: u32, dsthost_hash: u32) -> usize {
        let mut reduced_hash = flow_hash as usize % 1024;
        if self.tags[reduced_hash] == flow_hash && self.flows[reduced_hash].set != Set::None {
            return reduced_hash;
        }
        let (outer, inner) = (reduced_hash - reduced_hash % 8, reduced_hash % 8);
        let mut k = inner;
        let mut found = None;
        for _ in 0..8 {
            if self.tags[outer + k] == flow_hash {
                if self.flows[outer + k].set != Set::None {
                    return outer + k;
                }
                found = Some(outer + k);
                break;
            }
            k = (k + 1) % 8;
        }
        if found.is_none() {
            for _ in 0..8 {
                if self.flows[outer + k].set == Set::None {
                    found = Some(outer + k);
                    break;
                }
                k = (k + 1) % 8;
            }
        }
        let collision = found.is_none();
        reduced_hash = found.unwrap_or(reduced_hash);
        let was_bulk = collision && self.flows[reduced_hash].set == Set::Bulk;
        if was_bulk {
            self.bulk(reduced_hash, -1);
        }
        self.tags[reduced_hash] = flow_hash;
        self.flows[reduced_hash].srchost = self.host_index(srchost_hash, true);
        self.flows[reduced_hash].dsthost = self.host_index(dsthost_hash, false);
        if was_bulk {
            self.bulk(reduced_hash, 1);
        }
        reduced_hash
    }

    fn unlist(&mut self, i: usize) {
        for list in [&mut self.new_flows, &mut self.old_flows, &mut self.decaying_flows] {
            list.retain(|&other| other != i);
        }
    }
}

impl Cake {
    fn new(rate: Option<BitRate>, tins: &[(u64, i64)], tin_of: fn(usize) -> usize) -> Self {
        Cake {
            limit: 60,
            rate,
            ingress: false,
            dsrc: true,
            ddst: true,
            salt: salt(3),
            tin_of,
            tins: tins.iter().map(|&(part, quantum)| tin(rate, part, quantum)).collect(),
            queues: Queues::new(1024 * tins.len(), true),
            since: BTreeMap::new(),
            time_next_packet: 0,
            failsafe_next_packet: 0,
            cur_tin: 0,
        }
    }

    fn qlen(&self) -> usize {
        self.tins.iter().map(|b| b.qlen).sum()
    }

    fn host_load(&self, b: usize, i: usize) -> i64 {
        let (tin, mut load) = (&self.tins[b], 1);
        if self.dsrc {
            load = load.max(tin.hosts[tin.flows[i].srchost].srchost_bulk_flow_count);
        }
        if self.ddst {
            load = load.max(tin.hosts[tin.flows[i].dsthost].dsthost_bulk_flow_count);
        }
        load
    }

    fn advance_shaper(&mut self, b: usize, len: u32, now: i64, drop: bool) -> i64 {
        if let Some(rate) = self.rate {
            let dur = |of: BitRate| of.time_to_send(Bytes(len.into())).as_nanos() as i64;
            let (tin_dur, global_dur) = (dur(self.tins[b].rate.unwrap()), dur(rate));
            let tin = &mut self.tins[b];
            if tin.time_next_packet < now {
                tin.time_next_packet += tin_dur;
            } else if tin.time_next_packet < now + tin_dur {
                tin.time_next_packet = now + tin_dur;
            }
            self.time_next_packet += global_dur;
            if !drop {
                self.failsafe_next_packet += global_dur + global_dur / 2;
            }
        }
        len.into()
    }

    /// Which tin is served; nothing where all are empty.
    fn choose(&mut self, now: i64) -> Option<usize> {
        let busy = |b: &Tin| b.sparse_flow_count + b.bulk_flow_count > 0;
        if !self.tins.iter().any(busy) {
            return None;
        }
        if self.rate.is_none() {
            while self.tins[self.cur_tin].tin_deficit < 0 || !busy(&self.tins[self.cur_tin]) {
                let b = &mut self.tins[self.cur_tin];
                if b.tin_deficit <= 0 {
                    b.tin_deficit += b.tin_quantum;
                }
                self.cur_tin = (self.cur_tin + 1) % self.tins.len();
            }
            return Some(self.cur_tin);
        }
        let (mut best_time, mut best_tin) = (i64::MAX, 0);
        for (tin, b) in self.tins.iter().enumerate().filter(|(_, b)| busy(b)) {
            let time_to_pkt = b.time_next_packet - now;
            if time_to_pkt <= 0 || time_to_pkt <= best_time {
                (best_time, best_tin) = (time_to_pkt, tin);
            }
        }
        Some(best_tin)
    }
}

impl Literal for Cake {
    fn arriving(&mut self, skb: Pkt, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        let now = ns(now);
        let b = (self.tin_of)(skb.dscp().index());
        let hash = |key: u64| (FlowKey(key).hash(self.salt) >> 32) as u32;
        let hosts = (hash(skb.ends().source.into()), hash(skb.ends().destination.into()).rotate_left(16));
        let i = self.tins[b].hash(hash(skb.flow), hosts.0, hosts.1);
        if self.tins[b].qlen == 0 {
            self.tins[b].time_next_packet = self.tins[b].time_next_packet.max(now);
            if self.qlen() == 0 && self.time_next_packet < now {
                self.failsafe_next_packet = now;
                self.time_next_packet = now;
            }
        }
        self.since.insert(skb.id, now);
        self.queues.push(1024 * b + i, skb);
        self.tins[b].qlen += 1;
        match self.tins[b].flows[i].set {
            Set::None | Set::Decaying => {
                self.tins[b].unlist(i);
                self.tins[b].new_flows.push(i);
                self.tins[b].flows[i].set = Set::Sparse;
                self.tins[b].sparse_flow_count += 1;
                self.tins[b].flows[i].deficit = self.tins[b].flow_quantum / self.host_load(b, i);
            }
            Set::SparseWait => {
                self.tins[b].flows[i].set = Set::Bulk;
                self.tins[b].sparse_flow_count -= 1;
                self.tins[b].bulk_flow_count += 1;
                self.tins[b].bulk(i, 1);
            }
            Set::Sparse | Set::Bulk => {}
        }
        while self.qlen() > self.limit {
            let longest = self.queues.longest();
            let dropped = self.queues.remove(longest, 0);
            let (t, f) = (longest / 1024, longest % 1024);
            self.tins[t].qlen -= 1;
            self.tins[t].flows[f].cvars.queue_full(now);
            if self.ingress {
                self.advance_shaper(t, dropped.len, now, true);
            }
            seen.push(Seen::Dropped(dropped.id));
        }
    }

    fn departing(&mut self, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        let now = ns(now);
        let mut first_flow = true;
        loop {
            let gated = self.time_next_packet > now && self.failsafe_next_packet > now;
            let Some(b) = (if self.qlen() == 0 || gated { None } else { self.choose(now) }) else {
                return seen.push(Seen::Empty);
            };
            let served = &self.tins[b];
            let lists = [&served.new_flows, &served.old_flows, &served.decaying_flows];
            let first = lists.iter().find_map(|list| list.first().copied());
            let decaying = served.decaying_flows.first().copied().filter(|_| first_flow);
            first_flow = false;
            let Some(i) = decaying.or(first) else { continue };
            let head = !self.queues.q[1024 * b + i].is_empty();
            if self.tins[b].flows[i].deficit <= 0 {
                let tin = &mut self.tins[b];
                if tin.flows[i].set == Set::Sparse {
                    if head {
                        tin.sparse_flow_count -= 1;
                        tin.bulk_flow_count += 1;
                        tin.bulk(i, 1);
                        tin.flows[i].set = Set::Bulk;
                    } else {
                        tin.flows[i].set = Set::SparseWait;
                    }
                }
                tin.unlist(i);
                tin.old_flows.push(i);
                let (quantum, load) = (tin.flow_quantum, self.host_load(b, i));
                self.tins[b].flows[i].deficit +=
                    if load == 1 { quantum } else { (quantum as f64 / load as f64 + rng.uniform()).floor() as i64 };
                continue;
            }
            if !head {
                let tin = &mut self.tins[b];
                tin.flows[i].cvars.queue_empty(now);
                tin.unlist(i);
                match tin.flows[i].set {
                    Set::Bulk => {
                        tin.bulk_flow_count -= 1;
                        tin.bulk(i, -1);
                    }
                    Set::Sparse | Set::SparseWait => tin.sparse_flow_count -= 1,
                    Set::Decaying | Set::None => {}
                }
                let cvars = &tin.flows[i].cvars;
                if cvars.p_drop > 0.0 || cvars.count > 0 || now < cvars.drop_next {
                    tin.decaying_flows.push(i);
                    tin.flows[i].set = Set::Decaying;
                } else {
                    tin.flows[i].set = Set::None;
                }
                continue;
            }
            let mut skb = self.queues.remove(1024 * b + i, 0);
            self.tins[b].qlen -= 1;
            let last = self.queues.q[1024 * b + i].is_empty();
            let bulk_flows = if self.ingress { self.tins[b].bulk_flow_count } else { 0 };
            let cvars = &mut self.tins[b].flows[i].cvars;
            cvars.bulk_flows = bulk_flows;
            let since = self.since[&skb.id];
            let dropped = cvars.should_drop(&mut skb, since, now, rng) && !last;
            let marked = cvars.marked_now;
            if !dropped || self.ingress {
                let len = self.advance_shaper(b, skb.len, now, dropped);
                self.tins[b].flows[i].deficit -= len;
                self.tins[b].tin_deficit -= len;
            }
            if dropped {
                seen.push(Seen::Dropped(skb.id));
                continue;
            }
            if marked {
                seen.push(Seen::Marked(skb.id));
            }
            return out(skb, seen);
        }
    }
}

fn besteffort(_dscp: usize) -> usize {
    0
}

/// The table of `diffserv3` for the codepoints that the packets of the comparison have.
fn diffserv3(dscp: usize) -> usize {
    [(8, 1), (1, 1), (46, 2)].iter().find(|(known, _)| *known == dscp).map_or(0, |(_, tin)| *tin)
}

const THREE: [(u64, i64); 3] = [(1, 1024), (16, 64), (4, 256)];
const BASE: &str = r#""limit": 60, "target": "1ms", "rtt": "10ms", "quantum": "400b", "salt": 3"#;

#[test]
fn cake_is_linuxs() {
    let cake = spec("cake", &format!(r#"{{{BASE}, "diffserv": "besteffort"}}"#));
    let literal = || Cake::new(None, &[(1, 65_535)], besteffort);
    assert_seen(&compare(&cake, &link(), literal), &[Why::Evicted, Why::Sojourn, Why::Early], &[Why::Sojourn]);
}

#[test]
fn with_a_shaper_and_tins_too() {
    for bandwidth in [None, Some(BitRate::from_mbps(16))] {
        let more = bandwidth
            .map_or(String::new(), |rate| format!(r#", "bandwidth": "{}bit", "memlimit": "1mb""#, rate.as_bps()));
        let cake = spec("cake", &format!(r#"{{{BASE}{more}}}"#));
        let literal = || Cake::new(bandwidth, &THREE, diffserv3);
        assert_seen(&compare(&cake, &link(), literal), &[Why::Evicted, Why::Sojourn], &[Why::Sojourn]);
    }
}

#[test]
fn with_every_fairness_and_what_comes_in_too() {
    for (isolation, dsrc, ddst) in
        [("dual-srchost", true, false), ("dual-dsthost", false, true), ("flows", false, false)]
    {
        let rate = BitRate::from_mbps(16);
        let more = r#""bandwidth": "16mbit", "memlimit": "1mb", "ingress": true"#;
        let cake = spec("cake", &format!(r#"{{{BASE}, {more}, "isolation": "{isolation}"}}"#));
        let literal = || Cake { dsrc, ddst, ingress: true, ..Cake::new(Some(rate), &THREE, diffserv3) };
        assert_seen(&compare(&cake, &link(), literal), &[Why::Evicted], &[]);
    }
}
