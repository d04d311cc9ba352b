//! Containers for packets and flows.

pub mod chain;
pub mod crowd;
pub mod drop_history;
pub mod dual;
pub mod flow_cache;
pub mod flow_numbers;
pub mod flow_queues;
pub mod flow_table;
pub mod heap;
pub mod links;
pub mod pool;
pub mod recent;
pub mod ring;

use aqmkit_base::Amount;

use crate::qdisc::Backlog;

pub use crowd::Crowd;
pub use drop_history::DropHistory;
pub use dual::{Classifier, Dual, Lane};
pub use flow_cache::FlowCache;
pub use flow_numbers::FlowNumbers;
pub use flow_queues::FlowQueues;
pub use flow_table::FlowTable;
pub use heap::{IndexedHeap, Real};
pub use links::{Links, List};
pub use pool::Pool;
pub use recent::RecentFlows;
pub use ring::Ring;

/// Whether a packet of `len` bytes fits beside `waiting` under `limit`.
#[must_use]
pub fn fits(waiting: Backlog, len: u32, limit: Amount) -> bool {
    !over(Backlog { packets: waiting.packets + 1, bytes: waiting.bytes + u64::from(len) }, limit)
}

/// Whether `waiting` exceeds `limit`.
#[must_use]
pub fn over(waiting: Backlog, limit: Amount) -> bool {
    match limit {
        Amount::Packets(max) => waiting.packets as f64 > max,
        Amount::Bytes(max) => waiting.bytes > max,
    }
}
