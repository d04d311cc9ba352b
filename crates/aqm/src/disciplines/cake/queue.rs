//! CAKE's queues and their scheduling.

use aqmkit_base::size::Counting;
use aqmkit_base::{BitRate, Bytes, Duration, FlowKey, Instant, Rng};

use super::ack_filter::{AckFilter, to_drop};
use super::hosts::{Hosts, QUEUES, Sets};
use super::{Config, Isolation, Params};
use crate::law::cobalt::{Cobalt, Head};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{FlowQueues, Links, List, over};
use crate::verdict::{Verdict, Why};

/// A flow's state in the rounds of its tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// It does not.
    None,
    /// Among the new queues.
    Sparse,
    /// Among the old ones, but counted as sparse: it was empty when its turn came.
    SparseWait,
    /// Among the old ones, with a standing queue.
    Bulk,
    /// Empty, and kept until COBALT has decayed.
    Decaying,
}

#[derive(Clone, Debug)]
struct Flow {
    set: Set,
    /// Bytes that it may still send in this round.
    deficit: i64,
    cobalt: Cobalt,
    /// Its entries in its tin's tables of hosts.
    source: usize,
    destination: usize,
}

/// One class of traffic: its flows, and the shaper that tells whether it exceeds its rate.
#[derive(Clone, Debug)]
struct Tin {
    /// The sets of queues in use, and with the places in them the flows and the hash of each one's current or last flow.
    sets: Sets,
    flows: Vec<Flow>,
    tags: Vec<u32>,
    /// When it was made, from which COBALT counts in each queue.
    made: Instant,
    sources: Hosts,
    destinations: Hosts,
    links: Links,
    new: List,
    old: List,
    decaying: List,
    /// Flows in the sets `Sparse` and `SparseWait`, and in `Bulk`.
    sparse: u64,
    bulk: u64,
    packets: u64,
    deficit: i64,
    time_next: Instant,
}

impl Tin {
    fn new(now: Instant) -> Self {
        Tin {
            sets: Sets::default(),
            flows: Vec::new(),
            tags: Vec::new(),
            made: now,
            sources: Hosts::default(),
            destinations: Hosts::default(),
            links: Links::default(),
            new: List::default(),
            old: List::default(),
            decaying: List::default(),
            sparse: 0,
            bulk: 0,
            packets: 0,
            deficit: 0,
            time_next: now,
        }
    }

