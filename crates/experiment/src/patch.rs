//! Changes an experiment by path, for `[quick]`, sweeps and `--set`.

use super::path::Path;
use super::problem::{Origin, Problem, Text, suggest};
use super::tree::{Entry, Node, Value};

/// A value for a path.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    pub(super) path: Path,
    /// Location of the path in the text.
    pub(super) at: Origin,
    pub(super) node: Node,
}

/// Keys whose value is replaced as a whole, even if it is a table.
const WHOLE: &[&str] = &["aqm", "delays"];

impl Patch {
    /// Parses an argument `path=value` of `--set`. A value that is not TOML is a string.
    pub(super) fn from_argument(argument: &str) -> Result<Patch, Problem> {
        let text = Text::new("--set", argument);
        let whole = Origin::new(&text, 0..argument.len());
        let help = "give a path and a value, for example topology.aqm.limit=240";
        let Some(equals) = argument.find('=') else {
            return Err(Problem::new("--set needs a path and a value").right(help).at(&whole));
        };
        let at = Origin::new(&text, 0..equals);
        let path = Path::parse(&argument[..equals]).ok_or_else(|| not_a_path(&argument[..equals], &at).right(help))?;
        let value_at = Origin::new(&text, equals + 1..argument.len());
        let node = Node::value(&text, equals + 1).unwrap_or_else(|_| Node::string(&value_at, &argument[equals + 1..]));
        Ok(Patch { path: path.normal(), at, node })
    }

    /// The patches in a table of paths and values.
    pub(super) fn from_table(table: &Node, skip: &[&str]) -> Result<Vec<Patch>, Problem> {
        let entries = table.entries().iter().filter(|e| !skip.contains(&e.key.as_str()));
        entries
            .map(|e| {
                let path = Path::parse(&e.key).ok_or_else(|| not_a_path(&e.key, &e.at))?;
                Ok(Patch { path: path.normal(), at: e.at.clone(), node: e.node.clone() })
            })
            .collect()
    }

    /// The keys that the patch replaces, as paths in `tree` with list elements by index. A table that is merged into
    /// another one replaces only the keys that it has.
    pub(super) fn keys(&self, tree: &Node) -> Vec<Path> {
        let mut found = Vec::new();
        leaves(&self.path, &self.node, &mut found);
        found.into_iter().map(|path| numbered(&path, tree)).collect()
    }

    /// Sets the value at the path; creates missing tables.
    pub(super) fn apply(&self, tree: &mut Node) -> Result<(), Problem> {
        self.descend(tree, &self.path.0)
    }

    fn descend(&self, node: &mut Node, parts: &[String]) -> Result<(), Problem> {
        let Some((part, rest)) = parts.split_first() else {
            return Ok(());
        };
        match &mut node.value {
            Value::Table(entries) => self.enter(entries, part, rest),
            Value::Array(nodes) => {
                let index = Node::element(nodes, part).ok_or_else(|| self.no_element(nodes, part))?;
                match rest {
                    [] => nodes[index] = self.node.clone(),
                    _ => return self.descend(&mut nodes[index], rest),
                }
                Ok(())
            }
            Value::Scalar(_) => {
                let what = format!("{} has a value that is not a table on its path", self.path);
                Err(Problem::new(what).right("only tables have keys").at(&self.at))
            }
        }
    }

    fn enter(&self, entries: &mut Vec<Entry>, part: &str, rest: &[String]) -> Result<(), Problem> {
        let index = entries.iter().position(|e| e.key == part).unwrap_or_else(|| {
            entries.push(Entry { key: part.to_owned(), at: self.at.clone(), node: Node::empty(&self.at) });
            entries.len() - 1
        });
        let entry = &mut entries[index];
        if !rest.is_empty() {
            if part == "aqm" {
                name_to_table(&mut entry.node);
            }
            return self.descend(&mut entry.node, rest);
        }
        put(entry, &self.node, &self.at);
        Ok(())
    }

    fn no_element(&self, nodes: &[Node], part: &str) -> Problem {
        Problem::new(format!("{} has no element {part}", self.path))
            .right(suggest(part, nodes.iter().filter_map(Node::name)))
            .at(&self.at)
    }
}

/// Collects the paths of values that are replaced, not merged.
fn leaves(path: &Path, node: &Node, found: &mut Vec<Path>) {
    let whole = path.0.last().is_some_and(|key| WHOLE.contains(&key.as_str()));
    if whole || !node.is_table() {
        found.push(path.clone());
    } else {
        node.entries().iter().for_each(|entry| leaves(&path.below(&entry.key), &entry.node, found));
    }
}

/// The path with names of list elements replaced by indices.
fn numbered(path: &Path, tree: &Node) -> Path {
    let mut here = Some(tree);
    let part = |part: &String| {
        let node = here?;
        if let Value::Array(nodes) = &node.value {
            let index = Node::element(nodes, part);
            here = index.map(|i| &nodes[i]);
            return Some(index.map_or_else(|| part.clone(), |i| i.to_string()));
        }
        here = node.get(part);
        Some(part.clone())
    };
    let known: Vec<String> = path.0.iter().map_while(part).collect();
    let rest = path.0.iter().skip(known.len()).cloned();
    Path(known.iter().cloned().chain(rest).collect())
}

/// Replaces the name of a discipline by a table, so that it can have parameters.
fn name_to_table(node: &mut Node) {
    if node.as_str().is_some() {
        let at = node.at.clone();
        let name = std::mem::replace(node, Node::empty(&at));
        node.value = Value::Table(vec![Entry { key: "name".to_owned(), at, node: name }]);
    }
}

/// Replaces the value of an entry; a table is merged into a table.
fn put(entry: &mut Entry, node: &Node, at: &Origin) {
    if entry.node.is_table() && node.is_table() && !WHOLE.contains(&entry.key.as_str()) {
        merge(&mut entry.node, node);
    } else {
        entry.node = node.clone();
        entry.at = at.clone();
    }
}

/// Merges table `from` into table `into`, key by key; values of `from` take precedence. A value that is not a table
/// stays, and is rejected where it is read.
pub(super) fn merge(into: &mut Node, from: &Node) {
    let Value::Table(entries) = &mut into.value else { return };
    for new in from.entries() {
        match entries.iter_mut().find(|e| e.key == new.key) {
            Some(old) => put(old, &new.node, &new.at),
            None => entries.push(new.clone()),
        }
    }
}

fn not_a_path(text: &str, at: &Origin) -> Problem {
    Problem::new(format!("{text:?} is not a valid path"))
        .right("a path consists of keys joined by dots, for example topology.aqm.limit")
        .at(at)
}
