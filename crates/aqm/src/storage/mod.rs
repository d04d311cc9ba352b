//! Places to keep packets and flows.

pub mod chain;
pub mod crowd;
pub mod drop_history;
pub mod dual;
pub mod flow_table;
pub mod pool;
pub mod recent;
pub mod ring;

use aqmkit_base::Amount;

use crate::qdisc::Backlog;

pub use crowd::Crowd;
pub use drop_history::DropHistory;
pub use dual::{Classifier, Dual, Lane};
pub use flow_table::FlowTable;
pub use pool::{Chain, Pool};
pub use recent::RecentFlows;
pub use ring::Ring;

/// Whether a packet of `len` bytes fits under `limit` where so much waits.
fn fits(waiting: Backlog, len: u32, limit: Amount) -> bool {
    match limit {
        Amount::Packets(max) => (waiting.packets + 1) as f64 <= max,
        Amount::Bytes(max) => waiting.bytes + u64::from(len) <= max,
    }
}

/// Whether more waits than `limit` allows.
fn over(waiting: Backlog, limit: Amount) -> bool {
    match limit {
        Amount::Packets(max) => waiting.packets as f64 > max,
        Amount::Bytes(max) => waiting.bytes > max,
    }
}
