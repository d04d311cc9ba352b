//! Checks whether the start-up transient had ended when the measurement began.
//!
//! For each combination, the time series of queue delay and throughput of its links are averaged over the seeds, and
//! MSER-5 finds where the transient ends within the first window (`aqmkit_results::statistics::transient`). A transient
//! counts only if it changes the mean by more than the required precision, and significantly: the differences of each
//! seed between before and after must have a 95 % interval without zero. MSER alone also truncates pure noise.

use std::collections::BTreeMap;

use aqmkit_measure::metric::Metric;
use aqmkit_measure::output::{Output, Window};
use aqmkit_results::combination;
use aqmkit_results::statistics::transient::{Transient, mser5};
use aqmkit_results::statistics::{mean, mean_of_known, paired};

use crate::run::Done;

/// A transient that extends into the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsettled {
    /// Labels of the run without repeat and seed: `aqm=fifo`.
    pub run: String,
    /// Name of the quantity: `bottleneck queue delay`.
    pub what: String,
    /// Seconds of the measurement after which the transient has ended; half of the measurement if the series is too
    /// short to tell.
    pub first_s: f64,
}

/// The transient that extends furthest into the measurement; `None` if there is none, or if there are fewer than two
/// seeds or 50 intervals. `share` is the required precision relative to the mean.
#[must_use]
pub fn unsettled(done: &[Done], share: f64) -> Option<Unsettled> {
    let mut combinations: BTreeMap<BTreeMap<&str, &str>, Vec<&Output>> = BTreeMap::new();
    for run in done {
        combinations.entry(combination(&run.labels)).or_default().push(&run.output);
    }
    let all = combinations.iter().flat_map(|(labels, runs)| {
        let run = labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
        columns(runs).into_iter().filter_map(move |column| of_column(runs, &column, share, &run))
    });
    all.max_by(|a, b| a.first_s.total_cmp(&b.first_s))
}

/// Columns that show whether a link has settled.
fn columns(runs: &[&Output]) -> Vec<String> {
    let all = runs.first().map(|run| run.series.columns.keys()).into_iter().flatten();
    let telling = |name: &&String| {
        name.starts_with("links.") && (name.ends_with(".queue_delay_ms.mean") || name.ends_with(".throughput_bps"))
    };
    all.filter(telling).cloned().collect()
}

fn of_column(runs: &[&Output], column: &str, share: f64, run: &str) -> Option<Unsettled> {
    let window = runs.first()?.windows.first()?;
    let parts: Option<Vec<Vec<f64>>> = runs.iter().map(|one| measured(one, column, window)).collect();
    let parts = parts?;
    let shortest = parts.iter().map(Vec::len).min()?;
    let over_seeds: Vec<f64> =
        (0..shortest).map(|row| mean_of_known(&parts.iter().map(|part| part[row]).collect::<Vec<_>>())).collect();
    if parts.len() < 2 || over_seeds.iter().any(|value| value.is_nan()) {
        return None;
    }
    let cut = match mser5(&over_seeds)? {
        Transient::Ends(0) => return None,
        Transient::Ends(cut) => cut,
        Transient::Beyond => shortest / 2,
    };
    let side = |of: fn(&[f64], usize) -> &[f64]| -> Vec<f64> {
        parts.iter().map(|part| mean_of_known(of(&part[..shortest], cut))).collect()
    };
    let (before, after) = (side(|part, at| &part[..at]), side(|part, at| &part[at..]));
    let difference = paired(&before, &after)?;
    let metric = Metric::at(column)?;
    let bias = difference.mean.abs() * cut as f64 / shortest as f64;
    let matters = bias > (share * mean(&after).abs()).max(metric.unit.fine);
    (matters && difference.is_certain()).then(|| Unsettled {
        run: run.to_owned(),
        what: metric.words(column.strip_suffix(".mean").unwrap_or(column)),
        first_s: cut as f64 * runs[0].series.interval_s,
    })
}

/// The values of a column within a window.
fn measured(run: &Output, column: &str, window: &Window) -> Option<Vec<f64>> {
    let values = run.series.columns.get(column)?;
    let row = |time: f64| ((time / run.series.interval_s).round() as usize).min(values.len());
    Some(values[row(window.from_s)..row(window.to_s)].to_vec())
}

#[cfg(test)]
mod tests {
    use aqmkit_measure::output::Series;

    use super::*;

    /// A run with 10 s of warm-up and 100 s of measurement whose delay follows `delay`.
    fn run(seed: u32, delay: impl Fn(f64) -> f64) -> Done {
        let labels = [("aqm".to_owned(), "fifo".to_owned()), ("seed".to_owned(), seed.to_string())];
        let values = (0..110).map(|t| delay(f64::from(t))).collect();
        let window = Window { from_s: 10.0, to_s: 110.0, ..Window::default() };
        let series = Series { interval_s: 1.0, columns: [("links.b.queue_delay_ms.mean".to_owned(), values)].into() };
        Done { labels: labels.into(), output: Output { windows: vec![window], series, ..Output::default() } }
    }

    /// A pattern of ±1 without trend, shifted by the seed.
    fn noise(seed: u32, t: f64) -> f64 {
        [0.3, -0.8, 1.0, -0.1, 0.6, -1.0, 0.2][(t as usize + 3 * seed as usize) % 7]
    }

    #[test]
    fn a_queue_that_still_fills_is_told_of() {
        let filling = |seed: u32| run(seed, move |t| t.min(30.0) + noise(seed, t));
        let found = unsettled(&[filling(1), filling(2), filling(3)], 0.05).unwrap();
        assert_eq!((found.run.as_str(), found.what.as_str()), ("aqm=fifo", "b queue delay"));
        assert!((15.0..=25.0).contains(&found.first_s), "{found:?}");
        assert_eq!(unsettled(&[filling(1)], 0.05), None, "one seed does not tell a transient from chance");
    }

    #[test]
    fn what_settled_in_the_warm_up_or_hardly_matters_is_not_told_of() {
        let settled = |seed: u32| run(seed, move |t| t.min(8.0) + noise(seed, t));
        assert_eq!(unsettled(&[settled(1), settled(2), settled(3)], 0.05), None);
        let slight = |seed: u32| run(seed, move |t| 30.0 + t.min(15.0) / 10.0 + noise(seed, t) / 10.0);
        assert_eq!(unsettled(&[slight(1), slight(2), slight(3)], 0.05), None);
    }

    /// A single seed that started differently is chance.
    #[test]
    fn a_single_odd_seed_is_no_transient() {
        let odd =
            |seed: u32| run(seed, move |t| 20.0 + if seed == 1 && t < 25.0 { 40.0 } else { 0.0 } + noise(seed, t));
        assert_eq!(unsettled(&[odd(1), odd(2), odd(3)], 0.05), None);
    }
}
