//! The disciplines that remember flows longer than their packets wait: worked by hand, and against the
//! closed forms of their papers.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::Bench;
use crate::common::{Pkt, link, spec};
use aqmkit_aqm::Why;
use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::{BitRate, Duration, Ecn, Instant, Rng};

impl Bench {
    /// Offers a packet; whether nothing was dropped.
    fn admits_packet(&mut self, packet: Pkt) -> bool {
        let before = self.queue.stats().drops();
        self.enqueue(packet);
        self.queue.stats().drops() == before
    }

    fn admits(&mut self, flow: u64) -> bool {
        self.admits_packet(Pkt::new(0, flow))
    }

    fn dropped(&self, why: Why) -> u64 {
        self.queue.stats().dropped[why as usize]
    }
}

const DCN: &str = r#"{"q_ref": 100, "p_init": 2.0, "p_max": 2.0, "p_min": 2.0}"#;

/// Share 2, period 800 ms, clearing interval 500 ms.
#[test]
fn dcn_follows_a_flow_through_both_tables() {
    let mut b = Bench::of("dcn", DCN);
    for _ in 0..3 {
        b.admits(1);
        assert_eq!(b.ms(10).gauge("flows"), 0.0);
    }
    b.admits(1);
    assert_eq!(b.gauge("flows"), 1.0, "the fourth packet close to the others, at 30 ms");
    // Its counts: 4 at 30 ms, 2 at 830 ms, 0 at 1630 ms, -2 at 2430 ms.
    b.now = Instant::ZERO + Duration::from_millis(2429);
    assert_eq!(b.wake().gauge("flows"), 1.0, "zero stays");
    assert_eq!(b.ms(7).wake().gauge("flows"), 0.0, "the timer is seen with the next sample");
    // Its slot still says 4, but that was long ago: this one is zero, and four more are needed.
    for _ in 0..4 {
        b.admits(1);
        assert_eq!(b.gauge("flows"), 0.0);
    }
    b.admits(1);
    assert_eq!(b.gauge("flows"), 1.0);
}

