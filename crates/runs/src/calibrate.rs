//! Calibration: searches the population that offers a given load on an uncongested link.
//!
//! The load rises with the population, but unevenly if sizes have heavy tails. The search scales the population in
//! proportion to the load until one trial is below the target and one above, and then interpolates between the two
//! nearest trials. All trials use one seed, so that a larger population contains the smaller ones. Trials are ordinary
//! runs in the store, where the same command, and any other experiment with the same directory, finds them again.

use std::io;

use aqmkit_experiment::{Calibration, Experiment, Problem, RunSpec, Trial};
use aqmkit_measure::Output;

use crate::run::{self, RunOptions};
use crate::store::{Kept, Store};

/// The search ends when a trial's load differs by at most this share.
const GOOD: f64 = 0.005;
/// Largest accepted difference, if no population comes closer.
const ACCEPTED: f64 = 0.05;
/// Maximum number of trials.
const MOST: usize = 16;
/// Maximum factor per step: extrapolation from small trials is inaccurate.
const LEAP: f64 = 30.0;

/// A population that offers a load.
#[derive(Clone, Debug)]
pub struct Found {
    /// The calibration that was requested.
    pub calibration: Calibration,
    /// The amount found.
    pub amount: f64,
    /// The value of the parameter.
    pub value: f64,
    /// The load of its trial in bits per second.
    pub offered_bps: f64,
    /// Number of trials.
    pub trials: usize,
    /// CPU time of the trials in seconds, measured when they were run.
    pub cpu_s: f64,
}

/// Why calibration failed.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// No population offers the load, or a trial cannot be run.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// The user stopped it.
    #[error("stopped while calibrating")]
    Cancelled,
    /// The store cannot be written to.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The result of a trial.
#[derive(Clone, Copy, Debug)]
struct Point {
    amount: f64,
    value: f64,
    load: f64,
}

/// The next step of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// Run a trial with this amount.
    Try(f64),
    /// Take the best trial.
    Take,
}

/// The search for one population, with its trials so far.
#[derive(Debug)]
struct Search {
    calibration: Calibration,
    points: Vec<Point>,
    cpu_s: f64,
    done: bool,
}

/// Calibrates all populations. Trials of one round run in parallel.
///
/// # Errors
/// When a population cannot be found, or a run fails or is stopped.
pub fn calibrate(calibration: Vec<Calibration>, options: RunOptions<'_>) -> Result<Vec<Found>, Failed> {
    let found = search(calibration, |work| {
        let outcome = run::execute(work, options)?;
        if outcome.cancelled {
            return Err(Failed::Cancelled);
        }
        match outcome.failed.first() {
            Some(why) => Err(Problem::new(format!("a trial failed: {why}")).into()),
            None => Ok(Some(outcome.done.into_iter().map(|done| done.output).collect())),
        }
    })?;
    found.ok_or(Failed::Cancelled)
}

/// Runs the search; `outputs` returns the outputs of each round of trials, or `None` to stop.
fn search(
    calibration: Vec<Calibration>,
    mut outputs: impl FnMut(&[RunSpec]) -> Result<Option<Vec<Output>>, Failed>,
) -> Result<Option<Vec<Found>>, Failed> {
    let mut searches: Vec<Search> = calibration.into_iter().map(Search::new).collect();
    loop {
        let mut trials: Vec<(usize, Trial)> = Vec::new();
        for (i, search) in searches.iter_mut().enumerate() {
            if let Some(trial) = search.next()? {
                trials.push((i, trial));
            }
        }
        if trials.is_empty() {
            return searches.into_iter().map(Search::found).collect::<Result<_, _>>().map(Some);
        }
        let work: Vec<_> = trials.iter().map(|(_, t)| t.run.clone()).collect();
        let Some(outputs) = outputs(&work)? else { return Ok(None) };
        for ((i, trial), output) in trials.iter().zip(&outputs) {
            let links = output.windows.first().map(|w| &w.links);
            let of = |name: &String| links.and_then(|l| l.get(name)).map_or(0.0, |l| l.throughput_bps);
            let load = trial.links.iter().map(of).sum();
            searches[*i].points.push(Point { amount: trial.amount, value: trial.value, load });
            searches[*i].cpu_s += output.engine.cpu_s;
        }
    }
}

/// The experiment with calibrated populations, and these populations.
///
/// # Errors
/// Those of [`calibrate`].
pub fn calibrated(exp: &Experiment, options: RunOptions<'_>) -> Result<(Experiment, Vec<Found>), Failed> {
    let found = calibrate(exp.calibrations()?, options)?;
    Ok((with_populations(exp, &found)?, found))
}

/// Like [`calibrated`], if all necessary trials are in the store; otherwise `None`.
///
/// # Errors
/// Those of [`calibrate`].
pub fn calibrated_before(exp: &Experiment, store: &Store) -> Result<Option<Experiment>, Failed> {
    let load = |run: &RunSpec| match store.load(&run.hash) {
        Kept::Found(output) => Some(*output),
        Kept::Missing | Kept::Broken(_) => None,
    };
    let found = search(exp.calibrations()?, |work| Ok(work.iter().map(load).collect()))?;
    found.map(|found| with_populations(exp, &found).map_err(Failed::from)).transpose()
}

