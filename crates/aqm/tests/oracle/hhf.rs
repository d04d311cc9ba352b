//! `hhf_classify`, `hhf_enqueue` and `hhf_dequeue` of Linux's `sch_hhf.c`, in plain lists and with bits for valid counters. Corrected: times are exact.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::flow::salt;
use aqmkit_base::{Duration, FlowKey, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, START, assert_seen, compare, compare_bursts};

const HH: usize = 0;
const NON_HH: usize = 1;

struct FlowState {
    hash_id: u32,
    hit_timestamp: Instant,
}

struct Hhf {
    limit: usize,
    quantum: i64,
    hh_flows_limit: usize,
    reset_timeout: Duration,
    admit_bytes: u32,
    evict_timeout: Duration,
    non_hh_weight: i64,
    hh_flows: Vec<Vec<FlowState>>,
    hh_flows_current_cnt: usize,
    arrays: [Vec<u32>; 4],
    valid_bits: [Vec<bool>; 4],
    arrays_reset_timestamp: Instant,
    buckets: [VecDeque<Pkt>; 2],
    deficit: [i64; 2],
    new_buckets: Vec<usize>,
    old_buckets: Vec<usize>,
}

impl Hhf {
    fn new(limit: usize, admit_bytes: u32, hh_flows_limit: usize) -> Self {
        Hhf {
            limit,
            quantum: 700,
            hh_flows_limit,
            reset_timeout: Duration::from_millis(6),
            admit_bytes,
            evict_timeout: Duration::from_millis(15),
            non_hh_weight: 3,
            hh_flows: (0..1024).map(|_| Vec::new()).collect(),
            hh_flows_current_cnt: 0,
            arrays: std::array::from_fn(|_| vec![0; 1024]),
            valid_bits: std::array::from_fn(|_| vec![false; 1024]),
            arrays_reset_timestamp: START,
            buckets: Default::default(),
            deficit: [0; 2],
            new_buckets: Vec::new(),
            old_buckets: Vec::new(),
        }
    }

    fn expired(&self, flow: &FlowState, now: Instant) -> bool {
        flow.hit_timestamp + self.evict_timeout < now
    }

    fn seek_list(&mut self, hash: u32, pos: usize, now: Instant) -> Option<usize> {
        let mut i = 0;
        while i < self.hh_flows[pos].len() {
            if self.expired(&self.hh_flows[pos][i], now) {
                if i + 1 == self.hh_flows[pos].len() {
                    return None;
                }
                self.hh_flows[pos].remove(i);
                self.hh_flows_current_cnt -= 1;
            } else if self.hh_flows[pos][i].hash_id == hash {
                return Some(i);
            } else {
                i += 1;
            }
        }
        None
    }

    fn alloc_new_hh(&mut self, hash: u32, pos: usize, now: Instant) -> bool {
        let flow = FlowState { hash_id: hash, hit_timestamp: now };
        for i in 0..self.hh_flows[pos].len() {
            if self.expired(&self.hh_flows[pos][i], now) {
                self.hh_flows[pos][i] = flow;
                return true;
            }
        }
        if self.hh_flows_current_cnt >= self.hh_flows_limit {
            return false;
        }
        self.hh_flows_current_cnt += 1;
        self.hh_flows[pos].push(flow);
        true
    }

