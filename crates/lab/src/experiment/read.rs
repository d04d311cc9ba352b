//! From nodes to typed values, with errors that point to the text.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Deserializer, Segment, Track};

use super::path::Path;
use super::problem::{Problem, suggest};
use super::tree::Node;

/// What the keys of a table are called in messages, and keys that are known beside those of its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'a> {
    /// `a key of [topology]`, `a parameter of red`.
    pub(super) noun: &'a str,
    /// Keys that the type does not have but the table does.
    pub(super) also: &'a [&'a str],
}

impl<'a> Keys<'a> {
    pub(super) fn of(noun: &'a str) -> Self {
        Keys { noun, also: &[] }
    }
}

/// Reads a node as a `T`.
pub(super) fn read<T: DeserializeOwned>(node: &Node, keys: Keys<'_>) -> Result<T, Problem> {
    read_with(node, keys, |d| T::deserialize(d))
}

/// Reads a node with a function that takes a deserialiser.
pub(super) fn read_with<T>(
    node: &Node,
    keys: Keys<'_>,
    with: impl FnOnce(Deserializer<'_, '_, toml::Value>) -> Result<T, toml::de::Error>,
) -> Result<T, Problem> {
    let mut track = Track::new();
    let result = with(Deserializer::new(node.plain(), &mut track));
    result.map_err(|e| explain(node, &path_of(&track.path()), e.message().trim(), keys))
}

fn path_of(path: &serde_path_to_error::Path) -> Path {
    let part = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { variant } => Some(variant.clone()),
        Segment::Unknown => None,
    };
    Path(path.iter().filter_map(part).collect())
}

/// Says in plain words what serde says in its own, at the place that it is about.
fn explain(node: &Node, path: &Path, message: &str, keys: Keys<'_>) -> Problem {
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        return unknown(node, path, message, keys);
    }
    let at = &node.nearest(path).at;
    if let Some(rest) = message.strip_prefix("missing field ") {
        let key = rest.trim_matches('`');
        return Problem::new(format!("{key} is missing")).right(format!("write {key} = …")).at(at);
    }
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        let key = rest.trim_matches('`');
        return Problem::new(format!("{key} is given twice, under two names")).right("remove one of them").at(at);
    }
    let subject = if path.0.is_empty() { "this".to_owned() } else { path.to_string() };
    for prefix in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((got, want)) = message.strip_prefix(prefix).and_then(|m| m.split_once(", expected ")) {
            let got = if prefix.starts_with("invalid length") { format!("of length {got}") } else { plain_value(got) };
            let right = if prefix.starts_with("invalid value") { in_range(&got, want) } else { None };
            let right = right.unwrap_or_else(|| plain_type(want).to_owned());
            return Problem::new(format!("{subject} is {got}")).right(format!("it must be {right}")).at(at);
        }
    }
    match message.split_once(": ") {
        Some((what, right)) if what.contains(" is not a ") => {
            Problem::new(format!("{subject}: {what}")).right(right).at(at)
        }
        _ => Problem::new(format!("{subject}: {message}")).at(at),
    }
}

/// An unknown key or variant: the message names it and then the known ones, all in backticks.
fn unknown(node: &Node, path: &Path, message: &str, keys: Keys<'_>) -> Problem {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let got = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.chain(keys.also.iter().copied()).collect();
    let help = suggest(got, known.iter().copied());
    let inner = path.0.len() > usize::from(path.0.last().is_some_and(|last| last == got));
    let value = node.nearest(path);
    if message.starts_with("unknown variant") && value.as_str() == Some(got) {
        return Problem::new(format!("{got:?} is not a known value of {path}")).right(help).at(&value.at);
    }
    let what =
        if inner { format!("{got} is not a known key of {path}") } else { format!("{got} is not {}", keys.noun) };
    let full = if path.0.last().is_some_and(|last| last == got) { path.clone() } else { path.below(got) };
    Problem::new(what).right(help).at(node.key_origin(&full).unwrap_or(&value.at))
}

/// What serde calls a value, in the words of the format.
fn plain_value(got: &str) -> String {
    match got {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => other.replace('`', ""),
    }
}

/// What is right in place of a whole number that is too large for its type.
fn in_range(got: &str, want: &str) -> Option<String> {
    let most = match want {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        _ => return None,
    };
    let too_large = got.rsplit(' ').next()?.parse::<u64>().is_ok();
    too_large.then(|| format!("a whole number from 0 to {most}"))
}

/// The names that serde gives to types, in the words of the format.
fn plain_type(want: &str) -> &str {
    match want {
        "u64" | "u32" | "u16" | "u8" | "usize" => "a whole number that is not negative",
        "f64" => "a number",
        "a string" => "a string in quotes",
        "a map" | "struct Table" => "a table",
        "a sequence" => "a list in [ ]",
        "a tuple of size 2" | "an array of length 2" => "a list of two: [from, to]",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}
