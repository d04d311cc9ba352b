//! The flows of fq in their bands, and the time at which each may send.

use aqmkit_base::flow::salt;
use aqmkit_base::{Duration, Instant};

use super::{BANDS, Config, Pacing, Params};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError};
use crate::priority::priority;
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{FlowQueues, IndexedHeap, Links, List, Ring, fits, over};
use crate::verdict::Why;

/// Packets that may wait in the fast queue.
const FAST: usize = 8;

/// The longest gap between two packets of a flow.
const LONGEST_GAP: Duration = Duration::from_secs(1);

/// The names of the gauges of the bands.
const GAUGES: [&str; BANDS] = ["queue.0", "queue.1", "queue.2"];

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Bytes that it may still send in this turn.
    credit: i64,
    /// The band of its last packet.
    band: usize,
    /// Whether it is in turn, or waits for its time.
    listed: bool,
    /// When it went out of turn; absent before its first packet.
    out_since: Option<Instant>,
    /// When it may send next, once it has had to wait.
    next: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Band {
    new: List,
    old: List,
    credit: i64,
    waiting: Backlog,
}

/// When a packet arrived, and its band.
#[derive(Clone, Copy, Debug)]
struct Note {
    since: Instant,
    band: usize,
}

/// Queues of flows, and the fast queue beside them.
#[derive(Clone, Debug)]
pub(super) struct Fq<P> {
    config: Config,
    /// Mixed from the parameter, which is a plain number.
    salt: u64,
    flows: Vec<Flow>,
    queues: FlowQueues<P, Note>,
    fast: Ring<P>,
    bands: [Band; BANDS],
    /// The band in turn.
    current: usize,
    links: Links,
    /// Flows that wait for their time, and among equal times in the order in which they began to.
    throttled: IndexedHeap<(Instant, u64)>,
    waits: u64,
    stats: Stats,
}

impl<P: Packet> Fq<P> {
    pub(super) fn new(config: Config) -> Self {
        let unseen = Flow { credit: config.initial_quantum, band: 0, listed: false, out_since: None, next: None };
        let flows = config.mask as usize + 1;
        Fq {
            salt: salt(config.salt),
            flows: vec![unseen; flows],
            queues: FlowQueues::new(flows, config.limit.unit()),
            fast: Ring::default(),
            bands: [Band::default(); BANDS],
            current: 0,
            links: Links::default(),
            throttled: IndexedHeap::default(),
            waits: 0,
            stats: Stats::default(),
            config,
        }
    }

    /// `fq_fastpath_check`: whether a packet may pass by the flows.
    fn may_pass_by(&self) -> bool {
        self.config.fast && self.queues.backlog().packets == 0 && self.fast.len() < FAST
    }

    fn flow_of(&self, packet: &P) -> usize {
        ((packet.flow().hash(self.salt) >> 32) as u32 & self.config.mask) as usize
    }

    /// Puts a flow that is out of turn among the new flows.
    fn join(&mut self, f: usize, now: Instant) {
        let Config { quantum, initial_quantum, refill_delay, .. } = self.config;
        let flow = &mut self.flows[f];
        match flow.out_since {
            None => flow.credit = initial_quantum,
            Some(since) if now.since(since) > refill_delay => flow.credit = flow.credit.max(quantum),
            Some(_) => {}
        }
        flow.listed = true;
        self.links.push_back(&mut self.bands[flow.band].new, f);
    }

    fn join_old(&mut self, f: usize) {
        self.links.push_back(&mut self.bands[self.flows[f].band].old, f);
    }

    /// `fq_check_throttled`: flows whose time has come are in turn again.
    fn release(&mut self, now: Instant) {
        while let Some((_, f)) = self.throttled.peek().filter(|((at, _), _)| *at <= now) {
            self.throttled.remove(f);
            self.join_old(f);
        }
    }

    /// The flow whose turn it is in the current band, and whether it is a new one.
    fn first(&self) -> Option<(bool, usize)> {
        let band = &self.bands[self.current];
        if band.credit <= 0 {
            return None;
        }
        band.new.front().map(|f| (true, f)).or_else(|| band.old.front().map(|f| (false, f)))
    }

    /// Goes on to the next band with credit; `false` once all have been tried.
    fn next_band(&mut self, tried: &mut usize) -> bool {
        loop {
            *tried += 1;
            if *tried > BANDS {
                return false;
            }
            self.current = (self.current + 1) % BANDS;
            let (band, weight) = (&mut self.bands[self.current], self.config.weights[self.current]);
            band.credit = (band.credit + weight).min(weight);
            if band.credit > 0 {
                return true;
            }
            *tried = 0;
        }
    }

    /// Takes the flow whose turn it is out of its list.
    fn leave(&mut self, from_new: bool) {
        let band = &mut self.bands[self.current];
        self.links.pop_front(if from_new { &mut band.new } else { &mut band.old });
    }

    /// The flow that may send now, with the time since when it may; `None` if none may.
    fn turn(&mut self, now: Instant) -> Option<(usize, Instant)> {
        let mut tried = 0;
        loop {
            let Some((from_new, f)) = self.first() else {
                if !self.next_band(&mut tried) {
                    return None;
                }
                continue;
            };
            tried = 0;
            if self.flows[f].credit <= 0 {
                self.flows[f].credit += self.config.quantum;
                self.leave(from_new);
                self.join_old(f);
                continue;
            }
            let Some((_, note)) = self.queues.head(f) else {
                self.leave(from_new);
                if from_new {
                    // Otherwise it could immediately be new again, and starve the old ones.
                    self.join_old(f);
                } else {
                    self.flows[f].listed = false;
                    self.flows[f].out_since = Some(now);
                }
                continue;
            };
            let due = self.flows[f].next.map_or(note.since, |next| next.max(note.since));
            if due <= now {
                return Some((f, due));
            }
            self.leave(from_new);
            self.flows[f].next = Some(due);
            self.waits += 1;
            self.throttled.set(f, (due, self.waits));
        }
    }

