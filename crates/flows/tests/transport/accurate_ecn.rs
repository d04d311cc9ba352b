//! Feedback that counts marks: DCTCP's exact echo (RFC 8257) and accurate ECN (RFC 9768).

use aqmkit_base::{Bytes, Duration, Ecn};
use aqmkit_flows::transport::{DelayedAck, EcnFeedback, EcnPackets, Flags, Kind, Profile};

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

/// A change of state acknowledges what came before with the old echo, and what has come with the new one; within
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
