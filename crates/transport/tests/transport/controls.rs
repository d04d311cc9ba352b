//! Windows of the congestion controls worked out by hand, and the published laws of their long run.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_base::{Bytes, Duration};
use aqmkit_transport::congestion::cubic::SlowStartEnd;
use aqmkit_transport::congestion::{cubic, dctcp, prague};
use aqmkit_transport::{DelayedAck, EcnFeedback, Kind, Overrides, Profile};

use crate::harness::{A, B, Fate, Pair, ms};

/// A control with what it needs of ECN; segments of 1000 bytes, each acknowledged, windows without limit.
fn profile(congestion: Kind) -> Profile {
    let base = Profile {
        mss: Bytes(1000),
        receive_window: Bytes(1 << 26),
        delayed_ack: DelayedAck::None,
        min_rto: Duration::from_millis(200),
        ..Profile::rfc()
    };
    Overrides { congestion: Some(congestion), ..Overrides::default() }.apply(base).unwrap()
}

/// The same, in congestion avoidance at ten segments from the start.
fn avoiding(congestion: Kind) -> Profile {
    Profile { initial_ssthresh: Bytes(10_000), ..profile(congestion) }
}

/// Decides over A's new data, counted from 0; what is sent again passes.
fn data_fates(pair: &mut Pair, mut fate: impl FnMut(u64) -> Fate + 'static) {
    let mut n = 0;
    pair.script = Box::new(move |from, seg| {
        if from != A || seg.len == 0 || seg.retransmission {
            return Fate::Pass;
        }
        n += 1;
        fate(n - 1)
    });
}

/// The window of A, in bytes, at a time, if these (from 0) of its segments with data meet this fate.
fn windows<const N: usize>(p: &Profile, which: &'static [u64], fate: Fate, at: [u64; N]) -> [u64; N] {
    let mut pair = Pair::connected(p, 100);
    data_fates(&mut pair, move |n| if which.contains(&n) { fate } else { Fate::Pass });
    pair.write(A, u64::MAX);
    at.map(|t| {
        pair.run_until(ms(t));
        pair.ends[A].cwnd()
    })
}

/// Segments in a round trip of 100 ms if every `every`-th segment meets this fate, over `seconds` after as many to
/// settle.
fn even(p: &Profile, every: u64, fate: Fate, seconds: u64) -> f64 {
    let mut pair = Pair::connected(p, 100);
    pair.keep = false;
    data_fates(&mut pair, move |n| if n % every == every - 1 { fate } else { Fate::Pass });
    pair.write(A, u64::MAX);
    pair.run_until(ms(seconds * 1000));
    let before = pair.ends[B].delivered();
    pair.run_until(ms(2 * seconds * 1000));
    (pair.ends[B].delivered() - before) as f64 / p.mss.0 as f64 / (seconds as f64 * 10.0)
}

fn assert_near(seen: f64, law: f64, tolerance: f64, what: &str) {
    assert!((seen / law - 1.0).abs() < tolerance, "{what}: {seen:.2}, the law says {law:.2}");
}

/// The first acknowledgement ends the first window of data: alpha 15/16. Four open the window: 10000, 10100, 10199,
/// 10297, 10394. The fifth is marked: 10394 (1 - 15/32) = 5521. Five more: 6372. The second window was nine
/// segments, one marked: alpha = (15/16)^2 + 1/144 = 0.8858. The third was five, none marked: 0.8305. They open the
/// window to 7119, and the next mark makes it 7119 (1 - 0.8305 / 2) = 4162.
#[test]
fn dctcp_reduces_by_half_of_alpha() {
    let seen = windows(&avoiding(Kind::Dctcp), &[4, 15], Fate::Mark, [250, 350]);
    assert_eq!(seen, [6372, 4162]);
}

/// RFC 8257 section 3.5 against Linux 3.18: the fourth of many windows, alpha worn down to (15/16)^k.
#[test]
fn linux_3_18_hardly_reacted_to_losses() {
    let mut p = avoiding(Kind::Dctcp);
    p.dctcp = dctcp::Params { alpha: 0.1, ..dctcp::Params::default() };
    for (loss, least, most) in [(dctcp::OnLoss::Halve, 0.45, 0.55), (dctcp::OnLoss::Alpha, 0.93, 1.0)] {
        p.dctcp.loss = loss;
        let mut pair = Pair::connected(&p, 100);
        data_fates(&mut pair, |n| if n == 100 { Fate::Drop } else { Fate::Pass });
        pair.write(A, u64::MAX);
        let mut before = 0;
        while pair.ends[A].stats().fast_retransmits == 0 {
            before = pair.ends[A].cwnd();
            pair.run_until(pair.now + Duration::from_millis(1));
        }
        let share = pair.ends[A].ssthresh() as f64 / before as f64;
        assert!((least..most).contains(&share), "{loss:?}: {share}");
    }
}

