//! Confidence intervals of means and of differences of means.

use std::sync::OnceLock;

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{deviation, mean};

/// Confidence level of all intervals.
pub const LEVEL: f64 = 0.95;

/// The two ends of a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// Whether the interval contains `value`; both ends belong to it.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Statistics of a metric over independent runs with different seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    /// Sample mean.
    pub mean: f64,
    /// Standard deviation; `None` for a single run.
    pub sd: Option<f64>,
    /// Number of runs that have a value.
    pub count: usize,
}

impl Stat {
    /// Statistics of `values`; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Stat> {
        (!values.is_empty()).then(|| Stat { mean: mean(values), sd: deviation(values), count: values.len() })
    }

    /// Half the width of the 95 % interval of the mean, by Student's distribution with `count - 1` degrees of freedom;
    /// `None` for a single run, whose spread is unknown.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        Some(student(self.count as f64 - 1.0)? * self.sd? / (self.count as f64).sqrt())
    }

    /// The 95 % interval of the mean; `None` for a single run.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        let half = self.half_width()?;
        Some(Interval { low: self.mean - half, high: self.mean + half })
    }
}

/// The difference of two means, `b - a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Difference of the means.
    pub mean: f64,
    /// Half the width of the 95 % interval; `None` if either side has a single run.
    pub half_width: Option<f64>,
}

impl Difference {
    /// The 95 % interval of the difference.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        let half = self.half_width?;
        Some(Interval { low: self.mean - half, high: self.mean + half })
    }

    /// Whether the difference is significant: its interval excludes zero.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.interval().is_some_and(|interval| !interval.contains(0.0))
    }
}

/// The difference `b - a` of paired runs: `a[i]` and `b[i]` have the same seed and therefore the same users, sizes and
/// start times (common random numbers), so that common effects cancel. `None` unless both have the same number of
/// values, at least one.
#[must_use]
pub fn paired(a: &[f64], b: &[f64]) -> Option<Difference> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let stat = Stat::of(&differences)?;
    Some(Difference { mean: stat.mean, half_width: stat.half_width() })
}

/// The difference `b - a` of two independent samples, by Welch's test with the degrees of freedom of Welch and
/// Satterthwaite.
#[must_use]
pub fn welch(a: &Stat, b: &Stat) -> Difference {
    let part = |stat: &Stat| Some((stat.sd?.powi(2) / stat.count as f64, stat.count as f64 - 1.0));
    let half_width = part(a).zip(part(b)).and_then(|((square_a, free_a), (square_b, free_b))| {
        let square = square_a + square_b;
        if square == 0.0 {
            return Some(0.0);
        }
        let free = square.powi(2) / (square_a * square_a / free_a + square_b * square_b / free_b);
        Some(student(free)? * square.sqrt())
    });
    Difference { mean: b.mean - a.mean, half_width }
}

/// The quantile of Student's t-distribution for a two-sided interval at [`LEVEL`] with `free` degrees of freedom;
/// `None` unless `free` is positive.
#[must_use]
pub fn student(free: f64) -> Option<f64> {
    // Cached: very many means have the same few degrees of freedom.
    static KNOWN: [OnceLock<f64>; 100] = [const { OnceLock::new() }; 100];
    let distribution = StudentsT::new(0.0, 1.0, free).ok()?;
    let quantile = || distribution.inverse_cdf(0.5 + LEVEL / 2.0);
    match KNOWN.get(free as usize) {
        Some(known) if free.fract() == 0.0 => Some(*known.get_or_init(quantile)),
        _ => Some(quantile()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean 2, standard deviation 1; t with two degrees of freedom at 97.5 % is 4.3027.
    #[test]
    fn an_interval_is_students() {
        let stat = Stat::of(&[1.0, 2.0, 3.0]).unwrap();
        assert!((stat.half_width().unwrap() - 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-4);
        assert_eq!(Stat::of(&[5.0]).unwrap().half_width(), None);
        // Cached and computed quantiles, compared with tables of Student's distribution at 97.5 %.
        for (free, known) in [(1.0, 12.706), (4.0, 2.776), (4.0, 2.776), (99.0, 1.984), (120.0, 1.980)] {
            assert!((student(free).unwrap() - known).abs() < 1e-3, "{free}: {:?}", student(free));
        }
        assert!(student(4.5).unwrap() < student(4.0).unwrap() && student(4.5).unwrap() > student(5.0).unwrap());
        assert_eq!([0.0, -1.0, f64::NAN].map(student), [None; 3]);
        assert_eq!(Stat::of(&[]), None);
    }

    #[test]
    fn what_a_pair_shares_cancels() {
        let difference = paired(&[10.0, 20.0, 30.0], &[11.0, 21.0, 31.0]).unwrap();
        assert_eq!((difference.mean, difference.half_width), (1.0, Some(0.0)));
        assert!(difference.is_certain());
        // Paired differences of 1, 2 and 3: 2 ± 2.48.
        assert!(!paired(&[10.0, 20.0, 30.0], &[11.0, 22.0, 33.0]).unwrap().is_certain());
        assert_eq!(paired(&[1.0], &[1.0, 2.0]), None);
        assert!(!paired(&[1.0], &[9.0]).unwrap().is_certain(), "one pair tells nothing");
    }

    /// Two samples of three values with variance 1: four degrees of freedom, t 2.7764, standard error sqrt(2/3).
    #[test]
    fn independent_samples_are_compared_by_welch() {
        let of = |values: &[f64]| Stat::of(values).unwrap();
        let difference = welch(&of(&[1.0, 2.0, 3.0]), &of(&[11.0, 12.0, 13.0]));
        assert!((difference.half_width.unwrap() - 2.776_445 * (2.0_f64 / 3.0).sqrt()).abs() < 1e-4);
        assert!(difference.is_certain());
        assert_eq!(welch(&of(&[1.0]), &of(&[1.0, 2.0])).half_width, None);
        assert_eq!(welch(&of(&[5.0, 5.0]), &of(&[5.0, 5.0])).half_width, Some(0.0));
    }
}
