//! Verdicts: published values compared with measured values.
//!
//! A claim is an `[[expect]]` of an experiment and the row of `published.csv` that it names. [`check`] checks claims
//! before anything is run; [`judge`] judges them afterwards. A claim is neither met nor missed as long as some of its
//! runs are not finished.

pub(crate) mod evidence;
mod exchanges;
mod plain;
mod published;
mod response;
mod tolerance;

pub use plain::{Plain, first_run};
pub use published::Published;

use std::collections::BTreeMap;

use aqmkit_base::near::closest;
use aqmkit_experiment::{Bound, Expect, OrderChain, Relation};
use aqmkit_formulas::unit::{Quantity, Unit};
use aqmkit_results::statistics::{deviation, mean};
use aqmkit_results::{Basis, Cells, Expectation, PublishedPoint};
use evidence::{Combination, Evidence, Sample};
use published::{Kind, Row};

/// Finds the first error in claims that the experiment's own check cannot find: rows missing from `published.csv`,
/// units that do not fit, formulas that cannot be computed.
///
/// # Errors
/// With the claim's id, what is wrong, and what would be right.
pub fn check(expects: &[Expect], published: &Published) -> Result<(), String> {
    expects.iter().try_for_each(|e| check_one(e, published).map_err(|what| format!("[[expect]] {}: {what}", e.id)))
}

fn check_one(expect: &Expect, published: &Published) -> Result<(), String> {
    let row = published.get(&expect.id).ok_or_else(|| match closest(&expect.id, published.ids()) {
        Some(near) => format!("published.csv has no such row; did you mean {near}?"),
        None => "published.csv has no such row".to_owned(),
    })?;
    let numbers = !row.low.is_empty() || !row.high.is_empty();
    let claim = expect.order.is_some() || expect.every.is_some();
    match row.kind {
        Kind::Order if !claim => return Err("the published row is an ordering; give order or every".to_owned()),
        Kind::Equation | Kind::Value if expect.order.is_some() => {
            let kind = row.kind.name();
            let what = format!("a row of kind {kind} cannot be checked with order");
            return Err(format!("{what}; remove order, or use a row of kind order"));
        }
        Kind::Equation | Kind::Value if !numbers && !claim => {
            return Err("the published row has neither low nor high; give a bound with every".to_owned());
        }
        _ => {}
    }
    let value = match &expect.formula {
        Some(name) => aqmkit_formulas::evaluate(name, &expect.args).map_err(|e| e.to_string())?,
        None => evidence::quantity(expect, 1.0)?,
    };
    if let Some(other) = evidence::other_unit(expect)? {
        return Err(format!("{other} has an incompatible unit in the sum or ratio"));
    }
    in_unit(row, value).map(|_| ())
}

/// Judges every claim.
#[must_use]
pub fn judge(expects: &[Expect], published: &Published, evidence: &Evidence<'_>) -> Vec<Expectation> {
    expects.iter().map(|e| judge_one(e, published, evidence)).collect()
}

/// The verdict on a claim, and how it came about.
#[derive(Default)]
struct Finding {
    measured: Option<f64>,
    spread: Option<f64>,
    repeats: usize,
    pass: Option<bool>,
    cells: Option<Cells>,
    detail: String,
}

fn judge_one(expect: &Expect, published: &Published, evidence: &Evidence<'_>) -> Expectation {
    let open = unjudged(expect, published);
    let Some(row) = published.get(&expect.id) else { return open };
    let found = if expect.formula.is_some() { computed(expect, row) } else { measured(expect, row, evidence) };
    let found = found.unwrap_or_else(|detail| Finding { detail, ..Finding::default() });
    Expectation {
        measured: found.measured,
        spread: found.spread,
        repeats: found.repeats,
        pass: found.pass,
        cells: found.cells.filter(|cells| cells.of > 1),
        detail: join(&found.detail, &expect.note),
        ..open
    }
}

/// A claim with its published value, not yet judged.
#[must_use]
pub fn unjudged(expect: &Expect, published: &Published) -> Expectation {
    let Some(row) = published.get(&expect.id) else {
        return Expectation { id: expect.id.clone(), detail: "not in published.csv".to_owned(), ..Default::default() };
    };
    let (low, high) = row.accepted();
    let text = row.text();
    Expectation {
        id: row.id.clone(),
        source: format!("{}, {}", row.source, row.place),
        what: row.what.clone(),
        kind: row.kind.name().to_owned(),
        published: if text.is_empty() { claim_text(expect, row) } else { text },
        low,
        high,
        unit: row.unit.clone(),
        basis: if row.by_hand() && expect.basis == Basis::Calculation { Basis::WorkedByHand } else { expect.basis },
        ours: expect.ours.clone().unwrap_or_default(),
        printed: row.printed(),
        point: point(expect, row),
        detail: expect.note.clone(),
        ..Expectation::default()
    }
}

