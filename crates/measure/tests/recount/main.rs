//! Recomputes everything that a run reports from a log of its events.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail by panicking")]

mod play;

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_measure::output::{ClassStats, LinkStats, Summary, Window};
use aqmkit_measure::{GroupInfo, Output};

use play::{
    COUNTERS, END, INTERVAL, JOINS, LISTED, Log, MS, ORIGIN, Packet, RATES, SERIES_FROM, WINDOWS, counted, plan, play,
};

/// A span of time.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: u64,
    to: u64,
}

impl Span {
    fn has(self, ns: u64) -> bool {
        self.from <= ns && ns < self.to
    }

    fn seconds(self) -> f64 {
        (self.to - self.from) as f64 / 1e9
    }

    /// Overlap with `from..to`, in nanoseconds.
    fn overlap(self, from: u64, to: u64) -> u64 {
        self.to.min(to).saturating_sub(self.from.max(from))
    }
}

#[track_caller]
fn near(seen: f64, wanted: f64, what: &str) {
    let same = (seen - wanted).abs() <= 1e-9 * wanted.abs().max(1.0) || seen.is_nan() && wanted.is_nan();
    assert!(same, "{what}: {seen} instead of {wanted}");
}

/// Counters of a link or one of its classes in a span.
struct Recounted {
    arrived: Vec<Packet>,
    left: Vec<Packet>,
    passed: f64,
}

impl Recounted {
    fn new(log: &Log, span: Span, of: impl Fn(&Packet) -> bool) -> Self {
        let packets: Vec<&Packet> = log.packets.iter().filter(|p| of(p)).collect();
        let in_span = |(from, until, share): &(u64, u64, f64)| {
            share * span.overlap(*from, *until) as f64 / (until - from).max(1) as f64
        };
        let passed = |p: &&Packet| f64::from(p.len) * p.pieces.iter().map(in_span).sum::<f64>();
        Recounted {
            passed: packets.iter().map(passed).sum(),
            arrived: packets.iter().filter(|p| span.has(p.arrived)).map(|p| (*p).clone()).collect(),
            left: packets.iter().filter(|p| p.left.is_some_and(|ns| span.has(ns))).map(|p| (*p).clone()).collect(),
        }
    }

    fn offered_bytes(&self) -> f64 {
        self.arrived.iter().map(|p| f64::from(p.len)).sum()
    }

    fn share(&self, of: impl Fn(&Packet) -> bool) -> f64 {
        self.arrived.iter().filter(|p| of(p)).count() as f64 / self.arrived.len() as f64
    }

    fn drops(&self) -> BTreeMap<String, u64> {
        let mut drops = BTreeMap::new();
        for why in self.arrived.iter().filter_map(|p| p.dropped) {
            *drops.entry(why.name().to_owned()).or_default() += 1;
        }
        drops
    }

