//! The measured values on which verdicts are based.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_experiment::{Expect, OVER, OrderChain, PLUS, Statistic};
use aqmkit_formulas::unit::{self, Dimension, Quantity};
use aqmkit_measure::Output;
use aqmkit_results::statistics::{deviation, mean, mean_of_known};
use aqmkit_results::{Entry, RunData};
use serde_json::Value;

use super::exchanges;
use super::response::{Times, taken};

/// Labels that only distinguish the runs of one combination.
const REPEATS: &[&str] = &["repeat", "seed"];

/// A combination of the sweep: its labels, without repeat and seed.
pub(crate) type Combination = BTreeMap<String, String>;

/// One window of one run.
struct Seen<'a> {
    labels: BTreeMap<String, String>,
    /// The window as in `results.json`.
    values: Value,
    from_s: f64,
    to_s: f64,
    output: &'a Output,
}

/// Every window of every finished run, and the list of planned runs.
pub struct Evidence<'a> {
    seen: Vec<Seen<'a>>,
    planned: &'a [BTreeMap<String, String>],
}

/// A value of one run and window with its labels.
pub struct Sample {
    /// The labels of the axes and of the window.
    pub combination: Combination,
    /// The repeat.
    pub repeat: String,
    /// The value, in the base unit of its dimension.
    pub value: Quantity,
}

impl<'a> Evidence<'a> {
    /// From the labels of all planned runs and the finished runs.
    ///
    /// # Errors
    /// When an output cannot be written as JSON.
    pub fn new(planned: &'a [BTreeMap<String, String>], runs: &[RunData<'a>]) -> Result<Self, serde_json::Error> {
        let mut seen = Vec::new();
        for run in runs {
            for w in &run.output.windows {
                let entry = Entry::of(run.labels, w, run.output.engine);
                let values = serde_json::to_value(&entry)?;
                let Entry { labels, .. } = entry;
                seen.push(Seen { labels, values, from_s: w.from_s, to_s: w.to_s, output: run.output });
            }
        }
        Ok(Evidence { seen, planned })
    }

    /// Whether every run that the claim selects is finished; `false` if it selects none.
    pub fn complete(&self, expect: &Expect) -> bool {
        let planned = self.planned.iter().filter(|l| selects(expect, l)).count();
        let mut done: Vec<_> =
            self.seen.iter().filter(|s| selects(expect, &s.labels)).map(|s| repeats_of(&s.labels)).collect();
        done.sort();
        done.dedup();
        planned > 0 && done.len() == planned
    }

    /// The claim's metric in every run and window that it selects.
    ///
    /// # Errors
    /// When a window of a selected run has no such value.
    pub fn samples(&self, expect: &Expect) -> Result<Vec<Sample>, String> {
        let wanted = |s: &&Seen<'_>| {
            selects(expect, &s.labels) && expect.window.as_ref().is_none_or(|w| s.labels.get("window") == Some(w))
        };
        self.seen.iter().filter(wanted).filter_map(|s| self.sample(expect, s).transpose()).collect()
    }

    /// The metric in one run and window; `None` if the claim is about exchanges and there are none.
    fn sample(&self, expect: &Expect, seen: &Seen<'_>) -> Result<Option<Sample>, String> {
        let number = match (expect.responses, expect.exchanges) {
            (Some(_), _) => self.of_responses(expect, seen)?,
            (None, Some(wanted)) => {
                let window = (seen.from_s, seen.to_s);
                match exchanges::value(expect, wanted, &seen.output.exchanges, window) {
                    Some(value) => value,
                    None => return Ok(None),
                }
            }
            (None, None) => {
                let own = measured(expect, seen)?;
                self.beside(expect, seen)?
                    .map_or(Ok(own), |other| measured(expect, other).map(|of_other| own / of_other))?
            }
        };
        let combination = seen.labels.iter().filter(|(k, _)| !REPEATS.contains(&k.as_str()));
        Ok(Some(Sample {
            combination: combination.map(|(k, v)| (k.clone(), v.clone())).collect(),
            repeat: seen.labels.get("repeat").cloned().unwrap_or_default(),
            value: quantity(expect, number)?,
        }))
    }

    /// The number that the claim takes from the distribution of response times, of this run alone or compared with
    /// another.
    fn of_responses(&self, expect: &Expect, seen: &Seen<'_>) -> Result<f64, String> {
        let quantity = paths(expect).concat().into_iter().next().unwrap_or_default();
        let own = times(&quantity, seen)?;
        let other = self.beside(expect, seen)?.map(|beside| times(&quantity, beside)).transpose()?;
        expect.responses.and_then(|what| taken(what, own, other)).ok_or_else(|| missing(&quantity, seen))
    }

    /// The same window of the run to compare with, if the claim names one.
    fn beside(&self, expect: &Expect, seen: &Seen<'_>) -> Result<Option<&Seen<'a>>, String> {
        if expect.against.is_empty() {
            return Ok(None);
        }
        let mut labels = seen.labels.clone();
        labels.extend(expect.against.clone());
        let beside = self.seen.iter().find(|s| s.labels == labels);
        beside.map(Some).ok_or_else(|| format!("the run to compare with is missing: {:?}", expect.against))
    }
}

