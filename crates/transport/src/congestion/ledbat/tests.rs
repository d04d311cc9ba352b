//! Windows worked by hand from RFC 6817 section 2.4.2.

use aqmkit_base::Bytes;

use super::super::Rtt;
use super::*;

const MSS: u64 = 1000;

fn profile() -> Profile {
    Profile { mss: Bytes(MSS), cwnd_limit: Bytes(1 << 40), ..Profile::rfc() }
}

/// The context of a control at a time with ten segments in flight, one of whose packets had this one-way delay.
fn at<'a>(seconds: f64, one_way_ms: u64, profile: &'a Profile, rtt: &'a Rtt) -> Cx<'a> {
    Cx {
        now: Instant::ZERO + Duration::from_secs_f64(seconds),
        profile,
        flight: 10 * MSS,
        reducing: None,
        peer_window: u64::MAX,
        sack: true,
        sent: None,
        counts_marks: false,
        sample: Some(Duration::from_millis(500)),
        one_way: Some(Duration::from_millis(one_way_ms)),
        rtt,
    }
}

/// A control with ten segments after these delays in turn, one acknowledgement of a segment each, a second apart.
fn window_after(p: &Profile, delays_ms: &[u64]) -> u64 {
    let (rtt, mut ledbat) = (Rtt::new(p), Ledbat::new(p));
    ledbat.window = Window { cwnd: 10 * MSS, ssthresh: 5 * MSS };
    for (i, delay) in delays_ms.iter().enumerate() {
        ledbat.on_ack(MSS, &at(i as f64, *delay, p, &rtt));
    }
    ledbat.window.cwnd
}

#[test]
fn it_grows_below_the_target_and_shrinks_above() {
    let mut p = profile();
    p.ledbat.current_filter = 1;
    assert_eq!(window_after(&p, &[30]), 10_100, "an empty queue: a segment in a round trip, 1000 * 1000 / 10000");
    assert_eq!(window_after(&p, &[30, 130]), 10_100, "at the target it stays");
    // 1000 * 1000 / 10100 = 99.0: half the target away adds half of that, and twice the target subtracts it.
    assert_eq!(window_after(&p, &[30, 80]), 10_149);
    assert_eq!(window_after(&p, &[30, 230]), 10_000);
    p.ledbat.gain = 0.5;
    assert_eq!(window_after(&p, &[30]), 10_050);
}

/// The minimum of the last four delays counts: one delayed packet changes nothing, the fourth does.
#[test]
fn a_packet_that_waits_alone_changes_nothing() {
    let p = profile();
    let (rtt, mut ledbat) = (Rtt::new(&p), Ledbat::new(&p));
    ledbat.on_ack(MSS, &at(0.0, 30, &p, &rtt));
    for i in 1..4 {
        ledbat.on_ack(MSS, &at(f64::from(i), 200, &p, &rtt));
        assert_eq!(ledbat.delays.queue(), Some(Duration::ZERO), "{i}");
    }
    ledbat.on_ack(MSS, &at(4.0, 200, &p, &rtt));
    assert_eq!(ledbat.delays.queue(), Some(Duration::from_millis(170)));
}

/// A base delay of ten minutes ago is forgotten: the path is then assumed to have become longer.
#[test]
fn a_base_delay_is_forgotten_after_its_minutes() {
    let p = profile();
    let mut delays = Delays::new(&p.ledbat);
    let minute = |m: f64| Instant::ZERO + Duration::from_secs_f64(60.0 * m);
    delays.add(Duration::from_millis(30), minute(0.0), &p.ledbat);
    for m in 1..10 {
        delays.add(Duration::from_millis(80), minute(f64::from(m)), &p.ledbat);
    }
    assert_eq!(delays.queue(), Some(Duration::from_millis(50)), "it is the oldest of ten");
    delays.add(Duration::from_millis(80), minute(10.0), &p.ledbat);
    assert_eq!(delays.queue(), Some(Duration::ZERO));
}

#[test]
fn losses_and_marks_halve_and_a_timeout_leaves_one_segment() {
    let p = profile();
    let rtt = Rtt::new(&p);
    let with = |cwnd: u64| Ledbat { window: Window { cwnd, ssthresh: cwnd }, ..Ledbat::new(&p) };
    let cx = at(0.0, 30, &p, &rtt);
    let mut lost = with(10 * MSS);
    lost.on_loss(&cx);
    assert_eq!(lost.window.cwnd, 5 * MSS);
    let mut marked = with(3 * MSS);
    marked.on_ecn(&cx);
    assert_eq!(marked.window.cwnd, 2 * MSS, "never below two");
    let mut silent = with(10 * MSS);
    silent.on_timeout(false, &cx);
    assert_eq!(silent.window.cwnd, MSS);
    silent.on_ack(MSS, &cx);
    assert_eq!(silent.window.cwnd, 2 * MSS, "one segment more for the one acknowledged");
}

/// The window is at most one segment above the data in flight, and without one-way delays the round trip is used.
#[test]
fn it_opens_by_one_segment_beyond_the_flight() {
    let p = profile();
    let (rtt, mut ledbat) = (Rtt::new(&p), Ledbat::new(&p));
    ledbat.window.cwnd = 40 * MSS;
    ledbat.on_ack(MSS, &Cx { one_way: None, ..at(0.0, 0, &p, &rtt) });
    assert_eq!(ledbat.window.cwnd, 11 * MSS);
    assert_eq!(ledbat.delays.current.back(), Some(&Duration::from_millis(500)));
}

#[test]
fn parameters_that_the_rfc_forbids_are_refused() {
    let refused = |change: fn(&mut Params)| {
        let mut params = Params::default();
        change(&mut params);
        params.check().is_err()
    };
    assert!(refused(|p| p.target = Duration::from_millis(101)) && refused(|p| p.target = Duration::ZERO));
    assert!(refused(|p| p.gain = 1.5) && refused(|p| p.gain = f64::NAN));
    assert!(refused(|p| p.base_history = 0) && refused(|p| p.current_filter = 65));
    assert!(Params::default().check().is_ok());
}

/// Section 2.4.2: at least two segments, however long the queue and however little is in flight. A timeout leaves one,
/// which grows.
#[test]
fn two_segments_are_left() {
    let mut p = profile();
    p.ledbat.current_filter = 1;
    let rtt = Rtt::new(&p);
    let mut ledbat = Ledbat::new(&p);
    ledbat.window = Window { cwnd: 3 * MSS, ssthresh: 2 * MSS };
    ledbat.on_ack(MSS, &at(0.0, 30, &p, &rtt));
    for i in 1..20 {
        ledbat.on_ack(MSS, &at(f64::from(i), 1_000, &p, &rtt));
    }
    assert_eq!(ledbat.window.cwnd, 2 * MSS, "nine times the target above it");
    ledbat.window.cwnd = 10 * MSS;
    ledbat.on_ack(MSS, &Cx { flight: 0, ..at(20.0, 130, &p, &rtt) });
    assert_eq!(ledbat.window.cwnd, 2 * MSS, "nothing is in flight");
    ledbat.on_timeout(false, &at(21.0, 130, &p, &rtt));
    assert_eq!(ledbat.window.cwnd, MSS);
    ledbat.on_ack(MSS, &at(22.0, 1_000, &p, &rtt));
    assert_eq!(ledbat.window.cwnd, MSS);
    ledbat.on_ack(MSS, &at(23.0, 30, &p, &rtt));
    assert_eq!(ledbat.window.cwnd, 2 * MSS, "a segment in a round trip");
}
