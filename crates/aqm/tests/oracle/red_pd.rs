//! Sections 4 and 5 of the paper, with a list of lists and a punctual end for every interval. Chosen where
//! the text is open: an increase is by the "existing drop rate" at most, half-way to one where it would
//! pass it; the intervals' bounds and the unresponsiveness test are those of the authors' scripts; twice
//! the quantum for unresponsive flows; nothing is filtered from a queue of fewer than two packets.
//!
//! Three rules of the authors' code for ns-2 (`queue/red-pd.cc`, `tcl/ex/red-pd/monitoring.tcl`), each by itself and all
//! together, in place of the text's.

use std::collections::BTreeMap;

use aqmkit_aqm::{Stats, Why};
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::red::{self, Red};
use crate::trace::{Oracle, assert_seen, compare};

const K: usize = 3;
const M: usize = 5;
const R: f64 = 0.004;
const MAX_FLOWS: usize = 3;
const MAX_MONITORED: usize = 4;

/// The rules of the authors' code.
#[derive(Clone, Copy, Default)]
struct Authors {
    /// `modify_p` with the flow's `count`.
    spacing: bool,
    /// `flow->unresponsive_ && (qlen > 1 || !noidle_)`, and for the others `qlen > 1` in any case.
    below_min: bool,
    noidle: bool,
    /// The pairs are over `elapsed`, one interval.
    last_interval: bool,
}

struct Flow {
    p: f64,
    /// Packets let by since the filter's last drop.
    count: i64,
    /// Intervals since the last change.
    unchanged: usize,
    unresponsive: bool,
    arrivals: u64,
    drops: u64,
    since: Instant,
    /// Arrival rates and drop rates.
    pairs: Vec<(f64, f64)>,
}

struct RedPd {
    /// The output queue: RED, or one that drops with a fixed probability.
    red: Red,
    fixed: Option<f64>,
    single: bool,
    /// Section 6.3: this many drops identify a flow that is in fewer lists.
    bursty: Option<u64>,
    authors: Authors,
    arrivals: u64,
    drops: u64,
    p: Option<f64>,
    end: Option<Instant>,
    interval: Duration,
    /// Drops of each flow; the last list is the current one.
    lists: Vec<BTreeMap<u64, u64>>,
    monitored: BTreeMap<u64, Flow>,
}

fn unresponsive(pairs: &[(f64, f64)]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for (bw1, p1) in pairs {
        for (bw2, p2) in pairs {
            if p1 < p2 && p1 / p2 > 0.1 {
                if bw2 / bw1 > (p1 / p2).sqrt() { bad += 1 } else { good += 1 }
            }
        }
    }
    (good == 0 && bad >= 3) || (good == 1 && bad >= 4) || (good >= 2 && bad >= 4 * good)
}

impl RedPd {
    fn until(&mut self, now: Instant) {
        if self.end.is_none() {
            self.interval = self.length(self.fixed.unwrap_or(0.0));
            self.end = Some(now + self.interval);
        }
        while let Some(end) = self.end.filter(|end| *end <= now) {
            self.end_interval(end);
            self.end = Some(end + self.interval);
        }
    }

    fn length(&self, p: f64) -> Duration {
        let length = K as f64 / M as f64 * (R / (1.5 * p).sqrt());
        Duration::from_secs_f64(length.clamp(2.0 * R, 10.0 * R))
    }

    fn drop_rate(&self) -> f64 {
        self.fixed.unwrap_or(self.p.unwrap_or(0.0))
    }

