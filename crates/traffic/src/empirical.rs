//! Empirical distributions: from quantiles, or from a table of values and counts.

use aqmkit_base::Rng;

use super::model::ParamError;

/// Interpolation between two points of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    /// No interpolation, the upper point: the table lists every value.
    Step,
    /// Linear in the logarithm of the value.
    LogLinear,
}

/// A measured distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Empirical {
    /// Cumulative probability and value, both rising.
    points: Vec<(f64, f64)>,
    between: Between,
    /// A Pareto tail after the last point, cut at a maximum.
    tail: Option<Tail>,
}

/// A Pareto distribution from `low`, cut at `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tail {
    low: f64,
    high: f64,
    shape: f64,
}

impl Tail {
    fn mean(self) -> f64 {
        let (l, h, a) = (self.low, self.high, self.shape);
        if (a - 1.0).abs() < 1e-9 {
            return libm::log(h / l) * l / (1.0 - l / h);
        }
        let ratio = libm::pow(l / h, a);
        a / (a - 1.0) * (l - h * ratio) / (1.0 - ratio)
    }

    /// The quantile function.
    fn quantile(self, u: f64) -> f64 {
        let cut = 1.0 - libm::pow(self.low / self.high, self.shape);
        self.low * libm::pow(1.0 - u * cut, -1.0 / self.shape)
    }
}

/// Upper limit for the count of a value.
const MOST_COUNTED: f64 = 1e15;

impl Empirical {
    /// A distribution with these quantiles (cumulative probability, value), log-linear in between. The probabilities
    /// rise from 0 to 1; values are positive and rise.
    #[must_use]
    pub fn from_quantiles(points: &[(f64, f64)]) -> Self {
        Empirical { points: points.to_vec(), between: Between::LogLinear, tail: None }
    }

    /// A distribution with these quantiles, the last below probability 1, and above them a Pareto tail up to `max`,
    /// whose exponent gives the whole distribution the mean `mean`.
    #[must_use]
    pub fn with_tail(points: &[(f64, f64)], max: f64, mean: f64) -> Self {
        let mut body = Empirical::from_quantiles(points);
        let (p, low) = points.last().copied().unwrap_or((0.0, 1.0));
        let wanted = (mean - body.mean()) / (1.0 - p);
        // The mean falls as the tail exponent rises: bisection.
        let (mut heavy, mut light) = (1e-3, 20.0);
        for _ in 0..100 {
            let shape = f64::midpoint(heavy, light);
            if (Tail { low, high: max, shape }).mean() > wanted { heavy = shape } else { light = shape }
        }
        body.tail = Some(Tail { low, high: max, shape: heavy });
        body
    }

    /// A distribution with these quantiles, the last below probability 1, and above them a Pareto tail with this
    /// exponent, cut at `max`.
    #[must_use]
    pub fn with_tail_shape(points: &[(f64, f64)], max: f64, shape: f64) -> Self {
        let low = points.last().map_or(1.0, |p| p.1);
        Empirical { tail: Some(Tail { low, high: max, shape }), ..Empirical::from_quantiles(points) }
    }

    /// A discrete distribution: values and their counts.
    #[must_use]
    pub fn from_counts(counts: &[(f64, f64)]) -> Self {
        let total: f64 = counts.iter().map(|c| c.1).sum();
        let mut sum = 0.0;
        let points = counts.iter().map(|&(value, n)| {
            sum += n;
            (sum / total, value)
        });
        Empirical { points: points.collect(), between: Between::Step, tail: None }
    }

