//! The requests of a page.

use aqmkit_base::read;
use aqmkit_experiment::Problem;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A request of the page. Times are in seconds, relative to the end of the warm-up.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Lists disciplines, transports and traffic models, with their parameters.
    Catalogue {},
    /// Reads an experiment and lists its runs.
    Check {
        /// The text of the experiment.
        toml: String,
        /// Settings `path=value`, as `--set` takes them.
        #[serde(default)]
        set: Vec<String>,
    },
    /// Opens one run of an experiment, at its start.
    Open {
        /// The text of the experiment.
        toml: String,
        /// Index of the run in the plan.
        #[serde(default)]
        run: usize,
        /// Settings `path=value`, as `--set` takes them.
        #[serde(default)]
        set: Vec<String>,
        /// Replaces the experiment's seed.
        #[serde(default)]
        seed: Option<u64>,
    },
    /// Closes a run.
    Close {
        /// Handle of the run, from `open`.
        handle: u32,
    },
    /// Restarts a run.
    Restart {
        /// Handle of the run, from `open`.
        handle: u32,
        /// Whether to apply the changes made so far again, each at its time.
        #[serde(default)]
        keep: bool,
    },
    /// Simulates up to a time.
    Advance {
        /// Handle of the run, from `open`.
        handle: u32,
        /// The time; the end of the run if absent.
        #[serde(default)]
        until: Option<f64>,
        /// Stop after this number of simulator events.
        #[serde(default)]
        events: Option<u64>,
    },
    /// Simulates up to the next arrival, departure, drop or mark at a queue that is shown.
    Step {
        /// Handle of the run, from `open`.
        handle: u32,
    },
    /// Returns the state of a run: queues, flows and traffic.
    Look {
        /// Handle of the run, from `open`.
        handle: u32,
        /// The largest number of packets to list for each queue.
        #[serde(default)]
        packets: usize,
        /// The largest number of flows to list.
        #[serde(default)]
        flows: usize,
    },
    /// Changes settings of a run, from now on.
    Change {
        /// Handle of the run, from `open`.
        handle: u32,
        /// The changes: `parameters` (a table) and `ecn` of the measured link's discipline, `rate` and `delay` of the
        /// link, `count` and `blast` (a table with a number or a rate for each traffic), or paths as in `[[changes]]`
        /// of an experiment file.
        set: Map<String, Value>,
    },
    /// Returns the experiment file with the changes made so far.
    Experiment {
        /// Handle of the run, from `open`.
        handle: u32,
        /// Ends the experiment at the current time, if given.
        #[serde(default)]
        end: Option<End>,
    },
    /// Returns a number from the results so far, as published claims name it.
    Number {
        /// Handle of the run, from `open`.
        handle: u32,
        /// The window.
        window: String,
        /// The metric: a full path, a sum or a ratio (docs/metrics.md).
        metric: String,
        /// The statistic to take over a time series, as in `[[expect]]`.
        #[serde(default)]
        seconds: Option<String>,
    },
    /// Returns the digest of the results so far.
    Digest {
        /// Handle of the run, from `open`.
        handle: u32,
    },
}

impl Request {
    /// Reads a request, `{"do": NAME, ...}`.
    ///
    /// # Errors
    /// When it is not JSON, or not a known request.
    pub fn read(json: &str) -> Result<Request, Problem> {
        let wrong = |why: String| Problem::new(format!("this request cannot be read: {why}"));
        let mut table: read::Value = serde_json::from_str(json).map_err(|e| wrong(e.to_string()))?;
        let Some(read::Value::Text(name)) = table.remove("do") else {
            return Err(wrong("it does not say what to do".to_owned()).right(r#"for example {"do": "catalogue"}"#));
        };
        // Serde's `tag` attribute would do the same with twice as much compiled code.
        read::Value::Table(vec![(name, table)]).read().map_err(|e| wrong(e.explain("a key of it", "").to_string()))
    }
}

/// The end of a saved experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Now.
    Now,
}