    fn end_interval(&mut self, now: Instant) {
        let sample = if self.arrivals == 0 { 0.0 } else { self.drops as f64 / self.arrivals as f64 };
        let p = self.p.map_or(sample, |p| (1.0 - 0.5) * p + 0.5 * sample);
        self.p = Some(if p < 1e-9 { 0.0 } else { p });
        (self.arrivals, self.drops) = (0, 0);

        let mut largest: Vec<(u64, u64)> = self.lists.pop().unwrap().into_iter().collect();
        largest.sort_by_key(|entry| std::cmp::Reverse(entry.1));
        largest.truncate(MAX_FLOWS);
        self.lists.push(largest.into_iter().collect());

        let mut seen: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        for list in &self.lists {
            for (flow, drops) in list {
                let entry = seen.entry(*flow).or_default();
                *entry = (entry.0 + 1, entry.1 + drops);
            }
        }
        let is_bursty = |drops: u64| self.bursty.is_some_and(|most| drops >= most);
        let is_identified = |(lists, drops): (usize, u64)| match self.single {
            true => drops >= K as u64,
            false => lists >= K || is_bursty(drops),
        };
        let mut identified: Vec<(u64, u64)> =
            seen.iter().filter(|(_, s)| is_identified(**s)).map(|(f, s)| (*f, s.1)).collect();
        identified.sort_by_key(|entry| std::cmp::Reverse(entry.1));

        for flow in self.monitored.values_mut() {
            flow.unchanged += 1;
        }
        self.increase(&identified, now);
        self.decrease(&seen);
        if self.authors.last_interval {
            for flow in self.monitored.values_mut() {
                (flow.arrivals, flow.drops, flow.since) = (0, 0, now);
            }
        }
        self.lists.push(BTreeMap::new());
        if self.lists.len() > M {
            self.lists.remove(0);
        }
        self.interval = self.length(self.drop_rate());
    }

    fn increase(&mut self, identified: &[(u64, u64)], now: Instant) {
        let p = self.drop_rate();
        let avg_drop_count = identified.iter().map(|i| i.1).sum::<u64>() as f64 / identified.len() as f64;
        for (id, drops) in identified {
            let p_delta = *drops as f64 / avg_drop_count * p;
            if let Some(flow) = self.monitored.get_mut(id) {
                if flow.unchanged < M - 1 {
                    continue;
                }
                let time = now.since(flow.since).as_secs_f64();
                if flow.arrivals > 0 {
                    let arrivals = flow.arrivals as f64;
                    flow.pairs.push((arrivals / time, flow.drops as f64 / arrivals));
                    if flow.pairs.len() > 5 {
                        flow.pairs.remove(0);
                    }
                }
                (flow.arrivals, flow.drops, flow.since) = (0, 0, now);
                if unresponsive(&flow.pairs) {
                    flow.unresponsive = true;
                }
                let quanta = if flow.unresponsive { 2.0 } else { 1.0 };
                let existing = flow.p + p;
                let new = flow.p + quanta * if p_delta > existing { existing } else { p_delta };
                flow.p = if new >= 1.0 { (1.0 + flow.p) / 2.0 } else { new };
                flow.unchanged = 0;
            } else if self.monitored.len() < MAX_MONITORED {
                let first = p_delta.min(p);
                let first = if first >= 1.0 { 0.5 } else { first };
                let flow = Flow {
                    p: first,
                    count: 0,
                    unchanged: 0,
                    unresponsive: false,
                    arrivals: 0,
                    drops: 0,
                    since: now,
                    pairs: Vec::new(),
                };
                self.monitored.insert(*id, flow);
            }
        }
    }

    fn decrease(&mut self, seen: &BTreeMap<u64, (usize, u64)>) {
        let mut unmonitored = Vec::new();
        for (id, flow) in &mut self.monitored {
            let (beta, p_d, threshold, l) =
                if flow.unresponsive { (1.5, 0.05, 0.0025, 5) } else { (2.0, 0.05, 0.005, 3) };
            if !seen.contains_key(id) && flow.unchanged >= l {
                flow.p -= (flow.p - flow.p / beta).min(p_d);
                flow.unchanged = 0;
                if flow.p <= threshold {
                    unmonitored.push(*id);
                }
            }
        }
        for id in unmonitored {
            self.monitored.remove(&id);
        }
    }

    fn output(&mut self, packet: Pkt, now: Instant, rng: &mut Rng) -> bool {
        match self.fixed {
            None => self.red.arriving(packet, now, rng),
            Some(p) if rng.uniform() < p || self.red.queue.len() >= 60 => false,
            Some(_) => {
                self.red.queue.push(packet);
                true
            }
        }
    }
}

