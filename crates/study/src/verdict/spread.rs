//! The runs of a cell, and verdicts that their spread leaves undecided.
//!
//! The verdict is that of the mean over the runs. If the 95 % interval of the mean contains both values that meet the
//! limit and values that do not, the cell is undecided. A single run has no interval, so its value decides.

use aqmkit_experiment::Relation;
use aqmkit_results::Verdict;
use aqmkit_results::statistics::{Difference, Stat, paired, welch};

use super::short;

/// Whether the spread of the runs can leave a verdict undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// As described above.
    Decides,
    /// Only the mean decides.
    Ignored,
}

/// The values of a cell, one per run.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    seeds: Vec<String>,
    values: Vec<f64>,
}

impl Runs {
    /// Adds a run's value.
    pub(super) fn push(&mut self, seed: &str, value: f64) {
        self.seeds.push(seed.to_owned());
        self.values.push(value);
    }

    /// Mean and standard deviation.
    pub(super) fn stat(&self) -> Stat {
        Stat::of(&self.values).unwrap_or(Stat { mean: f64::NAN, sd: None, count: 0 })
    }

    /// The mean as text; if the verdict is undecided, with half the width of its interval.
    pub(super) fn text(&self, verdict: Verdict) -> String {
        let stat = self.stat();
        let half = stat.half_width().filter(|_| verdict == Verdict::Undecided);
        format!("{}{}", short(stat.mean), half.map_or_else(String::new, |half| format!(" ±{}", short(half))))
    }

    /// The difference `self - factor * other`: paired if both have the same seeds, otherwise of independent samples.
    fn over(&self, factor: f64, other: &Runs) -> Difference {
        let scaled: Vec<f64> = other.values.iter().map(|value| factor * value).collect();
        let pairs = (self.seeds == other.seeds).then(|| paired(&scaled, &self.values)).flatten();
        pairs.unwrap_or_else(|| {
            let scaled = Stat::of(&scaled).unwrap_or_default();
            welch(&scaled, &self.stat())
        })
    }
}

/// The verdict on a mean that meets its limits or not (`met`): undecided if its interval contains one of them.
pub(super) fn within(stat: &Stat, met: bool, (low, high): (f64, f64), spread: Spread) -> Verdict {
    let half = stat.half_width().filter(|half| half.is_finite() && *half > 0.0 && spread == Spread::Decides);
    let Some(half) = half else { return verdict(met) };
    let (least, most) = (stat.mean - half, stat.mean + half);
    let decided = if met { low <= least && most <= high } else { most < low || high < least };
    if decided { verdict(met) } else { Verdict::Undecided }
}

/// The verdict on a relation between two cells: undecided if the interval of the decisive difference contains zero.
pub(super) fn related(left: &Runs, relation: Relation, right: &Runs, spread: Spread) -> Verdict {
    let met = relation.holds(left.stat().mean, right.stat().mean);
    let differences = match relation {
        Relation::Greater | Relation::NotLess => vec![left.over(1.0, right)],
        Relation::Twice => vec![left.over(2.0, right)],
        Relation::Tenfold => vec![left.over(10.0, right)],
        Relation::About => vec![left.over(0.8, right), right.over(0.8, left)],
    };
    let open = |d: &Difference| d.half_width.is_some_and(|half| half.is_finite() && half > 0.0) && !d.is_certain();
    let broken = |d: &Difference| d.mean < 0.0 && !open(d);
    let undecided = differences.iter().any(open) && !differences.iter().any(broken);
    if undecided && spread == Spread::Decides { Verdict::Undecided } else { verdict(met) }
}

