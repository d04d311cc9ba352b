//! The pseudo-code of Shreedhar and Varghese. As the page says: a queue that loses its last packet leaves the list.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, FlowKey, Instant, Rng};

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
    /// DRR+: the flows of class 0 may send this many bytes in this time.
    contract: Option<(u64, Duration)>,
    /// For each flow when its timer expires, and what it has sent since it last had.
    timers: Vec<(Option<Instant>, u64)>,
    suspended: Vec<usize>,
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
            contract: None,
            timers: vec![(None, 0); flows],
            suspended: Vec::new(),
        }
    }

    fn extract_flow(&self, p: Pkt) -> usize {
        match self.buckets {
            None => p.flow as usize,
            Some(n) => (FlowKey(p.flow).hash(0x6171_6d6b_6974_0003) % n) as usize,
        }
    }

    /// The paper's police for one packet, for bytes: a timer that the first packet and each violation resets.
    fn keeps(&mut self, p: Pkt, x: u64, t: Duration, now: Instant) -> bool {
        let (expires, sent) = &mut self.timers[p.flow as usize];
        if expires.is_none_or(|at| at <= now) {
            (*expires, *sent) = (Some(now + t), 0);
        }
        *sent += u64::from(p.len);
        if *sent > x {
            *expires = Some(now + t);
        }
        *sent <= x
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
            self.suspended.retain(|&other| other != i);
            if self.serving == Some(i) {
                self.serving = None;
            }
        }
    }
}

impl Oracle for Drr {
    fn arriving(&mut self, p: Pkt, now: Instant, _rng: &mut Rng) -> bool {
        let critical = self.contract.filter(|_| p.class == 0).map(|(x, t)| self.keeps(p, x, t, now));
        let mut stolen = false;
        let need = if self.queues.bytes { u64::from(p.len) } else { 1 };
        while self.queues.total() + need > self.limit {
            self.free_buffer();
            stolen = true;
        }
        let i = self.extract_flow(p);
        if !self.active_list.contains(&i) && self.serving != Some(i) {
            self.dc[i] = 0;
            if critical == Some(true) {
                // The queue that was being served continues its turn after this one.
                if let Some(served) = self.serving.take() {
                    self.suspended.push(served);
                    self.active_list.insert(0, served);
                }
                self.active_list.insert(0, i);
            } else {
                self.active_list.push(i);
            }
        } else if critical == Some(false) && self.serving != Some(i) && !self.suspended.contains(&i) {
            self.active_list.retain(|&other| other != i);
            self.active_list.push(i);
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
                    match self.suspended.iter().position(|&other| other == i) {
                        Some(at) => drop(self.suspended.remove(at)),
                        None => self.dc[i] += self.quantum[i % 3],
                    }
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

/// Fails where a latency-critical flow waits for the end of the turn that is going on, where the interrupted turn gets
/// another quantum, and where who violates its contract stays at the head.
#[test]
fn drr_plus_is_its_description() {
    let params =
        r#"{"limit": 60, "quantum": "3000b", "latency_critical": ["tcp"], "contract": "2000b", "period": "4ms"}"#;
    let contract = Some((2000, Duration::from_millis(4)));
    let oracle = || Drr { contract, quantum: [3000; 3], ..Drr::new(9, 60, false) };
    assert_seen(&compare(&spec("drr", params), &link(), 9, oracle), &[Why::Evicted]);
}
