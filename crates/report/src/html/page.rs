//! Everything the templates show.

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
use crate::columns::{Column, Term, columns};
use crate::format::{significant, thousands};
use crate::grid::{Grid, Group, Table};

/// Columns of this rank and above stand at the end of a table.
const RARE: u8 = 6;

/// The most combinations whose time series stand before the tables.
const MOST_BEFORE_TABLES: usize = 3;

/// Columns of a table that fit a screen; the others are folded away.
const MOST_COLUMNS: usize = 8;

/// The most combinations and windows of which each is summed up.
const MOST_ANSWERS: usize = 4;

/// A comparison in a sentence.
#[derive(Debug, Serialize)]
struct Answer {
    /// The combination and the window; empty where there is only one.
    place: String,
    text: String,
    picture: Option<Figure>,
}

/// The page.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    title: String,
    experiment: String,
    source: String,
    /// HTML.
    about: String,
    facts: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    /// How many runs are missing.
    missing: usize,
    repeats: usize,
    /// What the rows of the tables are.
    focus: String,
    swatches: Vec<Swatch>,
    /// What the comparison comes to, with the combination and window that it is about, and its picture.
    answers: Vec<Answer>,
    /// The tables, with the columns that matter most.
    groups: Vec<GlanceGroup>,
    /// The tables with all columns, where those are more.
    all: Vec<GlanceGroup>,
    terms: Vec<Term>,
    claims: Option<Claims>,
    /// Simulated and live, side by side.
    agreements: Vec<SideBySide>,
    /// What the rows and columns of the matrices are.
    sides: Option<(String, String, String)>,
    matrices: Vec<Matrix>,
    /// The figures that the experiment asks for.
    figures: Vec<Asked>,
    sweeps: Vec<(String, Figure)>,
    /// Columns that were to be plotted, and that no run has.
    absent: Vec<String>,
    mixes: Vec<Mix>,
    /// Whether the time series come before the tables: the experiment names what to plot, and it is not much.
    curves_first: bool,
    disciplines: Vec<Discipline>,
    extent: Extent,
    /// Runs to open in the player: the combination, and the address.
    players: Vec<(String, String)>,
}

/// One quantity, simulated and live.
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

/// A figure that the experiment asks for.
#[derive(Debug, Serialize)]
struct Asked {
    title: String,
    /// HTML.
    note: String,
    swatches: Vec<Swatch>,
    figures: Vec<(String, Figure)>,
}

fn asked(input: &ReportInput<'_>) -> Vec<Asked> {
    let one = |spec: &aqmkit_results::Figure| {
        let shown = laws(spec, input.results).or_else(|| responses(spec, input.runs));
        // A page of tables alone has no plots to miss.
        let shown = shown.or_else(|| (!input.runs.is_empty()).then(Shown::default))?;
        let note = markdown::to_html(&spec.note);
        Some(Asked { title: spec.title.clone(), note, swatches: shown.swatches, figures: shown.figures })
    };
    input.results.figures.iter().filter_map(one).collect()
}

/// The columns to plot that the series of no run have.
fn absent(input: &ReportInput<'_>) -> Vec<String> {
    let bare = |column: &str| column.trim_end_matches(".mean").to_owned();
    let there = |column: &&String| {
        let mut columns = input.runs.iter().flat_map(|run| run.output.series.columns.keys());
        input.runs.is_empty() || columns.any(|found| bare(found) == bare(column))
    };
    input.results.plot.iter().filter(|column| !there(column)).cloned().collect()
}

