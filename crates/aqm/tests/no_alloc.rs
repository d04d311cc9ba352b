//! A queue that is warm allocates nothing.

mod common;

use aqmkit_aqm::storage::DropHistory;
use aqmkit_aqm::storage::drop_history::MAX_LISTS;
use aqmkit_aqm::{Cx, Discard, Qdisc};
use aqmkit_base::{Duration, Ecn, FlowKey, Instant, Rng};
use common::catalogue::{defaults, options};
use common::{Pkt, link};

/// A thousand flows of every class, in waves that fill the queue and let it run empty.
fn waves(queue: &mut dyn Qdisc<Pkt>, start: Instant, seed: u64) -> Instant {
    let (mut rng, mut draw, mut now) = (Rng::stream(seed, "aqm"), Rng::stream(seed, "packets"), start);
    for id in 0..20_000_u64 {
        now += Duration::from_micros(draw.below(1000));
        let flow = draw.below(1000);
        let packet = Pkt { id, len: 40 + draw.below(1461) as u32, flow, class: (flow % 3) as u8, ecn: Ecn::Ect0 };
        let mut cx = Cx { now, rng: &mut rng, sink: &mut Discard };
        queue.on_wakeup(&mut cx);
        if id % 4000 < 2000 {
            queue.enqueue(packet, &mut cx);
        }
        if id % 3 != 0 {
            queue.dequeue(&mut cx);
        }
    }
    now
}

#[test]
fn nothing_is_allocated_once_warm() {
    for spec in [defaults(), options()].concat() {
        let mut queue = spec.build::<Pkt>(&link(), Instant::ZERO).unwrap();
        let now = waves(&mut *queue, Instant::ZERO, 1);
        let used = allocation_counter::measure(|| {
            waves(&mut *queue, now, 1);
        });
        assert_eq!(used.count_total, 0, "{spec:?}");
    }
}

/// A table of drops is taken whole at the beginning: for every list as it is kept, and the newest as long as it may be.
#[test]
fn a_table_of_drops_never_grows() {
    for (lists, per_list) in [(1, 1), (5, 50), (MAX_LISTS, 3)] {
        let mut drops = DropHistory::new(lists, per_list);
        let used = allocation_counter::measure(|| {
            for flow in 0..100 * lists * per_list {
                drops.record(FlowKey(flow as u64), 1);
                if flow % (25 * per_list) == 0 {
                    drops.cut();
                    drops.advance();
                }
            }
        });
        assert_eq!(used.count_total, 0, "{lists} lists of {per_list}");
    }
}

/// The counter sees what it should.
#[test]
fn an_allocation_is_noticed() {
    assert_eq!(allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1)))).count_total, 1);
}
