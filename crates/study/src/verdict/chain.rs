//! An ordering in one combination of the other axes.

use std::collections::BTreeMap;

use aqmkit_experiment::{OrderChain, Relation};
use aqmkit_results::{Cells, Verdict};

use super::short;
use super::spread::{Runs, Spread, related};

/// The verdict on an ordering in one combination.
pub(super) struct AtPlace {
    /// Verdict on each pairwise comparison; `None` if a label was not measured.
    pub(super) comparisons: Option<Vec<Verdict>>,
    /// The values as text.
    pub(super) text: String,
}

impl AtPlace {
    /// The verdict on the whole ordering.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.comparisons.as_ref().map(|each| Cells::count(each.iter().copied()).verdict())
    }
}

/// Judges an ordering of these values; the text begins with `prefix`.
pub(super) fn at_place(order: &OrderChain, values: &BTreeMap<&str, &Runs>, prefix: &str, spread: Spread) -> AtPlace {
    let described = |label: &String| {
        let value = values.get(label.as_str()).map(|runs| short(runs.stat().mean));
        format!("{label} {}", value.unwrap_or_else(|| "not measured".to_owned()))
    };
    let group = |labels: &Vec<String>| labels.iter().map(described).collect::<Vec<_>>().join(" & ");
    let mut text = format!("{prefix}{}", order.groups.first().map_or(String::new(), group));
    let mut comparisons = Some(Vec::new());
    for ((left, right), relation) in order.groups.iter().zip(order.groups.iter().skip(1)).zip(&order.relations) {
        let here = between(left, *relation, right, values, spread);
        let doubt = match here.as_ref().map(|each| Cells::count(each.iter().copied()).verdict()) {
            Some(Verdict::Missed) => "not ",
            Some(Verdict::Undecided) => "perhaps not ",
            Some(Verdict::Met) | None => "",
        };
        comparisons = comparisons.zip(here).map(|(all, here)| [all, here].concat());
        text.push_str(&format!(" {doubt}{} {}", sign(*relation), group(right)));
    }
    AtPlace { comparisons, text }
}

/// Compares each label on the left with each on the right; `None` if one was not measured.
fn between(
    left: &[String],
    relation: Relation,
    right: &[String],
    values: &BTreeMap<&str, &Runs>,
    spread: Spread,
) -> Option<Vec<Verdict>> {
    let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
    let one =
        |(a, b): (&String, &String)| Some(related(values.get(a.as_str())?, relation, values.get(b.as_str())?, spread));
    pairs.map(one).collect()
}

fn sign(relation: Relation) -> &'static str {
    match relation {
        Relation::Greater => ">",
        Relation::Twice => ">>",
        Relation::Tenfold => ">>>",
        Relation::NotLess => ">=",
        Relation::About => "~",
    }
}
