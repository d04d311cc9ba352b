//! Needless retransmissions and what is taken back, packet by packet: D-SACK, timestamps, F-RTO.

use aqmkit_base::{Bytes, Duration};
use aqmkit_transport::{DelayedAck, Kind, LossDetection, Profile, Segment};

use crate::harness::{A, B, Fate, Pair, ms};

/// Segments of 1000 bytes, every one acknowledged, timeouts of a second at least, nothing undone.
fn profile(flight: u32) -> Profile {
    Profile {
        congestion: Kind::Sack,
        mss: Bytes(1000),
        initial_window: flight,
        receive_window: Bytes(60_000),
        delayed_ack: DelayedAck::None,
        ..Profile::rfc()
    }
}

/// Delays some of A's new segments, counted from 0, by this many ms.
fn delay_data(pair: &mut Pair, late: impl Fn(u64) -> Option<u64> + 'static) {
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        if from != A || seg.len == 0 || seg.retransmission {
            return Fate::Pass;
        }
        n += 1;
        late(n - 1).map_or(Fate::Pass, |by| Fate::Late(Duration::from_millis(by)))
    });
}

/// A's retransmissions: time, and segment from 0.
fn again(pair: &Pair) -> Vec<(u64, u64)> {
    let resent = pair.sent.iter().filter(|s| s.from == A && s.seg.retransmission);
    resent.map(|s| (s.at.as_nanos() / 1_000_000, (s.seg.seq - 1) / 1000)).collect()
}

/// The D-SACKs of B: when, and which segments.
fn twice(pair: &Pair) -> Vec<(u64, u64, u64)> {
    let said = pair.sent.iter().filter(|s| s.from == B);
    let block = |seg: &Segment| seg.options.duplicate(seg.ack).map(|(a, b)| ((a - 1) / 1000, (b - 1) / 1000));
    said.filter_map(|s| block(&s.seg).map(|(a, b)| (s.at.as_nanos() / 1_000_000, a, b))).collect()
}

/// RFC 2883 section 4: the first of ten is 30 ms late, after the third duplicate (200 + 50 ms) has sent it again. The copy comes at 300:
/// the D-SACK says so at once, at 350 the window of ten is back. Without timestamps nothing else could tell.
#[test]
fn a_dsack_takes_back_what_reordering_has_cost() {
    for detection in [LossDetection::Sack, LossDetection::Rack] {
        for undo in [false, true] {
            let p = Profile { dsack: true, undo, timestamps: false, loss_detection: detection, ..profile(10) };
            let mut pair = Pair::connected(&p, 100);
            delay_data(&mut pair, |n| (n == 0).then_some(80));
            pair.write(A, 10_000);
            pair.run_until(ms(349));
            assert_eq!((again(&pair), twice(&pair)), (vec![(250, 0)], vec![(300, 0, 1)]), "{detection:?}");
            assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (5_000, 5_000));
            pair.run_until(ms(350));
            let expected = if undo { (10_000, 1 << 30, 1) } else { (5_000, 5_000, 0) };
            let seen = (pair.ends[A].cwnd(), pair.ends[A].ssthresh(), pair.ends[A].undone());
            assert_eq!(seen, expected, "{detection:?} {undo}");
        }
    }
}

/// Two are sent again, one of them needlessly: D-SACKs for all but one copy do not take back what a loss has reduced.
#[test]
fn one_real_loss_is_enough() {
    let p = Profile { dsack: true, undo: true, timestamps: false, ..profile(10) };
    let mut pair = Pair::connected(&p, 100);
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        if from != A || seg.len == 0 || seg.retransmission {
            return Fate::Pass;
        }
        n += 1;
        match n {
            1 => Fate::Late(Duration::from_millis(80)),
            3 => Fate::Drop,
            _ => Fate::Pass,
        }
    });
    pair.write(A, 10_000);
    pair.run();
    // When the first is acknowledged, the second is retransmitted: RFC 6675's rescue.
    assert_eq!(again(&pair), [(250, 0), (250, 2), (330, 2)]);
    assert_eq!(twice(&pair), [(300, 0, 1), (380, 2, 3)]);
    assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].undone()), (5_000, 0));
}

