//! The answer to a mark over a round trip: Linux's `TCP_CA_CWR`.

use aqmkit_base::{Bytes, Duration};
use aqmkit_transport::{DelayedAck, EcnFeedback, Kind, LossDetection, Profile, RateReduction};

use crate::harness::{A, B, Fate, Pair, ms};

/// Twenty segments of 1000 bytes in flight, every one acknowledged.
fn profile(congestion: Kind, cwr_state: bool) -> Profile {
    Profile {
        ecn: true,
        ecn_feedback: if congestion == Kind::Dctcp { EcnFeedback::Dctcp } else { EcnFeedback::Classic },
        congestion,
        mss: Bytes(1000),
        initial_window: 20,
        receive_window: Bytes(60_000),
        delayed_ack: DelayedAck::None,
        sack: true,
        loss_detection: LossDetection::Rack,
        rate_reduction: RateReduction::Rfc6937,
        cwr_state,
        ..Profile::rfc()
    }
}

/// Data from 150 ms on, round trips of 100 ms, the first twenty segments a millisecond apart; the first is marked, and one (from 0) lost.
fn run(p: &Profile, lost: Option<u64>) -> Pair {
    let mut pair = Pair::connected(p, 100);
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        if from != A || seg.len == 0 || n == 20 {
            return Fate::Pass;
        }
        n += 1;
        match n - 1 {
            0 => Fate::Mark,
            i if Some(i) == lost => Fate::Drop,
            i => Fate::Late(Duration::from_millis(i)),
        }
    });
    pair.write(A, u64::MAX);
    pair
}

/// When (in ms) what follows the first twenty was sent.
fn second_round(pair: &Pair) -> Vec<u64> {
    let new = pair.data(A).into_iter().filter(|(_, seq)| (20_000..30_000).contains(seq));
    new.map(|(at, _)| at.as_nanos() / 1_000_000).collect()
}

/// From twenty in flight, ten remain. In proportion, every second acknowledgement releases a segment, except for the 18th, after which ten are in
/// flight; at once, the first ten release none.
#[test]
fn the_window_comes_down_over_a_round_trip() {
    let mut held = run(&profile(Kind::Sack, true), None);
    held.run_until(ms(299));
    assert_eq!(second_round(&held), [251, 253, 255, 257, 259, 261, 263, 265, 268, 269]);
    let mut at_once = run(&profile(Kind::Sack, false), None);
    at_once.run_until(ms(299));
    assert_eq!(second_round(&at_once), (260..270).collect::<Vec<_>>());
    for pair in [held, at_once] {
        assert_eq!((pair.ends[A].cwnd(), pair.ends[A].flight()), (10_000, 10_000));
        assert_eq!(pair.ends[A].stats().ecn_reductions, 1);
    }
}

/// Nineteen of the twenty acknowledgements bring no mark. Linux does not grow by them, but by those of the next round.
#[test]
fn it_grows_when_what_was_sent_after_the_mark_is_acknowledged() {
    let p = profile(Kind::Dctcp, true);
    let mut held = run(&p, None);
    held.run_until(ms(299));
    assert_eq!(held.ends[A].cwnd(), 10_000);
    held.run_until(ms(400));
    assert!((10_900..11_000).contains(&held.ends[A].cwnd()), "{}", held.ends[A].cwnd());
    let mut at_once = run(&Profile { cwr_state: false, ..p }, None);
    at_once.run_until(ms(299));
    assert!((11_500..12_000).contains(&at_once.ends[A].cwnd()), "{}", at_once.ends[A].cwnd());
}

/// A loss after a mark is the same congestion; DCTCP answers it by half of the 17 in flight all the same (Linux from 5.1).
#[test]
fn a_loss_meanwhile_is_mended_without_another_reduction() {
    for (kind, ssthresh) in [(Kind::Sack, 10_000), (Kind::Dctcp, 8_500)] {
        let mut pair = run(&profile(kind.clone(), true), Some(5));
        pair.run_until(ms(299));
        assert_eq!(pair.ends[A].ssthresh(), ssthresh, "{kind:?}");
        pair.run_until(ms(400));
        assert!(pair.ends[B].delivered() >= 25_000, "{kind:?}: {}", pair.ends[B].delivered());
        let stats = pair.ends[A].stats();
        assert_eq!((stats.ecn_reductions, stats.fast_retransmits, stats.timeouts), (1, 1, 0), "{kind:?}");
    }
}

/// Three segments, one of them marked, and nothing more to send until the round trip is over.
#[test]
fn an_application_that_pauses_does_not_wait_for_ever() {
    let p = profile(Kind::Sack, true);
    let mut pair = Pair::connected(&p, 100);
    let mut first = true;
    pair.script = Box::new(move |from, seg| {
        let mark = from == A && seg.len > 0 && std::mem::take(&mut first);
        if mark { Fate::Mark } else { Fate::Pass }
    });
    pair.write(A, 2_100);
    pair.run_until(ms(450));
    pair.write(A, 5_000);
    pair.run_until(ms(900));
    assert_eq!(pair.ends[B].delivered(), 7_100);
    assert_eq!((pair.ends[A].stats().timeouts, pair.ends[A].stats().ecn_reductions), (0, 1));
}
