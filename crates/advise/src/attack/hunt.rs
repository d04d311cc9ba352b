//! The search for the worst scenario, and its reduction.
//!
//! Seven tenths of the budget go to scenarios under one seed: first random ones, then such that resemble the worst, by
//! the estimators of the adviser. The worst dozen are run under two more seeds. The worst of these is then made small:
//! whatever can be left out, such that at least nine tenths of the harm remain, is left out, one thing after the other.
//!
//! Every scenario is also run with the reference in the place of the target. The score adds the harm and its excess over
//! the harm of the reference: by the harm alone every hunt would end in a scenario that is bad for every discipline.

use std::collections::BTreeSet;

use aqmkit_base::rng::derive_seed;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::harm::Harm;
use super::scenario::{AXES, Scenario, Space};
use crate::draw::propose;

/// The harm in a scenario, in the unit of results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values {
    /// By the target.
    pub own: f64,
    /// By the reference in its place.
    pub reference: f64,
}

impl Values {
    /// How bad it is: higher is worse.
    fn score(self, harm: Harm) -> f64 {
        2.0 * harm.score(self.own) - harm.score(self.reference)
    }
}

/// Judges scenarios.
pub trait Try {
    /// Why no more runs are possible.
    type Error;

    /// The harm in each scenario, means over these repeats; `None` if it cannot be run, or a run did not measure it.
    ///
    /// # Errors
    /// When no more runs are possible, such as after Ctrl-C.
    fn values(&mut self, scenarios: &[Scenario], repeats: &[u32]) -> Result<Vec<Option<Values>>, Self::Error>;
}

/// The result of a hunt.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunted {
    /// The worst scenario as it was found, and the harm in it.
    pub worst: (Scenario, Values),
    /// The smallest that is nearly as bad, and the harm in it.
    pub small: (Scenario, Values),
    /// The number of runs.
    pub runs: usize,
}

/// Scenarios that are run together.
const BATCH: usize = 16;
/// Scenarios that are drawn at random before their results are used.
const AT_RANDOM: usize = 64;
/// After these, one scenario in this many is random and not drawn by the estimators.
const EVERY: usize = 4;
/// Scenarios that are run under all seeds.
const RETRIED: usize = 12;
/// The seeds of the hunt.
const REPEATS: [u32; 3] = [1, 2, 3];
/// The share of the budget that is searched; the rest is for what follows.
const SEARCHED: f64 = 0.7;
/// The part of the harm that must remain when something is left out.
const REMAINS: f64 = 0.9;

/// The least budget with which a hunt makes sense.
pub const LEAST: usize = 200;

/// Searches the worst scenario with about `budget` runs, and makes it small. `None` if no scenario could be measured.
///
/// # Errors
/// Those of [`Try::values`].
pub fn hunt<T: Try>(space: &Space, budget: usize, seed: u64, tries: &mut T) -> Result<Option<Hunted>, T::Error> {
    let harm = space.harm;
    let (found, mut runs) = search(space, budget, seed, tries)?;
    let again = tries.values(&found, &REPEATS)?;
    runs += 2 * found.len() * (REPEATS.len() - 1);
    let judged = found.into_iter().zip(again).filter_map(|(scenario, value)| Some((scenario, value?)));
    let Some(worst) = judged.max_by(|a, b| a.1.score(harm).total_cmp(&b.1.score(harm))) else { return Ok(None) };
    let (small, more) = reduce(harm, worst.clone(), tries)?;
    Ok(Some(Hunted { worst, small, runs: runs + more }))
}

