//! Runs experiments under as many seeds as their means need.

use aqmkit_base::Duration;
use aqmkit_experiment::Experiment;
use aqmkit_report::precision::least_known;
use aqmkit_study::rounds::{Aim, Options, Ran, Rules, percent, warmup};

use super::fail::Failure;
use super::perform::{Performed, Prepared, Where};

/// The options of the command that notes name.
const OPTIONS: Options = Options {
    warmup: "--warmup",
    duration: "--duration",
    repeat: |seeds| format!("--repeat {seeds}"),
    precision: |share| format!("--precision {}%", percent(share)),
};

/// Reads the experiment with this number of repeats, and with another warm-up if one is given.
pub(super) type Reader<'a> = dyn Fn(u32, Option<Duration>) -> Result<Experiment, Failure> + 'a;

/// What the rounds came to.
pub(super) struct Repeated {
    /// The results.
    pub(super) performed: Performed,
    /// The warm-up, if it was lengthened.
    pub(super) warmup: Option<Duration>,
    /// The number of seeds.
    pub(super) seeds: u32,
}

/// Runs an experiment until its means are known to the share `asked`, or to the usual one, and writes its files. With
/// `lengthen`, a warm-up that is too short is lengthened.
///
/// # Errors
/// As [`Prepared::of`] and its steps.
pub(super) fn perform_rounds(
    read: &Reader<'_>,
    asked: Option<f64>,
    lengthen: bool,
    place: Where<'_>,
) -> Result<Repeated, Failure> {
    let first = read(1, None)?;
    let aim = Aim::of(&first, asked, |_| 1.0);
    let rules = Rules { aim, warmup: warmup(&first), lengthen, judge: least_known, options: OPTIONS };
    let rounds = rules.run(|round, before: Option<Prepared<'_>>| {
        let exp = read(round.seeds, round.warmup)?;
        let prepared = match before {
            None => Prepared::of(&exp, place)?,
            Some(before) => before.again(&exp)?,
        };
        let (results, outcome) = prepared.run(round.why)?;
        Ok::<_, Failure>(Ran { experiment: prepared, results, outcome })
    })?;
    let Ran { experiment: prepared, results, outcome } = rounds.last;
    let performed = prepared.finish(results, outcome)?;
    Ok(Repeated { performed, warmup: rounds.warmup, seeds: rounds.seeds })
}
