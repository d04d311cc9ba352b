//! What a reader sees of an experiment: tables on a terminal, and a page with plots.

#![forbid(unsafe_code)]

pub mod columns;
pub mod format;
pub mod grid;
pub mod html;
pub mod markdown;
pub mod scoreboard;
pub mod terminal;
pub mod verdict;

pub use html::{ReportInput, write_html};
