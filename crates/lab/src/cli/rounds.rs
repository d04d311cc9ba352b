//! Runs under more and more seeds, until the means are known: `docs/statistics.md`.

use aqmkit_base::Duration;
use aqmkit_experiment::{Experiment, RunSpec};
use aqmkit_report::precision::{Known, least_known};
use aqmkit_results::Results;
use aqmkit_runs::tails::few_responses;
use aqmkit_runs::transient::{Unsettled, unsettled};

use super::fail::Failure;
use super::perform::{Performed, Prepared, Where};

/// The share of a mean to which it is known unless another one is asked for.
pub(super) const PRECISION: f64 = 0.05;

/// The fewest seeds of the first round. Fewer make the first estimate of the spread so uncertain that runs would often
/// end by luck, too early (docs/statistics.md has both).
const FEWEST: u32 = 10;
/// The fewest seeds where even ten exceed the budget.
const FEWEST_OF_LONG_RUNS: u32 = 3;
/// The most seeds, if nothing else ends the rounds.
const MOST: u32 = 40;
/// The packets that all runs together carry at most, unless the fewest seeds exceed it. Packets and not seconds, so that a
/// command has the same results on every machine; three to eight seconds on two idle cores, by the traffic.
const BUDGET: f64 = 60e6;

/// How well means are to be known, and how many seeds may be spent on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Aim {
    /// Half the width of the 95 % interval as a share of the mean.
    share: f64,
    /// The fewest and the most seeds.
    seeds: (u32, u32),
}

impl Aim {
    /// The aim for an experiment. A precision that the user asks for has ten times the budget.
    pub(super) fn of(exp: &Experiment, asked: Option<f64>) -> Aim {
        let of_a_seed: f64 = exp.plan().iter().map(RunSpec::packets).sum::<f64>() / f64::from(exp.repeat.max(1));
        let budget = if asked.is_some() { 10.0 * BUDGET } else { BUDGET };
        let affordable = (budget / of_a_seed.max(1.0)) as u32;
        let fewest = affordable.clamp(FEWEST_OF_LONG_RUNS, FEWEST);
        let most = if asked.is_some() { 10 * MOST } else { MOST };
        Aim { share: asked.unwrap_or(PRECISION), seeds: (fewest, affordable.clamp(fewest, most)) }
    }

    /// The seeds of the next round after `done` seeds; `None` if all is known or the budget is spent. `excess` is the
    /// width of the widest interval over the aim; widths shrink with the root of the number of seeds.
    fn next(&self, done: u32, excess: f64) -> Option<u32> {
        if excess <= 1.0 || done >= self.seeds.1 {
            return None;
        }
        let needed = (f64::from(done) * excess * excess).ceil().min(f64::from(2 * done)) as u32;
        Some(needed.max(done + 1).min(self.seeds.1))
    }
}

/// Reads the experiment with this number of repeats, and with another warm-up if one is given.
pub(super) type Reader<'a> = dyn Fn(u32, Option<Duration>) -> Result<Experiment, Failure> + 'a;

/// What the rounds came to.
pub(super) struct Rounds {
    /// The results.
    pub(super) performed: Performed,
    /// The warm-up, if it was lengthened.
    pub(super) warmup: Option<Duration>,
    /// The number of seeds.
    pub(super) seeds: u32,
}

/// Runs an experiment under more and more seeds, until its shown means are known as well as asked for or the budget is spent, and
/// writes its files. With `lengthen`, a warm-up in which the links had not settled is lengthened once.
///
/// # Errors
/// As [`Prepared::of`] and its steps.
pub(super) fn perform_rounds(
    read: &Reader<'_>,
    asked: Option<f64>,
    lengthen: bool,
    place: Where<'_>,
) -> Result<Rounds, Failure> {
    let first = read(1, None)?;
    let aim = Aim::of(&first, asked);
    let mut prepared = Prepared::of(&read(aim.seeds.0, None)?, place)?;
    let (mut results, mut outcome) = prepared.run("")?;
    let mut warmup = None;
    let mut found = unsettled(&outcome.done, aim.share);
    if let Some(unsettled) = found.as_ref().filter(|_| lengthen) {
        let longer = Duration::from_secs(unsettled.until_s.ceil() as u64);
        prepared = prepared.again(&read(aim.seeds.0, Some(longer))?)?;
        (results, outcome) = prepared.run("with a longer warm-up, ")?;
        warmup = Some(longer);
    }
    let mut seeds = aim.seeds.0;
    while let Some(widest) = least_known(&results, aim.share).into_iter().next() {
        let Some(more) = aim.next(seeds, widest.excess) else { break };
        prepared = prepared.again(&read(more, warmup)?)?;
        (results, outcome) = prepared.run(&purpose(&widest, aim.share))?;
        seeds = more;
    }
    if warmup.is_some() {
        found = unsettled(&outcome.done, aim.share);
    }
    let mut said = warmup_words(found.as_ref(), warmup);
    said.extend(unknown(&results, &aim, seeds));
    said.extend(few_responses(&outcome.done));
    results.notes.splice(0..0, said);
    let performed = prepared.finish(results, outcome)?;
    Ok(Rounds { performed, warmup, seeds })
}

