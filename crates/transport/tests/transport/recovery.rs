//! Recovery with SACK, RACK and probes, packet by packet.

use aqmkit_base::{Bytes, Duration};
use aqmkit_transport::{DelayedAck, Event, Flags, Kind, LossDetection, Profile, RateReduction};

use crate::harness::{A, B, Fate, Pair, lose_flag, ms};

/// Segments of 1000 bytes, every one acknowledged, exact timers of at least a second; a first flight of so
/// many segments.
fn profile(congestion: Kind, flight: u32) -> Profile {
    Profile {
        congestion,
        mss: Bytes(1000),
        initial_window: flight,
        receive_window: Bytes(60_000),
        delayed_ack: DelayedAck::None,
        ..Profile::rfc()
    }
}

fn rack(flight: u32) -> Profile {
    Profile { loss_detection: LossDetection::Rack, ..profile(Kind::Sack, flight) }
}

/// So much data from 150 ms on, round trips of 100 ms, and these segments (from 0) lost once.
fn run(p: &Profile, bytes: u64, lost: impl IntoIterator<Item = u64>) -> Pair {
    let mut pair = Pair::connected(p, 100);
    pair.lose_bytes(lost.into_iter().map(|n| n * 1000).collect());
    pair.write(A, bytes);
    pair
}

/// When segments (from 0) were sent again.
fn again(pair: &Pair) -> Vec<(u64, u64)> {
    let resent = pair.sent.iter().filter(|s| s.from == A && s.seg.retransmission);
    resent.map(|s| (s.at.as_nanos() / 1_000_000, (s.seg.seq - 1) / 1000)).collect()
}

/// The first n of sixteen are lost; the sixteen less n duplicates come at 250. Half the window is eight: with SACK
/// that many go at 250, first all that is lost, then new data, so that everything is mended after one round trip.
/// `NewReno` mends one in each. Reno needs the timer from three on.
#[test]
fn bursts_of_losses() {
    for losses in 1..=8 {
        let sack = profile(Kind::Sack, 16);
        let reduced = Profile { rate_reduction: RateReduction::Rfc6937, ..rack(16) };
        for p in [&sack, &rack(16), &reduced] {
            let mut pair = run(p, u64::MAX, 0..losses);
            pair.run_until(ms(299));
            let name = format!("{losses} losses, {:?}", p.loss_detection);
            assert_eq!(again(&pair), (0..losses).map(|n| (250, n)).collect::<Vec<_>>(), "{name}");
            let new = pair.data(A).iter().filter(|d| d.0 == ms(250) && d.1 >= 16_000).count() as u64;
            assert_eq!(new, 8 - losses, "{name}");
            assert_eq!((pair.ends[A].pipe(p), pair.ends[A].ssthresh()), (8_000, 8_000), "{name}");
            pair.run_until(ms(300));
            assert_eq!(pair.ends[B].delivered(), 16_000 + new * 1000, "{name}");
            pair.run_until(ms(5_000));
            let stats = pair.ends[A].stats();
            assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 0), "{name}");
            assert_eq!(stats.retransmissions, losses as u32, "{name}");
        }
        let mut pair = run(&profile(Kind::NewReno, 16), u64::MAX, 0..losses);
        pair.run_until(ms(200 + 100 * losses));
        assert!(pair.ends[B].delivered() >= 16_000, "{losses} losses");
        assert_eq!((again(&pair).len() as u64, pair.ends[A].stats().timeouts), (losses, 0));
        pair = run(&profile(Kind::Reno, 16), u64::MAX, 0..losses);
        pair.run_until(ms(8_000));
        assert_eq!(pair.ends[A].stats().timeouts > 0, losses > 2, "{losses} losses");
    }
}

/// Holes anywhere, and the window in recovery is the threshold, not inflated.
#[test]
fn scattered_losses_are_mended_in_a_round_trip() {
    let p = profile(Kind::Sack, 16);
    let mut pair = run(&p, u64::MAX, [0, 3, 5, 9]);
    pair.run_until(ms(299));
    assert_eq!(again(&pair), [(250, 0), (250, 3), (250, 5), (250, 9)]);
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].pipe(&p)), (8_000, 8_000));
    pair.run_until(ms(300));
    assert_eq!(pair.ends[B].delivered(), 20_000);
}

