//! Feedback that counts marks: DCTCP's exact echo (RFC 8257) and accurate ECN (RFC 9768).

use aqmkit_base::{Bytes, Duration, Ecn};
use aqmkit_transport::{DelayedAck, EcnFeedback, EcnPackets, Flags, Kind, Profile};

use crate::harness::{A, B, Fate, Pair, ms};

fn profile(feedback: EcnFeedback, delayed_ack: DelayedAck) -> Profile {
    Profile {
        ecn: true,
        ecn_feedback: feedback,
        congestion: Kind::NewReno,
        mss: Bytes(1000),
        initial_window: 20,
        delayed_ack,
        ..Profile::rfc()
    }
}

const LATE: DelayedAck = DelayedAck::After(Duration::from_millis(40));

/// Marks these (from 0) of A's segments with data.
fn mark_data(pair: &mut Pair, which: &'static [u32]) {
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        if from != A || seg.len == 0 {
            return Fate::Pass;
        }
        n += 1;
        if which.contains(&(n - 1)) { Fate::Mark } else { Fate::Pass }
    });
}

/// When the CE state changes, earlier data is acknowledged with the old echo, and the new packet with the new one; within
/// a state every second segment is acknowledged.
#[test]
fn dctcp_echoes_exactly_what_was_marked() {
    let mut pair = Pair::connected(&profile(EcnFeedback::Dctcp, LATE), 100);
    mark_data(&mut pair, &[1, 2, 3, 6]);
    pair.write(A, 8_000);
    pair.run_until(ms(240));
    let acks: Vec<_> =
        pair.sent.iter().filter(|s| s.from == B).map(|s| (s.seg.ack - 1, s.seg.flags.has(Flags::ECE))).collect();
    let expected = [
        (1_000, false), // before the first mark
        (2_000, true),
        (4_000, true), // two marked
        (5_000, false),
        (6_000, false), // waited, then a mark came
        (7_000, true),
        (8_000, false),
    ];
    assert_eq!(acks, expected);
    assert!(pair.sent.iter().all(|s| s.from == A || s.seg.len == 0), "acknowledgements carry no data");
}

/// Three marks in 20 segments reduce once, by what the control makes of it, and the echo needs no CWR to end.
#[test]
fn the_accurate_counter_starts_at_five_and_counts() {
    let mut pair = Pair::connected(&profile(EcnFeedback::Accurate, DelayedAck::None), 100);
    mark_data(&mut pair, &[0, 2, 5, 6, 7, 8, 9, 10, 11, 12]);
    pair.write(A, 20_000);
    pair.run_until(ms(240));
    let counts: Vec<_> = pair.sent.iter().filter(|s| s.from == B).map(|s| s.seg.flags.ace()).collect();
    assert_eq!(counts, [6, 6, 7, 7, 7, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 7, 7]);
    pair.run();
    assert_eq!(pair.ends[A].stats().ecn_reductions, 1);
}

#[test]
fn the_accurate_handshake_tells_how_the_syns_came_through() {
    for (packets, marked, syn_ack, ack) in [
        (EcnPackets::Data, false, 0b010, 0b010),
        (EcnPackets::All, false, 0b100, 0b100),
        (EcnPackets::All, true, 0b110, 0b110),
    ] {
        let mut pair = Pair::new(&Profile { ecn_packets: packets, ..profile(EcnFeedback::Accurate, LATE) }, 100);
        pair.script = Box::new(move |_, seg| if marked && seg.flags.has(Flags::SYN) { Fate::Mark } else { Fate::Pass });
        pair.connect();
        pair.run_until(ms(150));
        pair.write(A, 1_000);
        pair.run_until(ms(200));
        let ace: Vec<_> = pair.sent.iter().map(|s| s.seg.flags.ace()).collect();
        let count = if marked { 6 } else { 5 };
        assert_eq!(ace[..4], [0b111, syn_ack, ack, count]);
        assert!(pair.ends[A].uses_ecn() && pair.ends[B].uses_ecn());
        let expected = if packets == EcnPackets::All { Ecn::Ect0 } else { Ecn::NotEct };
        assert!(pair.sent[..3].iter().all(|s| s.seg.ecn == expected));
        assert_eq!(pair.ends[B].stats().ecn_reductions, 0);
    }
}

