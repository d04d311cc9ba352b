//! Measurement: counters, windows and intervals.
//!
//! The world reports each packet event here. Counters are monotonic; the difference of [`Snapshot`]s at the
//! edges of a window or an interval gives its values. Distributions are recorded only while a window is
//! open.

mod counters;
mod histogram;
mod queue;
mod report;
mod series;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};

pub(crate) use counters::Sent;
use counters::{Received, Traffic};
use histogram::Times;
use queue::{QueueMark, QueueTime};
pub(crate) use report::{GroupInfo, Names};
use series::SeriesBuilder;

use crate::fetch::fetch_line;
use crate::output::{ExchangeRecord, Series};
use crate::packet::Flight;
use crate::responses::Grid;
use crate::scenario::{Scenario, WindowSpec};

/// One link's counters.
#[derive(Clone, Debug, Default)]
struct LinkMeter {
    report: bool,
    traffic: Traffic,
    queue: QueueTime,
}

/// The counters of everything at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    when: Instant,
    links: Vec<(Traffic, u128)>,
    classes: Vec<(Traffic, Received)>,
    groups: Vec<Sent>,
    completed: Vec<u64>,
    /// The models' own counters, by group, summed over its applications.
    counters: Vec<Vec<f64>>,
}

/// The distributions of one window.
#[derive(Clone, Debug)]
struct Distributions {
    links: Vec<Times>,
    waits: Vec<Times>,
    latencies: Vec<Times>,
    /// By group and kind of exchange.
    exchanges: Vec<Vec<(Times, Grid)>>,
}

/// A window with what has been measured in it so far.
#[derive(Clone, Debug)]
struct WindowMeter {
    spec: WindowSpec,
    opened: Snapshot,
    closed: Snapshot,
    queues: Vec<QueueMark>,
    lengths: Vec<crate::output::Length>,
    /// Counters of applications when it opened; after it closed, the difference.
    apps: Vec<Sent>,
    times: Distributions,
}

/// Everything that is measured.
pub(crate) struct Meter {
    measured: usize,
    origin: Instant,
    links: Vec<LinkMeter>,
    classes: Vec<(Traffic, Received)>,
    apps: Vec<Sent>,
    completed: Vec<u64>,
    windows: Vec<WindowMeter>,
    open: Vec<usize>,
    series: SeriesBuilder,
    exchanges: Vec<ExchangeRecord>,
    exchanges_dropped: u64,
    max_exchanges: usize,
}

impl Meter {
    pub(crate) fn new(scenario: &Scenario, names: &Names) -> Self {
        let kinds: Vec<usize> = names.groups.iter().map(|g| g.exchange_kinds.len()).collect();
        let empty = |n: usize| vec![Times::new(); n];
        let times = || Distributions {
            links: empty(scenario.links.len()),
            waits: empty(scenario.classes.len()),
            latencies: empty(scenario.classes.len()),
            exchanges: kinds.iter().map(|&n| empty(n).into_iter().map(|t| (t, Grid::default())).collect()).collect(),
        };
        let window = |spec: &WindowSpec| WindowMeter {
            spec: spec.clone(),
            opened: Snapshot::default(),
            closed: Snapshot::default(),
            queues: Vec::new(),
            lengths: Vec::new(),
            apps: Vec::new(),
            times: times(),
        };
        Meter {
            measured: scenario.measured,
            origin: scenario.origin,
            links: scenario.links.iter().map(|l| LinkMeter { report: l.report, ..LinkMeter::default() }).collect(),
            classes: vec![Default::default(); scenario.classes.len()],
            apps: vec![Sent::default(); scenario.groups.iter().map(|g| g.apps.len()).sum()],
            completed: vec![0; scenario.groups.len()],
            windows: scenario.windows.iter().map(window).collect(),
            open: Vec::new(),
            series: SeriesBuilder::new(scenario.interval),
            exchanges: Vec::new(),
            exchanges_dropped: 0,
            max_exchanges: scenario.max_exchanges,
        }
    }

    /// A packet has arrived at a link.
    pub(crate) fn offered(&mut self, link: usize, flight: &Flight) {
        if !self.links[link].report {
            return;
        }
        let count = |t: &mut Traffic| {
            t.offered_packets += 1;
            t.offered_bytes += u64::from(flight.len);
            t.offered_payload += u64::from(flight.payload());
        };
        count(&mut self.links[link].traffic);
        if link == self.measured {
            count(&mut self.classes[flight.class.index()].0);
        }
    }

    /// A packet has left a link's queue and is being sent.
    pub(crate) fn departed(&mut self, link: usize, flight: &Flight, now: Instant) {
        if !self.links[link].report {
            return;
        }
        let waited = now.since(flight.queued);
        let count = |t: &mut Traffic| {
            t.sent_packets += 1;
            t.sent_bytes += u64::from(flight.len);
            t.waited_ns += waited.as_nanos();
        };
        count(&mut self.links[link].traffic);
        if link == self.measured {
            count(&mut self.classes[flight.class.index()].0);
        }
        for &window in &self.open {
            let times = &mut self.windows[window].times;
            times.links[link].record(waited);
            if link == self.measured {
                times.waits[flight.class.index()].record(waited);
            }
        }
    }

