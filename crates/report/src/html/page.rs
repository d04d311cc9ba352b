//! The variables of the page's template.

use std::collections::BTreeMap;

use aqmkit_results::{Agreement, Entry, Results};
use serde::Serialize;

use super::ReportInput;
use super::claims::{Claims, claims};
use super::figure::{Figure, Shown, Swatch, laws, operating, responses, swatches, sweeps};
use super::glance::{GlanceGroup, groups, terms};
use super::markdown;
use super::overview::{Matrix, matrices};
use super::sections::{Discipline, Extent, Mix, disciplines, extent, mixes};
use crate::answer::answer;
use crate::circuits::{Map, maps};
use crate::columns::{Column, Term, columns};
use crate::format::{significant, thousands};
use crate::grid::{Grid, Group, Table};
use crate::notes::notes;

/// Columns with at least this rank are at the end of a table.
const RARE: u8 = 6;

/// With more combinations than this, time series come after the tables.
const MOST_BEFORE_TABLES: usize = 3;

/// Number of columns that fit on a screen; the others are folded.
const MOST_COLUMNS: usize = 8;

/// With more combinations and windows than this, only one has a summary.
const MOST_ANSWERS: usize = 4;

/// Maximum number of small plots for combinations other than the first.
const MOST_MULTIPLES: usize = 8;

/// A summary of the comparison.
#[derive(Debug, Serialize)]
struct Answer {
    /// Combination and window; empty if there is only one.
    place: String,
    text: String,
    /// One plot per direction that has a queue.
    pictures: Vec<Figure>,
}

/// Variables of the template.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    title: String,
    experiment: String,
    source: String,
    /// As HTML.
    about: String,
    /// Settings of the experiment: name and value.
    setting: Vec<(String, String)>,
    facts: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    /// Number of missing runs.
    missing: usize,
    repeats: usize,
    /// Whether there are several windows.
    windowed: bool,
    /// Noun for the rows of tables.
    focus: String,
    swatches: Vec<Swatch>,
    /// Summaries of the comparison.
    answers: Vec<Answer>,
    /// Notes that a reader needs to interpret the results.
    notes: Vec<String>,
    /// The customers of an operator, by load and delay.
    circuits: Vec<Map>,
    /// The first combination's last window, if there are too many tables to show all.
    first: Option<GlanceGroup>,
    /// Plots of the other combinations in that window.
    multiples: Vec<(String, Figure)>,
    /// Tables with the most important columns.
    groups: Vec<GlanceGroup>,
    /// Number of tables in `groups`.
    tables: usize,
    /// Tables with all columns, if there are more.
    all: Vec<GlanceGroup>,
    terms: Vec<Term>,
    claims: Option<Claims>,
    /// Values side by side, simulated and live.
    agreements: Vec<SideBySide>,
    /// Names of rows and columns of the matrices, and of what they show.
    sides: Option<(String, String, String)>,
    matrices: Vec<Matrix>,
    /// Reproduced figures of papers.
    figures: Vec<RequestedFigure>,
    sweeps: Vec<(String, Figure)>,
    /// Columns in `plot` that no run has.
    absent: Vec<String>,
    mixes: Vec<Mix>,
    /// Whether time series come before the tables, because the experiment lists a few columns to plot.
    curves_first: bool,
    disciplines: Vec<Discipline>,
    extent: Extent,
    player: Option<Chooser>,
}

/// Controls that open a run in the page of `aqmkit play`.
#[derive(Debug, Serialize)]
struct Chooser {
    /// URL fragment, without the run.
    fragment: String,
    /// Combinations and repeats to choose from; a single unnamed one if there is no choice.
    combinations: Vec<String>,
    repeats: Vec<String>,
    /// Why no run can be opened; empty if runs can.
    refused: String,
}

/// A metric, simulated and live.
#[derive(Debug, Serialize)]
struct SideBySide {
    place: String,
    what: String,
    on: String,
    simulated: String,
    live: String,
    within: String,
    holds: bool,
}

impl SideBySide {
    fn of(a: &Agreement) -> Self {
        let [simulated, live, within] = [a.simulated, a.live, a.within].map(|v| significant(v, 3));
        SideBySide {
            place: a.place.clone(),
            what: a.what.clone(),
            on: a.on.clone(),
            simulated,
            live,
            within,
            holds: a.holds(),
        }
    }
}

/// A figure that the experiment requests.
#[derive(Debug, Serialize)]
struct RequestedFigure {
    title: String,
    /// As HTML.
    note: String,
    swatches: Vec<Swatch>,
    figures: Vec<(String, Figure)>,
}

