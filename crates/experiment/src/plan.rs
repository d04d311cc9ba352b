//! A plan: one run for every combination and repeat.
//!
//! The seed of a run depends on the experiment's seed and the repeat, not on the combination: in the same repeat every
//! discipline meets the same users and the same sizes (common random numbers), so differences between disciplines show
//! with fewer repeats. But if many cells of an experiment are judged one by one, a common fluctuation would decide all
//! of them alike; [`Seeds::PerCell`] gives each combination seeds of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use aqmkit_base::rng::derive_seed;
use serde::Deserialize;

use super::resolve::Resolved;
use crate::engine;

/// Which combinations share seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seeds {
    /// All combinations of a repeat have the same seed.
    #[default]
    Common,
    /// No two combinations do: the seed also depends on the labels of the combination.
    PerCell,
}

impl Seeds {
    /// The base seed of a combination's repeats; it fits into a TOML integer.
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
    /// Label by axis, or the discipline as `aqm` without a sweep; also `repeat`, counted from 1, and `seed`.
    pub labels: BTreeMap<String, String>,
    /// Seed of all random numbers of the run.
    pub seed: u64,
    /// Hash of everything that determines the output, including the engine's version.
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
    // JSON serialization only fails for maps with keys other than strings.
    let content = content.expect("all keys of an experiment are texts");
    blake3::hash(&content).to_string()
}