    /// Milliseconds that packets waited, ascending.
    fn waits(&self) -> Vec<f64> {
        sorted(self.left.iter().map(|p| (p.left.unwrap() - p.arrived) as f64 / 1e6))
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Checks a summary against these values in ascending order, with a tolerance of 0.1 %.
#[track_caller]
fn summarizes(summary: Option<Summary>, values: &[f64], what: &str) {
    let Some(s) = summary else { return assert!(values.is_empty(), "{what}: no summary of {} values", values.len()) };
    let quantile = |q: f64| values[((q * values.len() as f64).ceil() as usize).max(1) - 1];
    for (seen, wanted) in [
        (s.mean, mean(values)),
        (s.p50, quantile(0.5)),
        (s.p90, quantile(0.9)),
        (s.p99, quantile(0.99)),
        (s.max, values[values.len() - 1]),
    ] {
        assert!((seen - wanted).abs() <= 1e-3 * wanted + 1e-4, "{what}: {seen} instead of {wanted} ms");
    }
}

/// Mean queue length over a span, and the length that was not exceeded for 99 % of it.
fn lengths(log: &Log, span: Span) -> (f64, f64) {
    let mut at: BTreeMap<u64, u64> = BTreeMap::new();
    let mut steps = vec![(0, 0)];
    steps.extend(&log.lengths);
    steps.push((u64::MAX, 0));
    for step in steps.windows(2) {
        *at.entry(step[0].1).or_default() += span.overlap(step[0].0, step[1].0);
    }
    let (total, mut below) = (span.to - span.from, 0);
    let mean = at.iter().map(|(length, ns)| (length * ns) as f64).sum::<f64>() / total as f64;
    let p99 = at.iter().find(|(_, ns)| {
        below += **ns;
        below >= (total as f64 * 0.99) as u64
    });
    (mean, *p99.unwrap().0 as f64)
}

/// Bits that the link can send in a span.
fn capacity(span: Span) -> f64 {
    let ends = RATES[1..].iter().map(|(ns, _)| *ns).chain([u64::MAX]);
    RATES.iter().zip(ends).map(|((from, rate), to)| *rate as f64 * span.overlap(*from, to) as f64 / 1e9).sum()
}

fn of_link(link: &LinkStats, log: &Log, span: Span, what: &str) {
    let all = Recounted::new(log, span, |_| true);
    let seconds = span.seconds();
    near(link.throughput_bps, 8.0 * all.passed / seconds, what);
    near(link.offered_bps, 8.0 * all.offered_bytes() / seconds, what);
    near(link.packets_per_s, all.left.len() as f64 / seconds, what);
    assert!((link.utilization - 8.0 * all.passed / capacity(span)).abs() < 1e-6, "{what}: {}", link.utilization);
    near(link.drop_rate, all.share(|p| p.dropped.is_some()), what);
    near(link.mark_rate, all.share(|p| p.marked.is_some()), what);
    assert_eq!(link.drops, all.drops(), "{what}");
    summarizes(link.queue_delay_ms, &all.waits(), what);
    let (mean, p99) = lengths(log, span);
    near(link.queue_packets.mean, mean, what);
    near(link.queue_packets.p99, p99, what);
}

fn of_class(class: &ClassStats, i: usize, log: &Log, span: Span, flows: f64, what: &str) {
    let all = Recounted::new(log, span, |p| p.class == i);
    let seconds = span.seconds();
    let received: Vec<_> = log.deliveries.iter().filter(|d| d.2 == i && span.has(d.0)).collect();
    let bytes: u64 = received.iter().map(|d| d.3).sum();
    near(class.throughput_bps, 8.0 * all.passed / seconds, what);
    near(class.goodput_bps, 8.0 * bytes as f64 / seconds, what);
    near(class.offered_bps, 8.0 * all.offered_bytes() / seconds, what);
    near(class.drop_rate, all.share(|p| p.dropped.is_some()), what);
    near(class.mark_rate, all.share(|p| p.marked.is_some()), what);
    let drops = all.drops();
    // Reasons that occurred at the link but not in the class are listed, too.
    let of_link = Recounted::new(log, span, |_| true).drops();
    assert!(class.drops.keys().eq(of_link.keys()), "{what}");
    for (why, n) in &class.drops {
        assert_eq!(*n, drops.get(why).copied().unwrap_or(0), "{what}: {why}");
    }
    near(class.loss_rate_pps, drops.values().sum::<u64>() as f64 / seconds / flows, what);
    near(class.packet_bytes, all.offered_bytes() / all.arrived.len() as f64, what);
    let payload: f64 = all.arrived.iter().map(|p| f64::from(p.payload)).sum();
    near(class.efficiency, (bytes as f64 / payload).min(1.0), what);
    summarizes(class.queue_delay_ms, &all.waits(), what);
    summarizes(class.latency_ms, &sorted(received.iter().map(|d| d.4 as f64 / 1e6)), what);
}

/// Jain's index by definition; without any traffic it is 1.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    if sum == 0.0 {
        return 1.0;
    }
    sum * sum / rates.len() as f64 / rates.iter().map(|r| r * r).sum::<f64>()
}

/// The applications of a group at some time.
fn members(group: usize, ns: u64) -> Vec<u32> {
    match group {
        0 if ns >= JOINS => vec![0, 1, 5],
        0 => vec![0, 1],
        _ => vec![2, 3, 4],
    }
}

/// Bits per second of the applications that sent anything.
fn rates(log: &Log, span: Span, apps: &[u32]) -> Vec<f64> {
    let sent = |app: u32| log.sendings.iter().any(|s| s.app == app && span.has(s.at));
    let bytes = |app: u32| log.deliveries.iter().filter(|d| d.1 == app && span.has(d.0)).map(|d| d.3).sum::<u64>();
    apps.iter().filter(|app| sent(**app)).map(|app| 8.0 * bytes(*app) as f64 / span.seconds()).collect()
}