/// Arranges `input` for the templates.
pub(super) fn page(input: &ReportInput<'_>) -> Page {
    let results = input.results;
    let grid = Grid::of(results);
    let mut columns = columns(&grid);
    columns.sort_by_key(|column| column.kind.rank >= RARE);
    let few = foremost(&columns);
    let swatches = swatches(&grid.focus.labels);
    let title = if results.title.is_empty() { &results.experiment } else { &results.title };
    let answers = answers(&grid, &swatches);
    let mixes = mixes(input, &grid, &swatches, !answers.is_empty());
    Page {
        title: title.clone(),
        experiment: results.experiment.clone(),
        source: results.source.clone(),
        about: markdown::to_html(&results.about),
        facts: facts(input),
        warnings: input.warnings.clone(),
        missing: results.planned.saturating_sub(runs(results)),
        repeats: grid.repeats,
        focus: grid.row_name().to_owned(),
        groups: groups(&grid, &few, &swatches),
        all: if few.len() < columns.len() { groups(&grid, &columns, &swatches) } else { Vec::new() },
        terms: terms(&grid, &columns),
        claims: claims(results),
        agreements: results.agreements.iter().map(SideBySide::of).collect(),
        sides: results.overview.as_ref().map(|o| (o.rows.clone(), o.columns.clone(), markdown::to_html(&o.note))),
        matrices: matrices(input),
        figures: asked(input),
        // With two populations along two axes, lines along one of them are a tangle.
        sweeps: if results.overview.is_some() { Vec::new() } else { sweeps(results) },
        absent: absent(input),
        curves_first: asks_for_curves(results) && mixes.len() <= MOST_BEFORE_TABLES,
        mixes,
        answers,
        disciplines: disciplines(input, &grid, &swatches),
        extent: extent(&grid),
        swatches,
        players: players(input),
    }
}

/// The runs that can be opened in the player, by their combination.
fn players(input: &ReportInput<'_>) -> Vec<(String, String)> {
    let of_run = |axis: &str| axis == "repeat" || axis == "seed";
    let one = |(labels, fragment): &(BTreeMap<String, String>, String)| {
        let place: Vec<String> =
            labels.iter().filter(|(axis, _)| !of_run(axis)).map(|(axis, label)| format!("{axis} {label}")).collect();
        (place.join(", "), format!("play.html#{fragment}"))
    };
    input.players.iter().map(one).collect()
}

/// Whether the experiment names series to plot or predicts some.
fn asks_for_curves(results: &Results) -> bool {
    !results.plot.is_empty() || !results.overlays.is_empty()
}

/// The columns that matter most, in their order.
fn foremost(columns: &[Column]) -> Vec<Column> {
    let mut ranks: Vec<u8> = columns.iter().map(|column| column.kind.rank).collect();
    ranks.sort_unstable();
    let Some(worst) = ranks.get(MOST_COLUMNS - 1) else { return columns.to_vec() };
    // Of those with the last rank that fits, as many as there is room for.
    let mut room = MOST_COLUMNS - ranks.iter().filter(|rank| *rank < worst).count();
    let mut fits = |column: &&Column| {
        let last = column.kind.rank == *worst;
        let fits = column.kind.rank < *worst || (last && room > 0);
        room -= usize::from(last && fits);
        fits
    };
    columns.iter().filter(|column| fits(column)).cloned().collect()
}

/// What the comparison comes to, for each combination and window where those are few.
fn answers(grid: &Grid, swatches: &[Swatch]) -> Vec<Answer> {
    let tables = || grid.groups.iter().flat_map(|group| group.tables.iter().map(move |table| (group, table)));
    if tables().count() > MOST_ANSWERS {
        return Vec::new();
    }
    let of = |(group, table): (&Group, &Table)| {
        let place = [group.title(), table.window.clone()].into_iter().filter(|text| !text.is_empty());
        let place = if tables().count() > 1 { place.collect::<Vec<_>>().join(", ") } else { String::new() };
        Some(Answer { place, text: answer(grid, table)?, picture: operating(grid, table, swatches) })
    };
    tables().filter_map(of).collect()
}

/// The entries of the first window, of which there is one for each run.
fn first_entries(results: &Results) -> impl Iterator<Item = &Entry> {
    let window = results.runs.first().and_then(|entry| entry.labels.get("window"));
    results.runs.iter().filter(move |entry| entry.labels.get("window") == window)
}

fn runs(results: &Results) -> usize {
    first_entries(results).count()
}

/// How it was run.
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

/// The seeds, or the first and the last of many.
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
