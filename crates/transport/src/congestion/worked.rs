//! Windows worked by hand from the pages' equations, event by event.

use aqmkit_base::{Bytes, Duration, Instant};

use super::cubic::{Cubic, SlowStartEnd};
use super::dctcp::Dctcp;
use super::newreno::NewReno;
use super::prague::Prague;
use super::relentless::Relentless;
use super::reno::Reno;
use super::{CongestionControl, Cx, Rtt, Window};
use crate::profile::{ByteCounting, LossDetection, Profile};

const MSS: u64 = 1000;

fn profile() -> Profile {
    let unbound = Bytes(1 << 40);
    Profile { mss: Bytes(MSS), cwnd_limit: unbound, byte_counting: ByteCounting::Never, ..Profile::rfc() }
}

/// Round trips of 100 ms.
fn rtt(profile: &Profile) -> Rtt {
    let mut rtt = Rtt::new(profile);
    rtt.sample(profile, 100_000_000);
    rtt
}

/// The context of a control at a time, with a full window in flight.
pub(super) fn at<'a>(seconds: f64, flight: u64, profile: &'a Profile, rtt: &'a Rtt) -> Cx<'a> {
    Cx {
        now: Instant::ZERO + Duration::from_secs_f64(seconds),
        profile,
        flight,
        reducing: None,
        peer_window: u64::MAX,
        sack: true,
        sent: None,
        counts_marks: false,
        sample: None,
        one_way: None,
        rtt,
    }
}

fn near(got: u64, wanted: f64, what: &str) {
    assert!((got as f64 - wanted).abs() < 1.0, "{what}: {got}, by hand {wanted}");
}

/// The control with this window, in congestion avoidance.
fn avoiding<C: CongestionControl>(mut control: C, cwnd: u64) -> C {
    *control.window_mut() = Window { cwnd, ssthresh: cwnd / 2 };
    control
}

/// RFC 9438 equations 1 and 2 and section 4.2: the target is the cubic one round trip ahead, and each acknowledged
/// segment adds its share of the distance to it.
#[test]
fn cubic_aims_at_its_cube_one_round_trip_ahead() {
    let mut p = profile();
    p.cubic.reno_friendly = false;
    let rtt = rtt(&p);
    let mut cubic = avoiding(Cubic::new(&p), 100 * MSS);
    cubic.on_loss(&at(0.0, 100 * MSS, &p, &rtt));
    assert_eq!(cubic.window().cwnd, 70 * MSS, "beta is 0.7");
    let k = libm::cbrt(30.0 / 0.4);
    let mut wanted = 70.0;
    for t in [0.0, 0.5, 1.0, 4.0, 4.3, 6.0] {
        cubic.on_ack(MSS, &at(10.0 + t, 0, &p, &rtt));
        let target: f64 = 0.4 * (t + 0.1 - k).powi(3) + 100.0;
        wanted += (target.clamp(wanted, 1.5 * wanted) - wanted) / wanted;
        near(cubic.window().cwnd, 1000.0 * wanted, &format!("after {t} s"));
    }
}

/// RFC 9438 section 4.7: a flow that loses before regaining its window yields, to 0.85 of what it had.
#[test]
fn cubic_gives_way_where_it_was_not_back() {
    for (fast, plateau) in [(true, 59.5), (false, 70.0)] {
        let mut p = profile();
        (p.cubic.reno_friendly, p.cubic.fast_convergence) = (false, fast);
        let rtt = rtt(&p);
        let mut cubic = avoiding(Cubic::new(&p), 100 * MSS);
        cubic.on_loss(&at(0.0, 100 * MSS, &p, &rtt));
        cubic.on_loss(&at(1.0, 70 * MSS, &p, &rtt));
        assert_eq!(cubic.window().cwnd, 49 * MSS);
        cubic.on_ack(MSS, &at(2.0, 0, &p, &rtt));
        let target: f64 = 0.4 * (0.1 - libm::cbrt((plateau - 49.0) / 0.4)).powi(3) + plateau;
        near(cubic.window().cwnd, 1000.0 * (49.0 + (target - 49.0) / 49.0), "towards the plateau");
    }
}

