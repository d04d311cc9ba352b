//! `ets_qdisc_enqueue` and `ets_qdisc_dequeue` of `sch_ets.c` with plain lists.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::prio::priority;
use crate::trace::{Oracle, assert_seen, compare};

struct Class {
    qdisc: Vec<Pkt>,
    quantum: u32,
    deficit: u32,
}

struct Ets {
    classes: Vec<Class>,
    nstrict: usize,
    active: Vec<usize>,
}

impl Oracle for Ets {
    /// Best effort goes to band 1, bulk to band 3; others to band 2.
    fn arriving(&mut self, p: Pkt, _now: Instant, _rng: &mut Rng) -> bool {
        let band = if p.class == 1 { 0 } else { [1, 2, 3][priority(&p).min(3) % 3] };
        let cl = &mut self.classes[band];
        let first = cl.qdisc.is_empty();
        if cl.qdisc.len() >= 30 {
            return false;
        }
        cl.qdisc.push(p);
        if first && band >= self.nstrict {
            self.active.push(band);
            cl.deficit = cl.quantum;
        }
        true
    }

    fn departing(&mut self, _now: Instant) -> Option<Pkt> {
        for cl in &mut self.classes[..self.nstrict] {
            if !cl.qdisc.is_empty() {
                return Some(cl.qdisc.remove(0));
            }
        }
        loop {
            let band = *self.active.first()?;
            let cl = &mut self.classes[band];
            let len = cl.qdisc[0].len;
            if len <= cl.deficit {
                cl.deficit -= len;
                let skb = cl.qdisc.remove(0);
                if cl.qdisc.is_empty() {
                    self.active.remove(0);
                }
                return Some(skb);
            }
            cl.deficit += cl.quantum;
            self.active.rotate_left(1);
        }
    }
}

#[test]
fn ets_is_sch_ets() {
    let fifo = r#""aqm": {"name": "fifo", "limit": 30}"#;
    let table = format!(
        r#"{{"strict": 1, "quanta": ["600b", "1500b", "2500b"], "priomap": [1, 0, 3, 0, 1],
            "class": [{{"name": "multimedia", {fifo}}}, {{{fifo}}}, {{{fifo}}}, {{{fifo}}}]}}"#
    );
    let class = |quantum| Class { qdisc: Vec::new(), quantum, deficit: 0 };
    let stats = compare(&spec("ets", &table), &link(), 9, || Ets {
        classes: [0, 600, 1500, 2500].map(class).into(),
        nstrict: 1,
        active: Vec::new(),
    });
    assert_seen(&stats, &[Why::Overflow]);
}
