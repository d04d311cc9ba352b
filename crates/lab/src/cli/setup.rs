//! `completions` and `man`: shell completions and manual pages.

use std::io::Write as _;

use clap::CommandFactory as _;

use super::args::{self, Cli};
use super::fail::Failure;
use super::say;

/// `aqmkit completions`.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn completions(args: &args::files::Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "aqmkit", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}

/// `aqmkit man`.
///
/// # Errors
/// When a page cannot be written.
pub(super) fn man(args: &args::files::Man) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.directory)?;
    // One page for each command, but none for `help`.
    let command =
        Cli::command().disable_help_subcommand(true).mut_subcommand("ctl", |ctl| ctl.disable_help_subcommand(true));
    clap_mangen::generate_to(command, &args.directory)?;
    Ok(say::print(&format!("Manual pages: {}", args.directory.display()))?)
}
