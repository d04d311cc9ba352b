//! Repeats experiments under further seeds until their means are precise enough.

use aqmkit_base::Duration;
use aqmkit_experiment::Experiment;
use aqmkit_report::precision::least_known;
use aqmkit_runs::run::Work;
use aqmkit_study::rounds::{Aim, Options, Ran, Rules, warmup};

use crate::error::LabError;
use crate::perform::{Performed, Prepared, Workspace};

/// When to stop adding seeds.
pub struct Until {
    /// The relative precision required of each mean; `None` is the default.
    pub precision: Option<f64>,
    /// Whether to lengthen a warm-up that is too short.
    pub lengthen: bool,
    /// The cost of a packet through a discipline, relative to a built-in one.
    pub cost: fn(discipline: &str) -> f64,
    /// The caller's names of options, for notes.
    pub options: Options,
}

/// The result of all rounds.
pub struct Repeated {
    /// The last round; it includes the runs of all earlier ones.
    pub performed: Performed,
    /// The new warm-up, if it was lengthened.
    pub warmup: Option<Duration>,
    /// The number of seeds used.
    pub seeds: u32,
}

/// Executes an experiment in rounds with an increasing number of seeds, until its means are precise enough, and writes
/// its files. `read` reads the experiment with a number of repeats and, if given, another warm-up; `plan` derives its
/// runs.
///
/// # Errors
/// As [`crate::perform`]; and when `read` fails.
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