/// Either end may know only the classic way, or nothing.
#[test]
fn accurate_falls_back() {
    for old in [A, B] {
        let mut pair = Pair::new(&profile(EcnFeedback::Accurate, DelayedAck::None), 100);
        pair.profiles[old].ecn_feedback = EcnFeedback::Classic;
        mark_data(&mut pair, &[0]);
        pair.connect();
        pair.run_until(ms(150));
        pair.write(A, 5_000);
        pair.run_until(ms(200));
        assert_eq!(pair.sent[1].seg.flags, Flags::SYN.and(Flags::ACK).and(Flags::ECE));
        assert_eq!(pair.times(B, Flags::ECE).len(), 6, "SYN-ACK, and every acknowledgement until CWR");

        let mut without = Pair::new(&profile(EcnFeedback::Accurate, LATE), 100);
        without.profiles[old].ecn = false;
        without.connect();
        without.run_until(ms(150));
        assert!(!without.ends[A].uses_ecn() && !without.ends[B].uses_ecn());
    }
}

/// A burst of lost acknowledgements hides no marks: 16 of 20 segments marked, and only the last acknowledgement
/// arrives. It says 5 + 16 = 5 modulo 8, which may mean 0, 8 or 16 marks; the sender takes the most.
#[test]
fn a_counter_that_wrapped_is_taken_for_the_worst() {
    let mut pair = Pair::connected(&profile(EcnFeedback::Accurate, DelayedAck::None), 100);
    let mut n = 0;
    pair.script = Box::new(move |from, seg| match from {
        A => {
            n += u32::from(seg.len > 0);
            if n <= 16 { Fate::Mark } else { Fate::Pass }
        }
        _ if seg.ack <= 19_001 => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.write(A, 20_000);
    pair.run_until(ms(260));
    assert_eq!(pair.ends[A].acked(), 20_000);
    assert_eq!(pair.ends[A].stats().ecn_reductions, 1);
}

#[test]
fn every_packet_can_be_ecn_capable() {
    for (packets, bare) in [(EcnPackets::Data, Ecn::NotEct), (EcnPackets::All, Ecn::Ect0)] {
        let mut pair = Pair::new(&Profile { ecn_packets: packets, ..profile(EcnFeedback::Dctcp, LATE) }, 100);
        pair.lose_data(&[1]);
        pair.connect();
        pair.write(A, 9_000);
        pair.run();
        for sent in &pair.sent {
            let expected = if sent.seg.len > 0 && !sent.seg.retransmission { Ecn::Ect0 } else { bare };
            assert_eq!(sent.seg.ecn, expected, "{sent:?}");
        }
    }
}

/// Kind and fields of B's options, with what they acknowledge.
fn options(pair: &Pair) -> Vec<(u64, u8, Vec<u32>)> {
    let said = pair.sent.iter().filter(|s| s.from == B);
    said.filter_map(|s| s.seg.options.ecn().map(|o| (s.seg.ack - 1, o.on_wire().0, o.on_wire().1))).collect()
}

/// RFC 9768 section 3.2.3.3: the fields that ever changed, the counts of unmarked bytes from 1 on; with ECT(1) the other kind. An
/// acknowledgement without news has none.
#[test]
fn the_option_counts_bytes() {
    for (congestion, kind) in [(Kind::NewReno, 172), (Kind::Prague, 174)] {
        let p = Profile { congestion, nagle: false, ..profile(EcnFeedback::Accurate, DelayedAck::None) };
        let mut pair = Pair::connected(&p, 100);
        mark_data(&mut pair, &[2]);
        for bytes in [1_000, 300, 1_000, 200] {
            pair.write(A, bytes);
        }
        pair.run_until(ms(240));
        let expected = [
            (1_000, kind, vec![1_001]),
            (1_300, kind, vec![1_301]),
            (2_300, kind, vec![1_301, 1_000]),
            (2_500, kind, vec![1_501, 1_000]),
        ];
        assert_eq!(options(&pair), expected);
        let lengths: Vec<_> = pair.sent.iter().filter(|s| s.from == B).map(|s| p.wire_len(&s.seg).0).collect();
        assert_eq!(lengths, [60; 4], "five and eight bytes are two words each");
        assert!(
            pair.sent.iter().filter(|s| s.from == A).all(|s| s.seg.options.ecn().is_none()),
            "A has received no data"
        );
        pair.run();
    }
    let p = Profile { ecn_option: false, ..profile(EcnFeedback::Accurate, DelayedAck::None) };
    let mut pair = Pair::connected(&p, 100);
    pair.write(A, 3_000);
    pair.run();
    assert_eq!(options(&pair), []);
}

/// RFC 9768 section 3.2.2.5.1: the first marked one behind others is acknowledged at once, and the second mark since the last
/// acknowledgement; else every second segment.
#[test]
fn marks_are_acknowledged_at_once() {
    let mut pair = Pair::connected(&profile(EcnFeedback::Accurate, LATE), 100);
    mark_data(&mut pair, &[2, 3, 4, 6]);
    pair.write(A, 8_000);
    pair.run_until(ms(240));
    let acks: Vec<_> = pair.sent.iter().filter(|s| s.from == B).map(|s| (s.at, s.seg.ack - 1)).collect();
    // 2: the first mark; 3 and 4: two more; 6: the first again, with 5; 7 waits.
    let at = ms(200);
    assert_eq!(acks, [(at, 2_000), (at, 3_000), (at, 5_000), (at, 7_000), (ms(240), 8_000)]);
}

/// `relentless` takes off what was marked, and then grows by a share of what was not. Ten of twenty segments are marked, and only the last
/// acknowledgement arrives: the option says 10000 bytes, the three bits can mean 2, 10 or 18 segments, and the most is taken. Of 1100
/// bytes in two segments the small one is marked: the bits say one segment.
#[test]
fn the_sender_takes_bytes_from_the_option() {
    let window = |ecn_option, writes: &[u64], marks: &'static [u64], last: u64| {
        let p =
            Profile { congestion: Kind::Relentless, ecn_option, nagle: false, ..profile(EcnFeedback::Accurate, LATE) };
        let mut pair = Pair::connected(&p, 100);
        let mut n = 0;
        pair.script = Box::new(move |from, seg| {
            n += u64::from(from == A && seg.len > 0);
            match from {
                A if seg.len > 0 && marks.contains(&(n - 1)) => Fate::Mark,
                B if seg.ack <= last => Fate::Drop,
                _ => Fate::Pass,
            }
        });
        writes.iter().for_each(|&bytes| pair.write(A, bytes));
        pair.run_until(ms(320));
        assert_eq!(pair.ends[A].acked(), writes.iter().sum::<u64>());
        pair.ends[A].cwnd()
    };
    let half: &[u64] = &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18];
    let burst = [true, false].map(|option| window(option, &[20_000], half, 19_001));
    assert_eq!(burst, [10_000 + 100, 2_000 + 500]);
    let small = [true, false].map(|option| window(option, &[1_000, 100], &[1], 0));
    assert_eq!(small, [19_900 + 50, 19_000 + 52]);
}