/// RFC 9438 section 4.8: after a timeout, avoidance starts at the window that slow start reached, whatever was before.
#[test]
fn cubic_forgets_its_plateau_in_a_timeout() {
    let mut p = profile();
    p.cubic.reno_friendly = false;
    let rtt = rtt(&p);
    let mut cubic = avoiding(Cubic::new(&p), 100 * MSS);
    cubic.on_timeout(false, &at(0.0, 100 * MSS, &p, &rtt));
    assert_eq!(*cubic.window(), Window { cwnd: MSS, ssthresh: 70 * MSS });
    cubic.window_mut().cwnd = 80 * MSS;
    cubic.on_ack(MSS, &at(5.0, 0, &p, &rtt));
    cubic.on_ack(MSS, &at(7.0, 0, &p, &rtt));
    let first: f64 = 80.0 + 0.4 * 0.001 / 80.0;
    let target: f64 = 0.4 * 2.1_f64.powi(3) + 80.0;
    near(cubic.window().cwnd, 1000.0 * (first + (target - first) / first), "from its own plateau");
}

/// RFC 9438 section 4.3: the Reno estimate grows by three segments in thirteen-sevenths of a round trip, and by a whole
/// one per round trip once it is where it was before the reduction.
#[test]
fn cubic_keeps_up_with_reno() {
    let p = profile();
    let rtt = rtt(&p);
    let mut cubic = avoiding(Cubic::new(&p), 10 * MSS);
    cubic.on_loss(&at(0.0, 10 * MSS, &p, &rtt));
    assert_eq!(cubic.window().cwnd, 7 * MSS);
    let (mut estimate, mut cwnd) = (7.0, 7.0);
    for i in 0..60 {
        cubic.on_ack(MSS, &at(0.001 * f64::from(i), 0, &p, &rtt));
        let alpha = if estimate >= 10.0 { 1.0 } else { 3.0 * 0.3 / 1.7 };
        estimate += alpha / cwnd;
        cwnd = estimate;
        near(cubic.window().cwnd, 1000.0 * cwnd, &format!("after {i} acknowledgements"));
    }
    assert!(cwnd > 10.0, "both parts were tried");
}

/// RFC 9438 section 4.9: a spurious reduction leaves no trace.
#[test]
fn cubic_goes_on_after_a_needless_reduction() {
    let mut p = profile();
    p.cubic.reno_friendly = false;
    let rtt = rtt(&p);
    let run = |needless: bool| {
        let mut cubic = avoiding(Cubic::new(&p), 100 * MSS);
        cubic.on_loss(&at(0.0, 100 * MSS, &p, &rtt));
        cubic.on_ack(MSS, &at(1.0, 0, &p, &rtt));
        if needless {
            let before = *cubic.window();
            cubic.on_loss(&at(1.5, 70 * MSS, &p, &rtt));
            cubic.on_spurious(before, &at(1.6, 70 * MSS, &p, &rtt));
        }
        cubic.on_ack(MSS, &at(3.0, 0, &p, &rtt));
        cubic.window().cwnd
    };
    // Except for the fraction of a byte that a reduction drops.
    assert!(run(true).abs_diff(run(false)) <= 1, "{} and {}", run(true), run(false));
}

/// An undo never lowers a window that has grown since.
#[test]
fn an_undo_only_raises() {
    let before = Window { cwnd: 20 * MSS, ssthresh: 12 * MSS };
    let undone = |cwnd, ssthresh| {
        let mut window = Window { cwnd, ssthresh };
        window.restore(before);
        (window.cwnd / MSS, window.ssthresh / MSS)
    };
    assert_eq!(undone(10 * MSS, 10 * MSS), (20, 12));
    assert_eq!(undone(30 * MSS, 10 * MSS), (30, 12));
    assert_eq!(undone(10 * MSS, 15 * MSS), (20, 15));
}

/// 4.4BSD halves the smaller of its own window and the peer's, in whole segments, at least two.
#[test]
fn reno_halves_what_the_peer_allows() {
    let p = profile();
    let rtt = rtt(&p);
    for (cwnd, peer, threshold) in [(21, 100, 10), (21, 9, 4), (3, 100, 2), (40, 3, 2)] {
        let cx = Cx { peer_window: peer * MSS + 999, ..at(0.0, cwnd * MSS, &p, &rtt) };
        let mut after_loss = avoiding(Reno::new(&p), cwnd * MSS);
        after_loss.on_loss(&cx);
        assert_eq!(*after_loss.window(), Window { cwnd: threshold * MSS, ssthresh: threshold * MSS });
        let mut after_timeout = avoiding(Reno::new(&p), cwnd * MSS);
        after_timeout.on_timeout(false, &cx);
        assert_eq!(*after_timeout.window(), Window { cwnd: MSS, ssthresh: threshold * MSS });
        // Without SACK the three duplicates count as packets that have left the network.
        let mut without_sack = avoiding(Reno::new(&p), cwnd * MSS);
        without_sack.on_loss(&Cx { sack: false, ..cx });
        assert_eq!(without_sack.window().cwnd, (threshold + 3) * MSS);
    }
}