fn of_apps(window: &Window, log: &Log, span: Span, now: u64) {
    let flows = rates(log, span, &[0, 1, 2, 3, 4, 5]);
    let of_all = &window.flows;
    assert_eq!(of_all.count, flows.len() as u64);
    near(of_all.jain, jain(&flows), "flows.jain");
    let range = &of_all.throughput_bps;
    let ascending = sorted(flows.iter().copied());
    near(range.min, ascending[0], "least");
    near(range.mean, mean(&flows), "mean");
    near(range.max, ascending[ascending.len() - 1], "most");
    for (group, name) in ["web", "bulk"].into_iter().enumerate() {
        let (app, apps) = (&window.apps[name], members(group, now));
        let of: Vec<_> = log.sendings.iter().filter(|s| apps.contains(&s.app) && span.has(s.at)).collect();
        let count = |f: fn(&play::Sending) -> bool| of.iter().filter(|s| f(s)).count() as f64;
        assert_eq!(app.population, apps.len() as u64, "{name}");
        assert_eq!(app.connections as f64, count(|s| s.opens), "{name}");
        near(app.retransmission_rate, count(|s| s.again) / of.len().max(1) as f64, name);
        near(app.timeouts_per_s, count(|s| s.timeout) / span.seconds(), name);
        let ended: Vec<_> = log.exchanges.iter().filter(|(ns, e)| e.group == group && span.has(*ns)).collect();
        for (kind, called) in [(0, "page"), (1, "object")] {
            let of_kind = ended.iter().filter(|(_, e)| e.kind == kind).count() as u64;
            assert_eq!(app.completed.get(called).copied().unwrap_or(0), of_kind, "{name} {called}");
            let took = ended.iter().filter(|(_, e)| e.kind == kind);
            let took = sorted(took.map(|(ns, e)| play::at(*ns).since(e.started).as_millis_f64()));
            summarizes(app.response_time_ms.get(called).copied(), &took, called);
        }
        match app.jain {
            Some(seen) => near(seen, jain(&rates(log, span, &apps)), name),
            None => assert!(app.completed.values().any(|n| *n > 0) || rates(log, span, &apps).len() < 2, "{name}"),
        }
    }
    // The model's counters grow evenly.
    let per_flow = |i: usize| (i + 2) as f64 * 10.0 / members(0, now).len() as f64;
    let web = &window.apps["web"];
    for (i, name) in COUNTERS.iter().enumerate() {
        near(web.counters[*name], per_flow(i), name);
    }
    near(web.counters["i_bytes_per_frame"], per_flow(3) / per_flow(2), "bytes per frame");
    near(web.frame_rate.unwrap(), per_flow(0), "frame rate");
    near(web.playable_frame_rate.unwrap(), per_flow(1), "playable frame rate");
    assert_eq!((window.apps["bulk"].frame_rate, window.apps["bulk"].counters.len()), (None, 0));
}

fn of_window(window: &Window, log: &Log, span: Span, now: u64) {
    near(window.from_s, (span.from - ORIGIN) as f64 / 1e9, "from");
    near(window.to_s, (span.to - ORIGIN) as f64 / 1e9, "to");
    assert!(window.links.keys().eq(["b", "other"]) && window.classes.keys().eq(["x", "y"]));
    for (name, link) in &window.links {
        of_link(link, log, span, &format!("{} {name}", window.name));
    }
    for (i, (name, class)) in window.classes.iter().enumerate() {
        of_class(class, i, log, span, members(i, now).len() as f64, &format!("{} {name}", window.name));
    }
    of_apps(window, log, span, now);
}

#[test]
fn windows_are_what_happened_in_them() {
    for seed in 0..6 {
        let (log, output, _) = play(seed, &[]);
        assert!(log.packets.len() > 500 && output.windows.len() == WINDOWS.len());
        for (window, (name, from, to)) in output.windows.iter().zip(WINDOWS) {
            assert_eq!(window.name, name);
            of_window(window, &log, Span { from, to }, END);
        }
        let left = log.packets.iter().filter(|p| p.left.is_some()).count() as u64;
        assert_eq!(output.engine.packets, left);
    }
}

