//! The bounds that fair queueing is known by.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::collections::VecDeque;

use crate::common::{Event, Log, Pkt, cx, link, spec};
use aqmkit_aqm::Qdisc;
use aqmkit_aqm::registry::Spec;
use aqmkit_base::{Duration, Instant, Rng};

/// A queue in which each flow always has packets of random lengths.
struct Backlogged {
    queue: Box<dyn Qdisc<Pkt>>,
    draw: Rng,
    rng: Rng,
    log: Log,
    now: Instant,
    next: u64,
    /// The longest packet of each flow.
    longest: Vec<u32>,
}

impl Backlogged {
    fn new(spec: &Spec, longest: &[u32]) -> Self {
        let mut new = Backlogged {
            queue: spec.build(&link(), Instant::ZERO).unwrap(),
            draw: Rng::stream(5, "lengths"),
            rng: Rng::stream(1, "aqm"),
            log: Log::default(),
            now: Instant::ZERO,
            next: 0,
            longest: longest.to_vec(),
        };
        for flow in 0..longest.len() {
            (0..60).for_each(|_| new.offer(flow));
        }
        new
    }

    fn offer(&mut self, flow: usize) {
        self.next += 1;
        let len = 40 + self.draw.below(u64::from(self.longest[flow]) - 39) as u32;
        let packet = Pkt { len, class: (flow % 3) as u8, ..Pkt::new(self.next, flow as u64) };
        self.queue.enqueue(packet, &mut cx(self.now, &mut self.rng, &mut self.log));
    }

    /// Sends a packet, and offers another of its flow; gives the flow and the length.
    fn serve(&mut self) -> (usize, f64) {
        let sent = self.queue.dequeue(&mut cx(self.now, &mut self.rng, &mut self.log)).packet().unwrap();
        self.now += Duration::from_nanos(800 * u64::from(sent.len));
        self.offer(sent.flow as usize);
        (sent.flow as usize, f64::from(sent.len))
    }

    /// The share of the link that each flow has.
    fn shares(mut self, packets: usize) -> Vec<f64> {
        let mut sent = vec![0.0; self.longest.len()];
        for _ in 0..packets {
            let (flow, len) = self.serve();
            sent[flow] += len;
        }
        let total: f64 = sent.iter().sum();
        sent.iter().map(|s| s / total).collect()
    }

    fn gauge(&self, name: &str) -> f64 {
        crate::common::gauge(&*self.queue, name)
    }
}

const MAX: f64 = 1500.0;

