//! The names that claims, figures and `skip` can refer to: axes with their labels, windows, classes, traffic and links.

use std::collections::BTreeMap;

use super::metric::Names;
use super::problem::{Problem, suggest};
use super::sweep::{Axis, Choice};
use super::tree::{Entry, Node, Value};

/// Valid names.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Labels of each axis.
    pub(super) axes: Vec<(String, Vec<String>)>,
    /// For each axis and label: the keys that it changes (last part of the path), with their values.
    pub(super) settings: Vec<Vec<BTreeMap<String, String>>>,
    pub(super) windows: Vec<String>,
    pub(super) names: Names,
}

impl Scope {
    pub(super) fn of_axes(axes: &[Axis]) -> Self {
        let labels = |a: &Axis| a.choices.iter().map(|c| c.label.clone()).collect();
        let settings = axes.iter().map(|a| a.choices.iter().map(Choice::settings).collect()).collect();
        Scope { axes: axes.iter().map(|a| (a.name.clone(), labels(a))).collect(), settings, ..Scope::default() }
    }

    pub(super) fn labels(&self, axis: &str) -> Option<&[String]> {
        self.axes.iter().find(|(name, _)| name == axis).map(|(_, labels)| labels.as_slice())
    }

    /// The error for an unknown axis; `more` are further valid names.
    pub(super) fn no_axis(&self, axis: &str, more: &[&str]) -> Problem {
        let axes = self.axes.iter().map(|(name, _)| name.as_str());
        Problem::new(format!("{axis} is not an axis of the sweep"))
            .right(suggest(axis, axes.chain(more.iter().copied())))
    }
}

/// The error for an unknown label of an axis.
pub(super) fn no_label(axis: &str, label: &str, known: &[String]) -> Problem {
    Problem::new(format!("{axis} has no value {label:?}")).right(suggest(label, known.iter().map(String::as_str)))
}

/// The text of a label, which can be written as a number.
pub(super) fn label_text(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar(toml::Value::String(s)) => Some(s.clone()),
        Value::Scalar(other) => Some(other.to_string()),
        _ => None,
    }
}

/// Reads one known label.
pub(super) fn one_of(entry: &Entry, known: &[String]) -> Result<String, Problem> {
    let bad = || {
        Problem::new(format!("{} is not a single name", entry.key)).right("give one name in quotes").at(&entry.node.at)
    };
    let name = label_text(&entry.node).ok_or_else(bad)?;
    if known.contains(&name) { Ok(name) } else { Err(no_label(&entry.key, &name, known).at(&entry.node.at)) }
}

/// Reads a known label or a list of them.
pub(super) fn any_of(entry: &Entry, known: &[String]) -> Result<Vec<String>, Problem> {
    let nodes = match &entry.node.value {
        Value::Array(nodes) if !nodes.is_empty() => nodes.as_slice(),
        _ => std::slice::from_ref(&entry.node),
    };
    let label = |node: &Node| {
        let bad = || Problem::new(format!("{} is not a label or a list of them", entry.key)).at(&node.at);
        let label = label_text(node).ok_or_else(bad)?;
        if known.contains(&label) { Ok(label) } else { Err(no_label(&entry.key, &label, known).at(&node.at)) }
    };
    nodes.iter().map(label).collect()
}
