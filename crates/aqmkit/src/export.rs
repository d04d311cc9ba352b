//! `export`: prints the lines of `tc` that make a queue of an experiment.

use super::args::import::Export;
use super::fail::Failure;
use super::say;

/// `aqmkit export`.
///
/// # Errors
/// When the file is no experiment, or its queue none of Linux's.
pub(super) fn export(args: &Export) -> Result<(), Failure> {
    let exported = aqmkit_lab::import::export(&args.experiment, args.link.as_deref(), &args.dev)?;
    for note in &exported.notes {
        say::message(&format!("note: {note}"));
    }
    Ok(say::print(&exported.lines.join("\n"))?)
}
