//! Removes an experiment's scheme, for the null test.
//!
//! `[null]` lists changes by path that switch the scheme off, for example `"params.red-pd.identify" = false`. Without
//! this table drop-tail replaces every discipline: `fifo` with the file's `[params.fifo]`, or else with the `limit` of
//! the replaced discipline.

use aqmkit_aqm::registry::Spec;

use super::keys::is_swept;
use super::link::Link;
use super::patch::Patch;
use super::problem::{Problem, suggest};
use super::queue::read_drop_tail;
use super::resolve::Resolved;
use super::tree::Node;

/// The key of the table with the changes that remove the scheme.
pub(super) const NULL: &str = "null";

/// How to remove the scheme.
pub(super) enum Without {
    /// Apply these changes after all others.
    Changes(Vec<Patch>),
    /// Replace every discipline by drop-tail.
    DropTail,
}

impl Without {
    /// Reads the table `[null]`.
    pub(super) fn of(document: &Node) -> Result<Without, Problem> {
        let Some(table) = document.get(NULL) else { return Ok(Without::DropTail) };
        let help =
            "write [null] and below it the changes that switch the scheme off, for example \"params.red.max_p\" = 0.0";
        if !table.is_table() || table.entries().is_empty() {
            return Err(Problem::new("null is not a table of changes").right(help).at(&table.at));
        }
        let patches = Patch::from_table(table, &[])?;
        match patches.iter().find(|p| !is_swept(p.path.root())) {
            None => Ok(Without::Changes(patches)),
            Some(patch) => {
                let problem = Problem::new(format!("{} cannot be changed by [null]", patch.path.root()));
                Err(problem.right(suggest(patch.path.root(), super::keys::swept())).at(&patch.at))
            }
        }
    }

    /// Applies the changes to the tree of a combination.
    pub(super) fn change(&self, tree: &mut Node) -> Result<(), Problem> {
        match self {
            Without::Changes(patches) => patches.iter().try_for_each(|p| p.apply(tree)),
            Without::DropTail => Ok(()),
        }
    }

    /// Replaces the disciplines of a resolved combination by drop-tail.
    pub(super) fn replace(&self, run: &mut Resolved, tree: &Node) -> Result<(), Problem> {
        match self {
            Without::Changes(_) => Ok(()),
            // Uncongested links already have drop-tail queues.
            Without::DropTail if run.uncongested => Ok(()),
            Without::DropTail => {
                for link in &mut run.links {
                    link.simulated.aqm = drop_tail(link, tree)?;
                }
                // Changes of the removed discipline's parameters have no effect.
                for stage in &mut run.changes {
                    for (link, start) in stage.links.iter_mut().zip(&run.links) {
                        link.simulated.aqm = start.aqm.clone();
                    }
                }
                Ok(())
            }
        }
    }
}

/// The drop-tail queue that replaces a link's discipline; a drop-tail queue is kept.
fn drop_tail(link: &Link, tree: &Node) -> Result<Spec, Problem> {
    if link.aqm.name() == "fifo" { Ok(link.aqm.clone()) } else { read_drop_tail(tree.get("params"), &link.aqm) }
}
