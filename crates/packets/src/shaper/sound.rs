//! Property test: random traffic through shaper and meter. However late the program runs, no window reports an
//! impossible number.

use std::fmt::Write as _;
use std::sync::Arc;

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::trace::Trace;
use aqmkit_base::{BitRate, ClassId, Duration, Ecn, FlowKey, Framing, Instant, Rng};
use aqmkit_measure::{LinkInfo, Passed, WindowSpec};

use super::tests::Pkt;
use super::*;

/// Takes about 10 s of CPU time.
const LINKS: u64 = 10_000;

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// Uniform from `low` to `high`, inclusive.
fn between(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + rng.below(high - low + 1)
}

/// A varying rate: transmission opportunities at random milliseconds.
fn trace(rng: &mut Rng) -> Trace {
    let (mut ms, mut lines) = (0, String::new());
    for _ in 0..between(rng, 2, 60) {
        ms += rng.below(9);
        writeln!(lines, "{ms}").unwrap();
    }
    Trace::parse("random", &format!("{lines}{}\n", ms + 1)).unwrap()
}

fn rate(rng: &mut Rng) -> BitRate {
    BitRate::from_bps([64_000, 1_000_000, 20_000_000, 1_000_000_000][rng.below(4) as usize])
}

fn setup(rng: &mut Rng) -> Setup {
    let name = registry::ALL[rng.below(registry::ALL.len() as u64) as usize].name;
    let trace = rng.chance(0.25).then(|| Arc::new(trace(rng)));
    let rate = trace.as_ref().map_or_else(|| rate(rng), |trace| trace.mean_rate());
    Setup {
        trace,
        framing: Framing::bytes(38 * rng.below(2) as i32),
        classes: vec!["x".to_owned(), "y".to_owned()],
        seed: rng.bits(),
        ..Setup::new("down", rate, Duration::from_millis(5), Spec::named(name).unwrap())
    }
}

/// Two halves and their union, an arbitrary window, one that ends after everything, and one that never starts.
fn windows(rng: &mut Rng, end: u64) -> Vec<WindowSpec> {
    let half = between(rng, 1, end - 1);
    let from = rng.below(end);
    let most = 1 << rng.below(17);
    let to = from + 1 + rng.below(most);
    let all = [(0, half), (half, end), (0, end), (from, to), (from, 2 * end), (3 * end, 4 * end)];
    all.map(|(first, last)| WindowSpec { name: String::new(), from: at(first), to: at(last) }).to_vec()
}

fn packet(rng: &mut Rng) -> Pkt {
    Pkt {
        class: ClassId(rng.below(2) as u8),
        flow: FlowKey(rng.below(8)),
        len: between(rng, 40, 1500) as u32,
        ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][rng.below(3) as usize],
        ..Pkt::default()
    }
}

/// Checks the window's numbers against what the link allows.
fn possible(window: &Passed, link: &LinkInfo) {
    let stats = window.stats(match window.goes_on {
        true => link.capacity_so_far_bps(window.from, window.to),
        false => link.capacity_bps(window.from, window.to),
    });
    let shares = [stats.utilization, stats.drop_rate, stats.mark_rate];
    assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{stats:?}");
    let classes = [0, 1].map(|class| window.class_stats(class));
    for class in &classes {
        assert!((0.0..=1.0).contains(&class.drop_rate) && (0.0..=1.0).contains(&class.mark_rate), "{class:?}");
    }
    let near = |got: f64, wanted: f64| assert!((got - wanted).abs() <= 1e-6 * wanted.abs() + 1e-6, "{got} {wanted}");
    near(classes.iter().map(|c| c.throughput_bps).sum(), stats.throughput_bps);
    near(classes.iter().map(|c| c.offered_bps).sum(), stats.offered_bps);
    let numbers = [stats.throughput_bps, stats.offered_bps, stats.packets_per_s, stats.queue_packets.mean];
    assert!(numbers.iter().all(|n| n.is_finite() && *n >= 0.0), "{stats:?}");
}

fn try_link(seed: u64) {
    let rng = &mut Rng::stream(seed, "sound");
    let (mut setup, end) = (setup(rng), between(rng, 2, 100_000));
    let specs = windows(rng, end);
    let mut shaper = Shaper::<Pkt>::new(&setup, Meter::new(&specs, 2), Instant::ZERO).unwrap();
    let gap = (1 << rng.below(14)) as u64;
    let mut now = 0;
    while now < end {
        now = (now + rng.below(gap + 1)).min(end);
        match rng.below(20) {
            // The program stalls: what was due is processed with the next packet.
            0 => now = (now + 20 * gap).min(end),
            1 if setup.trace.is_none() => {
                setup.rate = rate(rng);
                shaper.reconfigure(&setup, at(now)).unwrap();
            }
            _ => (0..=rng.below(4)).for_each(|_| shaper.arrive(packet(rng), at(now))),
        }
    }
    shaper.advance(at(end));
    let link = LinkInfo {
        name: String::new(),
        report: true,
        rate: shaper.rates()[0].1,
        trace: setup.trace.clone(),
        changes: shaper.rates()[1..].to_vec(),
    };
    let so_far = shaper.meter().so_far().traffic;
    let accounted = so_far.sent_packets + so_far.drops() + shaper.backlog().packets;
    assert_eq!(so_far.offered_packets, accounted, "{setup:?}");
    let all = shaper.meter_mut().windows(at(end));
    all.iter().for_each(|window| possible(window, &link));
    let [first, second, whole] = [0, 1, 2].map(|i| &all[i]);
    assert!((first.passed_bytes + second.passed_bytes - whole.passed_bytes).abs() < 1e-3, "{setup:?}");
    assert_eq!(first.total.drops() + second.total.drops(), whole.total.drops(), "{setup:?}");
}

#[test]
fn nothing_is_impossible_on_a_live_link() {
    for seed in 0..LINKS {
        let tried = std::panic::catch_unwind(|| try_link(seed));
        tried.unwrap_or_else(|_| panic!("at seed {seed}"));
    }
}
