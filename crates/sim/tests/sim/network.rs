//! Links that vary, wires that do harm, several links in a row, both directions.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::VecDeque;
use std::sync::Arc;

use crate::common::script::{random_sends, scripted};
use crate::common::{Bulk, dumbbell, finish, group, spec};
use aqmkit_base::trace::Trace;
use aqmkit_base::{BitRate, Duration, Ecn, Instant, Rng};
use aqmkit_sim::observe::{Content, Observer, Sighting};
use aqmkit_sim::scenario::{Delays, Link, Loss, Reorder, Route};
use aqmkit_sim::{Control, Error, Scenario, run, run_observed};
use aqmkit_transport::{Flags, Profile};

/// Mahimahi's link, millisecond by millisecond: data that arrived before an opportunity leaves with it, byte by byte.
fn mahimahi(trace: &[u64], sends: &[(Instant, u32)]) -> Vec<(u64, Instant)> {
    let ms = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let (mut arrivals, mut queue, mut base, mut next, mut sent) = (Vec::new(), VecDeque::new(), 0, 0, 0);
    while arrivals.len() < sends.len() {
        let at = ms(base + trace[next]);
        next += 1;
        if next == trace.len() {
            (base, next) = (base + trace[next - 1], 0);
        }
        while sends.get(sent).is_some_and(|(t, _)| *t < at) {
            queue.push_back((sent as u64, sends[sent].1));
            sent += 1;
        }
        let mut left = 1500;
        while let Some((tag, rest)) = queue.front_mut().filter(|_| left > 0) {
            let now = left.min(*rest);
            (left, *rest) = (left - now, *rest - now);
            if *rest == 0 {
                arrivals.push((*tag, at));
                queue.pop_front();
            }
        }
    }
    arrivals
}

#[test]
fn a_trace_delivers_as_mahimahi_does() {
    let mut rng = Rng::stream(5, "trace");
    let mut at = 0;
    let mut trace: Vec<u64> = (0..400)
        .map(|_| {
            at += rng.below(4) * rng.below(3);
            at
        })
        .collect();
    trace.push(at + 7);
    let text: String = trace.iter().map(|t| format!("{t}\n")).collect();
    // Mostly idle, and mostly with a queue.
    for per_s in [50.0, 600.0] {
        let sends = random_sends(9, per_s, 10.0);
        let (mut scenario, arrivals) = scripted(&sends);
        let trace_of_link = Trace::parse("t", &text).unwrap();
        scenario.links[0].rate = trace_of_link.mean_rate();
        scenario.links[0].trace = Some(Arc::new(trace_of_link));
        scenario.duration = Duration::from_secs(60);
        let out = finish(scenario);
        let wanted = mahimahi(&trace, &sends);
        assert_eq!(arrivals.lock().unwrap().len(), sends.len(), "all arrive within the minute");
        assert_eq!(*arrivals.lock().unwrap(), wanted);
        let utilization = out.windows[0].links["bottleneck"].utilization;
        assert!(utilization > 0.01 && utilization <= 1.0, "{utilization}");
    }
}

#[test]
fn a_full_link_uses_every_opportunity() {
    let sends: Vec<_> = (0..2000).map(|_| (Instant::ZERO, 1500)).collect();
    let (mut scenario, _) = scripted(&sends);
    let trace = Trace::parse("t", "0\n3\n3\n20\n").unwrap();
    scenario.links[0].trace = Some(Arc::new(trace));
    scenario.duration = Duration::from_secs(10);
    scenario.windows[0].to = Instant::ZERO + Duration::from_millis(4995);
    let out = finish(scenario);
    let utilization = out.windows[0].links["bottleneck"].utilization;
    assert!((utilization - 1.0).abs() < 2e-3, "{utilization}");
}

