//! Looks up numbers in the results of a run: by metric and window, and optionally as a statistic over time.

use aqmkit_aqm::Why;
use aqmkit_measure::Output;
use aqmkit_measure::metric::percent;
use aqmkit_measure::output::Distribution;
use aqmkit_results::Entry;
use aqmkit_results::statistics::{deviation, mean, mean_of_known};
use serde_json::Value;

use super::metric::{OVER, PLUS};
use super::order::Statistic;

/// One window of a run's results, in the structure of `results.json`.
#[derive(Debug)]
pub struct Measured<'a> {
    values: Value,
    from_s: f64,
    to_s: f64,
    output: &'a Output,
}

impl<'a> Measured<'a> {
    /// The window with this name, if it exists.
    #[must_use]
    pub fn window(output: &'a Output, name: &str) -> Option<Self> {
        let window = output.windows.iter().find(|window| window.name == name)?;
        let entry = Entry::of(&std::collections::BTreeMap::default(), window, output.engine);
        let values = serde_json::to_value(entry).ok()?;
        Some(Measured { values, from_s: window.from_s, to_s: window.to_s, output })
    }

    /// The value of a metric: a number by its full path, such as `classes.tcp.goodput_bps`, a sum `a + b`, or a ratio
    /// `a / b`. With `seconds`, each number is that statistic of its values over time.
    ///
    /// # Errors
    /// The path of a number that the window does not have.
    pub fn number(&self, metric: &str, seconds: Option<Statistic>) -> Result<f64, String> {
        let side = |side: &str| side.split(PLUS).map(|path| self.single(path, seconds)).sum::<Result<f64, String>>();
        let sides = metric.split(OVER).map(side).collect::<Result<Vec<_>, _>>()?;
        Ok(sides.into_iter().reduce(|above, below| above / below).unwrap_or(f64::NAN))
    }

    fn single(&self, path: &str, seconds: Option<Statistic>) -> Result<f64, String> {
        let found = match seconds {
            Some(statistic) => over_seconds(statistic, path, self.output, (self.from_s, self.to_s)),
            None => value_at(&self.values, path)
                .or_else(|| percentile_at(self.output, self.values.get("window")?.as_str()?, path)),
        };
        found.ok_or_else(|| path.to_owned())
    }
}

/// The number at a path in the values of a window.
#[must_use]
pub fn value_at(values: &Value, path: &str) -> Option<f64> {
    lookup(values, path).and_then(Value::as_f64).or_else(|| none_dropped(values, path))
}

/// An integer percentile that no window lists, such as `classes.tcp.queue_delay_ms.p25`, from the stored distribution.
#[must_use]
pub fn percentile_at(output: &Output, window: &str, path: &str) -> Option<f64> {
    let (quantity, name) = path.rsplit_once('.')?;
    let percent = percent(name)?;
    let found = output.distributions.iter().find(|d| d.window == window && d.quantity == quantity)?;
    Some(Distribution::quantile(&found.points, percent / 100.0))
}

/// The value at a path whose parts may contain dots.
fn lookup<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(value);
    }
    let ends = path.match_indices('.').map(|(i, _)| i).chain([path.len()]);
    let mut found = ends.filter_map(|end| lookup(value.get(&path[..end])?, path.get(end + 1..).unwrap_or("")));
    found.next()
}

/// Zero for a drop reason that is not listed: links and classes list only reasons that occurred.
fn none_dropped(values: &Value, path: &str) -> Option<f64> {
    let (place, reason) = path.rsplit_once(".drops.")?;
    let known = Why::ALL.iter().any(|why| why.name() == reason);
    (known && lookup(values, place).is_some()).then_some(0.0)
}