/// `NextSeg` rules 3 and 4: ten segments and no more data. 0 and 9 are lost; nothing comes from above 9, so that
/// only the rescue retransmission finds it, when the acknowledgement of 0 has arrived.
#[test]
fn the_end_of_a_flight_is_rescued() {
    let mut pair = run(&profile(Kind::Sack, 10), 10_000, [0, 9]);
    pair.run();
    assert_eq!(again(&pair), [(250, 0), (350, 9)]);
    assert_eq!(pair.ends[A].stats().timeouts, 0);
    // 8 has arrived, 7 has not: rule 3 sends it although only one segment came from above. The acknowledgement of 0 is
    // just ahead of the one of 7, and rule 4 does not ask whether 7 was sent again.
    pair = run(&profile(Kind::Sack, 9), 9_000, [0, 7]);
    pair.run();
    assert_eq!(again(&pair), [(250, 0), (250, 7), (350, 7)]);
}

/// The retransmission is lost as well: by time it is found a round trip later, by SACK alone only by the timer.
#[test]
fn lost_retransmissions() {
    for (p, when, timeouts) in [(profile(Kind::Sack, 10), 1_250, 1), (rack(10), 350, 0)] {
        let mut pair = Pair::connected(&p, 100);
        pair.lose_data(&[0, 10]);
        pair.write(A, 30_000);
        pair.run();
        assert_eq!(again(&pair), [(250, 0), (when, 0)]);
        assert_eq!(pair.ends[A].stats().timeouts, timeouts);
        assert_eq!(pair.ends[B].delivered(), 30_000);
    }
}

/// RFC 6675 section 5.1: after a timeout what was SACKed is not sent again.
#[test]
fn a_timeout_passes_over_what_has_come() {
    for p in [profile(Kind::Sack, 8), rack(8)] {
        let mut pair = Pair::connected(&p, 100);
        // 0, 3 and 6 of the first flight, and what goes again at 250.
        let mut n = 0;
        pair.script = Box::new(move |from, seg| {
            n += u32::from(from == A && seg.len > 0);
            let hit = [1, 4, 7].contains(&n) || (seg.retransmission && n < 14);
            if from == A && seg.len > 0 && hit { Fate::Drop } else { Fate::Pass }
        });
        pair.write(A, 8_000);
        pair.run();
        assert_eq!(pair.ends[B].delivered(), 8_000);
        assert!(again(&pair).iter().all(|r| [0, 3, 6].contains(&r.1)), "{:?}", again(&pair));
        assert!(pair.ends[A].stats().timeouts > 0);
    }
}

/// RFC 3042: of three segments the first is lost. Two duplicates let two more go, the answer to the first of them
/// is the third. The window is halved from the three.
#[test]
fn limited_transmit_makes_the_third_duplicate() {
    for kind in [Kind::NewReno, Kind::Sack] {
        let p = Profile { limited_transmit: true, ..profile(kind.clone(), 3) };
        let mut pair = run(&p, u64::MAX, [0]);
        pair.run_until(ms(349));
        assert_eq!(pair.data(A)[3..], [(ms(250), 3_000), (ms(250), 4_000)], "{kind:?}");
        pair.run_until(ms(350));
        assert_eq!((again(&pair), pair.ends[A].ssthresh()), (vec![(350, 0)], 2_000), "{kind:?}");
        pair = run(&profile(kind.clone(), 3), u64::MAX, [0]);
        pair.run_until(ms(3_000));
        assert_eq!(again(&pair)[0], (1_150, 0), "{kind:?}");
    }
}

/// RFC 5827: three segments are all there is; two duplicates are enough. And one of two.
#[test]
fn early_retransmit_needs_as_many_as_can_come() {
    for flight in [2, 3] {
        let p = Profile { early_retransmit: true, ..profile(Kind::Sack, 4) };
        let mut pair = run(&p, flight * 1000, [0]);
        pair.run();
        assert_eq!(again(&pair), [(250, 0)], "{flight} in flight");
    }
}