/// The labels without the window, which identify the run.
fn repeats_of(labels: &BTreeMap<String, String>) -> Vec<(&String, &String)> {
    labels.iter().filter(|(k, _)| *k != "window").collect()
}

/// Whether the claim selects runs with these labels.
pub(crate) fn selects(expect: &Expect, labels: &BTreeMap<String, String>) -> bool {
    expect.selector.iter().all(|(axis, any)| labels.get(axis).is_some_and(|l| any.contains(l)))
}

/// Whether the claim needs a run with these labels: it selects the run (and its order, if any, names it), or it
/// compares another run with it.
#[must_use]
pub(crate) fn needs(expect: &Expect, labels: &BTreeMap<String, String>) -> bool {
    let named =
        |order: &OrderChain| labels.get(&expect.along).is_none_or(|l| order.groups.iter().flatten().any(|g| g == l));
    let beside =
        !expect.against.is_empty() && expect.against.iter().all(|(axis, label)| labels.get(axis) == Some(label));
    beside || (selects(expect, labels) && expect.order.as_ref().is_none_or(named))
}

/// The value of the metric: a quantity, a sum, or a ratio.
fn measured(expect: &Expect, seen: &Seen<'_>) -> Result<f64, String> {
    let sides = paths(expect).into_iter().map(|side| total(expect, &side, seen)).collect::<Result<Vec<_>, _>>()?;
    Ok(sides.into_iter().reduce(|above, below| above / below).unwrap_or(f64::NAN))
}

/// The sum of the values at these paths.
fn total(expect: &Expect, paths: &[String], seen: &Seen<'_>) -> Result<f64, String> {
    let value = |path: &String| {
        let found = match expect.seconds {
            Some(statistic) => over_seconds(statistic, path, seen),
            None => lookup(&seen.values, path).and_then(Value::as_f64).or_else(|| none_dropped(&seen.values, path)),
        };
        found.ok_or_else(|| missing(path, seen))
    };
    paths.iter().map(value).sum()
}

fn times<'s>(quantity: &str, seen: &'s Seen<'_>) -> Result<Times<'s>, String> {
    let window = seen.labels.get("window").map_or("", String::as_str);
    Times::find(seen.output, window, quantity).ok_or_else(|| missing(quantity, seen))
}

fn missing(path: &str, seen: &Seen<'_>) -> String {
    let at: Vec<_> = seen.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    format!("there is no {path} in {}", at.join(" "))
}

/// The full paths of the metric, such as `classes.tcp.goodput_bps`: of each term of its sum, and of its divisor.
pub(crate) fn paths(expect: &Expect) -> Vec<Vec<String>> {
    let within = [("classes", &expect.class), ("apps", &expect.app), ("links", &expect.link)];
    let below = within.into_iter().find_map(|(part, name)| name.as_ref().map(|n| format!("{part}.{n}.")));
    let below = below.unwrap_or_default();
    let metric = expect.metric.as_deref().unwrap_or_default();
    metric.split(OVER).map(|side| side.split(PLUS).map(|term| format!("{below}{term}")).collect()).collect()
}

/// A number of the claim with its unit. A ratio and a share of seconds have no unit; the terms of a sum have the same
/// one.
///
/// # Errors
/// When the claim's metric is unknown.
pub(crate) fn quantity(expect: &Expect, number: f64) -> Result<Quantity, String> {
    let plain = |dimension| Ok(Quantity { value: number, dimension });
    let paths = paths(expect);
    match (expect.responses, expect.exchanges, expect.seconds) {
        (Some(what), ..) if what.is_share() => plain(Dimension::Share),
        (Some(_), ..) | (_, _, Some(Statistic::Until(_))) => plain(Dimension::Time),
        (_, _, Some(Statistic::Share(_) | Statistic::Variation)) => plain(Dimension::Share),
        _ if paths.len() > 1 || !expect.against.is_empty() => plain(Dimension::Share),
        (_, Some(_), _) => exchanges::quantity(expect, number),
        _ => unit::of_field(&paths.into_iter().flatten().next().unwrap_or_default(), number),
    }
}