fn with_populations(exp: &Experiment, found: &[Found]) -> Result<Experiment, Problem> {
    let amounts: Vec<_> = found.iter().map(|f| (f.calibration.clone(), f.amount)).collect();
    exp.settled(&amounts)
}

impl Search {
    fn new(calibration: Calibration) -> Search {
        Search { calibration, points: Vec::new(), cpu_s: 0.0, done: false }
    }

    /// The next trial; `None` if the search has ended.
    fn next(&mut self) -> Result<Option<Trial>, Problem> {
        if self.done {
            return Ok(None);
        }
        let trial = match step(&self.points, self.calibration.first, self.calibration.bps as f64) {
            Step::Try(amount) => self.calibration.trial(amount)?,
            Step::Take => None,
        };
        let news = trial.filter(|t| self.points.iter().all(|p| p.amount != t.amount));
        self.done = news.is_none();
        Ok(news)
    }

    fn found(self) -> Result<Found, Failed> {
        let bps = self.calibration.bps as f64;
        let best = self.points.iter().min_by(|a, b| miss(a, bps).total_cmp(&miss(b, bps))).copied();
        match best {
            Some(best) if miss(&best, bps) <= ACCEPTED => Ok(Found {
                amount: best.amount,
                value: best.value,
                offered_bps: best.load,
                trials: self.points.len(),
                cpu_s: self.cpu_s,
                calibration: self.calibration,
            }),
            _ => Err(self.refused(best).into()),
        }
    }

    fn refused(&self, best: Option<Point>) -> Problem {
        let Calibration { traffic, load, bps, parameter, .. } = &self.calibration;
        let near = best.map_or_else(
            || "no population can be simulated".to_owned(),
            |b| format!("{parameter} = {} offers {:.3} Mb/s, and no other value is closer", b.value, b.load / 1e6),
        );
        Problem::new(format!("no population of {traffic} offers {load} ({:.3} Mb/s): {near}", *bps as f64 / 1e6))
            .right("choose a load that an integer population can offer, use a longer duration, or set the population")
    }
}

/// The difference between a trial's load and the target, as a share of the target.
fn miss(point: &Point, bps: f64) -> f64 {
    (point.load / bps - 1.0).abs()
}

/// The next step after these trials.
fn step(points: &[Point], first: f64, bps: f64) -> Step {
    let Some(last) = points.last() else { return Step::Try(first) };
    if points.iter().any(|p| miss(p, bps) <= GOOD) || points.len() >= MOST {
        return Step::Take;
    }
    let below = points.iter().filter(|p| p.load < bps).max_by(|a, b| a.amount.total_cmp(&b.amount));
    let above = points.iter().filter(|p| p.load >= bps).min_by(|a, b| a.amount.total_cmp(&b.amount));
    match (below, above) {
        (Some(low), Some(high)) if low.amount < high.amount => {
            let share = (bps - low.load) / (high.load - low.load);
            // Keep a distance from both ends: a jump of the load there would stall the search.
            Step::Try(low.amount + (high.amount - low.amount) * share.clamp(0.05, 0.95))
        }
        // If a larger population offers less, interpolation is impossible.
        (Some(_), Some(_)) => Step::Take,
        _ => Step::Try(last.amount * (bps / last.load.max(bps / LEAP)).clamp(1.0 / LEAP, LEAP)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the search for a population of which `n` offer `load(n)`.
    fn follow(bps: f64, whole: bool, load: impl Fn(f64) -> f64) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        while let Step::Try(amount) = step(&points, 100.0, bps) {
            let amount = if whole { amount.round().max(1.0) } else { amount };
            if points.iter().any(|p| p.amount == amount) {
                break;
            }
            points.push(Point { amount, value: amount, load: load(amount) });
        }
        points
    }

    #[test]
    fn a_straight_line_takes_few_trials() {
        let points = follow(98e6, true, |n| 5250.0 * n);
        assert!(points.len() <= 4, "{points:?}");
        assert!(miss(points.last().unwrap(), 98e6) <= GOOD);
    }

    #[test]
    fn an_uneven_line_is_bracketed() {
        // Every hundredth user counts as fifty others.
        let points = follow(30e6, true, |n| 1000.0 * n + 50_000.0 * (n / 100.0).floor() + 2e5 * (n / 3000.0).floor());
        assert!(points.iter().any(|p| miss(p, 30e6) <= GOOD), "{points:?}");
        assert!(points.len() < MOST);
    }

    #[test]
    fn a_load_below_one_source_ends() {
        let points = follow(1e6, true, |n| 10e6 * n);
        assert_eq!(points.last().unwrap().amount, 1.0);
        assert!(points.iter().all(|p| miss(p, 1e6) > ACCEPTED));
    }

    #[test]
    fn silence_is_climbed_out_of() {
        let points = follow(5e6, true, |n| if n < 1000.0 { 0.0 } else { 100.0 * n });
        assert!(points.iter().any(|p| miss(p, 5e6) <= GOOD), "{points:?}");
    }
}
