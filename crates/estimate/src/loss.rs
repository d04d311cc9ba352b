//! Losses under load.

use crate::measurement::Counted;
use crate::quantile::Value;
use crate::trial::Trial;

/// The share of sparse packets that were lost under load, with Wilson's interval; `None` if the files do not say.
pub(crate) fn of_sparse(trial: &Trial) -> Option<Value> {
    let known: Vec<_> =
        trial.best_effort().filter(|probe| probe.knows_losses).flat_map(|probe| &probe.samples).collect();
    let loaded: Vec<_> = known.into_iter().filter(|sample| trial.is_loaded(sample.at)).collect();
    let lost = loaded.iter().filter(|sample| sample.rtt.is_none()).count();
    wilson(lost as f64, loaded.len() as f64)
}

/// The share of the packets of bulk flows that were lost; `None` if the files do not say.
pub(crate) fn of_bulk(trial: &Trial) -> Option<Value> {
    let (mut lost, mut packets) = (0.0, 0.0);
    for flow in trial.flows.iter().filter(|flow| flow.knows_losses) {
        let payload = match flow.counted {
            Counted::Packets => 1500.0,
            Counted::Payload { payload, .. } => payload,
        };
        lost += flow.bins.iter().map(|bin| bin.lost).sum::<f64>();
        packets += flow.bins.iter().map(|bin| bin.bytes).sum::<f64>() / payload;
    }
    wilson(lost, packets)
}

/// The share of `hits` and its interval (Wilson, JASA 22, 1927), which is right for rare events.
fn wilson(hits: f64, all: f64) -> Option<Value> {
    const Z: f64 = 1.96;
    if all < 1.0 {
        return None;
    }
    let share = (hits / all).min(1.0);
    let middle = (share + Z * Z / (2.0 * all)) / (1.0 + Z * Z / all);
    let half = Z / (1.0 + Z * Z / all) * (share * (1.0 - share) / all + Z * Z / (4.0 * all * all)).sqrt();
    Some(Value { value: share, low: (middle - half).max(0.0), high: (middle + half).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five of a hundred: Wilson's interval is 2.15 % to 11.18 %.
    #[test]
    fn the_interval_is_wilsons() {
        let loss = wilson(5.0, 100.0).unwrap();
        assert!((loss.low - 0.0215).abs() < 1e-3 && (loss.high - 0.1118).abs() < 1e-3, "{loss:?}");
        let none = wilson(0.0, 100.0).unwrap();
        assert!(none.low == 0.0 && (none.high - 0.037).abs() < 1e-3, "{none:?}");
        assert_eq!(wilson(0.0, 0.0), None);
    }
}
