//! An experiment as a tree of values with their locations in the text.
//!
//! Locations stay with their values: even after a sweep or `--set` has replaced a value, an error points to the text
//! that the author wrote.

use std::ops::Range;
use std::sync::Arc;

use aqmkit_base::read::Value as Tree;
use toml::de::{DeArray, DeTable, DeValue};

use super::path::Path;
use super::problem::{Origin, Problem, Text};

/// A value and its location.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: Origin,
    pub(super) value: Value,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A string, a number, a boolean or a date.
    Scalar(toml::Value),
    /// A list.
    Array(Vec<Node>),
    /// A table, in the order of the text.
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Origin,
    pub(super) node: Node,
}

impl Node {
    /// Parses a TOML document.
    pub(super) fn document(text: &Arc<Text>) -> Result<Node, Problem> {
        let read = DeTable::parse(text.content()).map_err(|e| syntax(text, &e, 0))?;
        let mut root = Reader { text, shift: 0 }.table(read.span(), read.get_ref())?;
        // Errors about the file as a whole point to its first key.
        if let Some(first) = root.entries().first().map(|e| e.at.clone()) {
            root.at = first;
        }
        Ok(root)
    }

    /// A document that was not parsed from a text: without locations, and with its keys in the order of a written one,
    /// which has tables after other values.
    pub(super) fn of_table(table: &toml::Table) -> Node {
        Self::of_value(&toml::Value::Table(table.clone()), &Origin::nowhere())
    }

    fn of_value(value: &toml::Value, at: &Origin) -> Node {
        let value = match value {
            toml::Value::Array(list) => Value::Array(list.iter().map(|inner| Self::of_value(inner, at)).collect()),
            toml::Value::Table(table) => {
                let (tables, others): (Vec<_>, Vec<_>) = table.iter().partition(|(_, inner)| is_section(inner));
                let entry = |(key, inner): (&String, &toml::Value)| Entry {
                    key: key.clone(),
                    at: at.clone(),
                    node: Self::of_value(inner, at),
                };
                Value::Table(others.into_iter().chain(tables).map(entry).collect())
            }
            scalar => Value::Scalar(scalar.clone()),
        };
        Node { at: at.clone(), value }
    }

    /// Parses the TOML value that begins at byte `from` of the text.
    pub(super) fn value(text: &Arc<Text>, from: usize) -> Result<Node, Problem> {
        let rest = text.content().get(from..).unwrap_or("");
        let read = DeValue::parse(rest).map_err(|e| syntax(text, &e, from))?;
        Reader { text, shift: from }.node(read.span(), read.get_ref())
    }

    /// An empty table.
    pub(super) fn empty(at: &Origin) -> Node {
        Node { at: at.clone(), value: Value::Table(Vec::new()) }
    }

    pub(super) fn string(at: &Origin, text: &str) -> Node {
        Node { at: at.clone(), value: Value::Scalar(toml::Value::String(text.to_owned())) }
    }

    /// The value without locations.
    pub(super) fn plain(&self) -> toml::Value {
        match &self.value {
            Value::Scalar(v) => v.clone(),
            Value::Array(nodes) => toml::Value::Array(nodes.iter().map(Node::plain).collect()),
            Value::Table(entries) => {
                toml::Value::Table(entries.iter().map(|e| (e.key.clone(), e.node.plain())).collect())
            }
        }
    }

    /// The value without locations, for readers of parameters.
    pub(super) fn tree(&self) -> Tree {
        match &self.value {
            Value::Scalar(toml::Value::String(text)) => Tree::Text(text.clone()),
            Value::Scalar(toml::Value::Integer(number)) => Tree::Integer(*number),
            Value::Scalar(toml::Value::Float(number)) => Tree::Number(*number),
            Value::Scalar(toml::Value::Boolean(value)) => Tree::Bool(*value),
            // Dates; no key accepts one.
            Value::Scalar(other) => Tree::Text(other.to_string()),
            Value::Array(nodes) => Tree::List(nodes.iter().map(Node::tree).collect()),
            Value::Table(entries) => Tree::Table(entries.iter().map(|e| (e.key.clone(), e.node.tree())).collect()),
        }
    }