    fn classify(&mut self, skb: &Pkt, now: Instant) -> usize {
        if self.arrays_reset_timestamp + self.reset_timeout < now {
            for bits in &mut self.valid_bits {
                bits.fill(false);
            }
            self.arrays_reset_timestamp = now;
        }
        let hash = (FlowKey(skb.flow).hash(salt(5)) >> 32) as u32;
        let flow_pos = (hash & 0x3ff) as usize;
        if let Some(i) = self.seek_list(hash, flow_pos, now) {
            self.hh_flows[flow_pos][i].hit_timestamp = now;
            return HH;
        }
        let (mut tmp_hash, mut xorsum, mut filter_pos) = (hash, 0, [0; 4]);
        for pos in &mut filter_pos[..3] {
            *pos = (tmp_hash & 0x3ff) as usize;
            xorsum ^= *pos;
            tmp_hash >>= 10;
        }
        filter_pos[3] = xorsum ^ tmp_hash as usize;
        let mut min_hhf_val = u32::MAX;
        for (i, pos) in filter_pos.into_iter().enumerate() {
            if !self.valid_bits[i][pos] {
                self.arrays[i][pos] = 0;
                self.valid_bits[i][pos] = true;
            }
            min_hhf_val = min_hhf_val.min(self.arrays[i][pos] + skb.len);
        }
        if min_hhf_val > self.admit_bytes {
            return if self.alloc_new_hh(hash, flow_pos, now) { HH } else { NON_HH };
        }
        for (i, pos) in filter_pos.into_iter().enumerate() {
            if self.arrays[i][pos] < min_hhf_val {
                self.arrays[i][pos] = min_hhf_val;
            }
        }
        NON_HH
    }

    fn weight(&self, idx: usize) -> i64 {
        if idx == HH { 1 } else { self.non_hh_weight }
    }
}

impl Oracle for Hhf {
    fn arriving(&mut self, skb: Pkt, now: Instant, _rng: &mut Rng) -> bool {
        let idx = self.classify(&skb, now);
        self.buckets[idx].push_back(skb);
        if !self.new_buckets.contains(&idx) && !self.old_buckets.contains(&idx) {
            if idx == HH {
                self.old_buckets.push(idx);
            } else {
                self.new_buckets.push(idx);
            }
            self.deficit[idx] = self.weight(idx) * self.quantum;
        }
        if self.buckets[HH].len() + self.buckets[NON_HH].len() <= self.limit {
            return true;
        }
        let from = if self.buckets[HH].is_empty() { NON_HH } else { HH };
        self.buckets[from].pop_front();
        false
    }

    fn departing(&mut self, _now: Instant) -> Option<Pkt> {
        loop {
            let from_new = !self.new_buckets.is_empty();
            if !from_new && self.old_buckets.is_empty() {
                return None;
            }
            let idx = if from_new { self.new_buckets[0] } else { self.old_buckets[0] };
            let weight = self.weight(idx);
            let head = if from_new { &mut self.new_buckets } else { &mut self.old_buckets };
            if self.deficit[idx] <= 0 {
                self.deficit[idx] += weight * self.quantum;
                head.remove(0);
                self.old_buckets.push(idx);
                continue;
            }
            if let Some(skb) = self.buckets[idx].pop_front() {
                self.deficit[idx] -= i64::from(skb.len);
                return Some(skb);
            }
            head.remove(0);
            if from_new && !self.old_buckets.is_empty() {
                self.old_buckets.push(idx);
            }
        }
    }
}

fn params(admit: u32, hh_limit: u32) -> String {
    format!(
        r#"{{"limit": 40, "quantum": "700b", "hh_limit": {hh_limit}, "reset_timeout": "6ms", "admit_bytes": "{admit}b",
            "evict_timeout": "15ms", "non_hh_weight": 3, "salt": 5}}"#
    )
}

/// With 3000 flows the table's lists have several entries each.
#[test]
fn hhf_is_linuxs() {
    for (flows, admit, hh_limit) in [(5, 4000, 2048), (12, 1500, 3), (3000, 900, 40)] {
        let hhf = spec("hhf", &params(admit, hh_limit));
        let oracle = || Hhf::new(40, admit, hh_limit as usize);
        assert_seen(&compare(&hhf, &link(), flows, oracle), &[Why::Evicted]);
        let interval = Duration::from_millis(10);
        assert_seen(&compare_bursts(&hhf, &link(), flows, false, interval, oracle), &[Why::Evicted]);
    }
}
