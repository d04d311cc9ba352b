//! Made-up results that look like a study of five disciplines.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use aqmkit_measure::output::{
    AppStats, ClassStats, Distribution, Engine, ExchangeRecord, FlowRecord, FlowStats, Length, LinkStats, Output,
    Range, Series, Summary, Window,
};
use aqmkit_results::{Axis, Basis, Cells, Entry, Expectation, Fact, Results, RunData, WithoutScheme};

/// Rough effects of a discipline on the three classes.
struct Manner {
    name: &'static str,
    /// Throughput of TCP and multimedia during the blast, in Mbit/s.
    tcp: f64,
    multimedia: f64,
    /// Mean queue delay in milliseconds.
    delay: f64,
    /// Multimedia packets that one flow loses per second.
    lost: f64,
    /// Complete and playable frames per second.
    frames: (f64, f64),
}

const fn manner(name: &'static str, tcp: f64, multimedia: f64, delay: f64, lost: f64, frames: (f64, f64)) -> Manner {
    Manner { name, tcp, multimedia, delay, lost, frames }
}

const MANNERS: [Manner; 5] = [
    manner("fifo", 0.9, 1.05, 58.0, 19.0, (15.0, 0.2)),
    manner("red", 2.2, 1.10, 37.0, 13.7, (18.0, 5.0)),
    manner("fred", 7.3, 1.22, 50.0, 9.2, (22.0, 12.0)),
    manner("cbt", 6.1, 1.42, 29.0, 2.6, (28.2, 24.0)),
    manner("cbq", 6.8, 1.52, 11.0, 0.0, (30.0, 29.8)),
];

const MIXES: [&str; 4] = ["HTTP+Proshare", "HTTP+MPEG", "BULK+Proshare", "BULK+MPEG"];
const WINDOWS: [(&str, f64, f64); 2] = [("multimedia", 37.0, 88.0), ("blast", 98.0, 135.0)];
const LENGTH_S: usize = 240;

/// A pseudo-random number in `[-1, 1)` that depends only on the arguments.
fn noise(seed: usize, step: usize) -> f64 {
    let mut bits =
        (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (step as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 29;
    (bits % 20_000) as f64 / 10_000.0 - 1.0
}

/// Results, and the runs behind them.
pub(crate) struct Study {
    pub(crate) results: Results,
    pub(crate) runs: Vec<(BTreeMap<String, String>, Output)>,
}

impl Study {
    pub(crate) fn runs(&self) -> Vec<RunData<'_>> {
        self.runs.iter().map(|(labels, output)| RunData { labels, output }).collect()
    }
}

/// A study of all disciplines with this number of mixes and repeats.
pub(crate) fn study(mixes: usize, repeats: usize) -> Study {
    let axes =
        vec![axis("aqm", MANNERS.iter().map(|manner| manner.name)), axis("mix", MIXES.iter().take(mixes).copied())];
    let mut study = Study { results: described(axes, mixes * repeats * MANNERS.len()), runs: Vec::new() };
    for mix in 0..mixes {
        for manner in &MANNERS {
            for repeat in 0..repeats {
                add_run(&mut study, manner, mix, repeat);
            }
        }
    }
    study.results.expectations = expectations();
    study
}

fn axis<'a>(name: &str, labels: impl Iterator<Item = &'a str>) -> Axis {
    Axis { name: name.to_owned(), labels: labels.map(str::to_owned).collect() }
}

fn described(axes: Vec<Axis>, planned: usize) -> Results {
    Results {
        experiment: "cbt/blast".into(),
        title: "Class-based thresholds against a UDP blast".into(),
        source: "Parris 2001, chapter V.2.1".into(),
        about: "Five disciplines at a **10 Mbit/s** bottleneck meet an unresponsive *UDP blast*.\n\n\
                * `multimedia`: before the blast\n* `blast`: during it"
            .into(),
        version: "0.1.0".into(),
        hash: "1f3c9a5e77b2".into(),
        scale: "full".into(),
        setting: vec![Fact::new("link", "10mbit"), Fact::new("hosts", "bsd44"), Fact::new("time", "240s")],
        axes,
        notes: vec!["The queue delay of fifo is known to ±12 % only; try --repeat 20.".into()],
        planned,
        ..Results::default()
    }
}

