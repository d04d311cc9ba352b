//! The control `bbr` over a constant delay. What the peer's window lets through in a round trip stands for the bottleneck.

use aqmkit_base::{Bytes, Duration, Instant};
use aqmkit_transport::{DelayedAck, Kind, LossDetection, Profile};

use crate::harness::{A, Fate, Pair, ms};

const WINDOW: u64 = 200_000;

fn profile() -> Profile {
    Profile {
        congestion: Kind::Bbr,
        sack: true,
        loss_detection: LossDetection::Rack,
        mss: Bytes(1000),
        receive_window: Bytes(WINDOW),
        nagle: false,
        delayed_ack: DelayedAck::None,
        ..Profile::rfc()
    }
}

/// A flow that knows its path: it has sent without end until two seconds.
fn established(rtt_ms: u64) -> Pair {
    let mut pair = Pair::connected(&profile(), rtt_ms);
    pair.keep = false;
    pair.write(A, u64::MAX);
    pair.run_until(ms(2_000));
    pair
}

/// The same, and everything that it had to send is acknowledged.
fn idle(rtt_ms: u64) -> Pair {
    let mut pair = Pair::connected(&profile(), rtt_ms);
    pair.keep = false;
    pair.write(A, 40 * WINDOW);
    pair.run_until(ms(6_000));
    assert_eq!(pair.ends[A].acked(), 40 * WINDOW);
    pair
}

/// Writes a segment every 10 ms.
fn trickle(pair: &mut Pair, from_ms: u64, until_ms: u64) {
    for at in (from_ms..until_ms).step_by(10) {
        pair.run_until(ms(at));
        pair.write(A, 1_000);
    }
}

fn delivered(pair: &mut Pair, until: Instant) -> u64 {
    let before = pair.ends[A].acked();
    pair.run_until(until);
    pair.ends[A].acked() - before
}

/// On a path that becomes a fifth longer after two seconds there is no shorter round trip, so `ProbeRTT` begins after ten seconds. Its 200 ms are
/// more than ten round trips of four segments, and say nothing of the rate: afterwards the flow is as fast as before.
#[test]
fn the_rate_outlasts_probe_rtt() {
    let mut pair = established(10);
    pair.delay = Duration::from_millis(6);
    pair.run_until(ms(3_000));
    let before = delivered(&mut pair, ms(3_400));
    let mut at = ms(3_400);
    while pair.ends[A].cwnd() > 4_000 {
        at += Duration::from_millis(1);
        pair.run_until(at);
        assert!(at < ms(14_000), "no ProbeRTT");
    }
    pair.run_until(at + Duration::from_millis(300));
    let after = delivered(&mut pair, at + Duration::from_millis(700));
    assert!(after > before * 9 / 10, "{after} bytes in 400 ms, {before} before");
}

/// An application that has little to say for fifty round trips is no news of the path.
#[test]
fn the_rate_outlasts_an_application_with_little_to_send() {
    let mut pair = idle(40);
    let before = pair.ends[A].cwnd();
    trickle(&mut pair, 6_000, 8_000);
    assert!(pair.ends[A].cwnd() >= before, "{} of {before}", pair.ends[A].cwnd());
}

/// Twelve seconds of silence have let any queue run empty: what follows goes at the known rate, 200 kB in each round trip of 40 ms, and
/// not four segments at a time.
#[test]
fn silence_stands_for_probe_rtt() {
    let mut pair = idle(40);
    pair.run_until(ms(18_000));
    pair.write(A, 5 * WINDOW);
    let mut least = u64::MAX;
    for at in 18_000..=18_260 {
        pair.run_until(ms(at));
        least = least.min(pair.ends[A].cwnd());
    }
    assert!(least > WINDOW, "a window of {least} bytes");
    assert_eq!(pair.ends[A].acked(), 45 * WINDOW, "at 99 % five windows take 202 ms, and a round trip more");
}

/// The application ends while `ProbeRTT` lasts, and has more a second later: `ProbeRTT` is over.
#[test]
fn silence_ends_probe_rtt() {
    let mut pair = Pair::connected(&profile(), 40);
    pair.keep = false;
    pair.write(A, 40 * WINDOW);
    pair.run_until(ms(6_000));
    // A path that is longer, so that ten seconds bring no shorter round trip.
    pair.delay = Duration::from_millis(22);
    let mut at = 6_000;
    while pair.ends[A].cwnd() > 4_000 {
        trickle(&mut pair, at, at + 10);
        at += 10;
        assert!(at < 16_000, "no ProbeRTT");
    }
    trickle(&mut pair, at, at + 100);
    pair.run_until(ms(at + 1_000));
    assert_eq!(pair.ends[A].cwnd(), 4_000);
    pair.write(A, 1_000);
    assert!(pair.ends[A].cwnd() > WINDOW, "{}", pair.ends[A].cwnd());
}

/// An application that leaves the window half empty loses one segment, at any time of a round trip of 40 ms: until a round trip has passed
/// no more goes out than comes in, and the window stays where the loss has put it.
#[test]
fn conservation_lasts_a_round_trip_from_the_loss() {
    for phase in (0..40).step_by(5) {
        let mut pair = idle(40);
        pair.lose_bytes(vec![40 * WINDOW + (100 + phase) * 2_000]);
        let mut reduced = None;
        for at in 6_000..6_300 {
            pair.run_until(ms(at));
            pair.write(A, 2_000);
            let cwnd = pair.ends[A].cwnd();
            if pair.ends[A].stats().fast_retransmits == 1 {
                let (since, to) = *reduced.get_or_insert((at, cwnd));
                assert!(to < WINDOW, "{to}");
                assert!(at > since + 38 || cwnd <= to + 4_000, "{cwnd} from {to} after {} ms", at - since);
            }
        }
        assert!(reduced.is_some() && pair.ends[A].cwnd() > WINDOW);
    }
}

/// A whole flight is lost. When the timer has brought it back, the window is again what it was.
#[test]
fn a_timeout_that_is_mended_gives_the_window_back() {
    let mut pair = idle(40);
    let before = pair.ends[A].cwnd();
    let mut left = WINDOW / 1_000;
    pair.script = Box::new(move |from, seg| {
        let lose = from == A && seg.len > 0 && left > 0;
        left -= u64::from(lose);
        if lose { Fate::Drop } else { Fate::Pass }
    });
    pair.write(A, 2 * WINDOW);
    let mut at = 6_000;
    while pair.ends[A].acked() < 41 * WINDOW {
        at += 1;
        pair.run_until(ms(at));
        assert!(at < 10_000, "{} bytes", pair.ends[A].acked());
    }
    assert_eq!(pair.ends[A].stats().timeouts, 1);
    assert!(pair.ends[A].cwnd() >= before, "{} of {before}", pair.ends[A].cwnd());
}
