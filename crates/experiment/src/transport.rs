//! `[transport]`: a profile's name, and changes to its fields.

#[cfg(feature = "claims")]
use std::collections::BTreeMap;

use aqmkit_transport::Catalogue;
use aqmkit_transport::profile::NAMES;

use super::patch::merge;
use super::problem::{Problem, suggest};
use super::read::{Keys, read_by, refused};
use super::tree::Node;

pub(super) use aqmkit_transport::Profile;

/// The default profile.
const DEFAULT: &str = "rfc";

/// The profile of `[transport]` with a traffic's changes.
pub(super) fn read_profile(
    base: Option<&Node>,
    changes: Option<&Node>,
    controls: &Catalogue,
) -> Result<Profile, Problem> {
    if let Some(node) = [base, changes].into_iter().flatten().find(|n| !n.is_table()) {
        let help = "write transport = { profile = \"bsd44\" }";
        return Err(Problem::new("transport is not a table").right(help).at(&node.at));
    }
    let table = match (base, changes) {
        (Some(base), Some(changes)) => {
            let mut table = base.clone();
            merge(&mut table, changes);
            table
        }
        (Some(table), None) | (None, Some(table)) => table.clone(),
        (None, None) => return Profile::named(DEFAULT).ok_or_else(|| unknown(DEFAULT)),
    };
    let name = table.get("profile");
    let text = name.map_or(Some(DEFAULT), Node::as_str).unwrap_or_default();
    let at = &name.unwrap_or(&table).at;
    let profile = Profile::named(text).ok_or_else(|| unknown(text).at(at))?;
    let keys = Keys { noun: "a field of a transport profile", also: &["profile"] };
    let overrides = read_by(&table.without(&["profile"]), keys, |tree| controls.overrides(tree))?;
    overrides.apply(profile).map_err(|e| refused("the transport", &table, &table.at, &e))
}

/// Describes the hosts: the profile, and the changes other than congestion control and ECN: `linux-6`, `rfc with sack =
/// true`.
#[cfg(feature = "claims")]
pub(super) fn hosts(base: Option<&Node>, changes: Option<&Node>) -> String {
    let mut fields: BTreeMap<&str, &Node> = BTreeMap::new();
    for entry in [base, changes].into_iter().flatten().flat_map(Node::entries) {
        fields.insert(entry.key.as_str(), &entry.node);
    }
    let name = fields.remove("profile").and_then(Node::as_str).unwrap_or(DEFAULT).to_owned();
    fields.retain(|key, _| !["congestion", "ecn"].contains(key));
    let changed: Vec<String> = fields.iter().map(|(key, node)| format!("{key} = {}", node.plain())).collect();
    if changed.is_empty() { name } else { format!("{name} with {}", changed.join(", ")) }
}

fn unknown(name: &str) -> Problem {
    Problem::new(format!("there is no transport profile {name:?}")).right(suggest(name, NAMES))
}
