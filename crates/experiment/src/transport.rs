//! `[transport]`: a profile's name and changes to its fields, or the name of a stack from outside.

#[cfg(feature = "claims")]
use std::collections::BTreeMap;

use aqmkit_stack::{Catalogue as Stacks, Spec};
use aqmkit_transport::Catalogue as Controls;
use aqmkit_transport::profile::NAMES;

use super::catalogues::Catalogues;
use super::patch::merge;
use super::problem::{Problem, suggest};
use super::read::{Keys, read_by, refused};
use super::tree::Node;

pub(super) use aqmkit_transport::Profile;

/// The default profile.
const DEFAULT: &str = "rfc";
const PROFILE: &str = "profile";
const STACK: &str = "stack";

/// How both ends of the connections of a traffic behave.
pub(super) struct Transport {
    /// The profile; for a stack that of the RFCs with the stack's ECN.
    pub(super) profile: Profile,
    /// The stack, if it is one from outside.
    pub(super) stack: Option<Spec>,
}

/// The transport of `[transport]` with a traffic's changes.
pub(super) fn read_transport(
    base: Option<&Node>,
    changes: Option<&Node>,
    catalogues: &Catalogues,
) -> Result<Transport, Problem> {
    if let Some(node) = [base, changes].into_iter().flatten().find(|n| !n.is_table()) {
        let help = "write transport = { profile = \"bsd44\" }";
        return Err(Problem::new("transport is not a table").right(help).at(&node.at));
    }
    let table = match (kept(base, changes), changes) {
        (Some(base), Some(changes)) => {
            let mut table = base.clone();
            merge(&mut table, changes);
            table
        }
        (Some(table), None) | (None, Some(table)) => table.clone(),
        (None, None) => {
            let profile = Profile::named(DEFAULT).ok_or_else(|| unknown(DEFAULT))?;
            return Ok(Transport { profile, stack: None });
        }
    };
    match table.get(STACK) {
        Some(name) => read_stack(name, &table, &catalogues.stacks),
        None => Ok(Transport { profile: read_profile(&table, &catalogues.controls)?, stack: None }),
    }
}

/// The part of `[transport]` that applies to a traffic with these changes: nothing where one names a stack and the other a profile.
fn kept<'a>(base: Option<&'a Node>, changes: Option<&Node>) -> Option<&'a Node> {
    let base = base?;
    let has = |node: &Node, key: &str| node.get(key).is_some();
    let replaced = changes.is_some_and(|own| {
        (has(own, STACK) && !has(base, STACK)) || (has(own, PROFILE) && !has(own, STACK) && has(base, STACK))
    });
    (!replaced).then_some(base)
}

fn read_profile(table: &Node, controls: &Controls) -> Result<Profile, Problem> {
    let name = table.get(PROFILE);
    let text = name.map_or(Some(DEFAULT), Node::as_str).unwrap_or_default();
    let at = &name.unwrap_or(table).at;
    let profile = Profile::named(text).ok_or_else(|| unknown(text).at(at))?;
    let keys = Keys { noun: "a field of a transport profile", also: &[PROFILE, STACK] };
    let overrides = read_by(&table.without(&[PROFILE]), keys, |tree| controls.overrides(tree))?;
    overrides.apply(profile).map_err(|e| refused("the transport", table, &table.at, &e))
}

fn read_stack(name: &Node, table: &Node, stacks: &Stacks) -> Result<Transport, Problem> {
    if let Some(profile) = table.get(PROFILE) {
        let help = "a stack has no profile: remove one of the two";
        return Err(Problem::new("transport has both a stack and a profile").right(help).at(&profile.at));
    }
    let text = name.as_str().unwrap_or_default();
    if stacks.find(text).is_none() {
        return Err(Problem::new(format!("there is no stack {text:?}")).right(stacks.help(text)).at(&name.at));
    }
    let keys = Keys { noun: "a key of the transport with a stack", also: &[STACK] };
    let spec = read_by(&table.without(&[STACK]), keys, |tree| stacks.spec(text, tree))?;
    let profile = Profile::named(DEFAULT).ok_or_else(|| unknown(DEFAULT))?;
    Ok(Transport { profile: Profile { ecn: spec.settings().ecn, ..profile }, stack: Some(spec) })
}

/// Describes the hosts: the profile, and the changes other than congestion control and ECN: `linux-6`, `rfc with sack =
/// true`.
#[cfg(feature = "claims")]
pub(super) fn hosts(base: Option<&Node>, changes: Option<&Node>) -> String {
    let mut fields: BTreeMap<&str, &Node> = BTreeMap::new();
    for entry in [kept(base, changes), changes].into_iter().flatten().flat_map(Node::entries) {
        fields.insert(entry.key.as_str(), &entry.node);
    }
    let stack = fields.remove(STACK).and_then(Node::as_str).map(|name| format!("the stack {name}"));
    let profile = fields.remove(PROFILE).and_then(Node::as_str).unwrap_or(DEFAULT);
    let name = stack.unwrap_or_else(|| profile.to_owned());
    fields.retain(|key, _| !["congestion", "ecn"].contains(key));
    let changed: Vec<String> = fields.iter().map(|(key, node)| format!("{key} = {}", node.plain())).collect();
    if changed.is_empty() { name } else { format!("{name} with {}", changed.join(", ")) }
}

fn unknown(name: &str) -> Problem {
    Problem::new(format!("there is no transport profile {name:?}")).right(suggest(name, NAMES))
}
