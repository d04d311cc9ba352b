//! The answer to `look`, which a page requests thirty times a second.

use std::collections::BTreeMap;

use aqmkit_aqm::InnerQueue;
use aqmkit_experiment::Problem;
use serde::Serialize;

use crate::session::Session;
use crate::{describe, limits};

#[derive(Serialize)]
struct Look {
    now: f64,
    finished: bool,
    lost_records: u64,
    queues: Vec<Queue>,
    flows: Vec<Flow>,
    flows_total: usize,
    groups: Vec<Group>,
}

#[derive(Serialize)]
struct Queue {
    name: String,
    rate: u64,
    delay_wire: f64,
    packets: u64,
    bytes: u64,
    /// The time for which the oldest packet in the queue has waited.
    delay: f64,
    limit_packets: Option<f64>,
    limit_bytes: Option<f64>,
    gauges: BTreeMap<String, f64>,
    thresholds: BTreeMap<String, f64>,
    lanes: Vec<Lane>,
    counters: Counters,
}

#[derive(Serialize)]
struct Lane {
    name: String,
    packets: Vec<(u32, u32, u8, f64)>,
    more: usize,
}

#[derive(Serialize)]
struct Counters {
    arrived: u64,
    departed: u64,
    dropped: u64,
    marked: u64,
    bytes_departed: u64,
    utilisation: f64,
}

#[derive(Serialize)]
struct Flow {
    id: u32,
    group: u16,
    index: u32,
    transport: &'static str,
    window: Option<u64>,
    ssthresh: Option<u64>,
    rate: f64,
    rtt: Option<f64>,
    in_flight: Option<u64>,
    state: &'static str,
    connections: usize,
    delivered: u64,
    drops: u32,
}

#[derive(Serialize)]
struct Group {
    count: usize,
    rate: f64,
    delivered: u64,
}

/// The shortest time over which a rate is measured, in seconds.
const SPAN: f64 = 0.1;

/// A rate in bits per second from the delivered bytes, updated after each [`SPAN`].
fn rate(kept: &mut (f64, u64, f64), now: f64, delivered: u64) -> f64 {
    let (since, before, latest) = *kept;
    if now - since >= SPAN {
        *kept = (now, delivered, delivered.saturating_sub(before) as f64 * 8.0 / (now - since));
        return kept.2;
    }
    latest
}

impl Session {
    pub(crate) fn look(&mut self, packets: usize, flows: usize) -> Result<String, Problem> {
        let now = self.now();
        let queues = self.shown.iter().map(|&link| self.queue(link, packets.min(limits::SHOWN))).collect();
        let views = self.simulation.flows(limits::SHOWN);
        let mut groups: Vec<Group> =
            self.outline.groups.iter().map(|_| Group { count: 0, rate: 0.0, delivered: 0 }).collect();
        for view in &views {
            if let Some(group) = groups.get_mut(usize::from(view.group)) {
                group.count += 1;
                group.delivered += view.delivered;
            }
        }
        for (i, group) in groups.iter_mut().enumerate() {
            let kept = self.group_rates.entry(i).or_insert((now, group.delivered, 0.0));
            group.rate = rate(kept, now, group.delivered);
        }
        let mut listed = Vec::new();
        for view in views.iter().take(flows.min(limits::SHOWN)) {
            let kept = self.rates.entry(view.app).or_insert((now, view.delivered, 0.0));
            let control = self.outline.groups.get(usize::from(view.group)).and_then(|group| group.control);
            listed.push(Flow {
                id: view.app,
                group: view.group,
                index: view.index,
                transport: control.unwrap_or("datagrams"),
                window: view.window,
                ssthresh: view.ssthresh.filter(|&bytes| bytes < 1 << 40),
                rate: rate(kept, now, view.delivered),
                rtt: view.rtt.map(aqmkit_base::Duration::as_secs_f64),
                in_flight: view.in_flight,
                state: view.phase,
                connections: view.connections,
                delivered: view.delivered,
                drops: view.drops,
            });
        }
        let look = Look {
            now,
            finished: self.finished(),
            lost_records: self.lost,
            queues,
            flows: listed,
            flows_total: views.len(),
            groups,
        };
        serde_json::to_string(&look).map_err(|e| Problem::new(e.to_string()))
    }

    fn queue(&self, link: usize, limit: usize) -> Queue {
        let (view, outline) = (self.simulation.link(link), &self.outline.links[link]);
        let mut lanes: Vec<Lane> = Vec::new();
        let (mut oldest, mut listed) = (0.0_f64, 0);
        view.packets(&mut |queue, packet| {
            let age = packet.waited.as_secs_f64();
            oldest = oldest.max(age);
            let name = match queue {
                InnerQueue::Only => String::new(),
                InnerQueue::Named(name) => name.to_owned(),
                InnerQueue::Number(number) => number.to_string(),
            };
            if lanes.last().is_none_or(|lane| lane.name != name) {
                lanes.push(Lane { name, packets: Vec::new(), more: 0 });
            }
            if let Some(lane) = lanes.last_mut() {
                if listed < limit {
                    lane.packets.push((packet.app, packet.len, packet.ecn as u8, age));
                    listed += 1;
                } else {
                    lane.more += 1;
                }
            }
        });
        let (limit_packets, limit_bytes) = describe::limit(outline);
        Queue {
            name: outline.name.clone(),
            rate: view.rate.as_bps(),
            delay_wire: self.simulation.links()[link].delay.as_secs_f64(),
            packets: view.backlog.packets,
            bytes: view.backlog.bytes,
            delay: oldest,
            limit_packets,
            limit_bytes,
            gauges: view.gauges().into_iter().filter(|(_, value)| value.is_finite()).collect(),
            thresholds: describe::thresholds(outline),
            lanes,
            counters: Counters {
                arrived: view.stats.enqueued,
                departed: view.stats.dequeued,
                dropped: view.stats.drops(),
                marked: view.stats.marks(),
                bytes_departed: view.passed.sent_bytes,
                utilisation: view.utilisation(),
            },
        }
    }
}
