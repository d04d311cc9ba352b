//! The report of a run, computed a second time from a record of its packets: every number of every window, of the series and of the flows, over
//! random traffic through a queue that drops and marks at random.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod counters;
mod exchanges;
mod record;
mod tcp;

use std::collections::BTreeMap;

use aqmkit_base::{BitRate, ClassId, Duration, Ecn, Instant, Rng};
use aqmkit_sim::output::{Distribution, Length, Output, Series, Summary, Window};
use aqmkit_sim::scenario::{Loss, WindowSpec};
use aqmkit_sim::{Control, Scenario, run_custom};
use common::dumbbell;
use common::script::{random_sends, scripts};
use record::{Entry, What, recording};

/// A datagram that came to its receiver.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Instant,
    class: usize,
    app: usize,
    /// Without headers.
    bytes: u64,
    took_ms: f64,
}

/// A run with what is known of it from outside.
struct Run {
    out: Output,
    entries: Vec<Entry>,
    arrivals: Vec<Arrival>,
    /// When each application sent.
    sends: Vec<Vec<(Instant, u32)>>,
    windows: Vec<WindowSpec>,
    origin: Instant,
    rate: BitRate,
}

const CLASSES: [&str; 3] = ["plain", "capable", "nobody"];
/// Applications of each class.
const APPS: [usize; 3] = [3, 2, 0];
/// Bytes of headers of each class.
const HEADERS: [u32; 3] = [28, 0, 0];

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

/// Random traffic of two classes, somewhat more than the link can carry at times.
fn random_run(seed: u64) -> Run {
    let mut draw = Rng::stream(seed, "recount");
    let mbps = 2 + draw.below(4);
    let (spec, customs, record) = recording(10.0 + draw.below(60) as f64);
    let mut groups = Vec::new();
    let (mut sends, mut receipts) = (Vec::new(), Vec::new());
    for class in 0..2 {
        let per_s = |app: &mut Rng| mbps as f64 * (20.0 + 20.0 * app.uniform());
        let lists: Vec<_> = (0..APPS[class]).map(|_| random_sends(draw.bits(), per_s(&mut draw), 18.0)).collect();
        let ecn = [Ecn::NotEct, Ecn::Ect0][class];
        let (mut all, arrivals) = scripts(CLASSES[class], ecn, &lists);
        (all.class, all.datagram_overhead) = (ClassId(class as u8), HEADERS[class]);
        all.routes[0].forward_delay = Duration::from_millis(5 * class as u64 + draw.below(20));
        groups.push(all);
        receipts.extend(arrivals.into_iter().map(|a| (class, a)));
        sends.extend(lists);
    }
    let origin = 2.0;
    let mut scenario: Scenario = dumbbell(BitRate::from_mbps(mbps), spec, groups, 0, 20);
    let window = |name: &str, from: f64, to: f64| WindowSpec { name: name.into(), from: at(from), to: at(to) };
    let (from, length) = (3.0 + draw.uniform(), 4.0 + 4.0 * draw.uniform());
    scenario.windows = vec![window("all", origin, 20.0), window("part", from, from + length), window("end", 9.5, 14.0)];
    (scenario.origin, scenario.interval) = (at(origin), Duration::from_millis(500));
    scenario.classes = CLASSES.map(str::to_owned).to_vec();
    scenario.links[0].wire.loss = Loss::Random(0.02);
    let (windows, rate) = (scenario.windows.clone(), scenario.links[0].rate);
    let out = run_custom(scenario, &customs, &mut |_| Control::Continue).unwrap();
    let mut arrivals = Vec::new();
    for (app, (class, receipt)) in receipts.iter().enumerate() {
        for (tag, at) in receipt.lock().unwrap().iter() {
            let (sent, len) = sends[app][*tag as usize];
            let took_ms = at.since(sent).as_millis_f64();
            arrivals.push(Arrival { at: *at, class: *class, app, bytes: len.into(), took_ms });
        }
    }
    let entries = record.lock().unwrap().clone();
    Run { out, entries, arrivals, sends, windows, origin: at(origin), rate }
}

