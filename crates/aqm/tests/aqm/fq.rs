//! fq by hand: turns, the fast queue, gaps, bands and marks; shares and rates in the long run.

use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Dequeued, Why};
use aqmkit_base::{Duration, Ecn, Instant};

use crate::common::bench::{Bench, PASS};
use crate::common::{Pkt, cx, spec};
use serde_json::json;

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Packets of 1000 bytes with a number of a flow each.
fn offer(b: &mut Bench, flow: u64, packets: usize) {
    (0..packets).for_each(|_| assert_eq!(b.flow(flow), PASS));
}

fn ask(b: &mut Bench) -> Dequeued<Pkt> {
    b.queue.dequeue(&mut cx(b.now, &mut b.rng, &mut b.log))
}

/// The next packet's flow and the time at which it leaves, waiting as a link would.
fn sent(b: &mut Bench) -> Option<(u64, Instant)> {
    loop {
        match ask(b) {
            Dequeued::Packet(packet) => return Some((packet.flow, b.now)),
            Dequeued::Empty => return None,
            Dequeued::NotBefore(at) => b.now = at,
        }
    }
}

/// The flows of all packets, in the order in which they leave.
fn flows(b: &mut Bench) -> Vec<u64> {
    std::iter::from_fn(|| sent(b)).map(|(flow, _)| flow).collect()
}

/// When all packets leave, in microseconds.
fn times(b: &mut Bench) -> Vec<u64> {
    std::iter::from_fn(|| sent(b)).map(|(_, at)| at.as_nanos() / 1000).collect()
}

