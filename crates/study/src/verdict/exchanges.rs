//! Claims about the response times of exchanges with given sizes.

use aqmkit_experiment::{Exchanges, Expect, Quantity};
use aqmkit_formulas::unit::{self, Dimension};
use aqmkit_measure::output::ExchangeRecord;
use aqmkit_results::statistics::mean;

/// The claim's value over the app's exchanges that started in the window; `None` for a time if there are none.
pub(super) fn value(
    expect: &Expect,
    wanted: Exchanges,
    all: &[ExchangeRecord],
    (from_s, to_s): (f64, f64),
) -> Option<f64> {
    let within = |(from, to): (f64, f64), x: f64| x >= from && x < to;
    let app = expect.app.as_deref().unwrap_or_default();
    let of_size = |e: &&ExchangeRecord| {
        e.traffic == app && within((from_s, to_s), e.started_s) && within(wanted.size, e.bytes as f64)
    };
    let sized: Vec<f64> = all.iter().filter(of_size).map(|e| e.duration_ms).collect();
    let mut times: Vec<f64> = sized.iter().copied().filter(|t| within(wanted.time_ms, *t)).collect();
    times.sort_by(f64::total_cmp);
    let last = times.len().checked_sub(1);
    match Quantity::parse(expect.metric.as_deref().unwrap_or_default())? {
        Quantity::Count => Some(times.len() as f64),
        Quantity::Share => (!sized.is_empty()).then(|| times.len() as f64 / sized.len() as f64),
        Quantity::Mean => last.map(|_| mean(&times)),
        Quantity::Percentile(p) => {
            let place = ((p / 100.0 * times.len() as f64).ceil() as usize).saturating_sub(1);
            last.map(|last| times[place.min(last)])
        }
    }
}

/// Adds the unit to a number of the claim.
pub(super) fn quantity(expect: &Expect, number: f64) -> Result<unit::Quantity, String> {
    let metric = expect.metric.as_deref().unwrap_or_default();
    let (dimension, scale) = match Quantity::parse(metric) {
        Some(Quantity::Count) => (Dimension::Count, 1.0),
        Some(Quantity::Share) => (Dimension::Share, 1.0),
        Some(Quantity::Mean | Quantity::Percentile(_)) => (Dimension::Time, 1e-3),
        None => return Err(format!("exchanges have no {metric}")),
    };
    Ok(unit::Quantity { value: number * scale, dimension })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_experiment::{Experiment, Overrides};

    fn of(metric: &str) -> Option<f64> {
        let text = format!(
            "title = 'x'\nduration = '10s'\n[topology]\nrate = '1mbit'\n[[traffic]]\nkind = 'short-flows'\n[[expect]]\nid = 'X'\n\
             where = {{ app = 'short-flows' }}\nexchanges = {{ size = ['1b', '3kb'], time = ['100ms', '2s'] }}\nmetric = '{metric}'"
        );
        let claim = &Experiment::parse("x.toml", &text, &Overrides::default()).unwrap().expects[0];
        let one = |started_s: f64, duration_ms: f64, bytes: u64| ExchangeRecord {
            traffic: "short-flows".to_owned(),
            kind: "transfer".to_owned(),
            started_s,
            duration_ms,
            bytes,
        };
        let other = ExchangeRecord { traffic: "web".to_owned(), ..one(1.0, 500.0, 10) };
        let late = one(10.0, 500.0, 10);
        let all = [
            one(1.0, 200.0, 10),
            one(2.0, 300.0, 20),
            one(2.0, 99.0, 20),
            one(2.0, 2000.0, 20),
            one(3.0, 500.0, 4000),
            other,
            late,
        ];
        value(claim, claim.exchanges.unwrap(), &all, (0.0, 10.0))
    }

    #[test]
    fn only_those_of_the_app_the_size_and_the_window_count() {
        assert_eq!((of("count"), of("share")), (Some(2.0), Some(0.5)));
        assert_eq!((of("time_ms.p50"), of("time_ms.mean"), of("time_ms.p99")), (Some(200.0), Some(250.0), Some(300.0)));
    }

    #[test]
    fn numbers_have_the_units_of_their_quantity() {
        let claim = |metric: &str| {
            let text = format!(
                "title = 'x'\nduration = '10s'\n[topology]\nrate = '1mbit'\n[[traffic]]\nkind = 'short-flows'\n[[expect]]\nid = 'X'\n\
                 where = {{ app = 'short-flows' }}\nexchanges = {{ }}\nmetric = '{metric}'"
            );
            Experiment::parse("x.toml", &text, &Overrides::default()).unwrap().expects.remove(0)
        };
        let of = |metric: &str| quantity(&claim(metric), 250.0).map(|q| (q.value, q.dimension));
        assert_eq!([of("time_ms.mean"), of("time_ms.p90")], [Ok((0.25, Dimension::Time)), Ok((0.25, Dimension::Time))]);
        assert_eq!([of("count"), of("share")], [Ok((250.0, Dimension::Count)), Ok((250.0, Dimension::Share))]);
    }
}