/// In back-to-back recoveries three windows may be above the oldest hole, mostly SACKed. Linux halves the window
/// (`tcp_reno_ssthresh`, `dctcp_react_to_loss`); RFC 5681 would leave half of the flight, which is more than the
/// window.
#[test]
fn a_loss_does_not_raise_the_window_where_rack_finds_it() {
    fn left<C: CongestionControl>(control: C, cwnd: u64, flight: u64, p: &Profile) -> u64 {
        let rtt = rtt(p);
        let mut control = avoiding(control, cwnd * MSS);
        control.on_loss(&at(0.0, flight * MSS, p, &rtt));
        control.window().ssthresh / MSS
    }
    let p = Profile { loss_detection: LossDetection::Rack, ..profile() };
    for (cwnd, flight, threshold) in [(20, 60, 10), (20, 20, 10), (20, 12, 6), (3, 9, 2)] {
        assert_eq!(left(NewReno::new(&p), cwnd, flight, &p), threshold);
        assert_eq!(left(Dctcp::new(&p), cwnd, flight, &p), threshold);
        assert_eq!(left(Prague::new(&p), cwnd, flight, &p), threshold);
    }
    assert_eq!(left(NewReno::new(&profile()), 20, 60, &profile()), 30);
}

/// RFC 6582 section 3.2: a partial acknowledgement deflates the window by what it covers and adds back one segment if
/// it covers one; the last one leaves no burst.
#[test]
fn recovery_deflates_by_what_was_acknowledged() {
    let p = profile();
    let rtt = rtt(&p);
    let cx = |flight: u64, sack| Cx { sack, ..at(0.0, flight * MSS, &p, &rtt) };
    let window = |cwnd: u64| Window { cwnd: cwnd * MSS, ssthresh: 8 * MSS };
    let deflated = |cwnd, acked| {
        let mut w = window(cwnd);
        w.deflate(acked, &cx(20, false));
        w.cwnd
    };
    assert_eq!((deflated(15, 4 * MSS), deflated(15, 500), deflated(3, 9 * MSS)), (12 * MSS, 14_500, MSS));
    let recovered = |acked: u64, flight, sack| {
        let mut w = window(15);
        w.recovered(acked * MSS, &cx(flight, sack));
        w.cwnd / MSS
    };
    assert_eq!((recovered(10, 13, false), recovered(10, 30, false), recovered(10, 10, false)), (4, 8, 2));
    assert_eq!(recovered(10, 13, true), 8);
}

/// RFC 8257 section 3.3: each window with marks reduces by half of alpha, which follows the share of marks with weight
/// 1/16; at least two segments are left.
#[test]
fn dctcp_takes_off_half_of_its_average_down_to_two_segments() {
    let p = profile();
    let rtt = rtt(&p);
    let mut dctcp = avoiding(Dctcp::new(&p), 100 * MSS);
    let (mut alpha, mut cwnd) = (1.0_f64, 100 * MSS);
    for (i, marked) in [100, 50, 0, 25, 100, 100, 100, 100, 100, 100, 100, 100].into_iter().enumerate() {
        let cx = at(i as f64, cwnd, &p, &rtt);
        // The first call ends the window that was never begun.
        dctcp.on_feedback(cwnd, cwnd * marked / 100, &cx);
        alpha += ((cwnd * marked / 100) as f64 / cwnd as f64 - alpha) / 16.0;
        if marked > 0 {
            dctcp.on_ecn(&cx);
            cwnd = (cwnd - (cwnd as f64 * alpha / 2.0).ceil() as u64).max(2 * MSS);
        }
        near(dctcp.window().cwnd, cwnd as f64, &format!("after window {i}"));
        assert!((dctcp.alpha() - alpha).abs() < 1e-12, "{} after window {i}", dctcp.alpha());
        cwnd = dctcp.window().cwnd;
    }
    assert_eq!(cwnd, 2 * MSS, "the least was reached");
}

