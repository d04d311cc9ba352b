//! The [`Aqm`] trait: deciding about one FIFO.

use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Duration, Instant, Rng};
use serde::{Deserialize, Serialize};

use crate::discipline::Discipline;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::ParamError;
use crate::verdict::Verdict;

/// The overflow rule: which packet is dropped if one does not fit into the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DropFrom {
    /// The arriving packet.
    #[default]
    Tail,
    /// The packet that has waited longest.
    Front,
    /// A random one of the queued packets and the arriving packet.
    Random,
}

/// The queue at a decision, without the packet in question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// On arrival: whether the packet exceeds the queue's limit. The queue then overrides
    /// [`Verdict::Pass`], so a discipline that counts its drops returns `Drop(Why::Overflow)` itself.
    pub full: bool,
}

impl QueueView {
    /// The backlog, in `unit`.
    #[must_use]
    pub fn length(&self, unit: Counting) -> f64 {
        match unit {
            Counting::Packets => f64::from(self.packets),
            Counting::Bytes => self.bytes as f64,
        }
    }
}

/// The environment of a decision.
#[derive(Debug)]
pub struct Env<'a> {
    /// Now.
    pub now: Instant,
    /// The stream of random numbers of this queue.
    pub rng: &'a mut Rng,
}

/// An algorithm that decides which packets of one FIFO to drop or mark. It owns no packet and holds only
/// its own state; one checked [`Config`](Aqm::Config) serves any number of instances.
///
/// For each packet the queue calls, in this order: [`on_arrival`](Aqm::on_arrival); then either nothing
/// (it was dropped), or [`on_departure`](Aqm::on_departure) when it reaches the head and is taken out,
/// or [`on_discard`](Aqm::on_discard) when the queue's overflow rule removes it. [`on_tick`](Aqm::on_tick)
/// is called once per whole [`tick`](Aqm::tick) period, in order, before anything later.
pub trait Aqm: Sized {
    /// The parameters as a user writes them.
    type Params: Discipline;

    /// The checked parameters and derived values.
    type Config;

    /// Whether every packet that waits is sent: nothing is dropped at departure.
    const SENDS_ALL: bool = false;

    /// Checks `params` and derives what decisions need.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    fn config(params: &Self::Params, link: &Link) -> Result<Self::Config, ParamError>;

    /// How much the queue may hold, and in which unit it counts.
    fn limit(config: &Self::Config) -> Amount;

    /// The packet to drop when one does not fit.
    fn overflow(_config: &Self::Config) -> DropFrom {
        DropFrom::Tail
    }

    /// The state of an empty queue at `now`.
    fn new(config: &Self::Config, now: Instant) -> Self;

    /// A packet arrives; `queue` is the queue without it.
    fn on_arrival(
        &mut self,
        _config: &Self::Config,
        _pkt: PacketView,
        _queue: QueueView,
        _env: &mut Env<'_>,
    ) -> Verdict {
        Verdict::Pass
    }

    /// The packet at the head is dequeued; `queue` is the rest. After a drop the next packet is dequeued.
    fn on_departure(
        &mut self,
        _config: &Self::Config,
        _pkt: PacketView,
        _queue: QueueView,
        _env: &mut Env<'_>,
    ) -> Verdict {
        Verdict::Pass
    }

    /// A packet that was passed on arrival has been removed by the queue's overflow rule.
    fn on_discard(&mut self, _config: &Self::Config, _pkt: PacketView, _queue: QueueView, _now: Instant) {}

    /// The link requested a packet from an empty queue and goes idle.
    fn on_empty(&mut self, _config: &Self::Config, _now: Instant) {}

    /// The period of the algorithm's timer, if it has one.
    fn tick(_config: &Self::Config) -> Option<Duration> {
        None
    }

    /// One period of the timer has passed, at `now` exactly, however late the call is.
    fn on_tick(&mut self, _config: &Self::Config, _queue: QueueView, _now: Instant) {}

    /// Processes this many ticks at once, the first at `first`, with the constant queue `queue`. Returns
    /// false without a change if they must be processed one by one; this is always correct but costs one
    /// call per elapsed period. Called only for late ticks.
    fn skip_ticks(&mut self, _config: &Self::Config, _queue: QueueView, _first: Instant, _ticks: u64) -> bool {
        false
    }

    /// Applies changed parameters and keeps as much state as possible.
    ///
    /// # Errors
    /// When the change needs a new queue.
    fn on_change(&mut self, _old: &Self::Config, _new: &Self::Config, _now: Instant) -> Result<(), ParamError> {
        Ok(())
    }

    /// Named gauges of the internal state, for plots: averages, probabilities, table sizes.
    fn probe(&self, _config: &Self::Config, _out: &mut dyn FnMut(&str, f64)) {}
}
