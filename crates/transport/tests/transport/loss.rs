//! Losses, and how they are mended.

use aqmkit_base::Bytes;
use aqmkit_transport::{DelayedAck, Flags, Kind, Profile, Segment};

use crate::harness::{A, B, Fate, Pair, ms};

/// Segments of 1000 bytes, every one acknowledged, timers of 4.4BSD; a first flight of this many segments.
/// The standard's rule for a window that is equal to the threshold, except for Reno.
fn profile(congestion: Kind, flight: u32) -> Profile {
    Profile {
        slow_start_when_equal: congestion == Kind::Reno,
        congestion,
        mss: Bytes(1000),
        initial_window: flight,
        receive_window: Bytes(60_000),
        delayed_ack: DelayedAck::None,
        ..Profile::bsd44()
    }
}

/// Endless data from 150 ms on, round trips of 100 ms, and these segments (from 0) lost once.
fn run(congestion: Kind, flight: u32, lost: impl IntoIterator<Item = u64>) -> Pair {
    let mut pair = Pair::connected(&profile(congestion, flight), 100);
    pair.lose_bytes(lost.into_iter().map(|n| n * 1000).collect());
    pair.write(A, u64::MAX);
    pair
}

fn sent_at(pair: &Pair, at: u64) -> Vec<u64> {
    pair.data(A).iter().filter(|d| d.0 == ms(at)).map(|d| d.1 / 1000).collect()
}

/// The first of ten in flight is lost: nine duplicate ACKs at 250 ms. The third halves the window and retransmits, cwnd 5 + 3; six more inflate it to
/// 14, and the last four of them release a segment each.
#[test]
fn one_loss_is_mended_by_fast_retransmit() {
    for kind in [Kind::Reno, Kind::NewReno] {
        let mut pair = run(kind.clone(), 10, [0]);
        pair.run_until(ms(349));
        assert_eq!(sent_at(&pair, 250), [0, 10, 11, 12, 13]);
        assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (14_000, 5_000));
        pair.run_until(ms(350));
        // Reno: 5000, and at the threshold 1000 more for the same acknowledgement; then four in avoidance:
        // 166, 162, 158, 154. NewReno: min(5000, 4000 + 1000), then 200, 192, 185, 179.
        let cwnd = if kind == Kind::Reno { 6_640 } else { 5_756 };
        assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (cwnd, 5_000));
        let stats = pair.ends[A].stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmissions, stats.dup_acks), (1, 0, 1, 9));
    }
}

/// Two duplicates are no loss.
#[test]
fn reordering_by_two_is_tolerated() {
    let mut pair = Pair::connected(&profile(Kind::Reno, 4), 100);
    let mut first = true;
    pair.script = Box::new(move |from, seg| {
        let late = from == A && seg.seq == 1 && seg.len > 0 && std::mem::take(&mut first);
        if late { Fate::Late(aqmkit_base::Duration::from_millis(1)) } else { Fate::Pass }
    });
    pair.write(A, 3000);
    pair.run();
    assert_eq!(pair.ends[A].stats().dup_acks, 2);
    assert_eq!(pair.ends[A].stats().retransmissions, 0);
    assert_eq!(pair.ends[B].delivered(), 3000);
}

/// Reno leaves recovery at the partial acknowledgement. After two losses in 16, the six segments that the
/// inflated window let go give three duplicates for the second hole; after three losses there are too few
/// for the third. (Fall and Floyd, Simulation-based Comparisons of Tahoe, Reno and SACK TCP, 1996.)
#[test]
fn reno_mends_two_losses_in_a_window_and_times_out_after_three() {
    for losses in 2..=8 {
        let mut pair = run(Kind::Reno, 16, 0..losses);
        pair.run_until(ms(8_000));
        let stats = *pair.ends[A].stats();
        assert_eq!(stats.timeouts > 0, losses > 2, "{losses} losses: {stats:?}");
        assert_eq!(stats.fast_retransmits, if losses == 2 { 2 } else { stats.fast_retransmits });
        assert!(pair.ends[B].delivered() > 100_000, "{losses} losses");
    }
}

/// Each partial acknowledgement shows the next hole: one each round trip, no timeout.
#[test]
fn newreno_mends_a_hole_every_round_trip() {
    for losses in 1..=8 {
        let mut pair = run(Kind::NewReno, 16, 0..losses);
        pair.run_until(ms(3_000));
        let again: Vec<_> =
            pair.sent.iter().filter(|s| s.seg.retransmission).map(|s| (s.at, (s.seg.seq - 1) / 1000)).collect();
        let expected: Vec<_> = (0..losses).map(|n| (ms(250 + 100 * n), n)).collect();
        assert_eq!(again, expected, "{losses} losses");
        let stats = pair.ends[A].stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 0), "{losses} losses");
        assert_eq!(pair.ends[A].ssthresh(), 8_000);
    }
}

