//! Queues in plain lists, and the longest of them found by looking at each.

use crate::common::Pkt;

pub(crate) struct Queues {
    pub(crate) q: Vec<Vec<Pkt>>,
    /// Whether lengths are bytes, in steps of 256.
    pub(crate) bytes: bool,
    length: Vec<u64>,
    /// When each queue came to its length.
    since: Vec<u64>,
    clock: u64,
}

impl Queues {
    pub(crate) fn new(queues: usize, bytes: bool) -> Self {
        Queues { q: vec![Vec::new(); queues], bytes, length: vec![0; queues], since: vec![0; queues], clock: 0 }
    }

    fn changed(&mut self, i: usize) {
        let bytes: u64 = self.q[i].iter().map(|p| u64::from(p.len)).sum();
        let length = if self.bytes { bytes.div_ceil(256) } else { self.q[i].len() as u64 };
        self.clock += 1;
        if length != self.length[i] {
            self.length[i] = length;
            self.since[i] = self.clock;
        }
    }

    pub(crate) fn push(&mut self, i: usize, p: Pkt) {
        self.q[i].push(p);
        self.changed(i);
    }

    pub(crate) fn remove(&mut self, i: usize, at: usize) -> Pkt {
        let p = self.q[i].remove(at);
        self.changed(i);
        p
    }

    pub(crate) fn last(&mut self, i: usize) -> Pkt {
        self.remove(i, self.q[i].len() - 1)
    }

    pub(crate) fn longest(&self) -> usize {
        (0..self.q.len()).max_by_key(|&i| (self.length[i], self.since[i])).unwrap()
    }

    /// The backlog, in the unit of the limit.
    pub(crate) fn total(&self) -> u64 {
        let all = self.q.iter().flatten();
        if self.bytes { all.map(|p| u64::from(p.len)).sum() } else { all.count() as u64 }
    }
}