fn requested_figures(input: &ReportInput<'_>) -> Vec<RequestedFigure> {
    let one = |spec: &aqmkit_results::Figure| {
        let shown = laws(spec, input.results).or_else(|| responses(spec, input.runs));
        // A page without plots does not miss any.
        let shown = shown.or_else(|| (!input.runs.is_empty()).then(Shown::default))?;
        let note = markdown::to_html(&spec.note);
        Some(RequestedFigure { title: spec.title.clone(), note, swatches: shown.swatches, figures: shown.figures })
    };
    input.results.figures.iter().filter_map(one).collect()
}

/// Columns in `plot` that no run has.
fn absent(input: &ReportInput<'_>) -> Vec<String> {
    let bare = |column: &str| column.trim_end_matches(".mean").to_owned();
    let there = |column: &&String| {
        let mut columns = input.runs.iter().flat_map(|run| run.output.series.columns.keys());
        input.runs.is_empty() || columns.any(|found| bare(found) == bare(column))
    };
    input.results.plot.iter().filter(|column| !there(column)).cloned().collect()
}

/// Collects the variables of the template.
pub(super) fn page(input: &ReportInput<'_>) -> Page {
    let results = input.results;
    let grid = Grid::of(results);
    let mut columns = columns(&grid);
    columns.sort_by_key(|column| column.kind.rank >= RARE);
    let few = foremost(&columns);
    let swatches = swatches(&grid.focus.labels);
    let title = if results.title.is_empty() { &results.experiment } else { &results.title };
    let answers = answers(results, &grid, &swatches);
    let mixes = mixes(input, &grid, &swatches, !answers.is_empty());
    Page {
        title: title.clone(),
        experiment: results.experiment.clone(),
        source: results.source.clone(),
        about: markdown::to_html(&results.about),
        setting: setting(results, grid.repeats),
        facts: facts(input),
        warnings: input.warnings.clone(),
        missing: results.planned.saturating_sub(runs(results)),
        repeats: grid.repeats,
        windowed: grid.windows.len() > 1,
        focus: grid.row_name().to_owned(),
        notes: notes(results),
        circuits: maps(results),
        first: crowded(results, &grid)
            .then(|| groups(&grid, &few, &swatches, &results.controls).into_iter().next().map(GlanceGroup::last))
            .flatten(),
        multiples: if crowded(results, &grid) { multiples(&grid, &swatches) } else { Vec::new() },
        groups: groups(&grid, &few, &swatches, &results.controls),
        tables: grid.tables(),
        all: if few.len() < columns.len() { groups(&grid, &columns, &swatches, &BTreeMap::new()) } else { Vec::new() },
        terms: terms(&grid, &columns),
        claims: claims(results),
        agreements: results.agreements.iter().map(SideBySide::of).collect(),
        sides: results.overview.as_ref().map(|o| (o.rows.clone(), o.columns.clone(), markdown::to_html(&o.note))),
        matrices: matrices(input),
        figures: requested_figures(input),
        // With two populations on two axes, lines along one axis are illegible.
        sweeps: if results.overview.is_some() { Vec::new() } else { sweeps(results) },
        absent: absent(input),
        curves_first: asks_for_curves(results) && mixes.len() <= MOST_BEFORE_TABLES,
        mixes,
        answers,
        disciplines: disciplines(input, &grid, &swatches),
        extent: extent(&grid),
        swatches,
        player: chooser(input),
    }
}

/// The runs that the page of `aqmkit play` can open.
fn chooser(input: &ReportInput<'_>) -> Option<Chooser> {
    let player = &input.player;
    if player.fragment.is_empty() && player.refused.is_empty() {
        return None;
    }
    let name = |labels: &BTreeMap<String, String>| {
        let parts: Vec<String> = labels.iter().map(|(axis, label)| format!("{axis} {label}")).collect();
        parts.join(", ")
    };
    let repeat = |(i, seed): (usize, &String)| format!("{}, seed {seed}", i + 1);
    Some(Chooser {
        fragment: player.fragment.clone(),
        combinations: player.combinations.iter().map(name).collect(),
        repeats: player.seeds.iter().enumerate().map(repeat).collect(),
        refused: player.refused.clone(),
    })
}

/// Whether the experiment requests time series: columns to plot, or predictions.
fn asks_for_curves(results: &Results) -> bool {
    !results.plot.is_empty() || !results.overlays.is_empty()
}

