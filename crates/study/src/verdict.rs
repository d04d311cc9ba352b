//! Verdicts: published values compared with measured values.
//!
//! A claim is an `[[expect]]` of an experiment together with its row in `published.csv`. [`check`] checks claims before
//! anything is run; [`judge`] judges them afterwards. A claim is neither met nor missed until all of its runs are
//! finished.

mod chain;
pub(crate) mod evidence;
mod exchanges;
mod plain;
mod published;
mod response;
mod spread;
mod tolerance;

pub use plain::{Plain, first_run};
pub use published::Published;

use std::collections::BTreeMap;

use aqmkit_base::near::closest;
use aqmkit_experiment::{Bound, Compare, Expect, OrderChain};
use aqmkit_formulas::unit::{Quantity, Unit};
use aqmkit_results::statistics::{Stat, mean};
use aqmkit_results::{Basis, Cells, Expectation, PublishedPoint, Verdict};
use chain::AtPlace;
use evidence::{Combination, Evidence, Sample};
use published::{Kind, Row};
use spread::{Runs, Spread, within};

/// Finds the first error in claims that the check of the experiment cannot find: rows missing from `published.csv`,
/// wrong units, formulas that cannot be computed.
///
/// # Errors
/// The claim's id, the error, and how to correct it.
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

/// Judges all claims. A cell is undecided if the spread of its runs leaves open whether it meets its limit.
#[must_use]
pub fn judge(expects: &[Expect], published: &Published, evidence: &Evidence<'_>) -> Vec<Expectation> {
    expects.iter().map(|e| judge_one(e, published, evidence, Spread::Decides)).collect()
}

/// Judges all claims by the means of their runs alone, whatever their spread.
#[must_use]
pub fn judge_means(expects: &[Expect], published: &Published, evidence: &Evidence<'_>) -> Vec<Expectation> {
    expects.iter().map(|e| judge_one(e, published, evidence, Spread::Ignored)).collect()
}

/// The verdict on a claim, with the values behind it.
#[derive(Default)]
struct Finding {
    measured: Option<f64>,
    spread: Option<f64>,
    repeats: usize,
    /// Verdict on each cell; `None` if it cannot be judged.
    verdicts: Option<Vec<Verdict>>,
    comparisons: Option<Cells>,
    detail: String,
}

fn judge_one(expect: &Expect, published: &Published, evidence: &Evidence<'_>, spread: Spread) -> Expectation {
    let open = unjudged(expect, published);
    let Some(row) = published.get(&expect.id) else { return open };
    let found = if expect.formula.is_some() { computed(expect, row) } else { measured(expect, row, evidence, spread) };
    let found = found.unwrap_or_else(|detail| Finding { detail, ..Finding::default() });
    let cells = found.verdicts.map(Cells::count);
    let mut judged = Expectation {
        measured: found.measured,
        spread: found.spread,
        repeats: found.repeats,
        cells: cells.filter(|cells| cells.of > 1),
        comparisons: found.comparisons,
        detail: join(&found.detail, &expect.note),
        ..open
    };
    judged.set_verdict(cells.map(|cells| cells.verdict()));
    judged
}

/// A claim with its published value, before it is judged.
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
        headline: expect.headline.clone().unwrap_or_default(),
        printed: row.printed(),
        point: point(expect, row),
        detail: expect.note.clone(),
        ..Expectation::default()
    }
}

/// The published number in the unit of the claim's metric, if the claim is about a single metric in a window.
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

/// Text of the claim, if its row has no number.
fn claim_text(expect: &Expect, row: &Row) -> String {
    let order = expect.order.as_ref().map(OrderChain::to_string);
    let every = expect.every.map(|e| format!("each {e} {}", row.unit).trim().to_owned());
    order.into_iter().chain(every).collect::<Vec<_>>().join(", ")
}

fn computed(expect: &Expect, row: &Row) -> Result<Finding, String> {
    let name = expect.formula.as_deref().unwrap_or_default();
    let value = in_unit(row, aqmkit_formulas::evaluate(name, &expect.args).map_err(|e| e.to_string())?)?;
    let met = row.meets(value) && expect.every.is_none_or(|b| b.holds(value));
    let verdicts = Some(vec![if met { Verdict::Met } else { Verdict::Missed }]);
    Ok(Finding { measured: Some(value), verdicts, ..Finding::default() })
}

