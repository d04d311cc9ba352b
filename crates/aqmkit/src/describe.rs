//! `describe`: prints reference pages.

use aqmkit_aqm::registry::{self as disciplines, Link};
use aqmkit_base::near::closest;
use aqmkit_base::read::Value;
use aqmkit_experiment::{Catalogues, Experiment, Overrides, Problem};
use aqmkit_lab::parameters::{misfit, parameters, rounded, settings};
use aqmkit_stack::catalogue::About;
use aqmkit_traffic::registry as traffic;
use aqmkit_transport::{Profile, profile, registry as transports};
use serde::{Deserialize as _, Serialize};

use super::args::{self, Catalogue};
use super::fail::{Failure, wrong};
use super::list::{added, items};
use super::page::render;
use super::say;

/// `aqmkit describe`.
///
/// # Errors
/// When nothing has this name, or a parameter is wrong.
pub(super) fn describe(args: &args::Describe, catalogues: &Catalogues) -> Result<(), Failure> {
    let text = if let Some(entry) = disciplines::find(&args.name) {
        discipline(entry, args)?
    } else if let Some(entry) = traffic::find(&args.name) {
        model(entry, args)?
    } else if let Some(found) = Profile::named(&args.name) {
        transport(&args.name, &found)?
    } else if let Some(page) = transports::page(&args.name) {
        render(&page, width())
    } else if let Some(about) = catalogues.stacks.find(&args.name) {
        stack(&about, catalogues)?
    } else if let Some(entry) = aqmkit_formulas::find(&args.name) {
        equation(&entry)
    } else if let Some(of) = added(&args.name, catalogues) {
        format!("{}: {of}\n", args.name)
    } else {
        experiment(&args.name, catalogues)?
    };
    Ok(say::print(&text)?)
}

/// The page of a stack from outside, and its default parameters.
fn stack(about: &About, catalogues: &Catalogues) -> Result<String, Failure> {
    let page = render(about.page, width());
    let Some(defaults) = catalogues.stacks.defaults(about.name) else { return Ok(page) };
    Ok(format!("{page}\n{}", values(&format!("Version {}; its parameters by default", about.version), &defaults)?))
}

fn width() -> u16 {
    let columns = terminal_size::terminal_size().map_or(100, |(w, _)| w.0);
    columns.clamp(60, 140)
}

/// Formats values as TOML below a title, with nested tables inline.
fn values(title: &str, of: &impl Serialize) -> Result<String, Failure> {
    let table = toml::Table::try_from(of).map_err(|e| Failure::Environment(e.to_string()))?;
    let lines = table.iter().map(|(key, value)| format!("    {key} = {}\n", rounded(value)));
    Ok(format!("\n{}\n\n{}", say::bold(title), lines.collect::<String>()))
}

fn discipline(entry: &disciplines::Entry, args: &args::Describe) -> Result<String, Failure> {
    if args.rate.as_bps() == 0 {
        return wrong("the rate cannot be 0", "for example --rate 10mbit");
    }
    let text =
        format!("{}\n\n{}", disciplines::page(entry.name).unwrap_or_default(), disciplines::where_it_runs(entry.name));
    let page = render(&text, width());
    let table = settings(&args.set)?;
    let spec = parameters(entry.name, &table, &aqmkit_aqm::Catalogue::default())?;
    let link = Link::new(args.rate);
    match spec.effective(&link) {
        Ok(effective) => {
            Ok(page + &values(&format!("On a link of {}", args.rate), &effective)? + &gauges(&effective, &link))
        }
        // Parameters without defaults, such as classes, are not a mistake of the user.
        Err(e) if args.set.is_empty() => Ok(format!("{page}\nIt needs parameters: {e}\n")),
        Err(e) => Err(misfit(entry.name, &table, e).into()),
    }
}

