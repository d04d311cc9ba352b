//! Where Linux hosts differ from BSD: window growth, idle connections, delays, acknowledgements.

use aqmkit_base::{Bytes, Duration, Instant};
use aqmkit_transport::profile::IdleSince;
use aqmkit_transport::{DelayedAck, Kind, LossDetection, Profile};

use crate::harness::{A, B, Fate, Pair, ms};

/// Linux 6 with segments of 1000 bytes.
fn linux() -> Profile {
    Profile { mss: Bytes(1000), ..Profile::linux_6() }
}

/// Writes this many bytes every 10 ms, this many times.
fn drip(pair: &mut Pair, bytes: u64, times: u64) {
    let start = pair.now;
    for n in 1..=times {
        pair.write(A, bytes);
        pair.run_until(start + Duration::from_millis(10) * n);
    }
}

/// Two of ten segments are in flight: the window stays at what was never used.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for (validates, cwnd) in [(true, 10_000..=10_000), (false, 100_000..=u64::MAX)] {
        let mut pair = Pair::connected(&Profile { cwnd_validation: validates, ..linux() }, 20);
        drip(&mut pair, 1_000, 500);
        assert!(cwnd.contains(&pair.ends[A].cwnd()), "{validates}: {}", pair.ends[A].cwnd());
    }
}

/// Thirty of forty are in flight: slow start continues until half of the window is unused.
#[test]
fn in_slow_start_half_of_the_window_is_enough() {
    let mut pair = Pair::connected(&Profile { initial_window: 40, ..linux() }, 100);
    drip(&mut pair, 3_000, 200);
    assert!((58_000..=66_000).contains(&pair.ends[A].cwnd()), "{}", pair.ends[A].cwnd());
}

/// In slow start the window grows while it is less than twice the most that was in flight in the round trip: a segment that follows thirty while these
/// are acknowledged does not make the window of forty seem unused.
#[test]
fn the_most_that_was_used_counts_for_a_round_trip() {
    let mut pair = Pair::connected(&Profile { initial_window: 40, delayed_ack: DelayedAck::None, ..linux() }, 100);
    pair.spacing = Duration::from_millis(1);
    pair.write(A, 30_000);
    pair.run_until(ms(262));
    let (flight, cwnd) = (pair.ends[A].flight(), pair.ends[A].cwnd());
    assert_eq!((flight, cwnd), (18_000, 52_000));
    pair.write(A, 1_000);
    pair.run();
    assert_eq!(pair.ends[A].cwnd(), 60_000);
    // In the next round trip there is one.
    pair.write(A, 1_000);
    pair.run();
    assert_eq!(pair.ends[A].cwnd(), 60_000);
}

#[test]
fn a_window_that_is_full_grows_as_ever() {
    let of = |validates| {
        let mut pair = Pair::connected(&Profile { cwnd_validation: validates, ..linux() }, 20);
        pair.lose_data(&[300]);
        pair.write(A, u64::MAX);
        pair.run_until(ms(3_000));
        (pair.ends[A].cwnd(), pair.ends[A].acked())
    };
    assert_eq!(of(true), of(false));
}

/// RFC 9438 section 4.2: time in which the window was not used does not count, so growth resumes where it stopped.
#[test]
fn cubic_s_time_stands_still_while_the_window_is_not_used() {
    let mut pair = Pair::connected(&Profile { slow_start_after_idle: false, ..linux() }, 20);
    pair.lose_data(&[300]);
    pair.write(A, 2_000_000);
    pair.run_until(ms(2_000));
    let before = pair.ends[A].cwnd();
    drip(&mut pair, 1_000, 3_000);
    assert_eq!(pair.ends[A].cwnd(), before);
    pair.write(A, 4 * before);
    let then = pair.now + Duration::from_millis(60);
    pair.run_until(then);
    assert!(pair.ends[A].cwnd() < before + before / 10, "{before} became {}", pair.ends[A].cwnd());
}

/// RFC 5681 section 4.1: a request after 15 s does not make the answer's window any fresher.
#[test]
fn what_is_received_does_not_end_idle_time() {
    for (since, at_once) in [(IdleSince::Sent, 10), (IdleSince::Received, 100)] {
        let mut pair = Pair::connected(&Profile { idle_since: since, ..linux() }, 20);
        pair.write(B, 1_000_000);
        pair.run_until(ms(15_000));
        pair.write(A, 100);
        pair.run_until(ms(15_010));
        pair.sent.clear();
        pair.write(B, 100_000);
        assert_eq!(pair.data(B).len(), at_once, "{since:?}");
    }
}

