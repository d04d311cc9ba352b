//! Statistics of response times, for claims about distributions.

use aqmkit_experiment::Response;
use aqmkit_measure::Output;
use aqmkit_measure::output::{Distribution, Responses};

/// Distributions are compared up to the quantile above which fewer than this share of the responses lie: beyond it,
/// single responses decide.
const RAREST: f64 = 1e-4;
/// Quantiles are equal (`~`) if they differ by at most this share.
const DIFFERENT: f64 = 0.2;
/// Upper size of small responses in bytes: about the median of web responses.
const SMALL: f64 = 1000.0;
/// Number of following bins that a peak must not be lower than; five bins span a factor of 1.26 in time.
const CLOSE: usize = 5;

/// Response times of one kind of exchange in one window.
#[derive(Clone, Copy)]
pub(super) struct Times<'a> {
    /// CDF points (milliseconds, share of responses that take at most this time), ascending.
    points: &'a [(f64, f64)],
    cells: Option<&'a Responses>,
}

impl<'a> Times<'a> {
    /// The distribution of `quantity`, such as `apps.web.response_time_ms.request`.
    pub(super) fn find(output: &'a Output, window: &str, quantity: &str) -> Option<Times<'a>> {
        let found = output.distributions.iter().find(|d| d.window == window && d.quantity == quantity)?;
        let (traffic, kind) = quantity.strip_prefix("apps.")?.split_once(".response_time_ms.")?;
        let is = |r: &&Responses| r.window == window && r.traffic == traffic && r.kind == kind;
        Some(Times { points: &found.points, cells: output.responses.iter().find(is) })
    }

    /// The share of responses that take at most `ms`.
    fn share(&self, ms: f64) -> f64 {
        between(self.points, ms)
    }

    /// The quantile in milliseconds.
    fn quantile(&self, share: f64) -> f64 {
        Distribution::quantile(self.points, share)
    }

    /// The mean in milliseconds, with longer times cut to `most`.
    fn mean_up_to(&self, most: f64) -> f64 {
        let mut last = (0.0, 0.0);
        let mut area = 0.0;
        let end = (most, self.share(most));
        for &point in self.points.iter().take_while(|p| p.0 < most).chain([&end]) {
            area += (point.0 - last.0) * (1.0 - f64::midpoint(point.1, last.1));
            last = point;
        }
        area
    }

    /// The first peak of small responses at or after `least`, in milliseconds: the first bin with at least 1.5 times
    /// the count of a valley before it, and with no lower count than the following neighbours.
    fn peak(&self, least: f64) -> Option<f64> {
        let mut bins: Vec<u64> = Vec::new();
        for (time, size, count) in self.cells?.cells() {
            if Responses::from_bytes(size + 1) <= SMALL * 1.001 {
                bins.resize(bins.len().max(usize::from(time) + 1), 0);
                bins[usize::from(time)] += count;
            }
        }
        let seen = (bins.iter().sum::<u64>() as f64 * RAREST) as u64;
        let mut valley = u64::MAX;
        let first = (0..bins.len()).filter(|bin| Responses::from_ms(*bin as u16) >= least).find(|&bin| {
            valley = valley.min(bins[bin]);
            let close = bins.get(bin..(bin + CLOSE).min(bins.len())).unwrap_or_default();
            bins[bin] > seen + valley + valley / 2 && close.iter().all(|count| *count <= bins[bin])
        })?;
        let bin = first as u16;
        Some((Responses::from_ms(bin) * Responses::from_ms(bin + 1)).sqrt())
    }
}

/// Computes the statistic, in seconds or as a share; `None` if it does not exist.
pub(super) fn statistic(what: Response, own: Times<'_>, other: Option<Times<'_>>) -> Option<f64> {
    let value = match what {
        Response::Within(t) => own.share(t.as_millis_f64()),
        Response::Beyond(t) => 1.0 - own.share(t.as_millis_f64()),
        Response::Percentile(p) => own.quantile(p / 100.0) / 1e3,
        Response::Mean(t) => own.mean_up_to(t.as_millis_f64()) / 1e3,
        Response::Gain(t) => other?.mean_up_to(t.as_millis_f64()) / own.mean_up_to(t.as_millis_f64()),
        Response::Peak(t) => own.peak(t.as_millis_f64())? / 1e3,
        Response::Crossover => crossover(own, other?) / 1e3,
        Response::Alike => alike(own, other?),
    };
    Some(value)
}

/// The time in milliseconds from which on the other run has completed more responses; infinite if it never has, zero if
/// it always has.
fn crossover(own: Times<'_>, other: Times<'_>) -> f64 {
    let end = own.quantile(1.0 - RAREST).min(other.quantile(1.0 - RAREST));
    let mut times: Vec<f64> = own.points.iter().chain(other.points).map(|p| p.0).filter(|t| *t <= end).collect();
    times.push(end);
    times.sort_by(f64::total_cmp);
    // Before the first response both shares are zero.
    let ahead = |t: f64| own.share(t) > 0.0 && own.share(t) >= other.share(t);
    let Some(last) = times.iter().rposition(|t| ahead(*t)) else { return 0.0 };
    let Some(next) = times.get(last + 1) else { return f64::INFINITY };
    // Between two points both curves are straight lines, which cross at most once.
    let (mut low, mut high) = (times[last], *next);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if ahead(middle) { low = middle } else { high = middle }
    }
    high
}

