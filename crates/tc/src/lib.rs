//! Reads the queue disciplines, classes and filters that `tc(8)` of iproute2 prints, as text or as JSON (`-j`), with or without statistics (`-s`).
//!
//! [`read`] takes either form. Both give the same [`Listing`]: options are words in the notation of the text (`5ms`, `18Mbit`), which JSON
//! has as bare numbers of a unit that depends on the option.
//!
//! Prompts and other lines around the output, as in a message to a forum, are skipped.

#![doc = include_str!("../README.md")]

mod filter;
mod json;
mod listing;
mod script;
mod text;
mod tins;
mod value;

pub use listing::{Class, Condition, Counters, Filter, Listing, Parent, Qdisc, Tin};
pub use script::Script;

/// Why a text is not a listing of `tc`.
#[derive(Debug, thiserror::Error)]
pub enum TcError {
    /// No line begins with `qdisc` or `class`.
    #[error(
        "this has no line that begins with `qdisc` or `class`; give the output of `tc -s qdisc show dev DEVICE`, with or without `-j`"
    )]
    Nothing,
    /// JSON that cannot be parsed, or that is not a list of objects with a `kind`.
    #[error("this is not the JSON of `tc -s -j qdisc show`: {0}")]
    Json(String),
    /// A line that begins with `qdisc` or `class` and is incomplete.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The mistake, and what would be right.
        what: String,
    },
}

/// Reads the output of `tc qdisc show` or `tc class show`, or of one after the other.
///
/// # Errors
/// When there is no queue discipline and no class in it, or one of them is incomplete.
pub fn read(text: &str) -> Result<Listing, TcError> {
    let listing = if text.trim_start().starts_with(['[', '{']) { json::read(text)? } else { text::read(text)? };
    if listing.qdiscs.is_empty() && listing.classes.is_empty() { Err(TcError::Nothing) } else { Ok(listing) }
}
