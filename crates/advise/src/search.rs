//! The search: races between disciplines and between their parameters, within a budget of runs.
//!
//! Four rounds share the budget. The first tries every discipline with its defaults and with random parameters; the
//! best third reaches the second round, the best three the third (successive halving: Jamieson and Talwalkar 2016).
//! Within a discipline, a tree-structured Parzen estimator draws parameters where good candidates are dense and others
//! are not (Bergstra et al. 2011). Good candidates are rerun with additional seeds, which all candidates have in common
//! (common random numbers). The last round compares the best parameters of three disciplines with seeds that the search
//! has not used; its winner is the choice.
//!
//! The result depends on the seed and the measurements, but not on the number of jobs.

use std::collections::BTreeMap;

use aqmkit_base::rng::derive_seed;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use crate::draw::propose;
use crate::goals::Goals;
use crate::space::{Candidate, Space};

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Value of each goal.
    pub values: Vec<Option<f64>>,
    /// Values for plots, which do not depend on the wish.
    pub outline: Outline,
}

/// Delay, goodput and page completion time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outline {
    /// Mean queue delay of the worst link, in milliseconds.
    pub delay_ms: Option<f64>,
    /// Goodput of all traffic, in bits per second.
    pub goodput_bps: Option<f64>,
    /// Mean completion time of a web page, in milliseconds.
    pub page_ms: Option<f64>,
}

/// Candidates, each with the repeats (seeds) to run.
pub type Asked = Vec<(Candidate, Vec<u32>)>;

/// Runs candidates.
pub trait Measure {
    /// Why no more runs are possible.
    type Error;

    /// Runs each candidate with its repeats; returns one sample per repeat, in order.
    ///
    /// # Errors
    /// When no more runs are possible, such as after Ctrl-C.
    fn measure(&mut self, asked: &Asked) -> Result<Vec<Vec<Sample>>, Self::Error>;
}

/// A candidate that was run.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The candidate run.
    pub candidate: Candidate,
    /// Coordinates in its discipline's parameter space; `None` for the defaults.
    place: Option<Vec<f64>>,
    /// Samples by repeat.
    pub samples: BTreeMap<u32, Sample>,
}

/// Summary of a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Description of the round.
    pub words: String,
    /// The number of disciplines.
    pub disciplines: usize,
    /// The number of runs.
    pub runs: usize,
}

/// The result of the search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The best candidate of each discipline in the last round, best first.
    pub finalists: Vec<Candidate>,
    /// All candidates that were run.
    pub tried: Vec<Tried>,
    /// Summaries of the rounds.
    pub rounds: Vec<Round>,
}

/// Shares of the first three rounds in the budget that the reference and the last round leave.
const SHARES: [f64; 3] = [0.35, 0.3, 0.2];
/// Number of disciplines in the last round.
const FINALISTS: usize = 3;
/// Number of candidates per discipline that are drawn before their results are used.
const GENERATION: usize = 4;
/// Number of candidates per discipline that are rerun with a round's further seeds.
const RETRIED: usize = 3;
/// Maximum number of redraws after a discipline rejects the parameters.
const REDRAWN: usize = 50;
/// Repeats in the last round: first for several candidates of each discipline, then for the best of each.
const RACE: [std::ops::RangeInclusive<u32>; 2] = [4..=6, 7..=12];

/// Runs of the reference at the beginning of each search.
const OF_REFERENCE: usize = *RACE[1].end() as usize;

/// Maximum number of runs of a last round with this many disciplines.
fn of_race(disciplines: usize) -> usize {
    let each = |repeats: &std::ops::RangeInclusive<u32>| (repeats.end() - repeats.start() + 1) as usize;
    disciplines.min(FINALISTS) * (RETRIED * each(&RACE[0]) + each(&RACE[1]))
}

/// Runs per discipline in one of the first three rounds, if it has `disciplines` of `all` and the whole search has
/// `budget` runs.
fn of_round(round: usize, budget: usize, all: usize, disciplines: usize) -> usize {
    let left = budget.saturating_sub(OF_REFERENCE + of_race(all));
    let share = SHARES[round] / SHARES.iter().sum::<f64>();
    (share * left as f64 / disciplines.max(1) as f64) as usize
}

/// Minimum budget for this many disciplines: two runs each in the first round, the reference and the last round.
#[must_use]
pub fn least_budget(disciplines: usize) -> usize {
    let share = SHARES[0] / SHARES.iter().sum::<f64>();
    OF_REFERENCE + of_race(disciplines) + ((2 * disciplines) as f64 / share).ceil() as usize
}