#[test]
fn a_wire_jitters_in_order_and_reorders_what_it_says() {
    let sends: Vec<_> = (0..5000).map(|i| (Instant::ZERO + Duration::from_millis(2 * i), 100)).collect();
    let (mut jittery, in_order) = scripted(&sends);
    jittery.links[0].wire.jitter = Duration::from_millis(20);
    finish(jittery);
    let order: Vec<u64> = in_order.lock().unwrap().iter().map(|a| a.0).collect();
    assert_eq!(order, (0..5000).collect::<Vec<_>>(), "jitter keeps the order");
    let (mut scenario, arrivals) = scripted(&sends);
    scenario.links[0].wire.reorder = Some(Reorder { chance: 0.1, delay: Duration::from_millis(3) });
    finish(scenario);
    let got = arrivals.lock().unwrap();
    assert_eq!(got.len(), 5000);
    // Held back for 3 ms of a packet each 2 ms: overtaken by one, unless that one is held back too.
    let overtaken = got.windows(2).filter(|w| w[1].0 < w[0].0).count();
    assert!((390..510).contains(&overtaken), "{overtaken} of 450 expected");
}

#[test]
fn a_burst_of_losses_meets_neighbours() {
    let sends: Vec<_> = (0..50_000).map(|i| (Instant::ZERO + Duration::from_micros(200 * i), 100)).collect();
    let (mut scenario, arrivals) = scripted(&sends);
    scenario.links[0].wire.loss = Loss::GilbertElliott { p: 0.01, r: 0.2, bad: 1.0, good: 0.0 };
    finish(scenario);
    let got = arrivals.lock().unwrap();
    let lost = 50_000 - got.len();
    let gaps = got.windows(2).filter(|w| w[1].0 > w[0].0 + 1).count();
    assert!((2_000..2_800).contains(&lost), "{lost} of 2381 expected");
    let burst = lost as f64 / gaps as f64;
    assert!((burst - 5.0).abs() < 0.6, "{burst}");
}

