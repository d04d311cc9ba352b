//! When acknowledgements are sent.

use aqmkit_base::{Bytes, Duration};
use aqmkit_transport::{DelayedAck, Profile};

use crate::harness::{A, B, Fate, Pair, ms};

/// Ticks of the fast timer at 200 k + phase.
#[test]
fn one_segment_waits_for_the_200_ms_tick() {
    for (phase, rtt, ack) in [(0, 100, 400), (70, 100, 270), (199, 100, 399), (200, 100, 400), (50, 100, 250)] {
        let mut pair = Pair::with_phases(&Profile::bsd44(), rtt, [Duration::ZERO, Duration::from_millis(phase)]);
        pair.connect();
        pair.run_until(ms(150));
        pair.sent.clear();
        pair.write(A, 1000);
        pair.run();
        assert_eq!(pair.acks(B), [(ms(ack), 1000)], "phase {phase}");
    }
}

#[test]
fn or_for_a_fixed_time() {
    for delay in [40, 100] {
        let p = Profile { delayed_ack: DelayedAck::After(Duration::from_millis(delay)), ..Profile::bsd44() };
        let mut pair = Pair::connected(&p, 100);
        pair.write(A, 1000);
        pair.run();
        assert_eq!(pair.acks(B), [(ms(200 + delay), 1000)]);
    }
}

#[test]
fn or_not_at_all() {
    let mut pair = Pair::connected(&Profile { delayed_ack: DelayedAck::None, ..Profile::bsd44() }, 100);
    pair.write(A, 1000);
    pair.run();
    assert_eq!(pair.acks(B), [(ms(200), 1000)]);
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    let mut pair = Pair::connected(&Profile { initial_window: 5, ..Profile::bsd44() }, 100);
    pair.write(A, 5 * 1448);
    pair.run();
    assert_eq!(pair.acks(B), [(ms(200), 2 * 1448), (ms(200), 4 * 1448), (ms(400), 5 * 1448)]);
}

/// Two segments, or half of a small receive buffer: 4.4BSD's window update.
#[test]
fn so_is_half_of_the_receive_window() {
    let p = Profile { initial_window: 2, receive_window: Bytes(2896), ..Profile::bsd44() };
    let mut pair = Pair::connected(&p, 100);
    pair.write(A, 2 * 1448);
    pair.run();
    assert_eq!(pair.acks(B), [(ms(200), 1448), (ms(200), 2 * 1448)]);
}

/// The second of six is lost. The first waits for the tick, the four behind the hole are each acknowledged
/// at once (the first of those is no duplicate yet), and so is the segment that fills it.
#[test]
fn out_of_order_and_hole_filling_segments_are_acknowledged_at_once() {
    let p = Profile { initial_window: 6, ..Profile::bsd44() };
    let mut pair = Pair::connected(&p, 100);
    pair.lose_bytes(vec![1448]);
    pair.write(A, 6 * 1448);
    pair.run();
    let first = (ms(200), 1448);
    assert_eq!(pair.acks(B), [first, first, first, first, (ms(300), 6 * 1448)]);
}

#[test]
fn a_segment_that_comes_again_is_acknowledged_at_once() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.script = Box::new(|from, _| if from == A { Fate::Twice(Duration::from_millis(20)) } else { Fate::Pass });
    pair.write(A, 1000);
    pair.run();
    assert_eq!(pair.acks(B), [(ms(220), 1000)]);
    assert_eq!(pair.ends[B].delivered(), 1000);
}
