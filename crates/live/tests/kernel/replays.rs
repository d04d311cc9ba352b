//! Verified programs (`BPF_PROG_TEST_RUN`) against the same laws compiled natively, and against the floating-point
//! disciplines.

use aqmkit_aqm::registry::{Parameters, Spec};
use aqmkit_aqm::{Aqm, disciplines as floating};
use aqmkit_base::{FlowKind, Rng};
use aqmkit_kernel::{Event, SETTINGS_BEFORE, classifier, event, settings};
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::law::{Arrival, DRAWS, Law, Program, Surroundings};
use aqmkit_live::kernel::replay::Replay;
use serde_json::{Value, json};

use super::own_queue::OwnQueue;
use super::trace::{Decided, Departures, Shape, link, play};
use super::{cannot, spec};

/// Decisions per replay.
const DECISIONS: u32 = 12_000;
/// Tolerated rounding differences from the floating-point discipline: normally one per replay, and a few with DCN,
/// whose counts are occasionally zero (`crates/kernel/tests/equal/dcn.rs`).
const ALLOWED: usize = 12;

/// Bursty arrivals, with the queues and flows they find.
pub(super) fn arrivals(count: u32) -> Vec<Arrival> {
    let mut rng = Rng::stream(1, "arrivals");
    let (mut now, mut waiting, mut flows) = (1_000_000_000_u64, 0_u64, 10);
    let one = |_| {
        let gap = [0, 100_000, 400_000, 800_000, 900_000][rng.below(5) as usize] + rng.below(100_000);
        let gap = if rng.chance(0.0005) { gap + rng.below(4_000_000_000) } else { gap };
        now += gap;
        waiting = (waiting + 1).saturating_sub(gap / 350_000).min(300);
        flows = if rng.chance(0.001) { 1 + rng.below(100) } else { flows };
        let packets = if rng.chance(0.1) { 1 + rng.below(20) } else { 1 };
        Arrival {
            now,
            flow: 1 + rng.below(flows),
            bytes: packets * [100, 1000, 1514][rng.below(3) as usize],
            packets,
            waiting_packets: waiting,
            waiting_bytes: waiting * 1000,
            empty_since: 0,
            ecn_capable: rng.below(2),
            class: rng.below(3),
            leaves_at: 0,
            free_at: 0,
            draws: [(); DRAWS].map(|()| (rng.bits() >> 32) as u32),
        }
    };
    (0..count).map(one).collect()
}

/// The decisions of the natively compiled law on the same arrivals.
pub(super) fn natively<L: Law>(config: &L::Config, spec: &Spec, arrivals: &[Arrival]) -> Vec<u32> {
    let byte_time = aqmkit_kernel::number::factor("rate", 1e9 / link().rate.bytes_per_sec()).unwrap();
    let flow_kind = u64::from(spec.flow() != FlowKind::Connection);
    let around = Surroundings { version: 1, byte_time, flow_kind };
    let mut program = Box::new(Program::<L>::default());
    let decide = |arrival: &Arrival| {
        program.arrival = *arrival;
        program.on_arrival(&around, config).code()
    };
    arrivals.iter().map(decide).collect()
}

/// The program's decisions on these arrivals with these settings.
fn replayed(name: &str, settings: &[u64], arrivals: &[Event]) -> Vec<u32> {
    let decided = Replay::new(classifier(name).unwrap(), settings, DECISIONS).unwrap().run(arrivals).unwrap();
    eprintln!("{name}: {} ns a decision", decided.nanoseconds);
    decided.verdicts
}

pub(super) fn different(some: &[u32], others: &[u32]) -> usize {
    some.iter().zip(others).filter(|(a, b)| a != b).count()
}

/// Asserts that the verified program decides exactly like the native law, and like the floating-point discipline up to
/// rounding.
fn hold<A: Aqm, L: Law>(
    name: &str,
    table: &Value,
    departures: Departures,
    params: impl Fn(&Parameters) -> (&A::Params, L::Config),
) {
    let spec = spec(name, table).effective(&link()).unwrap();
    let words = settings(&spec, &link(), &[], 1).unwrap();
    let (floating, fixed) = params(spec.parameters());
    let arrivals = arrivals(DECISIONS);
    let kernel = replayed(name, &words, &arrivals.iter().map(event).collect::<Vec<_>>());
    let native = natively::<L>(&fixed, &spec, &arrivals);
    let signalled = native.iter().filter(|v| **v != 0).count();
    assert!(different(&native, &kernel) == 0 && signalled > 20, "{name} {table}: {signalled}");

    let mut trace: Vec<Decided> = Vec::new();
    let config = A::config(floating, &link()).unwrap();
    play::<A>(&config, (1, Shape::Random), DECISIONS.into(), departures, |decided| trace.push(*decided));
    let events: Vec<_> = trace.iter().map(|decided| event(&decided.arrival)).collect();
    let wanted: Vec<u32> = trace.iter().map(Decided::code).collect();
    let signals = trace.iter().filter(|decided| decided.signals()).count();
    let by_rounding = different(&wanted, &replayed(name, &words, &events));
    eprintln!("{name}: {by_rounding} of {DECISIONS} other than in floating point, which signals {signals}");
    assert!(by_rounding <= ALLOWED && signals > 20, "{name} {table}: {by_rounding}, {signals}");

    // A program with a different constant decides differently.
    let mut wrong = words;
    wrong[SETTINGS_BEFORE] /= 64;
    let by_error = different(&wanted, &replayed(name, &wrong, &events));
    assert!(by_error > 4 * ALLOWED, "{name}: a wrong limit makes {by_error} differ");
}

