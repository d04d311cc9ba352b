//! `init` and `check`: writes a template of an experiment, and checks experiments.

use std::fmt::Write as _;
use std::path::Path;

use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_files::{bounded, put};

use super::args::Command;
use super::args::files::{Check, Init};
use super::config::{self, Config};
use super::fail::{Failure, wrong};
use super::perform::warn;
use super::say;

/// The experiment that `init` writes.
const START: &str = include_str!("start.toml");

/// `aqmkit init`.
///
/// # Errors
/// When the file exists or cannot be written.
pub(super) fn init(args: &Init) -> Result<(), Failure> {
    let file = args.file.display();
    if args.file.exists() {
        return wrong(format!("{file} exists"), "give another name: aqmkit init mine.toml");
    }
    put(&args.file, START)?;
    Ok(say::print(&format!("Wrote {file}. aqmkit check {file} lists its runs; aqmkit run {file} runs them."))?)
}

/// `aqmkit check`.
///
/// # Errors
/// When the experiment has a mistake.
pub(super) fn check(args: &Check, catalogues: &Catalogues) -> Result<(), Failure> {
    if let Some(summary) = configuration(&args.experiment, &catalogues.disciplines)? {
        if !args.set.is_empty() {
            return wrong(
                format!("--set changes values of an experiment, and {} is a configuration", args.experiment),
                "change the file; when it is used, options on the command line take precedence",
            );
        }
        return Ok(say::print(&summary)?);
    }
    let overrides = Overrides { set: args.set.clone(), scale: args.scale.into(), ..Overrides::default() };
    let exp = Experiment::load_with(&args.experiment, &overrides, catalogues)?;
    warn(&exp);
    Ok(say::print(&summary(&exp))?)
}

/// Checks a configuration file, except for what depends on the machine; `None` if it is not a configuration file.
fn configuration(file: &str, disciplines: &aqmkit_aqm::Catalogue) -> Result<Option<String>, Failure> {
    let path = Path::new(file);
    if !path.is_file()
        || !bounded::text(path, &bounded::CONFIGURATION).is_ok_and(|text| config::is_configuration(&text))
    {
        return Ok(None);
    }
    let config = Config::read(path)?;
    let what = describe(&config.command()?, disciplines).map_err(|failure| match failure {
        Failure::Problem(problem) => {
            let is_right = |without: &Config| without.command().and_then(|c| describe(&c, disciplines)).is_ok();
            Failure::Problem(problem.without_place(&config.place_of_mistake(is_right)))
        }
        other => other,
    })?;
    Ok(Some(format!("{file} has no mistake: {} {what}\n", config.command)))
}

/// Describes what a command would set up with the options of a configuration file.
#[cfg(live)]
fn describe(command: &Command, disciplines: &aqmkit_aqm::Catalogue) -> Result<String, Failure> {
    match command {
        Command::Bridge(args) => super::bridge::describe(args, disciplines),
        Command::Shape(args) => super::shape::describe(args, disciplines),
        Command::Link(args) => super::link::describe(args, disciplines),
        _ => Ok(String::new()),
    }
}

/// Empty: this system has no live commands.
#[cfg(not(live))]
fn describe(_command: &Command, _disciplines: &aqmkit_aqm::Catalogue) -> Result<String, Failure> {
    Ok(String::new())
}

/// Summarises an experiment in a few lines.
fn summary(exp: &Experiment) -> String {
    let name = Path::new(&exp.file).display();
    let mut text = format!("{name} has no mistake: {}\n", exp.title);
    for axis in &exp.axes {
        let _ = writeln!(text, "  {}: {}", axis.name, axis.labels.join(", "));
    }
    let windows: Vec<&str> = exp.windows.iter().map(|window| window.name.as_str()).collect();
    let _ = writeln!(text, "  windows: {}", windows.join(", "));
    let _ = writeln!(text, "  {} runs, {} published values", exp.plan().len(), exp.expects.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_to_start_from_has_no_mistake() {
        let exp = Experiment::parse("start.toml", START, &Overrides::default()).unwrap();
        assert!(exp.warnings.is_empty() && exp.plan().len() > 1);
        assert!(summary(&exp).contains("has no mistake") && summary(&exp).contains("aqm: fifo"), "{}", summary(&exp));
    }
}