/// A byte now and then is data as well: the connection is not idle, and the window stays. An equally long silence resets it to the initial one.
#[test]
fn single_bytes_keep_a_connection_from_being_idle() {
    for (every, window) in [(100, 20_000), (5_000, 10_000)] {
        let mut pair = Pair::connected(&linux(), 20);
        pair.write(A, 10_000);
        pair.run_until(ms(100));
        assert_eq!(pair.ends[A].cwnd(), 20_000);
        for n in 1..=5_000 / every {
            pair.run_until(ms(100 + n * every));
            pair.write(A, 1);
        }
        assert_eq!(pair.ends[A].cwnd(), window, "a byte every {every} ms");
    }
}

/// The timeout doubles up to two minutes; BSD's ends at 64 times the first.
#[test]
fn backoff_goes_on_to_the_largest_timeout() {
    let waits = |p: &Profile| -> Vec<u64> {
        let mut pair = Pair::connected(p, 100);
        pair.script = Box::new(|from, _| if from == A { Fate::Drop } else { Fate::Pass });
        pair.write(A, 100);
        pair.run_until(Instant::from_nanos(2_000_000_000_000));
        let times: Vec<_> = pair.data(A).into_iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        times.windows(2).map(|w| w[1] - w[0]).collect()
    };
    let linux = waits(&Profile { tail_loss_probe: false, ..linux() });
    assert_eq!(linux[..4], [300, 600, 1_200, 2_400]);
    assert_eq!((linux[8], linux[9], linux[14]), (76_800, 120_000, 120_000));
    let capped = waits(&Profile { tail_loss_probe: false, max_backoff: 64, ..self::linux() });
    assert_eq!((capped[6], capped[14]), (19_200, 19_200));
}

/// Full segments in flight do not hold back a tail; another tail does.
#[test]
fn only_a_short_segment_holds_back_another() {
    let mut pair = Pair::connected(&linux(), 100);
    let start = pair.now;
    pair.write(A, 5_000);
    pair.write(A, 2_500);
    pair.write(A, 100);
    assert_eq!(pair.data(A).len(), 8, "five, two and the tail of 500");
    pair.run_until(ms(249));
    assert_eq!(pair.data(A).last(), Some(&(start, 7_000)));
    pair.run_until(ms(250));
    assert_eq!(pair.data(A).last(), Some(&(ms(250), 7_500)));
    let mut nagle = Pair::connected(&Profile { minshall: false, ..linux() }, 100);
    nagle.write(A, 5_000);
    nagle.write(A, 2_500);
    assert_eq!(nagle.data(A).len(), 7, "RFC 896 waits for everything");
}

/// A full segment and a bit are acknowledged at once.
#[test]
fn more_than_one_full_segment_is_acknowledged_at_once() {
    for (p, acked) in [(linux(), vec![(ms(200), 1_100)]), (Profile { mss: Bytes(1000), ..Profile::rfc() }, Vec::new())]
    {
        let mut pair = Pair::connected(&Profile { quick_acks: 0, nagle: false, ..p }, 100);
        pair.write(A, 1_100);
        pair.run_until(ms(210));
        assert_eq!(pair.acks(B), acked);
    }
}

