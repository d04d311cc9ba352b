//! From counters to the numbers of a window.

use std::collections::BTreeMap;
use std::ops::Range as Indices;
use std::sync::Arc;

use aqmkit_aqm::Why;
use aqmkit_base::{BitRate, Instant};

use super::counters::{Received, Traffic};
use super::{Meter, WindowMeter};
use crate::output::{
    AppStats, ClassStats, Distribution, ExchangeRecord, FlowRecord, FlowStats, LinkStats, Range, Responses, Summary,
    Window,
};
use crate::scenario::Scenario;
use aqmkit_base::trace::Trace;

/// A link as results name it.
#[derive(Clone, Debug)]
pub(crate) struct LinkInfo {
    pub(crate) name: String,
    pub(crate) report: bool,
    rate: BitRate,
    trace: Option<Arc<Trace>>,
}

impl LinkInfo {
    /// What the link could have sent between two moments, in bits per second.
    fn rate_bps(&self, from: Instant, to: Instant) -> f64 {
        match &self.trace {
            None => self.rate.as_bps() as f64,
            Some(trace) => bits_per_s(trace.delivered_by(to) - trace.delivered_by(from), to.since(from).as_secs_f64()),
        }
    }
}

/// A group of applications as results name it.
#[derive(Clone, Debug)]
pub(crate) struct GroupInfo {
    pub(crate) name: String,
    pub(crate) class: usize,
    /// Its applications, in the numbering of all.
    pub(crate) apps: Indices<usize>,
    pub(crate) exchange_kinds: &'static [&'static str],
    pub(crate) counters: &'static [&'static str],
}

/// Names for everything that is counted by index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) links: Vec<LinkInfo>,
    pub(crate) classes: Vec<String>,
    pub(crate) groups: Vec<GroupInfo>,
}

impl Names {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let links = scenario.links.iter().map(|l| LinkInfo {
            name: l.name.clone(),
            report: l.report,
            rate: l.rate,
            trace: l.trace.clone(),
        });
        let mut first = 0;
        let groups = scenario.groups.iter().map(|g| {
            let apps = first..first + g.apps.len();
            first = apps.end;
            let model = g.apps.first();
            GroupInfo {
                name: g.name.clone(),
                class: g.class.index(),
                apps,
                exchange_kinds: model.map_or(&[], |a| a.exchange_kinds()),
                counters: model.map_or(&[], |a| a.counters()),
            }
        });
        Names { links: links.collect(), groups: groups.collect(), classes: scenario.classes.clone() }
    }

    /// How many flows a class has.
    pub(crate) fn flows_of_class(&self, class: usize) -> usize {
        self.groups.iter().filter(|g| g.class == class).map(|g| g.apps.len()).sum()
    }
}

/// Actual and playable frame rates among a group's counters.
pub(crate) fn frames(group: &GroupInfo, rates: &[f64]) -> (Option<f64>, Option<f64>) {
    let find = |name| group.counters.iter().position(|c| *c == name).map(|i| rates[i]);
    (find("frames_received"), find("frames_playable"))
}

fn bits_per_s(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8.0 / seconds
}