/// The gauges of a discipline, named as in the time series and on the dashboard.
fn gauges(spec: &disciplines::Spec, link: &Link) -> String {
    let names = aqmkit_sim::view::gauges(spec, link).unwrap_or_default();
    if names.is_empty() {
        return String::new();
    }
    let columns = "Columns links.LINK.aqm.GAUGE of series.parquet; metric = \"aqm.GAUGE\" in an expectation.";
    let text = textwrap::fill(&format!("{}: {}", say::bold("Gauges"), names.join(", ")), usize::from(width()));
    format!("\n{text}\n{}\n", textwrap::fill(columns, usize::from(width())))
}

fn model(entry: &traffic::Entry, args: &args::Describe) -> Result<String, Failure> {
    let page = render(&traffic::page(entry.name).unwrap_or_default(), width());
    let written = settings(&args.set)?;
    let table = Value::deserialize(written.clone()).map_err(|e| Problem::new(e.to_string()))?;
    match traffic::Spec::of_table(entry.name, &table) {
        Ok(spec) => Ok(page + &values("Values", &spec)?),
        Err(e) => Err(misfit(entry.name, &written, e).into()),
    }
}

fn transport(name: &str, found: &Profile) -> Result<String, Failure> {
    let about =
        items(Catalogue::Transports, &Catalogues::default()).into_iter().find(|i| i.name == name).map(|i| i.summary);
    Ok(format!("{name}: {}\n{}", about.unwrap_or_default(), values("Values", found)?))
}

fn equation(entry: &aqmkit_formulas::Entry) -> String {
    let args = entry.args.join(", ");
    format!("{}: {}\n\nSource: {}\nArguments: {args}\n", say::bold(entry.name), entry.about.trim(), entry.source)
}

fn experiment(name: &str, catalogues: &Catalogues) -> Result<String, Failure> {
    let listed = items(Catalogue::Experiments, catalogues);
    if !listed.iter().any(|i| i.name == name) && !name.ends_with(".toml") {
        return unknown(name, listed.into_iter().map(|i| i.name));
    }
    let exp = Experiment::load_with(name, &Overrides::default(), catalogues)?;
    let mut text = format!("{}\n", say::bold(&exp.title));
    if !exp.source.is_empty() {
        text.push_str(&format!("{}\n", exp.source));
    }
    text.push_str(&format!("\n{}\n", render(&exp.about, width())));
    for axis in &exp.axes {
        text.push_str(&format!("{}: {}\n", axis.name, axis.labels.join(", ")));
    }
    let windows = exp.windows.iter().map(|w| format!("{} ({} to {})", w.name, w.from, w.to)).collect::<Vec<_>>();
    text.push_str(&format!("windows: {}\n", windows.join(", ")));
    text.push_str(&format!("runs: {} (each combination {} times)\n", exp.plan().len(), exp.repeat));
    text.push_str(&format!("published values claimed: {}\n\nRun it: aqmkit run {name}\n", exp.expects.len()));
    Ok(text)
}

fn unknown<T>(name: &str, experiments: impl Iterator<Item = String>) -> Result<T, Failure> {
    let mut known: Vec<String> = experiments.collect();
    known.extend(disciplines::ALL.iter().map(|e| e.name.to_owned()));
    known.extend(traffic::ALL.iter().map(|e| e.name.to_owned()));
    known.extend(profile::NAMES.iter().map(|n| (*n).to_owned()));
    known.extend(aqmkit_formulas::all().iter().map(|e| e.name.to_owned()));
    // All names are in lower case.
    let right = match closest(&name.to_lowercase(), known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}? aqmkit list shows all names"),
        None => "aqmkit list shows all names".to_owned(),
    };
    wrong(format!("nothing is called {name:?}"), right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_eight_digits() {
        let text = |number: f64| rounded(&toml::Value::Float(number)).to_string();
        assert_eq!(text(0.149_999_999_999_999_97), "0.15");
        assert_eq!(text(1.822e-5), "0.00001822");
        assert_eq!(text(123_456_789.0), "123456790.0");
        assert_eq!(rounded(&toml::Value::Integer(123_456_789)), toml::Value::Integer(123_456_789));
    }
}