/// Mathis and Mahdavi: one piece from far above shows that what lies far below is lost.
#[test]
fn forward_acknowledgement_needs_one_piece_from_above() {
    for (loss_detection, when) in [(LossDetection::Fack, 250), (LossDetection::Sack, 1_150)] {
        let p = Profile { loss_detection, ..profile(Kind::Sack, 8) };
        let mut pair = run(&p, 8_000, 0..7);
        pair.run();
        assert_eq!(again(&pair)[0], (when, 0), "{loss_detection:?}");
    }
}

/// RFC 8985 section 6.2: one that overtakes shows nothing for a quarter of a round trip. Then what is below it is lost: of four in flight half the
/// window, two segments, go again at once, the third when the first of them is acknowledged.
#[test]
fn what_is_late_at_the_end_of_the_reordering_window_goes_again() {
    let mut pair = run(&rack(10), 10_000, [6, 7, 8]);
    pair.run();
    assert_eq!(again(&pair), [(275, 6), (275, 7), (375, 8)]);
}

/// RFC 8985 section 6.2: three that overtake show nothing yet where segments are known to be reordered; the first
/// is late by a fifth of a round trip, less than the reordering window.
#[test]
fn reordering_within_a_quarter_of_a_round_trip_is_tolerated() {
    let late_first = |n: u64| {
        let mut left = Some(n * 1000 + 1);
        let f: crate::harness::Script = Box::new(move |from, seg| {
            let late = from == A && seg.len > 0 && left == Some(seg.seq);
            if late {
                left = None;
            }
            if late { Fate::Late(Duration::from_millis(20)) } else { Fate::Pass }
        });
        f
    };
    let mut pair = Pair::connected(&rack(10), 100);
    // Two overtake, which is no loss and shows the reordering.
    pair.script = late_first(0);
    pair.write(A, 3_000);
    pair.run();
    assert_eq!(pair.ends[A].stats().retransmissions, 0);
    pair.script = late_first(3);
    pair.write(A, 10_000);
    pair.run();
    assert_eq!(pair.ends[A].stats().retransmissions, 0);
    // With SACK alone the same is taken for a loss.
    pair = Pair::connected(&profile(Kind::Sack, 10), 100);
    pair.script = late_first(0);
    pair.write(A, 10_000);
    pair.run();
    assert_eq!(pair.ends[A].stats().retransmissions, 1);
}

/// Ten segments, the last is lost. The acknowledgements at 250 leave one in flight, so that a probe goes after two
/// round trips and the delay of an acknowledgement; without probes the timer takes a second. The acknowledgement
/// of later data shows that the probe has mended a loss, and reduces the window.
#[test]
fn a_lost_tail_is_found_by_a_probe() {
    for detection in [LossDetection::Rack, LossDetection::Sack] {
        let without = Profile { loss_detection: detection, ..profile(Kind::Sack, 10) };
        let with = Profile { tail_loss_probe: true, ..without.clone() };
        let mut pair = run(&without, 10_000, [9]);
        pair.run();
        assert_eq!((again(&pair), pair.ends[A].stats().timeouts), (vec![(1_250, 9)], 1));
        pair = run(&with, 10_000, [9]);
        pair.run();
        let stats = *pair.ends[A].stats();
        assert_eq!((again(&pair), stats.timeouts, stats.tail_probes), (vec![(650, 9)], 0, 1));
        let before = pair.ends[A].cwnd();
        pair.write(A, 1_000);
        pair.run();
        assert!(pair.ends[A].cwnd() < before);
    }
}

/// Three segments of the tail are lost: the probe repairs the last, which lets RACK detect the other two.
#[test]
fn a_probe_shows_the_rest_of_a_lost_tail() {
    let p = Profile { tail_loss_probe: true, ..rack(10) };
    let mut pair = run(&p, 10_000, [7, 8, 9]);
    pair.run();
    assert_eq!(again(&pair), [(450, 9), (550, 7), (550, 8)]);
    assert_eq!((pair.ends[A].stats().timeouts, pair.ends[A].stats().fast_retransmits), (0, 1));
}

