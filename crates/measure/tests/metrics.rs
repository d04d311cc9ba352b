//! The list of metrics, the results of a run, and the pages that list metrics must agree: a new metric needs only an
//! entry in the list.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use aqmkit_aqm::Why;
use aqmkit_base::{BitRate, ClassId, Duration, Instant, SendLimit, Transmission};
use aqmkit_measure::metric::{Dimension, METRICS, Metric};
use aqmkit_measure::{FinishedExchange, GroupInfo, LinkInfo, Output, Plan, Recorder, Seen, SenderSample, WindowSpec};
use serde_json::Value;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

const COUNTERS: &[&str] = &[
    "frames_received",
    "frames_playable",
    "i_frames",
    "i_bytes",
    "i_packets",
    "video_bits",
    "video_s",
    "switches",
    "played_s",
    "stalled_s",
    "stalls",
    "mos_sum",
    "mos_intervals",
    "packets_missed",
    "packets_due",
];

fn plan() -> Plan {
    let rate = BitRate::from_mbps(10);
    Plan {
        interval: Duration::from_millis(100),
        max_exchanges: 10,
        links: vec![LinkInfo { name: "b".to_owned(), report: true, rate, trace: None, changes: Vec::new() }],
        classes: vec!["tcp".to_owned()],
        groups: vec![
            GroupInfo {
                name: "video".to_owned(),
                apps: 0..1,
                exchange_kinds: &["page"],
                counters: COUNTERS,
                ..GroupInfo::default()
            },
            GroupInfo { name: "bulk".to_owned(), apps: 1..3, ..GroupInfo::default() },
        ],
        windows: vec![WindowSpec { name: "all".to_owned(), from: at(0), to: at(200) }],
        ..Plan::default()
    }
}

/// A run that has a value for every metric.
fn output() -> Output {
    let mut recorder = Recorder::new(plan());
    let counters = |n: f64| vec![vec![n; COUNTERS.len()], Vec::new()];
    let packet = Seen { class: ClassId(0), len: 1500, payload: 1448 };
    recorder.open(0, at(0), counters(0.0));
    recorder.interval(at(0), counters(0.0), &[]);
    for ms in [10, 110] {
        recorder.offered(0, packet);
        recorder.queue(0, 1, at(ms));
        recorder.marked(0, packet, Why::Early, at(ms));
        recorder.departed(0, packet, Duration::from_millis(3), Transmission::even(at(ms + 3), at(ms + 5)));
        recorder.queue(0, 0, at(ms + 3));
        recorder.dropped(0, 0, packet, Why::Early, at(ms));
        recorder.sent(0).packets += 1;
        recorder.sent(1).packets += 1;
        recorder.sent(2).packets += 1;
        recorder.arrived(0, Duration::from_millis(20));
        recorder.delivered(0, 0, 1448);
        let (plan, hosts) = recorder.hosts();
        hosts.exchange(plan, FinishedExchange { group: 0, kind: 0, started: at(ms), bytes: 1448 }, at(ms + 30));
        let rtt = Some(Duration::from_millis(20));
        recorder.sampled(1, &SenderSample { limit: SendLimit::ReceiveWindow, window: 10_000, rtt, endless: true });
        recorder.interval(at(ms + 90), counters(ms as f64), &[("avg".to_owned(), 1.0)]);
    }
    recorder.close(0, at(200), counters(200.0));
    recorder.output(at(200))
}

/// All numbers in the run's window and costs, by path.
fn numbers(output: &Output) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    let mut window = serde_json::to_value(&output.windows[0]).unwrap();
    let fields = window.as_object_mut().unwrap();
    ["name", "from_s", "to_s"].iter().for_each(|key| drop(fields.remove(*key)));
    fields.insert("engine".to_owned(), serde_json::to_value(output.engine).unwrap());
    walk(&mut numbers, "", &window);
    numbers
}

fn walk(numbers: &mut BTreeMap<String, f64>, path: &str, value: &Value) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| walk(numbers, &below(key), inner)),
        _ => _ = numbers.insert(path.to_owned(), value.as_f64().unwrap_or_else(|| panic!("{path} is no number"))),
    }
}

#[test]
fn every_number_of_a_window_is_a_metric_and_every_metric_is_a_number() {
    let numbers = numbers(&output());
    for path in numbers.keys() {
        assert!(Metric::at(path).is_some_and(|m| m.in_windows), "{path} is not in the list of metrics");
    }
    for metric in METRICS.iter().filter(|m| m.in_windows) {
        let found = numbers.keys().filter(|path| Metric::at(path) == Some(metric)).count();
        assert!(found >= metric.statistics.len().max(1), "results have no {}", metric.path);
    }
}