/// Eight packets of any flows go first, in the order of arrival; what comes behind them has turns, and new flows a larger first one.
#[test]
fn packets_that_find_no_flow_waiting_pass_by() {
    let mut b = Bench::of("fq", r#"{"quantum": "2000b", "initial_quantum": "3000b"}"#);
    for flow in [0, 1, 0, 0, 0, 0, 0, 0] {
        offer(&mut b, flow, 1);
    }
    assert_eq!(b.gauge("queue.fast"), 8.0);
    offer(&mut b, 0, 5);
    offer(&mut b, 1, 5);
    assert_eq!((b.gauge("queue.fast"), b.gauge("queue.1")), (8.0, 10.0));
    // Three packets each use up the first credit; then turns of two.
    let expected: Vec<u64> = [1..=8, 9..=11, 14..=16, 12..=13, 17..=18].into_iter().flatten().collect();
    assert_eq!(b.take_all(), expected);
    // While flows wait, nothing passes by.
    offer(&mut b, 0, 9);
    assert_eq!((b.gauge("queue.fast"), b.gauge("queue.1")), (8.0, 1.0));
    (0..8).for_each(|_| _ = b.take());
    offer(&mut b, 1, 1);
    assert_eq!((b.gauge("queue.fast"), b.gauge("queue.1")), (0.0, 2.0));
}

/// With a maximum rate nothing passes by, the first credit leaves at once, and then a quantum each `quantum / maxrate`; the timer is late by its slack, which the
/// next gap makes up for.
#[test]
fn a_flow_waits_between_its_turns() {
    let mut b = Bench::of(
        "fq",
        r#"{"quantum": "2000b", "initial_quantum": "3000b", "maxrate": "2mbit", "timer_slack": "100us"}"#,
    );
    offer(&mut b, 1, 9);
    assert_eq!(b.gauge("queue.fast"), 0.0);
    let times = times(&mut b);
    // 2000 bytes take 8 ms. Three at once; the next two after 8 ms and the slack; the others after gaps that are shorter by what the timer was late.
    assert_eq!(times, [0, 0, 0, 8100, 8100, 16_100, 16_100, 24_100, 24_100]);
}

/// At a rate up to the threshold, packets leave one by one.
#[test]
fn a_slow_flow_sends_packet_by_packet() {
    let mut b = Bench::of("fq", r#"{"maxrate": "500kbit", "timer_slack": "0s"}"#);
    offer(&mut b, 1, 4);
    assert_eq!(times(&mut b), [0, 16_000, 32_000, 48_000]);
    // A gap is a second at most.
    let mut slowest = Bench::of("fq", r#"{"maxrate": "4kbit", "timer_slack": "0s"}"#);
    offer(&mut slowest, 1, 3);
    assert_eq!(times(&mut slowest), [0, 1_000_000, 2_000_000]);
}

/// `pacing` off: the rate does not hold, but nothing passes by either.
#[test]
fn without_pacing_a_maximum_rate_does_not_hold() {
    let mut b = Bench::of("fq", r#"{"maxrate": "500kbit", "pacing": false}"#);
    offer(&mut b, 1, 9);
    assert_eq!(b.gauge("queue.fast"), 0.0);
    assert_eq!(b.take_all().len(), 9);
}

/// A flow that was out of turn for long has a quantum, a flow that returns at once has what it had left.
#[test]
fn credit_is_refilled_after_a_pause() {
    for (pause, first) in [(41_000, 2), (39_000, 1)] {
        let mut b = Bench::of("fq", r#"{"quantum": "2000b", "initial_quantum": "2500b", "maxrate": "1gbit"}"#);
        // The flow has a credit of 500 bytes left. It is found empty twice, as a new flow and as an old one, while the other one sends.
        offer(&mut b, 1, 2);
        offer(&mut b, 2, 4);
        assert_eq!(flows(&mut b), [1, 1, 2, 2, 2, 2]);
        b.after(us(pause));
        offer(&mut b, 1, 3);
        offer(&mut b, 2, 1);
        let order = flows(&mut b);
        assert_eq!(order.iter().take_while(|flow| **flow == 1).count(), first, "{pause}: {order:?}");
    }
}

/// Flows 0, 2 and 3 have best effort, expedited forwarding and `af31`: their first turn is in band 0, later ones are in their bands, which share by weight.
#[test]
fn bands_share_by_weight() {
    let mut b = Bench::of(
        "fq",
        r#"{"priomap": [1, 2, 2, 2, 0], "weights": [65536, 32768, 16384], "quantum": "1000b", "initial_quantum": "1000b",
            "flow_limit": 2000, "maxrate": "1gbit", "pacing": false}"#,
    );
    for flow in [0, 2, 3] {
        offer(&mut b, flow, 1000);
    }
    let flows: Vec<u64> = std::iter::from_fn(|| sent(&mut b)).map(|(flow, _)| flow).take(700).collect();
    assert_eq!(flows[..3], [0, 2, 3]);
    let share = |flow| flows.iter().filter(|each| **each == flow).count() as f64 / 700.0;
    for (flow, expected) in [(2, 4.0 / 7.0), (0, 2.0 / 7.0), (3, 1.0 / 7.0)] {
        assert!((share(flow) - expected).abs() < 0.06, "flow {flow}: {} of {expected}", share(flow));
    }
}

/// `limit` holds for each band, `flow_limit` for each flow.
#[test]
fn limits_are_those_of_bands_and_flows() {
    let mut b = Bench::of("fq", r#"{"limit": 3, "flow_limit": 2, "maxrate": "1gbit"}"#);
    let drops: Vec<Vec<Why>> = [0, 0, 0, 1, 1, 3, 3].into_iter().map(|flow| b.flow(flow)).collect();
    // Flows 0 and 1 are best effort, flow 3 is in band 2.
    let (unfair, full) = (vec![Why::Unfair], vec![Why::Overflow]);
    assert_eq!(drops, [PASS, PASS, unfair, PASS, full, PASS, PASS]);
    let (gone, ()) = b.signals(|b| {
        let less = spec("fq", r#"{"limit": 2, "maxrate": "1gbit"}"#);
        b.queue.reconfigure(&less, &crate::common::link(), &mut cx(b.now, &mut b.rng, &mut b.log)).unwrap();
    });
    assert_eq!(gone, [(2, Why::Reconfigured)], "the last of the longest flow in the band");
    let mut left = flows(&mut b);
    left.sort_unstable();
    assert_eq!(left, [0, 1, 3, 3]);
}

/// A packet is marked for the time that it waited after its flow was allowed to send.
#[test]
fn marks_are_for_delays_that_pacing_does_not_explain() {
    let mut b = Bench::of("fq", r#"{"ce_threshold": "1ms", "maxrate": "500kbit", "timer_slack": "0s"}"#);
    for _ in 0..4 {
        b.offer(Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, 1) });
    }
    assert_eq!(sent(&mut b), Some((1, Instant::ZERO)));
    // The second waits 16 ms for its time, which is no delay; the third is late by 1 ms and the fourth by more.
    for (late, marked) in [(0, false), (1000, false), (1001, true)] {
        let Dequeued::NotBefore(at) = ask(&mut b) else { panic!("it has to wait") };
        b.now = at + us(late);
        let (signals, packet) = b.signals(Bench::take);
        assert!(packet.is_some());
        assert_eq!(!signals.is_empty(), marked, "late by {late} us");
    }
}

/// Flows that keep a queue have equal shares of bytes, whatever the sizes of their packets, and each at most its maximum rate.
#[test]
fn shares_are_equal_and_rates_are_bounded() {
    for (maxrate, each) in [("100mbit", 10e6 / 3.0), ("2mbit", 2e6)] {
        let mut b = Bench::of("fq", &format!(r#"{{"maxrate": "{maxrate}"}}"#));
        let sizes = [200_u32, 700, 1500];
        let mut bytes = [0_u64; 3];
        let end = Instant::ZERO + Duration::from_secs(10);
        let more = |bench: &mut Bench, flow: u64| bench.enqueue(Pkt { len: sizes[flow as usize], ..Pkt::new(0, flow) });
        (0..3).for_each(|flow| (0..60).for_each(|_| more(&mut b, flow)));
        while b.now < end {
            match ask(&mut b) {
                Dequeued::Packet(packet) => {
                    bytes[packet.flow as usize] += u64::from(packet.len);
                    b.now += Duration::from_nanos(u64::from(packet.len) * 800);
                    more(&mut b, packet.flow);
                }
                Dequeued::NotBefore(at) => b.now = at,
                Dequeued::Empty => unreachable!("each flow keeps its queue"),
            }
        }
        for sent in bytes {
            let rate = sent as f64 * 8.0 / 10.0;
            assert!((rate / each - 1.0).abs() < 0.02, "{maxrate}: {rate} of {each}");
        }
    }
}

/// Experiments from before the name changed are told the new one.
#[test]
fn parameters_of_wfq_are_refused_with_its_name() {
    for table in [
        json!({ "delta": "1kb" }),
        json!({ "clock": "self" }),
        json!({ "classes": [{ "weight": 2 }] }),
        json!({ "flows": 9 }),
    ] {
        let error = Spec::read("fq", table.clone()).unwrap_err().to_string();
        assert!(error.contains("wfq"), "{table}: {error}");
        assert!(Spec::read("wfq", table).is_ok());
    }
    let error = Spec::read("fq", json!({ "horizon": "10s" })).unwrap_err().to_string();
    assert!(!error.contains("wfq"), "{error}");
}
