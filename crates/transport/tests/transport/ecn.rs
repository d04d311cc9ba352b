//! Explicit congestion notification, RFC 3168.

use aqmkit_base::{Bytes, Duration, Ecn};
use aqmkit_transport::{DelayedAck, Flags, Kind, Profile};

use crate::harness::{A, B, Fate, Pair, ms};

fn profile(flight: u32) -> Profile {
    Profile {
        ecn: true,
        congestion: Kind::NewReno,
        mss: Bytes(1000),
        initial_window: flight,
        receive_window: Bytes(60_000),
        delayed_ack: DelayedAck::None,
        slow_start_when_equal: false,
        ..Profile::bsd44()
    }
}

fn mark_first_data(pair: &mut Pair, count: u32) {
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        n += u32::from(from == A && seg.len > 0);
        if from == A && seg.len > 0 && n <= count { Fate::Mark } else { Fate::Pass }
    });
}

#[test]
fn the_handshake_negotiates() {
    let mut pair = Pair::new(&profile(2), 100);
    pair.connect();
    pair.write(A, 3_000);
    pair.run();
    let setup = Flags::SYN.and(Flags::ECE).and(Flags::CWR);
    assert_eq!(pair.sent[0].seg.flags, setup);
    assert_eq!(pair.sent[1].seg.flags, Flags::SYN.and(Flags::ACK).and(Flags::ECE));
    assert!(pair.ends[A].uses_ecn() && pair.ends[B].uses_ecn());
    for sent in &pair.sent {
        let expected = if sent.seg.len > 0 { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(sent.seg.ecn, expected, "{sent:?}");
    }
}

#[test]
fn it_takes_two() {
    for willing in [A, B] {
        let mut pair = Pair::new(&profile(2), 100);
        pair.profiles[1 - willing].ecn = false;
        pair.connect();
        pair.write(A, 3_000);
        pair.run();
        assert!(!pair.ends[A].uses_ecn() && !pair.ends[B].uses_ecn());
        assert!(pair.sent.iter().all(|s| s.seg.ecn == Ecn::NotEct));
        assert!(pair.sent.iter().skip(1).all(|s| !s.seg.flags.has(Flags::ECE)));
    }
}

/// Ten in flight, all marked: one reduction, no growth by acknowledgements that echo, and the echo stops
/// when CWR arrives.
#[test]
fn a_window_of_marks_halves_once() {
    let mut pair = Pair::connected(&profile(10), 100);
    mark_first_data(&mut pair, 10);
    pair.write(A, u64::MAX);
    pair.run_until(ms(349));
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (5_000, 5_000));
    let cwr: Vec<_> = pair.sent.iter().filter(|s| s.seg.flags.has(Flags::CWR)).collect();
    assert_eq!(cwr.len(), 1);
    assert_eq!((cwr[0].at, cwr[0].seg.seq), (ms(250), 10_001));
    assert_eq!(pair.times(B, Flags::ECE), [ms(200); 10]);
    // Then five acknowledgements without an echo: one segment more.
    pair.run_until(ms(350));
    assert!((5_900..6_000).contains(&pair.ends[A].cwnd()));
    assert_eq!(pair.ends[A].stats().ecn_reductions, 1);
    assert_eq!(pair.ends[A].stats().retransmissions, 0);
}

/// RFC 3168 section 6.1.2: an acknowledgement that echoes never opens the window, however much it acknowledges. Of three segments the first is late, but not
/// so late that the others, which are marked, would show a loss: two duplicates, then all three are acknowledged. After CWR nothing echoes, and the window opens
/// again.
#[test]
fn an_echo_never_opens_the_window() {
    let mut pair = Pair::connected(&profile(3), 100);
    pair.script = Box::new(|from, seg| match (from, seg.len, seg.seq) {
        (A, 1.., 1) => Fate::Late(Duration::from_millis(10)),
        (A, 1.., ..3000) => Fate::Mark,
        _ => Fate::Pass,
    });
    pair.write(A, u64::MAX);
    pair.run_until(ms(250));
    assert_eq!((pair.ends[A].stats().dup_acks, pair.ends[A].stats().ecn_reductions), (2, 1));
    let reduced = pair.ends[A].cwnd();
    pair.run_until(ms(260));
    assert_eq!((pair.ends[A].acked(), pair.ends[A].cwnd()), (3_000, reduced));
    pair.run_until(ms(460));
    assert!(pair.ends[A].cwnd() > reduced);
}

#[test]
fn marks_in_the_next_window_halve_again() {
    let mut pair = Pair::connected(&profile(16), 100);
    mark_first_data(&mut pair, 17);
    pair.write(A, u64::MAX);
    pair.run_until(ms(350));
    assert_eq!(pair.ends[A].stats().ecn_reductions, 2);
    assert_eq!(pair.ends[A].ssthresh(), 4_000);
}

/// RFC 3168 section 6.1.2: two segments come down to one, and one stays one. Linux stops at two.
#[test]
fn marks_leave_one_segment() {
    for congestion in [Kind::Reno, Kind::NewReno] {
        for (least_after_mark, left) in [(1, 1_000), (2, 2_000)] {
            let p = Profile { congestion: congestion.clone(), least_after_mark, ..profile(4) };
            let mut pair = Pair::connected(&p, 100);
            mark_first_data(&mut pair, u32::MAX);
            pair.write(A, 20_000);
            pair.run_until(ms(800));
            assert_eq!(pair.ends[A].cwnd(), left, "{congestion:?}");
            assert_eq!(pair.ends[A].stats().timeouts, 0, "{congestion:?}");
        }
    }
}

/// Nothing could ever be sent again.
#[test]
fn marks_leave_something() {
    let told = Profile { least_after_mark: 0, ..profile(4) }.check().unwrap_err().to_string();
    assert!(told.contains("least_after_mark"), "{told}");
}

/// A loss has halved the window already; its retransmission is not ECN-capable; CWR goes on the first new
/// data.
#[test]
fn a_loss_and_a_mark_in_one_window_halve_once() {
    let mut pair = Pair::connected(&profile(10), 100);
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        if from != A || seg.len == 0 {
            return Fate::Pass;
        }
        n += 1;
        match n {
            1 => Fate::Drop,
            9 => Fate::Mark,
            _ => Fate::Pass,
        }
    });
    pair.write(A, u64::MAX);
    pair.run_until(ms(349));
    assert_eq!(pair.ends[A].ssthresh(), 5_000);
    let stats = pair.ends[A].stats();
    assert_eq!((stats.ecn_reductions, stats.fast_retransmits), (0, 1));
    let again = pair.sent.iter().find(|s| s.seg.retransmission).unwrap();
    assert_eq!((again.seg.ecn, again.seg.flags.has(Flags::CWR)), (Ecn::NotEct, false));
    let first_new = pair.sent.iter().find(|s| s.seg.seq == 10_001).unwrap();
    assert!(first_new.seg.flags.has(Flags::CWR));
}
