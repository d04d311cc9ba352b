//! Computation of metrics.
//!
//! Metrics that the library's own code reads are fields of the structures in [`crate::output`]. All other metrics are
//! computed from a run's counters by the function or ratio in their entry of [`METRICS`](super::METRICS), so that this
//! entry is all that a metric needs.

use std::collections::BTreeMap;

use super::Metric;
use crate::counters::{Received, Traffic};

/// How a metric is computed.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// Read from the field of this name in the structures of [`crate::output`].
    Field,
    /// Computed from the counters of a link.
    Link(fn(&Counted) -> f64),
    /// Computed from the counters of a class at the measured link.
    Class(fn(&Counted) -> f64),
    /// Computed from the counters of a traffic model.
    Traffic(Ratio),
}

/// The counters of a link, or of one class at the measured link, in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Length of the window in seconds.
    pub seconds: f64,
    /// Packets that arrived, left, and were dropped or marked, as in [`crate::Passed::total`].
    pub traffic: Traffic,
    /// Bytes that passed the link, as in [`crate::Passed::passed_bytes`].
    pub passed_bytes: f64,
    /// Data delivered to the receivers of a class; zero for links.
    pub received: Received,
    /// Number of flows of a class; zero for links.
    pub flows: usize,
}

/// A sum of a model's counters divided by another. A model has the metric if it has all these counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The counters of the numerator.
    pub of: &'static [&'static str],
    /// The counters of the denominator.
    pub over: &'static [&'static str],
    /// Factor for the ratio.
    pub times: f64,
}

impl Ratio {
    /// The ratio for a model with these counters and their rates: [`f64::NAN`] if the denominator did not increase,
    /// `None` if the model lacks a counter.
    fn value(&self, counters: &[&str], rates: &[f64]) -> Option<f64> {
        let rate = |name: &&str| counters.iter().position(|c| c == name).map(|i| rates[i]);
        let sum = |names: &[&str]| names.iter().map(rate).sum::<Option<f64>>();
        let (of, over) = (sum(self.of)?, sum(self.over)?);
        Some(if over > 0.0 { of / over * self.times } else { f64::NAN })
    }
}

/// Metrics by their names in results.
pub(crate) type Values = Vec<(&'static str, f64)>;

/// The metrics for which `value` gives one.
fn values(metrics: &[Metric], value: impl Fn(Value) -> Option<f64>) -> Values {
    metrics.iter().filter_map(|metric| Some((metric.field(), value(metric.value)?))).collect()
}

/// The computed metrics of a link.
pub(crate) fn of_link(metrics: &[Metric], counted: &Counted) -> Values {
    values(metrics, |value| if let Value::Link(of) = value { Some(of(counted)) } else { None })
}

/// The computed metrics of a class.
pub(crate) fn of_class(metrics: &[Metric], counted: &Counted) -> Values {
    values(metrics, |value| if let Value::Class(of) = value { Some(of(counted)) } else { None })
}

/// The computed metrics of a traffic model with these counters and their rates.
pub(crate) fn of_traffic(metrics: &[Metric], counters: &[&str], rates: &[f64]) -> Values {
    values(metrics, |value| if let Value::Traffic(ratio) = value { ratio.value(counters, rates) } else { None })
}

/// Only the values that are numbers.
pub(crate) fn known(values: Values) -> BTreeMap<String, f64> {
    values.into_iter().filter(|(_, value)| value.is_finite()).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use aqmkit_aqm::Why;

    use super::super::Better::Low;
    use super::super::{METRICS, Panel};
    use super::*;

    /// An entry that is not in the list.
    fn entry(path: &'static str, value: Value) -> Metric {
        let unit = METRICS[0].unit;
        let (label, meaning) = ("test", "A metric of this test.");
        Metric {
            path,
            statistics: &[],
            unit,
            label,
            better: Low,
            in_windows: true,
            in_series: false,
            panel: Panel::Asked,
            shown: &[],
            meaning,
            value,
        }
    }

    /// One entry, and nothing else, defines a metric of links and one of classes.
    #[test]
    fn an_entry_of_the_list_is_enough_for_a_new_metric() {
        let drops = |c: &Counted| c.traffic.drops() as f64 / c.seconds;
        let per_flow = |c: &Counted| c.received.packets as f64 / c.flows as f64;
        let metrics = [
            entry("links.*.drops_per_s", Value::Link(drops)),
            entry("classes.*.packets_per_flow", Value::Class(per_flow)),
        ];
        let mut traffic = Traffic::default();
        traffic.dropped[Why::Early as usize] = 30;
        let received = Received { packets: 12, ..Received::default() };
        let counted = Counted { seconds: 2.0, traffic, received, flows: 4, ..Counted::default() };
        assert_eq!(of_link(&metrics, &counted), [("drops_per_s", 15.0)]);
        assert_eq!(of_class(&metrics, &counted), [("packets_per_flow", 3.0)]);
        let nothing = Counted::default();
        assert!(
            known(of_link(&metrics, &nothing)).is_empty() && known(of_class(&metrics, &nothing)).is_empty(),
            "0 over 0"
        );
    }

    #[test]
    fn a_ratio_needs_all_its_counters_and_a_denominator_that_rose() {
        let counters = ["stalled_s", "stalls", "played_s"];
        let known_of = |rates: [f64; 3]| known(of_traffic(METRICS, &counters, &rates)).into_iter().collect::<Vec<_>>();
        let found = known_of([0.25, 0.5, 0.75]);
        assert_eq!(found, [("stalled".to_owned(), 0.25), ("stalls_per_min".to_owned(), 30.0)]);
        assert_eq!(known_of([0.0, 0.0, 0.0]), []);
        assert_eq!(of_traffic(METRICS, &counters, &[0.0; 3]).iter().filter(|(_, value)| value.is_nan()).count(), 2);
        assert_eq!(of_traffic(METRICS, &["stalls"], &[1.0]).len(), 0);
    }
}
