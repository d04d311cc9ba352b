//! Timeouts, their backoff, and what is measured.

use aqmkit_base::{Bytes, Duration, Instant};
use aqmkit_transport::{DelayedAck, Event, Flags, Output, Profile};

use crate::harness::{A, B, Fate, Pair, lose_flag, ms};

fn seconds(times: &[f64]) -> Vec<Instant> {
    times.iter().map(|s| Instant::ZERO + Duration::from_secs_f64(*s)).collect()
}

/// Base 3 ticks; 1, 2, 4, … 64 times, at most 64 s; twelve retransmissions.
#[test]
fn backoff_of_4_4bsd() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.script = Box::new(|_, _| Fate::Drop);
    pair.write(A, 1000);
    pair.run();
    let times: Vec<_> = pair.data(A).iter().map(|d| d.0).collect();
    let expected = [0.15, 1.5, 4.5, 10.5, 22.5, 46.5, 94.5, 158.5, 222.5, 286.5, 350.5, 414.5, 478.5];
    assert_eq!(times, seconds(&expected));
    assert_eq!(pair.events, [(ms(542_500), A, Event::Failed)]);
    assert_eq!(pair.times(A, Flags::RST), [ms(542_500)]);
    assert_eq!(pair.ends[A].deadline(), None);
}

#[test]
fn backoff_of_rfc_6298() {
    let mut pair = Pair::connected(&Profile::rfc(), 100);
    pair.script = Box::new(|_, _| Fate::Drop);
    pair.write(A, 1000);
    pair.run_until(ms(200_000));
    let times: Vec<_> = pair.data(A).iter().map(|d| d.0).collect();
    assert_eq!(times, seconds(&[0.15, 1.15, 3.15, 7.15, 15.15, 31.15, 63.15, 123.15, 183.15]));
}

#[test]
fn the_peer_of_an_end_that_gives_up_is_told() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.script = Box::new(|from, seg| if from == A && seg.len > 0 { Fate::Drop } else { Fate::Pass });
    pair.write(A, 1000);
    pair.run();
    assert_eq!(pair.events, [(ms(542_500), A, Event::Failed), (ms(542_550), B, Event::Failed)]);
}

/// Or, if that is lost, when it says something.
#[test]
fn an_end_that_gave_up_answers_with_a_reset() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.script = Box::new(|from, _| if from == A { Fate::Drop } else { Fate::Pass });
    pair.write(A, 1000);
    pair.run();
    pair.script = Box::new(|_, _| Fate::Pass);
    pair.write(B, 10);
    pair.run();
    assert_eq!(pair.when(B, Event::Failed).len(), 1);
}

/// Karn: the acknowledgement of a segment sent twice says nothing, and the backed-off timeout stays until
/// one that was sent once is measured. A timestamp says which copy it was.
#[test]
fn retransmissions_are_not_measured_without_timestamps() {
    for timestamps in [false, true] {
        let p = Profile { timestamps, delayed_ack: DelayedAck::None, ..Profile::rfc() };
        let mut pair = Pair::connected(&p, 100);
        assert_eq!(pair.ends[A].srtt(&p), Some(Duration::from_millis(100)));
        pair.lose_data(&[0]);
        pair.write(A, 1000);
        pair.run();
        assert_eq!(pair.data(A), [(ms(150), 0), (ms(1_150), 0)]);
        assert_eq!(pair.ends[A].srtt(&p), Some(Duration::from_millis(100)));
        let after = if timestamps { 1 } else { 2 };
        assert_eq!(pair.ends[A].rto(&p), Duration::from_secs(after), "timestamps {timestamps}");
        pair.write(A, 1000);
        pair.run();
        assert_eq!(pair.ends[A].rto(&p), Duration::from_secs(1));
    }
}

/// One segment of a flight is timed at a time; the delayed acknowledgement is part of what it measures.
#[test]
fn without_timestamps_one_segment_is_timed() {
    let p = Profile { timestamps: false, ..Profile::rfc() };
    let mut pair = Pair::connected(&p, 100);
    pair.write(A, 1000);
    pair.run();
    // 7/8 * 100 + 1/8 * 140 ms.
    assert_eq!(pair.ends[A].srtt(&p), Some(Duration::from_millis(105)));
}

/// RFC 6298 section 3: a sample in each round trip, also while new segments go all the time: ten in flight that take 20 ms each.
#[test]
fn without_timestamps_a_steady_flow_is_timed() {
    let p = Profile {
        timestamps: false,
        mss: Bytes(1000),
        cwnd_limit: Bytes(10_000),
        delayed_ack: DelayedAck::None,
        ..Profile::rfc()
    };
    let mut pair = Pair::connected(&p, 100);
    pair.spacing = Duration::from_millis(20);
    pair.write(A, u64::MAX);
    pair.run_until(ms(20_000));
    let srtt = pair.ends[A].srtt(&p).unwrap().as_secs_f64();
    assert!((srtt - 0.2).abs() < 0.001, "{srtt}");
}

/// RFC 7323 section 4.3: the acknowledgement of two segments echoes the first, so that the delay counts.
#[test]
fn a_delayed_acknowledgement_echoes_the_first_segment_it_covers() {
    let mut pair = Pair::connected(&Profile::rfc(), 100);
    pair.write(A, 1448);
    pair.run_until(ms(160));
    pair.write(A, 1448);
    pair.run_until(ms(240));
    let ack = pair.sent.iter().find(|s| s.from == B).unwrap();
    // The clock of 1 ms, one ahead.
    assert_eq!((ack.at, ack.seg.ts_ecr, ack.seg.ts_val), (ms(210), 151, 211));
}

/// Round trips of a second and a half in ticks of 500 ms.
#[test]
fn coarse_timers_measure_in_ticks() {
    let p = Profile { delayed_ack: DelayedAck::None, ..Profile::bsd44() };
    let mut pair = Pair::connected(&p, 1_500);
    pair.write(A, 60 * 1448);
    pair.run();
    let srtt = pair.ends[A].srtt(&p).unwrap().as_secs_f64();
    assert!((1.5..1.7).contains(&srtt), "{srtt}");
    assert_eq!(pair.ends[A].rto(&p), Duration::from_secs(3));
    assert_eq!(pair.ends[A].stats().retransmissions, 0);
}

#[test]
fn early_and_late_calls_do_no_harm() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.script = lose_flag(A, Flags::PSH, &[0]);
    pair.write(A, 1000);
    let due = pair.ends[A].deadline();
    assert_eq!(due, Some(ms(1_500)));
    pair.run_until(ms(1_499));
    let (mut segments, mut events) = (Vec::new(), Vec::new());
    let mut out = Output { segments: &mut segments, events: &mut events };
    let p = pair.profiles[A].clone();
    pair.ends[A].on_deadline(&p, ms(1_499), &mut out);
    assert!(out.segments.is_empty());
    assert_eq!(pair.ends[A].deadline(), due);
    pair.ends[A].on_deadline(&p, ms(1_777), &mut out);
    assert_eq!(out.segments.len(), 1);
    // Six ticks from there.
    assert_eq!(pair.ends[A].deadline(), Some(ms(4_500)));
    pair.ends[A].on_deadline(&p, ms(1_777), &mut out);
    assert_eq!(segments.len(), 1);
}

/// Everything acknowledged: nothing to wait for.
#[test]
fn a_quiet_connection_has_no_deadline() {
    let mut pair = Pair::connected(&Profile::bsd44(), 100);
    pair.write(A, 5_000);
    pair.run();
    assert_eq!((pair.ends[A].deadline(), pair.ends[B].deadline()), (None, None));
}
