//! Deserializes nodes into typed values, with errors that point to the text.

use aqmkit_base::param::{Fault, ParamError};
use aqmkit_base::read::Value;
use serde::de::DeserializeOwned;

use super::path::Path;
use super::problem::{Origin, Problem};
use super::tree::{Node, Value as Written};

/// For messages: what the keys of a table are called; and keys that are valid in addition to those of the type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'a> {
    /// For example `a key of [topology]`, `a parameter of red`.
    pub(super) noun: &'a str,
    /// Valid keys that the type does not have.
    pub(super) also: &'static [&'static str],
}

impl<'a> Keys<'a> {
    pub(super) fn of(noun: &'a str) -> Self {
        Keys { noun, also: &[] }
    }
}

/// Deserializes a node.
pub(super) fn read<T: DeserializeOwned>(node: &Node, keys: Keys<'_>) -> Result<T, Problem> {
    read_by(node, keys, |tree| tree.read())
}

/// Deserializes a node with a custom reader.
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

/// The elements of a list of tables such as `[[traffic]]`, whose name is `key`; `help` is the hint for errors.
///
/// # Errors
/// When the value is anything else.
pub(super) fn tables<'a>(list: &'a Node, key: &str, help: &str) -> Result<&'a [Node], Problem> {
    match &list.value {
        Written::Array(nodes) if nodes.iter().all(Node::is_table) => Ok(nodes),
        _ => Err(Problem::new(format!("{key} is not a list of tables")).right(help).at(&list.at)),
    }
}

/// An error about a parameter of `name`: at its location in the table, or at `else_at` if the table does not have it.
pub(super) fn refused(name: &str, table: &Node, else_at: &Origin, error: &ParamError) -> Problem {
    let at = place(table, error);
    let at = if std::ptr::eq(at, &table.at) { else_at } else { at };
    Problem::from(error.clone().as_written(&table.tree()).of(name)).at(at)
}

/// Location of an error in a table: the key if it is unknown, otherwise the value.
fn place<'a>(table: &'a Node, error: &ParamError) -> &'a Origin {
    let path = Path::parse(&error.field).unwrap_or_default();
    let key = if matches!(error.fault, Fault::Key { .. }) { table.key_origin(&path) } else { None };
    key.unwrap_or(&table.nearest(&path).at)
}
