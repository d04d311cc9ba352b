//! Many queues under one scheduler: the flow queuing of RFC 8290, over any [`Aqm`].

use aqmkit_base::flow::salt;
use aqmkit_base::{Amount, Bytes, Duration, FlowKey, Instant};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::Discipline;
use crate::link::Link;
use crate::packet::{Packet, PacketView};
use crate::params::{AnyParams, ParamError, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{Links, List, Pool, over};
use crate::timer::Timer;
use crate::verdict::{Verdict, Why};

/// Parameters of the scheduler, as `params_with_fq!` describes them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "params_with_fq! documents the fields")]
pub struct FqParams {
    pub limit: Amount,
    pub memory_limit: Bytes,
    pub flows: u32,
    pub quantum: Bytes,
    pub drop_batch: u32,
    pub salt: u64,
}

/// The index of a flow's queue: the high half of the salted hash, scaled to `queues` without a division.
fn queue_of(flow: FlowKey, salt: u64, queues: u32) -> usize {
    (((flow.hash(salt) >> 32) * u64::from(queues)) >> 32) as usize
}

impl FqParams {
    fn check(self) -> Result<Self, ParamError> {
        usable_limit("limit", self.limit)?;
        in_range("memory_limit", self.memory_limit.as_f64(), 1.0, f64::INFINITY)?;
        in_range("flows", f64::from(self.flows), 1.0, 65_536.0)?;
        in_range("quantum", self.quantum.as_f64(), 256.0, 1_048_576.0)
            .map_err(|e| e.cite("RFC 8290, section 5.2.4; below 256 bytes a packet takes many rounds"))?;
        in_range("drop_batch", f64::from(self.drop_batch), 1.0, f64::INFINITY)?;
        Ok(self)
    }

    fn holds(&self, packets: u64, bytes: u64) -> bool {
        bytes <= self.memory_limit.0 && !over(Backlog { packets, bytes }, self.limit)
    }
}

/// Defines the `Params` of flow queuing over a discipline: the scheduler's fields, then those that the macro `$with` adds.
macro_rules! params_with_fq {
    ($with:ident, $(#[$about:meta])* { $($rest:tt)* }) => {
        $with! {
            $(#[$about])*
            {
                /// Capacity of all queues together.
                limit: aqmkit_base::Amount = aqmkit_base::Amount::Packets(10_240.0),
                /// The same limit in bytes.
                #[serde(alias = "memlimit")]
                memory_limit: aqmkit_base::Bytes = aqmkit_base::Bytes(32 << 20),
                /// Number of queues that flows are hashed to.
                flows: u32 = 1024,
                /// Bytes that a queue sends per round.
                quantum: aqmkit_base::Bytes = aqmkit_base::Bytes(1500),
                /// Maximum packets dropped at once when over the limit.
                drop_batch: u32 = 64,
                /// Salt of the hash: determines which flows share a queue.
                salt: u64 = 0,
            }
            $($rest)*
        }

        impl Params {
            fn fq(&self) -> $crate::flow_queuing::FqParams {
                let &Params { limit, memory_limit, flows, quantum, drop_batch, salt, .. } = self;
                $crate::flow_queuing::FqParams { limit, memory_limit, flows, quantum, drop_batch, salt }
            }
        }
    };
}
pub(crate) use params_with_fq;

/// A discipline that is flow queuing over an [`Aqm`].
pub trait FlowQueued: Discipline {
    /// The discipline of each queue.
    type Aqm: Aqm;

    /// The scheduler's parameters.
    fn scheduler(&self) -> FqParams;

    /// The parameters of each queue's algorithm. Its own limit is not used.
    fn aqm(&self) -> <Self::Aqm as Aqm>::Params;

    /// Both, checked.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    fn check(&self, link: &Link) -> Result<(FqParams, <Self::Aqm as Aqm>::Config), ParamError> {
        Ok((self.scheduler().check()?, Self::Aqm::config(&self.aqm(), link)?))
    }
}

#[derive(Clone, Debug)]
struct Flow<A> {
    aqm: A,
    waiting: List,
    packets: u32,
    /// Bytes it may still send in this round.
    deficit: i64,
    /// Whether it is among the new or the old queues.
    listed: bool,
    /// Its algorithm's timer, which fires when the queue is touched.
    timer: Timer,
}

/// RFC 8290's scheduler: deficit round robin over hashed queues, new ones first.
pub struct Fq<P, D: FlowQueued> {
    params: FqParams,
    /// Mixed from the parameter, which is a plain number.
    salt: u64,
    config: <D::Aqm as Aqm>::Config,
    flows: Vec<Flow<D::Aqm>>,
    /// Bytes in each queue, in an array of its own: finding the longest queue scans a small array.
    bytes: Vec<u64>,
    /// Packets with their arrival times.
    pool: Pool<(P, Instant)>,
    rounds: Links,
    new: List,
    old: List,
    backlog: Backlog,
    stats: Stats,
}

impl<P: Packet, D: FlowQueued> Fq<P, D> {
    /// Empty queues at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &D, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let (params, config) = params.check(link)?;
        let flow = || Flow {
            aqm: D::Aqm::new(&config, now),
            waiting: List::default(),
            packets: 0,
            deficit: 0,
            listed: false,
            timer: Timer::new::<D::Aqm>(&config, now),
        };
        Ok(Fq {
            flows: std::iter::repeat_with(flow).take(params.flows as usize).collect(),
            bytes: vec![0; params.flows as usize],
            salt: salt(params.salt),
            params,
            config,
            pool: Pool::default(),
            rounds: Links::default(),
            new: List::default(),
            old: List::default(),
            backlog: Backlog::default(),
            stats: Stats::default(),
        })
    }

    fn view(&self, at: usize) -> QueueView {
        QueueView { packets: self.flows[at].packets, bytes: self.bytes[at], full: false }
    }

    fn put(&mut self, at: usize, packet: P, now: Instant) {
        let len = u64::from(packet.len());
        self.bytes[at] += len;
        self.backlog.bytes += len;
        self.backlog.packets += 1;
        self.flows[at].packets += 1;
        self.pool.push(&mut self.flows[at].waiting, (packet, now));
    }

    fn take(&mut self, at: usize, now: Instant) -> Option<(P, PacketView)> {
        let (packet, since) = self.pool.pop(&mut self.flows[at].waiting)?;
        self.flows[at].packets -= 1;
        let len = u64::from(packet.len());
        self.bytes[at] -= len;
        self.backlog.bytes -= len;
        self.backlog.packets -= 1;
        let pkt = PacketView::of(&packet, now.since(since));
        Some((packet, pkt))
    }

    /// Moves the first of the new or the old queues to the end of the old ones.
    fn next_round(&mut self, from_new: bool) {
        let first = self.rounds.pop_front(if from_new { &mut self.new } else { &mut self.old });
        if let Some(at) = first {
            self.rounds.push_back(&mut self.old, at);
        }
    }

    fn catch_up(&mut self, at: usize, now: Instant) {
        let queue = self.view(at);
        let flow = &mut self.flows[at];
        flow.timer.catch_up(&mut flow.aqm, &self.config, queue, now);
    }

    /// Drops from the head of the queue with the most bytes, until half of it or `drop_batch` packets are gone: one
    /// search for many drops.
    fn drop_from_fattest(&mut self, why: Why, cx: &mut Cx<'_, P>) {
        let most = self.bytes.iter().copied().max().unwrap_or(0);
        let Some(at) = self.bytes.iter().position(|&bytes| bytes == most) else { return };
        self.catch_up(at, cx.now);
        for _ in 0..self.params.drop_batch {
            let Some((packet, pkt)) = self.take(at, cx.now) else { return };
            let queue = self.view(at);
            self.flows[at].aqm.on_discard(&self.config, pkt, queue, cx.now);
            cx.discard(packet, why, &mut self.stats);
            if most - self.bytes[at] >= most / 2 {
                return;
            }
        }
    }

    fn shrink(&mut self, why: Why, cx: &mut Cx<'_, P>) {
        while self.backlog.packets > 0 && !self.params.holds(self.backlog.packets, self.backlog.bytes) {
            self.drop_from_fattest(why, cx);
        }
    }

    /// The next packet of a queue that its algorithm passes.
    fn serve(&mut self, at: usize, cx: &mut Cx<'_, P>) -> Option<P> {
        self.catch_up(at, cx.now);
        while let Some((mut packet, pkt)) = self.take(at, cx.now) {
            let queue = self.view(at);
            let mut env = Env { now: cx.now, rng: cx.rng };
            match self.flows[at].aqm.on_departure(&self.config, pkt, queue, &mut env) {
                Verdict::Drop(why) => {
                    cx.discard(packet, why, &mut self.stats);
                    continue;
                }
                Verdict::Mark(why) => cx.mark(&mut packet, why, &mut self.stats),
                Verdict::Pass => {}
            }
            return Some(packet);
        }
        self.flows[at].aqm.on_empty(&self.config, cx.now);
        None
    }
}

impl<P: Packet, D: FlowQueued> Qdisc<P> for Fq<P, D> {
    /// RFC 8290, section 4.1.
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let pkt = PacketView::of(&packet, Duration::ZERO);
        let at = queue_of(pkt.flow, self.salt, self.params.flows);
        self.catch_up(at, cx.now);
        let queue = self.view(at);
        let mut env = Env { now: cx.now, rng: cx.rng };
        let verdict = self.flows[at].aqm.on_arrival(&self.config, pkt, queue, &mut env);
        if let Verdict::Drop(why) = verdict {
            return cx.discard(packet, why, &mut self.stats);
        }
        if !self.params.holds(1, u64::from(pkt.len)) {
            // It would not fit even into empty queues.
            self.flows[at].aqm.on_discard(&self.config, pkt, queue, cx.now);
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        if let Verdict::Mark(why) = verdict {
            cx.mark(&mut packet, why, &mut self.stats);
        }
        self.put(at, packet, cx.now);
        if !self.flows[at].listed {
            self.flows[at].deficit = self.params.quantum.0 as i64;
            self.flows[at].listed = true;
            self.rounds.push_back(&mut self.new, at);
        }
        self.shrink(Why::Evicted, cx);
    }

    /// RFC 8290, section 4.2.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        loop {
            let (is_new, at) = match (self.new.front(), self.old.front()) {
                (Some(first), _) => (true, first),
                (None, Some(first)) => (false, first),
                (None, None) => return Dequeued::Empty,
            };
            if self.flows[at].deficit <= 0 {
                self.flows[at].deficit += self.params.quantum.0 as i64;
                self.next_round(is_new);
                continue;
            }
            if let Some(packet) = self.serve(at, cx) {
                self.flows[at].deficit -= i64::from(packet.len());
                self.stats.dequeued += 1;
                return Dequeued::Packet(packet);
            }
            if is_new {
                // Otherwise it could immediately be new again, and starve the old ones.
                self.next_round(is_new);
            } else {
                self.rounds.remove(&mut self.old, at);
                self.flows[at].listed = false;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let (params, config) = params.of::<D>()?.check(link)?;
        if (params.flows, params.salt) != (self.params.flows, self.params.salt) {
            let want = "it would move flows to other queues while packets wait; this needs a new queue";
            return Err(ParamError::new("flows", params.flows, want));
        }
        for at in 0..self.flows.len() {
            self.catch_up(at, cx.now);
            let flow = &mut self.flows[at];
            // All queues share the configuration, so only the first can refuse a change.
            flow.aqm.on_change(&self.config, &config, cx.now)?;
            flow.timer.change::<D::Aqm>(&config, cx.now);
        }
        (self.params, self.config) = (params, config);
        self.shrink(Why::Reconfigured, cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        let count = |list: List| std::iter::successors(list.front(), |&at| self.rounds.after(at)).count() as f64;
        out("new_flows", count(self.new));
        out("old_flows", count(self.old));
        out("fattest", self.bytes.iter().copied().max().unwrap_or(0) as f64);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        for (at, flow) in self.flows.iter().enumerate() {
            self.pool.each(flow.waiting).for_each(|(packet, _)| see(InnerQueue::Number(at), packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUES: u32 = 1024;

    /// The first flows of a simulation share a queue as seldom as any others, even for consecutive salts. With the
    /// plain number as the salt some 250 of the neighbours share one too, and the rate is beyond four deviations.
    #[test]
    fn flows_collide_by_chance_under_every_salt() {
        let salts = 0..4096_u64;
        let (mut trials, mut collisions, mut at_the_neighbour) = (0.0, 0.0, 0);
        for number in salts {
            let shared = |a: u64, b: u64, with| {
                let queue = |key| queue_of(FlowKey(key), salt(with), QUEUES);
                queue(a) == queue(b)
            };
            for (a, b) in (0..16).flat_map(|a| (0..a).map(move |b| (2 * a, 2 * b))) {
                trials += 1.0;
                if shared(a, b, number) {
                    collisions += 1.0;
                    at_the_neighbour += u32::from(shared(a, b, number ^ a ^ b));
                }
            }
        }
        let expected = trials / f64::from(QUEUES);
        assert!((collisions - expected).abs() < 4.0 * expected.sqrt(), "{collisions}, not {expected}");
        assert!(at_the_neighbour < 5, "{at_the_neighbour} of {collisions} collide with a neighbouring salt as well");
    }
}
