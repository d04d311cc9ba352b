//! No traffic makes a queue grow for ever: a million packets of flows that nobody has seen before.

use crate::common::catalogue::{defaults, options};
use crate::common::{Pkt, link};
use aqmkit_aqm::{Cx, Discard, Qdisc};
use aqmkit_base::{Duration, Ecn, Instant, Rng};

/// Packets of flows with one to eight packets each, twice as many as leave; gives when the last of them came.
fn strangers(queue: &mut dyn Qdisc<Pkt>, start: Instant, seed: u64, packets: u64) -> Instant {
    let (mut rng, mut draw, mut now) = (Rng::stream(seed, "aqm"), Rng::stream(seed, "packets"), start);
    let (mut flow, mut left) = (0, 0);
    for id in 0..packets {
        if left == 0 {
            (flow, left) = (draw.bits(), 1 + draw.below(8));
        }
        left -= 1;
        now += Duration::from_micros(draw.below(200));
        let ecn = Ecn::from_bits(flow as u8);
        let packet = Pkt { id, len: 40 + draw.below(1461) as u32, flow, class: (flow % 3) as u8, ecn };
        let mut cx = Cx { now, rng: &mut rng, sink: &mut Discard };
        queue.enqueue(packet, &mut cx);
        if id % 2 == 0 {
            queue.dequeue(&mut cx);
        }
    }
    now
}

/// A ring may still double once for a fuller queue; a hundred thousand flows do not fit into this.
const SLACK: i64 = 64 * 1024;

/// Fails where a table keeps every flow it has seen.
#[test]
fn memory_does_not_grow_with_the_flows_seen() {
    for spec in [defaults(), options()].concat() {
        let mut queue = spec.build::<Pkt>(&link(), Instant::ZERO).unwrap();
        let now = strangers(&mut *queue, Instant::ZERO, 1, 500_000);
        let grown = allocation_counter::measure(|| {
            strangers(&mut *queue, now, 2, 500_000);
        });
        assert!(grown.bytes_current <= SLACK, "{spec:?} grew by {} bytes", grown.bytes_current);
    }
}