/// RFC 9768 section 3.2.3.3: beside timestamps and the option there is room for two blocks; two blocks go before three fields.
#[test]
fn two_blocks_of_sack_go_first() {
    let p = Profile { sack: true, ..profile(EcnFeedback::Accurate, DelayedAck::None) };
    let mut pair = Pair::connected(&p, 100);
    pair.lose_bytes([1, 3, 5, 7].map(|n| n * 1000).to_vec());
    pair.write(A, 12_000);
    pair.run_until(ms(240));
    let said: Vec<_> = pair.sent.iter().filter(|s| s.from == B).collect();
    assert!(said.iter().all(|s| s.seg.options.wire_len() <= 28 && s.seg.options.ecn().is_some()));
    assert_eq!(said.last().map(|s| s.seg.options.block_count()), Some(2));
    pair.run();
    assert_eq!(pair.ends[B].delivered(), 12_000);
}

/// The three bits alone, and every segment is acknowledged.
fn three_bits() -> Profile {
    Profile { ecn_option: false, nagle: false, ..profile(EcnFeedback::Accurate, DelayedAck::None) }
}

/// RFC 9768 section 3.2.2.1: the last acknowledgement of the handshake says how the SYN-ACK came through, and is no count. Where it is lost,
/// data comes first, and what that counts is the SYN-ACK.
#[test]
fn the_handshake_counts_no_marks_of_data() {
    for (packets, marked) in [(EcnPackets::Data, false), (EcnPackets::All, false), (EcnPackets::All, true)] {
        for lost in [false, true] {
            let mut pair = Pair::new(&Profile { ecn_packets: packets, ..three_bits() }, 100);
            let mut left = u32::from(lost);
            pair.script = Box::new(move |from, seg| {
                let syn = seg.flags.has(Flags::SYN);
                let lose = from == A && !syn && left > 0;
                left -= u32::from(lose);
                match (lose, syn && marked) {
                    (true, _) => Fate::Drop,
                    (false, true) => Fate::Mark,
                    (false, false) => Fate::Pass,
                }
            });
            pair.connect();
            pair.run_until(ms(150));
            if lost {
                pair.write(A, 1_000);
            }
            pair.run_until(ms(300));
            pair.write(B, 5_000);
            pair.run_until(ms(450));
            assert_eq!(pair.ends[B].acked(), 5_000);
            assert_eq!(pair.ends[B].stats().ecn_reductions, 0, "{packets:?}, marked: {marked}, lost: {lost}");
        }
    }
}

