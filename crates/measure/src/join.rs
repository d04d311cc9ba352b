//! Computes the output of a run from the records of links and hosts.

use std::collections::BTreeMap;

use aqmkit_base::Instant;

use crate::arithmetic::{bits_per_s, per_second, share};
use crate::counters::Sent;
use crate::hosts::{HostRecorder, WindowMeter};
use crate::link::{LinkRecorder, Passed};
use crate::metric::value::{known, of_class, of_traffic};
use crate::metric::{Counted, METRICS};
use crate::output::{
    AppStats, ClassStats, Distribution, Engine, FlowRecord, FlowStats, Limits, LinkStats, Output, Range, Responses,
    Summary, Window,
};
use crate::plan::{GroupInfo, Plan};
use crate::series::Columns;
use crate::times::Times;

/// Number of points of a plotted distribution of delays.
const DELAY_POINTS: u32 = 100;

/// Number of points of a distribution of response times, from which shares are read with a resolution of a tenth of a
/// percent.
const RESPONSE_POINTS: u32 = 1000;

/// The output of a run that ends at `now`. `links` are in the order of the plan. Of the costs, only the number of
/// packets is set.
#[must_use]
pub fn join(plan: &Plan, mut links: Vec<LinkRecorder>, mut hosts: HostRecorder, now: Instant) -> Output {
    let packets = links.get(plan.measured).map_or(0, |l| l.traffic().sent_packets);
    let passed: Vec<Vec<Passed>> = (0..plan.windows.len()).map(|w| passed(plan, &mut links, w, now)).collect();
    let windows = plan.windows.iter().zip(&passed).zip(hosts.windows());
    let windows = windows.map(|((spec, link_windows), host_window)| Window {
        name: spec.name.clone(),
        from_s: spec.from.as_secs_f64() - plan.origin.as_secs_f64(),
        to_s: spec.to.as_secs_f64() - plan.origin.as_secs_f64(),
        ..window(plan, link_windows, host_window)
    });
    let windows = windows.collect();
    let of_links = links.iter_mut().enumerate().map(|(link, recorder)| recorder.take_series(plan, link));
    let parts: Vec<Columns> = of_links.chain([hosts.take_series()]).collect();
    let (exchanges, exchanges_dropped) = hosts.take_exchanges();
    Output {
        windows,
        flows: flow_records(plan, &hosts),
        distributions: distributions(plan, &passed, &hosts),
        responses: responses(plan, &hosts),
        series: Columns::side_by_side(parts.into_iter(), plan.interval),
        exchanges,
        exchanges_dropped,
        engine: Engine { packets, ..Engine::default() },
    }
}

/// The traffic of each link in a window; empty for links that are not reported.
fn passed(plan: &Plan, links: &mut [LinkRecorder], window: usize, now: Instant) -> Vec<Passed> {
    let of = |(info, link): (&crate::plan::LinkInfo, &mut LinkRecorder)| {
        if info.report { link.passed(window, now) } else { Passed::default() }
    };
    plan.links.iter().zip(links).map(of).collect()
}