/// RFC 8985 section 7.1: a timeout ends the probe. Its answer, and that of all that was lost with it, reduces nothing more.
#[test]
fn a_timeout_ends_a_probe() {
    let mut pair = Pair::connected(&Profile { undo: false, ..linux() }, 100);
    pair.script = Box::new(|from, seg| {
        // The tail, and its probe.
        let lost = from == A && seg.len > 0 && seg.seq > 5_000 && !seg.retransmission;
        if lost { Fate::Drop } else { Fate::Pass }
    });
    let mut probes = 0;
    pair.write(A, 10_000);
    pair.run_until(ms(300));
    pair.script = Box::new(move |from, seg| {
        probes += u32::from(from == A && seg.len > 0);
        if from == A && probes == 1 { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(ms(10_000));
    assert_eq!((pair.ends[A].stats().timeouts, pair.ends[A].stats().tail_probes), (1, 1));
    let ssthresh = pair.ends[A].ssthresh();
    pair.write(A, 1_000);
    pair.run_until(ms(11_000));
    assert_eq!(pair.ends[A].ssthresh(), ssthresh);
}

/// One acknowledgement for a whole window after a timeout takes slow start to the threshold and no further, with `HyStart` too.
#[test]
fn slow_start_ends_at_the_threshold() {
    for congestion in [Kind::Cubic, Kind::Prague] {
        let p = Profile {
            congestion: congestion.clone(),
            undo: false,
            frto: false,
            dsack: false,
            tail_loss_probe: false,
            ..linux()
        };
        let mut pair = Pair::connected(&p, 100);
        pair.write(A, u64::MAX);
        pair.run_until(ms(560));
        pair.script = Box::new(|from, _| if from == B { Fate::Drop } else { Fate::Pass });
        while pair.ends[A].stats().timeouts == 0 {
            let next = pair.now + Duration::from_millis(1);
            pair.run_until(next);
        }
        let ssthresh = pair.ends[A].ssthresh();
        pair.script = Box::new(|_, _| Fate::Pass);
        while pair.ends[A].cwnd() <= 1_000 {
            let next = pair.now + Duration::from_millis(1);
            pair.run_until(next);
        }
        assert!(pair.ends[A].cwnd() <= ssthresh, "{congestion:?}: {} of {ssthresh}", pair.ends[A].cwnd());
    }
}

/// RFC 5682 section 3.1: segments that acknowledge nothing (the peer's own data) do not decide whether a timeout was spurious.
#[test]
fn the_peer_s_data_does_not_settle_a_timeout() {
    let p = Profile { undo: false, dsack: false, tail_loss_probe: false, timestamps: false, ..linux() };
    let mut pair = Pair::connected(&p, 100);
    // The first flight is so late that the timer expires just before it arrives.
    pair.script = Box::new(|from, seg| {
        let late = from == A && seg.len > 0 && !seg.retransmission && seg.seq <= 10_000;
        if late { Fate::Late(Duration::from_millis(320)) } else { Fate::Pass }
    });
    pair.write(A, u64::MAX);
    for n in 0..400 {
        pair.write(B, 100);
        pair.run_until(ms(150 + 5 * n));
    }
    assert_eq!((pair.ends[A].stats().timeouts, pair.ends[A].undone()), (1, 1));
}

/// How many new segments left at each instant from `from` on.
fn bursts(pair: &Pair, from: Instant) -> Vec<usize> {
    let data: Vec<Instant> =
        pair.sent.iter().filter(|s| s.from == A && s.seg.len > 0 && s.at >= from).map(|s| s.at).collect();
    data.chunk_by(|a, b| a == b).map(<[Instant]>::len).collect()
}

/// An endless transfer with a constant window of this many segments, over a path of 20 ms with an acknowledgement for each segment.
fn steady(profile: Profile, window: u32) -> Vec<usize> {
    let profile = Profile {
        initial_window: window,
        cwnd_limit: Bytes(1000 * u64::from(window)),
        tcp_moderate_rcvbuf: false,
        delayed_ack: DelayedAck::None,
        ..profile
    };
    let mut pair = Pair::connected(&profile, 20);
    // The acknowledgements of the first window come one by one, and so does everything after them.
    let (mut n, every) = (0, Duration::from_millis(20) / u64::from(window));
    pair.script = Box::new(move |from, seg| {
        if from == A || seg.ack < 1000 || n == u64::from(window) {
            return Fate::Pass;
        }
        n += 1;
        Fate::Late(every * n)
    });
    pair.write(A, u64::MAX);
    pair.run_until(ms(400));
    bursts(&pair, ms(300))
}

/// Linux's `tcp_tso_autosize`: 100 segments of 1000 bytes in 20 ms, times 1.2, are 6 MB/s, of which 1/1024 s holds five segments. Without
/// offload each acknowledgement lets one segment go. Seen to fail where the sender does not wait (one segment at a time), and where a window
/// that waits does not count as used.
#[test]
fn segments_leave_together_as_the_pacing_rate_has_it() {
    let one_by_one = steady(Profile { gso_max_size: Bytes::ZERO, ..linux() }, 100);
    assert!(one_by_one.iter().all(|n| *n == 1), "{one_by_one:?}");
    let together = steady(linux(), 100);
    let mean = together.iter().sum::<usize>() as f64 / together.len() as f64;
    assert!((4.0..6.5).contains(&mean), "{mean}: {together:?}");
    // 20 segments in 20 ms: what a millisecond holds is one, and the least is two; but nothing waits for longer than a millisecond.
    let slow = steady(linux(), 20);
    assert!(slow.iter().all(|n| *n <= 2), "{slow:?}");
}

/// Linux 3.18's rule for waiting is another one, which is left out: whatever the window has room for goes at once.
#[test]
fn linux_3_18_does_not_wait_for_more_room() {
    let p = Profile { mss: Bytes(1000), delayed_ack: DelayedAck::None, ..Profile::linux_3_18() };
    assert!(steady(p.clone(), 100).iter().all(|n| *n == 1));
    assert!(
        steady(Profile { loss_detection: LossDetection::Rack, ..p }, 100).iter().any(|n| *n > 1),
        "with a record of segments it would"
    );
}

/// A control that paces sends what 1/1024 s holds at once, and then waits as long as that takes.
#[test]
fn a_paced_sender_sends_bursts() {
    let of = |gso_max_size| {
        let mut pair = Pair::connected(&Profile { congestion: Kind::Bbr, gso_max_size, ..linux() }, 20);
        pair.write(A, 3_000_000);
        pair.run_until(ms(200));
        bursts(&pair, ms(60))
    };
    let (single, bursts) = (of(Bytes::ZERO), of(Bytes(65_536)));
    assert!(single.iter().all(|n| *n == 1), "{single:?}");
    assert!(bursts.iter().filter(|n| **n >= 2).count() * 10 >= bursts.len() * 9, "{bursts:?}");
}

/// Trains of 10, 20 and 40 acknowledgements a millisecond apart are short; that of 80 lasts longer than half of the least round trip (101 ms,
/// and the millisecond for offload) with its 53rd, before which the window has grown to 80 + 52. Counted from the middle of a train, where the
/// window is 16, the rounds would not be trains.
#[test]
fn slow_start_counts_its_rounds_from_the_first_segment() {
    let p = Profile { delayed_ack: DelayedAck::None, gso_max_size: Bytes::ZERO, ..linux() };
    let mut pair = Pair::connected(&p, 100);
    pair.spacing = Duration::from_millis(1);
    pair.write(A, u64::MAX);
    pair.run_until(ms(800));
    assert_eq!(pair.ends[A].ssthresh(), 132_000);
}

/// Eleven segments, of which 1 and 3 to 5 are overtaken. Three acknowledgements of each hole are sent at once: 2 and 6 for the first, which 1 fills,
/// then 7 to 9; the report of 10 is delayed by a millisecond and the slack of the timer. Segments of one byte are no exception.
#[test]
fn each_hole_is_reported_at_once_three_times() {
    for len in [1000, 1] {
        let p = Profile {
            delayed_ack: DelayedAck::None,
            quick_acks: 0,
            initial_window: 11,
            nagle: false,
            gso_max_size: Bytes::ZERO,
            ..linux()
        };
        let mut pair = Pair::connected(&p, 100);
        let arrivals = [0, 3, 1, 50, 51, 52, 2, 4, 5, 6, 7];
        pair.script = Box::new(move |from, seg| match from {
            A if seg.len > 0 => Fate::Late(Duration::from_millis(arrivals[((seg.seq - 1) / len) as usize])),
            _ => Fate::Pass,
        });
        (0..11).for_each(|_| pair.write(A, len));
        pair.run_until(ms(240));
        let said: Vec<u64> = pair.sent.iter().filter(|s| s.from == B).map(|s| s.at.as_nanos() / 100_000).collect();
        assert_eq!(said, [2000, 2010, 2020, 2030, 2040, 2050, 2060, 2081], "segments of {len}");
    }
}

/// Linux's CUBIC grows by a twentieth in a round trip until a loss has told of the capacity; without that, CUBIC's own
/// functions give five segments in a second.
#[test]
fn cubic_looks_for_the_capacity_that_no_loss_has_told_of() {
    let of = |first_growth, lost: &'static [u64]| {
        let mut p = Profile { initial_ssthresh: Bytes(100_000), gso_max_size: Bytes::ZERO, ..linux() };
        p.cubic.first_growth = first_growth;
        let mut pair = Pair::connected(&p, 100);
        pair.lose_data(lost);
        pair.write(A, u64::MAX);
        [1_000, 2_000].map(|at| {
            pair.run_until(ms(at));
            pair.ends[A].cwnd() as f64
        })
    };
    let [early, late] = of(0.05, &[]);
    assert!((late / early - 1.05_f64.powi(10)).abs() < 0.03, "{early} {late}");
    let [before, after] = of(0.0, &[]);
    assert!(after < before + 6_000.0, "{before} {after}");
    assert_eq!(of(0.05, &[50]), of(0.0, &[50]), "a loss in slow start has told of it");
}
