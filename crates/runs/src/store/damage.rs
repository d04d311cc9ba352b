//! Messages about directories of results that are damaged or changed.

use super::checksum::Seal;
use super::{Runs, Store, Stored};
use crate::run::name;

/// Up to this number, damaged runs are listed individually.
const FEW: usize = 10;

/// Descriptions of the damage in a directory of results, one sentence each; empty if there is none.
#[must_use]
pub fn warnings(store: &Store, stored: &Stored, runs: &Runs) -> Vec<String> {
    let mut all: Vec<String> = changed(store, stored.seal).into_iter().collect();
    all.extend(runs.broken.iter().take(FEW).map(|(run, why)| {
        format!(
            "run {} is damaged: {}: {why}; the report lacks it until the original command is repeated, which runs it again",
            name(&run.labels),
            store.run_file(&run.hash).display()
        )
    }));
    if runs.broken.len() > FEW {
        all.push(format!("{} more runs are damaged", runs.broken.len() - FEW));
    }
    all
}

/// The warning about a `results.json` that was changed.
#[must_use]
pub fn changed(store: &Store, seal: Seal) -> Option<String> {
    (seal == Seal::Changed).then(|| {
        format!(
            "{} was changed after aqmkit wrote it: its checksum does not match; repeat the original command to write it again from the stored runs",
            store.dir().join("results.json").display()
        )
    })
}