fn verdict(met: bool) -> Verdict {
    if met { Verdict::Met } else { Verdict::Missed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(seeds: &[&str], values: &[f64]) -> Runs {
        Runs { seeds: seeds.iter().map(|s| (*s).to_owned()).collect(), values: values.to_vec() }
    }

    /// Means of three values one unit apart have an interval of ±2.484.
    #[test]
    fn an_interval_that_reaches_over_a_limit_decides_nothing() {
        let three = |mean: f64| Stat { mean, sd: Some(1.0), count: 3 };
        let of = |stat: Stat, low: f64, high: f64| {
            within(&stat, (low..=high).contains(&stat.mean), (low, high), Spread::Decides)
        };
        assert_eq!(of(three(10.0), 7.0, 13.0), Verdict::Met);
        assert_eq!(of(three(10.0), 8.0, 13.0), Verdict::Undecided);
        assert_eq!(of(three(10.0), f64::NEG_INFINITY, 12.0), Verdict::Undecided);
        assert_eq!(of(three(10.0), 13.0, f64::INFINITY), Verdict::Missed);
        assert_eq!(of(three(10.0), 12.0, f64::INFINITY), Verdict::Undecided);
        assert_eq!(of(three(10.0), 11.0, 11.5), Verdict::Undecided, "the range lies inside of the interval");
        assert_eq!(of(three(10.0), 9.0, 11.0), Verdict::Undecided, "the interval reaches over both ends");
        let single = Stat { mean: 10.0, sd: None, count: 1 };
        assert_eq!((of(single, 9.9, 13.0), of(single, 10.1, 13.0)), (Verdict::Met, Verdict::Missed));
        let equal = Stat { mean: 10.0, sd: Some(0.0), count: 3 };
        assert_eq!(of(equal, 10.0, 13.0), Verdict::Met, "runs without spread decide");
        assert_eq!(within(&three(10.0), true, (9.0, 11.0), Spread::Ignored), Verdict::Met);
        let never = Stat { mean: f64::INFINITY, sd: Some(f64::NAN), count: 3 };
        assert_eq!(of(never, 1.0, 2.0), Verdict::Missed, "a time that never comes");
    }

    /// Each pair differs by 1, while the values on either side differ by 20.
    #[test]
    fn runs_of_the_same_seeds_are_compared_in_pairs() {
        let seeds = ["1", "2", "3"];
        let (left, right) = (runs(&seeds, &[11.0, 21.0, 31.5]), runs(&seeds, &[10.0, 20.0, 30.0]));
        assert_eq!(related(&left, Relation::Greater, &right, Spread::Decides), Verdict::Met);
        let apart = runs(&["4", "5", "6"], &[10.0, 20.0, 30.0]);
        assert_eq!(related(&left, Relation::Greater, &apart, Spread::Decides), Verdict::Undecided);
        assert_eq!(related(&left, Relation::Greater, &apart, Spread::Ignored), Verdict::Met);
    }

    #[test]
    fn relations_are_undecided_near_their_limits() {
        let seeds = ["1", "2", "3"];
        let of = |left: [f64; 3], relation: Relation, right: [f64; 3]| {
            related(&runs(&seeds, &left), relation, &runs(&seeds, &right), Spread::Decides)
        };
        let low = [10.0, 10.1, 9.9];
        assert_eq!(of([30.0, 30.1, 29.8], Relation::Twice, low), Verdict::Met);
        assert_eq!(of([20.1, 19.9, 20.0], Relation::Twice, low), Verdict::Undecided);
        assert_eq!(of([15.1, 14.9, 15.0], Relation::Twice, low), Verdict::Missed);
        assert_eq!(of([11.0, 11.1, 10.8], Relation::About, low), Verdict::Met);
        assert_eq!(of([12.4, 12.5, 12.6], Relation::About, low), Verdict::Undecided);
        assert_eq!(of([15.0, 15.1, 14.8], Relation::About, low), Verdict::Missed);
        assert_eq!(of(low, Relation::NotLess, low), Verdict::Met, "equal in every run");
        assert_eq!(of(low, Relation::Greater, low), Verdict::Missed, "equal in every run");
    }
}
