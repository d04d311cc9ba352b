//! Places to keep packets and flows.

pub mod drop_history;
pub mod flow_table;
pub mod ring;

pub use drop_history::DropHistory;
pub use flow_table::FlowTable;
pub use ring::Ring;
