//! Closed-form results.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::{Log, Pkt, cx, link, spec};
use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Qdisc, Why};
use aqmkit_base::{Duration, Ecn, Instant, Rng};
use serde_json::{Value, json};

const NOW: Instant = Instant::ZERO;

fn build(spec: &Spec) -> Box<dyn Qdisc<Pkt>> {
    spec.build(&link(), NOW).unwrap()
}

/// The gaps between drops while `standing` packets wait at every arrival.
fn gaps(spec: &Spec, standing: u64, drops: usize) -> Vec<u64> {
    let (mut queue, mut rng, mut log) = (build(spec), Rng::stream(1, "gaps"), Log::default());
    let (mut gaps, mut last) = (Vec::new(), None);
    for id in 0.. {
        if gaps.len() == drops {
            break;
        }
        let before = queue.stats().drops();
        queue.enqueue(Pkt::new(id, 1), &mut cx(NOW, &mut rng, &mut log));
        if queue.stats().drops() > before {
            gaps.extend(last.replace(id).map(|at| id - at));
        } else if queue.backlog().packets > standing {
            queue.dequeue(&mut cx(NOW, &mut rng, &mut log));
        }
    }
    gaps
}

/// The gaps that a rule for `p_a` would give.
fn gaps_of(rule: impl Fn(f64) -> f64, drops: usize) -> Vec<u64> {
    let (mut rng, mut count) = (Rng::stream(1, "gaps"), 0_u64);
    let mut gaps = Vec::new();
    while gaps.len() < drops {
        count += 1;
        if rng.uniform() < rule(count as f64) {
            gaps.push(std::mem::take(&mut count));
        }
    }
    gaps
}

/// Whether gaps are uniform on 1 to `n`: none longer, the mean in place, and each length about as often.
fn uniform(gaps: &[u64], n: u64) -> bool {
    let each = gaps.len() as f64 / n as f64;
    let often = |length| gaps.iter().filter(|&&g| g == length).count() as f64;
    let chi_square: f64 = (1..=n).map(|length| (often(length) - each).powi(2) / each).sum();
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    // The mean of a chi-square with n - 1 degrees of freedom is n - 1, its deviation sqrt(2 (n - 1)).
    gaps.iter().max() == Some(&n)
        && (mean - (n + 1) as f64 / 2.0).abs() < 0.3
        && chi_square < (n - 1) as f64 + 5.0 * (2.0 * (n - 1) as f64).sqrt()
}

