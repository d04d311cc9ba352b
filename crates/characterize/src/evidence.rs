//! The measured values of an experiment, by subject and labels.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_results::{Entry, Results, RunData, flatten};

/// Where to read a number: labels and window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// Selected labels, by axis.
    pub(crate) labels: &'a [(&'a str, &'a str)],
    /// Name of the measurement window.
    pub(crate) window: &'a str,
}

/// The only combination of an experiment, over the whole measurement.
pub(crate) const ALL: Place<'static> = Place { labels: &[], window: "all" };

/// A combination, over the whole measurement.
pub(crate) const fn at<'a>(labels: &'a [(&'a str, &'a str)]) -> Place<'a> {
    Place { labels, ..ALL }
}

/// A window of the only combination.
pub(crate) const fn during(window: &str) -> Place<'_> {
    Place { labels: &[], window }
}

/// The metrics of an experiment.
pub(crate) struct Evidence<'a> {
    numbers: Vec<(&'a Entry, BTreeMap<String, f64>)>,
    data: Vec<RunData<'a>>,
    /// The axis whose labels are the subjects.
    axis: &'static str,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(results: &'a Results, data: Vec<RunData<'a>>, axis: &'static str) -> Self {
        Evidence { numbers: results.runs.iter().map(|entry| (entry, flatten(entry))).collect(), data, axis }
    }

    /// The metrics of each repeat separately; the same repeat of different subjects has the same seed.
    pub(crate) fn repeats(&self) -> Vec<Evidence<'a>> {
        let names: BTreeSet<&str> = self.numbers.iter().filter_map(|(entry, _)| repeat(&entry.labels)).collect();
        let of = |name: &str| Evidence {
            numbers: self.numbers.iter().filter(|(entry, _)| repeat(&entry.labels) == Some(name)).cloned().collect(),
            data: self.data.iter().filter(|run| repeat(run.labels) == Some(name)).copied().collect(),
            axis: self.axis,
        };
        names.into_iter().map(of).collect()
    }

    /// Mean of a metric over the repeats of a subject; `None` if no run has it.
    pub(crate) fn mean(&self, subject: &str, place: Place<'_>, path: &str) -> Option<f64> {
        let here = |entry: &Entry| {
            let has = |key: &str, label: &str| entry.labels.get(key).is_some_and(|found| found == label);
            has(self.axis, subject)
                && has("window", place.window)
                && place.labels.iter().all(|(key, label)| has(key, label))
        };
        let values = self.numbers.iter().filter(|(entry, _)| here(entry));
        let values: Vec<f64> = values.filter_map(|(_, numbers)| numbers.get(path).copied()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// The runs of a subject with these labels.
    pub(crate) fn runs(&self, subject: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = &RunData<'a>> {
        let of = move |run: &&RunData<'a>| {
            let has = |key: &str, label: &str| run.labels.get(key).is_some_and(|found| found == label);
            has(self.axis, subject) && labels.iter().all(|(key, label)| has(key, label))
        };
        self.data.iter().filter(of)
    }
}

/// The repeat of a run.
fn repeat(labels: &BTreeMap<String, String>) -> Option<&str> {
    labels.get("repeat").map(String::as_str)
}
