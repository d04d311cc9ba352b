//! `aqm`: a discipline's name, or a table whose parameters take precedence over those of `[params]`.

use aqmkit_aqm::Catalogue;
use aqmkit_aqm::custom;
use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::BitRate;
use aqmkit_base::units::parse_duration;
use aqmkit_sim::check_queue;

use super::patch::merge;
use super::problem::{Problem, suggest};
use super::read::refused;
use super::tree::{Entry, Node, Value};

/// Limit in packets of queues that are not under study.
const PLAIN_LIMIT: i64 = 1000;

/// Reads the value of `aqm` for a link; `params` is the table `[params]`.
pub(super) fn read_queue(
    node: &Node,
    params: Option<&Node>,
    link: &Link,
    disciplines: &Catalogue,
) -> Result<Spec, Problem> {
    let name_node = if node.is_table() { node.get("name") } else { Some(node) };
    let Some(name_node) = name_node else {
        return Err(Problem::new("name is missing").right("a discipline is a name, or a table with one").at(&node.at));
    };
    let Some(name) = name_node.as_str() else {
        let help = "a discipline is a name such as \"red\", or { name = \"red\", min = 5 }";
        return Err(Problem::new("this is not a discipline").right(help).at(&name_node.at));
    };
    known(name, name_node, disciplines)?;
    let mut table = params.and_then(|p| p.get(name)).cloned().unwrap_or_else(|| Node::empty(&node.at));
    merge(&mut table, &node.without(&["name", "label"]));
    let table = with_inner(&with_packets(&table, link.rate), params);
    let spec = read_params(name, &table, disciplines)?;
    check_queue(&spec, link).map_err(|e| refused(name, &table, &node.at, &e))?;
    Ok(spec)
}

/// Checks `[params]`, which can have tables for disciplines that no run uses.
pub(super) fn check_params(params: &Node, disciplines: &Catalogue) -> Result<(), Problem> {
    if !params.is_table() {
        return Err(Problem::new("params is not a table").right("write [params.red], [params.cbt] …").at(&params.at));
    }
    for entry in params.entries() {
        if !disciplines.has(&entry.key) {
            return Err(unknown(&entry.key, disciplines).at(&entry.at));
        }
        // Without a run the link's rate is unknown; any rate will do for the check.
        read_params(&entry.key, &with_packets(&entry.node, BitRate::from_mbps(10)), disciplines)?;
    }
    Ok(())
}

/// Bytes of a full-sized packet.
const FULL_PACKET: f64 = 1500.0;

/// Converts a `limit` that is a time, such as `"20ms"`, into the number of full-sized packets that a link of this rate
/// sends in that time; at least one.
fn with_packets(table: &Node, rate: BitRate) -> Node {
    let time = table.get("limit").and_then(Node::as_str).and_then(|text| parse_duration(text).ok());
    let (Some(time), Value::Table(entries)) = (time, &table.value) else { return table.clone() };
    let packets = (rate.as_bps() as f64 * time.as_secs_f64() / (8.0 * FULL_PACKET)).ceil().max(1.0);
    let counted = |entry: &Entry| match entry.key.as_str() {
        "limit" => {
            let value = Value::Scalar(toml::Value::Integer(packets as i64));
            Entry { node: Node { value, ..entry.node.clone() }, ..entry.clone() }
        }
        _ => entry.clone(),
    };
    Node { at: table.at.clone(), value: Value::Table(entries.iter().map(counted).collect()) }
}

/// The parameters of a tree, with those of `[params]` in the disciplines inside of it.
fn with_inner(table: &Node, params: Option<&Node>) -> Node {
    let complete = |entry: &Entry| match (entry.key.as_str(), &entry.node.value) {
        ("aqm", _) => Entry { node: inner(&entry.node, params), ..entry.clone() },
        ("class" | "classes", Value::Array(classes)) => {
            let value = Value::Array(classes.iter().map(|class| with_inner(class, params)).collect());
            Entry { node: Node { value, ..entry.node.clone() }, ..entry.clone() }
        }
        _ => entry.clone(),
    };
    match &table.value {
        Value::Table(entries) => Node { value: Value::Table(entries.iter().map(complete).collect()), ..table.clone() },
        _ => table.clone(),
    }
}

/// A discipline inside of a tree, a name or a table, with its parameters of `[params]`.
fn inner(node: &Node, params: Option<&Node>) -> Node {
    let name = if node.is_table() { node.get("name") } else { Some(node) };
    let Some((name, text)) = name.and_then(|name| Some((name, name.as_str()?))) else { return node.clone() };
    let Some(own) = params.and_then(|params| params.get(text)) else { return with_inner(node, params) };
    let mut table = own.clone();
    if node.is_table() {
        merge(&mut table, node);
    } else if let Value::Table(entries) = &mut table.value {
        entries.push(Entry { key: "name".to_owned(), at: name.at.clone(), node: name.clone() });
    }
    with_inner(&table, params)
}

/// The queue of links that are not under study: a long FIFO.
pub(super) fn plain() -> Result<Spec, Problem> {
    let table = toml::Table::from_iter([("limit".to_owned(), toml::Value::Integer(PLAIN_LIMIT))]);
    Spec::read("fifo", table).map_err(|e| Problem::new(format!("cannot create a FIFO: {}", e.message())))
}

/// The drop-tail queue that replaces a discipline: with the file's parameters for `fifo`, or else with the discipline's
/// own `limit`.
pub(super) fn read_drop_tail(params: Option<&Node>, instead_of: &Spec) -> Result<Spec, Problem> {
    let mut spec = match params.and_then(|p| p.get("fifo")) {
        Some(table) => toml::Table::try_from(&read_params("fifo", table, &Catalogue::default())?),
        None => Ok(toml::Table::new()),
    };
    let own = toml::Table::try_from(instead_of).ok().and_then(|table| table.get("limit").cloned());
    if let (Ok(table), Some(limit)) = (&mut spec, own) {
        table.entry("limit").or_insert(limit);
    }
    let spec = spec.and_then(|table| Spec::read("fifo", table).map_err(serde::ser::Error::custom));
    spec.map_err(|e| Problem::new(format!("drop-tail cannot replace {}: {e}", instead_of.name())))
}

fn known(name: &str, node: &Node, disciplines: &Catalogue) -> Result<(), Problem> {
    let there = name == custom::NAME || disciplines.has(name);
    if there { Ok(()) } else { Err(unknown(name, disciplines).at(&node.at)) }
}

fn unknown(name: &str, disciplines: &Catalogue) -> Problem {
    Problem::new(format!("there is no discipline {name:?}")).right(suggest(name, disciplines.names()))
}

fn read_params(name: &str, table: &Node, disciplines: &Catalogue) -> Result<Spec, Problem> {
    disciplines.spec(name, table.tree()).map_err(|e| refused(name, table, &table.at, &e))
}
