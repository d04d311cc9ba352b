//! Figure 3.4.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare};

struct Fifo {
    q_limit: usize,
    queue: Vec<Pkt>,
}

impl Oracle for Fifo {
    fn arriving(&mut self, p: Pkt, _now: Instant, _rng: &mut Rng) -> bool {
        let q_len = self.queue.len();
        if q_len < self.q_limit {
            self.queue.push(p);
            true
        } else {
            false
        }
    }

    fn departing(&mut self, _now: Instant) -> Option<Pkt> {
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }
    }
}

#[test]
fn fifo_is_figure_3_4() {
    let stats = compare(&spec("fifo", r#"{"limit": 60}"#), &link(), 5, || Fifo { q_limit: 60, queue: Vec::new() });
    assert_seen(&stats, &[Why::Overflow]);
}