    /// The string, if it is one.
    pub(super) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(v) => v.as_str(),
            _ => None,
        }
    }

    /// The entries; empty if it is not a table.
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The elements, none if it is not a list.
    pub(super) fn elements(&self) -> &[Node] {
        match &self.value {
            Value::Array(nodes) => nodes,
            _ => &[],
        }
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// The value of a key in a table.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The table without these keys.
    pub(super) fn without(&self, keys: &[&str]) -> Node {
        self.filtered(|key| !keys.contains(&key))
    }

    /// The table reduced to these keys.
    pub(super) fn only(&self, keys: &[&str]) -> Node {
        self.filtered(|key| keys.contains(&key))
    }

    fn filtered(&self, keep: impl Fn(&str) -> bool) -> Node {
        let entries = self.entries().iter().filter(|e| keep(&e.key)).cloned().collect();
        Node { at: self.at.clone(), value: Value::Table(entries) }
    }

    /// The index of an element, by number or by [`Node::name`].
    pub(super) fn element(nodes: &[Node], part: &str) -> Option<usize> {
        let named = nodes.iter().position(|n| n.name() == Some(part));
        named.or_else(|| part.parse().ok().filter(|i| *i < nodes.len()))
    }

    /// The name of a list element: its `label`, `name` or `kind`, whichever comes first.
    pub(super) fn name(&self) -> Option<&str> {
        ["label", "name", "kind"].iter().find_map(|key| self.get(key)).and_then(Node::as_str)
    }

    /// The value at a path, or at the longest prefix of the path that exists.
    pub(super) fn nearest(&self, path: &Path) -> &Node {
        let mut node = self;
        for part in &path.0 {
            let child = match &node.value {
                Value::Table(_) => node.get(part),
                Value::Array(nodes) => Self::element(nodes, part).map(|i| &nodes[i]),
                Value::Scalar(_) => None,
            };
            let Some(child) = child else { break };
            node = child;
        }
        node
    }

    /// The location of the last key of a path.
    pub(super) fn key_origin(&self, path: &Path) -> Option<&Origin> {
        let (key, parents) = path.0.split_last()?;
        let parent = self.nearest(&Path(parents.to_vec()));
        parent.entries().iter().find(|e| e.key == *key).map(|e| &e.at)
    }
}

/// Whether TOML writes the value as a section: a table, or a list of tables.
fn is_section(value: &toml::Value) -> bool {
    match value {
        toml::Value::Table(_) => true,
        toml::Value::Array(list) => !list.is_empty() && list.iter().all(toml::Value::is_table),
        _ => false,
    }
}

fn syntax(text: &Arc<Text>, error: &toml::de::Error, shift: usize) -> Problem {
    let span = error.span().unwrap_or(0..0);
    Problem::new(format!("this is not TOML: {}", error.message().trim()))
        .at(&Origin::new(text, span.start + shift..span.end + shift))
}

/// Converts the parser's borrowed tree into nodes.
struct Reader<'a> {
    text: &'a Arc<Text>,
    /// Byte of the text at which the parser started.
    shift: usize,
}

impl Reader<'_> {
    fn origin(&self, span: Range<usize>) -> Origin {
        Origin::new(self.text, span.start + self.shift..span.end + self.shift)
    }

    fn node(&self, span: Range<usize>, value: &DeValue<'_>) -> Result<Node, Problem> {
        let at = self.origin(span.clone());
        let too_large = || Problem::new("this number is too large").right("the maximum is 64 bits").at(&at);
        let scalar = match value {
            DeValue::Table(table) => return self.table(span, table),
            DeValue::Array(array) => return self.array(at, array),
            DeValue::String(s) => toml::Value::String(s.to_string()),
            DeValue::Boolean(b) => toml::Value::Boolean(*b),
            DeValue::Datetime(d) => toml::Value::Datetime(*d),
            DeValue::Integer(i) => {
                i64::from_str_radix(i.as_str(), i.radix()).map(toml::Value::Integer).map_err(|_| too_large())?
            }
            DeValue::Float(f) => f.as_str().parse().map(toml::Value::Float).map_err(|_| too_large())?,
        };
        Ok(Node { at, value: Value::Scalar(scalar) })
    }

    fn array(&self, at: Origin, array: &DeArray<'_>) -> Result<Node, Problem> {
        let nodes = array.iter().map(|v| self.node(v.span(), v.get_ref())).collect::<Result<_, _>>()?;
        Ok(Node { at, value: Value::Array(nodes) })
    }

    fn table(&self, span: Range<usize>, table: &DeTable<'_>) -> Result<Node, Problem> {
        let entry = |(key, value): (&toml::Spanned<toml::de::DeString<'_>>, &toml::Spanned<DeValue<'_>>)| {
            let node = self.node(value.span(), value.get_ref())?;
            Ok(Entry { key: key.get_ref().to_string(), at: self.origin(key.span()), node })
        };
        let mut entries = table.iter().map(entry).collect::<Result<Vec<_>, Problem>>()?;
        entries.sort_by_key(|e| e.at.span.start);
        Ok(Node { at: self.origin(span), value: Value::Table(entries) })
    }
}
