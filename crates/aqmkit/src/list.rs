//! `list`: lists disciplines, transports, traffic models and experiments.

use aqmkit_aqm::registry::{self, Entry};
use aqmkit_experiment::{Catalogues, catalogue};
use serde::Serialize;

use super::args::{self, Catalogue};
use super::fail::Failure;
use super::say;
use aqmkit_report::terminal::Screen;

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Item {
    /// The kind of entry.
    pub kind: &'static str,
    /// The name, as other commands accept it.
    pub name: String,
    /// One-line description.
    pub summary: String,
    /// For a discipline, where it runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<&'static str>,
}

/// The description of entries that a program has added, which have no reference page.
const ADDED: &str = "added by this program";

/// The description of an entry with this name that a program has added, if there is one.
#[must_use]
pub(super) fn added(name: &str, catalogues: &Catalogues) -> Option<&'static str> {
    let parts = [Catalogue::Disciplines, Catalogue::Traffic, Catalogue::Transports];
    let mut all = parts.into_iter().flat_map(|part| items(part, catalogues));
    all.any(|item| item.name == name && item.summary == ADDED).then_some(ADDED)
}

/// All entries of a kind.
#[must_use]
pub(super) fn items(part: Catalogue, catalogues: &Catalogues) -> Vec<Item> {
    let item = |kind, name: &str, summary: &str| Item {
        kind,
        name: name.to_owned(),
        summary: summary.to_owned(),
        runs: Vec::new(),
    };
    match part {
        Catalogue::Disciplines => {
            let one = |e: &Entry| Item { runs: places(e.name), ..item("discipline", e.name, e.summary()) };
            let own = catalogues.disciplines.names().filter(|name| registry::find(name).is_none());
            let own = own.map(|name| Item { runs: places(name), ..item("discipline", name, ADDED) });
            registry::ALL.iter().map(one).chain(own).collect()
        }
        Catalogue::Traffic => {
            let all = &aqmkit_traffic::registry::ALL;
            let own = catalogues.traffic.names().filter(|name| aqmkit_traffic::registry::find(name).is_none());
            let own = own.map(|name| item("traffic", name, ADDED));
            all.iter().map(|e| item("traffic", e.name, e.summary())).chain(own).collect()
        }
        Catalogue::Transports => {
            let own = catalogues.controls.names().filter(|name| aqmkit_transport::registry::find(name).is_none());
            let own = own.map(|name| item("transport", name, ADDED));
            let stacks = catalogues.stacks.all().map(|s| item("stack", s.name, &format!("stack: {}", s.summary())));
            let built_in = aqmkit_transport::registry::summaries().map(|(n, about)| item("transport", n, &about));
            built_in.chain(own).chain(stacks).collect()
        }
        Catalogue::Experiments => catalogue().iter().map(|e| item("experiment", &e.id, &e.title)).collect(),
    }
}

/// Where a discipline runs.
fn places(name: &str) -> Vec<&'static str> {
    let mut places = vec!["simulator", "live"];
    if registry::runs_in_kernel(name).is_ok() {
        places.extend(["kernel", "kernel-queue"]);
    }
    places
}

/// A line that lists the disciplines which run in the kernel too.
fn in_kernel() -> String {
    let names: Vec<&str> =
        registry::ALL.iter().map(|e| e.name).filter(|n| registry::runs_in_kernel(n).is_ok()).collect();
    let text = format!(
        "All run in the simulator and on live links; inside the Linux kernel (aqmkit kernel), as a classifier or as a queue discipline: {}. \
         Why another one does not, its page says: aqmkit describe choke.",
        names.join(", ")
    );
    textwrap::fill(
        &text,
        textwrap::Options::new(Screen::of_stdout().width).initial_indent("  ").subsequent_indent("  "),
    ) + "\n"
}

const PARTS: [(Catalogue, &str); 4] = [
    (Catalogue::Disciplines, "Disciplines"),
    (Catalogue::Transports, "Transports"),
    (Catalogue::Traffic, "Traffic"),
    (Catalogue::Experiments, "Experiments"),
];

/// `aqmkit list`.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn list(args: &args::List, catalogues: &Catalogues) -> Result<(), Failure> {
    let chosen: Vec<_> = PARTS.iter().filter(|(part, _)| args.what.is_none_or(|w| w == *part)).collect();
    if args.json {
        let all: Vec<Item> = chosen.iter().flat_map(|(part, _)| items(*part, catalogues)).collect();
        return Ok(say::print(&serde_json::to_string_pretty(&all)?)?);
    }
    let one = |(part, title): &&(Catalogue, &str)| {
        let text = section(title, &items(*part, catalogues));
        if *part == Catalogue::Disciplines { text + &in_kernel() } else { text }
    };
    let sections: Vec<String> = chosen.iter().map(one).collect();
    let hint = if args.what.is_none() { "\nMore about each: aqmkit describe NAME\n" } else { "" };
    Ok(say::print(&(sections.join("\n") + hint))?)
}

fn section(title: &str, items: &[Item]) -> String {
    let width = items.iter().map(|i| i.name.chars().count()).max().unwrap_or(0);
    let mut text = say::bold(title) + "\n";
    for item in items {
        let first = format!("  {:width$}  ", item.name);
        let indent = " ".repeat(width + 4);
        let options =
            textwrap::Options::new(Screen::of_stdout().width).initial_indent(&first).subsequent_indent(&indent);
        text.push_str(textwrap::fill(&item.summary, options).trim_end());
        text.push('\n');
    }
    if items.is_empty() {
        text.push_str("  none\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_says_what_it_is() {
        for (part, _) in PARTS.iter().take(3) {
            let all = items(*part, &Catalogues::default());
            assert!(!all.is_empty());
            assert!(all.iter().all(|i| !i.summary.is_empty()), "{all:?}");
        }
    }
}
