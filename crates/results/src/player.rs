//! Links to the runs of an experiment on the page of `aqmkit play`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The runs of an experiment, as the page of `aqmkit play` opens them: one address for all, and the place of each run in the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Player {
    /// URL fragment that contains the experiment; `&run=N` appended to it selects a run.
    #[serde(default)]
    pub fragment: String,
    /// The labels of each combination, in the order of the plan. The repetitions of a combination follow each other.
    #[serde(default)]
    pub combinations: Vec<BTreeMap<String, String>>,
    /// The seed of each repetition, the same for all combinations.
    #[serde(default)]
    pub seeds: Vec<String>,
    /// Why the page cannot open them, as a sentence; empty where it can.
    #[serde(default)]
    pub refused: String,
}