/// The results of a window.
fn window(plan: &Plan, links: &[Passed], hosts: &WindowMeter) -> Window {
    let seconds = hosts.closed.when.since(hosts.opened.when).as_secs_f64();
    let reported = plan.links.iter().zip(links).filter(|(info, _)| info.report);
    let link = |(info, p): (&crate::plan::LinkInfo, &Passed)| -> (String, LinkStats) {
        let capacity = if p.goes_on { info.capacity_so_far_bps(p.from, p.to) } else { info.capacity_bps(p.from, p.to) };
        (info.name.clone(), p.stats(capacity))
    };
    let nothing = Passed::default();
    let measured = links.get(plan.measured).unwrap_or(&nothing);
    let class = |i: usize| {
        let received = hosts.closed.classes[i].since(&hosts.opened.classes[i]);
        let total = measured.classes.get(i).map(|c| c.total).unwrap_or_default();
        let flows = plan.flows_of_class(i);
        let passed_bytes = measured.classes.get(i).map_or(0.0, |c| c.passed_bytes);
        let counted = Counted { seconds, traffic: total, passed_bytes, received, flows };
        ClassStats {
            goodput_bps: bits_per_s(received.bytes as f64, seconds),
            loss_rate_pps: if flows == 0 { 0.0 } else { per_second(total.drops() as f64, seconds) / flows as f64 },
            efficiency: share(received.bytes, total.offered_payload).min(1.0),
            latency_ms: hosts.latencies[i].summary(),
            computed: known(of_class(METRICS, &counted)),
            ..measured.class_stats(i)
        }
    };
    let apps = plan.groups.iter().enumerate();
    Window {
        links: reported.map(link).collect(),
        classes: plan.classes.iter().enumerate().map(|(i, name)| (name.clone(), class(i))).collect(),
        flows: flow_stats(&hosts.apps, seconds),
        apps: apps.map(|(i, g)| (g.name.clone(), app_stats(hosts, i, g, seconds))).collect(),
        ..Window::default()
    }
}

/// The throughputs of the applications that sent data.
fn throughputs(apps: &[Sent], seconds: f64) -> Vec<f64> {
    apps.iter().filter(|a| a.packets > 0).map(|a| bits_per_s(a.delivered as f64, seconds)).collect()
}

/// Jain's fairness index, `(sum x)^2 / (n sum x^2)`.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    if squares > 0.0 { sum * sum / (rates.len() as f64 * squares) } else { 1.0 }
}

fn flow_stats(apps: &[Sent], seconds: f64) -> FlowStats {
    let rates = throughputs(apps, seconds);
    if rates.is_empty() {
        return FlowStats::default();
    }
    FlowStats {
        count: rates.len() as u64,
        jain: jain(&rates),
        throughput_bps: Range {
            min: rates.iter().copied().fold(f64::INFINITY, f64::min),
            mean: rates.iter().sum::<f64>() / rates.len() as f64,
            max: rates.iter().copied().fold(0.0, f64::max),
        },
    }
}

fn app_stats(w: &WindowMeter, index: usize, group: &GroupInfo, seconds: f64) -> AppStats {
    let sent = w.closed.groups[index].since(&w.opened.groups[index]);
    let per_flow = per_second(1.0, seconds) / group.population().max(1) as f64;
    let rates: Vec<f64> =
        w.closed.counters[index].iter().zip(&w.opened.counters[index]).map(|(a, b)| (a - b) * per_flow).collect();
    let [frame_rate, playable_frame_rate] = group.frames(&rates);
    let response: BTreeMap<String, Summary> = group
        .exchange_kinds
        .iter()
        .zip(&w.exchanges[index])
        .filter_map(|(kind, (times, _))| Some(((*kind).to_owned(), times.summary()?)))
        .collect();
    let ended =
        w.closed.completed[index].iter().zip(&w.opened.completed[index]).map(|(closed, opened)| closed - opened);
    let kinds = group.exchange_kinds.iter().map(|kind| (*kind).to_owned());
    let completed: BTreeMap<String, u64> = kinds.zip(ended).collect();
    let members: Vec<Sent> = group.members().filter_map(|app| w.apps.get(app).copied()).collect();
    let throughputs = throughputs(&members, seconds);
    AppStats {
        // Applications that complete their requests have unequal throughputs even if they share the link equally.
        jain: (throughputs.len() > 1 && completed.values().all(|n| *n == 0)).then(|| jain(&throughputs)),
        population: group.population() as u64,
        completed,
        response_time_ms: response,
        frame_rate,
        playable_frame_rate,
        computed: known(of_traffic(METRICS, group.counters, &rates)),
        counters: AppStats::name_counters(group.counters, &rates),
        connections: sent.connections.into(),
        retransmission_rate: share(sent.retransmissions.into(), sent.packets),
        timeouts_per_s: per_second(sent.timeouts.into(), seconds),
        limits: limits(w, index),
    }
}