/// A statistic of the one-second values between two times in seconds.
#[must_use]
pub fn over_seconds(statistic: Statistic, path: &str, output: &Output, (from_s, to_s): (f64, f64)) -> Option<f64> {
    let series = &output.series;
    let columns = &series.columns;
    let column = columns.get(path).or_else(|| columns.get(path.strip_suffix(".mean")?));
    let column = column.or_else(|| columns.get(&format!("{path}.mean")))?;
    let interval = series.interval_s;
    if interval.is_nan() || interval <= 0.0 {
        return None;
    }
    let first = (from_s / interval - 1e-6).ceil().max(0.0) as usize;
    let end = ((to_s / interval + 1e-6).floor() as usize).min(column.len());
    if let Statistic::Until(bound) = statistic {
        // Infinite if it never happens; no published time is infinite.
        let reached = column.get(first..end)?.iter().position(|x| bound.holds(*x));
        return Some(reached.map_or(f64::INFINITY, |i| (first + i + 1) as f64 * interval - from_s));
    }
    let per_second = ((1.0 / interval).round() as usize).max(1);
    let seconds = column.get(first..end)?.chunks_exact(per_second);
    value_of(statistic, seconds.map(mean_of_known).collect())
}

/// The value of a statistic; `None` for an empty series.
fn value_of(statistic: Statistic, mut seconds: Vec<f64>) -> Option<f64> {
    seconds.retain(|x| x.is_finite());
    seconds.sort_by(f64::total_cmp);
    let n = seconds.len();
    let last = n.checked_sub(1)?;
    Some(match statistic {
        Statistic::Min => seconds[0],
        Statistic::Max => seconds[last],
        Statistic::Mean => mean(&seconds),
        Statistic::Variation => deviation(&seconds)? / mean(&seconds),
        // The nearest-rank percentile.
        Statistic::Percentile(p) => seconds[((p / 100.0 * n as f64).ceil() as usize).saturating_sub(1).min(last)],
        Statistic::Until(_) => return None,
        Statistic::Share(bound) => seconds.iter().filter(|x| bound.holds(**x)).count() as f64 / n as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_measure::output::{ClassStats, Series, Window};
    use serde_json::json;

    #[test]
    fn a_path_may_lead_through_names_with_dots() {
        let v = json!({ "classes": { "tcp.new": { "goodput_bps": 5 }, "tcp": { "goodput_bps": 4 } } });
        assert_eq!(lookup(&v, "classes.tcp.new.goodput_bps"), Some(&json!(5)));
        assert_eq!(lookup(&v, "classes.tcp.goodput_bps"), Some(&json!(4)));
        assert_eq!(lookup(&v, "classes.udp.goodput_bps"), None);
        assert_eq!(lookup(&v, "classes.tcp.goodput_bps.mean"), None);
    }

    #[test]
    fn sums_and_ratios_are_of_numbers_by_their_paths() {
        let class = |goodput_bps| ClassStats { goodput_bps, ..ClassStats::default() };
        let classes = [("a".to_owned(), class(3.0)), ("b".to_owned(), class(6.0))].into();
        let window = Window { name: "all".to_owned(), classes, ..Window::default() };
        let output = Output { windows: vec![window], ..Output::default() };
        let all = Measured::window(&output, "all").unwrap();
        let of = |metric: &str| all.number(metric, None);
        assert_eq!(of("classes.a.goodput_bps"), Ok(3.0));
        assert_eq!(of("classes.a.goodput_bps + classes.b.goodput_bps"), Ok(9.0));
        assert_eq!(of("classes.a.goodput_bps / classes.a.goodput_bps + classes.b.goodput_bps"), Ok(3.0 / 9.0));
        assert_eq!(of("classes.c.goodput_bps"), Err("classes.c.goodput_bps".to_owned()));
        assert_eq!(of("classes.a.drops.early"), Ok(0.0));
        assert!(Measured::window(&output, "none").is_none());
    }

    #[test]
    fn only_seconds_inside_the_window_count() {
        let mut series = Series { interval_s: 0.5, ..Series::default() };
        let column = vec![9.0, 9.0, 1.0, 3.0, 2.0, 4.0, f64::NAN, 5.0, 9.0];
        series.columns.insert("apps.mpeg.frame_rate".to_owned(), column);
        let output = Output { series, ..Output::default() };
        let of = |s: &str| over_seconds(Statistic::parse(s).unwrap(), "apps.mpeg.frame_rate", &output, (1.0, 4.0));
        assert_eq!(of("min"), Some(2.0));
        assert_eq!(of("max"), Some(5.0));
        assert_eq!(of("mean"), Some(10.0 / 3.0));
        assert_eq!((of("until>3"), of("until>5")), (Some(2.0), Some(f64::INFINITY)), "to the end of that interval");
        assert_eq!(over_seconds(Statistic::Min, "apps.mpeg.none", &output, (1.0, 4.0)), None);
    }

    #[test]
    fn statistics_of_seconds() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let of = |text: &str| value_of(Statistic::parse(text).unwrap(), ten.clone());
        assert_eq!((of("min"), of("max"), of("mean")), (Some(1.0), Some(10.0), Some(5.5)));
        assert_eq!((of("p0"), of("p10"), of("p90"), of("p91")), (Some(1.0), Some(1.0), Some(9.0), Some(10.0)));
        assert_eq!(of("share>=8"), Some(0.3));
        let varies = of("variation").unwrap();
        assert!((varies - 3.027_650 / 5.5).abs() < 1e-6, "{varies}");
        assert_eq!(value_of(Statistic::Mean, vec![f64::NAN]), None);
        let falling = |text: &str| value_of(Statistic::parse(text).unwrap(), ten.iter().rev().copied().collect());
        assert_eq!(
            ["min", "max", "p10", "p90", "share>=8"].map(falling),
            ["min", "max", "p10", "p90", "share>=8"].map(of)
        );
    }

    /// Intervals count if they lie within the window, give or take a millionth of an interval; they are combined into
    /// whole seconds from its start.
    #[test]
    fn intervals_lie_within_the_window() {
        let at = |interval_s: f64, columns: &[&str]| {
            let column: Vec<f64> = (0..10).map(f64::from).collect();
            let columns = columns.iter().map(|name| ((*name).to_owned(), column.clone())).collect();
            Output { series: Series { interval_s, columns }, ..Output::default() }
        };
        let output = at(0.5, &["links.b.delay"]);
        let of =
            |s: &str, within: (f64, f64)| over_seconds(Statistic::parse(s).unwrap(), "links.b.delay", &output, within);
        // Intervals 2 to 6 of half a second: pairs make seconds, the last one has no partner.
        assert_eq!((of("min", (0.6, 3.9)), of("max", (0.6, 3.9))), (Some(2.5), Some(4.5)));
        assert_eq!((of("min", (1.000_000_1, 2.0)), of("max", (1.0, 1.999_999_9))), (Some(2.5), Some(2.5)));
        assert_eq!((of("min", (1.1, 2.0)), of("min", (1.0, 1.9))), (None, None), "no whole second");
        assert_eq!((of("max", (3.0, 99.0)), of("max", (9.0, 99.0))), (Some(8.5), None), "the run has ended");
        // The first value above 5 is in interval 6, which ends at 3.5 s.
        assert_eq!(of("until>5", (0.6, 3.9)).map(|t| (t * 1e9).round()), Some(2.9e9));
        assert_eq!(of("share>3", (1.0, 4.0)), Some(2.0 / 3.0));
        // One and a half millionths of an interval too far, on either side.
        assert_eq!((of("min", (1.000_000_75, 3.0)), of("max", (1.0, 1.999_999_25))), (Some(3.5), None));
        for (interval, statistic) in
            [0.0, -1.0, f64::NAN].into_iter().flat_map(|interval| [(interval, "min"), (interval, "until>=0")])
        {
            let column = at(interval, &["links.b.delay"]);
            let statistic = Statistic::parse(statistic).unwrap();
            assert_eq!(
                over_seconds(statistic, "links.b.delay", &column, (0.0, 9.0)),
                None,
                "{statistic} of {interval} s"
            );
        }
        // Intervals longer than a second are used unchanged.
        assert_eq!(over_seconds(Statistic::Max, "links.b.delay", &at(2.0, &["links.b.delay"]), (0.0, 8.0)), Some(3.0));
        // `.mean` may be missing in the path or in the column.
        for (column, path) in [("x", "x.mean"), ("x.mean", "x"), ("x", "x"), ("x.mean", "x.mean")] {
            assert_eq!(
                over_seconds(Statistic::Min, path, &at(1.0, &[column]), (3.0, 9.0)),
                Some(3.0),
                "{column} {path}"
            );
        }
        assert_eq!(over_seconds(Statistic::Min, "x.p90", &at(1.0, &["x"]), (0.0, 9.0)), None);
    }
}
