//! # FQ-CoDel: flow queuing with CoDel
//!
//! Hashes flows to queues and serves them by deficit round robin, with CoDel on each queue. Flows below
//! their share and new flows are served before flows with a standing queue.
//!
//! ## Law
//!
//! ```text
//! arrival:   to the tail of queue hash(flow, salt); a queue in no list goes to the end of the new
//!            ones with deficit = quantum; over the limit, drop from the head of the queue with the
//!            most bytes until half of it, or drop_batch packets, are gone         [rfc8290 sec 4.1]
//! request:   the first of the new queues, else of the old
//!            deficit <= 0: deficit += quantum, to the end of the old, look again
//!            CoDel's next packet: deficit -= its length, send
//!            empty: a new queue to the end of the old, an old one to no list      [rfc8290 sec 4.2]
//! ```
//!
//! CoDel's law, with each queue's own state and backlog, is on the page `codel`.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 10240 | capacity of all queues together |
//! | `memory_limit` (`memlimit`) | | size | 32mb | the same limit in bytes |
//! | `flows` | | | 1024 | number of queues; too few: flows share queues |
//! | `quantum` | | size | 1500b | bytes that a queue sends per round: one full-size packet; smaller values favour small packets |
//! | `drop_batch` | | packets | 64 | maximum packets dropped at once when over the limit |
//! | `salt` | | | 0 | salt of the hash: determines which flows share a queue |
//! | `target` | TARGET | time | 5ms | acceptable standing delay; at least the transmission time of one packet |
//! | `interval` | INTERVAL | time | 100ms | about the longest usual round-trip time |
//! | `ecn` | | | true | mark ECN-capable packets instead of dropping them |
//! | `ce_threshold` | | time | | also mark every ECN-capable packet that waited longer |
//! | `ce_threshold_selector` | | | | as CoDel's: restricts `ce_threshold` to codepoints; ECT(1) is `"0x1/0x3"` |
//! | `mtu` (`min_bytes`) | maxpacket | size | 1500b | no drop if at most this much is behind a packet in its queue |
//! | `reentry` | | | rfc8289 | as CoDel's |
//! | `max_drops` | | packets | 64 | as CoDel's |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. CoDel uses the backlog of its own queue; `tc` compares that of all queues with the MTU.
//! 2. Drops for the limit do not change CoDel's `count`; `tc` adds them to it.
//! 3. `memory_limit` counts bytes on the wire; `tc` counts buffer memory, about twice as much.
//! 4. The salt is a parameter, so that runs are repeatable. On a live link the flow key is already a salted
//!    hash.
//! 5. A packet that would not fit into empty queues is dropped alone; `tc` would drop others first.
//! 6. `ce_threshold_selector` looks at the ECN field; `tc`'s at the whole DS field.
//! 7. `tc` moves an empty new queue to the old ones only if there are any, which is equivalent.
//!
//! ## Limits
//!
//! Shares are per flow: a user with many flows has many shares. Two flows hashed to one queue share it:
//! with 100 flows in 1024 queues, a flow shares with probability 0.09. Unresponsive flows fill only their
//! own queue, up to the common limit, where packets of the longest queue are dropped. State: `flows` times
//! about a hundred bytes, allocated at the start; packets in one slab, at most `limit`. Per packet:
//! constant, except that a dequeue skips each queue with a used-up deficit (at most length / `quantum` + 1
//! times), and that a drop for the limit scans `flows` numbers, once per batch.
//!
//! ## Evidence
//!
//! `tests/oracle/flow_queuing.rs` transcribes RFC 8290's section 4 over RFC 8289's pseudo-code literally,
//! with equal decisions on random and bursty traces. `tests/aqm/closed_forms.rs` checks equal shares in bytes
//! for any packet sizes; `tests/aqm/worked.rs` checks new before old queues, and drops from the longest queue.
//!
//! ## References
//!
//! * rfc8289: see the page `codel`.
//! * rfc8290: T. Hoeiland-Joergensen et al., The Flow Queue CoDel Packet Scheduler and Active Queue Management
//!   Algorithm, 2018.
//! * shreedhar96: M. Shreedhar, G. Varghese, Efficient Fair Queuing Using Deficit Round-Robin, IEEE/ACM `ToN` 4(3), 1996.

use aqmkit_base::Instant;

use crate::discipline::{Discipline, discipline};
use crate::disciplines::codel::{self, Codel, params_with_codel};
use crate::flow_queuing::{FlowQueued, Fq, FqParams, params_with_fq};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::ParamError;
use crate::qdisc::Qdisc;

params_with_fq! {
    params_with_codel,
    /// The parameters of FQ-CoDel as a user writes them.
    { ecn = true }
}

impl FlowQueued for Params {
    type Aqm = Codel;

    fn scheduler(&self) -> FqParams {
        self.fq()
    }

    fn aqm(&self) -> codel::Params {
        codel::Params {
            limit: self.limit,
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
            ce_threshold_selector: self.ce_threshold_selector,
            mtu: self.mtu,
            reentry: self.reentry,
            max_drops: self.max_drops,
        }
    }
}

impl Discipline for Params {
    discipline!("fq-codel");

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        self.check(link).map(|_| self.clone())
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Fq::<P, Params>::new(self, link, now)?))
    }
}