/// A quantity in the row's unit, or in its base unit if the row has none.
fn in_unit(row: &Row, q: Quantity) -> Result<f64, String> {
    row.unit().map_or(Ok(q.value), |u: &Unit| u.express(q))
}

fn measured(expect: &Expect, row: &Row, evidence: &Evidence<'_>, spread: Spread) -> Result<Finding, String> {
    let samples = evidence.samples(expect)?;
    if samples.is_empty() && expect.exchanges.is_some() && evidence.complete(expect) {
        return Err("no run has such an exchange".to_owned());
    }
    if samples.is_empty() {
        return Err("none of its runs is finished".to_owned());
    }
    let cells = match (&expect.order, &expect.average) {
        (Some(_), Some(_)) => averaged(&samples, &expect.along, row)?,
        _ => by_cell(&samples, row)?,
    };
    let mut finding = match &expect.order {
        Some(order) => ordering(order, &expect.along, &cells, spread),
        None => number(&samples, &cells, expect.average.is_some(), row, spread)?,
    };
    if let Some(bound) = expect.every {
        bounded(bound, &cells, spread, expect.order.is_some(), &mut finding);
    }
    if !evidence.complete(expect) {
        finding.verdicts = None;
        finding.detail = join(&finding.detail, "not all of its runs are finished");
    }
    Ok(finding)
}

fn join(a: &str, b: &str) -> String {
    [a, b].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Values of each combination over the repeats, in the row's unit.
fn by_cell(samples: &[Sample], row: &Row) -> Result<BTreeMap<Combination, Runs>, String> {
    let mut cells: BTreeMap<Combination, Runs> = BTreeMap::new();
    for s in samples {
        cells.entry(s.combination.clone()).or_default().push(&s.seed, in_unit(row, s.value)?);
    }
    Ok(cells)
}

/// Like [`by_cell`] for each label of one axis, averaged over all other axes in each repeat.
fn averaged(samples: &[Sample], along: &str, row: &Row) -> Result<BTreeMap<Combination, Runs>, String> {
    let mut labels: BTreeMap<(String, &str), (&str, Vec<f64>)> = BTreeMap::new();
    for s in samples {
        let label = s.combination.get(along).cloned().unwrap_or_default();
        let (_, values) = labels.entry((label, &s.repeat)).or_insert((&s.seed, Vec::new()));
        values.push(in_unit(row, s.value)?);
    }
    let mut cells: BTreeMap<Combination, Runs> = BTreeMap::new();
    for ((label, _), (seed, values)) in labels {
        cells.entry([(along.to_owned(), label)].into()).or_default().push(seed, mean(&values));
    }
    Ok(cells)
}

/// Judges a published number: by each cell's mean, or, if the paper averages, by the mean over all cells. The result
/// shows the mean over all cells, and the standard deviation of the repeats' means.
fn number(
    samples: &[Sample],
    cells: &BTreeMap<Combination, Runs>,
    averaged: bool,
    row: &Row,
    spread: Spread,
) -> Result<Finding, String> {
    let mut repeats: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for s in samples {
        repeats.entry(&s.repeat).or_default().push(in_unit(row, s.value)?);
    }
    let of_repeats: Vec<f64> = repeats.values().map(|values| mean(values)).collect();
    let all: Vec<f64> = repeats.into_values().flatten().collect();
    let stat = Stat { mean: mean(&all), ..Stat::of(&of_repeats).unwrap_or_default() };
    let found = Finding { measured: Some(stat.mean), spread: stat.sd, repeats: stat.count, ..Finding::default() };
    if averaged {
        return Ok(Finding { verdicts: Some(vec![decided(&stat, row, spread)]), ..found });
    }
    let named = varying(cells);
    let several = cells.len() > 1;
    let verdicts: Vec<Verdict> = cells.values().map(|runs| decided(&runs.stat(), row, spread)).collect();
    let described = |wanted: Verdict| -> Vec<String> {
        let these = cells.iter().zip(&verdicts).filter(|(_, verdict)| several && **verdict == wanted);
        these.map(|((c, runs), _)| format!("{}{}", name(c, &named), runs.text(wanted))).collect()
    };
    let listed = |title: &str, texts: Vec<String>| {
        if texts.is_empty() { String::new() } else { format!("{title}: {}", brief(&texts)) }
    };
    let detail =
        join(&listed("outside", described(Verdict::Missed)), &listed("undecided", described(Verdict::Undecided)));
    Ok(Finding { verdicts: Some(verdicts), detail, ..found })
}

/// The verdict on a published number by the limits of its row.
fn decided(stat: &Stat, row: &Row, spread: Spread) -> Verdict {
    let (low, high) = row.accepted();
    within(stat, row.meets(stat.mean), (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY)), spread)
}

