//! Slow start, windows, Nagle.

use aqmkit_base::{Bytes, Duration, SendLimit};
use aqmkit_transport::profile::ByteCounting;
use aqmkit_transport::{DelayedAck, Flags, Kind, Profile, Tcp, congestion};

use crate::harness::{A, B, Pair, ms};

fn every_segment_acked() -> Profile {
    Profile { delayed_ack: DelayedAck::None, ..Profile::bsd44() }
}

/// Bursts as (time, segments).
fn bursts(pair: &Pair) -> Vec<(u64, usize)> {
    let mut out: Vec<(u64, usize)> = Vec::new();
    for (at, _) in pair.data(A) {
        let t = at.as_nanos() / 1_000_000;
        match out.last_mut() {
            Some(last) if last.0 == t => last.1 += 1,
            _ => out.push((t, 1)),
        }
    }
    out
}

#[test]
fn slow_start_doubles_every_round_trip() {
    let mut pair = Pair::connected(&every_segment_acked(), 100);
    pair.write(A, 15 * 1448);
    pair.run();
    assert_eq!(bursts(&pair), [(150, 1), (250, 2), (350, 4), (450, 8)]);
    assert_eq!(pair.ends[A].cwnd(), 16 * 1448);
}

/// The acknowledgement of the SYN-ACK opens the window of FreeBSD's servers, not of its clients.
#[test]
fn freebsd_servers_start_with_two_segments() {
    for profile in [Profile::freebsd22(), Profile::freebsd45()] {
        let mut pair = Pair::connected(&profile, 100);
        assert_eq!((pair.ends[A].cwnd(), pair.ends[B].cwnd()), (profile.mss.0, 2 * profile.mss.0));
        pair.write(B, u64::MAX);
        assert_eq!(pair.data(B).len(), 2);
    }
    assert_eq!(Pair::connected(&Profile::bsd44(), 100).ends[B].cwnd(), 1448);
}

/// Whatever the control counts: the acknowledgement of a SYN-ACK covers no data.
#[test]
fn a_syn_opens_the_window_under_every_control() {
    for entry in congestion::ALL {
        let kind: Kind = serde_json::from_str(&format!("{:?}", entry.name)).unwrap();
        for byte_counting in [ByteCounting::Never, ByteCounting::SlowStart, ByteCounting::Always] {
            let plain = Profile { congestion: kind.clone(), initial_window: 1, byte_counting, ..Profile::rfc() };
            let opening = Profile { syn_opens_window: true, ..plain.clone() };
            for (profile, segments) in [(plain, 1), (opening, 2)] {
                let mut pair = Pair::connected(&profile, 100);
                let (client, server) = (pair.ends[A].cwnd(), pair.ends[B].cwnd());
                assert_eq!((client, server), (1448, segments * 1448), "{} {byte_counting:?}", entry.name);
                pair.write(B, u64::MAX);
                // Paced segments have until the first of them is acknowledged.
                pair.run_until(ms(240));
                assert_eq!(pair.data(B).len() as u64, segments, "{} {byte_counting:?}", entry.name);
            }
        }
    }
}

/// Acknowledgements of two segments open the window by one: 1.5 times a round trip; the first waits
/// for the tick of the delayed acknowledgements.
#[test]
fn slow_start_with_delayed_acks() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.write(A, 12 * 1448);
    pair.run();
    // Sent at 150, arrived at 200: a tick is due there, but the next one counts, 400. Then 2, 3; the
    // third of those waits for the tick at 800, and opens the window by one.
    let seen = bursts(&pair);
    assert_eq!(seen[..3], [(150, 1), (450, 2), (550, 3)]);
    assert_eq!(pair.ends[B].delivered(), 12 * 1448);
}

/// 16 KB are 11 segments of 1448 bytes; the rest of the window is too silly to send.
#[test]
fn the_receive_window_limits_throughput() {
    let mut pair = Pair::connected(&every_segment_acked(), 100);
    pair.write(A, u64::MAX);
    pair.run_until(ms(2_000));
    let before = pair.ends[B].delivered();
    pair.run_until(ms(12_000));
    assert_eq!(pair.ends[B].delivered() - before, 100 * 11 * 1448);
    assert_eq!(pair.ends[A].flight(), 11 * 1448);
    assert_eq!(pair.ends[A].cwnd(), 65_535);
}