/// Everything came, its acknowledgements did not: the probe's answer is a duplicate, and nothing is reduced.
#[test]
fn a_needless_probe_costs_nothing() {
    let p = Profile { tail_loss_probe: true, ..rack(10) };
    let mut pair = Pair::connected(&p, 100);
    let mut left = 1;
    pair.script = Box::new(move |from, seg| {
        let lose = from == B && seg.ack == 5_001 && left > 0;
        left -= i32::from(lose);
        if lose { Fate::Late(Duration::from_millis(350)) } else { Fate::Pass }
    });
    pair.write(A, 5_000);
    pair.run();
    let cwnd = pair.ends[A].cwnd();
    pair.write(A, 1_000);
    pair.run();
    assert_eq!(pair.ends[A].stats().timeouts, 0);
    assert!(pair.ends[A].cwnd() >= cwnd);
}

/// RFC 8985 section 7.3. One segment at a time, and round trips that are longer than the probe's timeout from the second on: a probe goes for
/// it, and what answers one of two copies measures nothing. No probe goes for the third, which is measured; then one may go again.
#[test]
fn no_probe_goes_before_a_round_trip_is_measured() {
    let p = Profile { tail_loss_probe: true, timestamps: false, ..rack(10) };
    let mut pair = Pair::connected(&p, 100);
    let mut round_trips = Vec::new();
    for at in [1_000, 3_000, 5_000, 7_000, 9_000] {
        pair.run_until(ms(at));
        pair.write(A, 1_000);
        pair.run_until(ms(at + 1_900));
        let (probes, timeouts) = (pair.ends[A].stats().tail_probes, pair.ends[A].stats().timeouts);
        round_trips.push((pair.ends[A].srtt(&p).unwrap().as_nanos() / 1_000_000, probes, timeouts));
        pair.delay = Duration::from_millis(300);
    }
    assert_eq!(round_trips, [(100, 0, 0), (100, 1, 0), (162, 1, 0), (162, 2, 0), (217, 2, 0)]);
}

/// Linux: SYNs after 1, 2, 4 s; a lost SYN-ACK is sent again by the timer, or sooner by the SYN; a lost FIN is
/// probed for at the timeout, which is the round trip and 200 ms.
#[test]
fn linux_mends_handshake_and_close() {
    for name in ["linux-3.18", "linux-6"] {
        let p = Profile::named(name).unwrap();
        let mut pair = Pair::new(&p, 100);
        pair.script = lose_flag(A, Flags::SYN, &[0, 1]);
        pair.connect();
        pair.run_until(ms(5_000));
        assert_eq!(pair.times(A, Flags::SYN), [ms(0), ms(1_000), ms(3_000)], "{name}");
        assert!(pair.ends[A].uses_sack());
        pair = Pair::new(&p, 100);
        pair.script = lose_flag(B, Flags::SYN, &[0]);
        pair.connect();
        pair.run_until(ms(5_000));
        assert_eq!(pair.when(A, Event::Connected), [ms(1_100)], "{name}");
        pair = Pair::connected(&p, 100);
        pair.script = lose_flag(A, Flags::FIN, &[0]);
        pair.close(A);
        pair.run();
        assert_eq!(pair.times(A, Flags::FIN), [ms(150), ms(450)], "{name}");
        assert_eq!(pair.ends[A].stats().tail_probes, 1, "{name}");
    }
}

/// Segments by themselves, 100 ms apart: the first sixteen are acknowledged at once, then 40 ms later.
#[test]
fn linux_acknowledges_quickly_at_first() {
    let p = Profile { nagle: false, ..Profile::linux_6() };
    let mut pair = Pair::connected(&p, 10);
    for n in 0..20 {
        pair.run_until(ms(1_000 + 100 * n));
        pair.write(A, 1000);
    }
    pair.run();
    let times: Vec<u64> = pair.acks(B).iter().map(|a| a.0.as_nanos() / 1_000_000 % 100).collect();
    assert_eq!(times, [[5; 16].as_slice(), &[45; 4]].concat());
    // 30 ms apart: 40 ms, then half of the delay and 30 ms, up to 59. Every second segment is acknowledged with the
    // one before it; the last but one came at 1545.
    pair = Pair::connected(&Profile { quick_acks: 0, ..p }, 10);
    for n in 0..20 {
        pair.run_until(ms(1_000 + 30 * n));
        pair.write(A, 100);
    }
    pair.run();
    assert_eq!(pair.acks(B).last().map(|a| a.0), Some(ms(1_604)));
}