fn add_run(study: &mut Study, manner: &Manner, mix: usize, repeat: usize) {
    let seed = mix * 100 + repeat * 10 + manner.name.len();
    let output = output(manner, mix, seed);
    let labels: BTreeMap<String, String> = [
        ("aqm", manner.name.to_owned()),
        ("mix", MIXES[mix].to_owned()),
        ("repeat", (repeat + 1).to_string()),
        ("seed", (seed + 1).to_string()),
    ]
    .map(|(name, label)| (name.to_owned(), label))
    .into();
    for window in &output.windows {
        let mut labels = labels.clone();
        labels.insert("window".into(), window.name.clone());
        study.results.runs.push(Entry {
            labels,
            links: window.links.clone(),
            classes: window.classes.clone(),
            flows: window.flows.clone(),
            apps: window.apps.clone(),
            circuits: window.circuits.clone(),
            engine: output.engine,
        });
    }
    study.runs.push((labels, output));
}

fn output(manner: &Manner, mix: usize, seed: usize) -> Output {
    let names = WINDOWS.map(|(name, _, _)| name);
    Output {
        windows: WINDOWS.iter().map(|&(name, from_s, to_s)| window(manner, mix, seed, name, from_s, to_s)).collect(),
        series: series(manner, mix, seed),
        flows: (0..8).map(|index| flow(index, seed)).collect(),
        exchanges: (0..50).map(|index| exchange(index, seed)).collect(),
        distributions: names.iter().flat_map(|name| distributions(manner, mix, name)).collect(),
        engine: Engine {
            packets: 260_000 + seed as u64,
            events: 3_000_000,
            cpu_s: 1.9,
            wall_s: 2.0,
            peak_rss_bytes: 80 << 20,
        },
        ..Output::default()
    }
}

fn has_frames(mix: usize) -> bool {
    mix % 2 == 1
}

fn spread(mean: f64) -> Summary {
    Summary { mean, p50: mean * 0.95, p90: mean * 1.4, p99: mean * 1.9, max: mean * 2.3 }
}

fn window(manner: &Manner, mix: usize, seed: usize, name: &str, from_s: f64, to_s: f64) -> Window {
    let blast = name == "blast";
    let wobble = 1.0 + 0.04 * noise(seed, 7);
    let other = if blast { 9.6 - manner.tcp - manner.multimedia } else { 0.0 };
    let tcp = if blast { manner.tcp } else { 8.0 };
    let lost = if blast { manner.lost } else { manner.lost / 12.0 };
    let class = |rate: f64, away: f64, delay: Option<f64>| ClassStats {
        throughput_bps: rate * wobble * 1e6,
        goodput_bps: rate * wobble * 0.96e6,
        offered_bps: rate * 1.1e6,
        drop_rate: away / 60.0,
        loss_rate_pps: away * wobble,
        packet_bytes: 1000.0,
        efficiency: 0.95,
        queue_delay_ms: delay.map(spread),
        latency_ms: delay.map(|delay| spread(delay + 3.0)),
        ..ClassStats::default()
    };
    let link = LinkStats {
        throughput_bps: 9.7e6 * wobble.min(1.0),
        offered_bps: 14e6,
        utilization: 0.97 * wobble.min(1.0),
        drop_rate: 0.01 + manner.lost / 100.0,
        drops: [("limit".to_owned(), 1200)].into(),
        queue_packets: Length { mean: manner.delay, p99: manner.delay * 1.8 },
        queue_delay_ms: Some(spread(manner.delay * wobble)),
        ..LinkStats::default()
    };
    Window {
        name: name.into(),
        from_s,
        to_s,
        links: [("bottleneck".to_owned(), link)].into(),
        classes: [
            ("tcp".to_owned(), class(tcp, lost / 3.0, Some(manner.delay))),
            ("multimedia".to_owned(), class(manner.multimedia, lost, Some(manner.delay * 0.9))),
            ("other".to_owned(), class(other, other * 5.0, blast.then_some(manner.delay))),
        ]
        .into(),
        flows: FlowStats {
            count: 364,
            jain: 0.7 + manner.tcp / 30.0,
            throughput_bps: Range { min: 1e3, mean: 2.7e4, max: 4e5 },
        },
        apps: apps(manner, mix, blast, wobble),
        circuits: Vec::new(),
    }
}

