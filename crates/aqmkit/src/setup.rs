//! `completions` and `man`: writes shell completions and manual pages.

use std::io::Write as _;

use aqmkit_aqm::registry;
use aqmkit_lab::compare::PRESETS;
use aqmkit_transport::profile;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory as _};

use super::args::{self, Cli};
use super::fail::Failure;
use super::say;

/// `aqmkit completions`.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn completions(args: &args::files::Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_names(Cli::command()), "aqmkit", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}

/// Adds the known names as possible values of arguments, for completions only: when parsing, they would exclude
/// parameters after a colon, files, and names added by a program.
fn with_names(command: Command) -> Command {
    let disciplines: Vec<&str> = registry::ALL.iter().map(|entry| entry.name).collect();
    let controls: Vec<&str> = aqmkit_transport::Catalogue::default().names().collect();
    let traffic: Vec<&str> = aqmkit_traffic::Catalogue::default().names().collect();
    let experiments: Vec<String> = aqmkit_experiment::catalogue().into_iter().map(|entry| entry.id).collect();
    let described: Vec<String> = [&disciplines[..], &controls, &traffic]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .chain(experiments.clone())
        .collect();
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let of = |argument: &str| match argument {
        "disciplines" | "discipline" | "aqm" | "down_aqm" | "up_aqm" | "among" | "against" => owned(&disciplines),
        "cc" => owned(&controls),
        "transport" => owned(&profile::NAMES),
        "preset" => owned(&PRESETS),
        "experiment" | "ids" => experiments.clone(),
        "name" => described.clone(),
        _ => Vec::new(),
    };
    let subcommands: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    subcommands.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| {
            let known = |argument: &Arg| Some((argument.get_id().clone(), of(argument.get_id().as_str())));
            let named: Vec<_> = sub.get_arguments().filter_map(known).filter(|(_, names)| !names.is_empty()).collect();
            named.into_iter().fold(sub, |sub, (id, names)| {
                // clap needs names with a static lifetime; the program ends after writing the script.
                let names = names.into_iter().map(|one| &*one.leak());
                sub.mut_arg(id, |argument| argument.value_parser(PossibleValuesParser::new(names)))
            })
        })
    })
}

/// `aqmkit man`.
///
/// # Errors
/// When a page cannot be written.
pub(super) fn man(args: &args::files::Man) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.directory)?;
    // A page for each command except `help`.
    let command =
        Cli::command().disable_help_subcommand(true).mut_subcommand("ctl", |ctl| ctl.disable_help_subcommand(true));
    clap_mangen::generate_to(command, &args.directory)?;
    Ok(say::print(&format!("Manual pages: {}", args.directory.display()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each shell's script contains names of every kind, and parsing is unaffected.
    #[test]
    fn completions_know_names() {
        for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut with_names(Cli::command()), "aqmkit", &mut script);
            let script = String::from_utf8(script).unwrap();
            for name in ["fq-codel", "bbr3", "linux-6", "home-dsl", "cbt/blast", "short-flows"] {
                assert!(script.contains(name), "{shell}: {name}");
            }
        }
    }
}