/// Checks a discipline's program with each of these parameter tables.
macro_rules! hold {
    ($variant:ident, $module:ident, $($table:tt)*) => {
        hold!($variant, $module: Real, floating::$module::$variant, $($table)*);
    };
    ($variant:ident, $module:ident: $departures:ident, $floating:ty, $($table:tt)*) => {
        for table in [$(json!($table)),*] {
            type Fixed = disciplines::$module::$variant;
            hold::<$floating, Fixed>(stringify!($module), &table, Departures::$departures, |parameters| match parameters {
                Parameters::$variant(p) => (p, aqmkit_kernel::$module::config(p, &link()).unwrap()),
                _ => panic!("not a {}", stringify!($module)),
            });
        }
    };
}

#[test]
fn the_verified_programs_decide_as_the_disciplines() {
    if cannot().is_some() {
        return;
    }
    hold!(Red, red, { "limit": 200 } { "limit": 200, "ecn": true, "adaptive": true, "min": 20, "max": 100 });
    hold!(Ared, ared, { "limit": 200, "ecn": true } { "limit": 200, "variant": "feng" });
    hold!(Pi, pi, { "limit": 200, "q_ref": 20, "a": 0.001, "b": 0.00095 });
    hold!(Rem, rem, { "limit": 200, "gamma": 0.01, "weight": 0.3 });
    hold!(Blue, blue, { "limit": 60, "d1": 0.02, "d2": 0.002, "freeze": "10ms" });
    hold!(Step, step, { "limit": 200, "threshold": 10 });
    hold!(Step, step: Predicted, floating::step::Step, { "limit": 200, "sojourn": "5ms" });
    hold!(Erd, erd, { "limit": 60 });
    hold!(Cbt, cbt, { "limit": 200, "classes": [
        { "class": "tcp", "min": 10, "max": 30, "max_p": 0.3, "weight": 0.05 }, { "class": "*", "max": 8, "weight": 0.1 }] });
    hold!(Rio, rio, { "limit": 200, "in": ["tcp"], "weight": 0.05 } { "limit": 200, "in": ["tcp"], "coupled": false });
    hold!(Wred, wred, { "limit": 200, "classes": [{ "class": "tcp", "max": 30 }, { "class": "*", "max": 20 }] });
    hold!(Fred, fred, { "limit": 200, "min": 10, "max": 40, "weight": 0.05 } { "limit": 60, "min": 5, "ecn": true });
    hold!(Sfb, sfb, { "limit": 200, "max": 6, "increment": 0.02 } { "limit": 200, "max": 12, "rehash": "1s", "db": "500ms" });
    hold!(Codel, codel: Predicted, floating::codel::Codel, { "limit": 200, "interval": "20ms" } { "limit": 200, "ecn": true, "ce_threshold": "3ms" });
    hold!(Pie, pie: Predicted, floating::pie::Pie, { "limit": 200, "target": "2ms", "alpha": 1.0, "beta": 2.0, "max_burst": "5ms" }
        { "limit": 200, "ecn": true, "target": "3ms", "derandomize": false, "alpha": 1.5 });
    hold!(Csfq, csfq: Real, OwnQueue, { "limit": 200, "threshold": 10 } { "limit": 200, "ecn": true, "threshold": 0, "k_c": "20ms", "flows": 16,
        "classes": [{ "class": "tcp", "weight": 3 }, { "class": "*", "weight": 0.7 }] });
    hold!(Sred, sred, { "limit": 100, "zombies": 50, "max_p": 0.5 });
    hold!(Afd, afd, { "limit": 200, "q_target": 10, "buffer": 100 });
    hold!(Dcn, dcn, { "limit": 200 } { "limit": 200, "ecn": true, "q_ref": 5, "counting": "bytes" });
}
