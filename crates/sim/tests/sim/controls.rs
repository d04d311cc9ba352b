//! Congestion controls that share a bottleneck: what is known of how they share it, and of the queues they leave.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::{Bulk, dumbbell, finish, group, linux_with as profile, spec};
use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Duration};
use aqmkit_sim::output::Output;
use aqmkit_sim::scenario::{Delays, Loss};
use aqmkit_transport::congestion::dctcp::OnLoss;
use aqmkit_transport::congestion::prague;
use aqmkit_transport::profile::NAMES;
use aqmkit_transport::{Kind, Overrides, Profile};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One flow for each round trip, on 20 Mb/s, measured for 200 s after 60.
fn share(p: &Profile, aqm: Spec, rtts: Vec<Duration>) -> Output {
    let apps = rtts.iter().map(|_| Box::new(Bulk) as _).collect();
    let flows = group("flows", apps, p.clone(), Delays::Each(rtts));
    finish(dumbbell(BitRate::from_mbps(20), aqm, vec![flows], 60, 200))
}

/// Room for one bandwidth-delay product of 40 ms and a half.
fn drop_tail() -> Spec {
    spec("fifo", r#"{"limit": 100}"#)
}

fn step() -> Spec {
    spec("step", r#"{"limit": 1000, "threshold": 20}"#)
}

fn rates(out: &Output) -> Vec<f64> {
    out.flows.iter().map(|f| f.delivered_bytes[0] as f64 * 8.0 / 200.0).collect()
}

/// Two and ten flows of one kind come to even shares of a full link.
#[test]
fn flows_of_one_kind_share_evenly() {
    for (kind, aqm) in [
        (Kind::NewReno, drop_tail()),
        (Kind::Cubic, drop_tail()),
        (Kind::Bbr, drop_tail()),
        (Kind::Dctcp, step()),
        (Kind::Prague, step()),
    ] {
        for flows in [2, 10] {
            let out = share(&profile(kind.clone()), aqm.clone(), vec![ms(40); flows]);
            let (jain, used) = (out.windows[0].flows.jain, out.windows[0].links["bottleneck"].utilization);
            assert!(jain > 0.9, "{flows} of {kind:?}: fairness {jain}, {:?}", rates(&out));
            assert!(used > 0.9, "{flows} of {kind:?}: utilisation {used}");
        }
    }
}

/// Whatever the profile, whoever answers to losses keeps a queue where its discipline wants it: no reaction that is lost, no recovery
/// that feeds itself. (DCTCP of Linux 3.18 answers to marks only, and `bbr` to neither.)
#[test]
fn no_transport_runs_away() {
    let pie = |ecn: bool| spec("pie", &format!(r#"{{"target": "20ms", "limit": 1000, "ecn": {ecn}}}"#));
    for name in NAMES {
        for kind in [Kind::Reno, Kind::NewReno, Kind::Sack, Kind::Cubic, Kind::Dctcp, Kind::Prague] {
            let changes = Overrides { congestion: Some(kind.clone()), ..Overrides::default() };
            let p = changes.apply(Profile::named(name).unwrap()).unwrap();
            for ecn in [true, false] {
                if kind == Kind::Dctcp && p.dctcp.loss == OnLoss::Alpha && !ecn {
                    continue;
                }
                let apps = (0..10).map(|_| Box::new(Bulk) as _).collect();
                let flows = group("flows", apps, Profile { ecn: ecn || p.ecn, ..p.clone() }, Delays::Each(vec![ms(7)]));
                let out = finish(dumbbell(BitRate::from_mbps(40), pie(ecn), vec![flows], 10, 20));
                let link = &out.windows[0].links["bottleneck"];
                let delay = link.queue_delay_ms.unwrap().mean;
                let what = format!("{kind:?} of {name}, ECN {ecn}: {delay} ms, drops {}", link.drop_rate);
                assert!(delay < 50.0 && link.drop_rate < 0.1 && link.utilization > 0.8, "{what}");
            }
        }
    }
}

/// The longer of two round trips gets less: Reno's rates go as the ratio of the round trips to a power between 1 and 2
/// (Lakshman and Madhow 1997), CUBIC's to the same or less where it is not as Reno.
#[test]
fn longer_round_trips_get_less() {
    for (kind, least, most) in [(Kind::NewReno, 0.8, 2.2), (Kind::Cubic, 0.3, 2.2)] {
        let out = share(
            &profile(kind.clone()),
            spec("red", r#"{"limit": 200, "min": 15, "max": 45, "max_p": 0.1, "weight": 0.002}"#),
            vec![ms(20), ms(20), ms(160), ms(160)],
        );
        let r = rates(&out);
        let queue = out.windows[0].links["bottleneck"].queue_delay_ms.unwrap().mean;
        let exponent = ((r[0] + r[1]) / (r[2] + r[3])).ln() / ((160.0 + queue) / (20.0 + queue)).ln();
        assert!((least..most).contains(&exponent), "{kind:?}: exponent {exponent}, {r:?}");
    }
}

/// With RTT independence a round trip of 5 ms takes the share of one of the target, 25 ms; without, more.
#[test]
fn prague_does_not_favour_short_round_trips() {
    let ratio = |rtt_independence| {
        let prague = prague::Params { rtt_independence, rounds: 50, ..prague::Params::default() };
        let p = Profile { prague, ..profile(Kind::Prague) };
        let aqm = spec("dualpi2", "{}");
        let out = share(&p, aqm, vec![ms(5), ms(25)]);
        let r = rates(&out);
        r[0] / r[1]
    };
    let (with, without) = (ratio(true), ratio(false));
    assert!(with < 2.0 && without > 1.5 * with, "{with} with, {without} without");
}

/// Alizadeh et al. 2010, equations 5 to 9: around a step at K packets the queue swings by half of the square root of 2
/// (C RTT + K) for one flow, so its mean is near K, and alpha is near sqrt(2 / (C RTT + K)).
#[test]
fn dctcp_swings_about_the_step() {
    let out = share(&profile(Kind::Dctcp), step(), vec![ms(20)]);
    let link = &out.windows[0].links["bottleneck"];
    let product: f64 = 20e6 / 8.0 / 1500.0 * 0.020 + 20.0;
    let swing = 0.5 * (2.0 * product).sqrt();
    let queue = link.queue_packets.mean;
    assert!((20.0 - 1.5 * swing..22.0).contains(&queue), "{queue} packets, swing {swing}");
    assert!(link.utilization > 0.99 && link.drop_rate == 0.0, "{link:?}");
    // A window that exceeds the step is marked for about a round trip in each period of D round trips, D = W alpha / 2.
    let period = product * (2.0 / product).sqrt() / 2.0;
    assert!((0.4..2.5).contains(&(link.mark_rate * period)), "marked {} of 1/{period}", link.mark_rate);
}

/// One flow fills the link with a queue far below what a loss-based control leaves, and losses at random do not slow it
/// down, which they do to CUBIC.
#[test]
fn bbr_follows_the_path_and_not_the_losses() {
    let deep = || spec("fifo", r#"{"limit": 1000}"#);
    let run = |kind, loss| {
        let flow = group("flow", vec![Box::new(Bulk)], profile(kind), Delays::Each(vec![ms(40)]));
        let mut scenario = dumbbell(BitRate::from_mbps(20), deep(), vec![flow], 30, 100);
        scenario.links[0].wire.loss = Loss::Random(loss);
        finish(scenario)
    };
    let (bbr, cubic) = (run(Kind::Bbr, 0.0), run(Kind::Cubic, 0.0));
    let link = |out: &Output| out.windows[0].links["bottleneck"].clone();
    assert!(link(&bbr).utilization > 0.95, "{}", link(&bbr).utilization);
    // In a round trip of eight it sends a quarter more, and lets that drain in the next: 10 ms for two of eight.
    let (bbr_queue, cubic_queue) = (link(&bbr).queue_delay_ms.unwrap(), link(&cubic).queue_delay_ms.unwrap());
    assert!(bbr_queue.p50 < 10.0 && bbr_queue.mean < cubic_queue.mean / 5.0, "{bbr_queue:?} {cubic_queue:?}");
    let used = |kind| link(&run(kind, 0.01)).utilization;
    let lossy = [used(Kind::Bbr), used(Kind::Cubic)];
    assert!(lossy[0] > 0.9 && lossy[1] < 0.6, "bbr and cubic: {lossy:?}");
}

/// RFC 6817: alone, LEDBAT makes a queue of its target; beside `NewReno` in a long queue it leaves the link to it; where CoDel keeps the queue
/// below the target, it cannot tell that there is one, and takes part (RFC 7928 section 5.4).
#[test]
fn ledbat_gives_way_where_it_sees_a_queue() {
    let long = || spec("fifo", r#"{"limit": 400}"#);
    let mut target = profile(Kind::Ledbat);
    target.ledbat.target = ms(60);
    for (p, wanted) in [(profile(Kind::Ledbat), 100.0), (target, 60.0)] {
        let out = share(&p, long(), vec![ms(40)]);
        let link = &out.windows[0].links["bottleneck"];
        let delay = link.queue_delay_ms.unwrap().mean;
        assert!((delay - wanted).abs() < 0.15 * wanted, "queue of {delay} ms, target {wanted}");
        assert!(link.utilization > 0.99, "utilisation {}", link.utilization);
    }
    let beside = |aqm: Spec| {
        let of = |kind: Kind| group("flows", vec![Box::new(Bulk) as _], profile(kind), Delays::Each(vec![ms(40)]));
        let out = finish(dumbbell(BitRate::from_mbps(20), aqm, vec![of(Kind::Ledbat), of(Kind::NewReno)], 60, 200));
        let rates = rates(&out);
        rates[0] / (rates[0] + rates[1])
    };
    let (behind_fifo, behind_codel) = (beside(long()), beside(spec("codel", "{}")));
    assert!(behind_fifo < 0.1, "share of {behind_fifo} behind drop-tail");
    assert!((0.35..0.65).contains(&behind_codel), "share of {behind_codel} behind CoDel");
}

/// Marks on the wire: a sender with ECN halves for each of them, one without has nothing that could be marked. The square-root law of a
/// window that grows by a segment in a round trip and is halved by one packet of `1 / p`: `sqrt(1.5 / p)` segments in a round trip.
#[test]
fn marks_of_a_wire_slow_down_who_understands_them() {
    let every = |n| Loss::Every { n, burst: 1 };
    let run = |ecn: bool| {
        let p = Profile { ecn, ..profile(Kind::NewReno) };
        let flows = group("flows", vec![Box::new(Bulk) as _], p, Delays::Each(vec![ms(100)]));
        let mut scenario = dumbbell(BitRate::from_mbps(50), drop_tail(), vec![flows], 20, 200);
        scenario.links[0].wire.mark = every(1000);
        finish(scenario)
    };
    let (with, without) = (run(true), run(false));
    let segments = |out: &Output| rates(out)[0] / 8.0 / 1460.0 * 0.1;
    let law = (1.5_f64 * 1000.0).sqrt();
    let seen = segments(&with);
    assert!((0.7..1.4).contains(&(seen / law)), "{seen} segments in a round trip, the law says {law}");
    assert!(segments(&without) > 5.0 * seen, "{} without ECN", segments(&without));
    let lost = with.windows[0].links["bottleneck"].drop_rate;
    assert!(lost == 0.0, "{lost} lost in the queue");
}