    /// A packet has been dropped by a link's queue.
    pub(crate) fn dropped(&mut self, link: usize, flight: &Flight, why: Why) {
        self.apps[flight.app as usize].drops += 1;
        if !self.links[link].report {
            return;
        }
        self.links[link].traffic.dropped[why as usize] += 1;
        if link == self.measured {
            self.classes[flight.class.index()].0.dropped[why as usize] += 1;
        }
    }

    /// A packet has been lost on the wire.
    pub(crate) fn lost(&mut self, flight: &Flight) {
        self.apps[flight.app as usize].drops += 1;
    }

    /// A packet has been marked by a link's queue.
    pub(crate) fn marked(&mut self, link: usize, flight: &Flight) {
        if !self.links[link].report {
            return;
        }
        self.links[link].traffic.marked += 1;
        if link == self.measured {
            self.classes[flight.class.index()].0.marked += 1;
        }
    }

    /// Sets the current length of a link's queue.
    pub(crate) fn queue(&mut self, link: usize, waiting: u64, now: Instant) {
        if self.links[link].report {
            self.links[link].queue.set(waiting, now);
        }
    }

    /// A packet with data has reached the receiver of its flow's data.
    pub(crate) fn arrived(&mut self, flight: &Flight, now: Instant) {
        let latency = now.since(flight.sent);
        let class = flight.class.index();
        self.classes[class].1.packets += 1;
        self.classes[class].1.latency_ns += latency.as_nanos();
        for &window in &self.open {
            self.windows[window].times.latencies[class].record(latency);
        }
    }

    /// `bytes` of new application data have arrived.
    pub(crate) fn delivered(&mut self, app: u32, class: usize, bytes: u64) {
        self.classes[class].1.bytes += bytes;
        self.apps[app as usize].delivered += bytes;
    }

    /// An application's counters, to add to.
    pub(crate) fn sent(&mut self, app: u32) -> &mut Sent {
        &mut self.apps[app as usize]
    }

    /// Fetches an application's counters.
    #[inline(always)]
    pub(crate) fn fetch(&self, app: u32) {
        fetch_line(&self.apps[app as usize]);
    }

    /// An exchange has ended.
    pub(crate) fn exchange(
        &mut self,
        group: usize,
        kind: usize,
        names: &Names,
        started: Instant,
        bytes: u64,
        now: Instant,
    ) {
        if now < self.origin {
            return;
        }
        self.completed[group] += 1;
        let took = now.since(started);
        for &window in &self.open {
            if let Some((times, grid)) = self.windows[window].times.exchanges[group].get_mut(kind) {
                times.record(took);
                grid.record(took.as_millis_f64(), bytes);
            }
        }
        if self.exchanges_dropped > 0 || self.exchanges.len() >= self.max_exchanges {
            // A truncated list could be mistaken for a complete one.
            self.exchanges_dropped += 1 + std::mem::take(&mut self.exchanges).len() as u64;
            return;
        }
        let info = &names.groups[group];
        self.exchanges.push(ExchangeRecord {
            traffic: info.name.clone(),
            kind: info.exchange_kinds.get(kind).map_or_else(String::new, |k| (*k).to_owned()),
            started_s: started.as_secs_f64() - self.origin.as_secs_f64(),
            duration_ms: took.as_millis_f64(),
            bytes,
        });
    }

    /// The counters now. `counters` are the models' own, by group.
    fn snapshot(&mut self, now: Instant, names: &Names, counters: Vec<Vec<f64>>) -> Snapshot {
        let groups = names.groups.iter().map(|g| {
            let mut sum = Sent::default();
            self.apps[g.apps.clone()].iter().for_each(|a| sum.add(a));
            sum
        });
        Snapshot {
            when: now,
            groups: groups.collect(),
            links: self.links.iter_mut().map(|l| (l.traffic, l.queue.area(now))).collect(),
            classes: self.classes.clone(),
            completed: self.completed.clone(),
            counters,
        }
    }

    /// A window begins.
    pub(crate) fn open(&mut self, window: usize, now: Instant, names: &Names, counters: Vec<Vec<f64>>) {
        let opened = self.snapshot(now, names, counters);
        let queues = self.links.iter_mut().map(|l| l.queue.mark(now)).collect();
        let meter = &mut self.windows[window];
        meter.opened = opened;
        meter.queues = queues;
        meter.apps.clone_from(&self.apps);
        self.open.push(window);
    }

    /// A window ends.
    pub(crate) fn close(&mut self, window: usize, now: Instant, names: &Names, counters: Vec<Vec<f64>>) {
        let closed = self.snapshot(now, names, counters);
        let meter = &mut self.windows[window];
        meter.closed = closed;
        meter.lengths = self.links.iter_mut().zip(&meter.queues).map(|(l, mark)| l.queue.since(mark, now)).collect();
        for (since, total) in meter.apps.iter_mut().zip(&self.apps) {
            *since = total.since(since);
        }
        self.open.retain(|&w| w != window);
    }

    /// An interval of the series ends; the first call marks where they begin.
    pub(crate) fn interval(&mut self, now: Instant, names: &Names, counters: Vec<Vec<f64>>, gauges: &[(String, f64)]) {
        let snapshot = self.snapshot(now, names, counters);
        self.series.add(snapshot, names, gauges);
    }

    /// How long an interval is.
    pub(crate) fn interval_length(&self) -> Duration {
        self.series.interval()
    }

    pub(crate) fn take_series(&mut self) -> Series {
        self.series.finish()
    }
}
