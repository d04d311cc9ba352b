//! The [`Qdisc`] trait: owning packets.

use aqmkit_base::{Instant, Rng};
use serde::Serialize;

use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError};
use crate::verdict::Why;

/// Where dropped packets go, and who is notified of marks. A drop moves the packet here, so no packet can be both
/// dropped and delivered.
pub trait Sink<P> {
    /// The packet was dropped.
    fn dropped(&mut self, packet: P, why: Why, now: Instant);
    /// The packet was marked, and stays in the queue or is sent.
    fn marked(&mut self, _packet: &P, _why: Why, _now: Instant) {}
}

/// A [`Sink`] that discards everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl<P> Sink<P> for Discard {
    fn dropped(&mut self, _packet: P, _why: Why, _now: Instant) {}
}

/// The context of every call to a [`Qdisc`]: the time, the queue's random stream, and the sink.
pub struct Cx<'a, P> {
    /// Now. Never earlier than in an earlier call.
    pub now: Instant,
    /// The stream of random numbers of this queue.
    pub rng: &'a mut Rng,
    /// Where dropped packets go.
    pub sink: &'a mut dyn Sink<P>,
}

impl<P> Cx<'_, P> {
    /// Drops `packet`: counts it and moves it into the sink.
    pub fn discard(&mut self, packet: P, why: Why, stats: &mut Stats) {
        stats.dropped[why as usize] += 1;
        self.sink.dropped(packet, why, self.now);
    }

    /// Marks `packet`: counts it and reports it to the sink.
    pub fn mark(&mut self, packet: &mut P, why: Why, stats: &mut Stats)
    where
        P: Packet,
    {
        packet.set_ce();
        stats.marked[why as usize] += 1;
        self.sink.marked(packet, why, self.now);
    }
}

/// The answer to a link that requests a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dequeued<P> {
    /// Send this.
    Packet(P),
    /// Nothing is waiting.
    Empty,
    /// Packets are waiting, but none may be sent before this time.
    NotBefore(Instant),
}

impl<P> Dequeued<P> {
    /// The packet, if there is one.
    pub fn packet(self) -> Option<P> {
        match self {
            Dequeued::Packet(p) => Some(p),
            Dequeued::Empty | Dequeued::NotBefore(_) => None,
        }
    }
}

/// The backlog of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Counters since the queue was created. At any time `enqueued = dequeued + dropped (every reason) + backlog`, where
/// `enqueued` counts every packet offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Packets offered to `enqueue`.
    pub enqueued: u64,
    /// Packets returned by `dequeue`.
    pub dequeued: u64,
    /// Packets dropped, by [`Why`].
    pub dropped: [u64; Why::COUNT],
    /// Packets marked, by [`Why`].
    pub marked: [u64; Why::COUNT],
}

impl Stats {
    /// Packets dropped for any reason.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Packets marked for any reason.
    #[must_use]
    pub fn marks(&self) -> u64 {
        self.marked.iter().sum()
    }
}

/// A queue: packets go in, and each comes out exactly once, from [`dequeue`](Qdisc::dequeue) or into the
/// [`Sink`].
pub trait Qdisc<P: Packet> {
    /// Offers a packet.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>);

    /// Asks for the next packet to send.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P>;

    /// The length of the next packet, where the queue can tell without taking it out: not if it may still drop it. A queue around this one that must
    /// know takes the packet out otherwise.
    fn next_len(&self) -> Option<u32> {
        None
    }

    /// When [`on_wakeup`](Qdisc::on_wakeup) should be called next; read it after every call. A late call makes no
    /// difference: every call first processes the timers that should have fired.
    fn wakeup(&self) -> Option<Instant> {
        None
    }

    /// Processes due timers. Early and repeated calls do nothing.
    fn on_wakeup(&mut self, _cx: &mut Cx<'_, P>) {}

    /// The backlog.
    fn backlog(&self) -> Backlog;

    /// Counters.
    fn stats(&self) -> &Stats;

    /// Changes parameters while packets are queued. Packets that no longer fit are dropped into the sink.
    ///
    /// # Errors
    /// When `spec` is another discipline, or is not valid for this link; nothing has changed then.
    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError>;

    /// Named gauges of the internal state, for plots.
    fn probe(&self, _out: &mut dyn FnMut(&str, f64)) {}

    /// Shows every queued packet with its inner queue: queue by queue, each from its head to its tail. A queue that
    /// does not implement it shows none.
    fn waiting(&self, _see: &mut dyn FnMut(InnerQueue<'_>, &P)) {}
}

/// Which of the inner queues of a discipline a packet waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InnerQueue<'a> {
    /// The only one.
    Only,
    /// One with a name: a class, or `L` and `C` of the coupled disciplines.
    Named(&'a str),
    /// One of many, by its number: the queue of a flow.
    Number(usize),
}
