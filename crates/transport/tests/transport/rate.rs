//! Rate-based transports: the endpoints on a wire in virtual time.

mod lda;
mod open;
mod scp;
mod tfrc;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmkit_base::{Bytes, Duration, Ecn, Instant};
use aqmkit_transport::rate::{Content, Endpoint, Output, Packet, Report};
use aqmkit_transport::{Event, Kind, Profile};

use crate::harness::{Fate, ms};

/// The end that asks.
const A: usize = 0;
/// The end that sends.
const B: usize = 1;

fn profile(congestion: Kind) -> Profile {
    Profile { congestion, mss: Bytes(1000), header: Bytes(40), ..Profile::ns2() }
}

/// Data packets queue for transmission, at most this many.
#[derive(Clone, Copy)]
struct Bottleneck {
    bytes_per_second: f64,
    limit: f64,
}

struct Sent {
    at: Instant,
    flow: usize,
    packet: Packet,
}

/// When something arrives, in which order it was sent, on which flow, at which end, and the slot it lies in.
type Arrival = (Instant, u64, usize, usize, usize);

type Script = Box<dyn FnMut(&Packet, Instant) -> Fate>;

/// Connections over one wire.
struct Net {
    now: Instant,
    profile: Profile,
    flows: Vec<[Endpoint; 2]>,
    /// One way.
    delay: Duration,
    bottleneck: Option<Bottleneck>,
    free: Instant,
    script: Script,
    /// Whether to keep [`Net::sent`].
    keep: bool,
    sent: Vec<Sent>,
    events: Vec<(Instant, usize, Event)>,
    /// How often each end was notified of an arrival.
    news: [u64; 2],
    wire: BinaryHeap<Reverse<Arrival>>,
    slots: Vec<Packet>,
}

impl Net {
    /// This many connections, with a round trip of `rtt_ms` ms and no loss.
    fn new(profile: &Profile, flows: usize, rtt_ms: u64) -> Self {
        let kind = profile.congestion.rate_based().expect("a rate-based transport");
        Net {
            now: Instant::ZERO,
            profile: profile.clone(),
            flows: (0..flows).map(|_| [Endpoint::new(kind.clone()), Endpoint::new(kind.clone())]).collect(),
            delay: Duration::from_millis(rtt_ms) / 2,
            bottleneck: None,
            free: Instant::ZERO,
            script: Box::new(|_, _| Fate::Pass),
            keep: true,
            sent: Vec::new(),
            events: Vec::new(),
            news: [0; 2],
            wire: BinaryHeap::new(),
            slots: Vec::new(),
        }
    }

    /// The same, and the other end of each sends without end.
    fn sending(profile: &Profile, flows: usize, rtt_ms: u64) -> Self {
        let mut net = Net::new(profile, flows, rtt_ms);
        for flow in 0..flows {
            net.call(flow, A, Endpoint::connect);
            net.run_until(net.now + net.delay);
            net.call(flow, B, |end, p, now, out| end.write(p, u64::MAX, now, out));
        }
        net
    }

    fn call(&mut self, flow: usize, end: usize, f: impl FnOnce(&mut Endpoint, &Profile, Instant, &mut Output<'_>)) {
        let (mut packets, mut events) = (Vec::new(), Vec::new());
        let mut out = Output { packets: &mut packets, events: &mut events };
        f(&mut self.flows[flow][end], &self.profile, self.now, &mut out);
        for packet in packets {
            self.send(flow, end, packet);
        }
        crate::ends_last(&events);
        self.news[end] += events.iter().filter(|e| **e == Event::Delivered).count() as u64;
        let others = events.into_iter().filter(|e| *e != Event::Delivered);
        self.events.extend(others.map(|event| (self.now, end, event)));
    }

    fn send(&mut self, flow: usize, from: usize, packet: Packet) {
        if self.keep {
            self.sent.push(Sent { at: self.now, flow, packet });
        }
        let fate = (self.script)(&packet, self.now);
        let mut at = self.now + self.delay;
        if let Some(link) = self.bottleneck.filter(|_| packet.len > 0) {
            let waiting = self.free.since(self.now).as_secs_f64() * link.bytes_per_second / f64::from(packet.len);
            if waiting > link.limit {
                return;
            }
            let time = Duration::from_secs_f64(f64::from(packet.len) / link.bytes_per_second);
            self.free = self.free.max(self.now) + time;
            at = self.free + self.delay;
        }
        let ecn = if fate == Fate::Mark && packet.ecn.is_capable() { Ecn::Ce } else { packet.ecn };
        if fate != Fate::Drop {
            self.slots.push(Packet { ecn, ..packet });
            let slot = self.slots.len() - 1;
            self.wire.push(Reverse((at, slot as u64, flow, 1 - from, slot)));
        }
    }

    fn run_until(&mut self, until: Instant) {
        loop {
            let arrival = self.wire.peek().map(|r| r.0.0);
            let of = |f: usize, e: usize| self.flows[f][e].deadline(&self.profile, self.now).map(|at| (at, f, e));
            let timer = (0..self.flows.len()).flat_map(|f| [of(f, A), of(f, B)]).flatten().min();
            let next = [arrival, timer.map(|t| t.0)].into_iter().flatten().min();
            let Some(at) = next.filter(|&at| at <= until) else { break };
            self.now = self.now.max(at);
            if arrival.is_some_and(|a| a <= at) {
                if let Some(Reverse((_, _, flow, to, slot))) = self.wire.pop() {
                    let packet = self.slots[slot];
                    self.call(flow, to, |end, p, now, out| end.on_packet(p, &packet, now, out));
                }
            } else if let Some((_, flow, end)) = timer {
                self.call(flow, end, Endpoint::on_deadline);
            }
        }
        self.now = self.now.max(until);
    }

    fn delivered(&self, flow: usize) -> u64 {
        self.flows[flow][A].delivered()
    }

    /// Packets per second that a flow delivers in this span of seconds, which begins now.
    fn throughput(&mut self, flow: usize, seconds: u64) -> f64 {
        let before = self.delivered(flow);
        self.run_until(self.now + Duration::from_secs(seconds));
        (self.delivered(flow) - before) as f64 / self.profile.mss.as_f64() / seconds as f64
    }

    /// The allowed rate of a flow in packets per second.
    fn rate(&self, flow: usize) -> f64 {
        self.flows[flow][B].rate(&self.profile, self.now).expect("the end that sends") / self.profile.mss.as_f64()
    }

    /// When packets of data were sent.
    fn data(&self) -> Vec<Instant> {
        self.sent.iter().filter(|s| s.packet.len > 0).map(|s| s.at).collect()
    }

    /// The reports of a flow and when they were sent.
    fn reports(&self, flow: usize) -> Vec<(Instant, Report)> {
        let report = |s: &Sent| match s.packet.content {
            Content::Report(report) if s.flow == flow => Some((s.at, report)),
            _ => None,
        };
        self.sent.iter().filter_map(report).collect()
    }
}

/// Loses packets of data with these numbers.
fn lose(numbers: impl Fn(u64) -> bool + 'static) -> Script {
    Box::new(move |packet, _| match packet.content {
        Content::Data(data) if numbers(data.seq) => Fate::Drop,
        _ => Fate::Pass,
    })
}
