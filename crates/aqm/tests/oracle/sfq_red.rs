//! SFQ with the RED of Linux in each queue: RED's figures on the bytes of a queue that begins with nothing, and what
//! `headdrop` does about them.

use aqmkit_aqm::Why;
use aqmkit_base::flow::salt;
use aqmkit_base::{FlowKey, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, assert_seen, compare, drop_packet, mark, out};
use crate::queues::Queues;
use crate::red_part::RedPart;

struct SfqRed {
    queues: Queues,
    round: Vec<usize>,
    reds: Vec<RedPart>,
    fresh: RedPart,
    redflowlimit: usize,
    ecn: bool,
    headdrop: bool,
}

impl SfqRed {
    fn new(weight: f64, redflowlimit: usize, ecn: bool, headdrop: bool) -> Self {
        let fresh = RedPart::new(weight, 2000.0, 9000.0, 0.2);
        let (queues, reds) = (Queues::new(4, false), vec![fresh.clone(); 4]);
        SfqRed { queues, round: Vec::new(), reds, fresh, redflowlimit, ecn, headdrop }
    }
}

impl Literal for SfqRed {
    fn arriving(&mut self, mut packet: Pkt, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        let i = (FlowKey(packet.flow).hash(salt(0x6171_6d6b_6974_0004)) % 4) as usize;
        let (packets, bytes) = (self.queues.q[i].len(), self.queues.q[i].iter().map(|p| p.len as usize).sum());
        if packets > 0 {
            let red = &mut self.reds[i];
            red.compute_avg(bytes, now);
            let congested = red.drops(red.avg, packets, false, rng);
            let full = bytes + packet.len as usize > self.redflowlimit;
            let head = &mut self.queues.q[i][0];
            let markable = self.ecn && !full;
            if congested && markable && self.headdrop && head.ecn.is_capable() {
                mark(head, seen);
            } else if congested && markable && packet.ecn.is_capable() {
                mark(&mut packet, seen);
            } else if congested || full {
                if !self.headdrop {
                    return drop_packet(packet, seen);
                }
                drop_packet(self.queues.remove(i, 0), seen);
                let waiting = |q: &[Pkt]| q.iter().map(|p| p.len as usize).sum::<usize>();
                while waiting(&self.queues.q[i]) + packet.len as usize > self.redflowlimit {
                    drop_packet(self.queues.remove(i, 0), seen);
                }
                if self.queues.q[i].is_empty() {
                    self.round.retain(|&other| other != i);
                }
            }
        }
        if self.queues.q[i].is_empty() {
            self.round.push(i);
            self.reds[i] = self.fresh.clone();
        }
        self.queues.push(i, packet);
    }

    fn departing(&mut self, _now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        let Some(&i) = self.round.first() else { return seen.push(Seen::Empty) };
        self.round.remove(0);
        out(self.queues.remove(i, 0), seen);
        if !self.queues.q[i].is_empty() {
            self.round.push(i);
        }
    }
}

/// Fails where the average outlives the queue, counts packets, or takes in the arriving one, and where the arriving
/// packet is marked although the first one could be.
#[test]
fn sfq_has_a_red_in_each_queue() {
    for (headdrop, ecn, limit) in [(false, true, 60_000), (true, true, 60_000), (true, false, 12_000)] {
        let params = format!(
            r#"{{"limit": 1000, "divisor": 4, "depth": 1000, "redflowlimit": "{limit}b", "min": "2000b", "max": "9000b",
                "weight": 0.0625, "probability": 0.2, "ecn": {ecn}, "headdrop": {headdrop}}}"#
        );
        let stats = compare(&spec("sfq", &params), &link(), || SfqRed::new(0.0625, limit, ecn, headdrop));
        assert_seen(&stats, &[Why::Early, Why::Forced], if ecn { &[Why::Early, Why::Forced] } else { &[] });
    }
}