/// Two downloads, whose acknowledgements share a slow link without distinction of flows. A filter drops the older of two acknowledgements
/// of one connection: the other's are nothing to it, although the numbers of the connection that has run for longer are above.
#[test]
fn a_filter_of_acknowledgements_knows_the_connections() {
    let downloads = group("bulk", vec![Box::new(Bulk), Box::new(Bulk)], Profile::linux_6(), Delays::None);
    let mut scenario = dumbbell(BitRate::from_mbps(10), spec("fifo", r#"{"limit": 50}"#), vec![downloads], 0, 20);
    scenario.links[0].delay = Duration::from_millis(20);
    let mut back = Link { name: "back".into(), rate: BitRate::from_bps(100_000), ..scenario.links[0].clone() };
    back.aqm = spec("cake", r#"{"isolation": "flowblind", "ack_filter": "on"}"#);
    scenario.links.push(back);
    scenario.groups[0].routes = vec![Route { forward: vec![0], reverse: vec![1], ..Route::default() }];
    let out = finish(scenario);
    let filtered: u64 = out.windows[0].links["back"].drops.values().sum();
    assert!(filtered > 1000, "{filtered} acknowledgements were superfluous");
    let goodput: Vec<u64> = out.flows.iter().map(|flow| flow.delivered_bytes[0]).collect();
    assert!(goodput.iter().all(|bytes| *bytes > 20 * 1_000_000 / 8), "{goodput:?}");
}

#[test]
fn impossible_chances_are_refused() {
    let refused = |change: fn(&mut Scenario)| {
        let (mut scenario, _) = scripted(&[]);
        change(&mut scenario);
        matches!(run(scenario, &mut |_| Control::Continue), Err(Error::Scenario(_)))
    };
    let burst = |p, r, bad, good| Loss::GilbertElliott { p, r, bad, good };
    assert!(!refused(|_| ()) && !refused(|s| s.links[0].wire.loss = Loss::Random(1.0)));
    assert!(refused(|s| s.links[0].wire.loss = Loss::Random(1.1)));
    assert!(refused(|s| s.links[0].wire.mark = Loss::Random(-0.1)));
    assert!([1.1, -0.1].iter().all(|wrong| {
        let places = [
            burst(*wrong, 0.5, 1.0, 0.0),
            burst(0.5, *wrong, 1.0, 0.0),
            burst(0.5, 0.5, *wrong, 0.0),
            burst(0.5, 0.5, 1.0, *wrong),
        ];
        places.iter().all(|loss| {
            let (mut scenario, _) = scripted(&[]);
            scenario.links[0].wire.loss = *loss;
            matches!(run(scenario, &mut |_| Control::Continue), Err(Error::Scenario(_)))
        })
    }));
    assert!(refused(|s| s.links[0].wire.loss = Loss::Random(-0.1)));
    assert!(refused(|s| s.links[0].wire.loss = Loss::GilbertElliott { p: 0.1, r: 1.1, bad: 1.0, good: 0.0 }));
    assert!(refused(|s| s.links[0].wire.reorder = Some(Reorder { chance: f64::NAN, delay: Duration::ZERO })));
}

/// Three links in a row; the last is measured. Five TCP connections cross them all, and their acknowledgements a fourth.
fn row(seed: u64) -> Scenario {
    let bulk = (0..5).map(|_| Box::new(Bulk) as _).collect();
    let mut tcp = group("bulk", bulk, Profile { ecn: true, ..Profile::rfc() }, Delays::None);
    tcp.routes = vec![Route { forward: vec![0, 1, 2], reverse: vec![3], ..Route::default() }];
    let red = spec("red", r#"{"limit": 100, "min": 5, "max": 30, "ecn": true}"#);
    let mut scenario = dumbbell(BitRate::from_mbps(8), red, vec![tcp], 5, 15);
    for (i, mbps) in [(1, 6), (2, 4), (3, 8)] {
        let mut link = scenario.links[0].clone();
        (link.name, link.rate, link.delay) = (format!("{i}"), BitRate::from_mbps(mbps), Duration::from_millis(5));
        scenario.links.push(link);
    }
    Scenario { seed, measured: 2, ..scenario }
}

/// Holds what it sees to what a capture at one place can show.
#[derive(Default)]
struct Tap {
    latest: Instant,
    data: u64,
    acks: u64,
    marks: u64,
    /// By conversation: above all data that passed.
    passed: std::collections::BTreeMap<u64, u64>,
}

impl Observer for Tap {
    fn packet(&mut self, now: Instant, seen: &Sighting) {
        assert!(now >= self.latest, "time goes backwards");
        self.latest = now;
        let Content::Segment(segment) = &seen.content else { panic!("there are no datagrams") };
        let passed = self.passed.entry(seen.parties.conversation).or_default();
        self.marks += u64::from(seen.ecn == Ecn::Ce);
        if seen.parties.from_client {
            self.acks += 1;
            assert!(!segment.flags.has(Flags::ACK) || segment.ack <= *passed, "it acknowledges what has not passed");
        } else {
            self.data += u64::from(segment.len > 0);
            *passed = (*passed).max(segment.seq + segment.sequence_len());
        }
    }
}

#[test]
fn an_observer_sees_both_directions_and_changes_nothing() {
    let mut tap = Tap::default();
    let watched = run_observed(row(3), &mut tap, &mut |_| Control::Continue).unwrap();
    assert_eq!(watched, finish(row(3)));
    let link = &watched.windows[0].links["2"];
    assert!(link.utilization > 0.9, "the slowest link of the row decides: {}", link.utilization);
    assert!(tap.data as f64 > 15.0 * link.packets_per_s && tap.acks > tap.data / 3, "{} {}", tap.data, tap.acks);
    assert!(tap.marks > 0 && tap.passed.len() == 5);
    assert!(
        watched.windows[0].links["3"].packets_per_s > 0.3 * link.packets_per_s,
        "acknowledgements cross a link too"
    );
}
