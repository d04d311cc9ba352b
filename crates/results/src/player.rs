//! Links to the runs of an experiment on the page of `aqmkit play`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the page of `aqmkit play` opens the runs of an experiment: a common URL fragment, and the index of each run in
/// the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Player {
    /// URL fragment that contains the experiment; `&run=N` appended to it selects a run.
    #[serde(default)]
    pub fragment: String,
    /// Labels of each combination, in the order of the plan. The repeats of a combination are consecutive.
    #[serde(default)]
    pub combinations: Vec<BTreeMap<String, String>>,
    /// Seed of each repeat, the same for all combinations.
    #[serde(default)]
    pub seeds: Vec<String>,
    /// Why the page cannot open the runs, as a sentence; empty if it can.
    #[serde(default)]
    pub refused: String,
}
