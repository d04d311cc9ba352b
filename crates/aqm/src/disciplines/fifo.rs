//! # FIFO: drop-tail, drop-front or random drop
//!
//! The reference for all other disciplines: packets leave in order of arrival, and a packet is dropped only
//! when the queue is full.
//!
//! ## Law
//!
//! ```text
//! q < limit: enqueue, else drop the arriving packet          drop = "tail"      [parris01 fig 3.4]
//! q = limit: drop the packet at the head, then enqueue       drop = "front"     [parris01 III.2.1]
//! q = limit: drop one of the queue's packets and the arriving one, each with
//!            the same probability                            drop = "random"    [hashem89; parris01 III.2.1]
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `q_limit` | queue length | 60 | capacity of the queue; TCP keeps it nearly full, so it sets the delay; too small: the link idles after a drop |
//! | `drop` | | | `"tail"` | packet to drop when the queue is full: `"tail"`, `"front"` or `"random"` |
//!
//! ## Deviations
//!
//! 1. With a limit in bytes, drop-front and random drop remove as many packets as the arriving one needs;
//!    the sources count packets.
//! 2. Random drop draws from the queue and the arriving packet; Parris's text draws from the queue alone,
//!    which would never drop the arriving packet.
//!
//! ## Limits
//!
//! Full queues and lock-out (drop-tail); no isolation of flows or classes. State: none. Per packet:
//! constant, except that random drop moves up to half the queue to close the gap.
//!
//! ## Evidence
//!
//! `tests/oracle/fifo.rs` transcribes Figure 3.4 literally, with equal decisions on random and bursty
//! traces; `tests/aqm/worked.rs` checks the three overflow rules step by step.
//!
//! ## References
//!
//! * hashem89: E. Hashem, Analysis of Random Drop for Gateway Congestion Control, MIT LCS TR-465, 1989.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapters III.2.1 and III.3.1;
//!   60 packets are FreeBSD's default and the limit of its experiments.

use aqmkit_base::{Amount, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, DropFrom};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::params::{ParamError, usable_limit};

/// The parameters of a FIFO as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Which packet is dropped when the queue is full.
    pub drop: DropFrom,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(60.0), drop: DropFrom::Tail }
    }
}

impl Discipline for Params {
    discipline!("fifo", DropWhenFull);
    const MARKS: bool = false;

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        DropWhenFull::config(self, link)
    }
}

/// A FIFO has no state.
#[derive(Clone, Copy, Debug)]
pub struct DropWhenFull;

impl Aqm for DropWhenFull {
    type Params = Params;
    type Config = Params;

    const SENDS_ALL: bool = true;

    fn config(params: &Params, _link: &Link) -> Result<Params, ParamError> {
        usable_limit("limit", params.limit)?;
        Ok(params.clone())
    }

    fn limit(config: &Params) -> Amount {
        config.limit
    }

    fn overflow(config: &Params) -> DropFrom {
        config.drop
    }

    fn new(_config: &Params, _now: Instant) -> Self {
        DropWhenFull
    }
}