/// The published number in the unit of the claim's metric, if the claim is about the value of a single metric in a window.
fn point(expect: &Expect, row: &Row) -> Option<PublishedPoint> {
    let reduced = expect.seconds.is_some() || expect.exchanges.is_some() || expect.responses.is_some();
    if expect.formula.is_some() || expect.order.is_some() || reduced || !expect.against.is_empty() {
        return None;
    }
    let (low, high) = row.range()?;
    let unit = in_unit(row, evidence::quantity(expect, 1.0).ok()?).ok()?;
    let [metric] = <[String; 1]>::try_from(evidence::paths(expect).concat()).ok()?;
    let (selector, window) = (expect.selector.clone(), expect.window.clone());
    Some(PublishedPoint { metric, selector, window, low: low / unit, high: high / unit })
}

/// The claim in words, if its row has no number.
fn claim_text(expect: &Expect, row: &Row) -> String {
    let order = expect.order.as_ref().map(OrderChain::to_string);
    let every = expect.every.map(|e| format!("each {e} {}", row.unit).trim().to_owned());
    order.into_iter().chain(every).collect::<Vec<_>>().join(", ")
}

fn computed(expect: &Expect, row: &Row) -> Result<Finding, String> {
    let name = expect.formula.as_deref().unwrap_or_default();
    let value = in_unit(row, aqmkit_formulas::evaluate(name, &expect.args).map_err(|e| e.to_string())?)?;
    let pass = within(row, value) && expect.every.is_none_or(|b| b.holds(value));
    Ok(Finding { measured: Some(value), pass: Some(pass), ..Finding::default() })
}

/// A quantity in the row's unit, or in its base unit if the row has none.
fn in_unit(row: &Row, q: Quantity) -> Result<f64, String> {
    row.unit().map_or(Ok(q.value), |u: &Unit| u.express(q))
}

fn within(row: &Row, value: f64) -> bool {
    // Rounding errors in the last bits are removed.
    const ROUNDING: f64 = 1e-9;
    let (low, high) = row.accepted();
    value.is_finite() && low.is_none_or(|l| value >= l - ROUNDING) && high.is_none_or(|h| value <= h + ROUNDING)
}

fn measured(expect: &Expect, row: &Row, evidence: &Evidence<'_>) -> Result<Finding, String> {
    let samples = evidence.samples(expect)?;
    if samples.is_empty() && expect.exchanges.is_some() && evidence.complete(expect) {
        return Err("no run has such an exchange".to_owned());
    }
    if samples.is_empty() {
        return Err("none of its runs is finished".to_owned());
    }
    let means = means(&samples, row)?;
    let mut finding = match &expect.order {
        Some(order) => ordering(order, &expect.along, &means),
        None => number(&samples, &means, expect.average.is_some(), row)?,
    };
    if let Some(bound) = expect.every {
        bounded(bound, &means, &mut finding);
    }
    if !evidence.complete(expect) {
        finding.pass = None;
        finding.detail = join(&finding.detail, "not all of its runs are finished");
    }
    Ok(finding)
}