/// The worst scenarios under the first seed, and the number of runs.
fn search<T: Try>(space: &Space, budget: usize, seed: u64, tries: &mut T) -> Result<(Vec<Scenario>, usize), T::Error> {
    let harm = space.harm;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(derive_seed(seed, &space.target.name()));
    let mut scored: Vec<(Vec<f64>, f64)> = Vec::new();
    let mut all: Vec<(Scenario, f64)> = Vec::new();
    let mut refused: Vec<Vec<f64>> = Vec::new();
    let mut known = BTreeSet::new();
    let (mut runs, mut drawn) = (0, 0_usize);
    while 2.0 * (drawn as f64) < SEARCHED * budget as f64 {
        let mut batch = Vec::new();
        for _ in 0..BATCH {
            drawn += 1;
            let guided = scored.len() >= AT_RANDOM && drawn % EVERY != 0;
            let near = guided.then(|| propose(&[(0.0, 1.0); AXES], &scored, &refused, &mut rng)).flatten();
            let place = near.and_then(|near| <[f64; AXES]>::try_from(near).ok()).unwrap_or_else(|| random(&mut rng));
            let scenario = space.at(&place);
            if !space.has(&scenario) {
                refused.push(place.to_vec());
                continue;
            }
            if known.insert(scenario.words()) {
                batch.push((place, scenario));
            }
        }
        let scenarios: Vec<Scenario> = batch.iter().map(|(_, scenario)| scenario.clone()).collect();
        runs += 2 * scenarios.len();
        for ((place, scenario), value) in batch.into_iter().zip(tries.values(&scenarios, &REPEATS[..1])?) {
            match value {
                Some(value) => {
                    // The estimators minimise.
                    scored.push((place.to_vec(), -value.score(harm)));
                    all.push((scenario, value.score(harm)));
                }
                None => refused.push(place.to_vec()),
            }
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok((all.into_iter().take(RETRIED).map(|(scenario, _)| scenario).collect(), runs))
}

fn random(rng: &mut Xoshiro256PlusPlus) -> [f64; AXES] {
    [(); AXES].map(|()| (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
}

/// Leaves out one thing after the other; returns what remains, and the number of runs.
fn reduce<T: Try>(
    harm: Harm,
    worst: (Scenario, Values),
    tries: &mut T,
) -> Result<((Scenario, Values), usize), T::Error> {
    let least = worst.1.score(harm) + 2.0 * REMAINS.ln();
    let (mut small, mut runs) = (worst, 0);
    'smaller: loop {
        // One at a time: each success makes the other candidates pointless.
        for simpler in small.0.simpler() {
            let value = tries.values(std::slice::from_ref(&simpler), &REPEATS)?.into_iter().flatten().next();
            runs += 2 * REPEATS.len();
            if let Some(value) = value.filter(|value| value.score(harm) >= least) {
                small = (simpler, value);
                continue 'smaller;
            }
        }
        return Ok((small, runs));
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use aqmkit_experiment::Catalogues;

    use super::super::target::{Control, Target};
    use super::*;

    /// A delay that is longest at a certain rate with a burst and a step; loss, reordering and the number of flows do not
    /// matter.
    struct Peak;

    impl Try for Peak {
        type Error = Infallible;

        fn values(&mut self, scenarios: &[Scenario], _: &[u32]) -> Result<Vec<Option<Values>>, Infallible> {
            let value = |scenario: &Scenario| {
                let off = (scenario.rate as f64 / 10_000.0).ln().abs();
                let step = scenario.step.map_or(1.0, |factor| 1.0 / factor);
                let burst = matches!(scenario.beside, Some(super::super::scenario::Beside::Burst(_)));
                let own = 100.0 * step * if burst { 3.0 } else { 1.0 } / (1.0 + off);
                Some(Values { own, reference: 10.0 })
            };
            Ok(scenarios.iter().map(value).collect())
        }
    }

    #[test]
    fn the_worst_is_found_and_only_what_matters_remains() {
        let space = Space::of(Target::Discipline("codel"), Harm::Bufferbloat, &Catalogues::default());
        let found = hunt(&space, 1200, 1, &mut Peak).unwrap_or_else(|e| match e {}).unwrap();
        assert!(found.worst.1.own > 2000.0, "{found:?}, of at most 3000");
        let small = &found.small.0;
        assert_eq!((small.flows, small.all_flows(), small.loss, small.reorder, small.ecn), (1, 2, None, None, false));
        assert!(small.step.is_some_and(|factor| factor < 0.15) && small.seconds == 10, "{}", small.words());
        assert!((8_000..12_500).contains(&small.rate), "{}", small.words());
        assert!(found.small.1.own >= 0.89 * found.worst.1.own, "{found:?}");
        let again = hunt(&space, 1200, 1, &mut Peak).unwrap_or_else(|e| match e {}).unwrap();
        assert_eq!(again, found, "the same seed, the same hunt");
    }

    /// No scenario has more than five flows, and every sentence stands for one scenario.
    #[test]
    fn scenarios_have_at_most_five_flows() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for target in [Target::Control(Control::tcp("bbr")), Target::Discipline("fifo")] {
            for (harm, _) in Harm::ALL {
                let space = Space::of(target, harm, &Catalogues::default());
                for _ in 0..300 {
                    let scenario = space.at(&random(&mut rng));
                    assert!((1..=5).contains(&scenario.all_flows()), "{}", scenario.words());
                    for simpler in scenario.simpler() {
                        assert_ne!(simpler.words(), scenario.words());
                    }
                }
            }
        }
    }

    #[test]
    fn the_queues_of_a_control_can_be_chosen() {
        let catalogues = Catalogues::default();
        let queues = |target, names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            Space::of(target, Harm::Loss, &catalogues).behind(&names, &catalogues)
        };
        let bbr = Target::Control(Control::tcp("bbr"));
        let space = queues(bbr, &["fifo", " fq_codel"]).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let drawn: BTreeSet<&str> = (0..100).map(|_| space.at(&random(&mut rng)).queue).collect();
        assert_eq!(drawn, BTreeSet::from(["fifo", "fq-codel"]));
        assert!(queues(bbr, &["fifa"]).unwrap_err().1.contains("fifo"));
        assert!(queues(Target::Discipline("red"), &["fifo"]).unwrap_err().0.contains("the queue itself"));
    }

    #[test]
    fn the_buffer_of_a_fifo_can_be_chosen() {
        let of = |name| Space::of(Target::Discipline(name), Harm::Loss, &Catalogues::default());
        let space = of("fifo").buffered("0.5 .. 1").unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let drawn: Vec<Scenario> = (0..100).map(|_| space.at(&random(&mut rng))).filter(|one| space.has(one)).collect();
        assert!(drawn.len() > 50, "{}", drawn.len());
        assert!(
            drawn
                .iter()
                .all(|one| one.bdps() <= 1.0 && f64::from(one.limit + 1) / f64::from(one.limit) * one.bdps() > 0.5)
        );
        for wrong in ["", "x", "-1", "1..0.5", "1..", "1000", "nan"] {
            assert!(of("fifo").buffered(wrong).unwrap_err().1.contains("0.1..1.5"), "{wrong}");
        }
        assert!(of("red").buffered("1").unwrap_err().0.contains("only red"));
    }
}
