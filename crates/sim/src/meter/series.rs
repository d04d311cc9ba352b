//! The time series: one value of each quantity for each interval.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_base::Duration;

use super::report::{Names, frames};
use super::{Snapshot, Traffic};
use crate::output::Series;

/// Collects intervals.
#[derive(Debug)]
pub(crate) struct SeriesBuilder {
    interval: Duration,
    last: Option<Snapshot>,
    rows: usize,
    columns: BTreeMap<String, Vec<f64>>,
}

impl SeriesBuilder {
    pub(crate) fn new(interval: Duration) -> Self {
        SeriesBuilder { interval, last: None, rows: 0, columns: BTreeMap::new() }
    }

    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Ends an interval with these counters.
    pub(crate) fn add(&mut self, snapshot: Snapshot, names: &Names, gauges: &[(String, f64)]) {
        if let Some(last) = self.last.take() {
            let seconds = snapshot.when.since(last.when).as_secs_f64();
            self.links(&last, &snapshot, names, seconds);
            self.classes(&last, &snapshot, names, seconds);
            self.groups(&last, &snapshot, names, seconds);
            for (name, value) in gauges {
                self.set(name.clone(), *value);
            }
            self.rows += 1;
        }
        self.last = Some(snapshot);
    }

    fn set(&mut self, name: String, value: f64) {
        let column = self.columns.entry(name).or_default();
        // A quantity that appears late has no earlier values.
        column.resize(self.rows, f64::NAN);
        column.push(value);
    }

    fn links(&mut self, last: &Snapshot, this: &Snapshot, names: &Names, seconds: f64) {
        for (i, link) in names.links.iter().enumerate().filter(|(_, l)| l.report) {
            let traffic = this.links[i].0.since(&last.links[i].0);
            let area = (this.links[i].1 - last.links[i].1) as f64;
            self.traffic(&format!("links.{}", link.name), &traffic, seconds);
            self.set(format!("links.{}.queue_packets.mean", link.name), area / (seconds * 1e9));
        }
    }

    fn classes(&mut self, last: &Snapshot, this: &Snapshot, names: &Names, seconds: f64) {
        for (i, name) in names.classes.iter().enumerate() {
            let path = format!("classes.{name}");
            let traffic = this.classes[i].0.since(&last.classes[i].0);
            let received = this.classes[i].1.since(&last.classes[i].1);
            self.traffic(&path, &traffic, seconds);
            self.drops(&path, &this.classes[i].0, &traffic);
            self.set(format!("{path}.goodput_bps"), received.bytes as f64 * 8.0 / seconds);
            self.set(format!("{path}.latency_ms.mean"), mean_ms(received.latency_ns, received.packets));
            let flows = names.flows_of_class(i) as f64;
            self.set(format!("{path}.loss_rate_pps"), traffic.drops() as f64 / seconds / flows);
        }
    }

    fn traffic(&mut self, path: &str, t: &Traffic, seconds: f64) {
        self.set(format!("{path}.throughput_bps"), t.sent_bytes as f64 * 8.0 / seconds);
        self.set(format!("{path}.offered_bps"), t.offered_bytes as f64 * 8.0 / seconds);
        // What is dropped or marked while nothing arrives is a share of nothing.
        let share = |part: u64| if t.offered_packets == 0 { f64::NAN } else { part as f64 / t.offered_packets as f64 };
        self.set(format!("{path}.drop_rate"), share(t.drops()));
        self.set(format!("{path}.mark_rate"), share(t.marked));
        self.set(format!("{path}.queue_delay_ms.mean"), mean_ms(t.waited_ns, t.sent_packets));
    }

    /// Drops by each reason that there has been so far.
    fn drops(&mut self, path: &str, total: &Traffic, t: &Traffic) {
        for why in Why::ALL.iter().filter(|why| total.dropped[**why as usize] > 0) {
            self.set(format!("{path}.drops.{}", why.name()), t.dropped[*why as usize] as f64);
        }
    }

    fn groups(&mut self, last: &Snapshot, this: &Snapshot, names: &Names, seconds: f64) {
        for (i, group) in names.groups.iter().enumerate() {
            let path = format!("apps.{}", group.name);
            if !group.exchange_kinds.is_empty() {
                let completed = this.completed[i] - last.completed[i];
                self.set(format!("{path}.completed"), completed as f64);
            }
            let rates: Vec<f64> = this.counters[i]
                .iter()
                .zip(&last.counters[i])
                .map(|(a, b)| (a - b) / seconds / group.apps.len() as f64)
                .collect();
            let (actual, playable) = frames(group, &rates);
            for (name, value) in [("frame_rate", actual), ("playable_frame_rate", playable)] {
                if let Some(value) = value {
                    self.set(format!("{path}.{name}"), value);
                }
            }
        }
    }

    pub(crate) fn finish(&mut self) -> Series {
        let rows = self.rows;
        let mut columns = std::mem::take(&mut self.columns);
        columns.values_mut().for_each(|c| c.resize(rows, f64::NAN));
        Series { interval_s: self.interval.as_secs_f64(), columns }
    }
}

/// The mean of `count` times that sum to `ns`, in milliseconds; NaN for none.
fn mean_ms(ns: u64, count: u64) -> f64 {
    ns as f64 / count as f64 / 1e6
}
