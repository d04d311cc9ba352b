//! The result of an advice: which discipline and parameters meet a wish on a link best, with the evidence.

use serde::Serialize;

/// The result of `aqmkit advise`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The link in words: `50mbit down and 10mbit up, round trips of 15ms to 120ms`.
    pub link: String,
    /// The traffic on it, in words.
    pub traffic: String,
    /// The wish as it was written.
    pub wish: String,
    /// The parts of the wish.
    pub goals: Vec<Goal>,
    /// Whether the advised candidate meets every bound, by its means over the fresh seeds.
    pub meets: bool,
    /// The result in sentences.
    pub summary: Vec<String>,
    /// The candidates that were run under fresh seeds, the advised one first.
    pub finalists: Vec<Finalist>,
    /// The disciplines that were tried.
    pub disciplines: Vec<String>,
    /// All candidates of the search, with their measurements.
    pub tried: Vec<Tried>,
    /// The commands to type.
    pub install: Install,
    /// The rounds of the search: description, number of disciplines, number of runs.
    pub rounds: Vec<(String, usize, usize)>,
    /// Sentences on how the advised candidate performs at lower and higher link rates.
    pub elsewhere: Vec<String>,
    /// How the search was done, as name and value.
    pub facts: Vec<(String, String)>,
}

/// A quantity of the wish.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// The quantity in words: `video queue delay p99`.
    pub words: String,
    /// The unit in which values are shown.
    pub unit: String,
    /// The bound with its comparison, in that unit: `< 20`; `None` if the goal is only optimised.
    pub bound: Option<String>,
    /// Whether less is better.
    pub less: bool,
    /// Weight in the score that compares candidates; zero if the goal is only bounded.
    pub weight: f64,
}

/// The role of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The advised candidate.
    Choice,
    /// The best one of another discipline.
    RunnerUp,
    /// A discipline with its defaults.
    Defaults,
    /// The best candidate of a discipline that `tc` does not have, which needs aqmkit on the path.
    Beyond,
}

/// A candidate under fresh seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finalist {
    /// Short name of the candidate.
    pub label: String,
    /// Why it was run again.
    pub role: Role,
    /// Name of its discipline.
    pub discipline: String,
    /// The parameters that differ from its defaults, as name and value.
    pub parameters: Vec<(String, String)>,
    /// Measured values, one per goal.
    pub values: Vec<Value>,
    /// How many times worse its score is than the advised candidate's; `None` for that one.
    pub worse: Option<Factor>,
}

/// A goal's value over the fresh seeds, in the goal's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// Mean; `None` if a run did not measure it.
    pub mean: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean.
    pub within: Option<f64>,
    /// Whether the mean is within the bound; `None` without a bound.
    pub holds: Option<bool>,
    /// Whether the whole interval is on the same side of the bound.
    pub certain: bool,
}

/// A factor with its 95 % confidence interval, from the differences of paired seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Factor {
    /// 1.2 means a fifth worse.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Factor {
    /// Whether the difference is significant: the interval excludes 1.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// A candidate of the search, with means over all its seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// Index of its discipline in [`Advice::disciplines`].
    pub discipline: usize,
    /// Short name of the candidate.
    pub label: String,
    /// Number of runs.
    pub runs: usize,
    /// Mean queue delay of the worst queue, in milliseconds.
    pub delay_ms: Option<f64>,
    /// Goodput of all traffic, in bits per second.
    pub goodput_bps: Option<f64>,
    /// Mean completion time of a web page, in milliseconds.
    pub page_ms: Option<f64>,
    /// Whether no other candidate has both a shorter delay and more goodput (Pareto front).
    pub best_goodput: bool,
    /// Whether no other candidate has both a shorter delay and faster pages (Pareto front).
    pub best_page: bool,
}

/// How to deploy the advised candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Install {
    /// The tool: `tc`, `aqmkit kernel` or `aqmkit bridge`.
    pub with: String,
    /// Warnings for the reader.
    pub note: String,
    /// The command lines.
    pub lines: Vec<String>,
}
