//! Runs an experiment under more and more seeds, until its means are known as well as asked for or a budget is spent:
//! `docs/statistics.md`.
//!
//! | module | holds |
//! |---|---|
//! | `aim` | how well the means are to be known, and how many seeds that may cost |
//! | `words` | the sentences on what is not known, and the options that they name |

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

/// The runs of one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round<'a> {
    /// The number of seeds, those of earlier rounds included.
    pub seeds: u32,
    /// The warm-up, if it is not that of the experiment.
    pub warmup: Option<Duration>,
    /// What the round is for, to show beside the progress; empty, or it ends with a comma and a space.
    pub why: &'a str,
}

/// The runs that a round came to.
#[derive(Debug)]
pub struct Ran<E> {
    /// The experiment, as it was run. The next round is given it.
    pub experiment: E,
    /// The results of all its runs.
    pub results: Results,
    /// All its runs, those of earlier rounds included.
    pub outcome: Outcome,
}

/// What decides how many rounds there are, and what is said of them.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How well the means are to be known.
    pub aim: Aim,
    /// The warm-up of the experiment.
    pub warmup: Duration,
    /// Whether a warm-up in which the links had not settled is lengthened, once.
    pub lengthen: bool,
    /// The means to judge, the least well known first, given the share of a mean that is aimed at.
    pub judge: fn(&Results, f64) -> Vec<Known>,
    /// How the notes spell the options that they name.
    pub options: Options,
}

/// The warm-up of an experiment, as its first run has it.
#[must_use]
pub fn warmup(experiment: &Experiment) -> Duration {
    experiment.plan().first().map_or(Duration::ZERO, |run| run.outline().warmup)
}

/// What the rounds came to.
#[derive(Debug)]
pub struct Rounds<E> {
    /// The last round; its results have notes on what is not known.
    pub last: Ran<E>,
    /// The warm-up, if it was lengthened.
    pub warmup: Option<Duration>,
    /// The number of seeds.
    pub seeds: u32,
}

impl Rules {
    /// Performs rounds until the means are known as well as asked for, or the budget is spent. `perform` runs a round, given the
    /// experiment of the round before; it need not repeat the runs of that one.
    ///
    /// # Errors
    /// Those of `perform`, after which no further round follows.
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