    fn busy(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The list for flows in this set.
    fn list(&mut self, set: Set) -> Option<&mut List> {
        match set {
            Set::None => None,
            Set::Sparse => Some(&mut self.new),
            Set::SparseWait | Set::Bulk => Some(&mut self.old),
            Set::Decaying => Some(&mut self.decaying),
        }
    }

    /// Appends a flow to the list of its new set, and updates all counts.
    fn move_to(&mut self, at: usize, set: Set) {
        let was = self.flows[at].set;
        self.counted(at, was, false);
        self.counted(at, set, true);
        self.flows[at].set = set;
        let mut links = std::mem::take(&mut self.links);
        if let Some(list) = self.list(was) {
            links.remove(list, at);
        }
        if let Some(list) = self.list(set) {
            links.push_back(list, at);
        }
        self.links = links;
    }

    fn counted(&mut self, at: usize, set: Set, more: bool) {
        let count = match set {
            Set::Sparse | Set::SparseWait => &mut self.sparse,
            Set::Bulk => {
                self.sources.count(self.flows[at].source, more);
                self.destinations.count(self.flows[at].destination, more);
                &mut self.bulk
            }
            Set::None | Set::Decaying => return,
        };
        *count = if more { *count + 1 } else { *count - 1 };
    }

    /// The queue of a flow: its own, else a free one in its set, else that of its hash.
    fn queue_of(&mut self, flow: u32, [source, destination]: [u32; 2]) -> usize {
        let (mut ways, new) = self.sets.ways(flow);
        if new {
            let unused = Flow { set: Set::None, deficit: 0, cobalt: Cobalt::new(self.made), source: 0, destination: 0 };
            self.flows.resize(self.sets.places(), unused);
            self.tags.resize(self.sets.places(), 0);
        }
        let own = ways.clone().find(|&at| self.tags[at] == flow);
        if let Some(at) = own.filter(|&at| self.flows[at].set != Set::None) {
            return at;
        }
        let free = || ways.clone().find(|&at| self.flows[at].set == Set::None);
        let at = own.or_else(free).or_else(|| ways.next()).unwrap_or_default();
        // If two flows share a queue, its hosts are those of the latest arrival.
        let bulk = self.flows[at].set == Set::Bulk;
        if bulk {
            self.sources.count(self.flows[at].source, false);
            self.destinations.count(self.flows[at].destination, false);
        }
        self.tags[at] = flow;
        self.flows[at].source = self.sources.place(source);
        self.flows[at].destination = self.destinations.place(destination);
        if bulk {
            self.sources.count(self.flows[at].source, true);
            self.destinations.count(self.flows[at].destination, true);
        }
        at
    }

    /// Bulk flows of a flow's busier host.
    fn host_load(&self, at: usize, isolation: Isolation) -> u32 {
        let (by_source, by_destination) = isolation.fair_between();
        let source = if by_source { self.sources.bulk(self.flows[at].source) } else { 0 };
        let destination = if by_destination { self.destinations.bulk(self.flows[at].destination) } else { 0 };
        source.max(destination).max(1)
    }

    /// The next queue to consider: a decaying one once per request, then new ones, then old ones.
    fn first(&self, decaying: bool) -> Option<usize> {
        let rest = || self.new.front().or(self.old.front()).or(self.decaying.front());
        self.decaying.front().filter(|_| decaying).or_else(rest)
    }

    /// Charges the shaper with this transmission time.
    fn charge(&mut self, time: Duration, now: Instant) {
        self.time_next = if self.time_next < now { self.time_next + time } else { self.time_next.max(now + time) };
    }
}

/// The shaper of all tins.
#[derive(Clone, Copy, Debug)]
struct Shaper {
    time_next: Instant,
    /// Limits the debt, so that charged drops never block the link for long.
    failsafe_next: Instant,
}

/// CAKE's queues.
pub(super) struct Cake<P> {
    config: Config,
    tins: Vec<Tin>,
    /// The flow at place `f` of tin `t` has the queue `f * tins + t`: see [`Cake::queue`]. Packets are stored with their arrival time.
    queues: FlowQueues<P, Instant>,
    shaper: Shaper,
    /// The tin whose turn it is, if there is no shaper.
    turn: usize,
    stats: Stats,
}

impl<P: Packet> Cake<P> {
    pub(super) fn new(config: Config, now: Instant) -> Self {
        Cake {
            tins: config.tins.iter().map(|_| Tin::new(now)).collect(),
            queues: FlowQueues::new(0, Counting::Bytes),
            shaper: Shaper { time_next: now, failsafe_next: now },
            turn: 0,
            stats: Stats::default(),
            config,
        }
    }

    /// The queue of the flow at a place of a tin. Tins that are not used take no queues.
    fn queue(&self, t: usize, at: usize) -> usize {
        at * self.tins.len() + t
    }

    /// The hash that selects the queue, and those of its hosts.
    fn hashes(&self, packet: &P) -> (u32, [u32; 2]) {
        let hash = |key: u64| (FlowKey(key).hash(self.config.salt) >> 32) as u32;
        let ends = packet.ends();
        // A host has the same number at either end, but differs as source and as destination.
        let hosts = [hash(ends.source.into()), hash(ends.destination.into()).rotate_left(16)];
        let flow = match self.config.params.isolation {
            Isolation::Flowblind => 0,
            Isolation::Srchost => hosts[0],
            Isolation::Dsthost => hosts[1],
            Isolation::Hosts => hosts[0] ^ hosts[1],
            _ => hash(packet.flow().0),
        };
        (flow, hosts)
    }

    /// Transmission time of a packet at a rate.
    fn time(&self, len: u32, rate: BitRate) -> Duration {
        rate.time_to_send(self.config.framing.sent(len))
    }

