//! RFC 8290, section 4, over the transcriptions of CoDel and PIE. Every queue's timer is punctual.

use aqmkit_aqm::Why;
use aqmkit_base::flow::salt;
use aqmkit_base::{Duration, FlowKey, Instant, Rng};

use crate::codel::Codel;
use crate::common::{Pkt, link, spec};
use crate::pie::{MAX_ECNTH, Pie};
use crate::trace::{Oracle, assert_seen, compare, compare_bursts, compare_marks};

/// One of the queues.
trait Queue {
    fn punctual(&mut self, now: Instant);
    fn enqueue(&mut self, packet: Pkt, now: Instant, rng: &mut Rng) -> bool;
    fn dequeue(&mut self, now: Instant) -> Option<Pkt>;
    fn packets(&mut self) -> &mut Vec<(Pkt, Instant)>;
    fn dropped_last(&mut self) {}
}

impl Queue for Codel {
    fn punctual(&mut self, _now: Instant) {}

    fn enqueue(&mut self, packet: Pkt, now: Instant, _rng: &mut Rng) -> bool {
        self.queue.push((packet, now));
        true
    }

    fn dequeue(&mut self, now: Instant) -> Option<Pkt> {
        Codel::dequeue(self, now)
    }

    fn packets(&mut self) -> &mut Vec<(Pkt, Instant)> {
        &mut self.queue
    }
}

impl Queue for Pie {
    fn punctual(&mut self, now: Instant) {
        Pie::punctual(self, now);
    }

    fn enqueue(&mut self, packet: Pkt, now: Instant, rng: &mut Rng) -> bool {
        Pie::enqueue(self, packet, now, rng)
    }

    fn dequeue(&mut self, now: Instant) -> Option<Pkt> {
        Pie::dequeue(self, now)
    }

    fn packets(&mut self) -> &mut Vec<(Pkt, Instant)> {
        &mut self.queue
    }

    fn dropped_last(&mut self) {
        self.no_delay();
    }
}

struct Fq<Q> {
    limit: usize,
    memory_limit: u64,
    quantum: i64,
    drop_batch: usize,
    salt: u64,
    queues: Vec<Q>,
    credits: Vec<i64>,
    new: Vec<usize>,
    old: Vec<usize>,
}

fn bytes(queue: &mut impl Queue) -> u64 {
    queue.packets().iter().map(|(p, _)| u64::from(p.len)).sum()
}

impl<Q: Queue> Fq<Q> {
    fn over(&mut self) -> bool {
        self.queues.iter_mut().map(|q| q.packets().len()).sum::<usize>() > self.limit
            || self.queues.iter_mut().map(bytes).sum::<u64>() > self.memory_limit
    }

    fn drop_from_the_largest(&mut self) {
        let mut largest = 0;
        for i in 0..self.queues.len() {
            if bytes(&mut self.queues[i]) > bytes(&mut self.queues[largest]) {
                largest = i;
            }
        }
        let half = bytes(&mut self.queues[largest]) / 2;
        let (mut packets, mut dropped) = (0, 0);
        loop {
            let (p, _) = self.queues[largest].packets().remove(0);
            if self.queues[largest].packets().is_empty() {
                self.queues[largest].dropped_last();
            }
            dropped += u64::from(p.len);
            packets += 1;
            if packets == self.drop_batch || dropped >= half {
                break;
            }
        }
    }

    fn punctual(&mut self, now: Instant) {
        for queue in &mut self.queues {
            queue.punctual(now);
        }
    }
}

impl<Q: Queue> Oracle for Fq<Q> {
    fn arriving(&mut self, packet: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.punctual(now);
        let hash = FlowKey(packet.flow).hash(salt(self.salt)) >> 32;
        let i = ((hash * self.queues.len() as u64) >> 32) as usize;
        if !self.queues[i].enqueue(packet, now, rng) {
            return false;
        }
        if !self.new.contains(&i) && !self.old.contains(&i) {
            self.new.push(i);
            self.credits[i] = self.quantum;
        }
        let mut kept = true;
        while self.over() {
            self.drop_from_the_largest();
            kept = false;
        }
        kept
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.punctual(now);
        loop {
            let from_new = !self.new.is_empty();
            if !from_new && self.old.is_empty() {
                return None;
            }
            let i = if from_new { self.new[0] } else { self.old[0] };
            let list = if from_new { &mut self.new } else { &mut self.old };
            if self.credits[i] <= 0 {
                self.credits[i] += self.quantum;
                list.remove(0);
                self.old.push(i);
                continue;
            }
            if let Some(p) = self.queues[i].dequeue(now) {
                self.credits[i] -= i64::from(p.len);
                return Some(p);
            }
            list.remove(0);
            if from_new {
                self.old.push(i);
            }
        }
    }
}

fn fq<Q>(queue: impl Fn() -> Q) -> Fq<Q> {
    Fq {
        limit: 100,
        memory_limit: 80_000,
        quantum: 700,
        drop_batch: 5,
        salt: 3,
        queues: (0..4).map(|_| queue()).collect(),
        credits: vec![0; 4],
        new: Vec::new(),
        old: Vec::new(),
    }
}

const SCHEDULER: &str =
    r#""limit": 100, "memory_limit": "80000b", "flows": 4, "quantum": "700b", "drop_batch": 5, "salt": 3"#;

#[test]
fn fq_codel_is_rfc_8290() {
    let params = r#""target": "500us", "interval": "10ms", "max_drops": 4000000000"#;
    let fq_codel = spec("fq-codel", &format!(r#"{{{SCHEDULER}, {params}}}"#));
    let interval = Duration::from_millis(10);
    let oracle = || {
        fq(|| {
            let mut codel = Codel::new(Duration::from_micros(500), interval);
            codel.ecn = true;
            codel
        })
    };
    assert_seen(&compare(&fq_codel, &link(), 9, oracle), &[Why::Evicted, Why::Sojourn]);
    assert_seen(&compare_marks(&fq_codel, &link(), 9, oracle), &[Why::Evicted, Why::Sojourn]);
    assert_seen(&compare_bursts(&fq_codel, &link(), 2, false, interval, oracle), &[Why::Evicted, Why::Sojourn]);
}

#[test]
fn fq_pie_is_rfc_8290_over_rfc_8033() {
    let params = r#""target": "3ms", "max_burst": "20ms", "tupdate": "5ms", "alpha": 1.5, "beta": 2.0,
                    "derandomize": false, "cap": false"#;
    let fq_pie = spec("fq-pie", &format!(r#"{{{SCHEDULER}, {params}}}"#));
    let oracle = || {
        fq(|| {
            let mut pie = Pie::new();
            pie.tail_drop = usize::MAX;
            pie
        })
    };
    assert_seen(&compare(&fq_pie, &link(), 9, oracle), &[Why::Evicted, Why::Early]);
    let interval = Duration::from_millis(10);
    assert_seen(&compare_bursts(&fq_pie, &link(), 2, false, interval, oracle), &[Why::Early]);
    let marking = spec("fq-pie", &format!(r#"{{{SCHEDULER}, {params}, "ecn": true, "ecn_prob": {MAX_ECNTH}}}"#));
    let oracle = || {
        let mut fq = oracle();
        fq.queues.iter_mut().for_each(|pie| pie.ecn = true);
        fq
    };
    assert!(compare_marks(&marking, &link(), 9, oracle).marks() > 100);
}