/// `part / whole`, and zero of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Meter {
    /// The numbers of every window.
    pub(crate) fn windows(&self, names: &Names) -> Vec<Window> {
        self.windows.iter().map(|w| self.window(w, names)).collect()
    }

    fn window(&self, w: &WindowMeter, names: &Names) -> Window {
        let seconds = w.closed.when.since(w.opened.when).as_secs_f64();
        let link = |i: usize| {
            let traffic = w.closed.links[i].0.since(&w.opened.links[i].0);
            let stats = link_stats(&traffic, seconds, names.links[i].rate_bps(w.opened.when, w.closed.when));
            LinkStats { queue_packets: w.lengths[i], queue_delay_ms: w.times.links[i].summary(), ..stats }
        };
        let measured = w.closed.links[self.measured].0.since(&w.opened.links[self.measured].0);
        let class = |i: usize| {
            let traffic = w.closed.classes[i].0.since(&w.opened.classes[i].0);
            let received = w.closed.classes[i].1.since(&w.opened.classes[i].1);
            let stats = class_stats(&traffic, &measured, &received, seconds, names.flows_of_class(i));
            ClassStats {
                queue_delay_ms: w.times.waits[i].summary(),
                latency_ms: w.times.latencies[i].summary(),
                ..stats
            }
        };
        let reported = names.links.iter().enumerate().filter(|(_, l)| l.report);
        Window {
            name: w.spec.name.clone(),
            from_s: w.spec.from.as_secs_f64() - self.origin.as_secs_f64(),
            to_s: w.spec.to.as_secs_f64() - self.origin.as_secs_f64(),
            links: reported.map(|(i, l)| (l.name.clone(), link(i))).collect(),
            classes: names.classes.iter().enumerate().map(|(i, name)| (name.clone(), class(i))).collect(),
            flows: flow_stats(w, seconds),
            apps: names.groups.iter().enumerate().map(|(i, g)| (g.name.clone(), app_stats(w, i, g, seconds))).collect(),
        }
    }

    /// One row for each application.
    pub(crate) fn flow_records(&self, names: &Names) -> Vec<FlowRecord> {
        let row = |group: &GroupInfo, app: usize| {
            let total = &self.apps[app];
            FlowRecord {
                traffic: group.name.clone(),
                index: (app - group.apps.start) as u64,
                class: names.classes[group.class].clone(),
                delivered_bytes: self.windows.iter().map(|w| w.apps[app].delivered).collect(),
                connections: total.connections.into(),
                packets: total.packets,
                retransmissions: total.retransmissions.into(),
                timeouts: total.timeouts.into(),
                drops: total.drops.into(),
            }
        };
        names.groups.iter().flat_map(|g| g.apps.clone().map(move |app| row(g, app))).collect()
    }

    /// The distributions of every window, for plots.
    pub(crate) fn distributions(&self, names: &Names) -> Vec<Distribution> {
        let of_window = |w: &WindowMeter| {
            let links =
                names.links.iter().zip(&w.times.links).map(|(l, t)| (format!("links.{}.queue_delay_ms", l.name), t));
            let waits =
                names.classes.iter().zip(&w.times.waits).map(|(c, t)| (format!("classes.{c}.queue_delay_ms"), t));
            let latencies =
                names.classes.iter().zip(&w.times.latencies).map(|(c, t)| (format!("classes.{c}.latency_ms"), t));
            let exchanges = names.groups.iter().zip(&w.times.exchanges).flat_map(|(g, kinds)| {
                g.exchange_kinds
                    .iter()
                    .zip(kinds)
                    .map(move |(kind, (t, _))| (format!("apps.{}.response_time_ms.{kind}", g.name), t))
            });
            let delays = links.chain(waits).chain(latencies).map(|found| (found, 100));
            // Shares of responses are read from these points, to a tenth of a percent.
            let all = delays.chain(exchanges.map(|found| (found, 1000)));
            let all = all.map(|((quantity, times), steps)| Distribution {
                window: w.spec.name.clone(),
                quantity,
                points: times.cumulative(steps),
            });
            all.filter(|d| !d.points.is_empty()).collect::<Vec<_>>()
        };
        self.windows.iter().flat_map(of_window).collect()
    }

    /// The exchanges of every window by size and duration.
    pub(crate) fn responses(&self, names: &Names) -> Vec<Responses> {
        let of_window = |w: &WindowMeter| {
            let groups = names.groups.iter().zip(&w.times.exchanges);
            let all = groups.flat_map(|(g, kinds)| g.exchange_kinds.iter().zip(kinds).map(move |k| (&g.name, k)));
            let found = all.map(|(name, (kind, (_, grid)))| grid.responses(&w.spec.name, name, kind));
            found.filter(|r| !r.counts.is_empty()).collect::<Vec<_>>()
        };
        self.windows.iter().flat_map(of_window).collect()
    }

    /// The list of exchanges, and how many did not fit into it.
    pub(crate) fn take_exchanges(&mut self) -> (Vec<ExchangeRecord>, u64) {
        (std::mem::take(&mut self.exchanges), self.exchanges_dropped)
    }

    /// Packets that have left the measured link.
    pub(crate) fn packets(&self) -> u64 {
        self.links[self.measured].traffic.sent_packets
    }
}

