//! What the hosts of a live run measure: goodput, flows, exchanges, the models' own counters.

use aqmkit_base::{Duration, Instant};
use aqmkit_flows::traffic::Exchange;
use aqmkit_live::tcp_info::TcpInfo;
use aqmkit_packets::meter::Times;
use aqmkit_sim::Scenario;
use aqmkit_sim::output::{
    AppStats, ClassStats, Distribution, ExchangeRecord, FlowRecord, FlowStats, Grid, Range, Responses, Window,
};

use crate::live::stats::{distribution, share, summary};

/// What one application has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) delivered: u64,
    pub(super) connections: u64,
    /// Datagrams, and segments with data.
    pub(super) packets: u64,
    /// Segments sent again.
    pub(super) retransmissions: u64,
    /// Retransmission timeouts.
    pub(super) timeouts: u64,
}

/// A window and what was measured in it.
#[derive(Clone, Debug)]
struct Open {
    from: Instant,
    to: Instant,
    before: Vec<Sent>,
    after: Vec<Sent>,
    /// The models' counters by group, at its start and at its end.
    counters: [Vec<Vec<f64>>; 2],
    latencies: Vec<Times>,
    /// By group and kind.
    exchanges: Vec<Vec<(Times, Grid)>>,
    completed: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Group {
    name: String,
    class: usize,
    apps: std::ops::Range<usize>,
    kinds: &'static [&'static str],
    counters: &'static [&'static str],
}

/// What the hosts measured.
#[derive(Clone, Debug)]
pub struct Record {
    origin: Instant,
    groups: Vec<Group>,
    classes: Vec<String>,
    apps: Vec<Sent>,
    /// Of the windows.
    names: Vec<String>,
    windows: Vec<Open>,
    exchanges: Vec<ExchangeRecord>,
    max_exchanges: usize,
    missed: u64,
}

