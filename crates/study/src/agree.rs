//! Compares live runs, including those inside the kernel, with simulated ones.
//!
//! They never agree exactly: the kernel's TCP differs from the simulator's, and real hosts need time to process
//! packets. They agree if they lead to the same conclusions: utilisation within 3 points; mean queueing delay within 20
//! % or 1 ms, whichever is larger; throughput of each class and fairness among flows within 15 %.

use std::collections::BTreeMap;

pub use aqmkit_results::place::{AXIS, SIMULATED};
use aqmkit_results::{Agreement, Entry, Results};

/// Tolerance of the utilisation, in percentage points.
const UTILIZATION: f64 = 3.0;
/// Tolerance of the delay: relative to the larger value, and in milliseconds; the larger tolerance applies.
const DELAY: (f64, f64) = (0.2, 1.0);
/// Tolerance of throughput and fairness, relative to the larger value.
const SHARE: f64 = 0.15;

/// All metrics that were both simulated and measured live, by combination; empty if all runs are of one kind.
#[must_use]
pub fn agreements(results: &Results) -> Vec<Agreement> {
    if !results.axes.iter().any(|a| a.name == AXIS) {
        return Vec::new();
    }
    let mut places: BTreeMap<String, BTreeMap<&str, Vec<&Entry>>> = BTreeMap::new();
    for entry in &results.runs {
        let on = entry.labels.get(AXIS).map_or(SIMULATED, String::as_str);
        places.entry(place(results, entry)).or_default().entry(on).or_default().push(entry);
    }
    let mut found = Vec::new();
    for (place, mut by_label) in places {
        let simulated = by_label.remove(SIMULATED).unwrap_or_default();
        // In the order of the axis: live link, then inside the kernel.
        let labels = results.axes.iter().filter(|a| a.name == AXIS).flat_map(|a| &a.labels);
        for (on, real) in labels.filter_map(|label| by_label.remove_entry(label.as_str())) {
            found.extend(compare(&place, on, &simulated, &real));
        }
    }
    found
}

fn place(results: &Results, entry: &Entry) -> String {
    let axes = results.axes.iter().map(|a| a.name.as_str()).filter(|name| *name != AXIS).chain(["window"]);
    let labels: Vec<&str> = axes.filter_map(|a| entry.labels.get(a)).map(String::as_str).collect();
    labels.join(" ")
}

fn compare(place: &str, on: &str, simulated: &[&Entry], live: &[&Entry]) -> Vec<Agreement> {
    let both = |what: &str, of: &dyn Fn(&Entry) -> Option<f64>, within: &dyn Fn(f64) -> f64| {
        let (a, b) = (mean(simulated, of)?, mean(live, of)?);
        Some(Agreement {
            place: place.to_owned(),
            what: what.to_owned(),
            on: on.to_owned(),
            simulated: a,
            live: b,
            within: within(a.max(b)),
        })
    };
    let relative = |larger: f64| SHARE * larger;
    let mut found = Vec::new();
    let Some(first) = simulated.first() else { return Vec::new() };
    for link in first.links.keys() {
        let name = |what: &str| if first.links.len() == 1 { what.to_owned() } else { format!("{link}: {what}") };
        let used = |e: &Entry| Some(e.links.get(link)?.utilization * 100.0);
        let delay = |e: &Entry| Some(e.links.get(link)?.queue_delay_ms?.mean);
        found.push(both(&name("used, %"), &used, &|_| UTILIZATION));
        found.push(both(&name("mean delay, ms"), &delay, &|d| DELAY.1.max(DELAY.0 * d)));
    }
    found.push(both("fairness", &|e| Some(e.flows.jain), &relative));
    // Classes without packets are left out.
    for class in first.classes.iter().filter(|(_, c)| c.offered_bps > 0.0).map(|(name, _)| name) {
        let rate = |e: &Entry| Some(e.classes.get(class)?.throughput_bps / 1e6);
        found.push(both(&format!("{class}, Mbit/s"), &rate, &relative));
    }
    found.into_iter().flatten().collect()
}