/// Deficits, turns, and any two flows over any time. Fails where a turn that ends forgets its deficit.
#[test]
fn drr_keeps_its_bounds() {
    for quantum in [1500.0, 2200.0, 9000.0] {
        let drr = spec("drr", &format!(r#"{{"limit": 1000, "quantum": "{quantum}b"}}"#));
        let mut all = Backlogged::new(&drr, &[1500, 200, 700]);
        let (mut sent, mut turns, mut last) = ([0.0_f64; 3], [0.0; 3], 3);
        let mut extremes = [[(0.0_f64, 0.0_f64); 3]; 3];
        for _ in 0..50_000 {
            let (flow, len) = all.serve();
            if flow != last {
                if last < 3 {
                    assert!((sent[last] - turns[last] * quantum).abs() <= MAX, "after {} turns", turns[last]);
                }
                turns[flow] += 1.0;
                last = flow;
            }
            sent[flow] += len;
            assert!((0.0..MAX).contains(&all.gauge("deficit")));
            for i in 0..3 {
                for j in 0..3 {
                    let lead = sent[i] - sent[j];
                    let (low, high) = &mut extremes[i][j];
                    (*low, *high) = (low.min(lead), high.max(lead));
                    assert!(*high - *low <= 2.0 * MAX + quantum, "{i} against {j}");
                }
            }
        }
    }
}

fn close(shares: &[f64], expected: &[f64], within: f64) {
    let near = shares.iter().zip(expected).all(|(s, e)| (s / e - 1.0).abs() < within);
    assert!(near, "{shares:?}, not {expected:?}");
}

#[test]
fn weights_divide_the_link() {
    let classes = r#""limit": 1000, "classes": [{"class": "tcp", "weight": 2}, {"class": "multimedia", "weight": 0.5}, {"class": "*"}]"#;
    let (lengths, expected) = ([1500, 300, 800], [2.0 / 3.5, 0.5 / 3.5, 1.0 / 3.5]);
    let shares =
        |name, options: &str| Backlogged::new(&spec(name, &format!("{{{options}{classes}}}")), &lengths).shares(50_000);
    close(&shares("drr", ""), &expected, 0.01);
    close(&shares("drr", r#""buckets": 64, "#), &expected, 0.01);
    close(&shares("wfq", ""), &expected, 0.01);
    close(&shares("wfq", r#""clock": "self", "#), &expected, 0.01);
}

/// Turns of a packet give shares by the packets' lengths, turns of a quantum equal shares.
#[test]
fn sfqs_turns_are_packets_or_quanta() {
    let shares = |options: &str| {
        Backlogged::new(&spec("sfq", &format!(r#"{{"limit": 1000{options}}}"#)), &[1461, 461]).shares(50_000)
    };
    close(&shares(""), &[0.75, 0.25], 0.01);
    close(&shares(r#", "quantum": "1500b""#), &[0.5, 0.5], 0.01);
}

/// Eight flows in four queues: some share a queue for ever, unless the hash changes.
#[test]
fn sfqs_flows_part_when_the_hash_changes() {
    let spread = |options: &str| {
        let sfq = spec("sfq", &format!(r#"{{"limit": 1000, "divisor": 4, "depth": 1000{options}}}"#));
        let shares = Backlogged::new(&sfq, &[1000; 8]).shares(200_000);
        shares.iter().copied().fold(0.0, f64::max) / shares.iter().copied().fold(1.0, f64::min)
    };
    assert!(spread("") > 1.9);
    assert!(spread(r#", "perturb": "500ms""#) < 1.2);
}

/// Offers small packets of 20 flows at twice the rate of the link, flow 10 this many times as many as each other
/// flow; gives each flow's share of what is sent, and the packets dropped of others than flow 10.
fn with_a_hog(name: &str, options: &str, times: u64, flows: u64) -> (Vec<f64>, usize) {
    let fair = spec(name, &format!(r#"{{"limit": 400{options}}}"#));
    let mut queue = fair.build::<Pkt>(&link(), Instant::ZERO).unwrap();
    let (mut rng, mut draw, mut log) = (Rng::stream(1, "aqm"), Rng::stream(2, "arrivals"), Log::default());
    let (mut sent, mut now) = (vec![0.0; flows as usize], Instant::ZERO);
    for id in 0..400_000 {
        now += Duration::from_micros(113);
        let flow = Some(draw.below(flows + times - 1)).filter(|&f| f < flows).unwrap_or(10);
        let packet = Pkt { len: 1 + draw.below(562) as u32, ..Pkt::new(id, flow) };
        queue.enqueue(packet, &mut cx(now, &mut rng, &mut log));
        if id % 2 == 0
            && let Some(p) = queue.dequeue(&mut cx(now, &mut rng, &mut log)).packet()
        {
            sent[p.flow as usize] += f64::from(p.len);
        }
    }
    let total: f64 = sent.iter().sum();
    let hurt = log.0.iter().filter(|e| matches!(e, Event::Dropped(p, _) if p.flow != 10)).count();
    (sent.iter().map(|s| s / total).collect(), hurt)
}

/// The test of DRR's paper: 20 flows with more than their shares, one of which sends three times as much.
#[test]
fn a_flow_that_sends_three_times_as_much_gets_no_more() {
    close(&with_a_hog("drr", "", 3, 20).0, &[0.05; 20], 0.015);
    close(&with_a_hog("sfq", r#", "quantum": "1500b", "divisor": 16384"#, 3, 20).0, &[0.05; 20], 0.015);
}

/// Ten flows with four fifths of their share, and one that sends all the rest of twice the link.
#[test]
fn flows_below_their_share_lose_nothing() {
    for (name, options) in [("drr", ""), ("wfq", ""), ("wfq", r#", "clock": "self""#)] {
        let (shares, hurt) = with_a_hog(name, options, 17, 11);
        assert_eq!(hurt, 0, "{name}");
        close(&shares[..10], &[2.0 / 27.0; 10], 0.03);
    }
    assert!(with_a_hog("fifo", "", 17, 11).1 > 50_000);
}

/// 10 Mbit/s in bytes per second.
const MU: f64 = 1_250_000.0;

type Arrival = (f64, Pkt);

/// Bursts of five flows of different weights.
fn arrivals(seed: u64) -> Vec<Arrival> {
    let mut draw = Rng::stream(seed, "arrivals");
    let (mut all, mut now) = (Vec::new(), 0.0);
    while all.len() < 3000 {
        let (flow, burst) = (draw.below(5), 1 + draw.below(12));
        for _ in 0..burst {
            let packet =
                Pkt { len: 40 + draw.below(1461) as u32, class: (flow % 3) as u8, ..Pkt::new(all.len() as u64, flow) };
            all.push((now, packet));
        }
        now += draw.below(9_000) as f64 / 1e6;
    }
    all
}

/// When bit by bit service finishes each packet, by flow of weight `weight[class]`.
fn bit_by_bit(arrivals: &[Arrival], weight: [f64; 3]) -> Vec<f64> {
    let mut finish = vec![0.0; arrivals.len()];
    let mut queues: Vec<VecDeque<(usize, f64)>> = vec![VecDeque::new(); 5];
    let (mut now, mut next) = (0.0, 0);
    loop {
        let w = |flow: usize| weight[flow % 3];
        let busy: f64 = (0..5).filter(|&f| !queues[f].is_empty()).map(w).sum();
        let arrival = arrivals.get(next).map_or(f64::INFINITY, |a| a.0);
        let head = |f: usize| queues[f].front().map(|(_, left)| left * busy / w(f) / MU);
        let done = (0..5).filter_map(|f| head(f).map(|t| (t, f))).min_by(|a, b| a.0.total_cmp(&b.0));
        let until = done.map_or(f64::INFINITY, |(t, _)| now + t).min(arrival);
        if until.is_infinite() {
            return finish;
        }
        for (flow, queue) in queues.iter_mut().enumerate() {
            if let Some((_, left)) = queue.front_mut() {
                *left -= (until - now) * MU * w(flow) / busy;
            }
        }
        now = until;
        match done {
            Some((_, flow)) if until < arrival => {
                finish[queues[flow].pop_front().unwrap().0] = now;
            }
            _ => {
                let packet = arrivals[next].1;
                queues[packet.flow as usize].push_back((next, f64::from(packet.len)));
                next += 1;
            }
        }
    }
}

fn instant(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

/// By how much a queue at a link of 10 Mbit/s is at most later than bit by bit service, in seconds.
fn latest(spec: &Spec, arrivals: &[Arrival], weight: [f64; 3]) -> f64 {
    let ideal = bit_by_bit(arrivals, weight);
    let mut queue = spec.build::<Pkt>(&link(), Instant::ZERO).unwrap();
    let (mut rng, mut log) = (Rng::stream(1, "aqm"), Log::default());
    let (mut free, mut next, mut latest) = (0.0, 0, f64::NEG_INFINITY);
    loop {
        while next < arrivals.len() && (arrivals[next].0 <= free || queue.backlog().packets == 0) {
            let (at, packet) = arrivals[next];
            free = at.max(free);
            queue.enqueue(packet, &mut cx(instant(at), &mut rng, &mut log));
            next += 1;
        }
        let Some(packet) = queue.dequeue(&mut cx(instant(free), &mut rng, &mut log)).packet() else {
            return latest;
        };
        free += f64::from(packet.len) / MU;
        latest = latest.max(free - ideal[packet.id as usize]);
    }
}

/// Parekh and Gallager: a packet is sent no later than bit by bit, plus the time of a longest packet. FIFO, DRR and
/// self-clocked WFQ are not as good, so the bound has teeth; it fails where R(t) does not slow down with the number
/// of conversations, or a start does not wait for it.
#[test]
fn fq_is_within_one_packet_of_bit_by_bit_service() {
    let packet = MAX / MU + 1e-6;
    let classes =
        r#""classes": [{"class": "tcp", "weight": 4}, {"class": "multimedia", "weight": 0.5}, {"class": "*"}]"#;
    let (mut drr, mut fifo, mut own) = (0.0_f64, 0.0_f64, 0.0_f64);
    for seed in 0..40 {
        let all = arrivals(seed);
        let equal = latest(&spec("wfq", r#"{"limit": 100000}"#), &all, [1.0; 3]);
        assert!(equal <= packet, "seed {seed}: {equal}");
        let weighted = latest(&spec("wfq", &format!(r#"{{"limit": 100000, {classes}}}"#)), &all, [4.0, 0.5, 1.0]);
        assert!(weighted <= packet, "seed {seed}: {weighted}");
        drr = drr.max(latest(&spec("drr", r#"{"limit": 100000}"#), &all, [1.0; 3]));
        fifo = fifo.max(latest(&spec("fifo", r#"{"limit": 100000}"#), &all, [1.0; 3]));
        own = own.max(latest(&spec("wfq", r#"{"limit": 100000, "clock": "self"}"#), &all, [1.0; 3]));
    }
    assert!(drr > packet && fifo > packet && own > packet, "{drr} {fifo} {own}");
}

/// A hundred thousand flows of one packet: what is remembered stays bounded.
#[test]
fn many_flows_do_not_fill_the_memory() {
    let mut queue = spec("wfq", r#"{"limit": 20, "flows": 50}"#).build::<Pkt>(&link(), Instant::ZERO).unwrap();
    let (mut rng, mut log) = (Rng::stream(1, "aqm"), Log::default());
    for flow in 0..100_000 {
        queue.enqueue(Pkt::new(flow, flow), &mut cx(Instant::ZERO, &mut rng, &mut log));
        let mut flows = f64::NAN;
        queue.probe(&mut |name, value| {
            if name == "flows" {
                flows = value;
            }
        });
        assert!(flows <= 50.0 && queue.backlog().packets <= 20);
    }
}

/// With priorities classes that always have packets get their shares all the same, in the long run, but that the
/// highest sends a little more: whatever nobody may.
#[test]
fn cbq_with_priorities_keeps_its_shares() {
    let classes = r#"[{"class": "tcp", "share": 0.6, "priority": 3}, {"class": "multimedia", "share": 0.15, "priority": 1},
                      {"class": "other", "share": 0.25, "priority": 2}]"#;
    for more in ["", r#""maxburst": 4, "minburst": 1,"#] {
        let cbq = spec("cbq", &format!(r#"{{{more} "classes": {classes}}}"#));
        close(&Backlogged::new(&cbq, &[1500, 900, 1500]).shares(100_000), &[0.6, 0.15, 0.25], 0.2);
    }
}

/// A class of high priority that keeps to its share waits for one packet of the others, whoever they are; without
/// priorities it waits for one of each.
#[test]
fn cbq_serves_a_high_priority_first() {
    let wait = |priority: &str| {
        let classes = format!(
            r#"[{{"class": "tcp", "share": 0.4{priority}}}, {{"class": "other", "share": 0.4}},
                {{"class": "multimedia", "share": 0.2, "priority": 1}}]"#
        );
        let classes = if priority.is_empty() { classes.replace(r#", "priority": 1"#, "") } else { classes };
        let mut queue = spec("cbq", &format!(r#"{{"classes": {classes}}}"#)).build(&link(), Instant::ZERO).unwrap();
        let (mut rng, mut log, mut now, mut waits) = (Rng::stream(1, "aqm"), Log::default(), Instant::ZERO, Vec::new());
        let mut since = None;
        for id in 0..20_000_u64 {
            let context = &mut cx(now, &mut rng, &mut log);
            for class in [0, 2] {
                queue.enqueue(Pkt { class, ..Pkt::new(3 * id + u64::from(class), u64::from(class)) }, context);
            }
            if id % 10 == 0 {
                queue.enqueue(Pkt { class: 1, ..Pkt::new(3 * id + 1, 1) }, context);
                since = Some(id);
            }
            if queue.dequeue(context).packet().unwrap().class == 1 {
                waits.push(id - since.take().unwrap());
            }
            now += Duration::from_micros(800);
        }
        waits.into_iter().max().unwrap()
    };
    assert_eq!(wait(r#", "priority": 2"#), 0, "it is sent at once");
    assert!(wait("") > 0);
}