/// Output of a run in progress: windows that have not started are missing, and open ones end now.
#[test]
fn a_run_in_progress_is_what_has_happened_so_far() {
    let looks = [400 * MS + 2, 1_000 * MS + 2, 2_000 * MS + 2];
    for seed in 0..4 {
        let (log, _, outputs) = play(seed, &looks);
        for (now, output) in outputs {
            let mut until = log.clone();
            // Later drops and marks are unknown.
            let gone = |p: &Packet| p.left.is_some_and(|ns| ns < now);
            until.packets.retain(|p| p.arrived < now);
            for packet in &mut until.packets {
                if !gone(packet) {
                    packet.left = None;
                }
            }
            let begun = WINDOWS.into_iter().filter(|(_, from, _)| *from < now);
            let names: Vec<&str> = output.windows.iter().map(|w| w.name.as_str()).collect();
            assert!(begun.clone().map(|w| w.0).eq(names), "at {now}");
            for (window, (name, from, to)) in output.windows.iter().zip(begun) {
                let span = Span { from, to: to.min(now) };
                let all = Recounted::new(&until, span, |_| true);
                let link = &window.links["b"];
                near(window.to_s, (span.to - ORIGIN) as f64 / 1e9, name);
                near(link.throughput_bps, 8.0 * all.passed / span.seconds(), name);
                near(link.offered_bps, 8.0 * all.offered_bytes() / span.seconds(), name);
                summarizes(link.queue_delay_ms, &all.waits(), name);
                near(link.queue_packets.mean, lengths(&until, span).0, name);
                of_apps(window, &log, span, now);
            }
            for flow in &output.flows {
                assert_eq!(flow.delivered_bytes.len(), output.windows.len());
            }
        }
    }
}

/// One value per column and interval; late drops and marks count in the interval of their arrival.
#[test]
fn series_are_what_happened_in_each_interval() {
    for seed in 0..6 {
        let (log, output, _) = play(seed, &[]);
        let (series, mut used) = (&output.series, 0);
        near(series.interval_s, INTERVAL as f64 / 1e9, "interval");
        let rows = ((END - SERIES_FROM) / INTERVAL) as usize;
        let mut check = |row: usize, name: String, wanted: f64| {
            used += usize::from(row == 0);
            assert_eq!(series.columns[&name].len(), rows, "{name}");
            near(series.columns[&name][row], wanted, &format!("{name} of interval {row}"));
        };
        for row in 0..rows {
            let from = SERIES_FROM + row as u64 * INTERVAL;
            let span = Span { from, to: from + INTERVAL };
            let mut traffic = |path: &str, all: &Recounted| {
                check(row, format!("{path}.throughput_bps"), 8.0 * all.passed / span.seconds());
                check(row, format!("{path}.offered_bps"), 8.0 * all.offered_bytes() / span.seconds());
                check(row, format!("{path}.drop_rate"), all.share(|p| p.dropped.is_some()));
                check(row, format!("{path}.mark_rate"), all.share(|p| p.marked.is_some()));
                check(row, format!("{path}.queue_delay_ms.mean"), mean(&all.waits()));
            };
            let all = Recounted::new(&log, span, |_| true);
            traffic("links.b", &all);
            traffic("links.other", &all);
            let of: Vec<Recounted> = (0..2).map(|i| Recounted::new(&log, span, |p| p.class == i)).collect();
            traffic("classes.x", &of[0]);
            traffic("classes.y", &of[1]);
            check(row, "links.b.queue_packets.mean".to_owned(), lengths(&log, span).0);
            check(row, "links.other.queue_packets.mean".to_owned(), lengths(&log, span).0);
            check(row, "links.b.aqm.avg".to_owned(), span.to as f64 / 1e9);
            for (i, name) in ["x", "y"].into_iter().enumerate() {
                let received = log.deliveries.iter().filter(|d| d.2 == i && span.has(d.0));
                let (bytes, times): (Vec<f64>, Vec<f64>) = received.map(|d| (d.3 as f64, d.4 as f64 / 1e6)).unzip();
                check(row, format!("classes.{name}.goodput_bps"), 8.0 * bytes.iter().sum::<f64>() / span.seconds());
                check(row, format!("classes.{name}.latency_ms.mean"), mean(&times));
                let dropped = of[i].arrived.iter().filter(|p| p.dropped.is_some());
                let per_s = dropped.count() as f64 / span.seconds();
                // A joining application counts from the interval in which it joins, also for late drops of earlier
                // packets.
                let column = &series.columns[&format!("classes.{name}.loss_rate_pps")];
                let flows = [members(i, 0).len(), members(i, END).len()].map(|n| per_s / n as f64);
                assert!(
                    flows[1] <= column[row] + 1e-9 && column[row] <= flows[0] + 1e-9,
                    "{name} {row}: {}",
                    column[row]
                );
                for why in [Why::Overflow, Why::Early, Why::Overload] {
                    let count = of[i].arrived.iter().filter(|p| p.dropped == Some(why)).count() as f64;
                    let drops = &series.columns[&format!("classes.{name}.drops.{}", why.name())];
                    let seen = drops[row];
                    // The column has no value before the reason first occurred.
                    assert!(seen == count || seen.is_nan() && count == 0.0, "{name} {row} {}: {seen}", why.name());
                }
            }
            for (kind, called) in [(0, "page"), (1, "object")] {
                let web = log.exchanges.iter().filter(|(ns, e)| e.kind == kind && span.has(*ns)).count();
                check(row, format!("apps.web.completed.{called}"), web as f64);
            }
            let flows = members(0, span.to).len() as f64;
            let rate = |i: usize| (counted(span.to)[i] - counted(span.from)[i]) / span.seconds() / flows;
            check(row, "apps.web.frame_rate".to_owned(), rate(0));
            check(row, "apps.web.playable_frame_rate".to_owned(), rate(1));
        }
        let others = series.columns.keys().filter(|c| c.contains("loss_rate_pps") || c.contains(".drops."));
        let computed = series.columns.keys().filter(|c| c.contains("stall")).count();
        assert_eq!(series.columns.len(), used + others.count() + computed, "{:?}", series.columns.keys());
        assert!(!series.columns.keys().any(|c| c.contains("hidden")));
    }
}

