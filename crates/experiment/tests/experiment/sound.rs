//! Random experiments: no window or interval has an impossible result.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aqmkit_aqm::registry;
use aqmkit_base::{Duration, Instant, Rng};
use aqmkit_experiment::RunSpec;
use aqmkit_measure::metric::Metric;
use aqmkit_sim::Simulation;
use aqmkit_sim::change::Change;
use aqmkit_sim::output::{ClassStats, LinkStats, Output, Window};
use aqmkit_transport::profile;
use serde_json::Value;

use super::parse;

/// Experiments per test; the tests run in parallel. All ten thousand take about 25 s of CPU time.
const EXPERIMENTS: u64 = 2500;

/// A random element.
fn one<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

/// A random integer from `low` to `high`, inclusive.
fn between(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + rng.below(high - low + 1)
}

/// A rate trace: delivery opportunities at random milliseconds.
fn trace(rng: &mut Rng) -> String {
    let mut ms = 0;
    let mut lines = String::new();
    for _ in 0..between(rng, 2, 60) {
        ms += rng.below(9);
        writeln!(lines, "{ms}").unwrap();
    }
    lines + &format!("{}\n", ms + 1)
}

const TRAFFIC: &[&str] = &[
    "kind = \"bulk\"\nflows = 3",
    "kind = \"bulk\"\nsize = \"20kb\"\nflows = 5",
    "kind = \"cbr\"\nrate = \"RATEkbit\"\nflows = 2",
    "kind = \"cbr\"\nrate = \"RATEkbit\"\naccess = \"RATEkbit\"",
    "kind = \"on-off\"\nflows = 4",
    "kind = \"short-flows\"\ninterval = \"5ms\"\nshape = 1.2\nsize_max = \"100kb\"",
    "kind = \"http-unc\"\nusers = 300",
    "kind = \"videoconf\"\nflows = 2",
    "kind = \"voip\"\ncalls = 2",
    "kind = \"game\"\nplayers = 2",
];

/// Drivers of the link; half of the experiments have none.
const DRIVERS: &[&str] = &[
    "\"none\"",
    "\"none\"",
    "\"none\"",
    "{ ring = 1 }",
    "{ ring = 16, coalesce = \"3ms\" }",
    "{ bql = true, coalesce = \"500us\" }",
];

/// A small random experiment. The third window is the whole measurement, the first two are its halves; the others are
/// random.
fn experiment(rng: &mut Rng, dir: &std::path::Path) -> String {
    let length = between(rng, 40, 900);
    let half = between(rng, 1, length - 1);
    let kbit = [64, 500, 1000, 3000, 10_000][rng.below(5) as usize];
    let names: Vec<&str> = registry::ALL.iter().map(|d| d.name).collect();
    let rate = if rng.chance(0.25) {
        std::fs::write(dir.join("random.trace"), trace(rng)).unwrap();
        format!("{{ trace = {:?} }}", dir.join("random.trace").display().to_string())
    } else {
        format!("\"{kbit}kbit\"")
    };
    let mut text = format!(
        "title = \"Random\"\nduration = \"{length}ms\"\nwarmup = \"{}ms\"\ninterval = \"{}ms\"\n\n[topology]\nrate = {rate}\naqm = \
         {:?}\ndelays = {{ uniform = [\"{}us\", \"{}us\"] }}\noverhead = \"{}b\"\nloss = {}\ndriver = {}\n\n[transport]\nprofile = \
         {:?}\necn = {}\n\n[windows]\na = [\"0ms\", \"{half}ms\"]\nb = [\"{half}ms\", \"{length}ms\"]\nc = [\"0ms\", \"{length}ms\"]\n",
        rng.below(200),
        between(rng, 1, 100),
        one(rng, &names),
        rng.below(3000),
        between(rng, 3000, 60_000),
        rng.below(2) * 38,
        rng.below(2) as f64 * 0.01,
        one(rng, DRIVERS),
        one(rng, &profile::NAMES),
        rng.chance(0.5),
    );
    for name in ["d", "e"] {
        let from = rng.below(length * 1000 - 1);
        let most = 1 << rng.below(17);
        let to = (from + 1 + rng.below(most)).min(length * 1000);
        writeln!(text, "{name} = [\"{from}us\", \"{to}us\"]").unwrap();
    }
    if !rate.starts_with('{') && rng.chance(0.3) {
        let at = between(rng, 1, length - 1);
        let to = between(rng, 10, 2 * kbit);
        write!(text, "\n[[changes]]\nat = \"{at}ms\"\ntopology.rate = \"{to}kbit\"\n").unwrap();
    }
    for i in 0..between(rng, 1, 3) {
        let load = between(rng, 1, 2 * kbit).to_string();
        let what = one(rng, TRAFFIC).replace("RATE", &load);
        let start = rng.below(length / 2);
        let class = one(rng, &["x", "y"]);
        write!(text, "\n[[traffic]]\nname = \"t{i}\"\nclass = \"{class}\"\n{what}\nstart = \"{start}ms\"\n").unwrap();
    }
    text
}

