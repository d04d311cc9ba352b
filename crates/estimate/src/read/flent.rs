//! Data of flent (`.flent.gz`): `raw_values` with the time of each value where they are kept, otherwise `results` by
//! steps of `x_values`.

use serde_json::{Map, Value};

use super::{ReadError, list, number};
use crate::measurement::{Bin, Counted, Direction, Epoch, Flow, Format, Measurement, Probe, Sample};

/// One value of a series.
struct Point {
    /// Seconds; since 1970 in raw values.
    at: f64,
    /// How long a measurement of a rate lasted.
    lasted: Option<f64>,
    value: f64,
    seq: Option<f64>,
}

/// What a series measures.
enum Series<'a> {
    /// Round trips of sparse packets, in ms.
    Ping,
    /// The rate of a bulk flow, in Mbit/s.
    Rate(Direction),
    /// Round trips that the kernel has measured for a bulk flow, in ms.
    Rtt(&'a str),
}

pub(super) fn read(name: &str, json: &Value) -> Result<Measurement, ReadError> {
    let empty = Map::new();
    let object = |key: &str| json.get(key).and_then(Value::as_object);
    let raw = object("raw_values").unwrap_or(&empty);
    let results = object("results").unwrap_or(&empty);
    let times = list(json, "x_values");
    let mut names: Vec<&String> = raw.keys().chain(results.keys()).collect();
    names.sort();
    names.dedup();
    let series: Vec<(&str, Series<'_>, Vec<Point>)> = names
        .into_iter()
        .filter_map(|key| {
            let kind = kind(key)?;
            let points = raw.get(key).map(raw_points).filter(|points| !points.is_empty());
            let points = points.or_else(|| Some(stepped(times, results.get(key)?)))?;
            Some((key.as_str(), kind, points))
        })
        .collect();
    let is_raw = |key: &str| raw.get(key).is_some_and(|value| value.as_array().is_some_and(|list| !list.is_empty()));
    // Raw times are times of day, steps are relative: a file has the first for every series, or for none.
    let raw_start = raw_start(&series, &is_raw);
    let shift = |key: &str| if is_raw(key) { raw_start.unwrap_or(0.0) } else { 0.0 };
    let mut measurement = Measurement {
        file: name.to_owned(),
        format: Format::Flent,
        epoch: raw_start.map(|at| Epoch { at, error: 0.0 }),
        probes: Vec::new(),
        flows: Vec::new(),
        unseen: Vec::new(),
    };
    for (key, kind, points) in &series {
        let points = points.iter().map(|point| Point { at: point.at - shift(key), ..*point });
        match kind {
            Series::Ping => measurement.probes.push(probe(key, &points.collect::<Vec<_>>())),
            Series::Rate(direction) => measurement.flows.push(flow(
                key,
                *direction,
                points.collect(),
                number(json, &["metadata", "STEP_SIZE"]),
            )),
            Series::Rtt(_) => {}
        }
    }
    for (key, kind, points) in &series {
        let Series::Rtt(of) = kind else { continue };
        let Some(flow) = measurement.flows.iter_mut().find(|flow| flow.name == *of) else { continue };
        flow.rtts.extend(points.iter().filter(|p| p.value > 0.0).map(|p| (p.at - shift(key), p.value / 1000.0)));
        flow.rtts.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    measurement.probes.retain(|probe| !probe.samples.is_empty());
    measurement.flows.retain(|flow| flow.span().is_some());
    if measurement.probes.is_empty() && measurement.flows.is_empty() {
        return Err(ReadError::new(
            format!("{name} has no series of flent with a ping or a TCP rate"),
            "give the data of a test such as rrul, tcp_ndown, tcp_nup or tcp_1down",
        ));
    }
    measurement.unseen = unseen(name, &measurement);
    Ok(measurement)
}

/// What a series is, by its name. Sums and means of other series are left out.
fn kind(name: &str) -> Option<Series<'_>> {
    if ["avg", "sum", "totals"].iter().any(|word| name.ends_with(word)) {
        return None;
    }
    if let Some(flow) = name.strip_suffix("::tcp_rtt") {
        return Some(Series::Rtt(flow));
    }
    if name.contains("::tcp_") {
        return None;
    }
    if name.starts_with("Ping") {
        return Some(Series::Ping);
    }
    let tcp = name.strip_prefix("TCP ")?;
    [("download", Direction::Down), ("upload", Direction::Up)]
        .into_iter()
        .find_map(|(word, direction)| tcp.starts_with(word).then_some(Series::Rate(direction)))
}

fn raw_points(values: &Value) -> Vec<Point> {
    let list = values.as_array().map_or(&[][..], Vec::as_slice);
    let of = |value: &Value| {
        Some(Point {
            at: number(value, &["t"])?,
            lasted: number(value, &["dur"]).filter(|dur| *dur > 0.0),
            value: number(value, &["val"])?,
            seq: number(value, &["seq"]),
        })
    };
    let mut points: Vec<Point> = list.iter().filter_map(of).collect();
    points.sort_by(|a, b| a.at.total_cmp(&b.at));
    points
}

fn stepped(times: &[Value], values: &Value) -> Vec<Point> {
    let list = values.as_array().map_or(&[][..], Vec::as_slice);
    let both = times.iter().zip(list);
    both.filter_map(|(at, value)| {
        let (at, value) = (at.as_f64()?, value.as_f64()?);
        (at.is_finite() && value.is_finite()).then_some(Point { at, lasted: None, value, seq: None })
    })
    .collect()
}

/// The first time in the raw values.
fn raw_start(series: &[(&str, Series<'_>, Vec<Point>)], is_raw: &dyn Fn(&str) -> bool) -> Option<f64> {
    let first = series.iter().filter(|(key, _, _)| is_raw(key)).filter_map(|(_, kind, points)| {
        let first = points.first()?;
        // The time of a rate is the end of what was measured.
        let back = if matches!(kind, Series::Rate(_)) { first.lasted.unwrap_or(0.0) } else { 0.0 };
        Some(first.at - back)
    });
    first.min_by(f64::total_cmp)
}

fn probe(name: &str, points: &[Point]) -> Probe {
    let mut samples: Vec<Sample> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for point in points.iter().filter(|point| point.value > 0.0) {
        if let (Some((seq, at)), Some(next)) = (before, point.seq) {
            let lost = (next - seq - 1.0).clamp(0.0, 1000.0) as usize;
            let gap = (point.at - at) / (lost + 1) as f64;
            samples.extend((1..=lost).map(|n| Sample { at: at + n as f64 * gap, rtt: None }));
        }
        samples.push(Sample { at: point.at, rtt: Some(point.value / 1000.0) });
        before = point.seq.map(|seq| (seq, point.at));
    }
    let knows_losses = points.iter().any(|point| point.seq.is_some());
    // fping and netperf send about as much.
    Probe { name: name.to_owned(), packet: None, samples, knows_losses }
}

/// A bulk flow. Each rate is that since the point before, unless the value says how long it lasted.
fn flow(name: &str, direction: Direction, points: Vec<Point>, step: Option<f64>) -> Flow {
    let mut bins: Vec<Bin> = Vec::new();
    let step = step.filter(|step| *step > 0.0).unwrap_or(0.2);
    let mut before: Option<f64> = None;
    for point in points {
        let end = point.at;
        let from = point.lasted.map_or_else(|| before.unwrap_or(end - step), |lasted| end - lasted);
        let from = before.map_or(from, |before| from.max(before));
        before = Some(end);
        if end > from && point.value >= 0.0 {
            bins.push(Bin { from, to: end, bytes: point.value * 1e6 / 8.0 * (end - from), lost: 0.0 });
        }
    }
    let counted = Counted::USUAL;
    Flow { name: name.to_owned(), direction, counted, bins, rtts: Vec::new(), smoothed: true, knows_losses: false }
}

fn unseen(name: &str, read: &Measurement) -> Vec<String> {
    let mut unseen = Vec::new();
    if !read.flows.is_empty() {
        if read.flows.iter().all(|flow| flow.rtts.is_empty()) {
            unseen.push(format!("{name} has no round trips of the bulk flows (flent --socket-stats)"));
        }
        unseen.push(format!("{name} does not count the packets that the bulk flows lost"));
    }
    unseen
}