/// Section 3.1 of RFC 9331: if the peer does not count marks, an echo halves the window as for Reno.
#[test]
fn prague_halves_where_marks_are_not_counted() {
    let p = profile();
    let rtt = rtt(&p);
    for (counts_marks, wanted) in [(false, 50.0), (true, 100.0 * (1.0 - (15.0 + 0.01) / 32.0))] {
        let mut prague = avoiding(Prague::new(&p), 100 * MSS);
        let cx = Cx { counts_marks, ..at(1.0, 100 * MSS, &p, &rtt) };
        // One of a hundred was marked: the average moves from 1 towards that by a sixteenth of the distance.
        prague.on_feedback(100 * MSS, MSS, &cx);
        prague.on_ecn(&cx);
        near(prague.window().cwnd, wanted * MSS as f64, &format!("counts marks: {counts_marks}"));
    }
}

/// If every packet is marked, the average stays at 1 and each reduction halves, down to two segments.
#[test]
fn prague_leaves_two_segments() {
    let p = profile();
    let rtt = rtt(&p);
    let mut prague = avoiding(Prague::new(&p), 5 * MSS);
    let mut seen = Vec::new();
    for second in 1..4 {
        let cx = Cx { counts_marks: true, ..at(f64::from(second), prague.window().cwnd, &p, &rtt) };
        prague.on_feedback(cx.flight, cx.flight, &cx);
        prague.on_ecn(&cx);
        seen.push(prague.window().cwnd);
    }
    assert_eq!(seen, [2500, 2000, 2000]);
}

/// Linux's Prague paces one window per round trip, headers included, and twice that below half of the threshold.
#[test]
fn prague_paces_its_window() {
    let p = profile();
    let rtt = rtt(&p);
    for (segments, windows) in [(19, 2.0), (20, 1.0), (40, 1.0)] {
        let mut prague = Prague::new(&p);
        *prague.window_mut() = Window { cwnd: (segments - 1) * MSS, ssthresh: 40 * MSS };
        prague.on_ack(MSS, &at(1.0, 0, &p, &rtt));
        assert_eq!(prague.window().cwnd, segments * MSS);
        let rate = prague.pacer().and_then(super::Pacer::rate).unwrap().bytes_per_sec();
        let wanted = windows * segments as f64 * (p.mss.as_f64() + p.header.as_f64()) / 0.1;
        assert!((rate - wanted).abs() < 1.0, "{segments}: {rate}, by hand {wanted}");
    }
}

/// Counted marks are subtracted from the window; feedback without any does not end slow start.
#[test]
fn relentless_takes_off_what_was_marked() {
    let p = profile();
    let rtt = rtt(&p);
    let cx = Cx { counts_marks: true, ..at(1.0, 20 * MSS, &p, &rtt) };
    let mut relentless = Relentless::new(&p);
    let initial = *relentless.window();
    relentless.on_feedback(3 * MSS, 0, &cx);
    relentless.on_ecn(&cx);
    assert_eq!(*relentless.window(), initial);
    relentless.on_feedback(3 * MSS, 1500, &cx);
    assert_eq!(*relentless.window(), Window { cwnd: initial.cwnd - 1500, ssthresh: initial.cwnd - 1500 });
    relentless.on_feedback(3 * MSS, 1, &cx);
    assert_eq!(relentless.window().cwnd, initial.cwnd - 1501, "a byte counts");
    relentless.on_feedback(30 * MSS, 30 * MSS, &cx);
    assert_eq!(relentless.window().cwnd, 2 * MSS, "two segments are left");
}

/// Linux's `HyStart` also acts in the slow start after a timeout, `HyStart++` in the first slow start only (RFC 9406
/// section 4.3): ten acknowledgements of 100 ms, then the ninth of those of 200 ms, by which the window has grown from
/// 20 to 38.
#[test]
fn cubic_leaves_slow_start_after_a_timeout_as_its_kind_does() {
    for (hystart, threshold) in [(SlowStartEnd::No, 70), (SlowStartEnd::Rfc9406, 70), (SlowStartEnd::Linux, 38)] {
        let mut p = profile();
        p.cubic.hystart = hystart;
        let rtt = rtt(&p);
        let mut cubic = avoiding(Cubic::new(&p), 100 * MSS);
        cubic.on_timeout(false, &at(0.0, 100 * MSS, &p, &rtt));
        cubic.window_mut().cwnd = 20 * MSS;
        for i in 0..19 {
            let sample = Some(Duration::from_millis(if i < 10 { 100 } else { 200 }));
            cubic.on_ack(MSS, &Cx { sample, ..at(10.0 + f64::from(i), 10 * MSS, &p, &rtt) });
        }
        assert_eq!(cubic.window().ssthresh, threshold * MSS, "{hystart:?}");
    }
}