fn jain(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>().powi(2) / rates.len() as f64 / rates.iter().map(|r| r * r).sum::<f64>()
}

/// Equal but for the rounding of sums.
fn same(got: f64, wanted: f64, what: &str) {
    let both_nan = got.is_nan() && wanted.is_nan();
    assert!(both_nan || (got - wanted).abs() <= 1e-9 * wanted.abs().max(1e-3), "{what}: {got}, counted {wanted}");
}

/// The value that a share of the samples does not exceed.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Distributions keep one part in a thousand, and tenths of microseconds.
fn near(got: f64, wanted: f64, what: &str) {
    assert!((got - wanted).abs() <= 1.01e-3 * wanted + 1.01e-4, "{what}: {got}, counted {wanted}");
}

fn summary(got: Option<Summary>, mut samples: Vec<f64>, what: &str) {
    assert_eq!(got.is_none(), samples.is_empty(), "{what}");
    let Some(got) = got else { return };
    samples.sort_by(f64::total_cmp);
    near(got.mean, samples.iter().sum::<f64>() / samples.len() as f64, &format!("mean of {what}"));
    for (value, share) in [(got.p50, 0.5), (got.p90, 0.9), (got.p99, 0.99), (got.max, 1.0)] {
        near(value, quantile(&samples, share), &format!("{share} of {what}"));
    }
}

/// Every point of a distribution says how many samples are at or below it.
fn distribution(got: &[Distribution], window: &str, quantity: &str, samples: &[f64]) {
    let found = got.iter().find(|d| d.window == window && d.quantity == quantity);
    assert_eq!(found.is_none(), samples.is_empty(), "{quantity}");
    let Some(found) = found else { return };
    let n = samples.len() as f64;
    for (value, share) in &found.points {
        let (low, high) = (value * (1.0 - 1.01e-3) - 1.01e-4, value * (1.0 + 1.01e-3) + 1.01e-4);
        let below = samples.iter().filter(|s| **s < low).count() as f64 / n;
        let up_to = samples.iter().filter(|s| **s <= high).count() as f64 / n;
        assert!(below <= share + 1e-9 && *share <= up_to + 1.0 / n, "{quantity}: {share} at {value}, {below} {up_to}");
    }
    assert_eq!(found.points.last().unwrap().1, 1.0);
    assert!(found.points.len() > 50, "{quantity} has {} points", found.points.len());
}

/// Counts over a part of the record.
#[derive(Default)]
struct Count {
    arrived: f64,
    offered_bytes: f64,
    left: f64,
    sent_bytes: f64,
    marked: f64,
    dropped: BTreeMap<&'static str, u64>,
    waits: Vec<f64>,
}

impl Count {
    /// Counts of a link of this rate from `from` until before `to`: bytes while they pass, drops and marks by arrival.
    fn of<'a>(entries: impl Iterator<Item = &'a Entry>, rate: BitRate, from: Instant, to: Instant) -> Count {
        let mut c = Count::default();
        let within = |at: Instant| at >= from && at < to;
        for e in entries {
            match e.what {
                What::Arrived if within(e.at) => {
                    (c.arrived, c.offered_bytes) = (c.arrived + 1.0, c.offered_bytes + f64::from(e.len));
                }
                What::Marked if within(e.arrived()) => c.marked += 1.0,
                What::Refused(why) | What::Taken(why) if within(e.arrived()) => {
                    *c.dropped.entry(why.name()).or_default() += 1;
                }
                What::Left => {
                    let (begins, takes) = (e.at.as_secs_f64(), f64::from(e.len) * 8.0 / rate.as_bps() as f64);
                    let part = (begins + takes).min(to.as_secs_f64()) - begins.max(from.as_secs_f64());
                    c.sent_bytes += f64::from(e.len) * (part / takes).max(0.0);
                    if within(e.at) {
                        c.left += 1.0;
                        c.waits.push(e.waited.as_millis_f64());
                    }
                }
                _ => {}
            }
        }
        c
    }

    fn drops(&self) -> f64 {
        self.dropped.values().sum::<u64>() as f64
    }
}

