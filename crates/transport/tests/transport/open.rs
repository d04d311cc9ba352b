//! How connections open.

use aqmkit_base::{Duration, Instant};
use aqmkit_transport::{Event, Flags, Overrides, Profile, Segment};

use crate::harness::{A, B, Fate, Pair, lose_flag, ms};

const SYN_ACK: Flags = Flags::SYN.and(Flags::ACK);

#[test]
fn three_segments_open_a_connection() {
    let mut pair = Pair::new(&Profile::bsd44(), 100);
    pair.connect();
    pair.run();
    let said: Vec<_> = pair.sent.iter().map(|s| (s.at, s.from, s.seg.flags, s.seg.seq, s.seg.ack)).collect();
    assert_eq!(said, [(ms(0), A, Flags::SYN, 0, 0), (ms(50), B, SYN_ACK, 0, 1), (ms(100), A, Flags::ACK, 1, 1)]);
    assert_eq!(pair.events, [(ms(100), A, Event::Connected), (ms(150), B, Event::Connected)]);
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (1448, 1 << 20));
}

#[test]
fn what_was_written_before_goes_with_the_third() {
    let mut pair = Pair::new(&Profile::bsd44(), 100);
    pair.connect();
    pair.write(A, 300);
    pair.run();
    assert_eq!(pair.data(A), [(ms(100), 0)]);
    assert_eq!(pair.ends[B].delivered(), 300);
    assert_eq!(pair.ends[A].acked(), 300);
}

/// 4.4BSD's timer: 12 ticks and then 48, of which the first may be short.
#[test]
fn lost_syns_are_sent_again_at_the_tick() {
    let mut pair = Pair::with_phases(&Profile::bsd44(), 100, [Duration::from_millis(350), Duration::ZERO]);
    pair.script = lose_flag(A, Flags::SYN, &[0, 1]);
    pair.connect();
    pair.run();
    // Ticks at 350 + 500 k: the 12th is at 5850, and 48 later at 29850.
    assert_eq!(pair.times(A, Flags::SYN), [ms(0), ms(5_850), ms(29_850)]);
    assert_eq!(pair.when(A, Event::Connected), [ms(29_950)]);
    // 4.4BSD's timeout does not ask what timed out: the threshold is two segments from now on.
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (1448, 2 * 1448));
}

#[test]
fn connections_that_nobody_answers_are_given_up() {
    for (name, times) in [
        ("bsd44", vec![0, 6, 30]),
        ("freebsd22", vec![0, 3, 9, 21, 45]),
        ("freebsd45", vec![0, 3, 6, 9, 12, 15, 21, 33, 57]),
        ("rfc", vec![0, 1, 3, 7, 15, 31, 63]),
    ] {
        let mut pair = Pair::new(&Profile::named(name).unwrap(), 100);
        pair.script = Box::new(|_, _| Fate::Drop);
        pair.connect();
        pair.run();
        let sent: Vec<_> = pair.times(A, Flags::SYN).iter().map(|t| t.as_secs_f64()).collect();
        assert_eq!(sent, times.iter().map(|&t: &u64| t as f64).collect::<Vec<_>>(), "{name}");
        let end = if name == "rfc" { 127_000 } else { 75_000 };
        assert_eq!(pair.events, [(ms(end), A, Event::Failed)], "{name}");
        assert!(pair.ends[A].is_closed());
    }
}

#[test]
fn a_schedule_of_ones_own() {
    let overrides =
        Overrides { syn: Some([3, 6, 12, 24, 30].map(Duration::from_secs).to_vec()), ..Overrides::default() };
    let mut pair = Pair::new(&overrides.apply(Profile::bsd44()).unwrap(), 100);
    pair.script = Box::new(|_, _| Fate::Drop);
    pair.connect();
    pair.run();
    assert_eq!(pair.times(A, Flags::SYN), [0, 3, 9, 21, 45].map(|s| ms(s * 1000)));
}

/// The server's timer, set at 50 ms, fires before the client's next SYN arrives: 12 ticks later, at 6.0 s.
#[test]
fn lost_syn_acks_are_sent_again() {
    let mut pair = Pair::new(&Profile::bsd44(), 100);
    pair.script = lose_flag(B, Flags::SYN, &[0]);
    pair.connect();
    pair.run_until(ms(10_000));
    assert_eq!(pair.times(A, Flags::SYN), [ms(0), ms(6_000)]);
    // At 6.0 s by its own timer, at 6.05 s because the SYN came again.
    assert_eq!(pair.times(B, Flags::SYN), [ms(50), ms(6_000), ms(6_050)]);
    assert_eq!(pair.when(A, Event::Connected), [ms(6_050)]);
    assert_eq!(pair.when(B, Event::Connected), [ms(6_100)]);
}

#[test]
fn data_opens_the_server_when_the_third_segment_is_lost() {
    let mut pair = Pair::new(&Profile::bsd44(), 100);
    let mut lost = false;
    pair.script = Box::new(move |from, seg| {
        let third = from == A && seg.flags == Flags::ACK && !lost;
        lost |= third;
        if third { Fate::Drop } else { Fate::Pass }
    });
    pair.connect();
    pair.write(A, 100);
    pair.run();
    assert_eq!(pair.when(B, Event::Connected), [ms(150)]);
    assert_eq!(pair.ends[B].delivered(), 100);
}

#[test]
fn a_silent_client_s_lost_third_segment_is_made_up_for() {
    let mut pair = Pair::new(&Profile::rfc(), 100);
    let mut lost = false;
    pair.script = Box::new(move |from, seg| {
        let third = from == A && seg.flags == Flags::ACK && !lost;
        lost |= third;
        if third { Fate::Drop } else { Fate::Pass }
    });
    pair.connect();
    pair.run();
    // SYN-ACK at 50 ms, again 1 s later; its answer comes 100 ms after that.
    assert_eq!(pair.when(B, Event::Connected), [ms(1_150)]);
}

#[test]
fn both_ends_may_open_at_once() {
    let mut pair = Pair::new(&Profile::bsd44(), 100);
    pair.connect();
    pair.call(B, aqmkit_transport::Tcp::connect);
    pair.write(A, 5000);
    pair.write(B, 7000);
    pair.run();
    assert_eq!((pair.ends[B].delivered(), pair.ends[A].delivered()), (5000, 7000));
}

/// RFC 6298 section 5.7: 3 s if the SYN timed out and nothing was measured.
#[test]
fn the_timeout_after_a_lost_syn() {
    let exact = Profile { timestamps: false, ..Profile::rfc() };
    let mut pair = Pair::new(&exact, 100);
    pair.script = lose_flag(A, Flags::SYN, &[0]);
    pair.connect();
    pair.run();
    assert_eq!(pair.ends[A].rto(&exact), Duration::from_secs(3));
    // The server's SYN-ACK went once: 100 ms measured, and the least timeout.
    assert_eq!(pair.ends[B].rto(&exact), Duration::from_secs(1));
    assert_eq!(pair.ends[B].srtt(&exact), Some(Duration::from_millis(100)));
}

#[test]
fn strangers_are_ignored() {
    let mut pair = Pair::new(&Profile::bsd44(), 100);
    let stray = Segment { seq: 5, ack: 9, len: 10, flags: Flags::ACK, ..Segment::default() };
    pair.send(A, stray);
    pair.run();
    assert_eq!(pair.sent.len(), 1);
    assert!(pair.events.is_empty());
    assert_eq!(pair.ends[B].deadline(), None::<Instant>);
}
