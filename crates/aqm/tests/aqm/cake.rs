//! CAKE by hand: its shaper, its tins, its hosts, its sets of queues and its filter of acknowledgements, beside runs without them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::{gauge, link, spec};
use aqmkit_aqm::{Ack, Cx, Dequeued, Discard, Dscp, Ends, Packet, Qdisc};
use aqmkit_base::{ClassId, Duration, Ecn, FlowKey, Instant, Rng};

/// A packet whose hosts, codepoint and acknowledgement are given.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pkt {
    len: u32,
    flow: u64,
    ends: Ends,
    dscp: &'static str,
    ack: Option<u32>,
}

impl Packet for Pkt {
    fn len(&self) -> u32 {
        self.len
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn class(&self) -> ClassId {
        ClassId(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn ends(&self) -> Ends {
        self.ends
    }
    fn dscp(&self) -> Dscp {
        self.dscp.parse().unwrap()
    }
    fn ack(&self) -> Option<Ack> {
        self.ack.map(|number| Ack { connection: self.flow as u32, number, sack_end: number, pure: true, marks: 0 })
    }
}

/// A packet of 1000 bytes, best effort, between hosts 1 and 2.
fn of_flow(flow: u64) -> Pkt {
    Pkt { len: 1000, flow, ends: Ends { source: 1, destination: 2 }, dscp: "be", ack: None }
}

struct Bench {
    queue: Box<dyn Qdisc<Pkt>>,
    rng: Rng,
    now: Instant,
}

impl Bench {
    fn new(json: &str) -> Self {
        let queue = spec("cake", json).build(&link(), Instant::ZERO).unwrap();
        Bench { queue, rng: Rng::stream(1, "cake"), now: Instant::ZERO }
    }

    fn offer(&mut self, packet: Pkt) {
        self.queue.enqueue(packet, &mut Cx { now: self.now, rng: &mut self.rng, sink: &mut Discard });
    }

    fn ask(&mut self) -> Dequeued<Pkt> {
        self.queue.dequeue(&mut Cx { now: self.now, rng: &mut self.rng, sink: &mut Discard })
    }

    /// The next packet, as soon as it may be sent.
    fn take(&mut self) -> Option<Pkt> {
        loop {
            match self.ask() {
                Dequeued::NotBefore(at) => self.now = at,
                answer => return answer.packet(),
            }
        }
    }

    fn at(&mut self, us: u64) {
        self.now = Instant::ZERO + Duration::from_micros(us);
    }

    /// Sends this many packets as soon as allowed, from sources that always have more; returns how many each of these flows sent.
    fn shares<const N: usize>(&mut self, sources: [Pkt; N], packets: usize) -> [usize; N] {
        let mut sent = [0; N];
        for _ in 0..20 {
            sources.iter().for_each(|source| self.offer(*source));
        }
        for _ in 0..packets {
            let packet = self.take().unwrap();
            let from = sources.iter().position(|source| *source == packet).unwrap();
            sent[from] += 1;
            self.offer(sources[from]);
        }
        sent
    }
}

/// 1000 bytes at 8 Mbit/s are 1 ms. A pause saves nothing up: the packets after it are a millisecond apart too.
#[test]
fn the_shaper_spaces_packets_and_saves_nothing_up() {
    let mut b = Bench::new(r#"{"bandwidth": "8mbit"}"#);
    for start in [0, 50_000] {
        b.at(start);
        (0..4).for_each(|_| b.offer(of_flow(1)));
        let mut times = Vec::new();
        while let Some(_packet) = b.take() {
            times.push(b.now.as_nanos() / 1000 - start);
        }
        assert_eq!(times, [0, 1000, 2000, 3000]);
    }
    let mut unshaped = Bench::new("{}");
    (0..4).for_each(|_| unshaped.offer(of_flow(1)));
    assert!((0..4).all(|_| matches!(unshaped.ask(), Dequeued::Packet(_))), "the link's own time is all there is");
}

/// 1000 bytes and 44 of overhead are 22 cells of 53 bytes: 1166 us at 8 Mbit/s.
#[test]
fn the_shaper_counts_what_the_link_sends() {
    let mut b = Bench::new(r#"{"bandwidth": "8mbit", "overhead": "44b", "linklayer": "atm"}"#);
    (0..2).for_each(|_| b.offer(of_flow(1)));
    assert!(b.take().is_some());
    assert_eq!(b.ask(), Dequeued::NotBefore(Instant::ZERO + Duration::from_micros(1166)));
}

/// With three tins that always have packets, at 8 Mbit/s, voice gets a quarter of the rate and bulk a sixteenth; best effort gets the rest. A single
/// tin serves all alike.
#[test]
fn tins_have_their_parts_of_the_rate() {
    let of = |flow, dscp| Pkt { dscp, ..of_flow(flow) };
    let sources = [of(1, "be"), of(2, "le"), of(3, "ef")];
    let [best, bulk, voice] = Bench::new(r#"{"bandwidth": "8mbit", "limit": 100}"#).shares(sources, 1600);
    assert!((395..=405).contains(&voice) && (97..=103).contains(&bulk), "{best} {bulk} {voice}");
    let one = Bench::new(r#"{"bandwidth": "8mbit", "diffserv": "besteffort", "limit": 100}"#).shares(sources, 1600);
    assert!(one.iter().all(|n| (530..=537).contains(n)), "{one:?}");
}

/// A packet of the tin for voice waits for the one that is being sent only, however much best effort there is.
#[test]
fn voice_goes_first_within_its_part() {
    let mut b = Bench::new(r#"{"bandwidth": "8mbit"}"#);
    (0..50).for_each(|_| b.offer(of_flow(1)));
    assert_eq!(b.take().unwrap().flow, 1);
    b.offer(Pkt { dscp: "ef", len: 200, ..of_flow(2) });
    assert_eq!(b.take().unwrap().flow, 2);
    assert_eq!(b.take().unwrap().flow, 1);
}

/// One host with seven flows and one with one, which all have other hosts at their far ends: a half for each of the two hosts, or an eighth for each of the
/// flows; and the same where the two hosts receive.
#[test]
fn hosts_share_before_their_flows_do() {
    let alone = |isolation: &str, receive: bool| {
        let of = |flow: usize| {
            let (near, far) = (u32::from(flow > 0), 100 + flow as u32);
            let ends = Ends { source: if receive { far } else { near }, destination: if receive { near } else { far } };
            Pkt { ends, ..of_flow(flow as u64) }
        };
        let mut b = Bench::new(&format!(r#"{{"isolation": "{isolation}", "limit": 200}}"#));
        b.shares(std::array::from_fn::<Pkt, 8, _>(of), 8000)[0] as f64 / 8000.0
    };
    for (isolation, sends, receives) in [
        ("flows", 0.125, 0.125),
        ("dual-srchost", 0.5, 0.125),
        ("dual-dsthost", 0.125, 0.5),
        ("triple-isolate", 0.5, 0.5),
        ("srchost", 0.5, 0.125),
        ("dsthost", 0.125, 0.5),
        ("hosts", 0.125, 0.125),
    ] {
        let measured = [alone(isolation, false), alone(isolation, true)];
        let near = |(part, wanted): (f64, f64)| (part - wanted).abs() < 0.02;
        assert!(near((measured[0], sends)) && near((measured[1], receives)), "{isolation}: {measured:?}");
    }
}

/// Among 64 flows in 1024 queues, plain hashing lets some two share in most cases; sets of eight let none.
#[test]
fn sets_of_queues_keep_flows_apart() {
    let mut b = Bench::new("{}");
    (0..64).for_each(|flow| b.offer(of_flow(flow)));
    assert_eq!(gauge_of(&b, "sparse_flows"), 64.0);
    let own: std::collections::BTreeSet<u64> = (0..64).map(|flow| (FlowKey(flow).hash(0) >> 32) % 1024).collect();
    assert!(own.len() < 64, "plain hashing would have done");
}

fn gauge_of(b: &Bench, name: &str) -> f64 {
    let mut found = None;
    b.queue.probe(&mut |gauge, value| found = found.or((gauge == name).then_some(value)));
    found.unwrap_or_else(|| panic!("no gauge {name}"))
}

/// Ten acknowledgements in a row, of which each says all that those before it say.
#[test]
fn the_filter_leaves_every_other_or_the_last_acknowledgement() {
    for (filter, left) in [("off", (0..10).collect::<Vec<u32>>()), ("on", vec![8, 9]), ("aggressive", vec![9])] {
        let mut b = Bench::new(&format!(r#"{{"ack_filter": "{filter}"}}"#));
        (0..10).for_each(|n| b.offer(Pkt { len: 60, ack: Some(n), ..of_flow(1) }));
        let mut numbers = Vec::new();
        while let Some(packet) = b.take() {
            numbers.extend(packet.ack);
        }
        assert_eq!(numbers, left, "{filter}");
    }
}

/// Another connection in the same queue is left alone.
#[test]
fn the_filter_looks_at_connections() {
    let mut b = Bench::new(r#"{"ack_filter": "aggressive", "isolation": "flowblind"}"#);
    [1, 2, 1, 2].into_iter().zip(0..).for_each(|(flow, n)| b.offer(Pkt { len: 60, ack: Some(n), ..of_flow(flow) }));
    assert_eq!(b.queue.backlog().packets, 4);
}

/// The longest queue of all tins loses its oldest packet.
#[test]
fn overflow_hits_the_longest_queue() {
    let mut b = Bench::new(r#"{"limit": 20}"#);
    (0..19).for_each(|_| b.offer(of_flow(1)));
    (0..6).for_each(|_| b.offer(Pkt { dscp: "ef", ..of_flow(2) }));
    let left = |flow| {
        let mut count = 0;
        b.queue.waiting(&mut |_, packet| count += u32::from(packet.flow == flow));
        count
    };
    assert_eq!((left(1), left(2)), (14, 6));
}

/// As Linux has it: what waits is at most what the rate carries in four times `rtt`, and 4 MiB at least; without a rate there is no bound but the limit.
#[test]
fn the_memory_follows_the_rate() {
    let shown =
        |json: &str| serde_json::to_value(spec("cake", json).effective(&link()).unwrap()).unwrap()["memlimit"].clone();
    for (json, bytes) in [
        (r#"{"bandwidth": "8mbit"}"#, Some(4 * 1024 * 1024)),
        // 100 MB/s for 0.4 s, and for 40 ms.
        (r#"{"bandwidth": "800mbit"}"#, Some(40_000_000)),
        (r#"{"bandwidth": "800mbit", "rtt": "10ms"}"#, Some(4 * 1024 * 1024)),
        (r#"{"bandwidth": "800mbit", "memlimit": "9000b"}"#, Some(9000)),
        ("{}", None),
    ] {
        let wanted = bytes.map_or(serde_json::Value::Null, |bytes: u64| format!("{bytes}b").into());
        assert_eq!(shown(json), wanted, "{json}");
    }
}

/// The delay that is acceptable is a twentieth of `rtt` where nothing else is said, as in Linux: 5 ms of 100 ms.
#[test]
fn the_target_follows_the_round_trip() {
    let shown =
        |json: &str| serde_json::to_value(spec("cake", json).effective(&link()).unwrap()).unwrap()["target"].clone();
    assert_eq!(
        [shown("{}"), shown(r#"{"rtt": "300ms"}"#), shown(r#"{"rtt": "300ms", "target": "3ms"}"#)],
        ["5ms", "15ms", "3ms"]
    );
}

/// No tin is slower than 512 bit/s, as in Linux: of a rate of 1024 bit/s the tin for voice has a half, and not a quarter. Where best effort always has
/// packets too, every other one is voice. Of 8192 bit/s it has a quarter.
#[test]
fn no_tin_is_slower_than_512_bits_a_second() {
    for (bandwidth, part) in [("1024bit", 0.5), ("8192bit", 0.25)] {
        let mut b =
            Bench::new(&format!(r#"{{"bandwidth": "{bandwidth}", "limit": 100, "target": "60min", "rtt": "60min"}}"#));
        let [_, voice] = b.shares([of_flow(1), Pkt { dscp: "ef", ..of_flow(2) }], 2000);
        assert!((voice as f64 / 2000.0 - part).abs() < 0.001, "{bandwidth}: {voice} of 2000");
    }
}

#[test]
fn wrong_parameters_are_told_what_would_be_right() {
    let says = |json: &str, parts: &[&str]| {
        let built = aqmkit_aqm::registry::Spec::read("cake", &mut serde_json::Deserializer::from_str(json))
            .map_err(|e| e.to_string())
            .and_then(|spec| spec.effective(&link()).map_err(|e| e.to_string()));
        let text = built.expect_err("it must be refused");
        assert!(parts.iter().all(|part| text.contains(part)), "{json}: {text}");
    };
    says(r#"{"diffserv": "diffserv5"}"#, &["diffserv5", "diffserv3"]);
    says(r#"{"isolation": "dual"}"#, &["dual", "dual-srchost"]);
    says(r#"{"rtt": "0ms"}"#, &["rtt = 0", "above zero"]);
    says(r#"{"overhead": "300b"}"#, &["\"300b\" is not a framing overhead", "256b"]);
    says(r#"{"classes": [{"class": "tcp", "dscp": "voice"}]}"#, &["voice", "af11 to af43"]);
    says(r#"{"classes": [{"class": "web"}]}"#, &["classes[0].class = web", "tcp, multimedia, other"]);
}

/// Simulated packets have no codepoint: a class gives them one.
#[test]
fn a_class_may_have_a_codepoint() {
    let of_class = spec("cake", r#"{"classes": [{"class": "tcp", "dscp": "cs1"}]}"#);
    let mut queue = of_class.build::<crate::common::Pkt>(&link(), Instant::ZERO).unwrap();
    let mut rng = Rng::stream(1, "cake");
    for class in [0, 1] {
        let packet = crate::common::Pkt { class, ..crate::common::Pkt::new(class.into(), 0) };
        queue.enqueue(packet, &mut Cx { now: Instant::ZERO, rng: &mut rng, sink: &mut Discard });
    }
    assert_eq!((gauge(&*queue, "queue.bulk"), gauge(&*queue, "queue.best effort")), (1.0, 1.0));
}
