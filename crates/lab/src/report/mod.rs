//! What a reader sees of an experiment: tables on a terminal, and a page with plots.

pub mod columns;
pub mod format;
pub mod grid;
pub mod html;
pub mod markdown;
pub mod metrics;
pub mod ruler;
pub mod scoreboard;
pub mod terminal;
pub mod verdict;

pub use html::{ReportInput, write_html};

use std::collections::BTreeMap;

use aqmkit_sim::output::Output;

/// One run: what was swept (the axes, `repeat`, `seed`) and what it measured.
#[derive(Clone, Copy, Debug)]
pub struct RunData<'a> {
    /// The labels.
    pub labels: &'a BTreeMap<String, String>,
    /// What was measured.
    pub output: &'a Output,
}
