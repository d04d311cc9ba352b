//! `[[predict]]`: curves predicted by equations, drawn into plots of time series.

use std::collections::BTreeMap;

use aqmkit_base::Duration;
use aqmkit_formulas::unit::of_field;
use aqmkit_measure::metric::{METRICS, Metric};
use aqmkit_results::Overlay;
use serde::Deserialize;

use super::metric::Names;
use super::problem::{Problem, closest, suggest};
use super::read::{Keys, read, tables};
use super::scope::{Scope, any_of};
use super::shape;
use super::tree::Node;

/// Reads the list of predictions and computes their points.
pub(super) fn read_predictions(list: &Node, scope: &Scope) -> Result<Vec<Overlay>, Problem> {
    let predictions = tables(list, "predict", "write [[predict]] for each")?;
    predictions.iter().map(|node| prediction(node, scope)).collect()
}

/// The time of a point; its other keys are arguments of the equation.
#[derive(Deserialize)]
struct Moment {
    t: Duration,
}

fn prediction(node: &Node, scope: &Scope) -> Result<Overlay, Problem> {
    let keys: shape::Predict = read(node, Keys::of("a key of [[predict]]"))?;
    let at = |key: &str| &node.get(key).unwrap_or(node).at;
    check_column(&keys.quantity, &scope.names).map_err(|e| e.at(at("quantity")))?;
    if aqmkit_formulas::find(&keys.formula).is_none() {
        return Err(unknown(&keys.formula).at(at("formula")));
    }
    if keys.points.is_empty() {
        return Err(Problem::new("points is empty").right("write points = [{ t = \"0s\" }, …]").at(at("points")));
    }
    let mut points: Vec<(f64, f64)> = Vec::new();
    for point in node.get("points").map(Node::elements).unwrap_or_default() {
        let Moment { t } = read(&point.only(&["t"]), Keys::of("a key of a point"))?;
        let t = t.as_secs_f64();
        if points.last().is_some_and(|(before, _)| t < *before) {
            let problem = Problem::new("this point is before the previous one");
            return Err(problem.right("points must be in order of time").at(&point.at));
        }
        points.push((t, value(&keys, point).map_err(|e| e.at(&point.at))?));
    }
    Ok(Overlay { selector: selector(node, scope)?, quantity: keys.quantity, label: keys.label, points })
}

/// The formula's value at a point, in the unit of the column.
fn value(keys: &shape::Predict, point: &Node) -> Result<f64, Problem> {
    let mut args = toml::Value::Table(keys.args.clone());
    merge(&mut args, point.without(&["t"]).plain());
    let args = args.as_table().cloned().unwrap_or_default();
    let found = aqmkit_formulas::evaluate(&keys.formula, &args).map_err(|e| Problem::new(e.to_string()))?;
    let one = of_field(&keys.quantity, 1.0).map_err(Problem::new)?;
    if found.dimension == one.dimension {
        return Ok(found.value / one.value);
    }
    let (got, wanted) = (found.dimension.words(), one.dimension.words());
    Err(Problem::new(format!("{} gives {got}, but {} is {wanted}", keys.formula, keys.quantity))
        .right(format!("choose a formula that gives {wanted}, or another quantity")))
}

/// Merges table `over` into `under`, key by key; other values are replaced.
fn merge(under: &mut toml::Value, over: toml::Value) {
    match (under, over) {
        (toml::Value::Table(under), toml::Value::Table(over)) => {
            for (key, value) in over {
                match under.get_mut(&key) {
                    Some(there) => merge(there, value),
                    None => _ = under.insert(key, value),
                }
            }
        }
        (under, over) => *under = over,
    }
}

fn unknown(name: &str) -> Problem {
    let names = || aqmkit_formulas::all().into_iter().map(|e| e.name);
    let help = closest(name, names()).map_or_else(|| suggest(name, names()), |near| format!("did you mean {near}?"));
    Problem::new(format!("there is no formula {name:?}")).right(help)
}

/// The labels that select runs for a line or figure.
pub(super) fn selector(node: &Node, scope: &Scope) -> Result<BTreeMap<String, Vec<String>>, Problem> {
    let Some(table) = node.get("where") else { return Ok(BTreeMap::new()) };
    if !table.is_table() {
        return Err(Problem::new("where is not a table").right("write where = { aqm = \"red\" }").at(&table.at));
    }
    let one = |entry: &super::tree::Entry| {
        let labels = scope.labels(&entry.key).ok_or_else(|| scope.no_axis(&entry.key, &[]).at(&entry.at))?;
        Ok((entry.key.clone(), any_of(entry, labels)?))
    };
    table.entries().iter().map(one).collect()
}

/// Checks that time series have this column; `.mean` can be omitted. Gauges and drop reasons are known only after a
/// run.
pub(super) fn check_plotted(column: &str, names: &Names) -> Result<(), Problem> {
    let below = |part: &str, owners: &[String], field: &str| {
        owners
            .iter()
            .any(|owner| column.strip_prefix(&format!("{part}.{owner}.{field}.")).is_some_and(|c| !c.is_empty()))
    };
    if below("links", &names.links, "aqm") || below("classes", &names.classes, "drops") {
        return Ok(());
    }
    check_column(column, names).or_else(|e| check_column(&format!("{column}.mean"), names).map_err(|_| e))
}

/// Checks that the time series have this column.
fn check_column(quantity: &str, names: &Names) -> Result<(), Problem> {
    let all = [("classes.", &names.classes), ("links.", &names.links), ("apps.", &names.apps)];
    // Gauges and drop reasons are known only after a run.
    let fixed = |m: &&Metric| m.in_series && m.path.matches('*').count() == 1;
    let of = |(part, owners): (&str, &Vec<String>)| -> Vec<String> {
        let metrics = || METRICS.iter().filter(fixed).filter(|m| m.path.starts_with(part));
        owners.iter().flat_map(|owner| metrics().map(move |m| m.column(owner))).collect()
    };
    let known: Vec<String> = all.into_iter().flat_map(of).collect();
    if known.iter().any(|k| k == quantity) {
        return Ok(());
    }
    let problem = Problem::new(format!("the time series have no column {quantity}"));
    Err(problem.right(suggest(quantity, known.iter().map(String::as_str))))
}
