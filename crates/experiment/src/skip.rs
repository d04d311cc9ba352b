//! `skip` in `[sweep]`: combinations to leave out.

use std::collections::BTreeMap;

use super::problem::Problem;
use super::read::tables;
use super::scope::{Scope, any_of};
use super::sweep::{Axis, SKIP};
use super::tree::Node;

/// Entries with lists of labels by axis; a combination that matches all axes of an entry is left out.
#[derive(Debug, Default)]
pub(super) struct Skip(Vec<BTreeMap<String, Vec<String>>>);

impl Skip {
    /// Reads `skip` of a sweep with these axes.
    pub(super) fn read(sweep: &Node, axes: &[Axis]) -> Result<Skip, Problem> {
        let Some(list) = sweep.get(SKIP) else { return Ok(Skip::default()) };
        let scope = Scope::of_axes(axes);
        let help = "write skip = [{ aqm = \"red\", mix = [\"a\", \"b\"] }]";
        let skipped = tables(list, SKIP, help)?;
        if let Some(empty) = skipped.iter().find(|n| n.entries().is_empty()) {
            return Err(Problem::new("this table skips nothing").right(help).at(&empty.at));
        }
        skipped.iter().map(|node| read_entry(node, &scope)).collect::<Result<_, _>>().map(Skip)
    }

    /// Whether a combination with these labels is left out.
    pub(super) fn has(&self, labels: &BTreeMap<String, String>) -> bool {
        let held = |(axis, any): (&String, &Vec<String>)| labels.get(axis).is_some_and(|label| any.contains(label));
        self.0.iter().any(|wanted| wanted.iter().all(held))
    }
}

fn read_entry(node: &Node, scope: &Scope) -> Result<BTreeMap<String, Vec<String>>, Problem> {
    let axis = |entry: &super::tree::Entry| {
        let labels = scope.labels(&entry.key).ok_or_else(|| scope.no_axis(&entry.key, &[]).at(&entry.at))?;
        Ok((entry.key.clone(), any_of(entry, labels)?))
    };
    node.entries().iter().map(axis).collect()
}