impl Oracle for RedPd {
    fn arriving(&mut self, packet: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.until(now);
        let (above_min, waiting) = (self.red.q_avg >= 5.0, self.red.queue.len() > 1);
        if let Some(flow) = self.monitored.get_mut(&packet.flow) {
            flow.arrivals += 1;
            let may = match self.authors {
                _ if self.fixed.is_some() => true,
                Authors { below_min: true, noidle, .. } if flow.unresponsive => waiting || !noidle,
                _ => above_min && waiting,
            };
            let room = 1.0 - flow.count as f64 * flow.p;
            let p = match self.authors.spacing {
                true if room <= 0.0 => 1.0,
                true => flow.p / room,
                false => flow.p,
            };
            if may && rng.uniform() < p {
                flow.drops += 1;
                flow.count = 0;
                return false;
            }
            flow.count += 1;
        }
        let enqueued = self.output(packet, now, rng);
        self.arrivals += 1;
        if !enqueued {
            self.drops += 1;
            *self.lists.last_mut().unwrap().entry(packet.flow).or_default() += 1;
            if let Some(flow) = self.monitored.get_mut(&packet.flow) {
                flow.drops += 1;
            }
        }
        enqueued
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.until(now);
        self.red.departing(now)
    }
}

fn oracle(fixed: Option<f64>, single: bool, bursty: Option<u64>, authors: Authors) -> RedPd {
    RedPd {
        red: red::oracle(1.0 / 16.0, 5.0, 15.0, 60),
        fixed,
        single,
        bursty,
        authors,
        arrivals: 0,
        drops: 0,
        p: None,
        end: None,
        interval: Duration::ZERO,
        lists: vec![BTreeMap::new()],
        monitored: BTreeMap::new(),
    }
}

const COMMON: &str = r#""rtt": "4ms", "limit": 60, "min": 5, "max": 15, "weight": 0.0625, "gentle": false, "max_flows": 3, "max_monitored": 4"#;

#[test]
fn red_pd_is_sections_4_and_5() {
    for (options, fixed, single, bursty, reasons) in [
        ("", None, false, None, &[Why::Unfair, Why::Penalty, Why::Early, Why::Forced][..]),
        (r#", "identify": "single""#, None, true, None, &[Why::Unfair, Why::Early]),
        (r#", "drop_rate": 0.05"#, Some(0.05), false, None, &[Why::Unfair, Why::Penalty, Why::Early, Why::Overflow]),
        (r#", "burst_drops": 6"#, None, false, Some(6), &[Why::Unfair, Why::Early]),
    ] {
        let spec = spec("red-pd", &format!("{{{COMMON}{options}}}"));
        assert_seen(&compare(&spec, &link(), 6, || oracle(fixed, single, bursty, Authors::default())), reasons);
    }
}

#[test]
fn red_pd_has_the_rules_of_the_authors_code() {
    let rules = |spacing, below_min, last_interval| Authors { spacing, below_min, last_interval, noidle: true };
    for authors in [
        rules(true, false, false),
        rules(false, true, false),
        rules(false, false, true),
        rules(true, true, true),
        Authors { noidle: false, ..rules(true, true, true) },
    ] {
        let Authors { spacing, below_min, noidle, last_interval } = authors;
        let options = format!(
            r#", "ns2_spacing": {spacing}, "ns2_below_min": {below_min}, "ns2_last_interval": {last_interval}, "noidle": {noidle}"#
        );
        let mut seen = Stats::default();
        for (fixed, more) in [(None, ""), (Some(0.05), r#", "drop_rate": 0.05"#)] {
            let spec = spec("red-pd", &format!("{{{COMMON}{options}{more}}}"));
            let stats = compare(&spec, &link(), 6, || oracle(fixed, false, None, authors));
            for why in Why::ALL {
                seen.dropped[why as usize] += stats.dropped[why as usize];
            }
        }
        assert_seen(&seen, &[Why::Unfair, Why::Penalty, Why::Early]);
    }
}