/// The third of five acknowledgements is overtaken by the last, which has told of two marks: later ones do not tell of them again.
#[test]
fn an_old_acknowledgement_takes_no_count_back() {
    let mut pair = Pair::connected(&three_bits(), 100);
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        n += u32::from(from == A && seg.len > 0);
        match from {
            A if seg.len > 0 && (n == 4 || n == 5) => Fate::Mark,
            B if seg.ack == 3_001 => Fate::Late(Duration::from_millis(20)),
            _ => Fate::Pass,
        }
    });
    pair.write(A, 5_000);
    pair.run_until(ms(300));
    assert_eq!(pair.ends[A].stats().ecn_reductions, 1);
    pair.write(A, 3_000);
    pair.run_until(ms(600));
    assert_eq!((pair.ends[A].acked(), pair.ends[A].stats().ecn_reductions), (8_000, 1));
}

/// Data from B reports a mark above a hole in A's data, and acknowledges nothing. The acknowledgement of the hole repeats the report, and then
/// the mark counts.
#[test]
fn data_that_acknowledges_nothing_hides_no_marks() {
    let mut pair = Pair::connected(&three_bits(), 100);
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        n += u32::from(from == A && seg.len > 0);
        match from {
            A if seg.len > 0 && n == 1 => Fate::Late(Duration::from_millis(20)),
            A if seg.len > 0 && n == 2 => Fate::Mark,
            // The duplicate that says so, too.
            B if seg.len == 0 && seg.ack == 1 => Fate::Drop,
            _ => Fate::Pass,
        }
    });
    pair.write(A, 2_000);
    pair.run_until(ms(210));
    pair.write(B, 500);
    pair.run_until(ms(350));
    assert_eq!((pair.ends[A].acked(), pair.ends[A].stats().ecn_reductions), (2_000, 1));
}

/// Data goes with the option only where both are no larger than a full segment. What had no room goes with the next acknowledgement.
#[test]
fn data_has_the_option_where_there_is_room() {
    for (bytes, room) in [(992, true), (993, false), (1_000, false)] {
        let mut pair = Pair::connected(&Profile { nagle: false, ..profile(EcnFeedback::Accurate, LATE) }, 100);
        pair.write(A, 1_000);
        pair.run_until(ms(205));
        pair.write(B, bytes);
        let with_data = pair.sent.last().unwrap();
        assert_eq!((with_data.from, u64::from(with_data.seg.len)), (B, bytes));
        assert_eq!(with_data.seg.options.ecn().is_some(), room, "{bytes}");
        pair.write(A, 500);
        pair.run_until(ms(400));
        assert_eq!(options(&pair).last(), Some(&(1_500, 172, vec![1_501])));
    }
}
