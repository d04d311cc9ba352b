//! `[[expect_table]]`: one claim per cell of a published table.
//!
//! A table is an `[[expect]]` whose `id` has names in braces. Each name is an axis of the sweep, or a key that one axis
//! changes, and takes all values of that axis; alternatively `cells` lists the values. Each cell is one claim.

use std::collections::BTreeMap;

use aqmkit_results::{Table, TableCell};

use super::expect::{Expect, read_expect};
use super::patch::merge;
use super::problem::{Problem, suggest};
use super::read::tables;
use super::scope::{Scope, any_of, label_text};
use super::tree::{Entry, Node, Value};

/// Keys that a table has in addition to those of a claim.
const OWN: &[&str] = &["title", "cells"];

/// Reads the list of tables, with the claims of their cells.
pub(super) fn read_tables(list: &Node, scope: &Scope) -> Result<Vec<(Table, Vec<Expect>)>, Problem> {
    let claimed = tables(list, "expect_table", "write [[expect_table]] for each")?;
    claimed.iter().map(|node| read_table(node, scope)).collect()
}

/// One cell: values for the names in braces, and the changes to the table's claim.
struct Cell {
    values: BTreeMap<String, String>,
    key: &'static str,
    change: Node,
}

fn read_table(node: &Node, scope: &Scope) -> Result<(Table, Vec<Expect>), Problem> {
    let pattern = Pattern::of(node)?;
    let cells = match node.get("cells") {
        Some(list) => listed(list, &pattern)?,
        None => swept(node, &pattern, scope)?,
    };
    let (rows, columns) = match pattern.names.as_slice() {
        [only] => (String::new(), only.clone()),
        [first, rest @ ..] => (first.clone(), rest.join(" ")),
        [] => (String::new(), String::new()),
    };
    let title = node.get("title").and_then(Node::as_str).map_or_else(|| pattern.text(), str::to_owned);
    let mut table = Table { title, rows, columns, cells: Vec::new() };
    let mut expects = Vec::new();
    for cell in cells {
        let id = pattern.filled(&cell.values);
        table.cells.push(pattern.place(&cell.values, &id));
        let mut claim = node.without(OWN);
        set(&mut claim, "id", Node::string(&pattern.at, &id));
        let mut changed = claim.get(cell.key).cloned().unwrap_or_else(|| Node::empty(&node.at));
        merge(&mut changed, &cell.change);
        if !cell.change.entries().is_empty() {
            set(&mut claim, cell.key, changed);
        }
        expects.push(read_expect(&claim, scope)?);
    }
    Ok((table, expects))
}

/// Sets a key of a table.
fn set(table: &mut Node, key: &str, node: Node) {
    let Value::Table(entries) = &mut table.value else { return };
    match entries.iter_mut().find(|e| e.key == key) {
        Some(entry) => entry.node = node,
        None => entries.push(Entry { key: key.to_owned(), at: node.at.clone(), node }),
    }
}

/// An id with placeholders: names in braces.
struct Pattern {
    at: super::problem::Origin,
    /// The texts around the placeholders: one before each name, one after the last.
    texts: Vec<String>,
    names: Vec<String>,
}

impl Pattern {
    fn of(node: &Node) -> Result<Pattern, Problem> {
        let help =
            "write id = \"FIG-7-{min}-{max}\", with an axis or a key that an axis changes in each pair of braces";
        let id = node.get("id").ok_or_else(|| Problem::new("id is missing").right(help).at(&node.at))?;
        let wrong = |what: &str| Problem::new(what).right(help).at(&id.at);
        let text = id.as_str().ok_or_else(|| wrong("id is not a string"))?;
        let mut pattern = Pattern { at: id.at.clone(), texts: Vec::new(), names: Vec::new() };
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, tail) = after.split_once('}').ok_or_else(|| wrong("id has an unclosed brace"))?;
            pattern.texts.push(before.to_owned());
            pattern.names.push(name.to_owned());
            rest = tail;
        }
        pattern.texts.push(rest.to_owned());
        if pattern.names.is_empty() { Err(wrong("id has no name in braces")) } else { Ok(pattern) }
    }

    /// The id with its placeholders.
    fn text(&self) -> String {
        self.with(|name| format!("{{{name}}}"))
    }

    /// The id of a cell.
    fn filled(&self, values: &BTreeMap<String, String>) -> String {
        self.with(|name| values.get(name).cloned().unwrap_or_default())
    }

    fn with(&self, value: impl Fn(&str) -> String) -> String {
        let names = self.names.iter().map(|n| value(n)).chain([String::new()]);
        self.texts.iter().zip(names).map(|(text, name)| format!("{text}{name}")).collect()
    }

    /// The position of a cell: the value of the first name is the row, the values of the others are the column.
    fn place(&self, values: &BTreeMap<String, String>, id: &str) -> TableCell {
        let mut parts: Vec<String> = self.names.iter().filter_map(|n| values.get(n).cloned()).collect();
        let row = if parts.len() > 1 { parts.remove(0) } else { String::new() };
        TableCell { row, column: parts.join(" "), id: id.to_owned() }
    }
}