/// mss * mss / cwnd for every acknowledgement above the threshold; at the threshold as in slow start.
#[test]
fn above_the_threshold_the_window_grows_by_a_segment_per_round_trip() {
    let p = Profile { initial_ssthresh: Bytes(4 * 1448), ..every_segment_acked() };
    let mut pair = Pair::connected(&p, 100);
    pair.write(A, u64::MAX);
    let mut seen = Vec::new();
    for round in 0..5 {
        pair.run_until(ms(199 + 100 * round));
        seen.push(pair.ends[A].cwnd());
    }
    // 1, 2, 4 segments, then four acknowledgements: one at the threshold, +1448; three above it,
    // 1448^2 = 2096704 over 7240, 7529, 7807; then seven more.
    let mut cwnd = 4 * 1448 + 1448;
    for _ in 0..3 {
        cwnd += 2_096_704 / cwnd;
    }
    assert_eq!(seen[..4], [1448, 2 * 1448, 4 * 1448, cwnd]);
    assert_eq!(cwnd, 7240 + 289 + 278 + 268);
    // 8075 bytes let 5 segments go in the round that follows.
    for _ in 0..5 {
        cwnd += 2_096_704 / cwnd;
    }
    assert_eq!(seen[4], cwnd);
}

/// RFC 5681: equal to the threshold is avoidance already.
#[test]
fn at_the_threshold_the_standard_avoids() {
    let p = Profile { initial_ssthresh: Bytes(2 * 1448), slow_start_when_equal: false, ..every_segment_acked() };
    let mut pair = Pair::connected(&p, 100);
    pair.write(A, u64::MAX);
    pair.run_until(ms(350));
    let first = 2 * 1448 + 724;
    assert_eq!(pair.ends[A].cwnd(), first + 2_096_704 / first);
}

/// Each second segment is acknowledged: by acknowledgements the window grows half as fast as by bytes.
#[test]
fn where_bytes_count_a_delayed_acknowledgement_is_worth_two_segments() {
    let mss = 1448;
    let grown = |byte_counting, ssthresh: u64| {
        let p = Profile {
            byte_counting,
            initial_window: 4,
            initial_ssthresh: Bytes(ssthresh * mss),
            delayed_ack: DelayedAck::After(Duration::from_millis(100)),
            ..Profile::rfc()
        };
        let mut pair = Pair::connected(&p, 100);
        pair.write(A, u64::MAX);
        // Four segments arrive at 200 and are acknowledged by two.
        pair.run_until(ms(250));
        pair.ends[A].cwnd()
    };
    let avoided = |counted: u64| (0..2).fold(4 * mss, |cwnd, _| cwnd + mss * counted / cwnd);
    for (byte_counting, slow_start, avoidance) in [
        (ByteCounting::Never, 6 * mss, avoided(mss)),
        (ByteCounting::SlowStart, 8 * mss, avoided(mss)),
        (ByteCounting::Always, 8 * mss, avoided(2 * mss)),
    ] {
        assert_eq!(grown(byte_counting, 100), slow_start, "{byte_counting:?}");
        assert_eq!(grown(byte_counting, 4), avoidance, "{byte_counting:?}");
        // Across the threshold: a segment at least, but not all that is covered.
        let crossed = match byte_counting {
            ByteCounting::Never => 5 * mss + mss / 5,
            ByteCounting::SlowStart => 5 * mss + mss / 5,
            ByteCounting::Always => 5 * mss + 2 * mss / 5,
        };
        assert_eq!(grown(byte_counting, 5), crossed, "{byte_counting:?}");
    }
}

#[test]
fn nagle_holds_small_segments_back_until_all_is_acknowledged() {
    for (nagle, second) in [(true, ms(450)), (false, ms(160))] {
        let mut pair = Pair::connected(&Profile { nagle, ..Profile::bsd44() }, 100);
        pair.write(A, 100);
        pair.run_until(ms(160));
        pair.write(A, 100);
        pair.run();
        // The first arrives at 200 and is acknowledged at the tick, 400.
        assert_eq!(pair.data(A), [(ms(150), 0), (second, 100)], "nagle {nagle}");
    }
}

/// The tail of a write that starts when nothing is in flight is not held back (4.4BSD).
#[test]
fn the_tail_of_an_idle_connection_s_write_goes_at_once() {
    let p = Profile { initial_window: 4, ..Profile::bsd44() };
    let mut pair = Pair::connected(&p, 100);
    pair.write(A, 2 * 1448 + 10);
    assert_eq!(pair.data(A), [(ms(150), 0), (ms(150), 1448), (ms(150), 2896)]);
    assert!(pair.sent[2].seg.flags.has(Flags::PSH) && !pair.sent[1].seg.flags.has(Flags::PSH));
    // While that is in flight, small pieces wait.
    pair.write(A, 10);
    assert_eq!(pair.data(A).len(), 3);
}