/// One mark: alpha is 1 until then, so it halves, in fractions; every unmarked segment adds 1/cwnd of one.
#[test]
fn prague_grows_and_shrinks_in_fractions() {
    let mut cwnd = 10_000.0;
    for segment in 0..10 {
        cwnd += if segment == 4 { -cwnd / 2.0 } else { 1e6 / cwnd };
    }
    // Paced: the tenth leaves after nine tenths of a round trip.
    let seen = windows(&avoiding(Kind::Prague), &[4], Fate::Mark, [345]);
    assert_eq!(seen, [cwnd as u64]);
}

/// A window below the target of 25 ms comes down once in those 25 ms, not in each round trip of 10 ms: a mark in the second round trip
/// reduces nothing more, one in the fifth does.
#[test]
fn prague_comes_down_once_in_its_target() {
    let window = |marked: &'static [u64]| {
        let mut p = avoiding(Kind::Prague);
        p.prague.rounds = 1;
        let mut pair = Pair::connected(&p, 10);
        data_fates(&mut pair, move |n| if marked.contains(&n) { Fate::Mark } else { Fate::Pass });
        pair.write(A, u64::MAX);
        pair.run_until(ms(90));
        pair.ends[A].cwnd()
    };
    let (once, soon, later) = (window(&[2]), window(&[2, 12]), window(&[2, 30]));
    assert!(soon <= once && soon > once - 500, "{soon} of {once}");
    assert!(later < once * 9 / 10, "{later} of {once}");
}

/// Ten in flight, the first lost: the third duplicate takes one off. The nine that arrive and the one that mends add
/// their share of a round trip: 9111, 9220, 9328, 9435, 9540, 9644, 9747, 9849, 9950, 10050.
#[test]
fn relentless_takes_off_what_was_lost() {
    let mut pair = Pair::connected(&avoiding(Kind::Relentless), 100);
    data_fates(&mut pair, |n| if n == 0 { Fate::Drop } else { Fate::Pass });
    pair.write(A, u64::MAX);
    pair.run_until(ms(350));
    assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].stats().timeouts), (10_050, 0));
}

/// With SACK each of three lost takes one off when it goes again, under RFC 6675 as what comes from above shows it. To 9328 as
/// above, then 6 brings 107 and shows nothing, 7 brings 105 and shows 3: 8540; 8 brings 117 and shows 5: 7657; 9: 7787. A
/// round trip later 0, three new ones, 3 and 5 bring 128, 126, 124, 122, 120 and 118.
#[test]
fn relentless_with_sack_takes_off_every_loss() {
    let p = Profile { sack: true, ..avoiding(Kind::Relentless) };
    let mut pair = Pair::connected(&p, 100);
    data_fates(&mut pair, |n| if [0, 3, 5].contains(&n) { Fate::Drop } else { Fate::Pass });
    pair.write(A, u64::MAX);
    pair.run_until(ms(349));
    assert_eq!((pair.ends[A].cwnd(), pair.ends[A].ssthresh()), (7_787, 7_787));
    pair.run_until(ms(350));
    assert_eq!((pair.ends[A].ssthresh(), pair.ends[A].stats().timeouts), (8_525, 0));
    assert_eq!(pair.ends[A].stats().retransmissions, 3);
}

/// RFC 9438 equation 1, from a mark at a window W on: K = cbrt(0.3 W / C), and the window is C (t - K)^3 + W.
#[test]
fn cubic_follows_its_cube() {
    let p = Profile { ecn: true, initial_ssthresh: Bytes(200_000), initial_window: 200, ..profile(Kind::Cubic) };
    let mut pair = Pair::connected(&p, 100);
    data_fates(&mut pair, |n| if n == 200 { Fate::Mark } else { Fate::Pass });
    pair.write(A, u64::MAX);
    pair.run_until(ms(349));
    let w_max = pair.ends[A].cwnd() as f64 / 1000.0;
    pair.run_until(ms(350));
    assert_near(pair.ends[A].cwnd() as f64 / 1000.0, 0.7 * w_max, 0.01, "reduction");
    let k = (0.3 * w_max / 0.4_f64).cbrt();
    // Congestion avoidance begins with the first acknowledgement that echoes nothing, a round trip later.
    for t in [0.5, 1.0, 2.0, 4.0, k, 8.0] {
        pair.run_until(ms(450 + (t * 1000.0) as u64));
        assert_near(pair.ends[A].cwnd() as f64 / 1000.0, 0.4 * (t - k).powi(3) + w_max, 0.02, &format!("after {t} s"));
    }
}

