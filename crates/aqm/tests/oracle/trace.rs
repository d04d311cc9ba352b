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

/// Plays traces with this many flows through the discipline and through a fresh oracle for each, and
/// compares every decision. Gives the discipline's counters over all traces.
pub(crate) fn compare<O: Oracle>(spec: &Spec, link: &Link, flows: u64, oracle: impl Fn() -> O) -> Stats {
    let mut total = Stats::default();
    for seed in 0..150 {
        let mut draw = Rng::stream(seed, "trace");
        let steps = if seed % 2 == 0 { random(&mut draw) } else { bursty(&mut draw) };
        let stats = play(spec, link, flows, &mut oracle(), &steps, seed);
        total.enqueued += stats.enqueued;
        total.dequeued += stats.dequeued;
        for why in Why::ALL {
            total.dropped[why as usize] += stats.dropped[why as usize];
        }
    }
    total
}

fn play(spec: &Spec, link: &Link, flows: u64, oracle: &mut impl Oracle, steps: &[Step], seed: u64) -> Stats {
    let mut now = Instant::ZERO + Duration::from_secs(7);
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
                let packet = Pkt { id: id as u64, len, flow, class: (flow % 3) as u8, ecn: Ecn::NotEct };
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
        assert!(stats.dropped[*why as usize] > 100, "{why:?} hardly happened: {stats:?}");
    }
}