/// Nine samples of each limit other than the receive window, and nine of that: windows of 10 kB (eight times) and 30 kB
/// over 20 ms, hence 12.2 kB and 4.89 Mbit/s. The first flow connects before the window, the second in it.
#[test]
fn samples_of_senders_are_shares_of_the_time() {
    let mut recorder = Recorder::new(plan());
    let counters = || vec![vec![0.0; COUNTERS.len()], Vec::new()];
    let sample = |limit, window| SenderSample { limit, window, rtt: Some(Duration::from_millis(20)), endless: true };
    recorder.sampled(1, &sample(SendLimit::ReceiveWindow, 1_000_000));
    recorder.sent(1).connections += 1;
    recorder.open(0, at(0), counters());
    recorder.slow_start(0, vec![0, 1]);
    for i in 0..9 {
        recorder.sampled(1, &sample(SendLimit::Application, 1));
        recorder.sampled(1, &sample(SendLimit::CongestionWindow, 1));
        recorder.sampled(1, &sample(SendLimit::ReceiveWindow, if i == 8 { 30_000 } else { 10_000 }));
    }
    recorder.sent(2).connections += 1;
    recorder.close(0, at(200), counters());
    let output = recorder.output(at(200));
    let limits = output.windows[0].apps["bulk"].limits.unwrap();
    assert_eq!([limits.application, limits.congestion_window, limits.receive_window], [1.0 / 3.0; 3]);
    assert!((limits.window_bytes.unwrap() - 110_000.0 / 9.0).abs() < 1e-9);
    assert!((limits.window_bps.unwrap() - 110_000.0 / 9.0 * 8.0 / 0.02).abs() < 1e-3);
    assert_eq!((limits.send_buffer, limits.late, limits.slow_start), (0.0, 1, 1));
    assert_eq!(output.windows[0].apps["video"].limits, None);
}

#[test]
fn every_column_of_the_series_is_a_metric_and_every_metric_of_series_has_one() {
    let series = output().series;
    assert!(series.columns.values().all(|column| column.len() == 2));
    for column in series.columns.keys() {
        assert!(Metric::at(column).is_some_and(|m| m.in_series), "{column} is not in the list of metrics");
    }
    for metric in METRICS.iter().filter(|m| m.in_series) {
        assert!(series.columns.keys().any(|c| Metric::at(c) == Some(metric)), "the series have no {}", metric.path);
    }
}

/// The computed metrics in results are exactly those that the list declares as computed.
#[test]
fn what_results_compute_is_what_the_list_names() {
    let output = output();
    let window = &output.windows[0];
    let names = |computed: &BTreeMap<String, f64>| computed.keys().cloned().collect::<BTreeSet<_>>();
    for (level, computed) in [
        ("links", names(&window.links["b"].computed)),
        ("classes", names(&window.classes["tcp"].computed)),
        ("apps", names(&window.apps["video"].computed)),
    ] {
        let listed: BTreeSet<String> = Metric::computed(level).map(str::to_owned).collect();
        assert_eq!(listed, computed, "{level}");
    }
    assert!(Metric::computed("apps").count() > 5);
}

/// The text of `docs/metrics.md`.
fn page() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         The numbers of `results.json`, of the columns of exported tables and of the time series, by their paths; `*` stands for a name. Of a metric with \
         statistics, each is a number of its own: `links.bottleneck.queue_delay_ms.p99`. The time series have the metrics marked so, of those with statistics the mean. \
         This page is written from `crates/measure/src/metric/table.rs` by `make pages`.\n\n\
         | path | statistics | unit | better | series | meaning |\n|---|---|---|---|---|---|\n",
    );
    for m in METRICS {
        let (statistics, better) = (m.statistics.join(", "), m.better.words());
        let series = if m.in_series { "yes" } else { "" };
        let _ =
            writeln!(text, "| `{}` | {statistics} | {} | {better} | {series} | {} |", m.path, m.unit.name, m.meaning);
    }
    text
}

/// The Python package's table of metrics, by the last part of the path.
fn python() -> String {
    let mut text = String::from(
        "\"\"\"What figures know of metrics; written from `crates/measure/src/metric/table.rs` by `make pages`.\"\"\"\n\n\
         #: The last part of a metric's path, what a figure calls it, its unit there, and the factor to it.\n\
         METRICS: dict[str, tuple[str, str, float]] = {\n",
    );
    let named = METRICS.iter().filter(|m| m.unit.dimension != Dimension::Gauge && !m.field().contains('*'));
    let mut known = Vec::new();
    for metric in
        named.filter(|m| m.path.starts_with("links.") || m.path.starts_with("classes.") || m.path.starts_with("apps."))
    {
        if metric.path.contains(".counters.") || known.contains(&metric.field()) {
            continue;
        }
        known.push(metric.field());
        let unit = metric.unit;
        let (unit, factor) = if unit.factor == 1.0 { (unit.name, 1.0) } else { (unit.shown, unit.factor) };
        let _ = writeln!(text, "    \"{}\": (\"{}\", \"{unit}\", {}),", metric.field(), metric.label, number(factor));
    }
    text + "}\n"
}

/// A number in Python syntax.
fn number(x: f64) -> String {
    if x == 1e-6 { "1e-6".to_owned() } else { format!("{x:?}") }
}

/// With `UPDATE_PAGES=1` this writes the files; otherwise it compares them with the list.
#[test]
fn pages_list_every_metric() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (file, text) in [("docs/metrics.md", page()), ("python/aqmkit/plot/_metrics.py", python())] {
        if std::env::var_os("UPDATE_PAGES").is_some() {
            std::fs::write(root.join(file), &text).unwrap();
        }
        let found = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        assert_eq!(text, found, "{file} is not what the list of metrics says: run make pages");
    }
}