/// A peer without the option: `NewReno`'s recovery. Blocks are paid for in the header.
#[test]
fn sack_is_negotiated_and_counted() {
    let p = profile(Kind::Sack, 10);
    for refuses in [A, B] {
        let mut pair = Pair::new(&p, 100);
        pair.profiles[refuses].congestion = Kind::NewReno;
        pair.lose_bytes(vec![0]);
        pair.connect();
        pair.write(A, 10_000);
        pair.run();
        assert!(!pair.ends[A].uses_sack() && !pair.ends[B].uses_sack());
        assert!(pair.sent.iter().all(|s| s.seg.options.block_count() == 0));
        assert_eq!(pair.ends[A].stats().retransmissions, 1);
    }
    let mut pair = run(&p, 10_000, [0, 2, 4, 6]);
    pair.run();
    let longest = pair.sent.iter().filter(|s| s.from == B).map(|s| p.wire_len(&s.seg)).max();
    assert_eq!(longest, Some(Bytes(52 + 4 + 24)), "three beside a timestamp");
    let full = pair.sent.iter().map(|s| p.wire_len(&s.seg)).max();
    assert_eq!(full, Some(Bytes(1052)));
}

/// Both ends send, both lose: no segment is longer than the path allows.
#[test]
fn data_makes_room_for_blocks() {
    let p = profile(Kind::Sack, 10);
    let mut pair = run(&p, 50_000, [1, 3, 5]);
    pair.write(B, 50_000);
    pair.run();
    assert_eq!((pair.ends[A].delivered(), pair.ends[B].delivered()), (50_000, 50_000));
    let with_blocks = pair.sent.iter().filter(|s| s.seg.len > 0 && s.seg.options.block_count() > 0).count();
    assert!(with_blocks > 0);
    assert!(pair.sent.iter().all(|s| p.wire_len(&s.seg) <= Bytes(1052)));
}

/// RFC 8985 section 6.2 step 5: the reordering timer ends with what it waited for. The first of four is late by 10 ms; then nothing is out of order, and
/// what is due next is the retransmission timer, a second after the
/// acknowledgement at 260, or a probe after twice the smoothed round trip, 7/8 of 100 and 1/8 of 110 ms.
#[test]
fn the_reordering_timer_ends_when_what_was_late_has_come() {
    for (probes, next) in [(false, 1_260_000), (true, 462_500)] {
        let p = Profile {
            congestion: Kind::Sack,
            loss_detection: LossDetection::Rack,
            tail_loss_probe: probes,
            initial_window: 10,
            delayed_ack: DelayedAck::None,
            timestamps: false,
            ..Profile::rfc()
        };
        let mut pair = Pair::connected(&p, 100);
        let mut n = 0;
        pair.script = Box::new(move |from, seg| {
            n += u32::from(from == A && seg.len > 0);
            // The third to fifth come long after.
            match (from, n) {
                (A, 1) => Fate::Late(Duration::from_millis(10)),
                (A, 3..) => Fate::Late(Duration::from_millis(500)),
                _ => Fate::Pass,
            }
        });
        pair.write(A, 5 * 1448);
        pair.run_until(ms(255));
        assert_eq!(pair.ends[A].deadline(), Some(ms(275)), "a quarter of the round trip after the second");
        pair.run_until(ms(263));
        assert_eq!(pair.ends[A].acked(), 2 * 1448);
        assert_eq!(pair.ends[A].deadline().map(|at| at.as_nanos() / 1_000), Some(next), "{probes}");
    }
}
