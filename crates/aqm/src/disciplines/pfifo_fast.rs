//! # pfifo-fast: three FIFOs by priority
//!
//! The queue that an interface of Linux had by default before `fq_codel`: three bands of drop-tail, and a band is served when those before it are empty.
//!
//! ## Law
//!
//! ```text
//! arrival:  band 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 of the packet's priority; a full band drops  [pfifo_fast_enqueue]
//! request:  the first band with a packet                                                   [pfifo_fast_dequeue]
//! ```
//!
//! The priority follows from the codepoint: see `prio`. Best effort, `cs1` to `cs7` and `ef` are in band 1, `af11` and `af41` in band 2, `af12` in band 0.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` (`txqueuelen`) | | queue length | 1000 | capacity of each band; the length of the interface's queue, `ip link set eth0 txqueuelen 1000` |
//!
//! ## Deviations
//!
//! 1. The priority is that of an IPv4 packet that Linux forwards: programs set others with `SO_PRIORITY`.
//! 2. The limit may be in bytes.
//!
//! ## Limits
//!
//! Full queues and lock-out; a backlogged band starves those after it. Simulated packets have no codepoint and are all in band 1. State: three queues. Per packet: constant.
//!
//! ## Evidence
//!
//! `tests/oracle/prio.rs` transcribes it as well, with equal decisions on random and bursty traces. `tests/aqm/trees.rs` checks the bands of codepoints and the limit of each by hand.
//!
//! ## References
//!
//! * `pfifo_fast`: Linux, `net/sched/sch_generic.c`; tc-pfifo_fast(8).

use aqmkit_base::{Amount, Instant};
use serde::{Deserialize, Serialize};

use crate::child::TX_QUEUE_LEN;
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, usable_limit};
use crate::priority::{DEFAULT_MAP, priority};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::Ring;
use crate::verdict::Why;

/// The parameters of `pfifo_fast` as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Limit of each band.
    #[serde(alias = "txqueuelen")]
    pub limit: Amount,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(TX_QUEUE_LEN.into()) }
    }
}

impl Discipline for Params {
    discipline!("pfifo-fast");

    const MARKS: bool = false;
    const TELLS_HOSTS: bool = true;

    fn effective(&self, _link: &Link) -> Result<Self, ParamError> {
        usable_limit("limit", self.limit)?;
        Ok(self.clone())
    }

    fn build<P: Packet + 'static>(&self, link: &Link, _now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        let Params { limit } = self.effective(link)?;
        Ok(Box::new(PfifoFast::<P> { limit, bands: Default::default(), stats: Stats::default() }))
    }
}

/// The names of the bands.
const BANDS: [&str; 3] = ["0", "1", "2"];

/// Three FIFOs.
struct PfifoFast<P> {
    limit: Amount,
    bands: [Ring<P>; 3],
    stats: Stats,
}

impl<P: Packet> Qdisc<P> for PfifoFast<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let band = &mut self.bands[usize::from(DEFAULT_MAP[priority(packet.dscp())])];
        if !band.fits(packet.len(), self.limit) {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        band.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        let Some((packet, _)) = self.bands.iter_mut().find_map(|band| band.pop(cx.now)) else {
            return Dequeued::Empty;
        };
        self.stats.dequeued += 1;
        Dequeued::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        let add = |a: Backlog, b: Backlog| Backlog { packets: a.packets + b.packets, bytes: a.bytes + b.bytes };
        self.bands.iter().map(Ring::backlog).fold(Backlog::default(), add)
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        self.limit = params.of::<Params>()?.effective(link)?.limit;
        for band in &mut self.bands {
            while band.over(self.limit) {
                if let Some((packet, _)) = band.pop_tail(cx.now) {
                    cx.discard(packet, Why::Reconfigured, &mut self.stats);
                }
            }
        }
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        for (name, band) in BANDS.iter().zip(&self.bands) {
            out(&format!("queue.{name}"), band.len() as f64);
        }
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        for (name, band) in BANDS.iter().zip(&self.bands) {
            band.packets().for_each(|packet| see(InnerQueue::Named(name), packet));
        }
    }
}