/// The shares of time by send limit, for the TCP senders of a group.
fn limits(w: &WindowMeter, index: usize) -> Option<Limits> {
    let (last, first) = (&w.closed.sampled[index], &w.opened.sampled[index]);
    let found = last.limits_since(first)?;
    // Flows that come and go always start late: count only endless ones.
    let counts = last.sends_without_end_since(first);
    let of = |flows: &[u64]| flows.get(index).copied().filter(|_| counts).unwrap_or_default();
    Some(Limits { late: of(&w.late), slow_start: of(&w.slow_start), ..found })
}

/// One row for each application.
fn flow_records(plan: &Plan, hosts: &HostRecorder) -> Vec<FlowRecord> {
    let row = |group: &GroupInfo, index: usize, app: usize| {
        let total = &hosts.apps()[app];
        FlowRecord {
            traffic: group.name.clone(),
            index: index as u64,
            class: plan.classes[group.class].clone(),
            delivered_bytes: hosts.windows().iter().map(|w| w.apps.get(app).map_or(0, |a| a.delivered)).collect(),
            connections: total.connections.into(),
            packets: total.packets,
            retransmissions: total.retransmissions.into(),
            timeouts: total.timeouts.into(),
            drops: Some(total.drops.into()),
        }
    };
    plan.groups.iter().flat_map(|g| g.members().enumerate().map(move |(i, app)| row(g, i, app))).collect()
}

/// The distributions of every window, for plots.
fn distributions(plan: &Plan, passed: &[Vec<Passed>], hosts: &HostRecorder) -> Vec<Distribution> {
    let mut found = Vec::new();
    let mut add = |window: &str, quantity: String, times: &Times, points: u32| {
        let points = times.cumulative(points);
        if !points.is_empty() {
            found.push(Distribution { window: window.to_owned(), quantity, points });
        }
    };
    for ((spec, links), host_window) in plan.windows.iter().zip(passed).zip(hosts.windows()) {
        for (info, link) in plan.links.iter().zip(links) {
            add(&spec.name, format!("links.{}.queue_delay_ms", info.name), &link.delay, DELAY_POINTS);
        }
        let classes = links.get(plan.measured).map_or(&[][..], |p| &p.classes);
        for (class, of_class) in plan.classes.iter().zip(classes) {
            add(&spec.name, format!("classes.{class}.queue_delay_ms"), &of_class.delay, DELAY_POINTS);
        }
        for (class, times) in plan.classes.iter().zip(&host_window.latencies) {
            add(&spec.name, format!("classes.{class}.latency_ms"), times, DELAY_POINTS);
        }
        for (group, kind, times, _) in kinds(plan, host_window) {
            add(&spec.name, format!("apps.{}.response_time_ms.{kind}", group.name), times, RESPONSE_POINTS);
        }
    }
    found
}

/// The exchanges of every window by size and duration.
fn responses(plan: &Plan, hosts: &HostRecorder) -> Vec<Responses> {
    let mut found = Vec::new();
    for (spec, window) in plan.windows.iter().zip(hosts.windows()) {
        let of_window = kinds(plan, window).map(|(group, kind, _, grid)| grid.responses(&spec.name, &group.name, kind));
        found.extend(of_window.filter(|r| !r.counts.is_empty()));
    }
    found
}

/// Every kind of exchange of a window, with its times and sizes.
fn kinds<'a>(
    plan: &'a Plan,
    window: &'a WindowMeter,
) -> impl Iterator<Item = (&'a GroupInfo, &'static str, &'a Times, &'a crate::output::Grid)> {
    let groups = plan.groups.iter().zip(&window.exchanges);
    groups.flat_map(|(g, found)| g.exchange_kinds.iter().zip(found).map(move |(kind, (t, grid))| (g, *kind, t, grid)))
}