/// The most important columns, in display order.
fn foremost(columns: &[Column]) -> Vec<Column> {
    let mut ranks: Vec<u8> = columns.iter().map(|column| column.kind.rank).collect();
    ranks.sort_unstable();
    let Some(worst) = ranks.get(MOST_COLUMNS - 1) else { return columns.to_vec() };
    // Fills the remaining space with columns of the last rank.
    let mut room = MOST_COLUMNS - ranks.iter().filter(|rank| *rank < worst).count();
    let mut fits = |column: &&Column| {
        let last = column.kind.rank == *worst;
        let fits = column.kind.rank < *worst || (last && room > 0);
        room -= usize::from(last && fits);
        fits
    };
    columns.iter().filter(|column| fits(column)).cloned().collect()
}

/// Whether to show one table of many. An overview's matrices make that unnecessary.
fn crowded(results: &Results, grid: &Grid) -> bool {
    grid.tables() > MOST_ANSWERS && results.overview.is_none()
}

/// Plots of the combinations after the first, in the representative window.
fn multiples(grid: &Grid, swatches: &[Swatch]) -> Vec<(String, Figure)> {
    let of = |group: &Group| {
        let pictures = group.tables.last().map(|table| operating(grid, table, swatches)).unwrap_or_default();
        pictures.into_iter().map(|picture| (group.title(), picture)).collect::<Vec<_>>()
    };
    grid.groups.iter().skip(1).take(MOST_MULTIPLES).flat_map(of).collect()
}

/// Summaries: one per combination and window if these are few, otherwise that of the representative table.
fn answers(results: &Results, grid: &Grid, swatches: &[Swatch]) -> Vec<Answer> {
    let tables = || -> Vec<(&Group, &Table)> {
        if crowded(results, grid) {
            return grid.foremost().into_iter().collect();
        }
        grid.groups.iter().flat_map(|group| group.tables.iter().map(move |table| (group, table))).collect()
    };
    if tables().len() > MOST_ANSWERS {
        return Vec::new();
    }
    let of = |(group, table): (&Group, &Table)| {
        let place = [group.title(), table.window.clone()].into_iter().filter(|text| !text.is_empty());
        let place = if grid.tables() > 1 { place.collect::<Vec<_>>().join(", ") } else { String::new() };
        Some(Answer { place, text: answer(grid, table)?, pictures: operating(grid, table, swatches) })
    };
    tables().into_iter().filter_map(of).collect()
}

/// Entries of the first window, one per run.
fn first_entries(results: &Results) -> impl Iterator<Item = &Entry> {
    let window = results.runs.first().and_then(|entry| entry.labels.get("window"));
    results.runs.iter().filter(move |entry| entry.labels.get("window") == window)
}

fn runs(results: &Results) -> usize {
    first_entries(results).count()
}

/// The settings of the experiment, and the number of repeats.
fn setting(results: &Results, repeats: usize) -> Vec<(String, String)> {
    let mut setting: Vec<(String, String)> =
        results.setting.iter().map(|fact| (fact.name.clone(), fact.value.clone())).collect();
    if !setting.is_empty() {
        let runs =
            if repeats == 1 { "1 of each".to_owned() } else { format!("{repeats} of each, with different seeds") };
        setting.push(("runs".to_owned(), runs));
    }
    setting
}

/// Facts about the experiment and its runs.
fn facts(input: &ReportInput<'_>) -> Vec<(&'static str, String)> {
    let results = input.results;
    let entries = || first_entries(results);
    let packets: u64 = entries().map(|entry| entry.engine.packets).sum();
    let cpu: f64 = entries().map(|entry| entry.engine.cpu_s).sum();
    let mut facts = vec![
        ("aqmkit", results.version.clone()),
        ("inputs", results.hash.chars().take(12).collect()),
        ("scale", results.scale.clone()),
        ("runs", runs(results).to_string()),
        ("seeds", seeds(results)),
    ];
    if cpu > 0.0 {
        facts.push(("CPU time", format!("{} s", significant(cpu, 3))));
        facts.push(("packets", thousands(packets)));
        facts.push(("speed", format!("{} packets/s", thousands((packets as f64 / cpu) as u64))));
    }
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// All seeds, or the first and the last if there are many.
fn seeds(results: &Results) -> String {
    let mut seeds: Vec<&str> =
        first_entries(results).filter_map(|entry| Some(entry.labels.get("seed")?.as_str())).collect();
    seeds.sort_by_key(|seed| (seed.len(), *seed));
    seeds.dedup();
    match &seeds[..] {
        [first, .., last] if seeds.len() > 6 => format!("{} of them, {first} to {last}", seeds.len()),
        few => few.join(", "),
    }
}