/// At weight 1 the average is the queue: `p_b` = 0.1 (12 - 5) / (40 - 5) = 0.02, so the figure's count, which
/// is one at the first arrival after a drop, makes gaps uniform on 1 to `1/p_b - 1`.
#[test]
fn the_gaps_between_reds_drops_are_uniform() {
    let red = spec("red", r#"{"min": 5, "max": 40, "weight": 1.0}"#);
    assert!(uniform(&gaps(&red, 12, 30_000), 49));
    let p_b = 0.02;
    assert!(uniform(&gaps_of(|count| p_b / (1.0 - count * p_b), 30_000), 49), "the law itself");
    assert!(!uniform(&gaps_of(|_| p_b, 30_000), 49), "geometric");
    assert!(!uniform(&gaps_of(|count| p_b / (2.0 - count * p_b), 30_000), 49), "half as often");
    assert!(!uniform(&gaps_of(|count| p_b / (1.0 - (count - 1.0) * p_b), 30_000), 49), "one longer");
}

#[test]
fn erd_drops_its_share() {
    let erd = spec("erd", r#"{"threshold": 10, "probability": 0.02}"#);
    let gaps = gaps(&erd, 11, 20_000);
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!((mean - 50.0).abs() < 1.5, "{mean}");
}

/// The effective parameters of each class, as `describe` shows them.
fn effective_classes(spec: &Spec) -> Vec<Value> {
    let value = serde_json::to_value(spec.effective(&link()).unwrap()).unwrap();
    value["classes"].as_array().unwrap().clone()
}

/// Bandwidths in KB/s and packet sizes in bytes give the thresholds that the dissertation prints.
fn assert_thresholds(latency: &str, classes: &[(&str, u32, u32, f64)]) {
    let entries: Vec<Value> = classes
        .iter()
        .map(|(class, kb, size, _)| {
            json!({ "class": class, "bandwidth": format!("{kb}kibps"), "packet_size": format!("{size}b") })
        })
        .collect();
    let cbt = Spec::read("cbt", json!({ "latency": latency, "classes": entries })).unwrap();
    for (shown, (class, kb, size, printed)) in effective_classes(&cbt).iter().zip(classes) {
        let max: f64 = shown["max"].as_str().unwrap().trim_end_matches('p').parse().unwrap();
        // Packet sizes were rounded for print, thresholds were not.
        assert!((max - printed).abs() <= 0.05, "{class} at {latency}: {max}, printed {printed}");
        let drain_rate = shown["drain_rate"].as_f64().unwrap();
        assert!((drain_rate - f64::from(*kb) * 1024.0 / f64::from(*size)).abs() < 1e-6, "{drain_rate}");
        assert_eq!(shown["min"], shown["max"]);
    }
}

#[test]
fn cbts_thresholds_are_those_of_the_tables() {
    // Table 4.3.
    assert_thresholds(
        "100ms",
        &[("tcp", 575, 1507, 39.07), ("multimedia", 150, 807, 19.04), ("other", 500, 1075, 47.63)],
    );
    // Tables 5.2 and 5.3: HTTP-MPEG, BULK-MPEG, HTTP-Proshare, BULK-Proshare.
    let mixes = [
        [("other", 150, 1075, 14.28, 4.28), ("multimedia", 195, 889, 22.45, 6.74), ("tcp", 880, 1053, 85.58, 25.67)],
        [("other", 150, 1075, 14.29, 4.29), ("multimedia", 205, 807, 26.06, 7.81), ("tcp", 870, 1507, 59.11, 17.73)],
        [("other", 150, 1075, 14.28, 4.29), ("multimedia", 160, 738, 22.19, 6.66), ("tcp", 915, 1061, 88.35, 26.50)],
        [("other", 150, 1075, 14.29, 4.29), ("multimedia", 190, 757, 25.69, 7.71), ("tcp", 885, 1468, 61.74, 18.52)],
    ];
    for mix in mixes {
        assert_thresholds("100ms", &mix.map(|(class, kb, size, long, _)| (class, kb, size, long)));
        assert_thresholds("30ms", &mix.map(|(class, kb, size, _, short)| (class, kb, size, short)));
    }
}

#[test]
fn cbts_shares_follow_from_thresholds_where_no_bandwidth_is_given() {
    let cbt = spec(
        "cbt",
        r#"{"classes": [{"class": "tcp", "max": 30, "packet_size": "1500b"}, {"class": "*", "max": 10, "packet_size": "500b"}]}"#,
    );
    let shown = effective_classes(&cbt);
    assert_eq!((&shown[0]["bandwidth"], &shown[1]["bandwidth"]), (&json!("9mbit"), &json!("1mbit")));
    assert_eq!((&shown[0]["drain_rate"], &shown[1]["drain_rate"]), (&json!(750.0), &json!(250.0)));
}

/// Equation 4.3 says nothing where nothing may wait: each class then drains at the link's whole rate.
#[test]
fn a_class_of_cbt_that_may_keep_nothing_drains_at_the_links_rate() {
    let shown =
        effective_classes(&spec("cbt", r#"{"classes": [{"class": "tcp", "max": 0}, {"class": "*", "max": 0}]}"#));
    for class in [0, 1] {
        assert_eq!((&shown[class]["bandwidth"], &shown[class]["drain_rate"]), (&json!("10mbit"), &json!(1250.0)));
    }
}

#[test]
fn above_max_every_flow_of_fred_has_two_packets() {
    let fred = spec("fred", r#"{"limit": 240, "min": 5, "max": 5, "weight": 1.0}"#);
    for (flows, expected) in [(100, 200), (300, 240)] {
        let (mut queue, mut rng, mut log) = (build(&fred), Rng::stream(1, "fred"), Log::default());
        // One packet of each flow first, so that the average is above max before any has two.
        for id in 0..10 * flows {
            queue.enqueue(Pkt::new(id, id % flows), &mut cx(NOW, &mut rng, &mut log));
        }
        assert_eq!(queue.backlog().packets, expected, "{flows} flows");
        assert_eq!(queue.stats().dropped[Why::Overflow as usize] > 0, flows == 300);
    }
}

/// A CBQ whose classes always have packets of random lengths; the classes served, with lengths.
struct Backlogged {
    queue: Box<dyn Qdisc<Pkt>>,
    draw: Rng,
    log: Log,
    next: u64,
}

impl Backlogged {
    fn new(cbq: &Spec, classes: &[u8]) -> Self {
        let mut new = Backlogged { queue: build(cbq), draw: Rng::stream(5, "lengths"), log: Log::default(), next: 0 };
        classes.iter().for_each(|&class| (0..3).for_each(|_| new.offer(class)));
        new
    }

    fn offer(&mut self, class: u8) {
        self.next += 1;
        let len = 40 + self.draw.below(1461) as u32;
        let packet = Pkt { len, class, ..Pkt::new(self.next, class.into()) };
        self.queue.enqueue(packet, &mut cx(NOW, &mut Rng::stream(1, "unused"), &mut self.log));
    }

    /// Sends a packet, and offers another of its class.
    fn serve(&mut self) -> (usize, f64) {
        let sent = self.queue.dequeue(&mut cx(NOW, &mut Rng::stream(1, "unused"), &mut self.log)).packet().unwrap();
        self.offer(sent.class);
        (sent.class.into(), f64::from(sent.len))
    }
}

const CHAPTER_V: &str = r#"{"classes": [{"class": "tcp", "share": 0.72, "parent": "elastic"},
    {"class": "multimedia", "share": 0.16, "parent": "elastic"}, {"class": "other", "share": 0.12}]}"#;

/// Over any interval, what two classes sent over their shares differs by less than a packet of each; and
/// since the start no class is ahead of its share by a packet.
#[test]
fn cbqs_shares_are_exact_within_one_packet() {
    let flat = CHAPTER_V.replace(r#", "parent": "elastic""#, "");
    let (shares, packet) = ([0.72, 0.16, 0.12], 1500.0);
    let mut all = Backlogged::new(&spec("cbq", &flat), &[0, 1, 2]);
    let (mut sent, mut extremes) = ([0.0; 3], [[(0.0_f64, 0.0_f64); 3]; 3]);
    for _ in 0..100_000 {
        let (class, len) = all.serve();
        sent[class] += len;
        let total: f64 = sent.iter().sum();
        for i in 0..3 {
            assert!(sent[i] - shares[i] * total < packet, "class {i} is ahead");
            for j in 0..3 {
                let lead = sent[i] / shares[i] - sent[j] / shares[j];
                let (low, high) = &mut extremes[i][j];
                (*low, *high) = (low.min(lead), high.max(lead));
                assert!(*high - *low <= packet / shares[i] + packet / shares[j], "{i} against {j}");
            }
        }
    }
}

/// The share of each class in the link while these are busy.
fn shares_of(busy: &[u8]) -> [f64; 3] {
    let mut cbq = Backlogged::new(&spec("cbq", CHAPTER_V), busy);
    let mut sent = [0.0; 3];
    for _ in 0..50_000 {
        let (class, len) = cbq.serve();
        sent[class] += len;
    }
    let total: f64 = sent.iter().sum();
    sent.map(|bytes| (bytes / total * 1000.0).round() / 1000.0)
}

#[test]
fn tcp_and_multimedia_borrow_from_each_other_first() {
    assert_eq!(shares_of(&[0, 1, 2]), [0.72, 0.16, 0.12]);
    assert_eq!(shares_of(&[0, 2]), [0.88, 0.0, 0.12], "tcp takes all of multimedia's");
    assert_eq!(shares_of(&[1, 2]), [0.0, 0.88, 0.12], "multimedia takes all of tcp's");
    assert_eq!(shares_of(&[2]), [0.0, 0.0, 1.0], "other takes what both leave");
    assert_eq!(shares_of(&[0, 1]), [0.818, 0.182, 0.0], "72 to 16");
}

#[test]
fn a_class_that_may_not_borrow_gets_its_share_and_no_more() {
    let cbq = spec("cbq", r#"{"classes": [{"class": "*", "share": 0.1, "borrow": false}]}"#);
    let (mut queue, mut rng, mut log, mut now) = (build(&cbq), Rng::stream(1, "cbq"), Log::default(), NOW);
    let mut bytes = 0_u64;
    for id in 0..10_000 {
        now += Duration::from_micros(800);
        queue.enqueue(Pkt::new(id, 1), &mut cx(now, &mut rng, &mut log));
        bytes += queue.dequeue(&mut cx(now, &mut rng, &mut log)).packet().map_or(0, |p| u64::from(p.len));
    }
    let rate = bytes as f64 * 8.0 / now.as_secs_f64();
    assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate} of 1 Mbit/s");
}

/// A queue that always has a hundred packets, of which one leaves each 100 us: each has waited twice the
/// target. Gives when the first drops happen, in milliseconds.
fn drops_of_codel(drops: usize) -> Vec<f64> {
    let codel = spec("codel", r#"{"limit": 200}"#);
    let (mut queue, mut rng, mut log, mut now) = (build(&codel), Rng::stream(1, "codel"), Log::default(), NOW);
    let (mut times, mut id) = (Vec::new(), 0);
    while times.len() < drops {
        while queue.backlog().packets < 100 {
            id += 1;
            queue.enqueue(Pkt::new(id, 1), &mut cx(now, &mut rng, &mut log));
        }
        now += Duration::from_micros(100);
        let before = queue.stats().drops();
        queue.dequeue(&mut cx(now, &mut rng, &mut log));
        times.extend((before..queue.stats().drops()).map(|_| now.as_secs_f64() * 1e3));
    }
    times
}

/// RFC 8289: the n-th drop follows the one before after `interval / sqrt(n)`.
#[test]
fn codels_drops_follow_the_inverse_square_root() {
    let times = drops_of_codel(400);
    let (mut due, mut wrong) = (times[0], times[0]);
    for (n, at) in times.iter().enumerate().skip(1) {
        due += 100.0 / (n as f64).sqrt();
        wrong += 100.0 / ((n + 1) as f64).sqrt();
        assert!((0.0..=0.1).contains(&(at - due)), "drop {n} at {at} ms, due at {due}");
    }
    assert!(times[399] - wrong > 10.0, "counting from two fails");
}

/// A PIE whose probability stays at 1.0 / 2048, after a single step of half a second of delay; the gaps
/// between its drops.
fn gaps_of_pie(derandomize: bool) -> Vec<u64> {
    let params = json!({ "alpha": 0, "beta": 2, "limit": 10_000_000, "derandomize": derandomize });
    let (mut queue, mut rng) = (build(&Spec::read("pie", params).unwrap()), Rng::stream(1, "pie"));
    for id in 0..10 {
        queue.enqueue(Pkt::new(id, 1), &mut cx(NOW, &mut rng, &mut Log::default()));
    }
    queue.dequeue(&mut cx(NOW + Duration::from_millis(500), &mut rng, &mut Log::default()));
    let later = NOW + Duration::from_secs(1);
    let (mut gaps, mut last) = (Vec::new(), None);
    for id in 0..300_000 {
        let before = queue.stats().drops();
        queue.enqueue(Pkt::new(id, 1), &mut cx(later, &mut rng, &mut Log::default()));
        if queue.stats().drops() > before {
            gaps.extend(last.replace(id).map(|at| id - at));
        }
    }
    gaps
}

/// RFC 8033, section 5.4: no two drops nearer than 0.85 / p, none further than 8.5 / p.
#[test]
fn pies_drops_are_spread() {
    let bounds = 0.85 * 2048.0..8.5 * 2048.0 + 1.0;
    let within = |gaps: &[u64]| gaps.iter().all(|&gap| bounds.contains(&(gap as f64)));
    let spread = gaps_of_pie(true);
    // 0.85 / p and then a geometric 1 / p.
    let mean = spread.iter().sum::<u64>() as f64 / spread.len() as f64 / 2048.0;
    assert!(within(&spread) && (mean - 1.85).abs() < 0.4, "{mean}");
    assert!(!within(&gaps_of_pie(false)));
}

/// The same step with three times the gain: p' is 0.6, and twice that is certain.
#[test]
fn pi2_shows_probabilities() {
    let mut queue = build(&spec("pi2", r#"{"alpha": 0, "beta": 60, "max_p": 1}"#));
    let mut rng = Rng::stream(1, "pi2");
    queue.enqueue(Pkt::new(1, 1), &mut cx(NOW, &mut rng, &mut Log::default()));
    queue.enqueue(Pkt::new(2, 1), &mut cx(NOW, &mut rng, &mut Log::default()));
    queue.dequeue(&mut cx(NOW + Duration::from_millis(10), &mut rng, &mut Log::default()));
    queue.on_wakeup(&mut cx(NOW + Duration::from_secs(1), &mut rng, &mut Log::default()));
    for (name, p) in [("p", 0.6), ("p_classic", 0.36), ("p_scalable", 1.0)] {
        let shown = crate::common::gauge(&*queue, name);
        assert!((shown - p).abs() < 1e-9, "{name}: {shown}");
    }
}

/// One step of 10 ms of delay makes p' 0.2 and leaves it there: p'^2 = 0.04 and k p' = 0.4.
#[test]
fn pi2_squares_for_classic_traffic_alone() {
    let pi2 = spec("pi2", r#"{"alpha": 0, "beta": 20, "limit": 10000000}"#);
    let (mut queue, mut rng) = (build(&pi2), Rng::stream(1, "pi2"));
    for id in 0..10 {
        queue.enqueue(Pkt::new(id, 1), &mut cx(NOW, &mut rng, &mut Log::default()));
    }
    queue.dequeue(&mut cx(NOW + Duration::from_millis(10), &mut rng, &mut Log::default()));
    let later = NOW + Duration::from_secs(1);
    queue.on_wakeup(&mut cx(later, &mut rng, &mut Log::default()));
    for (name, p) in [("p", 0.2), ("p_classic", 0.04), ("p_scalable", 0.4)] {
        assert!((crate::common::gauge(&*queue, name) - p).abs() < 1e-9, "{name}");
    }
    let mut rate = |ecn| {
        let before = queue.stats().drops() + queue.stats().marks();
        for id in 0..100_000 {
            queue.enqueue(Pkt { ecn, ..Pkt::new(id, 1) }, &mut cx(later, &mut rng, &mut Log::default()));
        }
        (queue.stats().drops() + queue.stats().marks() - before) as f64 / 1e5
    };
    for (ecn, expected) in [(Ecn::NotEct, 0.04), (Ecn::Ect0, 0.04), (Ecn::Ect1, 0.4), (Ecn::Ce, 0.4)] {
        let rate = rate(ecn);
        assert!((rate / expected - 1.0).abs() < 0.05, "{ecn:?}: {rate}");
    }
}

/// Whatever the sizes of their packets, flows that keep a queue get the same number of bytes: never further
/// apart than a quantum and a packet.
#[test]
fn flow_queuing_shares_bytes_evenly() {
    for (name, undisturbed) in
        [("fq-codel", r#"{"target": "10s", "interval": "10s"}"#), ("fq-pie", r#"{"target": "10s"}"#)]
    {
        let fq = spec(name, undisturbed);
        let sizes = [200_u32, 700, 1500];
        let (mut queue, mut rng, mut log, mut sent) = (build(&fq), Rng::stream(1, "fq"), Log::default(), [0_i64; 3]);
        let mut now = NOW;
        for id in 0..30 {
            let packet = Pkt { len: sizes[id % 3], ..Pkt::new(id as u64, id as u64 % 3) };
            queue.enqueue(packet, &mut cx(now, &mut rng, &mut log));
        }
        for id in 30..20_000 {
            now += Duration::from_micros(100);
            let packet = queue.dequeue(&mut cx(now, &mut rng, &mut log)).packet().unwrap();
            sent[packet.flow as usize] += i64::from(packet.len);
            queue.enqueue(Pkt { id, ..packet }, &mut cx(now, &mut rng, &mut log));
            let apart = sent.iter().max().unwrap() - sent.iter().min().unwrap();
            assert!(apart <= 1514 + 1500, "{name}: {sent:?}");
        }
        assert_eq!(queue.stats().drops(), 0);
    }
}