/// A flow that is marked again before it is back remembers less than it had: 0.85 times.
#[test]
fn cubic_converges_fast() {
    for (fast_convergence, share) in [(true, 0.85), (false, 1.0)] {
        let p = Profile {
            ecn: true,
            initial_ssthresh: Bytes(200_000),
            initial_window: 200,
            cubic: cubic::Params { fast_convergence, reno_friendly: false, ..cubic::Params::default() },
            ..profile(Kind::Cubic)
        };
        let mut pair = Pair::connected(&p, 100);
        data_fates(&mut pair, |n| if n == 200 || n == 1500 { Fate::Mark } else { Fate::Pass });
        pair.write(A, u64::MAX);
        let (mut before, mut at) = (0, pair.now);
        while pair.ends[A].stats().ecn_reductions < 2 {
            (before, at) = (pair.ends[A].cwnd(), pair.now);
            pair.run_until(pair.now + Duration::from_millis(1));
        }
        let plateau = share * before as f64 / 1000.0;
        let k = ((plateau - 0.7 * before as f64 / 1000.0) / 0.4).cbrt();
        pair.run_until(at + Duration::from_millis(101) + Duration::from_secs_f64(k));
        assert_near(pair.ends[A].cwnd() as f64 / 1000.0, plateau, 0.02, "plateau");
    }
}

/// Longer round trips end slow start before anything is lost, after five rounds that grow by a quarter at most: some 320
/// segments times 1.25^5.
#[test]
fn hystart_leaves_slow_start_when_round_trips_grow() {
    for (hystart, most) in
        [(SlowStartEnd::Rfc9406, 1_100_000), (SlowStartEnd::Linux, 500_000), (SlowStartEnd::No, u64::MAX)]
    {
        let mut p = profile(Kind::Cubic);
        p.cubic.hystart = hystart;
        let mut pair = Pair::connected(&p, 100);
        let mut sent = 0_u64;
        // The 200th segment and all later ones wait 30 ms longer.
        pair.script = Box::new(move |from, seg| {
            sent += u64::from(from == A && seg.len > 0);
            if from == A && sent > 200 { Fate::Late(Duration::from_millis(30)) } else { Fate::Pass }
        });
        pair.write(A, u64::MAX);
        pair.run_until(ms(1600));
        let left = pair.ends[A].ssthresh() < p.initial_ssthresh.0;
        assert_eq!((left, pair.ends[A].stats().retransmissions), (hystart != SlowStartEnd::No, 0), "{hystart:?}");
        assert!(pair.ends[A].cwnd() < most, "{hystart:?}: {}", pair.ends[A].cwnd());
    }
}

/// Sixty segments and a round trip of 100 ms. A millisecond apart, their acknowledgements are a train: half of 100 ms and the one
/// millisecond that offload may hold back are over with the 52nd, and each of them has opened the window by one. Three apart they are none.
#[test]
fn a_long_train_of_acknowledgements_ends_slow_start_as_in_linux() {
    for (apart, hystart, ssthresh) in
        [(1, SlowStartEnd::Linux, Some(111_000)), (3, SlowStartEnd::Linux, None), (1, SlowStartEnd::Rfc9406, None)]
    {
        let mut p = Profile { initial_window: 60, slow_start_when_equal: false, ..profile(Kind::Cubic) };
        p.cubic.hystart = hystart;
        let mut pair = Pair::connected(&p, 100);
        let mut sent = 0_u64;
        pair.script = Box::new(move |from, seg| {
            let n = sent;
            sent += u64::from(from == A && seg.len > 0);
            if from == A && n < 60 { Fate::Late(Duration::from_millis(n * apart)) } else { Fate::Pass }
        });
        pair.write(A, u64::MAX);
        pair.run_until(ms(349));
        let left = Some(pair.ends[A].ssthresh()).filter(|s| *s < p.initial_ssthresh.0);
        assert_eq!(left, ssthresh, "{hystart:?}, {apart} ms apart");
    }
}

/// Mathis et al. 1997 with even loss.
#[test]
fn reno_follows_the_inverse_square_root() {
    for every in [400, 2_500] {
        let seen = even(&profile(Kind::Reno), every, Fate::Drop, 500);
        assert_near(seen, (1.5 * every as f64).sqrt(), 0.1, &format!("reno at 1/{every}"));
    }
}