impl Record {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut first = 0;
        let groups = scenario.groups.iter().map(|g| {
            let apps = first..first + g.apps.len();
            first = apps.end;
            let model = g.apps.first();
            Group {
                name: g.name.clone(),
                class: g.class.index(),
                apps,
                kinds: model.map_or(&[], |a| a.exchange_kinds()),
                counters: model.map_or(&[], |a| a.counters()),
            }
        });
        let groups: Vec<Group> = groups.collect();
        let window = |w: &aqmkit_sim::scenario::WindowSpec| Open {
            from: w.from,
            to: w.to,
            before: Vec::new(),
            after: Vec::new(),
            counters: Default::default(),
            latencies: vec![Times::default(); scenario.classes.len()],
            exchanges: groups.iter().map(|g| vec![Default::default(); g.kinds.len()]).collect(),
            completed: vec![0; groups.len()],
        };
        Record {
            origin: scenario.origin,
            names: scenario.windows.iter().map(|w| w.name.clone()).collect(),
            windows: scenario.windows.iter().map(window).collect(),
            classes: scenario.classes.clone(),
            apps: vec![Sent::default(); first],
            exchanges: Vec::new(),
            max_exchanges: scenario.max_exchanges,
            missed: 0,
            groups,
        }
    }

    pub(super) fn class_of(&self, app: usize) -> usize {
        self.groups.iter().find(|g| g.apps.contains(&app)).map_or(0, |g| g.class)
    }

    pub(super) fn sent(&mut self, app: usize) -> &mut Sent {
        &mut self.apps[app]
    }

    /// An application's connection has sent more.
    pub(super) fn segments(&mut self, app: usize, more: TcpInfo) {
        let sent = &mut self.apps[app];
        sent.packets += u64::from(more.data_segments);
        sent.retransmissions += u64::from(more.retransmissions);
        sent.timeouts += u64::from(more.timeouts);
    }

    pub(super) fn delivered(&mut self, app: usize, _class: usize, bytes: u64) {
        self.apps[app].delivered += bytes;
    }

    /// The windows that are open: begun, and not ended.
    fn open(&mut self) -> impl Iterator<Item = &mut Open> {
        self.windows.iter_mut().filter(|w| !w.before.is_empty() && w.after.is_empty())
    }

    pub(super) fn arrived(&mut self, class: usize, latency: Duration) {
        self.open().for_each(|w| w.latencies[class].record(latency));
    }

    pub(super) fn exchange(&mut self, group: usize, exchange: Exchange, now: Instant) {
        if now < self.origin {
            return;
        }
        let took = now.since(exchange.started);
        for window in self.open() {
            window.completed[group] += 1;
            if let Some((times, grid)) = window.exchanges[group].get_mut(usize::from(exchange.kind)) {
                times.record(took);
                grid.record(took.as_millis_f64(), exchange.bytes);
            }
        }
        if self.exchanges.len() >= self.max_exchanges {
            self.missed += 1;
            return;
        }
        let info = &self.groups[group];
        self.exchanges.push(ExchangeRecord {
            traffic: info.name.clone(),
            kind: info.kinds.get(usize::from(exchange.kind)).map_or_else(String::new, |k| (*k).to_owned()),
            started_s: exchange.started.as_secs_f64() - self.origin.as_secs_f64(),
            duration_ms: took.as_millis_f64(),
            bytes: exchange.bytes,
        });
    }

    /// Windows that begin or end at `at` do so. `counters` are the models' own, by group.
    pub(super) fn turn(&mut self, at: Instant, counters: &[Vec<f64>]) {
        for window in &mut self.windows {
            if window.from <= at && window.before.is_empty() {
                window.before.clone_from(&self.apps);
                window.counters[0] = counters.to_vec();
            }
            if window.to <= at && window.after.is_empty() {
                window.after.clone_from(&self.apps);
                window.counters[1] = counters.to_vec();
            }
        }
    }

    /// Adds what the hosts know to the windows of the link's side.
    pub fn complete(&self, windows: &mut [Window]) {
        for (open, window) in self.windows.iter().zip(windows) {
            let seconds = open.to.since(open.from).as_secs_f64();
            window.flows = self.flows(open, seconds);
            for (i, name) in self.classes.iter().enumerate() {
                let class = window.classes.entry(name.clone()).or_default();
                self.class(open, i, seconds, class);
            }
            let apps = self.groups.iter().enumerate().map(|(i, g)| (g.name.clone(), app(open, i, g, seconds)));
            window.apps = apps.collect();
        }
    }

    fn class(&self, open: &Open, class: usize, seconds: f64, stats: &mut ClassStats) {
        let of_class = || self.groups.iter().filter(|g| g.class == class);
        let bytes: u64 = of_class().flat_map(|g| g.apps.clone()).map(|a| delivered(open, a)).sum();
        let flows: usize = of_class().map(|g| g.apps.len()).sum();
        stats.goodput_bps = bytes as f64 * 8.0 / seconds;
        stats.latency_ms = summary(&open.latencies[class]);
        let lost = stats.drop_rate * stats.offered_bps / 8.0 / stats.packet_bytes.max(1.0);
        stats.loss_rate_pps = if flows == 0 { 0.0 } else { lost / flows as f64 };
        // Without the headers of full segments: 1448 bytes of data in 1500.
        let data = stats.offered_bps * (1448.0 / 1500.0);
        stats.efficiency = if data > 0.0 { (stats.goodput_bps / data).min(1.0) } else { 0.0 };
    }

    fn flows(&self, open: &Open, seconds: f64) -> FlowStats {
        let active = (0..self.apps.len()).filter(|a| {
            let packets = |list: &[Sent]| list.get(*a).map_or(0, |s| s.packets);
            packets(&open.after) > packets(&open.before)
        });
        let rates: Vec<f64> = active.map(|a| delivered(open, a) as f64 * 8.0 / seconds).collect();
        let n = rates.len() as f64;
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
        if rates.is_empty() {
            return FlowStats::default();
        }
        FlowStats {
            count: rates.len() as u64,
            jain: if squares > 0.0 { sum * sum / (n * squares) } else { 1.0 },
            throughput_bps: Range {
                min: rates.iter().copied().fold(f64::INFINITY, f64::min),
                mean: sum / n,
                max: rates.iter().copied().fold(0.0, f64::max),
            },
        }
    }

    /// A row for each application.
    #[must_use]
    pub fn flow_records(&self) -> Vec<FlowRecord> {
        let row = |g: &Group, app: usize| FlowRecord {
            traffic: g.name.clone(),
            index: (app - g.apps.start) as u64,
            class: self.classes[g.class].clone(),
            delivered_bytes: self.windows.iter().map(|w| delivered(w, app)).collect(),
            connections: self.apps[app].connections,
            packets: self.apps[app].packets,
            retransmissions: self.apps[app].retransmissions,
            timeouts: self.apps[app].timeouts,
            // The link counts drops by class: which application a packet was of, it does not know.
            drops: 0,
        };
        self.groups.iter().flat_map(|g| g.apps.clone().map(move |app| row(g, app))).collect()
    }

    /// The exchanges of every window by size and duration.
    #[must_use]
    pub fn responses(&self) -> Vec<Responses> {
        let mut found = Vec::new();
        for (spec, open) in self.names.iter().zip(&self.windows) {
            for (kind, group, (_, grid)) in self.kinds(open) {
                found.push(grid.responses(spec, &group.name, kind));
            }
        }
        found.retain(|r| !r.counts.is_empty());
        found
    }

    /// The distributions of every window that the hosts know.
    #[must_use]
    pub fn distributions(&self) -> Vec<Distribution> {
        let mut found = Vec::new();
        for (window, open) in self.names.iter().zip(&self.windows) {
            for (class, times) in self.classes.iter().zip(&open.latencies) {
                found.extend(distribution(window, format!("classes.{class}.latency_ms"), times, 100));
            }
            for (kind, group, (times, _)) in self.kinds(open) {
                // Shares of responses are read from these points, to a tenth of a percent.
                let quantity = format!("apps.{}.response_time_ms.{kind}", group.name);
                found.extend(distribution(window, quantity, times, 1000));
            }
        }
        found
    }

    /// Every kind of exchange with what was measured of it.
    fn kinds<'a>(&'a self, open: &'a Open) -> impl Iterator<Item = (&'static str, &'a Group, &'a (Times, Grid))> {
        let groups = self.groups.iter().zip(&open.exchanges);
        groups.flat_map(|(g, found)| g.kinds.iter().zip(found).map(move |(kind, f)| (*kind, g, f)))
    }

    /// The exchanges, and how many more there were.
    #[must_use]
    pub fn exchanges(self) -> (Vec<ExchangeRecord>, u64) {
        (self.exchanges, self.missed)
    }
}

