//! `report`: the report of stored results once more.

use super::args;
use super::fail::Failure;
use super::perform::html;
use super::progress::Talk;
use super::say;
use crate::report::RunData;
use crate::store::Store;

/// `aqmkit report`.
///
/// # Errors
/// When the directory holds no results, or cannot be written to.
pub fn report(args: &args::Report, talk: Talk) -> Result<(), Failure> {
    let store = Store::existing(&args.dir)?;
    let results = store.results()?;
    let runs = store.load_list()?;
    let data: Vec<_> = runs.iter().map(|(l, output)| RunData { labels: &l.labels, output }).collect();
    if data.len() < results.planned && talk != Talk::Quiet {
        say::tell(&format!(
            "note: {} of {} runs are there; run the experiment for the rest",
            data.len(),
            results.planned
        ));
    }
    html(&args.dir, &results, &data, &store.parameters())?;
    Ok(say::print(&format!("Report: {}", args.dir.join("report.html").display()))?)
}