/// Calls `check` with the path and value of every number; `None` for one that is not finite.
fn walk(path: &str, value: &Value, check: &mut impl FnMut(&str, Option<f64>)) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(&path, inner, check);
            }
        }
        Value::Null => check(path, None),
        other => check(path, other.as_f64()),
    }
}

/// Returns the error message unless `holds`.
fn claim(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}

fn near(got: f64, wanted: f64, what: &str) -> Result<(), String> {
    claim((got - wanted).abs() <= 1e-6 * wanted.abs() + 1e-6, || format!("{what}: {got}, not {wanted}"))
}

fn is_share(path: &str) -> bool {
    Metric::at(path).is_some_and(|metric| metric.unit.name == "share")
}

/// Every number is within the range of its kind.
fn possible(window: &Window) -> Result<(), String> {
    let mut value = serde_json::to_value(window).unwrap();
    value.as_object_mut().unwrap().remove("name");
    let mut wrong = Ok(());
    walk("", &value, &mut |path, number| {
        let right = number.is_some_and(|n| n >= 0.0 && (n <= 1.0 || !is_share(path)));
        if !right {
            wrong = Err(format!("{path} is {number:?}"));
        }
    });
    wrong
}

/// The link's totals are the sums over its classes.
fn classes_add_up(window: &Window) -> Result<(), String> {
    let link = &window.links["bottleneck"];
    let sum = |of: fn(&ClassStats) -> f64| window.classes.values().map(of).sum::<f64>();
    near(sum(|c| c.throughput_bps), link.throughput_bps, "throughput of all classes")?;
    near(sum(|c| c.offered_bps), link.offered_bps, "load of all classes")?;
    let mut drops: BTreeMap<String, u64> = BTreeMap::new();
    for (why, n) in window.classes.values().flat_map(|c| &c.drops) {
        *drops.entry(why.clone()).or_default() += n;
    }
    claim(drops == link.drops, || format!("the classes drop {drops:?}, the link {:?}", link.drops))
}

/// The totals of the whole are the sums over the halves.
fn halves_add_up(output: &Output) -> Result<(), String> {
    let find = |name: &str| output.windows.iter().find(|w| w.name == name).unwrap();
    let [a, b, whole] = ["a", "b", "c"].map(find);
    let [first, second, all] = [a, b, whole].map(|window| &window.links["bottleneck"]);
    let seconds = |w: &Window| w.to_s - w.from_s;
    for of in [|l: &LinkStats| l.throughput_bps, |l: &LinkStats| l.offered_bps] {
        near(of(first) * seconds(a) + of(second) * seconds(b), of(all) * seconds(whole), "bits of both halves")?;
    }
    for (why, n) in &all.drops {
        let part = |link: &LinkStats| link.drops.get(why).copied().unwrap_or(0);
        claim(part(first) + part(second) == *n, || format!("drops of both halves: {why}"))?;
    }
    Ok(())
}

/// Nothing exceeds the capacity by more than the rounding of a transmission's ends to nanoseconds.
fn within_capacity(output: &Output, spec: &RunSpec) -> Result<(), String> {
    let scenario = spec.scenario().unwrap();
    let mut link = scenario.plan().links[scenario.measured].clone();
    let mut fastest = link.rate;
    for timed in &scenario.changes {
        if let Change::Link { to, .. } = &timed.change {
            link.changes.push((timed.at, to.rate));
            fastest = fastest.max(to.rate);
        }
    }
    for window in &output.windows {
        let at = |s: f64| scenario.origin + Duration::from_nanos((s * 1e9).round() as u64);
        let capacity = link.capacity_bps(at(window.from_s), at(window.to_s));
        let rounding = 2e-9 / (window.to_s - window.from_s) * fastest.as_bps() as f64;
        let passed = window.links["bottleneck"].throughput_bps;
        let wrong = || format!("{passed} bit/s of {capacity} in {}", window.name);
        claim(passed <= capacity * (1.0 + 1e-9) + rounding, wrong)?;
        goodput_within(window, capacity, LARGEST_DELAY)?;
    }
    for (name, column) in output.series.columns.iter().filter(|(name, _)| is_share(name)) {
        let most = column.iter().copied().fold(0.0, f64::max);
        claim(most <= 1.0, || format!("{name} of the series reaches {most}"))?;
    }
    Ok(())
}

/// The largest of the random delays behind the link: data received in a window may have left the link this much
/// earlier.
const LARGEST_DELAY: f64 = 0.060;