fn join(a: &str, b: &str) -> String {
    [a, b].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The mean over the repeats for each combination, in the row's unit.
fn means(samples: &[Sample], row: &Row) -> Result<BTreeMap<Combination, f64>, String> {
    let mut groups: BTreeMap<Combination, Vec<f64>> = BTreeMap::new();
    for s in samples {
        groups.entry(s.combination.clone()).or_default().push(in_unit(row, s.value)?);
    }
    Ok(groups.into_iter().map(|(c, values)| (c, mean(&values))).collect())
}

/// Judges a published number: each cell's mean, or, where the paper averages, the mean over all cells. The result shows
/// the mean over all cells, and the spread of the repeats' means.
fn number(
    samples: &[Sample],
    cells: &BTreeMap<Combination, f64>,
    averaged: bool,
    row: &Row,
) -> Result<Finding, String> {
    let mut repeats: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut all = Vec::new();
    for s in samples {
        let value = in_unit(row, s.value)?;
        repeats.entry(&s.repeat).or_default().push(value);
        all.push(value);
    }
    let of_repeats: Vec<f64> = repeats.values().map(|v| mean(v)).collect();
    let value = mean(&all);
    let spread = deviation(&of_repeats);
    let found = Finding { measured: Some(value), spread, repeats: of_repeats.len(), ..Finding::default() };
    if averaged {
        return Ok(Finding { pass: Some(within(row, value)), ..found });
    }
    let named = varying(cells);
    let outside: Vec<_> = cells
        .iter()
        .filter(|(_, v)| !within(row, **v))
        .map(|(c, v)| format!("{}{}", name(c, &named), short(*v)))
        .collect();
    let detail =
        if cells.len() > 1 && !outside.is_empty() { format!("outside: {}", brief(&outside)) } else { String::new() };
    Ok(Finding { pass: Some(outside.is_empty()), cells: held(cells.len(), outside.len()), detail, ..found })
}

/// The number of cells in which a claim holds.
fn held(of: usize, broken: usize) -> Option<Cells> {
    Some(Cells { held: of - broken, of })
}

/// Judges the ordering along an axis at every combination of the other axes.
fn ordering(order: &OrderChain, along: &str, means: &BTreeMap<Combination, f64>) -> Finding {
    let mut places: BTreeMap<Combination, BTreeMap<&str, f64>> = BTreeMap::new();
    for (combination, value) in means {
        let mut place = combination.clone();
        place.remove(along);
        let label = combination.get(along).map_or("", String::as_str);
        places.entry(place).or_default().insert(label, *value);
    }
    let named = varying(&places);
    let verdicts: Vec<_> = places.iter().map(|(place, values)| at_place(order, values, &name(place, &named))).collect();
    let judged = verdicts.iter().all(|v| v.0.is_some());
    let broken: Vec<_> = verdicts.iter().filter(|v| v.0 != Some(true)).map(|v| v.1.clone()).collect();
    let shown = if broken.is_empty() { verdicts.iter().map(|v| v.1.clone()).collect() } else { broken };
    let pass = judged.then(|| verdicts.iter().all(|v| v.0 == Some(true)));
    let holds = verdicts.iter().filter(|v| v.0 == Some(true)).count();
    let cells = held(verdicts.len(), verdicts.len() - holds);
    Finding { pass, cells, detail: brief(&shown), ..Finding::default() }
}

/// The first few texts, and the number of the others.
fn brief(texts: &[String]) -> String {
    const SHOWN: usize = 4;
    let more = texts.len().saturating_sub(SHOWN);
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    texts.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ") + &tail
}

/// The axes on which these combinations differ.
fn varying<T>(places: &BTreeMap<Combination, T>) -> Vec<String> {
    let Some((first, _)) = places.first_key_value() else { return Vec::new() };
    first.keys().filter(|axis| places.keys().any(|p| p.get(*axis) != first.get(*axis))).cloned().collect()
}

fn name(place: &Combination, axes: &[String]) -> String {
    let parts: Vec<_> = axes.iter().filter_map(|a| place.get(a)).map(String::as_str).collect();
    if parts.is_empty() { String::new() } else { format!("{}: ", parts.join(" ")) }
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

/// The ordering at one combination: whether it holds (`None` if a label was not measured), and the values in words.
fn at_place(order: &OrderChain, values: &BTreeMap<&str, f64>, prefix: &str) -> (Option<bool>, String) {
    let told = |label: &String| {
        format!("{label} {}", values.get(label.as_str()).map_or("not measured".to_owned(), |v| short(*v)))
    };
    let group = |labels: &Vec<String>| labels.iter().map(told).collect::<Vec<_>>().join(" & ");
    let mut text = format!("{prefix}{}", order.groups.first().map_or(String::new(), group));
    let mut all = Some(true);
    for ((left, right), relation) in order.groups.iter().zip(order.groups.iter().skip(1)).zip(&order.relations) {
        let holds = relation_holds(left, *relation, right, values);
        all = all.zip(holds).map(|(so_far, this)| so_far && this);
        let not = if holds == Some(false) { "not " } else { "" };
        text.push_str(&format!(" {not}{} {}", sign(*relation), group(right)));
    }
    (all, text)
}

/// Whether the relation holds between each label on the left and each on the right; `None` if one was not measured.
fn relation_holds(left: &[String], relation: Relation, right: &[String], values: &BTreeMap<&str, f64>) -> Option<bool> {
    let mut all = true;
    for (a, b) in left.iter().flat_map(|a| right.iter().map(move |b| (a, b))) {
        all &= relation.holds(*values.get(a.as_str())?, *values.get(b.as_str())?);
    }
    Some(all)
}

/// A number with four digits.
fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 1000.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 0.1 || a == 0.0 => format!("{x:.3}"),
        _ => format!("{x:.2e}"),
    }
}

/// Compares the value of every combination with a bound.
fn bounded(bound: Bound, means: &BTreeMap<Combination, f64>, finding: &mut Finding) {
    let named = varying(means);
    let broken: Vec<_> = means
        .iter()
        .filter(|(_, v)| !bound.holds(**v))
        .map(|(c, v)| format!("{}{} is not {bound}", name(c, &named), short(*v)))
        .collect();
    // An ordering that could not be judged stays undecided.
    finding.pass = finding.pass.map(|holds| holds && broken.is_empty());
    let fewer = |own: Cells| if own.of == means.len() { own.held } else { means.len() };
    let own = finding.cells.map_or(means.len(), fewer);
    finding.cells = Some(Cells { held: own.min(means.len() - broken.len()), of: means.len() });
    finding.detail = join(&finding.detail, &brief(&broken));
    if let ([value], None) = (means.values().collect::<Vec<_>>().as_slice(), finding.measured) {
        finding.measured = Some(**value);
    }
}

#[cfg(test)]
mod tests;
