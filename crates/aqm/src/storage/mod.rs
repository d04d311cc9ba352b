//! Places to keep packets and flows.

pub mod flow_cache;
pub mod flow_numbers;
pub mod flow_queues;
pub mod flow_table;
pub mod heap;
pub mod links;
pub mod ring;

pub use flow_cache::FlowCache;
pub use flow_numbers::FlowNumbers;
pub use flow_queues::FlowQueues;
pub use flow_table::FlowTable;
pub use heap::{IndexedHeap, Real};
pub use links::{Links, List};
pub use ring::Ring;
