//! Messages about directories of results that are damaged or changed.

use super::checksum::Seal;
use super::{Runs, Store, Stored};
use crate::run::name;

/// The most damaged runs that are named one by one.
const FEW: usize = 10;

/// What is wrong in a directory, a sentence each; none where it is as it was left.
#[must_use]
pub fn warnings(store: &Store, stored: &Stored, runs: &Runs) -> Vec<String> {
    let mut all: Vec<String> = changed(store, stored.seal).into_iter().collect();
    all.extend(runs.broken.iter().take(FEW).map(|(run, why)| {
        format!(
            "run {} is damaged: {}: {why}; it is missing here until the command that made it is given again, which runs it once more",
            name(&run.labels),
            store.run_file(&run.hash).display()
        )
    }));
    if runs.broken.len() > FEW {
        all.push(format!("{} more runs are damaged", runs.broken.len() - FEW));
    }
    all
}

/// The message about a `results.json` that was changed.
#[must_use]
pub fn changed(store: &Store, seal: Seal) -> Option<String> {
    (seal == Seal::Changed).then(|| {
        format!(
            "{} was changed after aqmkit wrote it: its checksum does not match; the command that made it writes it anew from the stored runs",
            store.dir().join("results.json").display()
        )
    })
}
