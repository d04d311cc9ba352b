//! Paths of known delays, rates and framing: what arithmetic says of their latency and throughput, and what comes out.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::script::{random_sends, scripted, scripts};
use crate::common::{dumbbell, finish, group, spec};
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Ecn, Framing, Instant, LinkLayer, Rng};
use aqmkit_sim::observe::{Content, Observer, Sighting};
use aqmkit_sim::scenario::{Delays, Group, Link, Route, WindowSpec};
use aqmkit_sim::{Control, Scenario, run_observed};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event, Exchange};
use aqmkit_transport::Profile;

/// Transmission time of `bytes` at a rate, in nanoseconds.
fn transmission(bytes: u64, rate: BitRate) -> f64 {
    bytes as f64 * 8e9 / rate.as_bps() as f64
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Links of random rates, delays and framing in a row, and one datagram at a time on them.
#[test]
fn a_packet_takes_the_transmissions_and_the_delays_of_its_path() {
    let mut draw = Rng::stream(4, "paths");
    for _ in 0..60 {
        let sends: Vec<_> = (0..20).map(|i| (Instant::ZERO + ms(900 * i), 40 + draw.below(1461) as u32)).collect();
        let (mut scenario, arrivals) = scripted(&sends);
        let like = scenario.links[0].clone();
        let hops = 1 + draw.below(4);
        let mut link = |i| Link {
            name: format!("{i}"),
            rate: BitRate::from_bps(1_000_000 + draw.below(1_000_000_000)),
            delay: Duration::from_nanos(draw.below(100_000_000)),
            framing: Framing::bytes(draw.below(60) as i32),
            ..like.clone()
        };
        scenario.links = (0..hops).map(&mut link).collect();
        let (added, further) = (draw.below(50) as u32, Duration::from_nanos(draw.below(50_000_000)));
        let forward = (0..hops as usize).collect();
        scenario.groups[0].datagram_overhead = added;
        scenario.groups[0].routes = vec![Route { forward, forward_delay: further, ..Route::default() }];
        let links = scenario.links.clone();
        let out = finish(scenario);

        let took = |len: u32| -> f64 {
            let of = |l: &Link| {
                transmission(u64::from(len + added).saturating_add_signed(l.framing.overhead.into()), l.rate)
                    + l.delay.as_nanos() as f64
            };
            links.iter().map(of).sum::<f64>() + further.as_nanos() as f64
        };
        let got = arrivals.lock().unwrap().clone();
        assert_eq!(got.len(), sends.len());
        for (tag, at) in got {
            let (sent, len) = sends[tag as usize];
            let (measured, wanted) = (at.since(sent).as_nanos() as f64, took(len));
            // Each link rounds to a nanosecond.
            assert!((measured - wanted).abs() <= hops as f64, "{measured} ns, {wanted} by arithmetic: {links:?}");
        }
        let mean = sends.iter().map(|(_, len)| took(*len)).sum::<f64>() / sends.len() as f64 / 1e6;
        let latency = out.windows[0].classes["data"].latency_ms.unwrap();
        assert!((latency.mean / mean - 1.0).abs() < 2e-3, "{} of {mean}", latency.mean);
    }
}

/// Packets one after the other, all there at the beginning.
#[test]
fn a_full_link_sends_its_rate_and_its_queue_waits_its_turn() {
    full_link(Framing::bytes(38), 1038);
    full_link(Framing::bytes(-14), 986);
    // 1008 bytes fill 21 cells of 48.
    full_link(Framing { overhead: 8, mpu: 0, linklayer: LinkLayer::Atm }, 21 * 53);
    full_link(Framing { overhead: 0, mpu: 1200, linklayer: LinkLayer::Ptm }, 1200 + 19);
}

/// Packets of 1000 bytes, of each of which the link sends `sent` bytes.
fn full_link(framing: Framing, sent: u32) {
    let (count, len) = (5000_u64, 1000_u32);
    let sends = vec![(Instant::ZERO, len); count as usize];
    let (mut scenario, arrivals) = scripted(&sends);
    scenario.links[0].framing = framing;
    scenario.links[0].delay = ms(7);
    let rate = scenario.links[0].rate;
    let service = transmission(u64::from(sent), rate);
    // Whole services, so that a window holds as many packets as it has room for.
    let after = |packets: u64| Instant::ZERO + Duration::from_nanos((packets as f64 * service) as u64 + 1);
    let window = |name: &str, from, to| WindowSpec { name: name.into(), from: after(from), to: after(to) };
    scenario.windows = vec![window("early", 500, 1500), window("late", 3000, 4000)];
    let out = finish(scenario);

    for (w, (first, last)) in out.windows.iter().zip([(501.0, 1500.0), (3001.0, 4000.0)]) {
        let link = &w.links["bottleneck"];
        let near = |got: f64, wanted: f64, what: &str| {
            assert!((got / wanted - 1.0).abs() < 1.1e-3, "{what} in {}: {got} of {wanted}", w.name);
        };
        let share = f64::from(len) / f64::from(sent);
        near(link.throughput_bps, share * rate.as_bps() as f64, "throughput");
        near(link.utilization, share, "utilisation");
        near(link.packets_per_s, 1e9 / service, "packets per second");
        let delay = link.queue_delay_ms.unwrap();
        // Packet i, from 0, waits i services.
        let wait = |i: f64| i * service / 1e6;
        near(delay.mean, wait(f64::midpoint(first, last)), "mean wait");
        for (got, q) in [(delay.p50, 0.5), (delay.p90, 0.9), (delay.p99, 0.99), (delay.max, 1.0)] {
            near(got, wait(first - 1.0 + q * (last - first + 1.0)), &format!("wait at {q}"));
        }
        let waiting = |i: f64| count as f64 - 1.0 - i;
        near(link.queue_packets.mean, waiting(f64::midpoint(first, last)), "mean queue");
        near(link.queue_packets.p99, waiting(first + 9.0), "queue at 99 %");
        let latency = w.classes["data"].latency_ms.unwrap();
        // All were sent at zero, so that what comes at some time took that long.
        near(latency.mean, f64::midpoint(w.from_s, w.to_s) * 1e3, "latency");
    }
    let last = arrivals.lock().unwrap().last().unwrap().1;
    let wanted = count as f64 * service + 7e6;
    assert!((last.since(Instant::ZERO).as_nanos() as f64 - wanted).abs() <= 1.0, "the rounding of each is carried on");
}

/// Asks once for a response of one segment, and writes down how long opening and answering took.
struct Once {
    from: Instant,
    think: Duration,
}

impl Application for Once {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => {
                self.from = cx.now;
                cx.want(Action::Open { conn: Conn(0), server: 0 });
            }
            Event::Opened(conn) => {
                cx.want(Action::Done(Exchange { kind: 0, started: self.from, bytes: 0 }));
                self.from = cx.now;
                cx.want(Action::Request { conn, request: 200, response: 1000, think: self.think, close: false });
            }
            Event::Response(_) => cx.want(Action::Done(Exchange { kind: 1, started: self.from, bytes: 1000 })),
            _ => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["open", "answer"]
    }
}