/// Bytes delivered to an application in a window.
fn delivered(open: &Open, app: usize) -> u64 {
    let bytes = |list: &[Sent]| list.get(app).map_or(0, |s| s.delivered);
    bytes(&open.after).saturating_sub(bytes(&open.before))
}

fn app(open: &Open, index: usize, group: &Group, seconds: f64) -> AppStats {
    let per_flow = 1.0 / seconds / group.apps.len().max(1) as f64;
    let [before, after] = &open.counters;
    let rate = |i: usize| {
        let at = |list: &[Vec<f64>]| list.get(index).and_then(|c| c.get(i)).copied().unwrap_or(0.0);
        (at(after) - at(before)) * per_flow
    };
    let rates: Vec<f64> = (0..group.counters.len()).map(rate).collect();
    let counters = AppStats::name_counters(group.counters, &rates);
    let sent = |list: &[Sent]| {
        let of_group = list.get(group.apps.clone()).into_iter().flatten();
        of_group.fold(Sent::default(), |sum, s| Sent {
            delivered: sum.delivered + s.delivered,
            connections: sum.connections + s.connections,
            packets: sum.packets + s.packets,
            retransmissions: sum.retransmissions + s.retransmissions,
            timeouts: sum.timeouts + s.timeouts,
        })
    };
    let (first, last) = (sent(&open.before), sent(&open.after));
    let more = |of: fn(&Sent) -> u64| of(&last).saturating_sub(of(&first));
    let times = group.kinds.iter().zip(&open.exchanges[index]);
    AppStats {
        population: group.apps.len() as u64,
        completed: open.completed[index],
        response_time_ms: times.filter_map(|(kind, (t, _))| Some(((*kind).to_owned(), summary(t)?))).collect(),
        frame_rate: counters.get("frames_received").copied(),
        playable_frame_rate: counters.get("frames_playable").copied(),
        counters,
        connections: more(|s| s.connections),
        retransmission_rate: share(more(|s| s.retransmissions), more(|s| s.packets)),
        timeouts_per_s: more(|s| s.timeouts) as f64 / seconds,
    }
}