/// RFC 3522: with timestamps the original's acknowledgement shows it at 330, before the copy arrives.
#[test]
fn a_timestamp_tells_which_copy_has_come() {
    let p = Profile { undo: true, ..profile(10) };
    let mut pair = Pair::connected(&p, 100);
    delay_data(&mut pair, |n| (n == 0).then_some(80));
    pair.write(A, 10_000);
    pair.run_until(ms(329));
    assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].undone()), (5_000, 0));
    pair.run_until(ms(330));
    assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].undone()), (1 << 30, 1));
    // NewReno, without blocks.
    pair = Pair::connected(&Profile { congestion: Kind::NewReno, sack: false, ..p.clone() }, 100);
    delay_data(&mut pair, |n| (n == 0).then_some(80));
    pair.write(A, 10_000);
    pair.run_until(ms(329));
    assert_eq!((again(&pair), pair.ends[A].ssthresh(), pair.ends[A].undone()), (vec![(250, 0)], 5_000, 0));
    pair.run_until(ms(330));
    assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].undone()), (1 << 30, 1));
    // A loss: the acknowledgement is the copy's.
    pair = Pair::connected(&p, 100);
    pair.lose_bytes(vec![0]);
    pair.write(A, 10_000);
    pair.run();
    assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].undone()), (5_000, 0));
}

/// RFC 3522: all of eight are late by 0.98 s. The first acknowledgement, at 1.23 s, is of the original and not of the copy of 1.15 s: the timeout was
/// needless, and nothing but the first goes again.
#[test]
fn a_timestamp_tells_that_a_timeout_was_needless() {
    let mut pair = Pair::connected(&Profile { undo: true, ..profile(8) }, 100);
    delay_data(&mut pair, |n| (n < 8).then_some(980));
    pair.write(A, 8_000);
    pair.run();
    assert_eq!(again(&pair), [(1_150, 0)]);
    assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].undone()), (1 << 30, 1));
}

/// RFC 8985 section 6.2 step 4, where reordering is known (two have overtaken): each round trip with a D-SACK widens the reordering
/// window by a quarter of the shortest round trip, so that a segment that is late by 30 ms is sent again once, and not from
/// then on; by 60 ms, two times. Without the reports, always.
#[test]
fn rack_waits_longer_after_each_dsack() {
    for (dsack, late, resent) in [(true, 30, 1), (true, 60, 2), (false, 30, 8), (false, 60, 8)] {
        let p = Profile { dsack, undo: true, loss_detection: LossDetection::Rack, ..profile(20) };
        let mut pair = Pair::connected(&p, 100);
        delay_data(&mut pair, move |n| if n == 0 { Some(20) } else { (n % 20 == 3).then_some(late) });
        pair.write(A, 3_000);
        for n in 0..8 {
            pair.run_until(ms(1_000 * (n + 1)));
            pair.write(A, 20_000);
        }
        pair.run();
        assert_eq!(pair.ends[A].stats().retransmissions, resent, "{dsack}, late by {late} ms: {:?}", again(&pair));
    }
}

/// A flight of eight from 150 on that the path holds back until 1400, with the copy of the first that the timer sends at 1150. At
/// 1450 the first acknowledgement lets two new ones go, the second shows that nothing was lost.
fn stalled(p: &Profile, lost: Option<u64>) -> Pair {
    let mut pair = Pair::connected(p, 100);
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        if from != A || seg.len == 0 {
            return Fate::Pass;
        }
        n += 1;
        if n == 9 {
            return Fate::Late(Duration::from_millis(200));
        }
        if Some(n - 1) == lost {
            Fate::Drop
        } else if n <= 8 {
            Fate::Late(Duration::from_millis(1_200))
        } else {
            Fate::Pass
        }
    });
    pair.write(A, u64::MAX);
    pair
}

#[test]
fn a_needless_timeout_costs_one_segment() {
    let base = Profile { timestamps: false, frto: true, ..profile(8) };
    let newreno = Profile { congestion: Kind::NewReno, ..base.clone() };
    let rack = Profile { loss_detection: LossDetection::Rack, ..base.clone() };
    for p in [&newreno, &base, &rack] {
        let name = format!("{:?} {:?}", p.congestion, p.loss_detection);
        let mut pair = stalled(p, None);
        pair.run_until(ms(1_449));
        assert_eq!(again(&pair), [(1_150, 0)], "{name}");
        pair.run_until(ms(1_450));
        assert_eq!((again(&pair), pair.ends[A].undone()), (vec![(1_150, 0)], 1), "{name}");
        assert!(pair.ends[A].cwnd() >= 8_000 && pair.ends[A].ssthresh() == 1 << 30, "{name}");
        let new: Vec<_> = pair.data(A).iter().filter(|d| d.1 >= 8_000).map(|d| d.0).collect();
        assert!(new.len() >= 8 && new[..2] == [ms(1_450); 2], "{name}: {new:?}");
        pair.run_until(ms(3_000));
        assert_eq!(pair.ends[A].stats().retransmissions, 1, "{name}");
        // Without, the eight go again as in slow start, but for what RACK does not take for lost.
        pair = stalled(&Profile { frto: false, ..p.clone() }, None);
        pair.run_until(ms(3_000));
        assert!(pair.ends[A].stats().retransmissions >= 7, "{name}: {:?}", again(&pair));
        assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].undone()), (4_000, 0), "{name}");
    }
}