/// The lengths of the packets of a run, those of the server and those of the client.
#[derive(Default)]
struct Lengths {
    server: Vec<u32>,
    client: Vec<u32>,
}

impl Observer for Lengths {
    fn packet(&mut self, _: Instant, seen: &Sighting) {
        assert!(matches!(seen.content, Content::Segment(_)));
        if seen.parties.from_client { self.client.push(seen.len) } else { self.server.push(seen.len) }
    }
}

/// One connection over a link each way.
fn one_exchange(delays: Delays, think: Duration) -> Scenario {
    let once = Once { from: Instant::ZERO, think };
    let mut all = group("once", vec![Box::new(once)], Profile::rfc(), delays);
    all.routes = vec![Route { forward: vec![0], reverse: vec![1], forward_delay: ms(3), reverse_delay: ms(5) }];
    let mut scenario = dumbbell(BitRate::from_mbps(8), spec("fifo", "{}"), vec![all], 0, 5);
    scenario.links[0].delay = ms(11);
    let back = Link { name: "back".into(), rate: BitRate::from_mbps(2), delay: ms(13), ..scenario.links[0].clone() };
    scenario.links.push(back);
    scenario
}

/// Opening takes a round trip, an answer another one and the server's thinking.
#[test]
fn a_connection_opens_and_answers_in_a_round_trip_each() {
    let matrix = Delays::Matrix(vec![vec![ms(40)]]);
    for (delays, rest) in [(Delays::None, 0), (Delays::Each(vec![ms(70)]), 70), (matrix, 40)] {
        for think in [0, 250] {
            let mut lengths = Lengths::default();
            let out = run_observed(one_exchange(delays.clone(), ms(think)), &mut lengths, &mut |_| Control::Continue);
            let out = out.unwrap();
            let round = 3.0 + 5.0 + 11.0 + 13.0 + f64::from(rest);
            let down = |len: u32| transmission(len.into(), BitRate::from_mbps(8)) / 1e6;
            let up = |i: usize| transmission(lengths.client[i].into(), BitRate::from_mbps(2)) / 1e6;
            let took = |kind: &str| out.exchanges.iter().find(|e| e.kind == kind).unwrap().duration_ms;
            let response = *lengths.server.iter().max().unwrap();
            assert_eq!(response, 1000 + lengths.client[1], "the data, and the headers of a bare acknowledgement");
            // SYN and SYN-ACK; then the acknowledgement, which the request has to wait for on the link, the request and the response.
            let syn = round + up(0) + down(lengths.server[0]);
            let answer = round + up(1) + up(2) + down(response) + think as f64;
            assert!((took("open") - syn).abs() < 1e-4, "{} of {syn}", took("open"));
            assert!((took("answer") - answer).abs() < 1e-4, "{} of {answer}", took("answer"));
        }
    }
}