    /// `cake_advance_shaper`; returns the bytes that the packet is charged for.
    fn advance_shaper(&mut self, t: usize, len: u32, dropped: bool, now: Instant) -> i64 {
        if let Some(rate) = self.config.params.bandwidth {
            let time = self.time(len, rate);
            let of_tin = self.time(len, self.config.tins[t].rate.unwrap_or(rate));
            self.tins[t].charge(of_tin, now);
            self.shaper.time_next += time;
            if !dropped {
                self.shaper.failsafe_next += time + time / 2;
            }
        }
        let Bytes(sent) = self.config.framing.sent(len);
        sent as i64
    }

    fn holds(&self, packets: u64, bytes: u64) -> bool {
        self.config.memlimit.is_none_or(|limit| bytes <= limit)
            && !over(Backlog { packets, bytes }, self.config.params.limit)
    }

    /// `cake_drop`: from the head of the longest queue.
    fn drop_from_longest(&mut self, why: Why, cx: &mut Cx<'_, P>) {
        let Some(q) = self.queues.longest() else { return };
        let Some((packet, _)) = self.queues.pop(q) else { return };
        let (t, at) = (q % self.tins.len(), q / self.tins.len());
        self.tins[t].packets -= 1;
        self.tins[t].flows[at].cobalt.queue_full(&self.config.tins[t].law, cx.now);
        if self.config.params.ingress {
            self.advance_shaper(t, packet.len(), true, cx.now);
        }
        cx.discard(packet, why, &mut self.stats);
    }

    fn shrink(&mut self, why: Why, cx: &mut Cx<'_, P>) {
        while !self.holds(self.queues.backlog().packets, self.queues.backlog().bytes) {
            self.drop_from_longest(why, cx);
        }
    }

    /// Drops the acknowledgement superseded by the one at the tail of a queue.
    fn filter_acks(&mut self, t: usize, q: usize, cx: &mut Cx<'_, P>) {
        let filter = self.config.params.ack_filter;
        if filter == AckFilter::Off {
            return;
        }
        let last = self.queues.length(q).packets as usize - 1;
        let Some(new) = self.queues.each(q).nth(last).and_then(|(packet, _)| packet.ack()) else { return };
        let before = self.queues.each(q).take(last).enumerate();
        let acks = before.filter_map(|(at, (packet, _))| Some((at, packet.ack()?)));
        let of_the_same = acks.filter(|(_, ack)| ack.connection == new.connection);
        let Some(at) = to_drop(filter, of_the_same, last, new) else { return };
        let Some((packet, _)) = self.queues.remove(q, at) else { return };
        self.tins[t].packets -= 1;
        if self.config.params.ingress {
            self.advance_shaper(t, packet.len(), true, cx.now);
        }
        cx.discard(packet, Why::Matched, &mut self.stats);
    }