/// A term whose dimension differs from that of the first term.
///
/// # Errors
/// When the claim's metric is unknown.
pub(crate) fn other_unit(expect: &Expect) -> Result<Option<String>, String> {
    if expect.exchanges.is_some() || expect.metric.is_none() {
        return Ok(None);
    }
    let mut first = None;
    for path in paths(expect).concat() {
        let dimension = unit::of_field(&path, 1.0)?.dimension;
        if *first.get_or_insert(dimension) != dimension {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The value at a path whose parts may contain dots.
fn lookup<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(value);
    }
    let ends = path.match_indices('.').map(|(i, _)| i).chain([path.len()]);
    let mut found = ends.filter_map(|end| lookup(value.get(&path[..end])?, path.get(end + 1..).unwrap_or("")));
    found.next()
}

/// Zero for drops by a reason that is not listed: links and classes list only reasons that occurred.
fn none_dropped(values: &Value, path: &str) -> Option<f64> {
    let (place, reason) = path.rsplit_once(".drops.")?;
    let known = Why::ALL.iter().any(|why| why.name() == reason);
    (known && lookup(values, place).is_some()).then_some(0.0)
}

/// The statistic over the one-second values inside the window.
fn over_seconds(statistic: Statistic, path: &str, seen: &Seen<'_>) -> Option<f64> {
    let series = &seen.output.series;
    let columns = &series.columns;
    let column = columns.get(path).or_else(|| columns.get(path.strip_suffix(".mean")?));
    let column = column.or_else(|| columns.get(&format!("{path}.mean")))?;
    let interval = series.interval_s;
    if interval.is_nan() || interval <= 0.0 {
        return None;
    }
    let first = (seen.from_s / interval - 1e-6).ceil().max(0.0) as usize;
    let end = ((seen.to_s / interval + 1e-6).floor() as usize).min(column.len());
    if let Statistic::Until(bound) = statistic {
        // Infinite if it never happens; no published time is infinite.
        let reached = column.get(first..end)?.iter().position(|x| bound.holds(*x));
        return Some(reached.map_or(f64::INFINITY, |i| (first + i + 1) as f64 * interval - seen.from_s));
    }
    let per_second = ((1.0 / interval).round() as usize).max(1);
    let seconds = column.get(first..end)?.chunks_exact(per_second);
    value_of(statistic, seconds.map(mean_of_known).collect())
}

/// The value of a statistic; `None` for an empty series.
fn value_of(statistic: Statistic, mut seconds: Vec<f64>) -> Option<f64> {
    seconds.retain(|x| x.is_finite());
    seconds.sort_by(f64::total_cmp);
    let n = seconds.len();
    let last = n.checked_sub(1)?;
    Some(match statistic {
        Statistic::Min => seconds[0],
        Statistic::Max => seconds[last],
        Statistic::Mean => mean(&seconds),
        Statistic::Variation => deviation(&seconds)? / mean(&seconds),
        // The nearest-rank percentile.
        Statistic::Percentile(p) => seconds[((p / 100.0 * n as f64).ceil() as usize).saturating_sub(1).min(last)],
        Statistic::Until(_) => return None,
        Statistic::Share(bound) => seconds.iter().filter(|x| bound.holds(**x)).count() as f64 / n as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_measure::output::Series;
    use serde_json::json;

    #[test]
    fn a_path_may_lead_through_names_with_dots() {
        let v = json!({ "classes": { "tcp.new": { "goodput_bps": 5 }, "tcp": { "goodput_bps": 4 } } });
        assert_eq!(lookup(&v, "classes.tcp.new.goodput_bps"), Some(&json!(5)));
        assert_eq!(lookup(&v, "classes.tcp.goodput_bps"), Some(&json!(4)));
        assert_eq!(lookup(&v, "classes.udp.goodput_bps"), None);
        assert_eq!(lookup(&v, "classes.tcp.goodput_bps.mean"), None);
    }

    #[test]
    fn only_seconds_inside_the_window_count() {
        let mut series = Series { interval_s: 0.5, ..Series::default() };
        let column = vec![9.0, 9.0, 1.0, 3.0, 2.0, 4.0, f64::NAN, 5.0, 9.0];
        series.columns.insert("apps.mpeg.frame_rate".to_owned(), column);
        let output = Output { series, ..Output::default() };
        let seen = Seen { labels: BTreeMap::new(), values: json!({}), from_s: 1.0, to_s: 4.0, output: &output };
        let of = |s: &str| over_seconds(Statistic::parse(s).unwrap(), "apps.mpeg.frame_rate", &seen);
        assert_eq!(of("min"), Some(2.0));
        assert_eq!(of("max"), Some(5.0));
        assert_eq!(of("mean"), Some(10.0 / 3.0));
        assert_eq!((of("until>3"), of("until>5")), (Some(2.0), Some(f64::INFINITY)), "to the end of that interval");
        assert_eq!(over_seconds(Statistic::Min, "apps.mpeg.none", &seen), None);
    }

    #[test]
    fn statistics_of_seconds() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let of = |text: &str| value_of(Statistic::parse(text).unwrap(), ten.clone());
        assert_eq!((of("min"), of("max"), of("mean")), (Some(1.0), Some(10.0), Some(5.5)));
        assert_eq!((of("p0"), of("p10"), of("p90"), of("p91")), (Some(1.0), Some(1.0), Some(9.0), Some(10.0)));
        assert_eq!(of("share>=8"), Some(0.3));
        let varies = of("variation").unwrap();
        assert!((varies - 3.027_650 / 5.5).abs() < 1e-6, "{varies}");
        assert_eq!(value_of(Statistic::Mean, vec![f64::NAN]), None);
    }
}