/// The round trips of many connections, drawn from a range, have the mean of the range, and none is outside it.
#[test]
fn round_trips_that_are_drawn_fill_their_range() {
    let apps = (0..400).map(|_| -> Box<dyn Application> { Box::new(Once { from: Instant::ZERO, think: ms(0) }) });
    let all = Group { clients: 400, ..group("once", apps.collect(), Profile::rfc(), Delays::Uniform(ms(20), ms(120))) };
    let mut scenario = dumbbell(BitRate::from_mbps(10_000), spec("fifo", "{}"), vec![all], 0, 5);
    scenario.classes = vec!["data".into(), "none".into()];
    let out = finish(scenario);
    let opened: Vec<f64> = out.exchanges.iter().filter(|e| e.kind == "open").map(|e| e.duration_ms).collect();
    assert_eq!(opened.len(), 400);
    assert!(opened.iter().all(|took| (20.0..120.1).contains(took)));
    let mean = opened.iter().sum::<f64>() / 400.0;
    // The standard deviation of such a mean is 100 / sqrt(12 * 400) = 1.4 ms.
    assert!((mean - 70.0).abs() < 6.0, "{mean}");
    assert!(opened.iter().any(|took| *took < 25.0) && opened.iter().any(|took| *took > 115.0));
}

/// A link that is not reported, and a class that is not used, are not counted.
#[test]
fn what_is_not_asked_for_is_not_counted() {
    let lists = [random_sends(1, 300.0, 15.0), random_sends(2, 200.0, 15.0)];
    let (mut all, _) = scripts("pair", Ecn::NotEct, &lists);
    all.class = ClassId(1);
    all.routes = vec![Route { forward: vec![1, 0], ..Route::default() }];
    let mut scenario = dumbbell(BitRate::from_mbps(10), spec("fifo", r#"{"limit": 1000}"#), vec![all], 0, 20);
    scenario.classes = vec!["none".into(), "data".into()];
    let silent = Link { name: "silent".into(), report: false, mean_packet: Bytes(500), ..scenario.links[0].clone() };
    scenario.links.push(silent);
    let out = finish(scenario);
    let window = &out.windows[0];
    assert_eq!(window.links.keys().collect::<Vec<_>>(), ["bottleneck"]);
    assert!(!out.series.columns.keys().any(|name| name.contains("silent")));
    let bytes: u64 = lists.iter().flatten().map(|(_, len)| u64::from(*len)).sum();
    assert_eq!(window.classes["data"].throughput_bps, bytes as f64 * 8.0 / 20.0);
    assert_eq!((window.classes["none"].throughput_bps, window.classes["none"].queue_delay_ms), (0.0, None));
}

/// Classes are counted at the link that is measured: what another one marks and drops is that link's.
#[test]
fn classes_are_counted_at_one_link() {
    for measured in 0..2 {
        let sends = [random_sends(1, 900.0, 15.0), random_sends(2, 900.0, 15.0)];
        let (mut all, _) = scripts("pair", Ecn::Ect0, &sends);
        all.routes = vec![Route { forward: vec![0, 1], ..Route::default() }];
        let marks = spec("step", r#"{"limit": 8, "threshold": 4}"#);
        let mut scenario = dumbbell(BitRate::from_mbps(12), marks, vec![all], 0, 20);
        scenario.measured = measured;
        let second = Link { name: "second".into(), rate: BitRate::from_mbps(10), ..scenario.links[0].clone() };
        scenario.links.push(second);
        let out = finish(scenario);
        let (links, class) = (&out.windows[0].links, &out.windows[0].classes["data"]);
        let counted = &links[["bottleneck", "second"][measured]];
        assert!(links.values().all(|link| link.mark_rate > 0.01 && link.drop_rate > 0.001), "{links:?}");
        assert_eq!((class.mark_rate, class.drop_rate), (counted.mark_rate, counted.drop_rate));
        assert_eq!((class.offered_bps, class.throughput_bps), (counted.offered_bps, counted.throughput_bps));
        assert_eq!(class.queue_delay_ms, counted.queue_delay_ms);
    }
}
