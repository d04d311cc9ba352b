//! CSFQ over whole links: the paper's experiment, and labels on their way.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Cx, Packet, Qdisc, Sink, Why};
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Ecn, FlowKey, Instant, Rng};
use serde_json::{Value, json};

/// A packet of 1000 bytes that carries its label.
#[derive(Clone, Copy, Debug)]
struct Pkt {
    flow: u64,
    class: u8,
    ecn: Ecn,
    label: f32,
}

impl Packet for Pkt {
    fn len(&self) -> u32 {
        1000
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn class(&self) -> ClassId {
        ClassId(self.class)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn label(&self) -> f32 {
        self.label
    }
    fn set_label(&mut self, label: f32) {
        self.label = label;
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// Drops by reason, and how many of them were of marked packets.
#[derive(Default)]
struct Count([u64; Why::COUNT], u64);

impl Sink<Pkt> for Count {
    fn dropped(&mut self, packet: Pkt, why: Why, _now: Instant) {
        self.0[why as usize] += 1;
        self.1 += u64::from(packet.ecn == Ecn::Ce);
    }
}

type Stream = Vec<(Instant, Pkt)>;

const MBIT: f64 = 1e6;

fn link(rate: f64) -> Link {
    Link { classes: vec!["a".to_owned(), "b".to_owned()], ..Link::new(BitRate::from_bps(rate as u64)) }
}

/// Flows that send at these rates for `seconds`, at slightly irregular times.
fn flows(rates: &[f64], seconds: f64) -> Stream {
    let mut all = Vec::new();
    for (flow, &rate) in rates.iter().enumerate() {
        let mut draw = Rng::stream(flow as u64, "flow");
        let (gap, mut at) = (8000.0 / rate, draw.uniform() * 8000.0 / rate);
        while at < seconds {
            let jittered = at + 0.2 * gap * draw.uniform();
            let packet = Pkt { flow: flow as u64, class: (flow % 2) as u8, ecn: Ecn::NotEct, label: 0.0 };
            all.push((Instant::ZERO + Duration::from_secs_f64(jittered), packet));
            at += gap;
        }
    }
    all.sort_by_key(|(at, packet)| (*at, packet.flow));
    all
}

/// Sends a stream through a router with a link of this rate; gives what comes out, what was dropped, and alpha.
fn through(params: Value, rate: f64, stream: &Stream) -> (Stream, Count, f64) {
    let spec = Spec::read("csfq", params).unwrap();
    let mut queue: Box<dyn Qdisc<Pkt>> = spec.build(&link(rate), Instant::ZERO).unwrap();
    let (mut rng, mut sink, mut out) = (Rng::stream(1, "csfq"), Count::default(), Vec::new());
    let packet_time = BitRate::from_bps(rate as u64).time_to_send(Bytes(1000));
    let (mut free, mut next) = (Instant::ZERO, 0);
    loop {
        while next < stream.len() && (stream[next].0 <= free || queue.backlog().packets == 0) {
            let (now, packet) = stream[next];
            free = free.max(now);
            queue.enqueue(packet, &mut Cx { now, rng: &mut rng, sink: &mut sink });
            next += 1;
        }
        let sent = queue.dequeue(&mut Cx { now: free, rng: &mut rng, sink: &mut sink }).packet();
        let Some(packet) = sent else { break };
        free += packet_time;
        out.push((free, packet));
    }
    let mut alpha = f64::NAN;
    queue.probe(&mut |name, value| {
        if name == "alpha" {
            alpha = value;
        }
    });
    (out, sink, alpha)
}

/// The rate of each flow between these seconds.
fn rates(stream: &Stream, flows: usize, from: f64, to: f64) -> Vec<f64> {
    let mut bits = vec![0.0; flows];
    for (at, packet) in stream {
        if (from..to).contains(&at.as_secs_f64()) {
            bits[packet.flow as usize] += 8000.0;
        }
    }
    bits.iter().map(|b| b / (to - from)).collect()
}

fn near(rates: &[f64], expected: &[f64], within: f64) {
    let off = |(rate, wanted): (&f64, &f64)| (rate / wanted - 1.0).abs() > within;
    assert!(!rates.iter().zip(expected).any(off), "{rates:.0?}, not {expected:?}");
}

/// The paper's first experiment: flow i (from 0) sends i + 1 times the fair share of 10 Mbit/s. A router that only
/// labels gives flow 31 many times as much as flow 0. Fails where alpha is adapted by what arrives.
#[test]
fn thirty_two_flows_get_the_same() {
    let share = 10.0 * MBIT / 32.0;
    let offered: Vec<f64> = (1..=32).map(|i| f64::from(i) * share).collect();
    let (sent, _, alpha) = through(json!({}), 10.0 * MBIT, &flows(&offered, 20.0));
    let got = rates(&sent, 32, 5.0, 20.0);
    near(&got, &[share; 32], 0.12);
    near(&[got.iter().sum(), alpha], &[10.0 * MBIT, share], 0.1);
    let (unfair, _, _) = through(json!({ "role": "edge" }), 10.0 * MBIT, &flows(&offered, 20.0));
    let fifo = rates(&unfair, 32, 5.0, 20.0);
    assert!(fifo[31] / fifo[0] > 10.0, "an edge alone is a FIFO: {fifo:.0?}");
}

/// Eight flows through an edge, a core of 8 and a core of 4 Mbit/s that see only labels. Fails where survivors keep
/// their labels.
#[test]
fn cores_know_flows_by_their_labels_only() {
    let offered: Vec<f64> = (1..=8).map(|i| f64::from(i) * MBIT).collect();
    let (labelled, _, _) = through(json!({ "role": "edge" }), 1000.0 * MBIT, &flows(&offered, 20.0));
    let label = |stream: &Stream, flow: u64| {
        let labels =
            stream.iter().filter(|(at, p)| at.as_secs_f64() > 5.0 && p.flow == flow).map(|(_, p)| f64::from(p.label));
        labels.clone().sum::<f64>() / labels.count() as f64
    };
    near(&[label(&labelled, 0), label(&labelled, 7)], &[MBIT, 8.0 * MBIT], 0.02);
    let (first, _, alpha) = through(json!({ "role": "core" }), 8.0 * MBIT, &labelled);
    near(&rates(&first, 8, 5.0, 20.0), &[MBIT; 8], 0.12);
    near(&[label(&first, 7)], &[alpha], 0.1);
    let (second, _, _) = through(json!({ "role": "core" }), 4.0 * MBIT, &first);
    near(&rates(&second, 8, 5.0, 20.0), &[0.5 * MBIT; 8], 0.15);
}

#[test]
fn weights_count_at_the_edge() {
    let params = json!({ "classes": [{ "class": "a", "weight": 3 }, { "class": "b" }] });
    let (sent, _, _) = through(params, 8.0 * MBIT, &flows(&[8.0 * MBIT; 4], 20.0));
    near(&rates(&sent, 4, 5.0, 20.0), &[3.0 * MBIT, MBIT, 3.0 * MBIT, MBIT], 0.12);
}

/// Four flows with labels, and three with none or an impossible one, which get one share in all.
#[test]
fn unlabelled_traffic_is_one_flow() {
    let (mut labelled, _, _) = through(json!({ "role": "edge" }), 1000.0 * MBIT, &flows(&[4.0 * MBIT; 7], 20.0));
    labelled
        .iter_mut()
        .filter(|(_, p)| p.flow > 3)
        .for_each(|(_, p)| p.label = if p.flow == 4 { f32::INFINITY } else { 0.0 });
    let (sent, _, _) = through(json!({ "role": "core" }), 10.0 * MBIT, &labelled);
    let got = rates(&sent, 7, 5.0, 20.0);
    near(&got[..4], &[2.0 * MBIT; 4], 0.12);
    near(&[got[4..].iter().sum()], &[2.0 * MBIT], 0.12);
    assert!(sent.iter().all(|(_, p)| (p.label > 0.0 && p.label.is_finite()) == (p.flow <= 3)));
}

#[test]
fn a_packet_that_can_is_marked_where_a_drop_is_due() {
    let mut stream = flows(&[3.0 * MBIT; 4], 5.0);
    stream.iter_mut().filter(|(_, p)| p.flow == 0).for_each(|(_, p)| p.ecn = Ecn::Ect0);
    let (sent, dropped, _) = through(json!({ "ecn": true }), 10.0 * MBIT, &stream);
    let marked = |flow| sent.iter().filter(|(_, p)| p.flow == flow && p.ecn == Ecn::Ce).count();
    assert!(marked(0) > 100 && marked(1) == 0, "{} marks", marked(0));
    assert!(dropped.0[Why::Unfair as usize] > 100);
}

/// Flows that ignore marks fill the buffer.
#[test]
fn what_does_not_fit_is_not_marked_first() {
    let mut stream = flows(&[5.0 * MBIT; 4], 5.0);
    stream.iter_mut().for_each(|(_, p)| p.ecn = Ecn::Ect0);
    let (sent, dropped, _) = through(json!({ "ecn": true }), 10.0 * MBIT, &stream);
    assert!(sent.iter().filter(|(_, p)| p.ecn == Ecn::Ce).count() > 100);
    assert!(dropped.0[Why::Overflow as usize] > 100);
    assert_eq!(dropped.1, 0, "marked and dropped");
}

/// An edge stores flows in sets of four, and in a number of sets that is a power of two.
#[test]
fn an_edge_rounds_its_number_of_flows_up() {
    for (asked, stored) in [(1, 4), (4, 4), (5, 8), (4096, 4096), (4097, 8192)] {
        let full = Spec::read("csfq", json!({ "flows": asked })).unwrap().effective(&link(10.0 * MBIT)).unwrap();
        assert_eq!(serde_json::to_value(full).unwrap()["flows"], stored, "{asked}");
    }
}

/// K = 100 ms: a first packet counts as one after a silence of K; after 5 s it is 8000 bits in 5 s.
#[test]
fn labels_by_hand() {
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let packet = |flow, class| Pkt { flow, class, ecn: Ecn::NotEct, label: 0.0 };
    let stream =
        vec![(at(0), packet(1, 0)), (at(100), packet(1, 0)), (at(5100), packet(1, 0)), (at(5100), packet(2, 1))];
    let params = json!({ "role": "edge", "classes": [{ "class": "a" }, { "class": "b", "weight": 2 }] });
    let (sent, _, _) = through(params, 10.0 * MBIT, &stream);
    let e = (-1.0_f64).exp();
    let first = (1.0 - e) * 80_000.0;
    let expected = [first, first + e * first, 1600.0, first / 2.0];
    near(&sent.iter().map(|(_, p)| f64::from(p.label)).collect::<Vec<_>>(), &expected, 1e-6);
}

/// Alpha starts as C; a burst that overflows the buffer cuts it by a hundredth each time, to three quarters at most.
#[test]
fn an_overflow_cuts_alpha() {
    let burst = |n| vec![(Instant::ZERO, Pkt { flow: 1, class: 0, ecn: Ecn::NotEct, label: 0.0 }); n];
    let (_, dropped, alpha) = through(json!({ "limit": 10 }), 10.0 * MBIT, &burst(13));
    assert_eq!((dropped.0[Why::Overflow as usize], alpha), (3, 10.0 * MBIT * 0.99 * 0.99 * 0.99));
    let (_, _, least) = through(json!({ "limit": 10 }), 10.0 * MBIT, &burst(1000));
    assert!((0.75..0.76).contains(&(least / (10.0 * MBIT))), "{least}");
}
