//! `ctl`: shows and changes running bridges and links.

pub(super) mod page;

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use aqmkit_aqm::Catalogue;
use aqmkit_base::BitRate;
use aqmkit_lab::parameters::settings;
use aqmkit_live::cleanup;
use aqmkit_live::ctl::{self, Change, Client, CtlError, Report};
use serde_json::{Map, Value};

use super::args::wire::{self, CtlCommand};
use super::dashboard;
use super::fail::{Failure, wrong};
use super::say;

/// `aqmkit ctl`.
///
/// # Errors
/// When no bridge, link or shaper runs, access is denied, or a change is rejected.
pub(super) fn ctl(args: &wire::Ctl, disciplines: &Catalogue) -> Result<(), Failure> {
    match &args.what {
        CtlCommand::List => list(),
        CtlCommand::Show { json } => show(&client(args)?.report()?, *json),
        CtlCommand::Watch { count } => watch(&client(args)?, *count),
        CtlCommand::Play { writable, port, no_open } => {
            let access = if *writable { wire::Access::Change } else { wire::Access::Look };
            page::serve(&client(args)?, access, *port, *no_open)
        }
        CtlCommand::Set { parameters, aqm, direction, rate } => {
            let mut parameters = written(parameters)?;
            let aqm = aqm.as_deref().map(|text| discipline(text, &mut parameters, disciplines)).transpose()?;
            if rate.is_some_and(|rate| rate == BitRate::default()) {
                return wrong("the rate cannot be 0bit", "it must be above zero, for example 20mbit");
            }
            if parameters.is_empty() && rate.is_none() && aqm.is_none() {
                return wrong(
                    "nothing is set",
                    "give a name and a value, for example target=10ms, or --rate 20mbit, or --aqm codel",
                );
            }
            let rate_bps = rate.map(BitRate::as_bps);
            let change = Change { direction: direction.clone(), rate_bps, aqm, parameters };
            let client = client(args)?;
            if let Some(direction) = direction {
                known(direction, &client.report()?)?;
            }
            let report = client.change(change)?;
            Ok(say::print(&report.directions.iter().map(in_effect).collect::<String>())?)
        }
    }
}

impl From<CtlError> for Failure {
    fn from(error: CtlError) -> Self {
        match error {
            CtlError::NotRunning(_) => not_running(&error.to_string()),
            CtlError::Refused(why) => {
                let problem = aqmkit_experiment::Problem::new(why);
                Failure::Problem(problem.right("aqmkit describe shows the parameters of a discipline"))
            }
            CtlError::Silent { .. } => Failure::Environment(format!("{error}\n  {WAKE}")),
            CtlError::Io { .. } => Failure::Environment(error.to_string()),
        }
    }
}

/// Advice about a process that does not answer.
const WAKE: &str = "it is stopped, which kill -CONT ends, or it hangs, which kill -KILL ends";

/// The timeout of `list`, which queries every running process.
const A_SECOND: Duration = Duration::from_secs(1);

/// The names of the control sockets in a directory.
fn running(directory: &Path) -> Result<Vec<String>, Failure> {
    ctl::running(directory).map_err(|error| {
        let place = directory.display();
        Failure::Environment(format!(
            "cannot list running bridges and links: {place}: {error}\n  run this command as the user who started them, or with sudo"
        ))
    })
}

/// A hint that control sockets of root are not visible.
fn root_hint() -> Option<&'static str> {
    let chosen = std::env::var_os(ctl::DIRECTORY).is_some();
    let other = !chosen && ctl::directory() != Path::new(ctl::OF_ROOT) && Path::new(ctl::OF_ROOT).exists();
    other.then_some("bridges and links of root are not shown: sudo aqmkit ctl list")
}

fn not_running(what: &str) -> Failure {
    let names = match running(&ctl::directory()) {
        Ok(names) => names,
        Err(failure) => return failure,
    };
    let right = match names.is_empty() {
        true => {
            let first = "start a bridge or a link first: aqmkit bridge --help, aqmkit link --help";
            root_hint().map_or_else(|| first.to_owned(), |note| format!("{first}; {note}"))
        }
        false => format!("select one with --to: {}", names.join(", ")),
    };
    Failure::Problem(aqmkit_experiment::Problem::new(what.to_owned()).right(right))
}

fn client(args: &wire::Ctl) -> Result<Client, Failure> {
    let directory = ctl::directory();
    if let Some(name) = &args.to {
        return Ok(Client::new(&directory, name));
    }
    match &running(&directory)?[..] {
        [name] => Ok(Client::new(&directory, name)),
        [] => Err(not_running("nothing runs")),
        _ => Err(not_running("several bridges or links are running")),
    }
}

