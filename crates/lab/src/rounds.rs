//! Runs experiments under as many seeds as their means need.

use aqmkit_base::Duration;
use aqmkit_experiment::Experiment;
use aqmkit_report::precision::least_known;
use aqmkit_runs::run::Work;
use aqmkit_study::rounds::{Aim, Options, Ran, Rules, warmup};

use crate::error::LabError;
use crate::perform::{Performed, Prepared, Workspace};

/// When the rounds end.
pub struct Until {
    /// The share of itself to which each mean is to be known; `None` is the usual one.
    pub precision: Option<f64>,
    /// Whether a warm-up that is too short is lengthened.
    pub lengthen: bool,
    /// The time that a packet through this discipline takes, compared with a built-in one.
    pub cost: fn(discipline: &str) -> f64,
    /// How the front end calls its options, for notes.
    pub options: Options,
}

/// The outcome of the rounds.
pub struct Repeated {
    /// The last round, with the runs of all.
    pub performed: Performed,
    /// The warm-up, if it was lengthened.
    pub warmup: Option<Duration>,
    /// The number of seeds.
    pub seeds: u32,
}

/// Runs an experiment in rounds of seeds until its means are known, and writes its files. `read` reads it with a number of repeats, and with
/// another warm-up if one is given; `plan` makes its runs.
///
/// # Errors
/// As [`crate::perform`], and those of `read`.
pub fn perform_rounds<W: Work>(
    read: impl Fn(u32, Option<Duration>) -> Result<Experiment, LabError>,
    plan: impl Fn(&Experiment) -> Vec<W>,
    until: &Until,
    workspace: Workspace<'_>,
) -> Result<Repeated, LabError> {
    let first = read(1, None)?;
    let rules = Rules {
        aim: Aim::of(&first, until.precision, until.cost),
        warmup: warmup(&first),
        lengthen: until.lengthen,
        judge: least_known,
        options: until.options,
    };
    let rounds = rules.run(|round, before: Option<Prepared<'_>>| {
        let exp = read(round.seeds, round.warmup)?;
        let prepared = match before {
            None => Prepared::of(&exp, workspace)?,
            Some(before) => before.again(&exp)?,
        };
        let (results, outcome) = prepared.run(&plan(&prepared.exp), &[], round.why)?;
        Ok::<_, LabError>(Ran { experiment: prepared, results, outcome })
    })?;
    let Ran { experiment: prepared, results, outcome } = rounds.last;
    let performed = prepared.finish(results, outcome)?;
    Ok(Repeated { performed, warmup: rounds.warmup, seeds: rounds.seeds })
}
