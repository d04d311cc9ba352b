//! Means over runs with different seeds, with bands for their 95 % intervals.

use aqmkit_results::Stat;
use serde_json::{Value, json};

use super::palette::Swatch;
use super::plot::{literal, merged};
use crate::format::rounded;

/// A curve: mean over the runs and its 95 % interval at each point.
pub(super) struct Band {
    pub(super) mean: Vec<f64>,
    /// Ends of the interval; `None` where fewer than two runs have a value.
    ends: Vec<Option<(f64, f64)>>,
}

impl Band {
    /// Computes mean and interval at each point. Runs can differ in length and have gaps (NaN). `limits` is the range
    /// of the metric; intervals are cut to it.
    pub(super) fn of(runs: &[Vec<f64>], limits: (f64, f64)) -> Band {
        let length = runs.iter().map(Vec::len).max().unwrap_or(0);
        let mut band = Band { mean: Vec::with_capacity(length), ends: Vec::with_capacity(length) };
        for place in 0..length {
            let there: Vec<f64> =
                runs.iter().filter_map(|run| run.get(place)).copied().filter(|x| x.is_finite()).collect();
            let stat = Stat::of(&there);
            band.mean.push(stat.map_or(f64::NAN, |stat| rounded(stat.mean)));
            let interval = stat.and_then(|stat| stat.interval());
            let within = |x: f64| rounded(x.clamp(limits.0, limits.1));
            band.ends.push(interval.map(|interval| (within(interval.low), within(interval.high))));
        }
        band
    }

    /// A copy with all values raised to at least `lowest`, for a logarithmic axis.
    pub(super) fn raised(&self, lowest: f64) -> Band {
        let ends = self.ends.iter().map(|ends| ends.map(|(low, high)| (low.max(lowest), high.max(lowest))));
        // f64::max would turn NaN into `lowest`.
        let mean = self.mean.iter().map(|x| if x.is_nan() { *x } else { x.max(lowest) });
        Band { mean: mean.collect(), ends: ends.collect() }
    }

    /// The points from index `from` to before index `to`.
    pub(super) fn between(&self, from: usize, to: usize) -> Band {
        Band { mean: self.mean[from..to].to_vec(), ends: self.ends[from..to].to_vec() }
    }

    /// The band as a filled polygon, one per stretch without gaps; `None` without intervals.
    pub(super) fn trace(&self, at: &[f64], swatch: &Swatch, keys: Value) -> Option<Value> {
        let points: Vec<Option<(f64, f64, f64)>> =
            at.iter().zip(&self.ends).map(|(at, ends)| ends.map(|(low, high)| (*at, low, high))).collect();
        let (mut x, mut y): (Vec<Option<f64>>, Vec<Option<f64>>) = (Vec::new(), Vec::new());
        for stretch in points.split(Option::is_none).filter(|stretch| stretch.len() > 1) {
            if !x.is_empty() {
                x.push(None);
                y.push(None);
            }
            let there = stretch.iter().flatten();
            let corners = there
                .clone()
                .map(|(place, _, high)| (*place, *high))
                .chain(there.rev().map(|(place, low, _)| (*place, *low)));
            for (across, up) in corners {
                x.push(Some(across));
                y.push(Some(up));
            }
        }
        let look = json!({
            "x": x, "y": y, "type": "scatter", "mode": "lines", "fill": "toself",
            "fillcolor": format!("{}33", swatch.color), "line": {"width": 0}, "hoverinfo": "skip",
            "showlegend": false, "legendgroup": literal(&swatch.label),
        });
        (!look["x"].as_array().is_none_or(Vec::is_empty)).then(|| merged(look, keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swatch() -> Swatch {
        Swatch { label: "red".to_owned(), color: "#000000", round: 0 }
    }

    /// Three runs with mean 2 and standard deviation 1: t with two degrees of freedom is 4.3027, so 2 ± 2.484.
    #[test]
    fn a_band_is_the_interval_of_the_mean_within_limits() {
        let band = Band::of(&[vec![1.0], vec![2.0], vec![3.0]], (f64::MIN, f64::MAX));
        assert_eq!((band.mean[0], band.ends[0]), (2.0, Some((-0.4841, 4.484))));
        let clamped = Band::of(&[vec![1.0], vec![2.0], vec![3.0]], (0.0, 4.0));
        assert_eq!(clamped.ends[0], Some((0.0, 4.0)));
    }

    #[test]
    fn one_run_has_no_band() {
        let band = Band::of(&[vec![1.0, 2.0]], (0.0, f64::MAX));
        assert_eq!(band.mean, [1.0, 2.0]);
        assert_eq!(band.trace(&[0.0, 1.0], &swatch(), json!({})), None);
    }

    #[test]
    fn a_gap_divides_the_band() {
        let run = |x: f64| vec![x, x, f64::NAN, x, x];
        let band = Band::of(&[run(1.0), run(1.0)], (0.0, f64::MAX));
        let trace = band.trace(&[0.0, 1.0, 2.0, 3.0, 4.0], &swatch(), json!({})).unwrap();
        let expected = json!([0.0, 1.0, 1.0, 0.0, null, 3.0, 4.0, 4.0, 3.0]);
        assert_eq!(trace["x"], expected);
    }
}