/// How many packets of a flow are dropped on average, of `packets` at once, where its share is 2.
fn dcn_drops(packets: u32, more: &str) -> f64 {
    let runs = 4000;
    let more = format!(r#"{{"sb_slots": 100000, "hb_limit": 4000, {more} "#);
    let mut b = Bench::of("dcn", &DCN.replace('{', &more));
    for flow in 0..runs {
        for _ in 0..packets {
            b.admits(flow);
            b.dequeue();
        }
    }
    b.dropped(Why::Unfair) as f64 / runs as f64
}

/// With a share of 2 and a count of 4, the fifth packet is dropped with 1 - 2/5 = 0.6. The count is then 4 with 0.6
/// and 5 with 0.4, so the sixth is dropped with 0.6 * 3/5 + 0.4 * 4/6 = 0.6267. Then it is 4 with 0.36,
/// 5 with 0.24 + 0.2667 and 6 with 0.1333, so the seventh is dropped with 0.36 * 3/5 + 0.5067 * 4/6 + 0.1333 * 5/7 =
/// 0.6490: 1.876 in all. Testing without the present packet would give 1/2 + 0.55 + 0.5825 = 1.63.
#[test]
fn dcn_counts_what_it_forwards() {
    let mean = dcn_drops(7, "");
    assert!((mean - 1.876).abs() < 0.04, "{mean}");
}

/// Where every arrival counts, the n-th packet of a period (the fifth is the first in HB) is dropped with 1 - 2/n:
/// of the 5th to 20th, 16 - 2 (1/5 + ... + 1/20) = 16 - 2.969 on average. Testing without the present packet would
/// give 16 - 2 (1/4 + ... + 1/19) = 12.63.
#[test]
fn dcn_can_count_what_arrives() {
    let mean = dcn_drops(20, r#""pktcount": "arrived","#);
    assert!((mean - 13.031).abs() < 0.06, "{mean}");
}

/// A flow that ignores its drops sends 50 packets in each period of 800 ms, with a share of 10. It is forwarded ten
/// in each, so that it is "not subject to undue starvation" (section 3). Where every arrival counts, its count
/// rises by 40 in each period, and in the hundredth it is forwarded 50 * 10 / 4000.
#[test]
fn dcn_forwards_its_share_of_a_flow_that_ignores_drops() {
    let forwarded = |more: &str| {
        let params = format!(r#"{{"q_ref": 100, "p_init": 10.0, "p_max": 10.0, "p_min": 10.0{more}}}"#);
        let mut b = Bench::of("dcn", &params);
        let mut through = 0;
        for packet in 0..50 * 200 {
            b.ms(16);
            through += u32::from(b.admits(1) && packet >= 50 * 100);
            b.dequeue();
        }
        f64::from(through) / 100.0
    };
    let (share, starved) = (forwarded(""), forwarded(r#", "pktcount": "arrived""#));
    assert!((share - 10.0).abs() < 0.3, "{share} of 10 in T_dec");
    assert!(starved < 0.2, "{starved} in T_dec");
}

#[test]
fn dcn_marks_where_it_may() {
    let mut b = Bench::of("dcn", &DCN.replace('{', r#"{"ecn": true, "#));
    for _ in 0..100 {
        b.offer(Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, 1) });
    }
    assert_eq!(b.queue.stats().drops(), 0);
    assert!(b.queue.stats().marks() > 80);
}

/// The queue jumps from 0 to 20 above its target of 10: the share must fall at once. As printed, with
/// a = 0.1 and b = 0.2, the first step is +0.1 * 10 + 0.2 * 10 instead of -0.1 * 10 - 0.2 * 10.
#[test]
fn dcns_controller_as_printed_goes_the_wrong_way_first() {
    let first_step = |as_printed: bool| {
        let params = format!(
            r#"{{"q_ref": 10, "a": 0.1, "b": 0.2, "p_init": 50.0, "t_update": "10ms", "as_printed": {as_printed}}}"#
        );
        let mut b = Bench::of("dcn", &params);
        (0..20).for_each(|flow| assert!(b.admits(flow)));
        b.ms(10).wake().gauge("p_ref") - 50.0
    };
    assert!((first_step(false) + 3.0).abs() < 1e-9 && (first_step(true) - 3.0).abs() < 1e-9);
}

/// 10 Mbit/s are 1250 packets a second, 1000 in 800 ms, so 5 for each of 200 flows; and AFD's
/// gains.
#[test]
fn dcn_starts_at_a_fair_share_with_the_gains_of_afd() {
    let full = serde_json::to_value(Spec::named("dcn").unwrap().effective(&link()).unwrap()).unwrap();
    let close = |field: &str, want: f64| {
        let got = full[field].as_f64().unwrap();
        assert!((got - want).abs() < 1e-9, "{field} = {got}, not {want}");
    };
    close("a", 1.7);
    close("b", 1.8);
    close("p_init", 5.0);
    close("p_max", 1000.0);
}

/// `f(R, p)` at 40 ms: packets a second.
fn reference(p: f64) -> f64 {
    1.5_f64.sqrt() / (0.04 * p.sqrt())
}

/// A queue that drops every packet with `p`, and a flow that sends at `gamma f(R, p)` at random times
/// (Poisson: the drops of different intervals are then independent).
struct Steady {
    bench: Bench,
    p: f64,
    draw: Rng,
}

impl Steady {
    fn new(p: f64, more: &str) -> Self {
        let params = format!(r#"{{"drop_rate": {p}, "interval_min": "1ms", "unresponsive_test": false, {more}}}"#);
        Steady { bench: Bench::of("red-pd", &params), p, draw: Rng::stream(3, "gaps") }
    }

    /// A packet of flow 1 at its rate.
    fn send(&mut self, gamma: f64) -> Duration {
        let gap = -libm::log(self.draw.uniform_open()) / (gamma * reference(self.p));
        self.bench.after(Duration::from_secs_f64(gap)).admits(1);
        self.bench.dequeue();
        self.bench.now.since(Instant::ZERO)
    }
}

/// Equation 4, with `P(1)` for Poisson arrivals (`1 - exp(-gamma K/M)`) and for a constant rate as printed.
fn identification(once: f64) -> f64 {
    let none = 1.0 - once;
    10.0 * once.powi(3) * none * none + 5.0 * once.powi(4) * none + once.powi(5)
}

#[test]
fn equation_4_gives_figure_9() {
    let constant = |gamma: f64, p: f64| identification(1.0 - (1.0 - p).powf(gamma * 0.6 / p));
    let printed = [
        (1.0, [(0.01, 0.412), (0.05, 0.425), (0.1, 0.441)]),
        (2.0, [(0.01, 0.838), (0.05, 0.847), (0.1, 0.859)]),
        (4.0, [(0.01, 0.994), (0.05, 0.995), (0.1, 0.996)]),
    ];
    for (gamma, values) in printed {
        for (p, value) in values {
            assert!((constant(gamma, p) - value).abs() < 6e-4, "{gamma} {p}: {}", constant(gamma, p));
        }
    }
}

/// How often a flow that sends at `gamma f` is identified, looked at once in five intervals.
fn measured(gamma: f64, p: f64) -> f64 {
    let mut steady = Steady::new(p, r#""max_monitored": 0"#);
    let round = 3.0 * 0.04 / (1.5 * p).sqrt();
    let (mut found, mut rounds) = (0.0, 0.0);
    // Until shortly after the end of each fifth interval.
    while rounds < 4000.0 {
        while steady.send(gamma).as_secs_f64() < (rounds + 1.0) * round {}
        rounds += 1.0;
        found += steady.bench.gauge("identified");
    }
    found / rounds
}

/// Fails with K of M - 1 lists, with intervals of CL instead of (K/M) CL, and with the single list.
#[test]
fn red_pd_identifies_as_often_as_equation_4_says() {
    for p in [0.01, 0.05, 0.1] {
        for gamma in [0.5, 1.0, 2.0] {
            let (got, want) = (measured(gamma, p), identification(1.0 - libm::exp(-gamma * 0.6)));
            assert!((got - want).abs() < 0.025, "gamma {gamma}, p {p}: {got}, equation {want}");
        }
    }
}

/// Equation 6: from 4 f down to 1.5 f at 1 % takes 62.5 rounds of four intervals of 196 ms.
#[test]
fn red_pd_comes_down_in_the_time_of_equation_6() {
    let mut steady = Steady::new(0.01, r#""limit": 50"#);
    let mut now = 0.0;
    while steady.bench.gauge("filter.max") < 1.0 - 1.5 / 4.0 {
        now = steady.send(4.0).as_secs_f64();
    }
    let equation = (4.0 - 1.5) * 0.04 * 3.0 * 4.0 / (4.0 * 0.01 * 0.015_f64.sqrt() * 5.0);
    assert!((equation - 48.99).abs() < 0.01);
    assert!(now > equation && now < 1.15 * equation, "{now}, equation {equation}");
}

/// Equation 7's example: from P = 0.75 at 1 %, 10.58 s after the first decrease is due; before that the
/// flow must be out of all five lists.
#[test]
fn red_pd_releases_in_the_time_of_equation_7() {
    let mut steady = Steady::new(0.01, r#""limit": 50"#);
    while steady.bench.gauge("filter.max") < 0.745 {
        steady.send(4.0);
    }
    let stopped = steady.bench.now;
    let start = steady.bench.gauge("filter.max");
    assert!((0.745..0.755).contains(&start), "{start}");
    let interval = 0.6 * 0.04 / 0.015_f64.sqrt();
    let mut first = None;
    while steady.bench.gauge("monitored") > 0.0 {
        // Another flow, far below f, keeps the clock going.
        steady.bench.ms(50).admits(2);
        steady.bench.dequeue();
        if steady.bench.gauge("filter.max") < start {
            first.get_or_insert(steady.bench.now);
        }
    }
    let (all, listed) = (steady.bench.now.since(stopped), first.unwrap().since(stopped));
    // The first decrease begins equation 7's count of 18 rounds of three intervals.
    let rounds = (all.as_secs_f64() - listed.as_secs_f64()) / (3.0 * interval);
    assert!((rounds - 17.0).abs() < 0.1, "{rounds}");
    assert!((18.0 * 3.0 * interval - 10.58).abs() < 0.005);
    assert!(listed.as_secs_f64() <= 5.0 * interval + 0.05, "{listed}");
}

/// A flow at twice the link's rate and one at a tenth of it: RED drops half of both, RED-PD spares the second.
#[test]
fn red_pd_protects_the_slow_flow() {
    let parameters = r#""limit": 50, "min": 10, "max": 33, "gentle": true, "weight": 0.002"#;
    let loss_of_slow = |name: &str, late: u64| {
        let mut b = Bench::of(name, &format!("{{{parameters}}}"));
        let (mut sent, mut lost) = (0.0, 0.0);
        for at in 0..60 * 2500_u64 {
            b.after(Duration::from_micros(400)).admits(1);
            if at % 20 == 0 {
                let slow = b.admits(2);
                if at > late {
                    (sent, lost) = (sent + 1.0, lost + if slow { 0.0 } else { 1.0 });
                }
            }
            if at % 2 == 0 {
                b.dequeue();
            }
        }
        lost / sent
    };
    let (red, red_pd) = (loss_of_slow("red", 75_000), loss_of_slow("red-pd", 75_000));
    assert!(red > 0.45 && red_pd < 0.1, "RED {red}, RED-PD {red_pd}");
}

/// A link that sends a packet every 800 us, a flow of twice its rate, and a slow one.
struct Blast {
    bench: Bench,
    blast: bool,
    /// The slow flow sends one packet for this many of the blast.
    slow: u64,
    at: u64,
}

impl Blast {
    fn new(slow: u64, more: &str) -> Self {
        let params = format!(r#"{{"interval": "1s", "limit": 60, "min": 5, "max": 20, "weight": 0.02{more}}}"#);
        Blast { bench: Bench::of("floyd-fall", &params), blast: true, slow, at: 0 }
    }

    /// Runs for this many seconds; returns the deliveries of both flows per second.
    fn run(&mut self, seconds: u64) -> [f64; 2] {
        let mut delivered = [0.0; 2];
        for _ in 0..2500 * seconds {
            self.at += 1;
            self.bench.after(Duration::from_micros(400));
            if self.blast {
                self.bench.admits(1);
            }
            if self.at.is_multiple_of(self.slow) {
                self.bench.admits(2);
            }
            if self.at.is_multiple_of(2)
                && let Some(packet) = self.bench.dequeue()
            {
                delivered[packet.flow as usize - 1] += 1.0;
            }
        }
        delivered.map(|packets| packets / seconds as f64)
    }
}

/// T at a drop rate over a half and R = 60 ms is under 45 kB/s; the class has half of that.
#[test]
fn floyd_fall_restricts_a_blast_and_releases_it_when_it_ends() {
    let mut b = Blast::new(10, "");
    assert!(b.run(1)[0] > 1000.0, "RED gives it what it asks for");
    assert_eq!(b.bench.gauge("restricted"), 1.0);
    b.run(1);
    let [blast, slow] = b.run(3);
    let class = b.bench.gauge("class.rate") / 8000.0;
    assert!(class < 25.0 && blast < 1.1 * class + 3.0, "{blast} packets/s in a class of {class}");
    assert!(slow > 249.0, "the other flow loses nothing any more: {slow} of 250");
    b.blast = false;
    b.run(3);
    assert_eq!(b.bench.gauge("restricted"), 0.0);
}

/// It blasts for 30 s and then always has a window of four packets underway, so that it never has none waiting. Fails
/// where a released flow is to leave the class with its last packet.
#[test]
fn floyd_fall_releases_a_flow_that_goes_on_sending() {
    let mut b = Bench::of("floyd-fall", "{}");
    for _ in 0..37_500 {
        b.after(Duration::from_micros(800)).admits(1);
        b.admits(1);
        b.dequeue();
    }
    assert_eq!(b.gauge("restricted"), 1.0);
    for _ in 0..25_000 {
        while b.queue.backlog().packets < 4 && b.admits(1) {}
        b.after(Duration::from_micros(800)).dequeue();
    }
    assert_eq!(b.gauge("restricted"), 0.0, "after 20 s");
    let sent = (0..1250).filter(|_| {
        while b.queue.backlog().packets < 4 && b.admits(1) {}
        b.after(Duration::from_micros(800)).dequeue().is_some()
    });
    assert_eq!(sent.count(), 1250, "all of the link");
}

/// Fails where the class's packets of a released flow are left behind, or put before what waits already.
#[test]
fn floyd_fall_takes_the_packets_of_a_released_flow_along() {
    let mut b = Blast::new(10, "");
    b.run(2);
    assert_eq!(b.bench.gauge("restricted"), 1.0);
    while b.bench.queue.backlog().packets > 0 {
        b.bench.ms(10).dequeue();
    }
    let (mut inside, mut last, mut released) = (0, [0_u64; 2], false);
    for step in 0..5000 {
        // The blast has ended: a window of four packets is left of it. The link stops for a while in each second.
        b.bench.ms(1);
        while inside < 4 && b.bench.admits(1) {
            inside += 1;
        }
        if step % 5 == 0 {
            b.bench.admits(2);
        }
        if step % 1000 < 900
            && let Some(packet) = b.bench.dequeue()
        {
            inside -= u64::from(packet.flow == 1);
            let before = std::mem::replace(&mut last[packet.flow as usize - 1], packet.id);
            assert!(packet.id > before, "packet {} of flow {} after {before}", packet.id, packet.flow);
        }
        released |= inside > 0 && b.bench.gauge("restricted") == 0.0;
    }
    assert!(released);
}

/// The class may keep a quarter of the limit, and one packet or one byte at least.
#[test]
fn floyd_falls_class_keeps_a_quarter_of_the_limit() {
    for (limit, quarter) in [("60p", "15p"), ("3p", "1p"), ("60000b", "15000b"), ("7b", "1b"), ("3b", "1b")] {
        let full = spec("floyd-fall", &format!(r#"{{"limit": "{limit}"}}"#)).effective(&link()).unwrap();
        assert_eq!(serde_json::to_value(&full).unwrap()["restricted_limit"], quarter, "{limit}");
    }
}

/// Before anybody is restricted the class has its least share of the link: the gauge is in bits per second.
#[test]
fn floyd_falls_class_begins_with_its_least_share() {
    for (link_bps, min_share, rate) in [(10_000_000, 0.01, 1e5), (1_000_000, 1e-6, 1.0)] {
        let spec = spec("floyd-fall", &format!(r#"{{"min_share": {min_share}}}"#));
        let queue = spec.build::<Pkt>(&Link::new(BitRate::from_bps(link_bps)), Instant::ZERO).unwrap();
        let shown = crate::common::gauge(&*queue, "class.rate");
        assert!((shown / rate - 1.0).abs() < 1e-12, "{shown}");
    }
}

/// Each of the other tests alone finds the blast: for two flows ln(6)/2 = 90 % of the bytes is too much.
#[test]
fn floyd_falls_other_tests_find_it_too() {
    let restricted = |slow: u64, seconds: u64, options: &str| {
        let mut b = Blast::new(slow, &format!(r#", "friendly": false, {options}"#));
        b.run(seconds);
        b.bench.gauge("restricted")
    };
    assert_eq!(restricted(20, 3, r#""unresponsive": false"#), 1.0, "95 %");
    assert_eq!(restricted(4, 3, r#""unresponsive": false"#), 0.0, "80 %");
    assert_eq!(restricted(20, 3, r#""unresponsive": false, "c": "1gbit""#), 0.0, "not above c");
    assert_eq!(restricted(20, 3, r#""disproportionate": false"#), 0.0, "the loss never doubled");
    assert_eq!(restricted(20, 10, r#""disproportionate": false, "loss_factor": 1.0"#), 1.0, "it rose");
}

/// The error of building the discipline.
fn refusal(name: &str, json: &str) -> String {
    spec(name, json).build::<Pkt>(&link(), Instant::ZERO).err().expect("it must be refused").to_string()
}

#[test]
fn wrong_parameters_are_told_what_would_be_right() {
    let says = |name, json, parts: &[&str]| {
        let text = refusal(name, json);
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {json}: {text}");
    };
    says("dcn", r#"{"q_ref": "5kb"}"#, &["q_ref = 5120b", "number of packets"]);
    says("dcn", r#"{"a": 1.0, "b": 0.9}"#, &["b = 0.9", "above a = 1", "Le et al."]);
    says("dcn", r#"{"p_min": 5.0, "p_init": 2.0}"#, &["p_init = 2", "from 5"]);
    says("dcn", r#"{"t_dec": "1ns"}"#, &["t_dec"]);
    says("red-pd", r#"{"k": 6}"#, &["k = 6", "from 1 to 5", "Mahajan"]);
    says("red-pd", r#"{"m": 17}"#, &["m = 17", "from 1 to 16"]);
    says("red-pd", r#"{"min": 50}"#, &["min = 50", "max = 33", "Floyd"]);
    says("red-pd", r#"{"interval_min": "1s", "interval_max": "100ms"}"#, &["interval_max = 0.1", "at least 1"]);
    says("red-pd", r#"{"beta": 1.0}"#, &["beta = 1"]);
    says("floyd-fall", r#"{"max_share": 1.0}"#, &["max_share = 1"]);
    says("floyd-fall", r#"{"restricted_limit": "5kb"}"#, &["restricted_limit = 5120b", "number of packets"]);
    says("floyd-fall", r#"{"safety": 0.5}"#, &["safety = 0.5", "Floyd & Fall"]);
}

/// Section 6.4: two flows of the same byte rate, four times f, one with packets twice as large. In byte mode
/// their bandwidths differ by less than a tenth; counting packets, the large ones get away with more.
#[test]
fn red_pd_in_byte_mode_is_fair_in_bytes() {
    let (p, mean) = (0.02, 750.0);
    let ratio = |byte_mode: bool| {
        let mut steady = Steady::new(p, &format!(r#""byte_mode": {byte_mode}, "avpkt": "750b""#));
        let (mut bytes, mut sent) = ([0.0; 2], 0_u32);
        while steady.bench.now < Instant::ZERO + Duration::from_secs(400) {
            // A third of all packets are large: half of all bytes.
            let gap = -libm::log(steady.draw.uniform_open()) / (2.0 * 4.0 * reference(p) * mean / (2000.0 / 3.0));
            let (flow, len) = if steady.draw.below(3) == 0 { (2, 1000) } else { (1, 500) };
            steady.bench.after(Duration::from_secs_f64(gap));
            let admitted = steady.bench.admits_packet(Pkt { len, ..Pkt::new(0, flow) });
            steady.bench.dequeue();
            sent += 1;
            if sent > 100_000 && admitted {
                bytes[flow as usize - 1] += f64::from(len);
            }
        }
        bytes[0] / bytes[1]
    };
    let (in_bytes, in_packets) = (ratio(true), ratio(false));
    assert!((0.9..1.1).contains(&in_bytes), "in bytes {in_bytes}");
    assert!(in_packets < 0.8, "in packets {in_packets}");
}
