//! A plan: every combination and repeat as a run of its own.
//!
//! The seed of a run depends on the experiment's seed and the repeat, not on the combination: in the same
//! repeat every discipline meets the same users and the same sizes (common random numbers), so differences
//! between disciplines show with fewer repeats. Where an experiment has many cells that are judged one by one, a
//! fluctuation that all of them share would decide all of them; [`Seeds::PerCell`] gives each combination its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use aqmkit_base::rng::derive_seed;
use serde::Deserialize;

use super::resolve::Resolved;
use crate::engine;

/// Which combinations have the same seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seeds {
    /// All combinations of a repeat.
    #[default]
    Common,
    /// None: the seed also depends on the labels of the combination.
    PerCell,
}

impl Seeds {
    /// The seed from which those of a combination's repeats are derived; it fits into an integer of TOML.
    pub(super) fn of_cell(self, seed: u64, combination: &BTreeMap<String, String>) -> u64 {
        let axes = combination.iter().filter(|(axis, _)| !["repeat", "seed"].contains(&axis.as_str()));
        match self {
            Seeds::Common => seed,
            Seeds::PerCell => axes.fold(seed, |seed, (axis, label)| derive_seed(seed, &format!("{axis}={label}"))) >> 1,
        }
    }
}

/// One run: what to simulate, and its labels.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The label of each axis, or the discipline as `aqm` without a sweep; also `repeat`, counted from 1, and `seed`.
    pub labels: BTreeMap<String, String>,
    /// The run's seed.
    pub seed: u64,
    /// A hash of everything that determines the run's output, including the version of the engine.
    pub hash: String,
    pub(super) resolved: Arc<Resolved>,
}

impl RunSpec {
    pub(super) fn new(
        combination: &BTreeMap<String, String>,
        resolved: &Arc<Resolved>,
        seed: u64,
        repeat: u32,
    ) -> Self {
        let seed = run_seed(seed, repeat);
        let mut labels = combination.clone();
        labels.insert("repeat".to_owned(), repeat.to_string());
        labels.insert("seed".to_owned(), seed.to_string());
        RunSpec { labels, seed, hash: hash(resolved, seed), resolved: Arc::clone(resolved) }
    }
}

/// The seed of a repeat.
fn run_seed(seed: u64, repeat: u32) -> u64 {
    derive_seed(seed, &format!("repeat.{repeat}"))
}

fn hash(resolved: &Resolved, seed: u64) -> String {
    let content = serde_json::to_vec(&(engine::SIMULATOR, seed, resolved));
    // Only maps whose keys are no texts cannot be written as JSON.
    let content = content.expect("all keys of an experiment are texts");
    blake3::hash(&content).to_string()
}