    /// Charges a flow for a packet that it has sent, and sets when it may send again.
    fn charge(&mut self, f: usize, len: u32, now: Instant) {
        let flow = &mut self.flows[f];
        flow.credit -= i64::from(len);
        self.bands[self.current].credit -= i64::from(len);
        let Some(Pacing { rate, by_packet }) = self.config.pacing else { return };
        let mut size = u64::from(len);
        if by_packet {
            flow.credit = 0;
        } else {
            size = size.max(self.config.quantum as u64);
            if flow.credit > 0 {
                return;
            }
        }
        let gap = Duration::from_nanos(size * 1_000_000_000 / rate).min(LONGEST_GAP);
        let late = flow.next.map_or(Duration::ZERO, |next| now.since(next));
        flow.next = Some(now + gap.saturating_sub(late.min(Duration::from_nanos(gap.as_nanos() / 2))));
    }

    fn left(&mut self, packet: &P, note: Note) {
        let waiting = &mut self.bands[note.band].waiting;
        waiting.packets -= 1;
        waiting.bytes -= u64::from(packet.len());
    }

    /// The last packet of a band in the longest flow that has one: the flow, and how many packets are before it.
    fn last_of(&self, band: usize) -> Option<(usize, usize)> {
        let last = |f: usize| self.queues.each(f).enumerate().filter(|(_, (_, note))| note.band == band).last();
        let found = |f: usize| Some((f, last(f)?.0));
        // The longest flow of all is found at once; only where it has none of this band, all are looked at.
        self.queues.longest().and_then(found).or_else(|| {
            let each = (0..self.flows.len()).filter_map(found);
            each.max_by_key(|(f, _)| self.queues.length(*f).packets)
        })
    }

    /// Drops packets until each band is within its limit.
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        for band in 0..BANDS {
            while over(self.bands[band].waiting, self.config.limit) {
                let Some((f, before)) = self.last_of(band) else { return };
                let Some((packet, note)) = self.queues.remove(f, before) else { return };
                self.left(&packet, note);
                // A flow without packets waits for nothing.
                if self.queues.is_empty(f) && self.throttled.remove(f).is_some() {
                    self.join_old(f);
                }
                cx.discard(packet, Why::Reconfigured, &mut self.stats);
            }
        }
    }
}

impl<P: Packet> Qdisc<P> for Fq<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let band = usize::from(self.config.priomap[priority(packet.dscp())]);
        if !fits(self.bands[band].waiting, packet.len(), self.config.limit) {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        if self.may_pass_by() {
            return self.fast.push(packet, cx.now);
        }
        let f = self.flow_of(&packet);
        if self.queues.length(f).packets >= self.config.flow_limit {
            return cx.discard(packet, Why::Unfair, &mut self.stats);
        }
        if !self.flows[f].listed {
            self.join(f, cx.now);
        }
        self.flows[f].band = band;
        self.bands[band].waiting.packets += 1;
        self.bands[band].waiting.bytes += u64::from(packet.len());
        self.queues.push(f, packet, Note { since: cx.now, band });
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        if let Some((packet, _)) = self.fast.pop(cx.now) {
            self.stats.dequeued += 1;
            return Dequeued::Packet(packet);
        }
        if self.queues.backlog().packets == 0 {
            return Dequeued::Empty;
        }
        self.release(cx.now);
        let Some((f, due)) = self.turn(cx.now) else {
            let next = self.throttled.peek().map(|((at, _), _)| at + self.config.timer_slack);
            return next.map_or(Dequeued::Empty, Dequeued::NotBefore);
        };
        let Some((mut packet, note)) = self.queues.pop(f) else { return Dequeued::Empty };
        self.left(&packet, note);
        let late = self.config.ce_threshold.is_some_and(|threshold| cx.now.since(due) > threshold);
        if late && packet.ecn().is_capable() {
            cx.mark(&mut packet, Why::Step, &mut self.stats);
        }
        self.charge(f, packet.len(), cx.now);
        self.stats.dequeued += 1;
        Dequeued::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        let (flows, fast) = (self.queues.backlog(), self.fast.backlog());
        Backlog { packets: flows.packets + fast.packets, bytes: flows.bytes + fast.bytes }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let config = Config::new(params.of::<Params>()?, link)?;
        let want = "it would make other packets one flow while packets wait; this needs a new queue";
        if config.mask != self.config.mask {
            return Err(ParamError::new("orphan_mask", config.mask, want));
        }
        if config.salt != self.config.salt {
            return Err(ParamError::new("salt", config.salt, want));
        }
        self.config = config;
        self.queues.set_counting(self.config.limit.unit());
        self.shrink(cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        for (name, band) in GAUGES.iter().zip(&self.bands) {
            out(name, band.waiting.packets as f64);
        }
        out("queue.fast", self.fast.len() as f64);
        out("throttled", self.throttled.len() as f64);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.fast.packets().for_each(|packet| see(InnerQueue::Named("fast"), packet));
        self.queues.packets().for_each(|(queue, packet)| see(InnerQueue::Number(queue), packet));
    }
}
