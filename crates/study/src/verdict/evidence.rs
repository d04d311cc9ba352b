//! Measured values, selected as claims need them.

use std::collections::BTreeMap;

use aqmkit_experiment::number::{over_seconds, percentile_at, value_at};
use aqmkit_experiment::{Expect, OVER, OrderChain, PLUS, Statistic};
use aqmkit_formulas::unit::{self, Dimension, Quantity};
use aqmkit_measure::Output;
use aqmkit_results::{Entry, RunData};
use serde_json::Value;

use super::exchanges;
use super::response::{Times, statistic};

/// Labels that distinguish the runs of one combination.
const REPEATS: &[&str] = &["repeat", "seed"];

/// Labels of a combination in the sweep, without repeat and seed.
pub(crate) type Combination = BTreeMap<String, String>;

/// A window of a run.
struct Seen<'a> {
    labels: BTreeMap<String, String>,
    /// The window's values as in `results.json`.
    values: Value,
    from_s: f64,
    to_s: f64,
    output: &'a Output,
}

/// All windows of all finished runs, and the list of planned runs.
pub struct Evidence<'a> {
    seen: Vec<Seen<'a>>,
    planned: &'a [BTreeMap<String, String>],
}

/// A value in one run and window.
pub struct Sample {
    /// Labels of the axes, and the window.
    pub combination: Combination,
    /// Label of the repeat.
    pub repeat: String,
    /// Seed of the run.
    pub seed: String,
    /// Value in the base unit of its dimension.
    pub value: Quantity,
}

impl<'a> Evidence<'a> {
    /// Collects the windows of the finished runs; `planned` has the labels of all planned runs.
    ///
    /// # Errors
    /// When an output cannot be serialized.
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

    /// Whether all runs that the claim selects are finished; `false` if it selects none.
    pub fn complete(&self, expect: &Expect) -> bool {
        let planned = self.planned.iter().filter(|l| selects(expect, l)).count();
        let mut done: Vec<_> =
            self.seen.iter().filter(|s| selects(expect, &s.labels)).map(|s| repeats_of(&s.labels)).collect();
        done.sort();
        done.dedup();
        planned > 0 && done.len() == planned
    }

    /// The claim's metric in all runs and windows that it selects.
    ///
    /// # Errors
    /// When a window of a selected run does not have the metric.
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
            seed: seen.labels.get("seed").cloned().unwrap_or_default(),
            value: quantity(expect, number)?,
        }))
    }

    /// The claim's statistic of response times, of this run alone or compared with another run.
    fn of_responses(&self, expect: &Expect, seen: &Seen<'_>) -> Result<f64, String> {
        let quantity = paths(expect).concat().into_iter().next().unwrap_or_default();
        let own = times(&quantity, seen)?;
        let other = self.beside(expect, seen)?.map(|beside| times(&quantity, beside)).transpose()?;
        expect.responses.and_then(|what| statistic(what, own, other)).ok_or_else(|| missing(&quantity, seen))
    }

    /// The same window and repeat of the run to compare with, if the claim names one; it may have another seed.
    fn beside(&self, expect: &Expect, seen: &Seen<'_>) -> Result<Option<&Seen<'a>>, String> {
        if expect.against.is_empty() {
            return Ok(None);
        }
        let mut labels = seen.labels.clone();
        labels.extend(expect.against.clone());
        let beside = self.seen.iter().find(|s| same_but_for_the_seed(&s.labels, &labels));
        beside.map(Some).ok_or_else(|| format!("the run to compare with is missing: {:?}", expect.against))
    }
}

fn same_but_for_the_seed(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> bool {
    let mut pairs = a.iter().zip(b);
    a.len() == b.len() && pairs.all(|((key, own), (other, value))| key == other && (key == "seed" || own == value))
}

/// The labels without the window: they identify the run.
fn repeats_of(labels: &BTreeMap<String, String>) -> Vec<(&String, &String)> {
    labels.iter().filter(|(k, _)| *k != "window").collect()
}

/// Whether the claim selects runs with these labels.
pub(crate) fn selects(expect: &Expect, labels: &BTreeMap<String, String>) -> bool {
    expect.selector.iter().all(|(axis, any)| labels.get(axis).is_some_and(|l| any.contains(l)))
}

/// Whether the claim needs a run with these labels: because it selects the run (and the claim's ordering, if any, names
/// it), or because it compares another run with it.
#[must_use]
pub(crate) fn needs(expect: &Expect, labels: &BTreeMap<String, String>) -> bool {
    let named =
        |order: &OrderChain| labels.get(&expect.along).is_none_or(|l| order.groups.iter().flatten().any(|g| g == l));
    let beside =
        !expect.against.is_empty() && expect.against.iter().all(|(axis, label)| labels.get(axis) == Some(label));
    beside || (selects(expect, labels) && expect.order.as_ref().is_none_or(named))
}

/// The value of the metric: a number, a sum, or a ratio.
fn measured(expect: &Expect, seen: &Seen<'_>) -> Result<f64, String> {
    let sides = paths(expect).into_iter().map(|side| total(expect, &side, seen)).collect::<Result<Vec<_>, _>>()?;
    Ok(sides.into_iter().reduce(|above, below| above / below).unwrap_or(f64::NAN))
}

/// The sum of the values at these paths.
fn total(expect: &Expect, paths: &[String], seen: &Seen<'_>) -> Result<f64, String> {
    let value = |path: &String| {
        let found = match expect.seconds {
            Some(statistic) => over_seconds(statistic, path, seen.output, (seen.from_s, seen.to_s)),
            None => value_at(&seen.values, path).or_else(|| percentile_at(seen.output, window_of(seen), path)),
        };
        found.ok_or_else(|| missing(path, seen))
    };
    paths.iter().map(value).sum()
}

fn times<'s>(quantity: &str, seen: &'s Seen<'_>) -> Result<Times<'s>, String> {
    Times::find(seen.output, window_of(seen), quantity).ok_or_else(|| missing(quantity, seen))
}

fn window_of<'s>(seen: &'s Seen<'_>) -> &'s str {
    seen.labels.get("window").map_or("", String::as_str)
}

fn missing(path: &str, seen: &Seen<'_>) -> String {
    let at: Vec<_> = seen.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    format!("there is no {path} in {}", at.join(" "))
}

/// Full paths of the metric, such as `classes.tcp.goodput_bps`: of each term in the sum, then of the divisor.
pub(crate) fn paths(expect: &Expect) -> Vec<Vec<String>> {
    let within = [("classes", &expect.class), ("apps", &expect.app), ("links", &expect.link)];
    let below = within.into_iter().find_map(|(part, name)| name.as_ref().map(|n| format!("{part}.{n}.")));
    let below = below.unwrap_or_default();
    let metric = expect.metric.as_deref().unwrap_or_default();
    metric.split(OVER).map(|side| side.split(PLUS).map(|term| format!("{below}{term}")).collect()).collect()
}

/// Adds the unit to a number of the claim. Ratios and shares of seconds have no unit; all terms of a sum have the same
/// unit.
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

/// A term of the sum whose dimension differs from that of the first term; `None` if all agree.
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
