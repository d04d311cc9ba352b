//! A FIFO governed by an [`Aqm`], the [`Qdisc`] of most disciplines.

use aqmkit_base::{Amount, Duration, Instant};

use crate::aqm::{Aqm, DropFrom, Env, QueueView};
use crate::link::Link;
use crate::packet::{Packet, PacketView};
use crate::params::{AnyParams, ParamError};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::Ring;
use crate::timer::Timer;
use crate::verdict::{Verdict, Why};

/// A FIFO with the algorithm that governs it.
#[derive(Clone, Debug)]
pub struct Fifo<P, A: Aqm> {
    config: A::Config,
    aqm: A,
    ring: Ring<P>,
    stats: Stats,
    limit: Amount,
    timer: Timer,
}

impl<P: Packet, A: Aqm> Fifo<P, A> {
    /// An empty queue at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &A::Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        Ok(Self::of(A::config(params, link)?, now))
    }

    /// An empty queue at `now`, from parameters already checked.
    pub(crate) fn of(config: A::Config, now: Instant) -> Self {
        Fifo {
            aqm: A::new(&config, now),
            ring: Ring::default(),
            stats: Stats::default(),
            limit: A::limit(&config),
            timer: Timer::new::<A>(&config, now),
            config,
        }
    }

    fn view(&self, len: u32) -> QueueView {
        self.ring.queue_view(!self.ring.fits(len, self.limit))
    }

    fn catch_up(&mut self, now: Instant) {
        self.timer.catch_up(&mut self.aqm, &self.config, self.ring.queue_view(false), now);
    }

    /// Removes queued packets until one of `len` bytes fits. Returns false if the arriving packet must be dropped,
    /// which includes one that would not fit into an empty queue.
    fn make_room(&mut self, len: u32, cx: &mut Cx<'_, P>) -> bool {
        if !Ring::<P>::default().fits(len, self.limit) {
            return false;
        }
        while !self.ring.fits(len, self.limit) {
            let waiting = self.ring.len();
            let victim = match A::overflow(&self.config) {
                DropFrom::Tail => waiting,
                DropFrom::Front => 0,
                DropFrom::Random => cx.rng.below(waiting as u64 + 1) as usize,
            };
            match self.ring.remove(victim, cx.now) {
                Some((packet, sojourn)) => {
                    self.aqm.on_discard(&self.config, PacketView::of(&packet, sojourn), self.view(len), cx.now);
                    cx.discard(packet, Why::Evicted, &mut self.stats);
                }
                None => return false,
            }
        }
        true
    }
}

impl<P: Packet, A: Aqm> Qdisc<P> for Fifo<P, A> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
        self.stats.enqueued += 1;
        let pkt = PacketView::of(&packet, Duration::ZERO);
        let queue = self.view(pkt.len);
        let verdict = self.aqm.on_arrival(&self.config, pkt, queue, &mut Env { now: cx.now, rng: cx.rng });
        if let Verdict::Drop(why) = verdict {
            return cx.discard(packet, why, &mut self.stats);
        }
        if queue.full && !self.make_room(pkt.len, cx) {
            self.aqm.on_discard(&self.config, pkt, queue, cx.now);
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        if let Verdict::Mark(why) = verdict {
            cx.mark(&mut packet, why, &mut self.stats);
        }
        self.ring.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        self.catch_up(cx.now);
        while let Some((mut packet, sojourn)) = self.ring.pop(cx.now) {
            let pkt = PacketView::of(&packet, sojourn);
            let queue = self.ring.queue_view(false);
            match self.aqm.on_departure(&self.config, pkt, queue, &mut Env { now: cx.now, rng: cx.rng }) {
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
        self.aqm.on_empty(&self.config, cx.now);
        Dequeued::Empty
    }

    fn next_len(&self) -> Option<u32> {
        self.ring.packets().next().filter(|_| A::SENDS_ALL).map(Packet::len)
    }

    fn wakeup(&self) -> Option<Instant> {
        self.timer.due()
    }

    fn on_wakeup(&mut self, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
    }

    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        self.catch_up(cx.now);
        let params = params.of::<A::Params>()?;
        let config = A::config(params, link)?;
        self.aqm.on_change(&self.config, &config, cx.now)?;
        self.limit = A::limit(&config);
        self.timer.change::<A>(&config, cx.now);
        self.config = config;
        while self.ring.over(self.limit) {
            if let Some((packet, sojourn)) = self.ring.pop_tail(cx.now) {
                self.aqm.on_discard(&self.config, PacketView::of(&packet, sojourn), self.view(0), cx.now);
                cx.discard(packet, Why::Reconfigured, &mut self.stats);
            }
        }
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        self.aqm.probe(&self.config, out);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.ring.packets().for_each(|packet| see(InnerQueue::Only, packet));
    }
}