impl Run {
    fn count(&self, class: Option<usize>, from: Instant, to: Instant) -> Count {
        let of_class = self.entries.iter().filter(|e| class.is_none_or(|class| e.class == class));
        Count::of(of_class, self.rate, from, to)
    }

    /// The rate at which bytes passed: transmissions begin and end at whole nanoseconds, one at each edge.
    fn passed(&self, got: f64, c: &Count, seconds: f64, what: &str) {
        let (wanted, rounding) = (c.sent_bytes * 8.0 / seconds, 3e-9 / seconds * self.rate.as_bps() as f64);
        assert!((got - wanted).abs() <= rounding, "{what}: {got}, counted {wanted}");
    }

    fn arrivals(&self, from: Instant, to: Instant) -> impl Iterator<Item = &Arrival> {
        self.arrivals.iter().filter(move |a| a.at >= from && a.at < to)
    }

    /// Mean and 99th percentile of the queue's length, over time.
    fn queue(&self, from: Instant, to: Instant) -> Length {
        let (mut waiting, mut since) = (0_i64, from);
        let mut time_at: BTreeMap<i64, u64> = BTreeMap::new();
        for e in &self.entries {
            let now = e.at.max(from).min(to);
            *time_at.entry(waiting).or_default() += now.since(since).as_nanos();
            since = now;
            waiting += match e.what {
                What::Arrived => 1,
                What::Refused(_) | What::Taken(_) | What::Left => -1,
                What::Marked => 0,
            };
        }
        *time_at.entry(waiting).or_default() += to.since(since).as_nanos();
        let span = to.since(from).as_nanos() as f64;
        let mean = time_at.iter().map(|(length, ns)| *length as f64 * *ns as f64).sum::<f64>() / span;
        let mut below = 0.0;
        let mut shares = time_at.iter().map(|(length, ns)| {
            below += *ns as f64 / span;
            (*length, below)
        });
        let p99 = shares.find(|(_, share)| *share >= 0.99).unwrap().0 as f64;
        Length { mean, p99 }
    }

    fn link(&self, window: &Window, from: Instant, to: Instant) {
        let (got, c) = (&window.links["bottleneck"], self.count(None, from, to));
        let seconds = to.since(from).as_secs_f64();
        same(got.offered_bps, c.offered_bytes * 8.0 / seconds, "offered");
        self.passed(got.throughput_bps, &c, seconds, "throughput");
        same(got.utilization, (got.throughput_bps / self.rate.as_bps() as f64).min(1.0), "utilisation");
        same(got.packets_per_s, c.left / seconds, "packets per second");
        same(got.drop_rate, c.drops() / c.arrived, "drop rate");
        same(got.mark_rate, c.marked / c.arrived, "mark rate");
        let drops = c.dropped.iter().map(|(why, n)| ((*why).to_owned(), *n)).collect::<BTreeMap<_, _>>();
        assert_eq!(got.drops, drops);
        let queue = self.queue(from, to);
        same(got.queue_packets.mean, queue.mean, "mean queue");
        assert_eq!(got.queue_packets.p99, queue.p99, "99 % of the queue");
        distribution(&self.out.distributions, &window.name, "links.bottleneck.queue_delay_ms", &c.waits);
        summary(got.queue_delay_ms, c.waits, "queueing delay");
    }