/// RFC 5682 section 2.1 step 2a: the first acknowledgement is a duplicate, because the first segment was lost and the others are late, or it is
/// for everything: the timeout stands.
#[test]
fn a_timeout_that_was_right_stands() {
    for p in [profile(8), Profile { congestion: Kind::NewReno, ..profile(8) }] {
        let p = Profile { timestamps: false, frto: true, ..p };
        // All of the flight is lost but nothing else: its retransmission is answered alone.
        let mut pair = Pair::connected(&p, 100);
        pair.lose_bytes((0..8).map(|n| n * 1000).collect());
        pair.write(A, u64::MAX);
        pair.run_until(ms(5_000));
        assert_eq!((pair.ends[A].undone(), pair.ends[A].stats().timeouts), (0, 1), "{:?}", p.congestion);
        assert_eq!(pair.ends[A].ssthresh(), 4_000, "{:?}", p.congestion);
        // The answer lets two new ones go, whose duplicates show the loss of the rest.
        let sent: Vec<_> = pair.data(A).into_iter().filter(|d| d.0 >= ms(1_150)).take(4).collect();
        let (first, then) = (ms(1_150), ms(1_250));
        assert_eq!(sent[..3], [(first, 0), (then, 8_000), (then, 9_000)], "{:?}", p.congestion);
        assert_eq!(sent[3], (ms(1_350), 1_000), "{:?}", p.congestion);
        // The growth by one acknowledgement in slow start is at most the three allowed segments, and is kept.
        let at_once = pair.data(A).iter().filter(|d| d.0 == ms(1_350)).count();
        assert_eq!(at_once, 2, "{:?}", p.congestion);
    }
    let p = Profile { timestamps: false, frto: true, ..profile(8) };
    let mut pair = stalled(&p, Some(0));
    pair.run_until(ms(3_000));
    assert_eq!(pair.ends[A].undone(), 0);
}

/// F-RTO is for a timeout that comes out of the blue. In a recovery the copy of the first of ten is lost as well, and all that is new: when the
/// timer's copy is acknowledged, with the other nine, the eleventh goes again at once, not two new ones to learn what is known.
#[test]
fn a_timeout_in_a_recovery_is_not_doubted() {
    for congestion in [Kind::Sack, Kind::NewReno] {
        for undo in [false, true] {
            let p = Profile { congestion: congestion.clone(), timestamps: false, frto: true, undo, ..profile(10) };
            let mut pair = Pair::connected(&p, 100);
            pair.lose_bytes([0, 0].into_iter().chain((10..20).map(|n| n * 1000)).collect());
            pair.write(A, u64::MAX);
            pair.run_until(ms(5_000));
            let resent = again(&pair);
            let timer = resent.iter().filter(|r| r.1 == 0).nth(1).unwrap().0;
            assert!(pair.data(A).iter().any(|d| d.0 < ms(timer) && d.1 == 10_000), "new data went in the recovery");
            let first = pair.data(A).into_iter().find(|d| d.0 > ms(timer)).unwrap().1;
            assert_eq!((first, pair.ends[A].undone()), (10_000, 0), "{congestion:?} {undo}: {resent:?}");
        }
    }
}

/// The last segment's original is late beyond the probe: its copy is reported, and the probe costs nothing.
#[test]
fn a_probe_that_was_needless_reduces_nothing() {
    // Without D-SACK a second acknowledgement of everything tells (RFC 8985 section 7.4.2).
    for dsack in [true, false] {
        let p = Profile { dsack, tail_loss_probe: true, loss_detection: LossDetection::Rack, ..profile(10) };
        let mut pair = Pair::connected(&p, 100);
        delay_data(&mut pair, |n| (n == 9).then_some(450));
        pair.write(A, 10_000);
        pair.run();
        assert_eq!((again(&pair), pair.ends[A].stats().tail_probes), (vec![(650, 9)], 1));
        let cwnd = pair.ends[A].cwnd();
        pair.write(A, 1_000);
        pair.run();
        assert!(pair.ends[A].cwnd() >= cwnd && pair.ends[A].ssthresh() == 1 << 30, "D-SACK {dsack}");
    }
}