fn apps(manner: &Manner, mix: usize, blast: bool, wobble: f64) -> BTreeMap<String, AppStats> {
    let mut apps = BTreeMap::new();
    if has_frames(mix) {
        let (whole, playable) = if blast { manner.frames } else { (30.0, 29.0) };
        let (frame_rate, playable_frame_rate) = (Some(whole * wobble), Some(playable * wobble));
        let jain = Some(0.7 + manner.tcp / 30.0);
        apps.insert("mpeg".into(), AppStats { frame_rate, playable_frame_rate, jain, ..AppStats::default() });
    }
    if mix < 2 {
        let page = spread(2000.0 / manner.tcp.max(0.5) * wobble);
        let response_time_ms = [("page".to_owned(), page)].into();
        apps.insert(
            "web".into(),
            AppStats {
                completed: [("page".to_owned(), 18_000)].into(),
                response_time_ms,
                connections: 20_000,
                ..AppStats::default()
            },
        );
    }
    apps
}

fn series(manner: &Manner, mix: usize, seed: usize) -> Series {
    let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for second in 0..LENGTH_S {
        let time = second as f64;
        let blast = (93.0..140.0).contains(&time);
        let multimedia = if (32.0..210.0).contains(&time) { if blast { manner.multimedia } else { 1.5 } } else { 0.0 };
        let other = if blast { 9.6 - manner.tcp - manner.multimedia } else { 0.0 };
        let tcp = if blast { manner.tcp } else { 9.4 - multimedia };
        let shake = |scale: f64, salt: usize| 1.0 + scale * noise(seed * 31 + salt, second);
        let mut put = |name: &str, value: f64| columns.entry(name.to_owned()).or_default().push(value);
        for (class, rate, salt) in [("tcp", tcp, 1), ("multimedia", multimedia, 2), ("other", other, 3)] {
            let rate = rate * 1e6 * shake(0.07, salt);
            let delay = manner.delay * shake(0.15, salt + 3) * (1.0 + 0.1 * (TAU * time / 30.0).sin());
            let idle = rate == 0.0;
            put(&format!("classes.{class}.throughput_bps"), rate);
            put(&format!("classes.{class}.goodput_bps"), rate * 0.96);
            put(&format!("classes.{class}.drop_rate"), if idle { f64::NAN } else { 0.02 * shake(0.5, salt + 9) });
            put(&format!("classes.{class}.queue_delay_ms.mean"), if idle { f64::NAN } else { delay });
            put(&format!("classes.{class}.latency_ms.mean"), if idle { f64::NAN } else { delay + 3.0 });
        }
        put("links.bottleneck.queue_delay_ms.mean", manner.delay * shake(0.2, 11));
        put("links.bottleneck.queue_packets.mean", manner.delay * shake(0.2, 12));
        put("links.bottleneck.drop_rate", if blast { 0.3 } else { 0.02 } * shake(0.3, 13));
        if has_frames(mix) {
            let (whole, playable) = if blast { manner.frames } else { (30.0, 29.5) };
            let sent = multimedia > 0.0;
            put("apps.mpeg.frame_rate", if sent { whole * shake(0.08, 14) } else { f64::NAN });
            put("apps.mpeg.playable_frame_rate", if sent { playable * shake(0.12, 15) } else { f64::NAN });
        }
    }
    Series { interval_s: 1.0, columns }
}