/// Holes apart from each other, the window deflated by what the partial acknowledgements cover.
#[test]
fn newreno_deflates_at_partial_acknowledgements() {
    let mut pair = run(Kind::NewReno, 12, [0, 6]);
    pair.run_until(ms(349));
    // Ten duplicates: 6 + 3, and seven more.
    assert_eq!(pair.ends[A].cwnd(), 16_000);
    assert_eq!(sent_at(&pair, 250), [0, 12, 13, 14, 15]);
    pair.run_until(ms(350));
    // 6000 acknowledged, so 16 - 6 + 1, and the four duplicates of what was sent at 250.
    assert_eq!(pair.ends[A].cwnd(), 15_000);
    assert_eq!(sent_at(&pair, 350), [6, 16, 17, 18, 19, 20]);
    pair.run_until(ms(449));
    assert_eq!(pair.ends[A].stats().dup_acks, 14);
    pair.run_until(ms(450));
    assert_eq!(pair.ends[A].ssthresh(), 6_000);
    // 16000 acknowledged: min(6, 5 + 1), then five acknowledgements in avoidance.
    let cwnd = (0..5).fold(6_000, |w, _| w + 1_000_000 / w);
    assert_eq!(pair.ends[A].cwnd(), cwnd);
}

/// Nothing behind the last segment: the timer has to find out. The acknowledgements at 250 set it to 3
/// ticks; to 4 where a tick at 249 makes the round trip one tick long.
#[test]
fn a_lost_tail_is_sent_again_at_the_tick() {
    for (phase, fires) in [(0, 1_500), (251, 1_251), (249, 2_249)] {
        let phase = aqmkit_base::Duration::from_millis(phase);
        let mut pair = Pair::with_phases(&profile(Kind::Reno, 4), 100, [phase; 2]);
        pair.connect();
        pair.run_until(ms(150));
        pair.sent.clear();
        pair.lose_bytes(vec![3_000]);
        pair.write(A, 4_000);
        pair.run_until(ms(fires));
        assert_eq!(pair.data(A).last(), Some(&(ms(fires), 3_000)));
        // cwnd was 7: three segments of threshold.
        assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (1_000, 3_000));
        pair.run();
        assert_eq!(pair.ends[B].delivered(), 4_000);
    }
}

/// All of a flight is lost: back to the first, and slow start up to half of it.
#[test]
fn a_timeout_goes_back_and_starts_slowly() {
    let mut pair = run(Kind::Reno, 8, 0..8);
    pair.run_until(ms(1_799));
    assert_eq!(sent_at(&pair, 1_500), [0]);
    assert_eq!(sent_at(&pair, 1_600), [1, 2]);
    assert_eq!(sent_at(&pair, 1_700), [3, 4, 5, 6]);
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (4_000, 4_000));
    pair.run_until(ms(1_800));
    assert_eq!(sent_at(&pair, 1_800), [7, 8, 9, 10, 11]);
    assert_eq!(pair.ends[A].stats().retransmissions, 8);
}

/// After a timeout, what was only thought lost jumps out of the acknowledgement: it is not sent again.
#[test]
fn an_acknowledgement_pulls_up_what_a_timeout_took_back() {
    let mut pair = Pair::connected(&profile(Kind::Reno, 8), 100);
    pair.script = {
        let mut left = 8;
        Box::new(move |from, seg| {
            let lose = from == B && seg.len == 0 && left > 0;
            left -= i32::from(lose);
            if lose { Fate::Drop } else { Fate::Pass }
        })
    };
    pair.write(A, 8_000);
    pair.run();
    assert_eq!(pair.ends[A].stats().retransmissions, 1);
    assert_eq!(pair.ends[A].acked(), 8_000);
}

/// Duplicates that answer a timeout's second copies: `NewReno` knows, Reno retransmits once more.
#[test]
fn duplicates_after_a_timeout() {
    for (kind, fast) in [(Kind::Reno, 1), (Kind::NewReno, 0)] {
        let mut pair = run(kind.clone(), 4, 0..4);
        pair.run_until(ms(1_500));
        let dup = Segment { seq: 1, ack: 1, window: 60_000, flags: Flags::ACK, ..Segment::default() };
        for _ in 0..4 {
            pair.call(A, |tcp, p, now, out| tcp.on_segment(p, &dup, now, out));
        }
        assert_eq!(pair.ends[A].stats().fast_retransmits, fast, "{kind:?}");
    }
}

/// RFC 5681: the same segment timing out again does not lower the threshold again; in 4.4BSD it does.
#[test]
fn repeated_timeouts() {
    for (kind, ssthresh) in [(Kind::Reno, 2_000), (Kind::NewReno, 8_000)] {
        let mut pair = Pair::connected(&profile(kind.clone(), 16), 100);
        pair.script = Box::new(|from, seg| if from == A && seg.len > 0 { Fate::Drop } else { Fate::Pass });
        pair.write(A, u64::MAX);
        pair.run_until(ms(1_500));
        assert_eq!(pair.ends[A].ssthresh(), 8_000);
        pair.run_until(ms(5_000));
        assert_eq!((pair.ends[A].stats().timeouts, pair.ends[A].ssthresh()), (2, ssthresh), "{kind:?}");
    }
}

/// The retransmission is lost as well: only the timer helps.
#[test]
fn a_lost_retransmission_times_out() {
    let mut pair = Pair::connected(&profile(Kind::NewReno, 10), 100);
    pair.lose_data(&[0, 10]);
    pair.write(A, 30_000);
    pair.run();
    let stats = pair.ends[A].stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 1));
    // Sent again at 250, timed for 3 ticks.
    assert!(sent_at(&pair, 1_500).starts_with(&[0]));
    assert_eq!(pair.ends[B].delivered(), 30_000);
}
