//! The pseudo-code of Shreedhar and Varghese. As the page says: a queue that loses its last packet leaves the list.

use aqmkit_aqm::Why;
use aqmkit_base::{FlowKey, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::queues::Queues;
use crate::trace::{Oracle, assert_seen, compare};

struct Drr {
    queues: Queues,
    dc: Vec<u64>,
    quantum: [u64; 3],
    active_list: Vec<usize>,
    /// The flow whose turn it is, taken from the head of the list.
    serving: Option<usize>,
    buckets: Option<u64>,
    limit: u64,
    headdrop: bool,
}

impl Drr {
    fn new(flows: usize, limit: u64, bytes: bool) -> Self {
        Drr {
            queues: Queues::new(flows, bytes),
            dc: vec![0; flows],
            quantum: [1500; 3],
            active_list: Vec::new(),
            serving: None,
            buckets: None,
            limit,
            headdrop: false,
        }
    }

    fn extract_flow(&self, p: Pkt) -> usize {
        match self.buckets {
            None => p.flow as usize,
            Some(n) => (FlowKey(p.flow).hash(0x6171_6d6b_6974_0003) % n) as usize,
        }
    }

    fn free_buffer(&mut self) {
        let i = self.queues.longest();
        if self.headdrop {
            self.queues.remove(i, 0);
        } else {
            self.queues.last(i);
        }
        if self.queues.q[i].is_empty() {
            self.active_list.retain(|&other| other != i);
            if self.serving == Some(i) {
                self.serving = None;
            }
        }
    }
}

impl Oracle for Drr {
    fn arriving(&mut self, p: Pkt, _now: Instant, _rng: &mut Rng) -> bool {
        let mut stolen = false;
        let need = if self.queues.bytes { u64::from(p.len) } else { 1 };
        while self.queues.total() + need > self.limit {
            self.free_buffer();
            stolen = true;
        }
        let i = self.extract_flow(p);
        if !self.active_list.contains(&i) && self.serving != Some(i) {
            self.active_list.push(i);
            self.dc[i] = 0;
        }
        self.queues.push(i, p);
        !stolen
    }

    fn departing(&mut self, _now: Instant) -> Option<Pkt> {
        loop {
            let i = match self.serving {
                Some(i) => i,
                None if self.active_list.is_empty() => return None,
                None => {
                    let i = self.active_list.remove(0);
                    self.dc[i] += self.quantum[i % 3];
                    self.serving = Some(i);
                    i
                }
            };
            let packet_size = u64::from(self.queues.q[i][0].len);
            if packet_size > self.dc[i] {
                self.active_list.push(i);
                self.serving = None;
                continue;
            }
            let p = self.queues.remove(i, 0);
            self.dc[i] -= packet_size;
            if self.queues.q[i].is_empty() {
                self.dc[i] = 0;
                self.serving = None;
            }
            return Some(p);
        }
    }
}

#[test]
fn drr_is_its_pseudo_code() {
    for headdrop in [false, true] {
        let params = spec("drr", &format!(r#"{{"limit": 60, "headdrop": {headdrop}}}"#));
        let stats = compare(&params, &link(), 9, || Drr { headdrop, ..Drr::new(9, 60, false) });
        assert_seen(&stats, &[Why::Evicted]);
    }
    let bytes = compare(&spec("drr", r#"{"limit": "30000b"}"#), &link(), 9, || Drr::new(9, 30_000, true));
    assert_seen(&bytes, &[Why::Evicted]);
}

#[test]
fn drr_is_its_pseudo_code_with_buckets_and_a_small_quantum() {
    let params = spec("drr", r#"{"limit": 60, "buckets": 5, "quantum": "300b"}"#);
    let oracle = || Drr { buckets: Some(5), quantum: [300; 3], ..Drr::new(5, 60, false) };
    assert_seen(&compare(&params, &link(), 40, oracle), &[Why::Evicted]);
}

#[test]
fn drr_is_its_pseudo_code_with_weights() {
    let classes =
        r#"[{"class": "tcp", "weight": 2}, {"class": "multimedia", "weight": 3}, {"class": "other", "weight": 1}]"#;
    let params = spec("drr", &format!(r#"{{"limit": 60, "quantum": "700b", "classes": {classes}}}"#));
    let oracle = || Drr { quantum: [1400, 2100, 700], ..Drr::new(9, 60, false) };
    assert_seen(&compare(&params, &link(), 9, oracle), &[Why::Evicted]);
}
