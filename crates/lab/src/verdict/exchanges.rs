//! What a claim says of single exchanges: how long those of some sizes took.

use aqmkit_sim::output::ExchangeRecord;

use super::evidence::mean;
use crate::experiment::{Exchanges, Expect, Quantity};

/// The claim's quantity over the exchanges of its app that began in the window; none where it is a time and there are none.
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