fn link_stats(t: &Traffic, seconds: f64, rate_bps: f64) -> LinkStats {
    let throughput_bps = bits_per_s(t.sent_bytes, seconds);
    LinkStats {
        throughput_bps,
        offered_bps: bits_per_s(t.offered_bytes, seconds),
        utilization: if rate_bps > 0.0 { throughput_bps / rate_bps } else { 0.0 },
        packets_per_s: t.sent_packets as f64 / seconds,
        drop_rate: share(t.drops(), t.offered_packets),
        mark_rate: share(t.marked, t.offered_packets),
        drops: by_reason(t, t),
        ..LinkStats::default()
    }
}

/// Drops by each reason for which there are any of `all`.
fn by_reason(t: &Traffic, all: &Traffic) -> BTreeMap<String, u64> {
    let reasons = Why::ALL.iter().filter(|why| all.dropped[**why as usize] > 0);
    reasons.map(|why| (why.name().to_owned(), t.dropped[*why as usize])).collect()
}

fn class_stats(t: &Traffic, all: &Traffic, received: &Received, seconds: f64, flows: usize) -> ClassStats {
    ClassStats {
        throughput_bps: bits_per_s(t.sent_bytes, seconds),
        goodput_bps: bits_per_s(received.bytes, seconds),
        offered_bps: bits_per_s(t.offered_bytes, seconds),
        drop_rate: share(t.drops(), t.offered_packets),
        mark_rate: share(t.marked, t.offered_packets),
        drops: by_reason(t, all),
        loss_rate_pps: if flows == 0 { 0.0 } else { t.drops() as f64 / seconds / flows as f64 },
        packet_bytes: share(t.offered_bytes, t.offered_packets),
        efficiency: share(received.bytes, t.offered_payload),
        ..ClassStats::default()
    }
}

fn flow_stats(w: &WindowMeter, seconds: f64) -> FlowStats {
    let active = w.apps.iter().filter(|a| a.packets > 0);
    let rates: Vec<f64> = active.map(|a| bits_per_s(a.delivered, seconds)).collect();
    if rates.is_empty() {
        return FlowStats::default();
    }
    let n = rates.len() as f64;
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
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

fn app_stats(w: &WindowMeter, index: usize, group: &GroupInfo, seconds: f64) -> AppStats {
    let sent = w.closed.groups[index].since(&w.opened.groups[index]);
    let per_flow = 1.0 / seconds / group.apps.len().max(1) as f64;
    let rates: Vec<f64> =
        w.closed.counters[index].iter().zip(&w.opened.counters[index]).map(|(a, b)| (a - b) * per_flow).collect();
    let (frame_rate, playable_frame_rate) = frames(group, &rates);
    let response: BTreeMap<String, Summary> = group
        .exchange_kinds
        .iter()
        .zip(&w.times.exchanges[index])
        .filter_map(|(kind, (times, _))| Some(((*kind).to_owned(), times.summary()?)))
        .collect();
    AppStats {
        population: group.apps.len() as u64,
        completed: w.closed.completed[index] - w.opened.completed[index],
        response_time_ms: response,
        frame_rate,
        playable_frame_rate,
        counters: AppStats::name_counters(group.counters, &rates),
        connections: sent.connections.into(),
        retransmission_rate: share(sent.retransmissions.into(), sent.packets),
        timeouts_per_s: f64::from(sent.timeouts) / seconds,
    }
}