/// The share up to which the quantiles of both distributions agree.
fn alike(own: Times<'_>, other: Times<'_>) -> f64 {
    let differ = |share: f64| {
        let (a, b) = (own.quantile(share), other.quantile(share));
        (a - b).abs() > DIFFERENT * a.max(b)
    };
    let first = (1..1000).map(|i| f64::from(i) / 1000.0).find(|share| differ(*share));
    first.map_or(1.0, |share| share - 0.001)
}

/// The share at `x`, by linear interpolation.
fn between(points: &[(f64, f64)], x: f64) -> f64 {
    let next = points.partition_point(|p| p.0 <= x);
    match (next.checked_sub(1).and_then(|i| points.get(i)), points.get(next)) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0),
        (None, _) => 0.0,
        (Some(a), None) => a.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(points: &[(f64, f64)]) -> Times<'_> {
        Times { points, cells: None }
    }

    fn of(what: &str, own: &[(f64, f64)], other: &[(f64, f64)]) -> f64 {
        statistic(Response::parse(what).unwrap(), times(own), Some(times(other))).unwrap()
    }

    #[test]
    fn shares_times_and_means_of_a_straight_line() {
        // Uniform from 0 to 4 s.
        let line = [(0.0, 0.0), (1000.0, 0.25), (4000.0, 1.0)];
        assert_eq!(of("share<=500ms", &line, &[]), 0.125);
        assert_eq!(of("share>3s", &line, &[]), 0.25);
        assert_eq!(of("share>9s", &line, &[]), 0.0);
        assert_eq!(of("p50", &line, &[]), 2.0);
        // The slower half counts as 2 s, the faster half has a mean of 1 s.
        assert!((of("mean<=2s", &line, &[]) - 1.5).abs() < 1e-12);
        assert!((of("gain<=2s", &line, &[(3000.0, 0.0), (4000.0, 1.0)]) - 2.0 / 1.5).abs() < 1e-12);
        assert!((of("mean<=9s", &line, &[]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn curves_cross_where_the_other_comes_to_lead() {
        let own = [(100.0, 0.0), (500.0, 0.9), (9000.0, 1.0)];
        let other = [(100.0, 0.0), (1500.0, 0.8), (6000.0, 1.0)];
        let crossing = of("crossover", &own, &other);
        // 0.9 + 0.1 (t - 500) / 8500 = 0.8 + 0.2 (t - 1500) / 4500
        assert!((crossing - 4.92).abs() < 1e-3, "{crossing}");
        assert_eq!(of("crossover", &other, &own), f64::INFINITY);
        assert_eq!(of("crossover", &[(300.0, 0.0), (9000.0, 1.0)], &[(100.0, 0.0), (500.0, 1.0)]), 0.0);
        assert_eq!(of("crossover", &own, &own), f64::INFINITY, "the other never has more");
    }

    /// Points of both curves are processed in order of time; the slowest ten thousandth of the responses is ignored.
    #[test]
    fn curves_are_followed_in_time_and_not_to_their_last_response() {
        let own = [(1000.0, 0.0), (2000.0, 0.5), (8000.0, 1.0)];
        let other = [(1000.0, 0.0), (3000.0, 0.6), (4000.0, 0.99), (8000.0, 1.0)];
        // 0.5 + 0.5 (t - 2000) / 6000 = 0.6 (t - 1000) / 2000, between 2 and 3 s.
        let crossing = of("crossover", &own, &other);
        assert!((crossing - 38.0 / 13.0).abs() < 1e-6, "{crossing}");
        let late = [(100.0, 0.0), (1000.0, 0.999_95), (9000.0, 1.0)];
        let later = [(100.0, 0.0), (1000.0, 0.999_92), (1001.0, 1.0)];
        assert_eq!(of("crossover", &late, &later), f64::INFINITY, "it is overtaken among the rarest only");
    }

    #[test]
    fn alike_ends_where_quantiles_part() {
        let own = [(100.0, 0.0), (200.0, 0.4), (1000.0, 1.0)];
        let other = [(100.0, 0.0), (200.0, 0.4), (2000.0, 1.0)];
        let share = of("alike", &own, &other);
        assert!((0.4..0.46).contains(&share), "{share}");
        assert_eq!(of("alike", &own, &own), 1.0);
        // At shares s above 0.4 the quantiles are 200 + 800 (s - 0.4) / 0.6 and 200 + 1800 (s - 0.4) / 0.6; they differ
        // by a fifth of the larger one at 0.437.
        assert!((share - 0.437).abs() < 1e-9, "{share}");
    }

    #[test]
    fn the_peak_is_of_small_responses() {
        let mut cells = Responses::default();
        let mut add = |ms: f64, bytes: f64, count| {
            cells.times.push(((ms / 0.1).log10() * 50.0) as u16);
            cells.sizes.push((bytes.log10() * 10.0 + 1e-9) as u16);
            cells.counts.push(count);
        };
        add(200.0, 500.0, 10_000);
        add(1500.0, 500.0, 1);

        add(3050.0, 500.0, 20);
        add(6050.0, 500.0, 10);
        add(5050.0, 5000.0, 50);
        let own = Times { points: &[], cells: Some(&cells) };
        let at = |least: &str| statistic(Response::parse(least).unwrap(), own, None).unwrap();
        // The geometric middle of the bin: bin 224 begins at 0.1 ms times 10^(224 / 50).
        assert!((at("peak>=1s") / 3.0903 - 1.0).abs() < 1e-4, "{}", at("peak>=1s"));
        assert!((at("peak>=4s") / 6.1660 - 1.0).abs() < 1e-4, "{}", at("peak>=4s"));
    }

    /// Responses of one size with these counts in neighbouring bins, starting at one second.
    fn bins(counts: &[u64], bytes: f64) -> Responses {
        let first = (1000.0_f64 / 0.1).log10() * 50.0 + 1e-9;
        let size = (bytes.log10() * 10.0 + 1e-9) as u16;
        let times = (0..counts.len() as u16).map(|bin| first as u16 + bin);
        Responses {
            times: times.collect(),
            sizes: vec![size; counts.len()],
            counts: counts.to_vec(),
            ..Responses::default()
        }
    }

    /// A peak has at least 1.5 times the count of the valley before it and is not lower than its neighbours; responses
    /// are small up to 1000 bytes.
    #[test]
    fn a_peak_stands_out() {
        let peak = |counts: &[u64], bytes: f64| {
            let cells = bins(counts, bytes);
            let own = Times { points: &[], cells: Some(&cells) };
            let found = statistic(Response::parse("peak>=1s").unwrap(), own, None)?;
            // Index relative to the first bin.
            Some(((found.log10() * 50.0) - 0.5).round() as usize)
        };
        assert_eq!(peak(&[10, 15, 10], 500.0), None, "not more than half as many again");
        assert_eq!(peak(&[10, 16, 10], 500.0), Some(1));
        assert_eq!(peak(&[30, 10, 12, 16, 13], 500.0), Some(3), "of the lowest valley before it");
        assert_eq!(peak(&[10, 16, 20, 10], 500.0), Some(2), "no fewer than the next");
        assert_eq!(peak(&[10, 16, 10, 10, 10, 10, 20], 500.0), Some(1), "one that is five bins on is another");
        assert_eq!(peak(&[10, 16, 10, 10, 10, 20, 10], 500.0), Some(5));
        // Ten of a hundred thousand are ignored as chance.
        assert_eq!((peak(&[99_990, 0, 10], 500.0), peak(&[99_990, 0, 11], 500.0)), (None, Some(2)));
        assert_eq!((peak(&[10, 16, 10], 700.0), peak(&[10, 16, 10], 1100.0)), (Some(1), None));
    }

    #[test]
    fn quantiles_lie_between_points_and_end_with_them() {
        let line = [(100.0, 0.2), (500.0, 0.6), (900.0, 0.9)];
        let quantiles = [0.0, 0.2, 0.4, 0.6, 0.75, 0.9, 0.99].map(|share| times(&line).quantile(share));
        for (found, wanted) in quantiles.into_iter().zip([100.0, 100.0, 300.0, 500.0, 700.0, 900.0, 900.0]) {
            assert!((found - wanted).abs() < 1e-9, "{quantiles:?}");
        }
        let shares = [99.9, 100.0, 300.0, 900.0, 5000.0].map(|ms| times(&line).share(ms));
        for (found, wanted) in shares.into_iter().zip([0.0, 0.2, 0.4, 0.9, 0.9]) {
            assert!((found - wanted).abs() < 1e-9, "{shares:?}");
        }
        assert!(times(&[]).quantile(0.5).is_nan());
        // On a flat part of the curve, the quantile is at its left end.
        assert_eq!(times(&[(100.0, 0.2), (200.0, 0.2), (300.0, 1.0)]).quantile(0.2), 100.0);
    }

    /// Quantiles that differ by a fifth of the larger one are equal.
    #[test]
    fn a_fifth_is_alike() {
        let own = [(0.0, 0.0), (1000.0, 1.0)];
        assert_eq!(of("alike", &own, &[(0.0, 0.0), (801.0, 1.0)]), 1.0);
        assert!(of("alike", &own, &[(0.0, 0.0), (799.0, 1.0)]) < 0.001);
    }

    #[test]
    fn distributions_are_found_by_window_and_quantity() {
        use aqmkit_measure::output::Distribution;
        let points = vec![(1.0, 0.5)];
        let responses = |window: &str, kind: &str| Responses {
            window: window.to_owned(),
            traffic: "web".to_owned(),
            kind: kind.to_owned(),
            ..Responses::default()
        };
        let output = Output {
            distributions: vec![Distribution {
                window: "all".to_owned(),
                quantity: "apps.web.response_time_ms.page".to_owned(),
                points: points.clone(),
            }],
            responses: vec![responses("none", "page"), responses("all", "request"), responses("all", "page")],
            ..Output::default()
        };
        let found = Times::find(&output, "all", "apps.web.response_time_ms.page").unwrap();
        assert_eq!((found.points, found.cells), (points.as_slice(), Some(&output.responses[2])));
        assert!(Times::find(&output, "none", "apps.web.response_time_ms.page").is_none());
        assert!(Times::find(&output, "all", "apps.web.response_time_ms.request").is_none());
    }
}