    fn class(&self, window: &Window, class: usize, from: Instant, to: Instant) {
        let (name, got) = (CLASSES[class], &window.classes[CLASSES[class]]);
        let c = self.count(Some(class), from, to);
        let arrivals: Vec<_> = self.arrivals(from, to).filter(|a| a.class == class).collect();
        let seconds = to.since(from).as_secs_f64();
        let per = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
        let received = arrivals.iter().map(|a| a.bytes).sum::<u64>() as f64;
        same(got.offered_bps, c.offered_bytes * 8.0 / seconds, "offered by class");
        self.passed(got.throughput_bps, &c, seconds, "throughput of class");
        same(got.goodput_bps, received * 8.0 / seconds, "goodput");
        same(got.drop_rate, per(c.drops(), c.arrived), "drop rate of class");
        same(got.mark_rate, per(c.marked, c.arrived), "mark rate of class");
        same(got.loss_rate_pps, per(c.drops() / seconds, APPS[class] as f64), "losses per second");
        same(got.packet_bytes, per(c.offered_bytes, c.arrived), "packet size");
        let data = c.offered_bytes - c.arrived * f64::from(HEADERS[class]);
        same(got.efficiency, per(received, data), "efficiency");
        let drops: BTreeMap<_, _> = got.drops.iter().filter(|(_, n)| **n > 0).map(|(w, n)| (w.as_str(), *n)).collect();
        assert_eq!(drops, c.dropped);
        let distributions = &self.out.distributions;
        distribution(distributions, &window.name, &format!("classes.{name}.queue_delay_ms"), &c.waits);
        summary(got.queue_delay_ms, c.waits, "queueing delay of class");
        let latencies: Vec<f64> = arrivals.iter().map(|a| a.took_ms).collect();
        distribution(distributions, &window.name, &format!("classes.{name}.latency_ms"), &latencies);
        summary(got.latency_ms, latencies, "latency");
    }

    /// The flows side by side, and each of them.
    fn flows(&self, window: &Window, index: usize, from: Instant, to: Instant) {
        let seconds = to.since(from).as_secs_f64();
        let mut rates = Vec::new();
        let mut of_traffic: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (app, flow) in self.out.flows.iter().enumerate() {
            let bytes: u64 = self.arrivals(from, to).filter(|a| a.app == app).map(|a| a.bytes).sum();
            assert_eq!(flow.delivered_bytes[index], bytes);
            if self.sends[app].iter().any(|(at, _)| *at >= from && *at < to) {
                rates.push(bytes as f64 * 8.0 / seconds);
                of_traffic.entry(&flow.traffic).or_default().push(bytes as f64 * 8.0 / seconds);
            }
        }
        for (traffic, app) in &window.apps {
            let of_kind = of_traffic.get(traffic.as_str()).map_or(&[][..], Vec::as_slice);
            assert_eq!(app.jain.is_some(), of_kind.len() > 1, "{traffic}: {of_kind:?}");
            app.jain.into_iter().for_each(|found| same(found, jain(of_kind), "Jain's index of one kind"));
        }
        let (n, sum) = (rates.len() as f64, rates.iter().sum::<f64>());
        assert_eq!(window.flows.count, rates.len() as u64);
        same(window.flows.jain, jain(&rates), "Jain's index");
        same(window.flows.throughput_bps.mean, sum / n, "mean rate");
        rates.sort_by(f64::total_cmp);
        same(window.flows.throughput_bps.min, rates[0], "smallest rate");
        same(window.flows.throughput_bps.max, rates[rates.len() - 1], "largest rate");
        for (class, name) in CLASSES.iter().enumerate().take(2) {
            let app = &window.apps[*name];
            assert_eq!((app.population, app.completed.len(), app.connections), (APPS[class] as u64, 0, 0));
            assert_eq!((app.retransmission_rate, app.timeouts_per_s, app.frame_rate), (0.0, 0.0, None));
        }
    }