/// The received data is at most what the link can carry in the window and in the delay of the path behind the link
/// before it, plus a packet at the edge. The experiments have no traffic of class `u` that avoids this link.
fn goodput_within(window: &Window, capacity: f64, path_s: f64) -> Result<(), String> {
    let seconds = window.to_s - window.from_s;
    let data: f64 = window.classes.values().map(|class| class.goodput_bps).sum::<f64>() * seconds;
    let most = capacity * (seconds + path_s) + 8.0 * 1500.0;
    claim(data <= most, || format!("{data} bits of data in {} where {most} can come", window.name))
}

/// Every number is in the range that docs/metrics.md gives: ratios are at most 1, percentiles ascend, opinion scores
/// are from 1 to 4.5.
fn as_documented(window: &Window) -> Result<(), String> {
    for (name, class) in &window.classes {
        claim(class.efficiency <= 1.0, || format!("efficiency of {name} is {}", class.efficiency))?;
    }
    let links = window.links.values().filter_map(|link| link.queue_delay_ms);
    let classes = window.classes.values().flat_map(|class| [class.queue_delay_ms, class.latency_ms]).flatten();
    let responses = window.apps.values().flat_map(|app| app.response_time_ms.values().copied());
    for s in links.chain(classes).chain(responses) {
        let ordered =
            s.p50 <= s.p90 && s.p90 <= s.p99 && s.p99 <= s.max * (1.0 + 1e-9) && s.mean <= s.max * (1.0 + 1e-9);
        claim(ordered, || format!("{s:?}"))?;
    }
    for (name, app) in &window.apps {
        let mos = app.computed.get("mos").copied().unwrap_or(1.0);
        claim((1.0..=4.5).contains(&mos), || format!("MOS of {name} is {mos}"))?;
        let jain = app.jain.unwrap_or(1.0);
        claim(jain > 0.0 && jain <= 1.0 + 1e-12, || format!("Jain's index of {name} is {jain}"))?;
        for (kind, completed) in &app.completed {
            let timed = app.response_time_ms.contains_key(kind);
            claim((*completed > 0) == timed, || format!("{completed} of {kind} ended, with times: {timed}"))?;
        }
    }
    Ok(())
}

/// Every packet that arrived was sent or dropped or still waits, and the link has not sent more than its capacity.
fn conserves(run: &Simulation<'_>, measured: usize) -> Result<(), String> {
    let link = run.link(measured);
    let (passed, waiting) = (link.passed, link.backlog.packets + link.in_ring);
    let accounted = passed.sent_packets + passed.drops() + waiting;
    claim(passed.offered_packets == accounted, || {
        format!("{} came, {accounted} are accounted for at {}", passed.offered_packets, run.now())
    })?;
    claim(link.utilisation() <= 1.0, || format!("the link is used to {} at {}", link.utilisation(), run.now()))
}

/// Runs a simulation, checks it at the start of the first windows, at a third and at the end, and checks its results.
fn judge(spec: &RunSpec) -> Result<(), String> {
    let scenario = spec.scenario().unwrap();
    let (origin, third, end) = (scenario.origin, scenario.duration / 3, scenario.duration);
    let measured = scenario.measured;
    let mut run = Simulation::new(scenario).map_err(|e| e.to_string())?;
    let mut moments = [origin, Instant::ZERO + third, Instant::ZERO + end];
    moments.sort();
    for at in moments {
        run.advance(at).map_err(|e| e.to_string())?;
        conserves(&run, measured)?;
        run.output_so_far().windows.iter().try_for_each(possible)?;
    }
    let output = run.output();
    output
        .windows
        .iter()
        .try_for_each(|w| possible(w).and_then(|()| classes_add_up(w)).and_then(|()| as_documented(w)))?;
    halves_add_up(&output)?;
    within_capacity(&output, spec)
}

fn sound(seed: u64, dir: &std::path::Path) {
    let text = experiment(&mut Rng::stream(seed, "sound"), dir);
    let experiment = parse(&text).unwrap_or_else(|e| panic!("{text}\n{}", super::rendered(&e)));
    for spec in experiment.plan() {
        judge(&spec).unwrap_or_else(|wrong| panic!("{wrong}, in the experiment of seed {seed}:\n{text}"));
    }
}

/// Runs the experiments from `first` on, in a temporary directory.
fn experiments(first: u64) {
    let dir = tempfile::tempdir().unwrap();
    (first..first + EXPERIMENTS).for_each(|seed| sound(seed, dir.path()));
}

#[test]
fn nothing_is_impossible_in_the_first_quarter() {
    experiments(0);
}

#[test]
fn nothing_is_impossible_in_the_second_quarter() {
    experiments(EXPERIMENTS);
}

#[test]
fn nothing_is_impossible_in_the_third_quarter() {
    experiments(2 * EXPERIMENTS);
}

#[test]
fn nothing_is_impossible_in_the_last_quarter() {
    experiments(3 * EXPERIMENTS);
}
