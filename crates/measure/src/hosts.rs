//! Measurements at hosts: deliveries, counters of applications, exchanges.

use aqmkit_base::{Duration, Instant};

use crate::arithmetic::{bits_per_s, mean_ms};
use crate::counters::{Received, Sent};
use crate::limits::{Sampled, SenderSample};
use crate::metric::METRICS;
use crate::metric::value::of_traffic;
use crate::output::{ExchangeRecord, Grid};
use crate::plan::{GroupInfo, Plan};
use crate::series::Columns;
use crate::times::Times;

/// Measures applications. The simulator or the live hosts report each event here, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct HostRecorder {
    origin: Instant,
    classes: Vec<Received>,
    apps: Vec<Sent>,
    /// Finished exchanges, by group and kind.
    completed: Vec<Vec<u64>>,
    /// Samples of senders, by group.
    sampled: Vec<Sampled>,
    windows: Vec<WindowMeter>,
    /// Windows that have started but not ended.
    open: Vec<usize>,
    interval: Option<Snapshot>,
    series: Columns,
    exchanges: Vec<ExchangeRecord>,
    exchanges_dropped: u64,
    max_exchanges: usize,
}

/// The values of all counters at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) when: Instant,
    pub(crate) classes: Vec<Received>,
    /// By group, summed over its applications.
    pub(crate) groups: Vec<Sent>,
    /// By group and kind of exchange.
    pub(crate) completed: Vec<Vec<u64>>,
    /// The models' own counters, by group, summed over its applications.
    pub(crate) counters: Vec<Vec<f64>>,
    pub(crate) sampled: Vec<Sampled>,
}

/// A window with its measurements so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowMeter {
    pub(crate) opened: Snapshot,
    pub(crate) closed: Snapshot,
    /// Counters of applications at its start; after its end, the increase.
    pub(crate) apps: Vec<Sent>,
    /// By group: applications that had opened no connection when it started and have one when it ends.
    pub(crate) late: Vec<u64>,
    /// By group: connections in their first slow start when it started.
    pub(crate) slow_start: Vec<u64>,
    /// Latencies, indexed by class.
    pub(crate) latencies: Vec<Times>,
    /// By group and kind of exchange.
    pub(crate) exchanges: Vec<Vec<(Times, Grid)>>,
}

/// An exchange (request and response, page) that has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedExchange {
    /// The group of its application.
    pub group: usize,
    /// Kind of exchange, as an index into [`GroupInfo::exchange_kinds`].
    pub kind: usize,
    /// The time of the request.
    pub started: Instant,
    /// The number of bytes received.
    pub bytes: u64,
}

