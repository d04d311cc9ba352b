//! Results of the papers on a link with open-loop traffic: the sources do not respond, so the effect of the discipline alone can be worked out.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::Bench;
use crate::common::{Event, Log, Pkt, cx, link, spec};
use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Qdisc, Why};
use aqmkit_base::{Duration, Ecn, Instant, Rng};

/// The link of 10 Mbit/s sends 1250 packets of 1000 bytes in a second.
const CAPACITY: f64 = 1250.0;

/// A source of 1000-byte packets at random times.
#[derive(Clone, Copy)]
struct Source {
    /// Packets per second.
    rate: f64,
    class: u8,
    /// After this many packets it continues as another flow.
    flow_length: u64,
}

impl Source {
    fn of(share: f64) -> Self {
        Source { rate: share * CAPACITY, class: 0, flow_length: u64::MAX }
    }
}

/// The fate of the packets of each source.
#[derive(Clone, Copy, Default)]
struct Fate {
    offered: f64,
    dropped: f64,
}

impl Fate {
    fn loss(self) -> f64 {
        self.dropped / self.offered
    }
}

/// A queue before the link.
struct Router {
    queue: Box<dyn Qdisc<Pkt>>,
    rng: Rng,
    log: Log,
    free: Instant,
    idle: bool,
    fates: Vec<Fate>,
}

impl Router {
    /// Sends what can be sent before `now`.
    fn send_until(&mut self, now: Instant) {
        while self.free <= now && !self.idle {
            self.send(self.free);
        }
    }

    fn send(&mut self, at: Instant) {
        match self.queue.dequeue(&mut cx(at, &mut self.rng, &mut self.log)).packet() {
            Some(_) => (self.free, self.idle) = (at + Duration::from_micros(800), false),
            None => self.idle = true,
        }
    }

    fn arrive(&mut self, packet: Pkt, now: Instant) {
        self.send_until(now);
        self.queue.enqueue(packet, &mut cx(now, &mut self.rng, &mut self.log));
        if self.idle {
            self.send(now);
        }
        for event in self.log.0.drain(..) {
            if let Event::Dropped(gone, _) = event {
                self.fates[(gone.flow >> 32) as usize].dropped += 1.0;
            }
        }
    }

    fn gauge(&self, name: &str) -> f64 {
        crate::common::gauge(&*self.queue, name)
    }
}

/// Runs the sources through the queue, `watch`ing after every arrival; what became of the packets that
/// were offered after `warm` seconds.
fn run(spec: &Spec, sources: &[Source], secs: f64, warm: f64, mut watch: impl FnMut(&Router)) -> Vec<Fate> {
    let mut router = Router {
        queue: spec.build(&link(), Instant::ZERO).unwrap(),
        rng: Rng::stream(1, "router"),
        log: Log::default(),
        free: Instant::ZERO,
        idle: true,
        fates: vec![Fate::default(); sources.len()],
    };
    let mut draw = Rng::stream(1, "sources");
    let mut gap = |source: &Source| -libm::log(draw.uniform_open()) / source.rate;
    let mut next: Vec<f64> = sources.iter().map(&mut gap).collect();
    let mut sent = vec![0_u64; sources.len()];
    let mut warm_fates = None;
    for id in 0.. {
        let from = (0..sources.len()).min_by(|a, b| next[*a].total_cmp(&next[*b])).unwrap();
        if next[from] > warm {
            warm_fates.get_or_insert_with(|| router.fates.clone());
        }
        if next[from] > secs {
            break;
        }
        let flow = ((from as u64) << 32) + sent[from] / sources[from].flow_length;
        let packet = Pkt { class: sources[from].class, ecn: Ecn::NotEct, ..Pkt::new(id, flow) };
        sent[from] += 1;
        router.fates[from].offered += 1.0;
        router.arrive(packet, Instant::ZERO + Duration::from_secs_f64(next[from]));
        watch(&router);
        next[from] += gap(&sources[from]);
    }
    let before = warm_fates.unwrap();
    let since = |(end, start): (&Fate, &Fate)| Fate {
        offered: end.offered - start.offered,
        dropped: end.dropped - start.dropped,
    };
    router.fates.iter().zip(&before).map(since).collect()
}