/// Applications, exchanges and distributions.
#[test]
fn lists_have_everything_once() {
    for seed in 0..6 {
        let (log, output, _) = play(seed, &[]);
        flows(&log, &output);
        exchanges(&log, &output);
        distributions(&log, &output);
    }
}

fn flows(log: &Log, output: &Output) {
    let names: Vec<(&str, u64, &str)> =
        output.flows.iter().map(|f| (f.traffic.as_str(), f.index, f.class.as_str())).collect();
    let wanted =
        [("web", 0, "x"), ("web", 1, "x"), ("web", 2, "x"), ("bulk", 0, "y"), ("bulk", 1, "y"), ("bulk", 2, "y")];
    assert_eq!(names, wanted);
    for (flow, app) in output.flows.iter().zip([0, 1, 5, 2, 3, 4]) {
        let sent: Vec<_> = log.sendings.iter().filter(|s| s.app == app).collect();
        let count = |f: fn(&play::Sending) -> bool| sent.iter().filter(|s| f(s)).count() as u64;
        let seen = (flow.packets, flow.retransmissions, flow.timeouts, flow.connections);
        assert_eq!(seen, (sent.len() as u64, count(|s| s.again), count(|s| s.timeout), count(|s| s.opens)));
        let drops = log.packets.iter().filter(|p| p.dropped.is_some());
        // The other links attribute their drops to application 4.
        let lost = if app == 4 { 2 * drops.count() } else { drops.filter(|p| p.app == app).count() };
        assert_eq!(flow.drops, Some(lost as u64));
        let bytes = |(_, from, to): (&str, u64, u64)| {
            let span = Span { from, to };
            log.deliveries.iter().filter(|d| d.1 == app && span.has(d.0)).map(|d| d.3).sum::<u64>()
        };
        assert_eq!(flow.delivered_bytes, WINDOWS.map(bytes));
    }
}