/// RFC 9438 equation 6, and Reno's law where that has more (section 4.3).
#[test]
fn cubic_follows_equation_6_or_reno() {
    let mut p = profile(Kind::Cubic);
    p.cubic.fast_convergence = false;
    for every in [5_000, 20_000] {
        let law = 1.054 * (0.1 * every as f64).powf(0.75);
        assert_near(even(&p, every, Fate::Drop, 400), law, 0.1, &format!("cubic at 1/{every}"));
    }
    assert_near(even(&p, 400, Fate::Drop, 500), (1.5 * 400.0_f64).sqrt(), 0.1, "cubic as Reno");
}

/// De Schepper et al. 2015, equation 8: 2/p under even marking.
#[test]
fn scalable_controls_follow_the_inverse_of_the_marking() {
    for kind in [Kind::Dctcp, Kind::Prague] {
        for every in [20, 80] {
            let seen = even(&profile(kind.clone()), every, Fate::Mark, 500);
            assert_near(seen, 2.0 * every as f64, 0.15, &format!("{kind:?} at 1/{every}"));
        }
    }
}

/// One segment more in a round trip, p times the window less: 1/p.
#[test]
fn relentless_follows_the_inverse_of_the_signal() {
    let p = Profile { ecn: true, ecn_feedback: EcnFeedback::Dctcp, ..profile(Kind::Relentless) };
    for every in [20, 80] {
        assert_near(even(&p, every, Fate::Mark, 500), every as f64, 0.1, &format!("marks, 1/{every}"));
        assert_near(even(&p, every, Fate::Drop, 500), every as f64, 0.1, &format!("losses, 1/{every}"));
        let sack = Profile { sack: true, ..p.clone() };
        assert_near(even(&sack, every, Fate::Drop, 500), every as f64, 0.1, &format!("losses with SACK, 1/{every}"));
    }
}

/// With the target of 100 ms a round trip of 100 ms grows by a segment, with one of 200 ms by a quarter.
#[test]
fn prague_grows_as_slowly_as_its_target() {
    for (target, growth) in [(100, 1.0), (200, 0.25)] {
        let mut p = avoiding(Kind::Prague);
        p.prague = prague::Params { rtt_target: Duration::from_millis(target), rounds: 1, ..prague::Params::default() };
        let [early, late] = windows(&p, &[], Fate::Pass, [1_000, 6_000]);
        assert_near((late - early) as f64 / 50_000.0, growth, 0.1, &format!("target {target} ms"));
    }
}

/// A window in a round trip, not in a burst.
#[test]
fn prague_spaces_its_segments() {
    let mut pair = Pair::connected(&avoiding(Kind::Prague), 100);
    pair.write(A, u64::MAX);
    pair.run_until(ms(249));
    let times: Vec<_> = pair.data(A).iter().map(|d| d.0.since(ms(150)).as_millis_f64().round() as u64).collect();
    // The first acknowledgement of the handshake gives no window's worth of credit: until there is feedback on data
    // the initial window goes at once.
    assert_eq!(times.len(), 10);
    pair.sent.clear();
    pair.run_until(ms(349));
    let gaps: Vec<_> = pair.data(A).windows(2).map(|w| w[1].0.since(w[0].0).as_millis_f64()).collect();
    assert!(gaps.iter().all(|g| (8.0..12.0).contains(g)), "{gaps:?}");
}

#[test]
fn a_control_brings_the_ecn_it_needs_unless_told_otherwise() {
    let read = |text: &str| serde_json::from_str::<Overrides>(text).unwrap().apply(Profile::rfc());
    let prague = read(r#"{"congestion": "prague"}"#).unwrap();
    assert_eq!((prague.ecn, prague.ecn_feedback), (true, EcnFeedback::Accurate));
    assert!(!read(r#"{"congestion": "dctcp", "ecn": false}"#).unwrap().ecn);
    assert!(!read(r#"{"congestion": "cubic"}"#).unwrap().ecn);
    let linux = read(r#"{"congestion": "dctcp", "dctcp": {"loss": "alpha"}}"#).unwrap();
    assert_eq!((linux.dctcp.loss, linux.dctcp.g), (dctcp::OnLoss::Alpha, 0.0625));
    let error = read(r#"{"cubic": {"beta": 1.5}}"#).unwrap_err().to_string();
    assert_eq!(error, "cubic.beta = 1.5 is not valid: it must be above 0 and below 1");
}