/// At a load of 5/4 one packet in five is too many.
#[test]
fn blue_finds_the_probability_that_fits_the_link() {
    let mut seen = Vec::new();
    let fates = run(&spec("blue", "{}"), &[Source::of(1.25)], 300.0, 100.0, |r| seen.push(r.gauge("p")));
    let late = &seen[seen.len() / 2..];
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    assert!((mean - 0.2).abs() < 0.03, "{mean}");
    assert!((fates[0].loss() - 0.2).abs() < 0.03, "{}", fates[0].loss());
}

/// One flow sends twice what the link has, twenty others nine tenths of it.
#[test]
fn sfb_isolates_a_flow_that_does_not_answer() {
    let mut sources = vec![Source::of(0.045); 20];
    sources.push(Source::of(2.0));
    let mut highest = 0.0_f64;
    let sfb = spec("sfb", r#"{"increment": 0.005, "decrement": 0.0005}"#);
    let fates = run(&sfb, &sources, 60.0, 10.0, |r| highest = highest.max(r.gauge("p.max")));
    assert_eq!(highest, 1.0, "its bins reach one");
    let (polite, bad) = (&fates[..20], fates[20]);
    assert!(polite.iter().all(|f| f.loss() < 0.02), "{:?}", polite.iter().map(|f| f.loss()).collect::<Vec<_>>());
    assert!(bad.loss() > 0.9, "it gets what the others leave: {}", bad.loss());
    let fifo = run(&spec("fifo", "{}"), &sources, 20.0, 5.0, |_| ());
    assert!(fifo[..20].iter().all(|f| f.loss() > 0.4), "without it they share the loss");
}

/// The share of arrivals dropped early while `standing` packets of 1000 bytes wait, after
/// `warm` arrivals.
fn early_drops(sred: &Spec, flows: u64, standing: u64, warm: u64, arrivals: u64) -> f64 {
    let mut b = Bench::new(sred);
    let mut draw = Rng::stream(2, "flows");
    let mut dropped = 0_u64;
    for id in 0..warm + arrivals {
        let why = b.flow(draw.below(flows));
        dropped += u64::from(id >= warm && why == [Why::Early]);
        if b.queue.backlog().packets > standing {
            b.take();
        }
        b.log.0.clear();
    }
    dropped as f64 / arrivals as f64
}

/// A list that is never full leaves P at zero: as many flows as can be.
#[test]
fn sreds_probability_has_three_levels() {
    let sred = spec("sred", r#"{"limit": 600, "zombies": 1000000}"#);
    for (standing, level) in [(0, 0.0), (99, 0.0), (100, 0.0375), (199, 0.0375), (200, 0.15), (500, 0.15)] {
        let share = early_drops(&sred, 10, standing, 1000, 60_000);
        assert!((share - level).abs() < 0.005, "{standing} of 600: {share}");
    }
}

/// `p_zap = 0.15 (N/256)^2` with N = 1/P; in full SRED (1 + N) times that for the N-th of the packets that
/// hit, but not more than one.
#[test]
fn sred_drops_with_the_square_of_the_number_of_flows() {
    for (full, flows) in [(false, 64_u32), (false, 128), (true, 64), (true, 128)] {
        let params = format!(r#"{{"limit": 600, "zombies": 1000, "weight": 0.00005, "full": {full}}}"#);
        let n = f64::from(flows);
        let p_zap = 0.15 * (n / 256.0).powi(2);
        let of_hits = if full { (p_zap * (1.0 + n)).min(1.0) } else { p_zap };
        let expected = p_zap * (1.0 - 1.0 / n) + of_hits / n;
        let share = early_drops(&spec("sred", &params), flows.into(), 300, 300_000, 400_000);
        assert!((share / expected - 1.0).abs() < 0.1, "{flows} flows, full {full}: {share}, expected {expected}");
    }
}

#[test]
fn one_over_p_is_the_number_of_flows() {
    for flows in [10_u64, 100, 400] {
        let mut b = Bench::new(&spec("sred", r#"{"limit": 60}"#));
        let mut draw = Rng::stream(3, "flows");
        let (mut sum, mut n) = (0.0, 0.0);
        for id in 0..300_000 {
            b.flow(draw.below(flows));
            b.take();
            if id > 50_000 {
                (sum, n) = (sum + b.gauge("hit_rate"), n + 1.0);
            }
        }
        let estimate = n / sum;
        assert!((estimate / flows as f64 - 1.0).abs() < 0.08, "{flows} flows: {estimate}");
    }
}

/// With n of q packets in the queue, a flow is matched with `1 - (1 - n/q)^m`.
#[test]
fn choke_matches_in_proportion_to_what_waits() {
    for (m, expected) in [(1, 0.25), (3, 1.0 - 0.75_f64.powi(3))] {
        let mut b = Bench::new(&spec(
            "choke",
            &format!(r#"{{"limit": 90, "min": 39, "max": 60, "weight": 1, "max_p": 0, "candidates": {m}}}"#),
        ));
        let (mut matched, trials) = (0, 10_000);
        for _ in 0..trials {
            (0..40).for_each(|i| assert!(b.flow(if i % 4 == 0 { 7 } else { 100 + i }).is_empty()));
            matched += u32::from(b.flow(7).contains(&Why::Matched));
            b.take_all();
            b.log.0.clear();
        }
        let share = f64::from(matched) / f64::from(trials);
        assert!((share - expected).abs() < 0.02, "{m} candidates: {share}, expected {expected}");
    }
}

/// Six flows at half the fair share, five at twice, two at four times: 6/2 + 5 + 2 fair shares are the link.
#[test]
fn afd_drops_what_is_above_the_fair_share() {
    let fair = 0.1;
    let sources: Vec<Source> =
        [vec![0.5 * fair; 6], vec![2.0 * fair; 5], vec![4.0 * fair; 2]].concat().into_iter().map(Source::of).collect();
    let (mut queue, mut n) = (0.0, 0.0);
    let fates = run(&spec("afd", "{}"), &sources, 120.0, 20.0, |r| {
        (queue, n) = (queue + r.queue.backlog().packets as f64, n + 1.0);
    });
    let loss = |from: usize, to: usize| fates[from..to].iter().map(|f| f.loss()).sum::<f64>() / (to - from) as f64;
    assert!(loss(0, 6) < 0.01, "{}", loss(0, 6));
    assert!((loss(6, 11) - 0.5).abs() < 0.03, "{}", loss(6, 11));
    assert!((loss(11, 13) - 0.75).abs() < 0.03, "{}", loss(11, 13));
    assert!((queue / n - 48.0).abs() < 10.0, "the queue is at its target: {}", queue / n);
}

/// IN has half of the link, OUT wants it twice over.
#[test]
fn rio_protects_in() {
    let sources = [Source { class: 0, ..Source::of(0.5) }, Source { class: 2, ..Source::of(2.0) }];
    let losses = |params: &str| {
        run(&spec("rio", params), &sources, 60.0, 5.0, |_| ()).iter().map(|f| f.loss()).collect::<Vec<_>>()
    };
    let rio = losses(r#"{"in": ["tcp"]}"#);
    assert!(rio[0] < 0.001, "{rio:?}");
    assert!((rio[1] - 0.75).abs() < 0.02, "{rio:?}");
    let red = losses("{}");
    assert!(red[0] > 0.5, "without a profile both lose alike: {red:?}");
}

/// Two long flows, and flows of five packets.
#[test]
fn rio_ps_spares_short_flows() {
    let short = Source { flow_length: 5, ..Source::of(0.2) };
    let sources = [short, Source::of(0.8), Source::of(0.8)];
    let loss = |params: &str| run(&spec("rio-ps", params), &sources, 20.0, 2.0, |_| ())[0].loss();
    assert_eq!(loss("{}"), 0.0);
    assert!(loss(r#"{"slr": 0, "lt": 1}"#) > 0.2, "with all but the first packet OUT");
}
