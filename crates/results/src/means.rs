//! Means of all metrics over the runs of a combination, with 95 % intervals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Entry, Stat, flatten};

/// Labels by axis.
type Labels<'a> = BTreeMap<&'a str, &'a str>;

/// The labels of a run without `repeat` and `seed`, in which the runs of a combination differ.
#[must_use]
pub fn combination(labels: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let named = labels.iter().map(|(name, label)| (name.as_str(), label.as_str()));
    named.filter(|(name, _)| !["repeat", "seed"].contains(name)).collect()
}

/// Means of a combination in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// Labels by axis, and `window`.
    pub labels: BTreeMap<String, String>,
    /// Means by path of the metric in an entry of `runs`.
    pub metrics: BTreeMap<String, Mean>,
}

/// A mean over independent runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// Mean over the runs.
    pub mean: f64,
    /// Lower end of the 95 % interval; `None` for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the 95 % interval; `None` for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Number of runs that have a value.
    pub runs: usize,
}

impl From<Stat> for Mean {
    fn from(stat: Stat) -> Mean {
        let interval = stat.interval();
        Mean {
            mean: stat.mean,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            runs: stat.count,
        }
    }
}

/// Means of all combinations and windows, in the order of their first runs. `engine`, the cost of runs, is omitted
/// because it depends on the machine.
#[must_use]
pub fn means(runs: &[Entry]) -> Vec<Means> {
    let mut places: BTreeMap<Labels<'_>, usize> = BTreeMap::new();
    let mut values: Vec<(Labels<'_>, BTreeMap<String, Vec<f64>>)> = Vec::new();
    for entry in runs {
        let labels = combination(&entry.labels);
        let place = *places.entry(labels.clone()).or_insert(values.len());
        if place == values.len() {
            values.push((labels, BTreeMap::new()));
        }
        for (path, number) in flatten(entry).into_iter().filter(|(path, _)| !path.starts_with("engine.")) {
            values[place].1.entry(path).or_default().push(number);
        }
    }
    let of = |(labels, numbers): (Labels<'_>, BTreeMap<String, Vec<f64>>)| Means {
        labels: labels.into_iter().map(|(name, label)| (name.to_owned(), label.to_owned())).collect(),
        metrics: numbers.into_iter().filter_map(|(path, own)| Some((path, Stat::of(&own)?.into()))).collect(),
    };
    values.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(aqm: &str, seed: &str, jain: f64) -> Entry {
        let labels = [("aqm", aqm), ("seed", seed), ("repeat", seed), ("window", "all")];
        let mut entry = Entry { labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(), ..Entry::default() };
        entry.flows.jain = jain;
        entry
    }

    /// 0.5, 0.6 and 0.7: standard deviation 0.1; t with two degrees of freedom is 4.3027.
    #[test]
    fn the_runs_of_a_combination_have_one_mean() {
        let runs = [entry("red", "1", 0.5), entry("fifo", "1", 0.9), entry("red", "2", 0.6), entry("red", "3", 0.7)];
        let found = means(&runs);
        let labels: Vec<_> = found.iter().map(|means| means.labels["aqm"].as_str()).collect();
        assert_eq!(labels, ["red", "fifo"]);
        assert!(!found[0].labels.contains_key("seed"));
        let (red, fifo) = (found[0].metrics["flows.jain"], found[1].metrics["flows.jain"]);
        let half = 4.302_653 * 0.1 / 3.0_f64.sqrt();
        assert!((red.mean - 0.6).abs() < 1e-12 && (red.low.unwrap() - (0.6 - half)).abs() < 1e-6, "{red:?}");
        assert_eq!((red.runs, fifo), (3, Mean { mean: 0.9, low: None, high: None, runs: 1 }));
        assert!(!found[0].metrics.keys().any(|path| path.starts_with("engine")));
    }
}