    /// The tin to serve.
    fn choose_tin(&mut self, now: Instant) -> Option<usize> {
        if self.config.params.bandwidth.is_some() {
            return self.tin_on_schedule(now);
        }
        if !self.tins.iter().any(Tin::busy) {
            return None;
        }
        while self.tins[self.turn].deficit < 0 || !self.tins[self.turn].busy() {
            let tin = &mut self.tins[self.turn];
            if tin.deficit <= 0 {
                tin.deficit += self.config.tins[self.turn].quantum;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
        Some(self.turn)
    }

    /// The last tin within its rate, else the one that will be first.
    fn tin_on_schedule(&self, now: Instant) -> Option<usize> {
        let busy = self.tins.iter().enumerate().filter(|(_, tin)| tin.busy());
        let mut best: Option<(Instant, usize)> = None;
        for (t, tin) in busy {
            if tin.time_next <= now || best.is_none_or(|(time, _)| tin.time_next <= time) {
                best = Some((tin.time_next, t));
            }
        }
        best.map(|(_, t)| t)
    }

    /// A flow without credit receives some and moves to the end of the old list.
    fn next_round(&mut self, t: usize, at: usize, rng: &mut Rng) {
        let waiting = !self.queues.is_empty(self.queue(t, at));
        let tin = &mut self.tins[t];
        let set = match tin.flows[at].set {
            Set::Sparse if waiting => Set::Bulk,
            Set::Sparse => Set::SparseWait,
            // A decaying flow has no deficit, as long as COBALT drops only its first packets.
            Set::Decaying | Set::None => Set::SparseWait,
            set => set,
        };
        tin.move_to(at, set);
        let quantum = self.config.tins[t].flow_quantum;
        let load = tin.host_load(at, self.config.params.isolation);
        tin.flows[at].deficit += share(quantum, load, rng);
    }

    /// A queue was found empty: it leaves its tin's rounds, or stays until COBALT has decayed.
    fn found_empty(&mut self, t: usize, at: usize, now: Instant) {
        let tin = &mut self.tins[t];
        let cobalt = &mut tin.flows[at].cobalt;
        cobalt.queue_empty(&self.config.tins[t].law, now);
        let set = if cobalt.at_rest(now) { Set::None } else { Set::Decaying };
        tin.move_to(at, set);
    }

    /// COBALT's verdict on the packet just taken from the head of a queue.
    fn judge(&mut self, t: usize, at: usize, packet: &P, since: Instant, cx: &mut Cx<'_, P>) -> Verdict {
        let last = self.queues.is_empty(self.queue(t, at));
        let tin = &mut self.tins[t];
        let bulk_flows = if self.config.params.ingress { tin.bulk } else { 0 };
        let head = Head { sojourn: cx.now.since(since), can_mark: packet.ecn().is_capable(), bulk_flows };
        let cobalt = &mut tin.flows[at].cobalt;
        cobalt.judge(&self.config.tins[t].law, head, cx.now, cx.rng).verdict(last)
    }
}

/// A flow's share of a quantum; a random number rounds it up or down.
fn share(quantum: u64, load: u32, rng: &mut Rng) -> i64 {
    if load == 1 {
        return quantum as i64;
    }
    (quantum as f64 / f64::from(load) + rng.uniform()) as i64
}

impl<P: Packet> Qdisc<P> for Cake<P> {
    /// `cake_enqueue`.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        if !self.holds(1, packet.len().into()) {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        let t = self.config.tin(&packet);
        let (flow, hosts) = self.hashes(&packet);
        let at = self.tins[t].queue_of(flow, hosts);
        if self.tins[t].packets == 0 {
            // A shaper accumulates no credit while there is nothing to send.
            self.tins[t].time_next = self.tins[t].time_next.max(cx.now);
            if self.queues.backlog().packets == 0 && self.shaper.time_next < cx.now {
                self.shaper = Shaper { time_next: cx.now, failsafe_next: cx.now };
            }
        }
        let q = self.queue(t, at);
        self.queues.push(q, packet, cx.now);
        self.tins[t].packets += 1;
        self.filter_acks(t, q, cx);
        match self.tins[t].flows[at].set {
            Set::None | Set::Decaying => {
                self.tins[t].move_to(at, Set::Sparse);
                let load = self.tins[t].host_load(at, self.config.params.isolation);
                self.tins[t].flows[at].deficit = self.config.tins[t].flow_quantum as i64 / i64::from(load);
            }
            Set::SparseWait => {
                let tin = &mut self.tins[t];
                tin.counted(at, Set::SparseWait, false);
                tin.counted(at, Set::Bulk, true);
                tin.flows[at].set = Set::Bulk;
            }
            Set::Sparse | Set::Bulk => {}
        }
        self.shrink(Why::Evicted, cx);
    }

    /// `cake_dequeue`.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        let mut decaying = true;
        loop {
            if self.queues.backlog().packets == 0 {
                return Dequeued::Empty;
            }
            let open = self.shaper.time_next.min(self.shaper.failsafe_next);
            if open > cx.now {
                return Dequeued::NotBefore(open);
            }
            let Some(t) = self.choose_tin(cx.now) else { return Dequeued::Empty };
            let Some(at) = self.tins[t].first(std::mem::take(&mut decaying)) else { continue };
            if self.tins[t].flows[at].deficit <= 0 {
                self.next_round(t, at, cx.rng);
                continue;
            }
            let Some((mut packet, since)) = self.queues.pop(self.queue(t, at)) else {
                self.found_empty(t, at, cx.now);
                continue;
            };
            self.tins[t].packets -= 1;
            let verdict = self.judge(t, at, &packet, since, cx);
            let dropped = matches!(verdict, Verdict::Drop(_));
            if !dropped || self.config.params.ingress {
                let sent = self.advance_shaper(t, packet.len(), dropped, cx.now);
                self.tins[t].flows[at].deficit -= sent;
                self.tins[t].deficit -= sent;
            }
            match verdict {
                Verdict::Drop(why) => {
                    cx.discard(packet, why, &mut self.stats);
                    continue;
                }
                Verdict::Mark(why) => cx.mark(&mut packet, why, &mut self.stats),
                Verdict::Pass => {}
            }
            self.stats.dequeued += 1;
            return Dequeued::Packet(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let new = Config::new(params.of::<Params>()?, link)?;
        let fixed = |config: &Config| {
            let Params { diffserv, isolation, salt, .. } = config.params;
            (diffserv, isolation, salt)
        };
        if fixed(&new) != fixed(&self.config)
            || new.map != self.config.map
            || new.params.classes != self.config.params.classes
        {
            let want = "it would move flows to other queues while packets wait; this needs a new queue";
            return Err(ParamError::new("diffserv, isolation, classes or salt", "another", want));
        }
        self.config = new;
        self.shrink(Why::Reconfigured, cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        let of_all = |count: fn(&Tin) -> u64| self.tins.iter().map(count).sum::<u64>() as f64;
        out("sparse_flows", of_all(|tin| tin.sparse));
        out("bulk_flows", of_all(|tin| tin.bulk));
        let p_drop = self.tins.iter().flat_map(|tin| &tin.flows).map(|flow| flow.cobalt.p_drop());
        out("p.max", p_drop.fold(0.0, f64::max));
        for (rules, tin) in self.config.tins.iter().zip(&self.tins) {
            out(&format!("queue.{}", rules.name), tin.packets as f64);
        }
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        for (t, tin) in self.tins.iter().enumerate() {
            for (number, at) in tin.sets.by_number() {
                let packets = self.queues.each(self.queue(t, at));
                packets.for_each(|(packet, _)| see(InnerQueue::Number(t * QUEUES + number), packet));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ends, TestPacket};
    use crate::qdisc::Discard;

    /// Each host has as many bulk flows as are counted for it, at either end, also where more flows than queues come and share some.
    fn assert_counts(tin: &Tin) {
        let bulk = |flow: &&Flow| flow.set == Set::Bulk;
        assert_eq!(tin.bulk, tin.flows.iter().filter(bulk).count() as u64);
        for host in 0..tin.sources.places() {
            let from = tin.flows.iter().filter(bulk).filter(|flow| flow.source == host).count();
            assert_eq!(tin.sources.bulk(host) as usize, from, "source {host}");
        }
        for host in 0..tin.destinations.places() {
            let to = tin.flows.iter().filter(bulk).filter(|flow| flow.destination == host).count();
            assert_eq!(tin.destinations.bulk(host) as usize, to, "destination {host}");
        }
    }

    #[test]
    fn hosts_count_the_bulk_flows_that_they_have() {
        let link = Link::new(BitRate::from_mbps(10));
        let config = Config::new(&Params::default(), &link).unwrap_or_else(|e| panic!("{e}"));
        let mut cake = Cake::new(config, Instant::ZERO);
        let (mut rng, mut draw) = (Rng::stream(1, "cake"), Rng::stream(1, "flows"));
        let mut now = Instant::ZERO;
        for round in 0..30 {
            for _ in 0..400 {
                now += Duration::from_micros(draw.below(800));
                let mut cx = Cx { now, rng: &mut rng, sink: &mut Discard };
                // Many more come than go at first.
                if draw.chance(if round < 20 { 0.8 } else { 0.1 }) {
                    // Hosts with several flows each.
                    let flow = draw.below(3000);
                    let ends = Ends { source: (flow % 7) as u32, destination: (flow % 11) as u32 };
                    cake.enqueue(TestPacket { ends: Some(ends), ..TestPacket::of(flow, 1000) }, &mut cx);
                } else {
                    cake.dequeue(&mut cx);
                }
            }
            cake.tins.iter().for_each(assert_counts);
            assert!(round != 19 || cake.tins.iter().any(|tin| tin.bulk > 100), "there are bulk flows");
        }
    }
}