fn exchanges(log: &Log, output: &Output) {
    let all: Vec<_> = log.exchanges.iter().filter(|(ns, _)| *ns >= ORIGIN).collect();
    // A list that would be too long is omitted.
    if all.len() > LISTED {
        assert_eq!((output.exchanges.len(), output.exchanges_dropped), (0, all.len() as u64));
    } else {
        assert_eq!((output.exchanges.len(), output.exchanges_dropped), (all.len(), 0));
    }
    let mut found = 0;
    for (name, from, to) in WINDOWS {
        for (kind, called) in [(0, "page"), (1, "object")] {
            let span = Span { from, to };
            let wanted = all.iter().filter(|(ns, e)| e.kind == kind && span.has(*ns)).count() as u64;
            let seen = output.responses.iter().filter(|r| r.window == name && r.kind == called && r.traffic == "web");
            assert_eq!(seen.map(aqmkit_measure::output::Responses::total).sum::<u64>(), wanted);
            found += wanted;
        }
    }
    assert_eq!(output.responses.iter().map(aqmkit_measure::output::Responses::total).sum::<u64>(), found);
    let listed = play_few();
    for (seen, (ns, e)) in listed.1.exchanges.iter().zip(&listed.0.exchanges) {
        let since = |instant: aqmkit_base::Instant| instant.since(play::at(0)).as_secs_f64() - ORIGIN as f64 / 1e9;
        near(seen.started_s, since(e.started), "start");
        near(seen.duration_ms, play::at(*ns).since(e.started).as_millis_f64(), "duration");
        assert_eq!((seen.traffic.as_str(), seen.bytes), ("web", e.bytes));
        assert_eq!(seen.kind, ["page", "object"][e.kind]);
    }
    assert!(!listed.1.exchanges.is_empty());
}

/// A run so short that its exchanges are listed.
fn play_few() -> (Log, Output) {
    let (mut log, _, mut outputs) = play(1, &[300 * MS]);
    let (now, output) = outputs.remove(0);
    log.exchanges.retain(|(ns, _)| (ORIGIN..now).contains(ns));
    assert_eq!((output.exchanges.len(), output.exchanges_dropped), (log.exchanges.len(), 0));
    (log, output)
}

/// Each point has the share of samples at or below its value.
fn distributions(log: &Log, output: &Output) {
    let mut wanted = BTreeMap::new();
    for (window, from, to) in WINDOWS {
        let span = Span { from, to };
        let mut add =
            |quantity: &str, values: Vec<f64>| wanted.insert((window.to_owned(), quantity.to_owned()), values);
        let all = Recounted::new(log, span, |_| true).waits();
        add("links.b.queue_delay_ms", all.clone());
        add("links.other.queue_delay_ms", all);
        for (i, class) in ["x", "y"].into_iter().enumerate() {
            add(&format!("classes.{class}.queue_delay_ms"), Recounted::new(log, span, |p| p.class == i).waits());
            let received = log.deliveries.iter().filter(|d| d.2 == i && span.has(d.0));
            add(&format!("classes.{class}.latency_ms"), sorted(received.map(|d| d.4 as f64 / 1e6)));
        }
        for (kind, name) in [(0, "page"), (1, "object")] {
            let ended = log.exchanges.iter().filter(|(ns, e)| e.kind == kind && span.has(*ns));
            let took = ended.map(|(ns, e)| play::at(*ns).since(e.started).as_millis_f64());
            add(&format!("apps.web.response_time_ms.{name}"), sorted(took));
        }
    }
    wanted.retain(|_, values| !values.is_empty());
    assert_eq!(output.distributions.len(), wanted.len());
    for found in &output.distributions {
        let values = &wanted[&(found.window.clone(), found.quantity.clone())];
        assert!(found.points.is_sorted() && found.points.last().unwrap().1 == 1.0);
        let below = |limit: f64| values.partition_point(|v| *v <= limit) as f64 / values.len() as f64;
        for (value, share) in &found.points {
            let (least, most) = (below(value * 0.999 - 1e-4), below(value * 1.001 + 1e-4));
            let step = 1.0 / values.len() as f64;
            assert!(least - step - 0.01 <= *share && *share <= most + step, "{}: {share} at {value}", found.quantity);
        }
    }
}

#[test]
fn who_joins_is_a_member_from_then_on() {
    let group = GroupInfo { apps: 0..2, joined: vec![5], ..plan().groups[0].clone() };
    assert_eq!((group.population(), group.members().collect::<Vec<_>>()), (3, vec![0, 1, 5]));
}
