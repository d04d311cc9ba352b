//! The page of `aqmkit advise`.

use aqmkit_results::advice::{Advice, Finalist, Role, Value};
use serde::Serialize;

use super::figure::{Against, Figure, Swatch, factors, front, swatches};
use crate::format::{significant, thousands};

/// Variables of the template.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    /// The recommended discipline.
    title: String,
    meets: bool,
    /// Whether any goal has a bound.
    bounded: bool,
    link: String,
    traffic: String,
    wish: String,
    summary: Vec<String>,
    finalists: Vec<Column>,
    goals: Vec<Row>,
    install: aqmkit_results::advice::Install,
    swatches: Vec<Swatch>,
    goodput: Option<Figure>,
    page: Option<Figure>,
    factors: Option<Figure>,
    rounds: Vec<(String, usize, String)>,
    facts: Vec<(String, String)>,
    /// Number of candidates and runs.
    tried: String,
}

/// Heading of a finalist's column.
#[derive(Debug, Serialize)]
struct Column {
    swatch: Swatch,
    name: String,
    role: &'static str,
    parameters: String,
    worse: String,
    interval: String,
}

/// Row of a goal.
#[derive(Debug, Serialize)]
struct Row {
    words: String,
    unit: String,
    bound: String,
    weight: String,
    cells: Vec<Cell>,
}

/// A finalist's value.
#[derive(Debug, Serialize)]
struct Cell {
    mean: String,
    within: String,
    class: &'static str,
    sign: &'static str,
    words: &'static str,
}

pub(super) fn page(advice: &Advice) -> Page {
    let mut names: Vec<String> = Vec::new();
    for finalist in &advice.finalists {
        if !names.contains(&finalist.discipline) {
            names.push(finalist.discipline.clone());
        }
    }
    let swatches = swatches(&names);
    let columns: Vec<Column> = advice.finalists.iter().filter_map(|finalist| column(finalist, &swatches)).collect();
    let labels: Vec<String> = columns.iter().map(|column| format!("{}, {}", column.name, column.role)).collect();
    let runs: usize = advice.tried.iter().map(|tried| tried.runs).sum();
    Page {
        title: advice.finalists.first().map_or_else(String::new, |choice| choice.discipline.clone()),
        meets: advice.meets,
        bounded: advice.goals.iter().any(|goal| goal.bound.is_some()),
        link: advice.link.clone(),
        traffic: advice.traffic.clone(),
        wish: advice.wish.clone(),
        summary: advice.summary.clone(),
        goals: (0..advice.goals.len()).map(|place| row(advice, place)).collect(),
        install: advice.install.clone(),
        goodput: front(advice, &swatches, Against::Goodput),
        page: front(advice, &swatches, Against::Page),
        factors: factors(&advice.finalists, &labels, &swatches),
        finalists: columns,
        swatches,
        rounds: advice
            .rounds
            .iter()
            .map(|(words, disciplines, count)| (words.clone(), *disciplines, thousands(*count as u64)))
            .collect(),
        facts: advice.facts.clone(),
        tried: format!("{} candidates in {} runs", thousands(advice.tried.len() as u64), thousands(runs as u64)),
    }
}

fn column(finalist: &Finalist, swatches: &[Swatch]) -> Option<Column> {
    let swatch = swatches.iter().find(|swatch| swatch.label == finalist.discipline)?.clone();
    let role = match finalist.role {
        Role::Choice => "advised",
        Role::RunnerUp => "second best",
        Role::Defaults => "defaults",
        Role::Beyond => "not in tc",
    };
    let parameters =
        finalist.parameters.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ");
    let (worse, interval) = finalist.worse.map_or(("1".to_owned(), String::new()), |worse| {
        (significant(worse.mean, 3), format!("{} to {}", significant(worse.low, 3), significant(worse.high, 3)))
    });
    Some(Column { swatch, name: finalist.discipline.clone(), role, parameters, worse, interval })
}

fn row(advice: &Advice, place: usize) -> Row {
    let goal = &advice.goals[place];
    let weight = if goal.weight > 0.0 { significant(goal.weight, 2) } else { "–".to_owned() };
    Row {
        words: goal.words.clone(),
        unit: goal.unit.clone(),
        bound: goal.bound.clone().unwrap_or_default(),
        weight,
        cells: advice.finalists.iter().filter_map(|finalist| finalist.values.get(place)).map(cell).collect(),
    }
}

fn cell(value: &Value) -> Cell {
    let (class, sign, words) = match (value.holds, value.certain) {
        (Some(true), true) => ("holds", "✓", "within the bound"),
        (Some(true), false) => ("holds", "✓?", "within the bound on average, but not with 95 % confidence"),
        (Some(false), true) => ("missed", "✗", "outside the bound"),
        (Some(false), false) => ("missed", "✗?", "outside the bound on average, but not with 95 % confidence"),
        (None, _) => ("", "", ""),
    };
    Cell {
        mean: value.mean.map_or("–".to_owned(), |mean| significant(mean, 3)),
        within: value.within.map_or_else(String::new, |within| format!("±{}", significant(within, 2))),
        class,
        sign,
        words,
    }
}