/// What the next round is for, on the progress bar.
fn purpose(worst: &Known, share: f64) -> String {
    format!("{} of {} is {} (aim ±{} %), ", worst.column, worst.row, worst.value, percent(share))
}

/// A share in percent, without needless digits.
fn percent(share: f64) -> String {
    format!("{}", (1e4 * share).round() / 100.0)
}

/// What there is to say of the warm-up.
fn warmup_words(found: Option<&Unsettled>, lengthened: Option<Duration>) -> Vec<String> {
    let mut said: Vec<String> = lengthened
        .map(|to| format!("The warm-up is {to}: before, the links had not settled (--warmup sets it)."))
        .into_iter()
        .collect();
    said.extend(found.map(|found| {
        format!(
            "The {} of {} still settles in the measured time, until {:.0} s after the start: its mean includes the start-up. A \
             longer --warmup or --duration helps.",
            found.what, found.run, found.until_s
        )
    }));
    said
}

/// The means that are not known as well as asked for, in a sentence; none if all are.
fn unknown(results: &Results, aim: &Aim, seeds: u32) -> Option<String> {
    let unknown: Vec<Known> = least_known(results, aim.share).into_iter().filter(|known| known.excess > 1.0).collect();
    let worst = unknown.first()?;
    let mut columns: Vec<&str> = Vec::new();
    for known in &unknown {
        if !columns.contains(&known.column.as_str()) {
            columns.push(&known.column);
        }
    }
    let needed = (f64::from(seeds) * worst.excess * worst.excess).ceil();
    let repeats = if needed <= 1000.0 { format!("about --repeat {needed:.0}, ") } else { String::new() };
    Some(format!(
        "After {seeds} seeds these are known less well than to ±{} %: {}. The widest is {} of {}: {}. For closer ones: {repeats}a longer \
         --duration, or a wider aim such as --precision {}%.",
        percent(aim.share),
        columns.join(", "),
        worst.column,
        worst.row,
        worst.value,
        percent(2.0 * aim.share),
    ))
}

#[cfg(test)]
mod tests {
    use aqmkit_experiment::Overrides;

    use super::*;

    fn experiment(rate: &str) -> Experiment {
        let text = format!(
            "title = \"t\"\nduration = \"60s\"\nwarmup = \"10s\"\n[topology]\nrate = \"{rate}\"\nmean_packet = \"1500b\"\n\
             [[traffic]]\nkind = \"bulk\"\nflows = 2\n"
        );
        Experiment::parse("t", &text, &Overrides::default()).unwrap()
    }

    /// 70 s at 60 Mbit/s are 350,000 packets of 1500 bytes, at 6 Gbit/s 35 million.
    #[test]
    fn the_budget_is_in_packets() {
        let seeds = |rate, asked| Aim::of(&experiment(rate), asked).seeds;
        assert_eq!(seeds("60mbit", None), (10, 40));
        assert_eq!(seeds("600mbit", None), (10, 17));
        assert_eq!(seeds("6gbit", None), (3, 3));
        assert_eq!(seeds("600mbit", Some(0.01)), (10, 171));
    }

    #[test]
    fn a_round_has_the_seeds_that_the_widest_interval_asks_for() {
        let aim = Aim { share: 0.05, seeds: (5, 30) };
        assert_eq!(aim.next(5, 0.9), None);
        assert_eq!(aim.next(10, 1.2), Some(15), "1.44 times as many");
        assert_eq!(aim.next(10, 1.01), Some(11));
        assert_eq!(aim.next(5, 8.0), Some(10), "at most twice as many");
        assert_eq!(aim.next(20, 8.0), Some(30));
        assert_eq!(aim.next(30, 8.0), None);
        assert_eq!(aim.next(5, f64::INFINITY), Some(10));
    }
}