fn list() -> Result<(), Failure> {
    let directory = ctl::directory();
    let mut text = String::new();
    for name in running(&directory)? {
        match Client::new(&directory, &name).with_patience(A_SECOND).report() {
            Ok(report) => text.push_str(&row(&report)),
            // It has ended in the meantime.
            Err(CtlError::NotRunning(_)) => {}
            Err(error @ CtlError::Silent { .. }) => text.push_str(&format!("{error}\n")),
            Err(error) => text.push_str(&format!("{name}: {error}\n")),
        }
    }
    say::print(if text.is_empty() { "nothing runs" } else { &text })?;
    root_hint().into_iter().for_each(|note| say::message(&format!("note: {note}")));
    let left = cleanup::leftovers(&directory);
    left.iter().for_each(|left| say::message(&format!("note: {left}")));
    Ok(())
}

/// Describes a running bridge, link or shaper on one line.
fn row(report: &Report) -> String {
    let one = |d: &ctl::DirectionReport| {
        format!("{}{} {} {}", d.name, dashboard::way(d), BitRate::from_bps(d.rate_bps), d.discipline)
    };
    let directions = report.directions.iter().map(one).collect::<Vec<_>>().join(", ");
    format!("{}: {} of process {}, {directions}\n", report.name, report.kind, report.pid)
}

fn show(report: &Report, json: bool) -> Result<(), Failure> {
    if json {
        return Ok(say::print(&serde_json::to_string_pretty(report)?)?);
    }
    let parameters = report.directions.iter().map(in_effect).collect::<String>();
    Ok(say::print(&format!("{}\n{parameters}", dashboard::draw(report, None)))?)
}

/// Formats the parameters of a direction on one line.
fn in_effect(direction: &ctl::DirectionReport) -> String {
    let table = direction.parameters.as_object().cloned().unwrap_or_default();
    let set = table
        .iter()
        .filter(|(_, v)| !v.is_null())
        .map(|(k, v)| format!("{k}={}", v.as_str().map_or_else(|| v.to_string(), str::to_owned)));
    let set = set.collect::<Vec<_>>().join(" ");
    let rate = BitRate::from_bps(direction.rate_bps);
    format!("{}: {} rate={rate} {set}\n", direction.name, direction.discipline)
}

/// Prints the changes once a second.
fn watch(client: &Client, count: Option<u64>) -> Result<(), Failure> {
    let mut earlier = client.report()?;
    let mut looks = 0;
    while count.is_none_or(|count| looks < count) {
        std::thread::sleep(Duration::from_secs(1));
        let report = client.report()?;
        // On a terminal, each update replaces the previous one.
        let home = if std::io::stdout().is_terminal() { "\x1b[H\x1b[2J" } else { "" };
        say::print(&format!("{home}{}", dashboard::draw(&report, Some(&earlier))))?;
        earlier = report;
        looks += 1;
    }
    Ok(())
}

/// Rejects an unknown direction.
fn known(direction: &str, report: &Report) -> Result<(), Failure> {
    let names: Vec<&str> = report.directions.iter().map(|d| d.name.as_str()).collect();
    if names.contains(&direction) {
        return Ok(());
    }
    wrong(
        format!("{} has no direction {direction:?}", report.name),
        format!("its directions are {}", names.join(" and ")),
    )
}

/// Splits `codel:target=5ms`: returns the name, and adds its parameters to `parameters`.
fn discipline(text: &str, parameters: &mut Map<String, Value>, disciplines: &Catalogue) -> Result<String, Failure> {
    let (name, table) = aqmkit_lab::parameters::written(text, disciplines)?;
    aqmkit_lab::parameters::known(&name, disciplines)?;
    for (parameter, value) in table {
        if parameters.insert(parameter.clone(), serde_json::to_value(value)?).is_some() {
            return wrong(format!("{parameter} is set twice"), "set it once");
        }
    }
    Ok(name)
}

/// Parses assignments for the control protocol.
fn written(set: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut names = BTreeSet::new();
    let mut named = set.iter().filter_map(|text| Some(text.split_once('=')?.0.trim()));
    if let Some(twice) = named.find(|name| !names.insert(*name)) {
        return wrong(format!("{twice} is set twice"), "set it once");
    }
    match serde_json::to_value(settings(set)?)? {
        Value::Object(table) => Ok(table),
        _ => Ok(Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_interfaces_and_rates() {
        let direction = |name: &str, way: &str, rate_bps, discipline: &str| ctl::DirectionReport {
            name: name.into(),
            way: way.into(),
            rate_bps,
            discipline: discipline.into(),
            ..ctl::DirectionReport::default()
        };
        let directions =
            vec![direction("forth", "l1 to r1", 50_000_000, "codel"), direction("back", "r1 to l1", 2_000_000, "fifo")];
        let report = Report { kind: "bridge".into(), name: "wan".into(), pid: 7, directions, ..Report::default() };
        let expected = "wan: bridge of process 7, forth (l1 to r1) 50mbit codel, back (r1 to l1) 2mbit fifo\n";
        assert_eq!(row(&report), expected);
    }
}
