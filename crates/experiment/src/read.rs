//! From nodes to typed values, with errors that point to the text.

use aqmkit_base::param::{Fault, ParamError};
use aqmkit_base::read::Value;
use serde::de::DeserializeOwned;

use super::path::Path;
use super::problem::{Origin, Problem};
use super::tree::{Node, Value as Written};

/// How messages name the keys of a table, and the keys that it has in addition to those of its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'a> {
    /// `a key of [topology]`, `a parameter of red`.
    pub(super) noun: &'a str,
    /// Keys of the table that its type does not have.
    pub(super) also: &'static [&'static str],
}

impl<'a> Keys<'a> {
    pub(super) fn of(noun: &'a str) -> Self {
        Keys { noun, also: &[] }
    }
}

/// Reads a node as a `T`.
pub(super) fn read<T: DeserializeOwned>(node: &Node, keys: Keys<'_>) -> Result<T, Problem> {
    read_by(node, keys, |tree| tree.read())
}

/// Reads a node with a reader of its own.
pub(super) fn read_by<T>(
    node: &Node,
    keys: Keys<'_>,
    reader: impl FnOnce(Value) -> Result<T, ParamError>,
) -> Result<T, Problem> {
    reader(node.tree()).map_err(|error| {
        let error = error.also_known(keys.also);
        Problem::from(error.explain(keys.noun, "")).at(place(node, &error))
    })
}

/// The tables of a list such as `[[traffic]]`, whose name is `key`; `help` says what would be right.
///
/// # Errors
/// When it is anything else.
pub(super) fn tables<'a>(list: &'a Node, key: &str, help: &str) -> Result<&'a [Node], Problem> {
    match &list.value {
        Written::Array(nodes) if nodes.iter().all(Node::is_table) => Ok(nodes),
        _ => Err(Problem::new(format!("{key} is not a list of tables")).right(help).at(&list.at)),
    }
}

/// An error about a parameter of `name`: at its place in the table, or at `else_at` if the table does not have it.
pub(super) fn refused(name: &str, table: &Node, else_at: &Origin, error: &ParamError) -> Problem {
    let at = place(table, error);
    let at = if std::ptr::eq(at, &table.at) { else_at } else { at };
    Problem::from(error.clone().as_written(&table.tree()).of(name)).at(at)
}

/// The place of an error in a table: the key if it is unknown, or else the value.
fn place<'a>(table: &'a Node, error: &ParamError) -> &'a Origin {
    let path = Path::parse(&error.field).unwrap_or_default();
    let key = if matches!(error.fault, Fault::Key { .. }) { table.key_origin(&path) } else { None };
    key.unwrap_or(&table.nearest(&path).at)
}