fn distributions(manner: &Manner, mix: usize, window: &str) -> Vec<Distribution> {
    let curve = |quantity: &str, middle: f64| Distribution {
        window: window.into(),
        quantity: quantity.into(),
        points: (1..=200).map(|step| f64::from(step) / 200.5).map(|share| (middle * quantile(share), share)).collect(),
    };
    let mut found = vec![curve("links.bottleneck.queue_delay_ms", manner.delay)];
    for class in ["tcp", "multimedia", "other"] {
        if class != "other" || window == "blast" {
            found.push(curve(&format!("classes.{class}.queue_delay_ms"), manner.delay));
            found.push(curve(&format!("classes.{class}.latency_ms"), manner.delay + 3.0));
        }
    }
    if mix < 2 {
        found.push(curve("apps.web.response_time_ms.page", 2000.0 / manner.tcp.max(0.5)));
    }
    found
}

/// The quantile of a log-logistic distribution.
fn quantile(share: f64) -> f64 {
    (share / (1.0 - share)).powf(0.22)
}

fn flow(index: u64, seed: usize) -> FlowRecord {
    FlowRecord {
        traffic: "bulk".into(),
        index,
        class: "tcp".into(),
        delivered_bytes: vec![1000 + index, 2000 + seed as u64],
        connections: 1,
        packets: 900,
        retransmissions: 12,
        timeouts: 1,
        drops: Some(13),
    }
}

fn exchange(index: usize, seed: usize) -> ExchangeRecord {
    ExchangeRecord {
        traffic: "web".into(),
        kind: "page".into(),
        started_s: index as f64 * 2.5,
        duration_ms: 400.0 + 300.0 * noise(seed, index),
        bytes: 12_000,
    }
}

fn expectations() -> Vec<Expectation> {
    let value = |id: &str, what: &str, published: f64, measured: Option<f64>, unit: &str| {
        let (low, high) = (published * 0.8, published * 1.2);
        Expectation {
            id: id.into(),
            source: "Table 5.5".into(),
            what: what.into(),
            kind: "value".into(),
            published: format!("{published} {unit}"),
            measured,
            low: Some(low),
            high: Some(high),
            unit: unit.into(),
            spread: measured.map(|value| value * 0.05),
            repeats: 5,
            pass: measured.map(|value| value >= low && value <= high),
            printed: Some(published),
            without_scheme: WithoutScheme::Missed,
            ..Expectation::default()
        }
    };
    let order = |id: &str, text: &str, pass: bool, detail: &str| Expectation {
        id: id.into(),
        source: "V §2.1".into(),
        what: "TCP goodput by discipline".into(),
        kind: "order".into(),
        published: text.into(),
        pass: Some(pass),
        detail: detail.into(),
        without_scheme: WithoutScheme::Missed,
        cells: Some(Cells { held: if pass { 5 } else { 3 }, of: 5, undecided: 0 }),
        ..Expectation::default()
    };
    let mut rows = vec![
        value("CBT-T5.5-HTTP+MPEG-FIFO", "multimedia loss under FIFO", 19.0, Some(18.6), "packets/s"),
        value("CBT-T5.5-HTTP+MPEG-RED", "multimedia loss under RED", 13.7, Some(14.9), "packets/s"),
        value("CBT-T5.5-HTTP+MPEG-FRED", "multimedia loss under FRED", 9.2, Some(4.1), "packets/s"),
        value("CBT-T5.5-HTTP+MPEG-CBT", "multimedia loss under CBT", 2.6, Some(2.71), "packets/s"),
        value("CBT-T5.5-BULK+MPEG-FIFO", "multimedia loss under FIFO", 24.1, None, "packets/s"),
        order("CBT-VB-07", "fred > cbq > cbt >> red > fifo", true, "7.3 > 6.8 > 6.1 >> 2.2 > 0.9 Mb/s"),
        order("CBT-VB-09", "cbq > cbt > fred", false, "cbt 1.42 < fred 1.44; the trace of the calls is another one"),
    ];
    rows[2].detail = "the traffic trace is not published".into();
    rows[3].without_scheme = WithoutScheme::Met;
    rows.push(Expectation {
        kind: "equation".into(),
        basis: Basis::Calculation,
        published: "39.07 packets".into(),
        low: Some(38.87),
        high: Some(39.27),
        ..value("CBT-T4.3-TCP-Th", "threshold of TCP at 575 KB/s", 39.07, Some(39.0704), "packets")
    });
    rows
}