/// Judges an ordering along an axis in every combination of the other axes.
fn ordering(order: &OrderChain, along: &str, cells: &BTreeMap<Combination, Runs>, spread: Spread) -> Finding {
    let mut places: BTreeMap<Combination, BTreeMap<&str, &Runs>> = BTreeMap::new();
    for (combination, runs) in cells {
        let mut place = combination.clone();
        place.remove(along);
        let label = combination.get(along).map_or("", String::as_str);
        places.entry(place).or_default().insert(label, runs);
    }
    let named = varying(&places);
    let at = |(place, values): (&Combination, &BTreeMap<&str, &Runs>)| {
        chain::at_place(order, values, &name(place, &named), spread)
    };
    let judged: Vec<AtPlace> = places.iter().map(at).collect();
    let text = |place: &AtPlace| place.text.clone();
    let broken: Vec<_> = judged.iter().filter(|p| p.verdict() != Some(Verdict::Met)).map(text).collect();
    let shown = if broken.is_empty() { judged.iter().map(text).collect() } else { broken };
    let comparisons: Option<Vec<Vec<Verdict>>> = judged.iter().map(|place| place.comparisons.clone()).collect();
    Finding {
        verdicts: judged.iter().map(AtPlace::verdict).collect(),
        comparisons: comparisons.map(|each| Cells::count(each.concat())),
        detail: brief(&shown),
        ..Finding::default()
    }
}

/// The first few texts, and the number of others.
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

/// A number with four digits.
fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 1000.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 0.1 || a == 0.0 => format!("{x:.3}"),
        _ => format!("{x:.2e}"),
    }
}

/// Compares every combination with a bound. With an ordering, these count as additional cells; with a number, both must
/// hold in a cell.
fn bounded(bound: Bound, cells: &BTreeMap<Combination, Runs>, spread: Spread, ordered: bool, finding: &mut Finding) {
    let named = varying(cells);
    let limits = match bound.compare {
        Compare::AtLeast | Compare::Above => (bound.value, f64::INFINITY),
        Compare::AtMost | Compare::Below => (f64::NEG_INFINITY, bound.value),
    };
    let judge = |runs: &Runs| {
        let stat = runs.stat();
        within(&stat, bound.holds(stat.mean), limits, spread)
    };
    let verdicts: Vec<Verdict> = cells.values().map(judge).collect();
    let described = |((c, runs), verdict): ((&Combination, &Runs), &Verdict)| {
        let what = match verdict {
            Verdict::Met => return None,
            Verdict::Missed => "is not",
            Verdict::Undecided => "may not be",
        };
        Some(format!("{}{} {what} {bound}", name(c, &named), runs.text(*verdict)))
    };
    let broken: Vec<_> = cells.iter().zip(&verdicts).filter_map(described).collect();
    finding.detail = join(&finding.detail, &brief(&broken));
    if let ([runs], None) = (cells.values().collect::<Vec<_>>().as_slice(), finding.measured) {
        let stat = runs.stat();
        (finding.measured, finding.spread, finding.repeats) = (Some(stat.mean), stat.sd, stat.count);
    }
    // An ordering that could not be judged stays open.
    let Some(own) = finding.verdicts.take() else { return };
    finding.verdicts = Some(match ordered {
        false if own.len() == verdicts.len() => own.into_iter().zip(verdicts).map(|(a, b)| worse(a, b)).collect(),
        _ => [own, verdicts].concat(),
    });
}

/// The verdict on a cell with two conditions.
fn worse(a: Verdict, b: Verdict) -> Verdict {
    Cells::count([a, b]).verdict()
}

#[cfg(test)]
mod tests;