/// A discipline in the search.
struct Racer {
    space: Space,
    rng: Xoshiro256PlusPlus,
    /// Indices of its candidates in the list of all candidates.
    tried: Vec<usize>,
    /// Coordinates that the discipline has rejected.
    refused: Vec<Vec<f64>>,
}

struct Search<'a, M> {
    goals: &'a Goals,
    measure: &'a mut M,
    racers: Vec<Racer>,
    tried: Vec<Tried>,
    /// Cost of the first discipline's defaults by repeat, as a reference: some seeds are easier than others for all
    /// candidates.
    levels: BTreeMap<u32, f64>,
    runs: usize,
}

/// Searches these disciplines with at most `budget` runs.
///
/// # Errors
/// Those of [`Measure::measure`].
pub fn search<M: Measure>(
    spaces: Vec<Space>,
    goals: &Goals,
    budget: usize,
    seed: u64,
    measure: &mut M,
) -> Result<Found, M::Error> {
    let racer = |space: Space| Racer {
        rng: Xoshiro256PlusPlus::seed_from_u64(derive_seed(seed, space.discipline())),
        space,
        tried: Vec::new(),
        refused: Vec::new(),
    };
    let racers = spaces.into_iter().map(racer).collect();
    let mut search = Search { goals, measure, racers, tried: Vec::new(), levels: BTreeMap::new(), runs: 0 };
    search.reference()?;
    let mut rounds = Vec::new();
    let all = search.racers.len();
    for round in 0..SHARES.len() {
        let (before, kept) = (search.runs, search.racers.len());
        search.round(round as u32 + 1, of_round(round, budget, all, kept))?;
        let words = match round {
            0 => "every discipline: its defaults and drawn parameters, one seed".to_owned(),
            n => format!("the best of them: parameters near the good ones, {} seeds", n + 1),
        };
        rounds.push(Round { words, disciplines: kept, runs: search.runs - before });
        let keep = if round == 0 { all.div_ceil(3).max(FINALISTS) } else { FINALISTS };
        search.keep(keep);
    }
    let (before, kept) = (search.runs, search.racers.len());
    let finalists = search.race()?;
    rounds.push(Round {
        words: "the best parameters of each, seeds that no draw has seen".to_owned(),
        disciplines: kept,
        runs: search.runs - before,
    });
    Ok(Found { finalists, tried: search.tried, rounds })
}

