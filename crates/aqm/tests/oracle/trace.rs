//! Traces, and the comparison along them.

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Stats, Why};
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Log, Pkt, cx};

/// A transcription: `arriving` says whether the packet was enqueued.
pub(crate) trait Oracle {
    fn arriving(&mut self, packet: Pkt, now: Instant, rng: &mut Rng) -> bool;
    fn departing(&mut self, now: Instant) -> Option<Pkt>;
}

/// Seconds between two instants, as `now() - last` means them.
pub(crate) fn seconds(from: Instant, to: Instant) -> f64 {
    to.since(from).as_secs_f64()
}

pub(crate) enum Step {
    Arrive,
    Depart,
    Wait(Duration),
}

/// Load changes from phase to phase: idle, light, balanced, overload.
pub(crate) fn random(rng: &mut Rng) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..12 {
        let load = [0.3, 0.5, 0.52, 0.55, 0.6, 0.9][rng.below(6) as usize];
        for _ in 0..rng.below(300) {
            steps.push(Step::Wait(Duration::from_micros(rng.below(900))));
            steps.push(if rng.chance(load) { Step::Arrive } else { Step::Depart });
        }
    }
    steps
}

/// Bursts from one to three hundred packets, and silences from nothing to minutes.
pub(crate) fn bursty(rng: &mut Rng) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..25 {
        steps.extend((0..rng.below(300)).map(|i| if i % 7 < 4 { Step::Arrive } else { Step::Depart }));
        steps.extend((0..rng.below(300)).map(|_| Step::Depart));
        let wait = [0, 1, 1_000, 20_000, 1_000_000, 100_000_000][rng.below(6) as usize];
        steps.push(Step::Wait(Duration::from_micros(wait)));
    }
    steps
}

/// Bursts that take a few intervals to drain, and that are about sixteen intervals apart: where a discipline
/// asks whether it has only just been here before.
fn spaced(rng: &mut Rng, interval: Duration) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..20 {
        let length = rng.below(120);
        steps.extend((0..length).map(|_| Step::Arrive));
        for _ in 0..length + rng.below(20) {
            steps.push(Step::Wait(interval.mul_f64(0.12 * rng.uniform())));
            steps.push(if rng.chance(0.2) { Step::Arrive } else { Step::Depart });
        }
        steps.push(Step::Wait(interval.mul_f64([0.5, 6.0, 13.0, 16.0, 19.0][rng.below(5) as usize])));
    }
    steps
}

/// Plays traces with this many flows through the discipline and through a fresh oracle for each, and
/// compares every decision. Gives the discipline's counters over all traces.
pub(crate) fn compare<O: Oracle>(spec: &Spec, link: &Link, flows: u64, oracle: impl Fn() -> O) -> Stats {
    compare_on(Setup { spec, link, flows, ecn: false }, 150, random_or_bursty, oracle)
}

/// The same with packets of every ECN codepoint.
pub(crate) fn compare_marks<O: Oracle>(spec: &Spec, link: &Link, flows: u64, oracle: impl Fn() -> O) -> Stats {
    compare_on(Setup { spec, link, flows, ecn: true }, 150, random_or_bursty, oracle)
}

/// The same as [`compare_marks`] or [`compare`], on bursts about sixteen of these intervals apart.
pub(crate) fn compare_bursts<O: Oracle>(
    spec: &Spec,
    link: &Link,
    flows: u64,
    ecn: bool,
    interval: Duration,
    oracle: impl Fn() -> O,
) -> Stats {
    compare_on(Setup { spec, link, flows, ecn }, 500, |_, draw| spaced(draw, interval), oracle)
}

fn random_or_bursty(seed: u64, draw: &mut Rng) -> Vec<Step> {
    if seed.is_multiple_of(2) { random(draw) } else { bursty(draw) }
}

fn compare_on<O: Oracle>(
    setup: Setup<'_>,
    traces: u64,
    steps: impl Fn(u64, &mut Rng) -> Vec<Step>,
    oracle: impl Fn() -> O,
) -> Stats {
    let mut total = Stats::default();
    for seed in 0..traces {
        let stats = play(setup, &mut oracle(), &steps(seed, &mut Rng::stream(seed, "trace")), seed);
        total.enqueued += stats.enqueued;
        total.dequeued += stats.dequeued;
        for why in Why::ALL {
            total.dropped[why as usize] += stats.dropped[why as usize];
            total.marked[why as usize] += stats.marked[why as usize];
        }
    }
    total
}

#[derive(Clone, Copy)]
struct Setup<'a> {
    spec: &'a Spec,
    link: &'a Link,
    flows: u64,
    ecn: bool,
}

/// When every trace begins.
pub(crate) const START: Instant = Instant::from_nanos(7_000_000_000);

fn play(setup: Setup<'_>, oracle: &mut impl Oracle, steps: &[Step], seed: u64) -> Stats {
    let Setup { spec, link, flows, ecn } = setup;
    let mut now = START;
    let mut queue = spec.build::<Pkt>(link, now).unwrap();
    oracle.departing(now);
    let (mut ours, mut theirs) = (Rng::stream(seed, "aqm"), Rng::stream(seed, "aqm"));
    let (mut draw, mut log) = (Rng::stream(seed, "packets"), Log::default());
    for (id, step) in steps.iter().enumerate() {
        match step {
            Step::Wait(time) => now += *time,
            Step::Arrive => {
                let flow = draw.below(flows);
                let len = 40 + draw.below(1461) as u32;
                let ecn = if ecn { Ecn::from_bits(draw.below(4) as u8) } else { Ecn::NotEct };
                let packet = Pkt { id: id as u64, len, flow, class: (flow % 3) as u8, ecn };
                let before = queue.stats().drops();
                queue.enqueue(packet, &mut cx(now, &mut ours, &mut log));
                let enqueued = queue.stats().drops() == before;
                assert_eq!(enqueued, oracle.arriving(packet, now, &mut theirs), "seed {seed}, step {id}: {packet:?}");
            }
            Step::Depart => {
                let out = queue.dequeue(&mut cx(now, &mut ours, &mut log)).packet();
                assert_eq!(out, oracle.departing(now), "seed {seed}, step {id}");
            }
        }
    }
    assert_eq!(ours, theirs, "one drew more random numbers than the other");
    *queue.stats()
}

/// Fails a comparison that never came to one of these reasons: it would prove nothing about them.
pub(crate) fn assert_seen(stats: &Stats, reasons: &[Why]) {
    for why in reasons {
        assert!(stats.dropped[*why as usize] + stats.marked[*why as usize] > 100, "{why:?} hardly happened: {stats:?}");
    }
}