/// The cells listed in `cells`; names that are not placeholders are arguments of the formula.
fn listed(list: &Node, pattern: &Pattern) -> Result<Vec<Cell>, Problem> {
    let help = || format!("write cells = [{{ {} = …, … }}, …]", pattern.names.join(" = …, "));
    let wrong = |what: String, node: &Node| Problem::new(what).right(help()).at(&node.at);
    if list.elements().is_empty() {
        return Err(wrong("cells is not a list of tables".to_owned(), list));
    }
    let cell = |node: &Node| {
        let mut values = BTreeMap::new();
        for name in &pattern.names {
            let value = node.get(name).and_then(label_text);
            let value = value.ok_or_else(|| wrong(format!("this cell lacks {name}"), node))?;
            values.insert(name.clone(), value);
        }
        let names: Vec<&str> = pattern.names.iter().map(String::as_str).collect();
        Ok(Cell { values, key: "args", change: node.without(&names) })
    };
    list.elements().iter().map(cell).collect()
}

/// The cells generated from the sweep: one for each combination of the axes used.
fn swept(node: &Node, pattern: &Pattern, scope: &Scope) -> Result<Vec<Cell>, Problem> {
    let mut axes: Vec<usize> = Vec::new();
    let mut sources: Vec<(String, usize)> = Vec::new();
    for name in &pattern.names {
        let axis = source(name, scope).map_err(|e| e.at(&pattern.at))?;
        sources.push((name.clone(), axis));
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    let mut picked: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new()];
    for axis in axes {
        let places = places(node, axis, scope)?;
        let with = |before: &BTreeMap<usize, usize>, place: usize| {
            let mut more = before.clone();
            more.insert(axis, place);
            more
        };
        picked = picked.iter().flat_map(|before| places.iter().map(|&place| with(before, place))).collect();
    }
    let cell = |chosen: BTreeMap<usize, usize>| {
        let value = |(name, axis): &(String, usize)| (name.clone(), value(name, *axis, chosen[axis], scope));
        let label = |(&axis, &place): (&usize, &usize)| {
            let (name, labels) = &scope.axes[axis];
            Entry { key: name.clone(), at: pattern.at.clone(), node: Node::string(&pattern.at, &labels[place]) }
        };
        let change = Node { at: pattern.at.clone(), value: Value::Table(chosen.iter().map(label).collect()) };
        Cell { values: sources.iter().map(value).collect(), key: "where", change }
    };
    Ok(picked.into_iter().map(cell).collect())
}

/// The index of the axis for a placeholder: the axis with this name, or the one whose values all change the key with
/// this name.
fn source(name: &str, scope: &Scope) -> Result<usize, Problem> {
    if let Some(axis) = scope.axes.iter().position(|(axis, _)| axis == name) {
        return Ok(axis);
    }
    let changes = |values: &Vec<BTreeMap<String, String>>| values.iter().all(|keys| keys.contains_key(name));
    let found: Vec<usize> = (0..scope.axes.len()).filter(|&axis| changes(&scope.settings[axis])).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => {
            let axes = scope.axes.iter().map(|(axis, _)| axis.as_str());
            let keys = scope.settings.iter().flat_map(|values| values.first()).flat_map(|keys| keys.keys());
            let known: Vec<&str> = axes.chain(keys.map(String::as_str)).collect();
            let problem = Problem::new(format!("{name} is neither an axis nor a key changed by an axis"));
            Err(problem.right(suggest(name, known)))
        }
        [first, second, ..] => {
            let (first, second) = (&scope.axes[*first].0, &scope.axes[*second].0);
            let problem = Problem::new(format!("{name} is changed by the axis {first} and by {second}"));
            Err(problem.right("put the name of the axis in the braces"))
        }
    }
}

/// Indices of the values of an axis that `where` selects.
fn places(node: &Node, axis: usize, scope: &Scope) -> Result<Vec<usize>, Problem> {
    let (name, labels) = &scope.axes[axis];
    let chosen = node.get("where").and_then(|w| w.entries().iter().find(|e| e.key == *name));
    let chosen = chosen.map(|entry| any_of(entry, labels)).transpose()?;
    let left = |place: &usize| chosen.as_ref().is_none_or(|some| some.contains(&labels[*place]));
    Ok((0..labels.len()).filter(left).collect())
}

/// The value of a placeholder at one value of its axis.
fn value(name: &str, axis: usize, place: usize, scope: &Scope) -> String {
    let (own, labels) = &scope.axes[axis];
    let key = scope.settings[axis][place].get(name).filter(|_| own != name);
    key.unwrap_or(&labels[place]).clone()
}