impl<M: Measure> Search<'_, M> {
    /// Runs the first discipline's defaults with all seeds of the search, as the reference for the others.
    fn reference(&mut self) -> Result<(), M::Error> {
        let Some(first) = self.racers.first() else { return Ok(()) };
        let last = *RACE[1].end();
        let samples = self.measure.measure(&vec![(first.space.defaults(), (1..=last).collect())])?;
        self.runs += last as usize;
        let samples = samples.into_iter().next().unwrap_or_default();
        self.levels = (1..).zip(samples.iter().map(|sample| self.goals.cost(&sample.values))).collect();
        Ok(())
    }

    /// A round with `each` runs per remaining discipline and seeds up to `repeats`.
    fn round(&mut self, repeats: u32, each: usize) -> Result<(), M::Error> {
        let seeds: Vec<u32> = (1..=repeats).collect();
        let used = if repeats > 1 { RETRIED.min(each) } else { 0 };
        if used > 0 {
            let again = (0..self.racers.len()).flat_map(|racer| self.best_of(racer, used, None)).collect();
            self.run(again, &[repeats])?;
        }
        let mut left = each.saturating_sub(used) / seeds.len();
        while left > 0 {
            let now = left.min(GENERATION);
            let mut drawn = Vec::new();
            for racer in 0..self.racers.len() {
                drawn.extend(self.draw(racer, now));
            }
            if drawn.is_empty() {
                break;
            }
            self.run(drawn, &seeds)?;
            left -= now;
        }
        Ok(())
    }

    /// Draws up to `count` new candidates of a discipline, the defaults first; fewer if its values are exhausted.
    fn draw(&mut self, racer: usize, count: usize) -> Vec<usize> {
        let mut drawn = Vec::new();
        if self.racers[racer].tried.is_empty() {
            let defaults = self.racers[racer].space.defaults();
            drawn.push(self.enter(racer, defaults, None));
        }
        let scored: Vec<(Vec<f64>, f64)> = self.racers[racer]
            .tried
            .iter()
            .filter_map(|i| Some((self.tried[*i].place.clone()?, self.objective(*i, None)?)))
            .collect();
        for attempt in 0..REDRAWN {
            if drawn.len() >= count || self.racers[racer].space.knobs().is_empty() {
                break;
            }
            // If good candidates are close to rejected parameters, draws from the whole space help.
            let known: &[(Vec<f64>, f64)] = if attempt % 4 == 3 { &[] } else { &scored };
            let Some(place) = self.racers[racer].next_place(known) else { break };
            let Some((candidate, rounded)) = self.racers[racer].space.at(&place) else {
                // A rejected candidate gets the highest cost, so that the next draws avoid it.
                self.racers[racer].refused.push(place);
                continue;
            };
            let again = self.racers[racer].tried.iter().any(|i| self.tried[*i].candidate.label == candidate.label);
            if !again {
                drawn.push(self.enter(racer, candidate, Some(rounded)));
            }
        }
        drawn
    }

    fn enter(&mut self, racer: usize, candidate: Candidate, place: Option<Vec<f64>>) -> usize {
        self.tried.push(Tried { candidate, place, samples: BTreeMap::new() });
        let entered = self.tried.len() - 1;
        self.racers[racer].tried.push(entered);
        entered
    }

    /// Runs candidates with these repeats, except those that have been run.
    fn run(&mut self, which: Vec<usize>, repeats: &[u32]) -> Result<(), M::Error> {
        let missing = |i: &usize| {
            repeats.iter().copied().filter(|repeat| !self.tried[*i].samples.contains_key(repeat)).collect::<Vec<_>>()
        };
        let asked: Asked = which.iter().map(|i| (self.tried[*i].candidate.clone(), missing(i))).collect();
        let samples = self.measure.measure(&asked)?;
        for ((i, (_, run)), new) in which.into_iter().zip(&asked).zip(samples) {
            self.runs += run.len();
            self.tried[i].samples.extend(run.iter().copied().zip(new));
        }
        Ok(())
    }

    /// The objective of a candidate, lower is better: its mean score relative to the reference with the same seeds,
    /// plus penalties for missed bounds. If `from` is given, only repeats from that one on count.
    fn objective(&self, tried: usize, from: Option<u32>) -> Option<f64> {
        let samples: Vec<(&u32, &Sample)> =
            self.tried[tried].samples.iter().filter(|(repeat, _)| from.is_none_or(|from| **repeat >= from)).collect();
        if samples.is_empty() {
            return None;
        }
        let beyond = |(repeat, sample): &(&u32, &Sample)| {
            self.goals.cost(&sample.values) - self.levels.get(repeat).copied().unwrap_or(0.0)
        };
        let cost = samples.iter().map(beyond).sum::<f64>() / samples.len() as f64;
        let runs: Vec<&[Option<f64>]> = samples.iter().map(|(_, sample)| sample.values.as_slice()).collect();
        Some(cost + self.goals.misses(&self.goals.means(&runs)))
    }

    /// The `count` best candidates of a discipline, best first.
    fn best_of(&self, racer: usize, count: usize, from: Option<u32>) -> Vec<usize> {
        let mut ranked: Vec<(usize, f64)> =
            self.racers[racer].tried.iter().filter_map(|i| Some((*i, self.objective(*i, from)?))).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        ranked.into_iter().take(count).map(|(i, _)| i).collect()
    }

    /// Keeps the `count` best disciplines, ranked by their best candidates.
    fn keep(&mut self, count: usize) {
        let best = |racer: usize| {
            self.best_of(racer, 1, None).first().and_then(|i| self.objective(*i, None)).unwrap_or(f64::INFINITY)
        };
        let mut order: Vec<(f64, usize)> = (0..self.racers.len()).map(|racer| (best(racer), racer)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let kept: Vec<usize> = order.into_iter().take(count).map(|(_, racer)| racer).collect();
        let mut racer = 0;
        self.racers.retain(|_| {
            racer += 1;
            kept.contains(&(racer - 1))
        });
    }

    /// The last round: runs the best candidates with new seeds; returns the best of each discipline, best first.
    fn race(&mut self) -> Result<Vec<Candidate>, M::Error> {
        let from = *RACE[0].start();
        let several = (0..self.racers.len()).flat_map(|racer| self.best_of(racer, RETRIED, None)).collect();
        self.run(several, &RACE[0].clone().collect::<Vec<_>>())?;
        let best: Vec<usize> = (0..self.racers.len()).flat_map(|racer| self.best_of(racer, 1, Some(from))).collect();
        self.run(best.clone(), &RACE[1].clone().collect::<Vec<_>>())?;
        let mut ranked: Vec<(f64, usize)> =
            best.into_iter().filter_map(|i| Some((self.objective(i, Some(from))?, i))).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(ranked.into_iter().map(|(_, i)| self.tried[i].candidate.clone()).collect())
    }
}