    /// Parses lines `value count cumulative-probability`, the format in which Mah's distributions were published with
    /// ns-2. Values rise to at most `most`, probabilities rise to 1. Empty lines and lines with `#` are skipped. `file`
    /// is the name in messages.
    ///
    /// # Errors
    /// When a line cannot be parsed, with its number.
    pub fn parse(file: &str, text: &str, most: f64) -> Result<Self, ParamError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (i, line) in text.lines().enumerate().filter(|(_, l)| !skipped(l)) {
            let error = |want: &str| ParamError::line(file, i + 1, line, want);
            let fields: Vec<f64> = line.split_whitespace().map_while(|f| f.parse().ok()).collect();
            let [value, count, p] = fields[..] else {
                return Err(error("it must have three numbers: value, count, cumulative probability"));
            };
            let (last_p, last) = points.last().copied().unwrap_or((0.0, f64::NEG_INFINITY));
            if line.split_whitespace().count() != 3 || !value.is_finite() || value < 0.0 || value <= last {
                return Err(error("each line must have three non-negative values, and the first must increase"));
            }
            if value > most {
                return Err(error(&format!("a value must be at most {most}")));
            }
            if !(0.0..=MOST_COUNTED).contains(&count) {
                return Err(error("the count in the middle must be a number that is not negative"));
            }
            if !(p > last_p && p <= 1.0 + 1e-6) {
                return Err(error("the cumulative probability must rise from line to line, up to 1"));
            }
            points.push((p, value));
        }
        Self::listed(file, points)
    }

    /// Parses lines `value cumulative-probability`. Neither column falls; values are at most `most`, and the last
    /// probability is 1. Equal probabilities are accepted: published ones are rounded. Empty lines and lines with `#`
    /// are skipped. Values are multiplied by `unit`.
    ///
    /// # Errors
    /// When a line cannot be parsed, with its number.
    pub fn parse_cumulative(file: &str, text: &str, most: f64, unit: f64) -> Result<Self, ParamError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (i, line) in text.lines().enumerate().filter(|(_, l)| !skipped(l)) {
            let error = |want: &str| ParamError::line(file, i + 1, line, want);
            let fields: Vec<Option<f64>> = line.split_whitespace().map(|f| f.parse().ok()).collect();
            let [Some(value), Some(p)] = fields[..] else {
                return Err(error("it must have two numbers: value, cumulative probability"));
            };
            let (last_p, last) = points.last().copied().unwrap_or((0.0, 0.0));
            if !value.is_finite() || value < last {
                return Err(error("values must not be negative and must not fall from line to line: sort the file"));
            }
            if value > most {
                return Err(error(&format!("a value must be at most {most}")));
            }
            if !(0.0..=1.0 + 1e-6).contains(&p) {
                return Err(error("a cumulative probability must be from 0 to 1"));
            }
            if p < last_p {
                return Err(error("the cumulative probability must not fall from line to line"));
            }
            points.push((p, value));
        }
        points.iter_mut().for_each(|point| point.1 *= unit);
        Self::listed(file, points)
    }

    /// A discrete distribution of values with their cumulative probabilities.
    fn listed(file: &str, points: Vec<(f64, f64)>) -> Result<Self, ParamError> {
        match points.last() {
            Some(&(p, _)) if (p - 1.0).abs() < 1e-3 => Ok(Empirical { points, between: Between::Step, tail: None }),
            Some(&(p, _)) => Err(ParamError::new(format!("{file} last line"), p, "the probability must end at 1")),
            None => Err(ParamError::new(file, "no line", "it needs at least one line")),
        }
    }

    /// The quantile function: the value below which the share `u` lies.
    #[must_use]
    pub fn quantile(&self, u: f64) -> f64 {
        let i = self.points.partition_point(|&(p, _)| p < u);
        let (Some(&(p1, v1)), Some(&(p0, v0))) = (self.points.get(i), self.points.get(i.saturating_sub(1))) else {
            return self.beyond(u);
        };
        match self.between {
            Between::LogLinear if p1 > p0 => v0 * libm::pow(v1 / v0, (u - p0) / (p1 - p0)),
            _ => v1,
        }
    }

    fn beyond(&self, u: f64) -> f64 {
        let (p, last) = self.points.last().copied().unwrap_or((0.0, 0.0));
        self.tail.map_or(last, |t| t.quantile((u - p) / (1.0 - p)))
    }

    /// A random value.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        self.quantile(rng.uniform())
    }

    /// The largest possible value.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.tail.map_or_else(|| self.points.last().map_or(0.0, |p| p.1), |t| t.high)
    }

    /// The exponent of the Pareto tail, if there is one.
    #[must_use]
    pub fn tail_shape(&self) -> Option<f64> {
        self.tail.map(|t| t.shape)
    }

    /// The expected value.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let first = self.points.first().map_or(0.0, |&(p, v)| p * v);
        let body: f64 = self.points.windows(2).map(|w| (w[1].0 - w[0].0) * self.mean_between(w[0].1, w[1].1)).sum();
        let last = self.points.last().map_or(0.0, |p| p.0);
        first + body + self.tail.map_or(0.0, |t| (1.0 - last) * t.mean())
    }

    /// Mean of the values between two adjacent points.
    fn mean_between(&self, v0: f64, v1: f64) -> f64 {
        match self.between {
            Between::LogLinear if v1 > v0 => (v1 - v0) / libm::log(v1 / v0),
            _ => v1,
        }
    }

    /// The distribution truncated at `max`, as if larger values were drawn again; `None` if nothing remains.
    #[must_use]
    pub fn truncated(&self, max: f64) -> Option<Empirical> {
        if max >= self.max() {
            return Some(self.clone());
        }
        let mut points: Vec<_> = self.points.iter().copied().take_while(|&(_, v)| v <= max).collect();
        let &(p0, v0) = points.last()?;
        match self.points.get(points.len()) {
            Some(&(p1, v1)) if self.between == Between::LogLinear && v0 < max => {
                points.push((p0 + (p1 - p0) * libm::log(max / v0) / libm::log(v1 / v0), max));
            }
            Some(_) => {}
            None => return Some(self.with_cut_tail(max)),
        }
        let kept = points.last().map_or(1.0, |p| p.0);
        points.iter_mut().for_each(|p| p.0 /= kept);
        (kept > 0.0).then_some(Empirical { points, between: self.between, tail: None })
    }

    /// The distribution with its Pareto tail cut at `max`, which lies in the tail.
    fn with_cut_tail(&self, max: f64) -> Empirical {
        let mut cut = self.clone();
        let p = self.points.last().map_or(0.0, |p| p.0);
        let Some(tail) = cut.tail.as_mut().filter(|t| max > t.low) else {
            cut.tail = None;
            cut.points.iter_mut().for_each(|q| q.0 /= p);
            return cut;
        };
        let share = (1.0 - libm::pow(tail.low / max, tail.shape)) / (1.0 - libm::pow(tail.low / tail.high, tail.shape));
        tail.high = max;
        let kept = p + (1.0 - p) * share;
        cut.points.iter_mut().for_each(|q| q.0 /= kept);
        cut
    }
}

