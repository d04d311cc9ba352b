//! How connections close.

use aqmkit_transport::{Event, Flags, Profile, Segment, Tcp};

use crate::harness::{A, B, Fate, Pair, lose_flag, ms};

fn exchange(first: usize, second: usize) -> Pair {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.write(first, 3000);
    pair.write(second, 500);
    pair.close(first);
    pair.run();
    pair
}

#[test]
fn either_end_may_close_first() {
    for (first, second) in [(A, B), (B, A)] {
        let pair = exchange(first, second);
        assert_eq!((pair.ends[second].delivered(), pair.ends[first].delivered()), (3000, 500));
        for end in [A, B] {
            assert!(pair.ends[end].is_closed());
            assert_eq!(pair.when(end, Event::PeerFinished).len(), 1);
            assert_eq!(pair.when(end, Event::Closed).len(), 1);
            assert_eq!(pair.ends[end].flight(), 0);
        }
        assert_eq!(pair.ends[first].acked(), 3000);
    }
}

/// FIN at 150, answered by an acknowledgement at once and the other FIN after it, acknowledged at 250.
#[test]
fn an_empty_connection_closes_in_a_round_trip_and_a_half() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.close(A);
    pair.run();
    assert_eq!(pair.times(A, Flags::FIN), [ms(150)]);
    assert_eq!(pair.times(B, Flags::FIN), [ms(200)]);
    assert_eq!(pair.when(B, Event::PeerFinished), [ms(200)]);
    assert_eq!(pair.when(A, Event::Closed), [ms(250)]);
    assert_eq!(pair.when(B, Event::Closed), [ms(300)]);
}

#[test]
fn the_fin_rides_on_the_last_data() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.call(A, |tcp, p, now, out| {
        tcp.write(p, 1448, now, out);
        tcp.write(p, 100, now, out);
        tcp.close(p, now, out);
    });
    pair.run();
    let fins: Vec<_> = pair.sent.iter().filter(|s| s.from == A && s.seg.flags.has(Flags::FIN)).collect();
    assert_eq!((fins.len(), fins[0].seg.len, fins[0].seg.seq), (1, 100, 1449));
}

/// 4.4BSD's `tcp_output`: the data that empties the buffer is pushed. A FIN by itself has none.
#[test]
fn the_last_data_is_pushed() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.write(A, 4000);
    pair.run();
    pair.close(A);
    pair.run();
    let sent = pair.sent.iter().filter(|s| s.from == A && (s.seg.len > 0 || s.seg.flags.has(Flags::FIN)));
    let pushed: Vec<_> = sent.map(|s| (s.seg.seq - 1, s.seg.len, s.seg.flags.has(Flags::PSH))).collect();
    assert_eq!(pushed, [(0, 1448, false), (1448, 1448, false), (2896, 1104, true), (4000, 0, false)]);
}

#[test]
fn a_half_closed_connection_goes_on_the_other_way() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.closes_back = [false; 2];
    pair.close(A);
    pair.run();
    assert!(!pair.ends[A].is_closed() && !pair.ends[B].is_closed());
    pair.write(B, 50_000);
    pair.run();
    assert_eq!(pair.ends[A].delivered(), 50_000);
    pair.close(B);
    pair.run();
    assert!(pair.ends[A].is_closed() && pair.ends[B].is_closed());
}

#[test]
fn both_ends_may_close_at_once() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.write(A, 2000);
    pair.write(B, 2000);
    pair.close(A);
    pair.close(B);
    pair.run();
    assert_eq!((pair.ends[A].delivered(), pair.ends[B].delivered()), (2000, 2000));
    assert!(pair.ends[A].is_closed() && pair.ends[B].is_closed());
}

/// Sent at 150; a round trip has been measured (the handshake's), so the timeout is 3 ticks: 500, 1000,
/// 1500.
#[test]
fn a_lost_fin_is_sent_again() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.script = lose_flag(A, Flags::FIN, &[0]);
    pair.close(A);
    pair.run();
    assert_eq!(pair.times(A, Flags::FIN), [ms(150), ms(1_500)]);
    assert!(pair.ends[A].is_closed() && pair.ends[B].is_closed());
}

/// The acknowledgement of the last FIN is lost: the FIN comes again, and the closed end answers it.
#[test]
fn a_lost_last_acknowledgement_is_made_up_for() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    let mut lost = 0;
    pair.script = Box::new(move |from, seg| {
        // A's only pure acknowledgement after its FIN.
        let last = from == A && seg.seq == 2;
        lost += u32::from(last);
        if last && lost == 1 { Fate::Drop } else { Fate::Pass }
    });
    pair.close(A);
    pair.run();
    assert_eq!(pair.when(A, Event::Closed), [ms(250)]);
    // Sent at 200 and timed for 3 ticks.
    assert_eq!(pair.times(B, Flags::FIN), [ms(200), ms(1_500)]);
    assert_eq!(pair.when(B, Event::Closed), [ms(1_600)]);
    assert_eq!(pair.events.iter().filter(|e| e.2 == Event::Closed).count(), 2);
}

#[test]
fn a_stream_without_end_ends_when_it_is_closed() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.write(A, u64::MAX);
    pair.run_until(ms(5_000));
    pair.close(A);
    pair.run();
    assert!(pair.ends[A].is_closed() && pair.ends[B].is_closed());
    assert_eq!(pair.ends[A].acked(), pair.ends[B].delivered());
}

#[test]
fn closing_before_the_connection_is_open() {
    let mut pair = Pair::new(&Profile::bsd44(), 100);
    pair.connect();
    pair.write(A, 4000);
    pair.close(A);
    pair.run();
    assert_eq!(pair.ends[B].delivered(), 4000);
    assert!(pair.ends[A].is_closed() && pair.ends[B].is_closed());
}

#[test]
fn closing_what_was_never_opened() {
    let mut pair = Pair::new(&Profile::bsd44(), 100);
    pair.close(A);
    pair.call(A, Tcp::connect);
    pair.run();
    assert_eq!(pair.events, [(ms(0), A, Event::Closed)]);
    assert!(pair.sent.is_empty());
}

#[test]
fn nothing_can_be_written_after_close() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.write(A, 100);
    pair.close(A);
    pair.write(A, 100);
    pair.run();
    assert_eq!(pair.ends[B].delivered(), 100);
}

/// Who gave up answers with a reset, which tells nothing of what had come above a hole.
#[test]
fn a_reset_has_no_blocks() {
    let mut pair = Pair::connected(&Profile { sack: true, ..Profile::rfc() }, 100);
    pair.lose_data(&[0]);
    pair.write(A, 3_000);
    pair.close(A);
    pair.run_until(ms(210));
    let told = pair.sent.iter().rfind(|s| s.from == B).unwrap();
    assert_eq!(told.seg.options.block_count(), 1, "what has come above the hole");
    let reset = Segment { flags: Flags::RST, ..Segment::default() };
    pair.call(B, |tcp, p, now, out| tcp.on_segment(p, &reset, now, out));
    assert_eq!(pair.when(B, Event::Failed), [ms(210)]);
    pair.run();
    let answer = pair.sent.iter().rfind(|s| s.from == B).unwrap();
    assert!(answer.seg.flags.has(Flags::RST) && answer.at > ms(210));
    assert_eq!((answer.seg.options.block_count(), answer.seg.len), (0, 0));
}
