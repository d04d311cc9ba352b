//! Figures 3.18 to 3.20, in whole numbers. The service time of a class advances by the length of its packet
//! over its share; a class that wakes up is due when the last class was served, or, after all were idle,
//! when any will be.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare};

struct Queue {
    packets: Vec<Pkt>,
    /// One over the share of the link.
    inverse_share: u64,
    next_service: u64,
}

struct Cbq {
    q: Vec<Queue>,
    qlimit: usize,
    clock: u64,
}

impl Cbq {
    fn schedule(&self) -> Option<usize> {
        let mut indices_sorted: Vec<usize> = (0..self.q.len()).collect();
        indices_sorted.sort_by_key(|&i| self.q[i].next_service);
        indices_sorted.into_iter().find(|&i| !self.q[i].packets.is_empty())
    }

    fn update_service_time(&mut self, cl: usize, p: &Pkt) {
        self.clock = self.q[cl].next_service;
        self.q[cl].next_service += u64::from(p.len) * self.q[cl].inverse_share;
        if self.q.iter().all(|queue| queue.packets.is_empty()) {
            self.clock = self.q.iter().map(|queue| queue.next_service).max().unwrap();
        }
    }
}

impl Oracle for Cbq {
    fn arriving(&mut self, p: Pkt, _now: Instant, _rng: &mut Rng) -> bool {
        let queue = &mut self.q[usize::from(p.class)];
        if queue.packets.is_empty() {
            queue.next_service = queue.next_service.max(self.clock);
        }
        if queue.packets.len() < self.qlimit {
            queue.packets.push(p);
            true
        } else {
            false
        }
    }

    fn departing(&mut self, _now: Instant) -> Option<Pkt> {
        let cl = self.schedule()?;
        let p = self.q[cl].packets.remove(0);
        self.update_service_time(cl, &p);
        Some(p)
    }
}

#[test]
fn cbq_is_figures_3_18_to_3_20() {
    // Shares whose inverses are whole, so that both count exactly.
    let classes = r#"[{"class": "tcp", "share": 0.5, "limit": 30}, {"class": "multimedia", "share": 0.125, "limit": 30},
                      {"class": "other", "share": 0.25, "limit": 30}]"#;
    let queue = |inverse_share| Queue { packets: Vec::new(), inverse_share, next_service: 0 };
    let stats = compare(&spec("cbq", &format!(r#"{{"classes": {classes}}}"#)), &link(), 9, || Cbq {
        q: vec![queue(2), queue(8), queue(4)],
        qlimit: 30,
        clock: 0,
    });
    assert_seen(&stats, &[Why::Overflow]);
}
