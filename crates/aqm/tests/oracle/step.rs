//! The marking rule of Alizadeh et al. 2010, section 3.1, and its form in time.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare_marks};

struct Step {
    /// In packets.
    k: usize,
    sojourn: Duration,
    pass: bool,
    queue: Vec<(Pkt, Instant)>,
}

impl Step {
    /// Returns whether the packet is forwarded.
    fn above(&self, packet: &mut Pkt) -> bool {
        if packet.ecn != Ecn::NotEct {
            packet.ecn = Ecn::Ce;
            return true;
        }
        self.pass
    }
}

impl Oracle for Step {
    fn arriving(&mut self, mut packet: Pkt, now: Instant, _rng: &mut Rng) -> bool {
        let occupancy = self.queue.len();
        if occupancy == 60 || (occupancy > self.k && !self.above(&mut packet)) {
            return false;
        }
        self.queue.push((packet, now));
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        while !self.queue.is_empty() {
            let (mut packet, since) = self.queue.remove(0);
            if now.since(since) <= self.sojourn || self.above(&mut packet) {
                return Some(packet);
            }
        }
        None
    }
}

#[test]
fn step_is_the_rule_of_dctcp() {
    let (never, forever) = (usize::MAX, Duration::from_secs(1_000_000));
    let time = Duration::from_millis(3);
    for (params, k, sojourn, pass) in [
        (r#"{"limit": 60, "threshold": 20}"#, 20, forever, false),
        (r#"{"limit": 60, "threshold": 20, "not_ect": "pass"}"#, 20, forever, true),
        (r#"{"limit": 60, "sojourn": "3ms"}"#, never, time, false),
        (r#"{"limit": 60, "step_thresh": "3ms", "not_ect": "pass"}"#, never, time, true),
    ] {
        let oracle = || Step { k, sojourn, pass, queue: Vec::new() };
        let stats = compare_marks(&spec("step", params), &link(), 5, oracle);
        assert_seen(&stats, &[Why::Overflow, Why::Step]);
    }
}
