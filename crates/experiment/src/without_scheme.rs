//! The experiment without its scheme, for the null test.
//!
//! `[null]` lists by path the changes that switch the scheme off, for example
//! `"params.red-pd.identify" = false`. Without this table drop-tail replaces every discipline: `fifo` with
//! the file's `[params.fifo]`, or else with the `limit` of the replaced discipline.

use aqmkit_aqm::registry::Spec;

use super::keys::is_swept;
use super::link::Link;
use super::patch::Patch;
use super::problem::{Problem, suggest};
use super::queue::read_drop_tail;
use super::resolve::Resolved;
use super::tree::Node;

/// The table of a file with the changes that remove the scheme.
pub(super) const NULL: &str = "null";

/// How the scheme is taken away.
pub(super) enum Without {
    /// By these changes, made after all others.
    Changes(Vec<Patch>),
    /// By drop-tail in the place of every discipline.
    DropTail,
}

impl Without {
    /// The changes of the file.
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

    /// Makes the changes in the tree of a combination.
    pub(super) fn change(&self, tree: &mut Node) -> Result<(), Problem> {
        match self {
            Without::Changes(patches) => patches.iter().try_for_each(|p| p.apply(tree)),
            Without::DropTail => Ok(()),
        }
    }

    /// Puts drop-tail in the place of the disciplines of a resolved combination.
    pub(super) fn replace(&self, run: &mut Resolved, tree: &Node) -> Result<(), Problem> {
        match self {
            Without::Changes(_) => Ok(()),
            // Nothing queues there, whatever the discipline.
            Without::DropTail if run.uncongested => Ok(()),
            Without::DropTail => {
                for link in &mut run.links {
                    link.aqm = drop_tail(link, tree)?;
                }
                // Parameters of the discipline that is not there change nothing.
                for stage in &mut run.changes {
                    for (link, start) in stage.links.iter_mut().zip(&run.links) {
                        link.aqm = start.aqm.clone();
                    }
                }
                Ok(())
            }
        }
    }
}

/// The drop-tail queue in the place of a link's discipline; one that is there stays as it is.
fn drop_tail(link: &Link, tree: &Node) -> Result<Spec, Problem> {
    if link.aqm.name() == "fifo" { Ok(link.aqm.clone()) } else { read_drop_tail(tree.get("params"), &link.aqm) }
}
