//! `report`: builds the report of stored results again.

use aqmkit_lab::html;
use aqmkit_lab::player::page;
use aqmkit_report::ReportInput;
use aqmkit_runs::store::{Parameters, Store, damage};

use super::args;
use super::fail::Failure;
use super::progress::Talk;
use super::say;

/// `aqmkit report`.
///
/// # Errors
/// When the directory holds no results, or cannot be written to.
pub(super) fn report(args: &args::Report, talk: Talk) -> Result<(), Failure> {
    let store = Store::existing(&args.dir)?;
    let stored = store.results()?;
    let runs = store.load_list()?;
    let mut warnings = damage::warnings(&store, &stored, &runs);
    let parameters = store.parameters().unwrap_or_else(|e| {
        warnings.push(format!(
            "{e}; the report lacks the parameters of the disciplines until the original command is repeated"
        ));
        Parameters::default()
    });
    // Without the player, the report only lacks its links.
    let player = store.player().unwrap_or_default();
    warnings.iter().for_each(|text| say::message(&format!("warning: {text}")));
    let (results, data) = (&stored.results, runs.data());
    if data.len() + runs.broken.len() < results.planned && talk != Talk::Quiet {
        say::message(&format!(
            "note: {} of {} runs are stored; run the experiment to complete them",
            data.len(),
            results.planned
        ));
    }
    let page = if args.page_beside { "" } else { page() };
    let input = ReportInput { parameters, warnings, player, page, ..ReportInput::new(results, &data) };
    html(&args.dir, &input)?;
    Ok(say::print(&format!("Report: {}", args.dir.join("report.html").display()))?)
}
