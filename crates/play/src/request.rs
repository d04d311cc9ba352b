//! The requests of a page.

use serde::Deserialize;
use serde_json::{Map, Value};

/// What a page asks for. Times are in seconds on the axis of the experiment, where the warm-up ends at 0.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// What there is: disciplines, transports, traffic, with their parameters.
    Catalogue {},
    /// Reads an experiment and lists its runs.
    Check {
        /// Its text.
        toml: String,
        /// Settings `path=value`, as `--set` takes them.
        #[serde(default)]
        set: Vec<String>,
    },
    /// Opens one run of an experiment, at its start.
    Open {
        /// The text of the experiment.
        toml: String,
        /// The run, by its place in the plan.
        #[serde(default)]
        run: usize,
        /// Settings `path=value`, as `--set` takes them.
        #[serde(default)]
        set: Vec<String>,
        /// Another seed for the experiment.
        #[serde(default)]
        seed: Option<u64>,
    },
    /// Closes a run.
    Close {
        /// Which.
        handle: u32,
    },
    /// Returns to the start.
    Restart {
        /// Which.
        handle: u32,
        /// Whether the changes made so far are made again, each at its time.
        #[serde(default)]
        keep: bool,
    },
    /// Simulates up to a time.
    Advance {
        /// Which.
        handle: u32,
        /// The time; absent: the end.
        #[serde(default)]
        until: Option<f64>,
        /// Stop after so many events of the simulator.
        #[serde(default)]
        events: Option<u64>,
    },
    /// Simulates up to the next arrival, departure, drop or mark at a queue that is shown.
    Step {
        /// Which.
        handle: u32,
    },
    /// The state of the run.
    Look {
        /// Which.
        handle: u32,
        /// How many packets of each queue are listed.
        #[serde(default)]
        packets: usize,
        /// How many flows are listed.
        #[serde(default)]
        flows: usize,
    },
    /// Changes something now.
    Change {
        /// Which.
        handle: u32,
        /// What: `parameters` (a table) and `ecn` of the measured link's discipline, `rate` and `delay` of the link, `count` and
        /// `blast` (a table with a number or a rate for each traffic), or paths as in `[[changes]]` of an experiment file.
        set: Map<String, Value>,
    },
    /// The experiment with the changes made so far.
    Experiment {
        /// Which.
        handle: u32,
        /// Whether its duration is what has been simulated so far.
        #[serde(default)]
        end: Option<End>,
    },
    /// The digest of the results so far.
    Digest {
        /// Which.
        handle: u32,
    },
}

/// When an experiment that is written down ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Now.
    Now,
}
