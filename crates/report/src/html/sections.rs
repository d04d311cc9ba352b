//! Sections of plots: one per combination, and one per discipline.

use aqmkit_results::{Overlay, RunData};
use serde::Serialize;

use super::ReportInput;
use super::figure::{Figure, Line, Lines, Swatch, curves, operating, over_windows, series};
use super::markdown;
use crate::grid::{Grid, Group, Table};

/// Maximum number of combinations with plots, and of lines per plot.
const MOST_GROUPS: usize = 8;
const MOST_LINES: usize = 8;

/// A combination, with its disciplines side by side.
#[derive(Debug, Serialize)]
pub(super) struct Mix {
    id: String,
    name: String,
    /// Plots of goodput against queue delay, by window.
    operating: Vec<(String, Figure)>,
    series: Option<Figure>,
    windows: Vec<Curves>,
}

#[derive(Debug, Serialize)]
struct Curves {
    window: String,
    figures: Vec<Figure>,
}

/// A single discipline.
#[derive(Debug, Serialize)]
pub(super) struct Discipline {
    id: String,
    name: String,
    swatch: Swatch,
    summary: String,
    parameters: Vec<(String, String)>,
    figures: Vec<(String, Figure)>,
}

/// How much of the results is plotted.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Extent {
    groups: usize,
    all_groups: usize,
    lines: usize,
    all_lines: usize,
}

/// Decides how much is plotted.
pub(super) fn extent(grid: &Grid) -> Extent {
    let (all_groups, all_lines) = (grid.groups.len(), grid.focus.labels.len());
    Extent { groups: all_groups.min(MOST_GROUPS), all_groups, lines: all_lines.min(MOST_LINES), all_lines }
}

/// Sections that compare disciplines. `summed_up`: the summary already has the operating points.
pub(super) fn mixes(input: &ReportInput<'_>, grid: &Grid, swatches: &[Swatch], summed_up: bool) -> Vec<Mix> {
    let mut mixes = Vec::new();
    for (place, group) in grid.groups.iter().take(MOST_GROUPS).enumerate() {
        let lines: Vec<Line<'_>> =
            swatches.iter().take(MOST_LINES).filter_map(|swatch| line(input.runs, grid, group, swatch)).collect();
        let windows =
            grid.windows.iter().map(|window| Curves { window: grid.named(window), figures: curves(window, &lines) });
        let shown: Vec<&str> = lines.iter().map(|line| line.swatch.label.as_str()).collect();
        let overlays = predicted(input, grid, group, &shown);
        let label = format!("Time series of all disciplines {}", group.title());
        let points = |table: &Table| -> Vec<(String, Figure)> {
            operating(grid, table, swatches).into_iter().map(|figure| (table.window.clone(), figure)).collect()
        };
        let mix = Mix {
            operating: group.tables.iter().filter(|_| !summed_up).flat_map(points).collect(),
            id: format!("mix-{}", place + 1),
            name: group.title(),
            series: series(label.trim_end().to_owned(), &lines, &Lines::Runs, &overlays, &input.results.plot),
            windows: windows.filter(|curves| !curves.figures.is_empty()).collect(),
        };
        if mix.series.is_some() || !mix.windows.is_empty() {
            mixes.push(mix);
        }
    }
    mixes
}

/// Sections of single disciplines.
pub(super) fn disciplines(input: &ReportInput<'_>, grid: &Grid, swatches: &[Swatch]) -> Vec<Discipline> {
    let section = |(place, swatch): (usize, &Swatch)| Discipline {
        id: format!("discipline-{}", place + 1),
        name: swatch.label.clone(),
        swatch: swatch.clone(),
        summary: summary(&swatch.label),
        parameters: input.parameters.get(&swatch.label).cloned().unwrap_or_default(),
        figures: own_figures(input, grid, swatch),
    };
    let all = swatches.iter().take(MOST_LINES).enumerate().map(section);
    all.filter(|found| !found.figures.is_empty() || !found.parameters.is_empty()).collect()
}

fn own_figures(input: &ReportInput<'_>, grid: &Grid, swatch: &Swatch) -> Vec<(String, Figure)> {
    let mut figures = Vec::new();
    for group in grid.groups.iter().take(MOST_GROUPS) {
        let Some(line) = line(input.runs, grid, group, swatch) else { continue };
        let label = format!("Time series of {} by class {}", swatch.label, group.title());
        let overlays = predicted(input, grid, group, &[&swatch.label]);
        figures.extend(
            series(label.trim_end().to_owned(), &[line], &Lines::Classes, &overlays, &[])
                .map(|figure| (group.title(), figure)),
        );
    }
    figures
}

/// Predictions and published values for a combination and these labels of the compared axis.
fn predicted(input: &ReportInput<'_>, grid: &Grid, group: &Group, shown: &[&str]) -> Vec<Overlay> {
    let meant = |axis: &str, any: &[String]| {
        let among = |label: &str| any.iter().any(|wanted| wanted == label);
        let of_group = group.labels.iter().any(|(name, label)| name == axis && among(label));
        of_group || (axis == grid.focus.name && shown.iter().any(|label| among(label)))
    };
    let drawn = |overlay: &&Overlay| overlay.selector.iter().all(|(axis, any)| meant(axis, any));
    let windows = input.runs.first().map(|run| run.output.windows.as_slice()).unwrap_or_default();
    let published = over_windows(input.results, windows);
    input.results.overlays.iter().filter(drawn).cloned().chain(published.iter().filter(drawn).cloned()).collect()
}

/// The runs of a combination in the order of their repeats; `None` if none is finished.
fn line<'a>(runs: &[RunData<'a>], grid: &Grid, group: &Group, swatch: &'a Swatch) -> Option<Line<'a>> {
    let is = |run: &RunData<'_>, axis: &str, wanted: &str| run.labels.get(axis).map_or("", String::as_str) == wanted;
    let matching = |run: &&RunData<'_>| {
        is(run, &grid.focus.name, &swatch.label) && group.labels.iter().all(|(axis, other)| is(run, axis, other))
    };
    let mut found: Vec<&RunData<'a>> = runs.iter().filter(matching).collect();
    found.sort_by_key(|run| run.labels.get("repeat").and_then(|text| text.parse::<u64>().ok()));
    (!found.is_empty()).then(|| Line { swatch, outputs: found.iter().map(|run| run.output).collect() })
}

/// A discipline's summary as HTML; empty for a label that is not a registered discipline.
fn summary(label: &str) -> String {
    aqmkit_aqm::registry::find(label).map_or_else(String::new, |entry| markdown::to_html(entry.summary()))
}
