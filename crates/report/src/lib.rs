//! Reports of experiments: tables for terminals, Markdown for documents, and an HTML page with plots.

#![forbid(unsafe_code)]

mod answer;
mod card;
mod circuits;
mod columns;
mod controls;
pub mod difference;
pub mod format;
mod grid;
pub mod html;
pub mod markdown;
mod notes;
pub mod precision;
pub mod scoreboard;
pub mod studies;
pub mod terminal;
mod verdict;

pub use html::{PlayerPage, ReportInput, write_advice, write_card, write_html};
pub use notes::notes;