/// Whether a line of a data file is empty or a comment.
pub(crate) fn skipped(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    fn sampled_mean(e: &Empirical) -> f64 {
        let n = 20_000;
        (0..n).map(|i| e.quantile((f64::from(i) + 0.5) / f64::from(n))).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn means_are_those_of_the_draws() {
        let log = Empirical::from_quantiles(&[(0.0, 1.0), (0.5, 10.0), (1.0, 1000.0)]);
        let tail = Empirical::with_tail(&[(0.0, 1.0), (0.9, 10.0)], 1000.0, 9.0);
        let steps = Empirical::from_counts(&[(1.0, 3.0), (2.0, 1.0)]);
        assert!((tail.mean() - 9.0).abs() < 1e-6 && (steps.mean() - 1.25).abs() < 1e-12);
        for e in [&log, &tail, &steps, &log.truncated(50.0).unwrap(), &tail.truncated(100.0).unwrap()] {
            assert!((sampled_mean(e) / e.mean() - 1.0).abs() < 0.005, "{e:?}");
        }
    }

    #[test]
    fn truncation_is_drawing_again() {
        let tail = Empirical::with_tail(&[(0.0, 1.0), (0.9, 10.0)], 1000.0, 9.0);
        for max in [2.0, 10.0, 30.0] {
            let cut = tail.truncated(max).unwrap();
            let mut rng = Rng::stream(1, "cut");
            let kept: Vec<f64> = (0..200_000).map(|_| tail.draw(&mut rng)).filter(|&x| x <= max).collect();
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            assert!((cut.mean() / mean - 1.0).abs() < 0.01, "{max}: {} is not {mean}", cut.mean());
            assert!((cut.max() - max).abs() < 1e-9);
        }
        assert_eq!(Empirical::from_counts(&[(5.0, 1.0)]).truncated(4.0), None);
    }

    /// The means of a cut Pareto distribution by integration: for exponent 1 `ln(h / l) / (1 / l - 1 / h)`, for
    /// exponent 2 likewise from the density `2 x^-3`.
    #[test]
    fn a_cut_pareto_piece_has_its_mean() {
        let mean = |shape: f64| Tail { low: 2.0, high: 32.0, shape }.mean();
        let exact =
            [(1.0, libm::log(16.0) / (0.5 - 1.0 / 32.0)), (2.0, 2.0 * (0.5 - 1.0 / 32.0) / (0.25 - 1.0 / 1024.0))];
        for (shape, wanted) in exact {
            assert!((mean(shape) / wanted - 1.0).abs() < 1e-12, "{shape}: {}", mean(shape));
            assert!((mean(shape + 1e-6) / wanted - 1.0).abs() < 1e-5, "the formulas meet at {shape}");
        }
        let piece = Empirical::with_tail_shape(&[(0.0, 2.0)], 32.0, 2.0);
        assert_eq!((piece.quantile(0.0), piece.max(), piece.tail_shape()), (2.0, 32.0, Some(2.0)));
        // P(X > 4) is (1/4 - 1/256) / (1 - 1/256).
        assert!((piece.quantile(1.0 - (0.25 - 1.0 / 256.0) / (1.0 - 1.0 / 256.0)) - 4.0).abs() < 1e-9);
        assert!((piece.quantile(1.0) - 32.0).abs() < 1e-9 && (piece.mean() / mean(2.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn values_with_counts_have_the_mean_of_a_list() {
        let counted = Empirical::from_counts(&[(2.0, 1.0), (6.0, 3.0)]);
        assert_eq!((counted.mean(), counted.max(), counted.tail_shape()), (5.0, 6.0, None));
        assert_eq!([0.0, 0.25, 0.26, 1.0].map(|u| counted.quantile(u)), [2.0, 2.0, 6.0, 6.0]);
        let none = Empirical::from_quantiles(&[]);
        assert_eq!((none.mean(), none.max(), none.quantile(0.3)), (0.0, 0.0, 0.0));
        assert_eq!(Empirical::with_tail_shape(&[], 9.0, 1.5).quantile(0.0), 1.0);
        assert!((Empirical::with_tail(&[], 100.0, 3.0).mean() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn errors_name_the_line() {
        let fails = |text: &str| Empirical::parse("x.cdf", text, 1e6).unwrap_err().to_string();
        assert_eq!(
            Empirical::parse("x", "1 3 0.75\n\n2 1 1.0\n", 2.0),
            Ok(Empirical::from_counts(&[(1.0, 3.0), (2.0, 1.0)]))
        );
        assert!(fails("1 3 0.75\nnonsense\n").starts_with("x.cdf line 2 = \"nonsense\" is not valid"));
        assert!(fails("1 3 0.75\n2 1 0.5\n").contains("must rise"));
        assert!(fails("1 3 0.75\n2 1 0.75\n").contains("must rise") && fails("1 3 0\n2 1 1\n").contains("must rise"));
        assert!(
            fails("1 3 0.75\n1 1 1\n").contains("the first must increase") && fails("-1 1 1").contains("non-negative")
        );
        assert!(fails("0 3 0.75\n2 1 1.0011\n").contains("up to 1") && fails("0 3 0.998").contains("end at 1"));
        assert!(fails("1 3 1 4").contains("line 1") && fails("1 3 1 x").contains("three non-negative values"));
        assert!(fails("2 3 0.75\n1 1 1\n").contains("line 2"));
        assert!(fails("1 3 0.75").contains("end at 1"));
        assert!(fails("").contains("at least one line"));
        assert!(fails("NaN 1 0.5").contains("line 1"));
        let message = fails("1 3 0.75\n1e300 1 1\n");
        assert!(
            message.starts_with("x.cdf line 2") && message.ends_with("a value must be at most 1000000"),
            "{message}"
        );
        for count in ["-1", "NaN", "inf", "1e300"] {
            let counted = fails(&format!("1 3 0.75\n\n2 {count} 1\n"));
            assert!(counted.starts_with("x.cdf line 3") && counted.contains("the count in the middle"), "{counted}");
        }
    }

    #[test]
    fn cumulative_tables_are_read_line_by_line() {
        let read = |text: &str| Empirical::parse_cumulative("x.cdf", text, 1e6, 0.001);
        let fails = |text: &str| read(text).unwrap_err().to_string();
        // A quarter at 2 s, half at 4 s. The last line has a probability that rounding made equal to 1: its value is
        // never drawn.
        let table = read("# milliseconds \u{a9}\n\n2000 0.25\n 4000\t0.75 \n8000 1\n9000 1.0\n").unwrap();
        assert_eq!([0.0, 0.25, 0.26, 0.75, 0.76, 1.0].map(|u| table.quantile(u)), [2.0, 2.0, 4.0, 4.0, 8.0, 8.0]);
        // 0.25 x 2 + 0.5 x 4 + 0.25 x 8.
        assert!((table.mean() - 4.5).abs() < 1e-12);
        assert!(fails("1 0.5\nnonsense\n").starts_with("x.cdf line 2 = \"nonsense\" is not valid"));
        assert!(fails("1 3 0.5\n").contains("two numbers") && fails("1\n").contains("two numbers"));
        assert!(
            fails("# 1\n2 0.5\n1 1\n").starts_with("x.cdf line 3") && fails("2 0.5\n1 1\n").contains("sort the file")
        );
        assert!(fails("-1 1\n").contains("negative") && fails("NaN 1").contains("must not fall"));
        assert!(fails("1 0.5\n2 0.4\n").contains("probability must not fall"));
        assert!(fails("1 0.5\n2 1.1\n").contains("from 0 to 1") && fails("1 -0.5\n").contains("from 0 to 1"));
        assert!(fails("1 NaN\n").contains("from 0 to 1"));
        assert!(fails("1 0.5\n2 0.9\n").contains("end at 1") && fails("#\n").contains("at least one line"));
        assert!(fails("1 0.5\n2000000 1\n").contains("at most 1000000"));
    }

    proptest! {
        /// A truncated distribution has the quantiles of the original, conditional on values below the cut.
        #[test]
        fn truncation_is_conditioning(
            ratios in proptest::collection::vec(1.1..9.0_f64, 1..5), tail in 0.5..3.0_f64, kept in 0.05..0.99_f64, u in 0.0..1.0_f64,
        ) {
            let n = ratios.len() as f64;
            let mut value = 3.0;
            let points: Vec<(f64, f64)> = std::iter::once((0.0, 3.0))
                .chain(ratios.iter().zip(1..).map(|(ratio, i)| { value *= ratio; (0.8 * f64::from(i) / n, value) }))
                .collect();
            let whole = Empirical::with_tail_shape(&points, 50.0 * value, tail);
            let cut = whole.truncated(whole.quantile(kept)).unwrap();
            prop_assert!((cut.quantile(u) / whole.quantile(u * kept) - 1.0).abs() < 1e-6);
            prop_assert!((cut.max() / whole.quantile(kept) - 1.0).abs() < 1e-9);
            let counts: Vec<(f64, f64)> = ratios.iter().zip(1..).map(|(ratio, i)| (f64::from(i), *ratio)).collect();
            let (listed, most) = (Empirical::from_counts(&counts), libm::ceil(kept * n));
            let below: f64 = ratios.iter().take(most as usize).sum::<f64>() / ratios.iter().sum::<f64>();
            let short = listed.truncated(most + 0.5).unwrap();
            prop_assert!(short.max() == most && short.quantile(u) == listed.quantile(u * below * (1.0 - 1e-12)));
        }

        #[test]
        fn no_text_panics(text in "[-0-9.eNaif \n#]*") {
            if let Ok(e) = Empirical::parse("x", &text, 1e12) {
                prop_assert!(e.mean().is_finite());
                let _ = e.truncated(1.0);
                prop_assert!(e.quantile(0.5) <= e.max());
            }
            if let Ok(e) = Empirical::parse_cumulative("x", &text, 1e12, 1e-3) {
                prop_assert!(e.mean().is_finite() && e.quantile(0.5) <= e.max());
            }
        }
    }
}
