//! Differences between two results of the same experiment, for example of two versions or two sets of parameters.

use std::collections::BTreeMap;

use aqmkit_results::{Entry, Results, Stat, flatten};

use comfy_table::{Cell, CellAlignment};

use crate::columns::{Column, columns};
use crate::format::mean;
use crate::grid::{Grid, difference as by_seed};
use crate::terminal::{Screen, drawn, head, number};

/// Smaller relative changes are not shown if there are no repeats.
const SLIGHT: f64 = 0.02;

/// Values of a combination and window: by metric, then by seed.
type Values = BTreeMap<String, BTreeMap<String, f64>>;

/// A metric of one combination in both results.
#[derive(Clone, Debug, PartialEq)]
struct Difference {
    before: f64,
    after: f64,
    /// Half the width of the difference's confidence interval; `None` without repeats.
    within: Option<f64>,
}

impl Difference {
    fn change(&self) -> f64 {
        self.after - self.before
    }

    /// Whether the difference is significant or, with single runs, larger than the threshold.
    fn counts(&self) -> bool {
        match self.within {
            Some(within) => self.change().abs() > within,
            None => self.change().abs() > SLIGHT * self.before.abs().max(self.after.abs()),
        }
    }
}

/// A table of the differences. Unless `all` is set, it has only those whose 95 % confidence interval excludes zero or,
/// without repeats, those above 2 %.
#[must_use]
pub fn differences(before: &Results, after: &Results, all: bool, screen: impl Into<Screen>) -> String {
    let screen = screen.into();
    let (old, new) = (by_combination(before), by_combination(after));
    let shown = columns(&Grid::of(before));
    let mut table = screen.table();
    let heads = ["before", "after", "change", "95 % interval"].map(|text| head(text, CellAlignment::Right));
    table.set_header(
        [head("combination", CellAlignment::Left), head("quantity", CellAlignment::Left)].into_iter().chain(heads),
    );
    let (mut rows, mut compared, mut repeated) = (0_usize, 0_usize, false);
    for (place, values) in old.iter().filter(|(place, _)| new.contains_key(*place)) {
        for column in &shown {
            let Some(difference) = difference(values, &new[place], &column.path) else { continue };
            compared += 1;
            repeated |= difference.within.is_some();
            if all || difference.counts() {
                table.add_row(row(place, column, &difference));
                rows += 1;
            }
        }
    }
    let missing = old
        .keys()
        .filter(|place| !new.contains_key(*place))
        .chain(new.keys().filter(|place| !old.contains_key(*place)));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    let mut text = if rows > 0 { format!("{}\n", drawn(table)) } else { String::new() };
    text += &match (rows, compared) {
        (_, 0) => "The two results have no combination in common.\n".to_owned(),
        (rows, compared) if all => format!("{rows} of {compared} quantities are shown.\n"),
        (rows, compared) if repeated => format!("{rows} of {compared} quantities differ by more than chance.\n"),
        (rows, compared) => format!(
            "{rows} of {compared} quantities differ by more than {:.0} %; one run of each does not tell whether by chance.\n",
            100.0 * SLIGHT
        ),
    };
    if !missing.is_empty() {
        text += &format!("Only in one of them: {}.\n", missing.join("; "));
    }
    text
}

fn row(place: &str, column: &Column, difference: &Difference) -> Vec<Cell> {
    let shown = |value: f64| {
        let stat = Stat { mean: value, ..Stat::default() };
        mean(Some(&stat), column.kind.factor, column.decimals)
    };
    let share = difference.change() / difference.before;
    let change = if share.is_finite() { format!("{:+.1} %", 100.0 * share) } else { "–".to_owned() };
    let interval = difference.within.map_or_else(
        || "one run".to_owned(),
        |within| format!("{} to {}", shown(difference.change() - within), shown(difference.change() + within)),
    );
    let quantity = format!("{} {}", column.name, column.kind.unit);
    let texts = [shown(difference.before), shown(difference.after), change, interval];
    [Cell::new(place), Cell::new(quantity.trim())].into_iter().chain(texts.map(number)).collect()
}

/// Values by the name of combination and window.
fn by_combination(results: &Results) -> BTreeMap<String, Values> {
    let mut all: BTreeMap<String, Values> = BTreeMap::new();
    for entry in &results.runs {
        let seed = entry.labels.get("seed").cloned().unwrap_or_default();
        let values = all.entry(name(entry)).or_default();
        for (path, value) in flatten(entry) {
            values.entry(path).or_default().insert(seed.clone(), value);
        }
    }
    all
}

/// The name of a combination: its labels except repeat and seed, and the window if there are several.
fn name(entry: &Entry) -> String {
    let label = |(key, value): (&String, &String)| match key.as_str() {
        "repeat" | "seed" => None,
        "window" if value == "all" => None,
        "aqm" => Some(value.clone()),
        _ => Some(format!("{key} {value}")),
    };
    entry.labels.iter().filter_map(label).collect::<Vec<_>>().join(", ")
}

/// The difference of one metric.
fn difference(before: &Values, after: &Values, path: &str) -> Option<Difference> {
    let (before, after) = (before.get(path)?, after.get(path)?);
    let mean = |values: &BTreeMap<String, f64>| Some(Stat::of(&values.values().copied().collect::<Vec<_>>())?.mean);
    let within = by_seed(before, after)?.half_width;
    Some(Difference { before: mean(before)?, after: mean(after)?, within })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &[(&str, f64)]) -> Values {
        let of = list.iter().map(|(seed, value)| ((*seed).to_owned(), *value)).collect();
        [("delay".to_owned(), of)].into()
    }

    fn of(before: &[(&str, f64)], after: &[(&str, f64)]) -> Difference {
        difference(&values(before), &values(after), "delay").unwrap()
    }

    /// Differences of 1, 2 and 3: mean 2, standard deviation 1; t with two degrees of freedom at 97.5 % is 4.3027.
    #[test]
    fn equal_seeds_are_compared_in_pairs() {
        let found = of(&[("1", 10.0), ("2", 20.0), ("3", 30.0)], &[("1", 11.0), ("2", 22.0), ("3", 33.0)]);
        assert_eq!((found.before, found.after), (20.0, 22.0));
        assert!((found.within.unwrap() - 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-4, "{found:?}");
        assert!(!found.counts());
    }

    /// Two samples of three values with variance 1: four degrees of freedom, t 2.7764, standard error sqrt(2/3).
    #[test]
    fn other_seeds_are_two_samples() {
        let found = of(&[("1", 1.0), ("2", 2.0), ("3", 3.0)], &[("4", 11.0), ("5", 12.0), ("6", 13.0)]);
        assert!((found.within.unwrap() - 2.776_445 * (2.0_f64 / 3.0).sqrt()).abs() < 1e-4, "{found:?}");
        assert!(found.counts());
    }

    #[test]
    fn a_single_run_has_no_interval() {
        assert_eq!(of(&[("1", 100.0)], &[("1", 101.0)]).within, None);
        assert!(!of(&[("1", 100.0)], &[("1", 101.0)]).counts() && of(&[("1", 100.0)], &[("1", 104.0)]).counts());
        assert_eq!(of(&[("1", 5.0), ("2", 5.0)], &[("1", 5.0), ("2", 5.0)]).within, Some(0.0));
    }
}