fn mean(entries: &[&Entry], of: &dyn Fn(&Entry) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = entries.iter().filter_map(|e| of(e)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_measure::output::{LinkStats, Summary};
    use aqmkit_results::Axis;

    fn entry(on: &str, utilization: f64, delay: f64) -> Entry {
        let labels = [("aqm", "red"), (AXIS, on), ("window", "all")];
        let queue_delay_ms = Some(Summary { mean: delay, ..Summary::default() });
        Entry {
            labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            links: [("b".to_owned(), LinkStats { utilization, queue_delay_ms, ..LinkStats::default() })].into(),
            ..Entry::default()
        }
    }

    #[test]
    fn each_quantity_has_its_own_tolerance() {
        let holds = |a: (f64, f64), b: (f64, f64)| {
            let runs = vec![entry("simulated", a.0, a.1), entry("live", b.0, b.1)];
            let axis = |name: &str, labels: &[&str]| Axis {
                name: name.to_owned(),
                labels: labels.iter().map(|&label| label.to_owned()).collect(),
            };
            let axes = vec![axis("aqm", &["red"]), axis(AXIS, &[SIMULATED, "live"])];
            let list = agreements(&Results { runs, axes, ..Results::default() });
            list[..2].iter().map(Agreement::holds).collect::<Vec<_>>()
        };
        assert_eq!(holds((0.97, 20.0), (0.945, 17.0)), [true, true]);
        assert_eq!(holds((0.97, 20.0), (0.93, 15.0)), [false, false]);
        assert_eq!(holds((0.97, 1.2), (0.97, 0.3)), [true, true]);
        assert_eq!(holds((0.97, 1.2), (0.97, 0.1)), [true, false]);
    }

    #[test]
    fn the_kernel_is_compared_as_a_live_link_is() {
        let runs = vec![entry("kernel", 0.9, 9.0), entry("simulated", 0.97, 10.0), entry("live", 0.96, 13.0)];
        let labels = [SIMULATED, "live", "kernel"].map(str::to_owned).to_vec();
        let axes = vec![Axis { name: AXIS.to_owned(), labels }];
        let list = agreements(&Results { runs, axes, ..Results::default() });
        let delays = list.iter().filter(|a| a.what == "mean delay, ms");
        let delays: Vec<_> = delays.map(|a| (a.on.as_str(), a.simulated, a.live, a.holds())).collect();
        assert_eq!(delays, [("live", 10.0, 13.0, false), ("kernel", 10.0, 9.0, true)]);
    }

    /// Classes and fairness agree within 15 % of the larger value, a link within three points. With several links each
    /// is named. Means over the repeats are compared.
    #[test]
    fn every_quantity_is_compared_at_its_place() {
        use aqmkit_measure::output::ClassStats;
        let run = |on: &str, window: &str, factor: f64| {
            let mut one = entry(on, 0.5, 20.0);
            one.labels.insert("window".to_owned(), window.to_owned());
            one.links.insert("c".to_owned(), LinkStats { utilization: 0.25, ..LinkStats::default() });
            let class = |bps: f64| ClassStats { offered_bps: bps, throughput_bps: bps, ..ClassStats::default() };
            one.classes = [("tcp".to_owned(), class(2e6 * factor)), ("none".to_owned(), class(0.0))].into();
            one.flows.jain = 0.8 * factor;
            one
        };
        let runs = vec![
            run("simulated", "all", 1.0),
            run("simulated", "all", 0.8),
            run("live", "all", 1.04),
            run("live", "blast", 1.0),
            run("kernel", "all", 1.06),
        ];
        let axis = |name: &str, labels: &[&str]| Axis {
            name: name.to_owned(),
            labels: labels.iter().map(|&l| l.to_owned()).collect(),
        };
        let axes = vec![axis("aqm", &["red"]), axis(AXIS, &["kernel", SIMULATED, "live"])];
        let list = agreements(&Results { runs, axes, ..Results::default() });
        let shown: Vec<_> = list.iter().map(|a| (a.place.as_str(), a.on.as_str(), a.what.as_str())).collect();
        let whats = ["b: used, %", "b: mean delay, ms", "c: used, %", "fairness", "tcp, Mbit/s"];
        let wanted: Vec<_> =
            ["kernel", "live"].into_iter().flat_map(|on| whats.map(|what| ("red all", on, what))).collect();
        assert_eq!(shown, wanted, "what was only live has nothing to be compared with");
        let of = |on: &str, what: &str| list.iter().find(|a| a.on == on && a.what == what).unwrap();
        let tcp = of("live", "tcp, Mbit/s");
        assert!(
            (tcp.simulated - 1.8).abs() < 1e-9
                && (tcp.live - 2.08).abs() < 1e-9
                && (tcp.within - 0.15 * 2.08).abs() < 1e-9
        );
        assert!(tcp.holds() && !of("kernel", "tcp, Mbit/s").holds(), "1.8 and 2.12 differ by more than 0.318");
        let fair = of("live", "fairness");
        assert!((fair.simulated - 0.72).abs() < 1e-9 && (fair.within - 0.15 * 0.832).abs() < 1e-9);
        assert_eq!((of("live", "b: used, %").simulated, of("live", "b: used, %").within), (50.0, 3.0));
        assert_eq!(
            agreements(&Results { runs: vec![run("live", "all", 1.0)], ..Results::default() }),
            [],
            "no such axis"
        );
    }
}
