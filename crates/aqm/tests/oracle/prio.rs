//! `prio_classify` and `prio_dequeue` of `sch_prio.c` with plain lists, and `pfifo_fast`, which is the same with a fixed map.

use aqmkit_aqm::{Packet, Why};
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare};

/// `rt_tos2priority`, with the table of the sixteen types of service.
pub(crate) fn priority(p: &Pkt) -> usize {
    let tos = p.dscp().index() << 2;
    [0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4][(tos & 0x1e) >> 1]
}

struct Prio {
    queues: Vec<Vec<Pkt>>,
    limit: usize,
    filter: fn(&Pkt) -> Option<usize>,
    prio2band: [usize; 16],
}

impl Oracle for Prio {
    fn arriving(&mut self, p: Pkt, _now: Instant, _rng: &mut Rng) -> bool {
        let band = (self.filter)(&p).unwrap_or(self.prio2band[priority(&p)]);
        let fits = self.queues[band].len() < self.limit;
        if fits {
            self.queues[band].push(p);
        }
        fits
    }

    fn departing(&mut self, _now: Instant) -> Option<Pkt> {
        let queue = self.queues.iter_mut().find(|queue| !queue.is_empty())?;
        Some(queue.remove(0))
    }
}

const MAP: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

fn oracle(bands: usize, filter: fn(&Pkt) -> Option<usize>, prio2band: [usize; 16]) -> Prio {
    Prio { queues: vec![Vec::new(); bands], limit: 20, filter, prio2band }
}

#[test]
fn prio_is_sch_prio() {
    let fifo = r#""aqm": {"name": "fifo", "limit": 20}"#;
    let classes = format!(
        r#"[{{"name": "a", "match": "multimedia", {fifo}}}, {{"name": "b", "match": ["dscp cs1", "tcp"], {fifo}}}, {{{fifo}}}, {{{fifo}}}]"#
    );
    let table = format!(r#"{{"priomap": [3, 0, 2, 0, 1], "class": {classes}}}"#);
    let filter = |p: &Pkt| match (p.class, p.dscp().index()) {
        (1, _) => Some(0),
        (0, _) | (_, 8) => Some(1),
        _ => None,
    };
    let mut map = MAP;
    map[..5].copy_from_slice(&[3, 0, 2, 0, 1]);
    let stats = compare(&spec("prio", &table), &link(), 9, || oracle(4, filter, map));
    assert_seen(&stats, &[Why::Overflow]);
}

#[test]
fn pfifo_fast_is_three_fifos() {
    let stats = compare(&spec("pfifo-fast", r#"{"limit": 20}"#), &link(), 9, || oracle(3, |_| None, MAP));
    assert_seen(&stats, &[Why::Overflow]);
}