impl Racer {
    /// The next coordinates to try.
    fn next_place(&mut self, scored: &[(Vec<f64>, f64)]) -> Option<Vec<f64>> {
        let ranges: Vec<(f64, f64)> = self.space.knobs().iter().map(|knob| knob.range).collect();
        propose(&ranges, scored, &self.refused, &mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use aqmkit_base::BitRate;

    use super::*;
    use crate::wish::Wish;

    /// Delays with a minimum at given parameter values, with noise that is common to all candidates; counts runs.
    struct Bowl {
        best: &'static str,
        runs: usize,
    }

    impl Measure for Bowl {
        type Error = Infallible;

        fn measure(&mut self, asked: &Asked) -> Result<Vec<Vec<Sample>>, Infallible> {
            let one = |candidate: &Candidate, repeat: u32| {
                let of = |name: &str, wanted: f64| {
                    let text = candidate.searched.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
                    let number: f64 = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(5.0);
                    let ms = if text.ends_with("us") { number / 1e3 } else { number };
                    (ms / wanted).log10().powi(2)
                };
                let own =
                    if candidate.discipline == self.best { of("target", 12.0) + of("interval", 40.0) } else { 3.0 };
                let delay = 10.0 * (1.0 + own) * (1.0 + 0.3 * f64::from(repeat % 3));
                Sample { values: vec![Some(delay)], outline: Outline::default() }
            };
            self.runs += asked.iter().map(|(_, repeats)| repeats.len()).sum::<usize>();
            Ok(asked
                .iter()
                .map(|(candidate, repeats)| repeats.iter().map(|repeat| one(candidate, *repeat)).collect())
                .collect())
        }
    }

    fn spaces() -> Vec<Space> {
        let names = ["fifo", "pie", "codel", "fq-codel", "choke", "blue", "pi2"];
        names.iter().filter_map(|name| Space::of(name, "1000p", false, &[BitRate::from_mbps(50)])).collect()
    }

    fn found(best: &'static str, seed: u64) -> (Found, usize) {
        let goals = Goals::of(&Wish::read("min delay").unwrap(), &[]).unwrap();
        let mut bowl = Bowl { best, runs: 0 };
        let found = search(spaces(), &goals, 300, seed, &mut bowl).unwrap();
        (found, bowl.runs)
    }

    #[test]
    fn the_search_finds_the_discipline_and_comes_near_its_best_parameters() {
        let (all, runs) = found("codel", 1);
        assert_eq!(all.finalists[0].discipline, "codel");
        assert_eq!(all.finalists.len(), 3);
        let best = all.tried.iter().find(|tried| tried.candidate.label == all.finalists[0].label).unwrap();
        let delay = best.samples[&3].values[0].unwrap();
        assert!(delay < 11.5, "{} has {delay}, the least is 10 and the defaults have 14", all.finalists[0].label);
        assert!((240..=330).contains(&runs), "{runs} of a budget of 300: {:?}", all.rounds);
        let counted: usize = all.rounds.iter().map(|round| round.runs).sum();
        assert_eq!(counted + *RACE[1].end() as usize, runs, "and the reference");
    }

    #[test]
    fn the_same_seed_gives_the_same_search() {
        let labels =
            |seed| found("fq-codel", seed).0.tried.into_iter().map(|tried| tried.candidate.label).collect::<Vec<_>>();
        assert_eq!(labels(1), labels(1));
        assert_ne!(labels(1), labels(2));
    }

    #[test]
    fn nothing_is_run_twice() {
        let (all, _) = found("pie", 3);
        let mut labels: Vec<&str> = all.tried.iter().map(|tried| tried.candidate.label.as_str()).collect();
        labels.sort_unstable();
        let count = labels.len();
        labels.dedup();
        assert_eq!(labels.len(), count);
    }
}