impl HostRecorder {
    /// Creates a recorder for the applications of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let kinds = |g: &GroupInfo| vec![(Times::new(), Grid::default()); g.exchange_kinds.len()];
        let window = WindowMeter {
            latencies: vec![Times::new(); plan.classes.len()],
            exchanges: plan.groups.iter().map(kinds).collect(),
            ..WindowMeter::default()
        };
        HostRecorder {
            origin: plan.origin,
            classes: vec![Received::default(); plan.classes.len()],
            apps: vec![Sent::default(); plan.groups.iter().map(|g| g.apps.len()).sum()],
            completed: plan.groups.iter().map(|g| vec![0; g.exchange_kinds.len()]).collect(),
            sampled: vec![Sampled::default(); plan.groups.len()],
            windows: vec![window; plan.windows.len()],
            max_exchanges: plan.max_exchanges,
            ..HostRecorder::default()
        }
    }

    /// Adds an application, with counters of zero.
    pub(crate) fn join(&mut self) -> usize {
        self.apps.push(Sent::default());
        self.apps.len() - 1
    }

    /// Whether a window has started.
    pub(crate) fn has_begun(&self, window: usize) -> bool {
        !self.windows[window].opened.groups.is_empty()
    }

    /// The windows that have started but not ended.
    pub(crate) fn open_windows(&self) -> &[usize] {
        &self.open
    }

    /// Records that a packet with data reached its receiver after `latency`.
    #[inline]
    pub fn arrived(&mut self, class: usize, latency: Duration) {
        self.classes[class].packets += 1;
        self.classes[class].latency_ns += latency.as_nanos();
        for &window in &self.open {
            self.windows[window].latencies[class].record(latency);
        }
    }

    /// Records the delivery of `bytes` of new application data.
    #[inline]
    pub fn delivered(&mut self, app: u32, class: usize, bytes: u64) {
        self.classes[class].bytes += bytes;
        self.apps[app as usize].delivered += bytes;
    }

    /// Counters of application `app`.
    #[inline]
    #[must_use]
    pub fn app(&self, app: u32) -> &Sent {
        &self.apps[app as usize]
    }

    /// Mutable counters of an application.
    #[inline]
    pub fn sent(&mut self, app: u32) -> &mut Sent {
        &mut self.apps[app as usize]
    }

    /// Records a finished exchange.
    pub fn exchange(&mut self, plan: &Plan, ended: FinishedExchange, now: Instant) {
        if now < self.origin {
            return;
        }
        if let Some(count) = self.completed[ended.group].get_mut(ended.kind) {
            *count += 1;
        }
        let took = now.since(ended.started);
        for &window in &self.open {
            if let Some((times, grid)) = self.windows[window].exchanges[ended.group].get_mut(ended.kind) {
                times.record(took);
                grid.record(took.as_millis_f64(), ended.bytes);
            }
        }
        if self.exchanges_dropped > 0 || self.exchanges.len() >= self.max_exchanges {
            // A truncated list could be mistaken for a complete one.
            self.exchanges_dropped += 1 + std::mem::take(&mut self.exchanges).len() as u64;
            return;
        }
        let info = &plan.groups[ended.group];
        self.exchanges.push(ExchangeRecord {
            traffic: info.name.clone(),
            kind: info.exchange_kinds.get(ended.kind).map_or_else(String::new, |k| (*k).to_owned()),
            started_s: ended.started.as_secs_f64() - self.origin.as_secs_f64(),
            duration_ms: took.as_millis_f64(),
            bytes: ended.bytes,
        });
    }

    /// All counters at this moment; `counters` has the traffic models' own, by group.
    fn snapshot(&self, now: Instant, plan: &Plan, counters: Vec<Vec<f64>>) -> Snapshot {
        let groups = plan.groups.iter().map(|g| {
            let mut sum = Sent::default();
            g.members().for_each(|app| sum.add(&self.apps[app]));
            sum
        });
        Snapshot {
            when: now,
            groups: groups.collect(),
            classes: self.classes.clone(),
            completed: self.completed.clone(),
            counters,
            sampled: self.sampled.clone(),
        }
    }

    /// Opens a window; `counters` has the traffic models' own counters, by group.
    pub fn open(&mut self, window: usize, now: Instant, plan: &Plan, counters: Vec<Vec<f64>>) {
        self.windows[window].opened = self.snapshot(now, plan, counters);
        self.windows[window].apps.clone_from(&self.apps);
        self.open.push(window);
    }

    /// Records the number of connections in their first slow start, by group, at the start of a window.
    pub fn slow_start(&mut self, window: usize, connections: Vec<u64>) {
        self.windows[window].slow_start = connections;
    }

    /// Records a sample of the sender of a connection in a group.
    pub fn sampled(&mut self, group: usize, sample: &SenderSample) {
        self.sampled[group].add(sample, 1);
    }

    /// Records for how long the sender of a connection in a group had a limit, to the microsecond. A run has either these
    /// times or [samples](Self::sampled).
    pub fn limited(&mut self, group: usize, sample: &SenderSample, time: Duration) {
        self.sampled[group].add(sample, time.as_nanos() / 1000);
    }

    /// Closes a window; `counters` has the traffic models' own counters, by group.
    pub fn close(&mut self, window: usize, now: Instant, plan: &Plan, counters: Vec<Vec<f64>>) {
        self.windows[window].closed = self.snapshot(now, plan, counters);
        let before = &self.windows[window].apps;
        let is_late = |app: usize| self.apps[app].connections > 0 && before.get(app).is_none_or(|a| a.connections == 0);
        let late = |group: &GroupInfo| group.members().filter(|&app| is_late(app)).count() as u64;
        self.windows[window].late = plan.groups.iter().map(late).collect();
        // Applications that joined later had counters of zero at its start.
        self.windows[window].apps.resize(self.apps.len(), Sent::default());
        for (since, total) in self.windows[window].apps.iter_mut().zip(&self.apps) {
            *since = total.since(since);
        }
        self.open.retain(|&w| w != window);
    }

    /// Ends an interval of the series (the first call starts it); `counters` has the traffic models' own counters, by
    /// group.
    pub fn interval(&mut self, now: Instant, plan: &Plan, counters: Vec<Vec<f64>>) {
        let this = self.snapshot(now, plan, counters);
        if let Some(last) = self.interval.take() {
            let seconds = this.when.since(last.when).as_secs_f64();
            self.class_columns(plan, &last, &this, seconds);
            self.group_columns(plan, &last, &this, seconds);
            self.series.end_row();
        }
        self.interval = Some(this);
    }

    fn class_columns(&mut self, plan: &Plan, last: &Snapshot, this: &Snapshot, seconds: f64) {
        for (i, name) in plan.classes.iter().enumerate() {
            let received = this.classes[i].since(&last.classes[i]);
            self.series.set(format!("classes.{name}.goodput_bps"), bits_per_s(received.bytes as f64, seconds));
            let latency = mean_ms(received.latency_ns, received.packets);
            self.series.set(format!("classes.{name}.latency_ms.mean"), latency);
        }
    }

    fn group_columns(&mut self, plan: &Plan, last: &Snapshot, this: &Snapshot, seconds: f64) {
        for (i, group) in plan.groups.iter().enumerate() {
            let path = format!("apps.{}", group.name);
            for (k, kind) in group.exchange_kinds.iter().enumerate() {
                let completed = this.completed[i][k] - last.completed[i][k];
                self.series.set(format!("{path}.completed.{kind}"), completed as f64);
            }
            let rates: Vec<f64> = this.counters[i]
                .iter()
                .zip(&last.counters[i])
                .map(|(a, b)| (a - b) / seconds / group.population() as f64)
                .collect();
            for (name, value) in ["frame_rate", "playable_frame_rate"].iter().zip(group.frames(&rates)) {
                if let Some(value) = value {
                    self.series.set(format!("{path}.{name}"), value);
                }
            }
            for (name, value) in of_traffic(METRICS, group.counters, &rates) {
                self.series.set(format!("{path}.{name}"), value);
            }
        }
    }

    pub(crate) fn windows(&self) -> &[WindowMeter] {
        &self.windows
    }

    /// The applications, in the order of the plan's groups.
    pub(crate) fn apps(&self) -> &[Sent] {
        &self.apps
    }

    /// The columns of the series.
    pub(crate) fn take_series(&mut self) -> Columns {
        std::mem::take(&mut self.series)
    }

    /// Removes and returns the list of exchanges, with the number of those that did not fit.
    pub(crate) fn take_exchanges(&mut self) -> (Vec<ExchangeRecord>, u64) {
        (std::mem::take(&mut self.exchanges), self.exchanges_dropped)
    }
}
