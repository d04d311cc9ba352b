//! `doctor`: reports what this machine supports for live traffic.

use aqmkit_advise::install::names_in_tc;
use aqmkit_live::cleanup;
use aqmkit_live::ctl;
use aqmkit_live::doctor::{Check, Diagnosis, State, diagnoses, examine};
use aqmkit_report::terminal::Screen;
use serde::Serialize;

use super::args;
use super::fail::Failure;
use super::say;

#[derive(Serialize)]
struct Findings {
    checks: Vec<Check>,
    links: Vec<Diagnosis>,
    /// Remains of killed links and bridges, and kernel bridges that took over from them.
    leftovers: Vec<String>,
}

/// `aqmkit doctor`.
///
/// # Errors
/// When the machine lacks something that links require.
pub(super) fn doctor(args: &args::Doctor) -> Result<(), Failure> {
    let directory = ctl::directory();
    let checks = examine(&names_in_tc().collect::<Vec<_>>());
    let findings = Findings { checks, links: diagnoses(&directory), leftovers: cleanup::leftovers(&directory) };
    if args.json {
        say::print(&serde_json::to_string_pretty(&findings)?)?;
    } else {
        say::print(&text(&findings))?;
    }
    let needed = ["rights", "namespaces", "TUN"];
    let missing: Vec<&str> = needed.into_iter().filter(|n| lacks(&findings.checks, n)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Environment(format!("aqmkit link cannot run here: {} missing", missing.join(", "))))
}

fn lacks(checks: &[Check], name: &str) -> bool {
    checks.iter().any(|c| c.name == name && c.state == State::Missing)
}

fn text(findings: &Findings) -> String {
    let width = findings.checks.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for check in &findings.checks {
        let sign = match check.state {
            State::Good => "good   ",
            State::Poor => "poor   ",
            State::Missing => "missing",
        };
        let first = format!("{sign}  {:width$}  ", check.name);
        let indent = " ".repeat(first.chars().count());
        let wrapped = textwrap::Options::new(Screen::of_stdout().width).subsequent_indent(&indent);
        text += &(textwrap::fill(&check.found, wrapped.clone().initial_indent(&first)) + "\n");
        if !check.right.is_empty() {
            text += &(textwrap::fill(&check.right, wrapped.initial_indent(&indent)) + "\n");
        }
    }
    for link in &findings.links {
        text += &format!("\n{}: {}\n", say::bold(&format!("link {}", link.pid)), link.title);
        text.extend(link.findings.iter().map(|f| format!("  {f}\n")));
    }
    text.extend(findings.leftovers.iter().map(|left| format!("\n{left}\n")));
    text
}
