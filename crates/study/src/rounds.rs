//! Runs an experiment with more and more seeds, until its means are as precise as required or a budget is spent:
//! `docs/statistics.md`.
//!
//! | module | holds |
//! |---|---|
//! | `aim` | required precision of the means, and limits for the number of seeds |
//! | `words` | notes on the precision, and the options that they name |

mod aim;
#[cfg(test)]
mod tests;
mod words;

use aqmkit_base::Duration;
use aqmkit_experiment::Experiment;
use aqmkit_results::{Known, Results};
use aqmkit_runs::run::Outcome;
use aqmkit_runs::tails::few_responses;
use aqmkit_runs::transient::unsettled;

pub use aim::Aim;
pub use words::{Options, percent};

/// The seeds and the warm-up of one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round<'a> {
    /// Number of seeds, including those of earlier rounds.
    pub seeds: u32,
    /// Warm-up, if it differs from that of the experiment.
    pub warmup: Option<Duration>,
    /// Purpose of the round, shown beside the progress; empty, or ends with a comma and a space.
    pub why: &'a str,
}

/// The outcome of a round.
#[derive(Debug)]
pub struct Ran<E> {
    /// The experiment as it was run; passed to the next round.
    pub experiment: E,
    /// Results of all runs.
    pub results: Results,
    /// All runs, including those of earlier rounds.
    pub outcome: Outcome,
}

/// Controls how many rounds there are, and how notes are worded.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Required precision.
    pub aim: Aim,
    /// Warm-up of the experiment.
    pub warmup: Duration,
    /// Whether to lengthen the warm-up, once, if the links had not settled in it.
    pub lengthen: bool,
    /// Computes the precision of the means, least precise first, for a target relative to the mean.
    pub judge: fn(&Results, f64) -> Vec<Known>,
    /// Spelling of options in notes.
    pub options: Options,
}

/// The warm-up of an experiment's first run.
#[must_use]
pub fn warmup(experiment: &Experiment) -> Duration {
    experiment.plan().first().map_or(Duration::ZERO, |run| run.outline().warmup)
}

/// The outcome of all rounds.
#[derive(Debug)]
pub struct Rounds<E> {
    /// The last round; its results have notes on means that are not precise enough.
    pub last: Ran<E>,
    /// The new warm-up, if it was lengthened.
    pub warmup: Option<Duration>,
    /// Number of seeds.
    pub seeds: u32,
}

impl Rules {
    /// Runs rounds until the means are as precise as required, or the budget is spent. `perform` runs a round; it is
    /// passed the experiment of the previous round, whose runs it need not repeat.
    ///
    /// # Errors
    /// Those of `perform`, which end the rounds.
    pub fn run<E, F>(
        &self,
        mut perform: impl FnMut(Round<'_>, Option<E>) -> Result<Ran<E>, F>,
    ) -> Result<Rounds<E>, F> {
        let share = self.aim.share();
        let mut seeds = self.aim.fewest();
        let mut warmup = None;
        let mut last = perform(Round { seeds, warmup, why: "" }, None)?;
        let mut found = unsettled(&last.outcome.done, share);
        if let Some(unsettled) = found.as_ref().filter(|_| self.lengthen) {
            warmup = Some(self.warmup + Duration::from_secs(unsettled.first_s.ceil() as u64));
            last = perform(Round { seeds, warmup, why: "with a longer warm-up, " }, Some(last.experiment))?;
        }
        while let Some(widest) = (self.judge)(&last.results, share).into_iter().next() {
            let Some(more) = self.aim.next(seeds, widest.excess) else { break };
            let why = words::purpose(&widest, share);
            last = perform(Round { seeds: more, warmup, why: &why }, Some(last.experiment))?;
            seeds = more;
        }
        if warmup.is_some() {
            found = unsettled(&last.outcome.done, share);
        }
        let mut notes = words::on_warmup(found.as_ref(), warmup, &self.options);
        notes.extend(words::unknown((self.judge)(&last.results, share), share, seeds, &self.options));
        notes.extend(few_responses(&last.outcome.done, self.options.duration));
        last.results.notes.splice(0..0, notes);
        Ok(Rounds { last, warmup, seeds })
    }
}