    fn series(&self) {
        let Series { interval_s, columns } = &self.out.series;
        let rows = columns["links.bottleneck.throughput_bps"].len();
        assert_eq!((*interval_s, rows), (0.5, 36));
        let happened = |class: &str, why: &str| {
            let mut of_class = self.entries.iter().filter(|e| CLASSES[e.class] == class);
            of_class.any(|e| matches!(e.what, What::Refused(w) | What::Taken(w) if w.name() == why))
        };
        for (class, why) in columns.keys().filter_map(|name| name.strip_prefix("classes.")?.split_once(".drops.")) {
            assert!(happened(class, why), "{class} has a column of {why}, for which nothing was dropped");
        }
        for row in 0..rows {
            let from = self.origin + Duration::from_millis(500 * row as u64);
            let to = from + Duration::from_millis(500);
            self.row(columns, row, "links.bottleneck", None, from, to);
            same(columns["links.bottleneck.queue_packets.mean"][row], self.queue(from, to).mean, "queue in a row");
            let known = self.entries.iter().filter(|e| e.at < to).count() as f64;
            assert_eq!(
                columns["links.bottleneck.aqm.entries"][row], known,
                "a gauge is read at the end of its interval"
            );
            for (class, name) in CLASSES.iter().enumerate() {
                let path = format!("classes.{name}");
                let drops = self.row(columns, row, &path, Some(class), from, to);
                let arrivals: Vec<_> = self.arrivals(from, to).filter(|a| a.class == class).collect();
                let column = |what: &str| columns[&format!("{path}.{what}")][row];
                let (bytes, took): (u64, f64) =
                    arrivals.iter().fold((0, 0.0), |(bytes, took), a| (bytes + a.bytes, took + a.took_ms));
                same(column("goodput_bps"), bytes as f64 * 8.0 / 0.5, "goodput in a row");
                same(column("latency_ms.mean"), took / arrivals.len() as f64, "latency in a row");
                same(column("loss_rate_pps"), drops / 0.5 / APPS[class] as f64, "losses in a row");
            }
        }
    }

    /// The columns that links and classes have in common, and the number of drops.
    fn row(
        &self,
        columns: &BTreeMap<String, Vec<f64>>,
        row: usize,
        path: &str,
        class: Option<usize>,
        from: Instant,
        to: Instant,
    ) -> f64 {
        let c = self.count(class, from, to);
        let column = |what: &str| columns[&format!("{path}.{what}")][row];
        self.passed(column("throughput_bps"), &c, 0.5, "throughput in a row");
        same(column("offered_bps"), c.offered_bytes * 8.0 / 0.5, "offered in a row");
        let share = |part: f64| if c.arrived == 0.0 { f64::NAN } else { part / c.arrived };
        same(column("drop_rate"), share(c.drops()), "drop rate in a row");
        same(column("mark_rate"), share(c.marked), "mark rate in a row");
        same(column("queue_delay_ms.mean"), c.waits.iter().sum::<f64>() / c.left, "delay in a row");
        for (why, n) in c.dropped.iter().filter(|_| class.is_some()) {
            same(column(&format!("drops.{why}")), *n as f64, "drops in a row");
        }
        c.drops()
    }
}

#[test]
fn every_number_is_the_one_that_the_packets_give() {
    let mut drops: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 1..=8 {
        let run = random_run(seed);
        for (index, spec) in run.windows.iter().enumerate() {
            let window = &run.out.windows[index];
            assert_eq!(window.name, spec.name);
            same(window.from_s, spec.from.as_secs_f64() - 2.0, "begin");
            same(window.to_s, spec.to.as_secs_f64() - 2.0, "end");
            run.link(window, spec.from, spec.to);
            (0..3).for_each(|class| run.class(window, class, spec.from, spec.to));
            run.flows(window, index, spec.from, spec.to);
        }
        run.series();
        for (app, flow) in run.out.flows.iter().enumerate() {
            let came = run.arrivals.iter().filter(|a| a.app == app).count() as u64;
            assert_eq!((flow.packets, flow.retransmissions, flow.timeouts), (run.sends[app].len() as u64, 0, 0));
            assert_eq!(flow.drops, Some(flow.packets - came), "all that did not come was lost");
        }
        assert_eq!(run.out.engine.packets, run.entries.iter().filter(|e| e.what == What::Left).count() as u64);
        for (why, n) in &run.out.windows[0].links["bottleneck"].drops {
            *drops.entry(why.clone()).or_default() += n;
        }
    }
    assert!(["early", "sojourn", "overflow"].iter().all(|why| drops[*why] > 200), "{drops:?}: each kind is tried");
}