/// RFC 9293 section 3.9.1: what ends a write is pushed, however short it is.
#[test]
fn the_end_of_a_write_is_pushed() {
    let mut pair = Pair::connected(&Profile { nagle: false, initial_window: 10, ..Profile::rfc() }, 100);
    for bytes in [1, 2, 1448, 1449] {
        pair.write(A, bytes);
    }
    let pushed: Vec<_> = pair.sent.iter().map(|s| (s.seg.len, s.seg.flags.has(Flags::PSH))).collect();
    assert_eq!(pushed, [(1, true), (2, true), (1448, true), (1448, false), (1, true)]);
}

/// Requests and responses of less than a segment: one round trip each, acknowledgements ride along.
#[test]
fn requests_and_responses_carry_the_acknowledgements() {
    let mut pair = Pair::connected(&Profile::bsd44(), 20);
    for round in 0..3 {
        pair.write(A, 200);
        let arrives = pair.now + Duration::from_millis(10);
        pair.run_until(arrives);
        assert_eq!(pair.ends[B].delivered(), 200 * (round + 1));
        pair.write(B, 500);
        pair.run_until(arrives + Duration::from_millis(10));
        assert_eq!(pair.ends[A].delivered(), 500 * (round + 1));
    }
    assert_eq!(pair.sent.len(), 6, "no pure acknowledgement");
}

/// Idle for a timeout: slow start again from the initial window.
#[test]
fn an_idle_connection_starts_slowly_again() {
    for (restarts, sent_at_once) in [(true, 1), (false, 8)] {
        let p = Profile { slow_start_after_idle: restarts, ..every_segment_acked() };
        let mut pair = Pair::connected(&p, 100);
        pair.write(A, 15 * 1448);
        pair.run_until(ms(10_000));
        pair.sent.clear();
        pair.write(A, 8 * 1448);
        assert_eq!(pair.data(A).len(), sent_at_once);
    }
}

#[test]
fn a_pause_shorter_than_the_timeout_keeps_the_window() {
    let mut pair = Pair::connected(&every_segment_acked(), 100);
    pair.write(A, 15 * 1448);
    // The last acknowledgement comes at 550; the timeout is two ticks.
    pair.run_until(ms(999));
    pair.sent.clear();
    pair.write(A, 8 * 1448);
    assert_eq!(pair.data(A).len(), 8);
}

/// On a path of 5 segments in 50 ms that loses nothing and holds all, slow start continues; a control with another startup is never in it.
#[test]
fn the_first_slow_start_ends_with_the_first_loss() {
    for entry in congestion::ALL {
        let congestion: Kind = serde_json::from_str(&format!("{:?}", entry.name)).unwrap();
        let has_threshold = !["bbr", "bbr3", "ledbat"].contains(&entry.name);
        let p = Profile { congestion, ..Profile::rfc() };
        let mut pair = Pair::connected(&p, 50);
        pair.write(A, 300_000);
        pair.run_until(ms(160));
        assert_eq!(pair.ends[A].is_in_first_slow_start(&p), has_threshold, "{}", entry.name);
    }
    let p = Profile::rfc();
    let mut pair = Pair::connected(&p, 50);
    pair.lose_data(&[5]);
    pair.write(A, 300_000);
    pair.run_until(ms(400));
    assert!(!pair.ends[A].is_in_first_slow_start(&p));
}

/// The limit of a sender with segments of 1000 bytes over 20 ms: whichever of 20 kB of receive window, 10 kB of send buffer and 5 kB of congestion
/// window is the smallest, and the application when all was sent. With segmentation offload too, where the sender waits for room for several segments.
#[test]
fn the_smallest_limit_holds_the_sender() {
    let linux =
        Profile { mss: Bytes(1000), delayed_ack: DelayedAck::None, tcp_moderate_rcvbuf: false, ..Profile::linux_6() };
    for gso_max_size in [Bytes::ZERO, Bytes(65_536)] {
        let with_window = Profile { receive_window: Bytes(20_000), gso_max_size, ..linux.clone() };
        let with_buffer = Profile { tcp_wmem: [Bytes(1), Bytes(1), Bytes(10_000)], ..with_window.clone() };
        let with_cwnd = Profile { cwnd_limit: Bytes(5000), ..with_buffer.clone() };
        for (p, limit, window) in [
            (with_window, SendLimit::ReceiveWindow, 20_000),
            (with_buffer, SendLimit::SendBuffer, 10_000),
            (with_cwnd, SendLimit::CongestionWindow, 10_000),
        ] {
            let mut pair = Pair::connected(&p, 20);
            pair.write(A, 5_000_000);
            for at in (500..600).step_by(7) {
                pair.run_until(ms(at));
                assert_eq!((pair.ends[A].limit(&p), pair.ends[A].window()), (Some(limit), window), "{at} ms");
            }
            pair.run();
            assert_eq!(pair.ends[A].limit(&p), Some(SendLimit::Application));
        }
    }
    assert_eq!(Tcp::new(&linux, Duration::ZERO).limit(&linux), None, "not open");
}
