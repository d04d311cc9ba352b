//! Places to keep packets and flows.

pub mod flow_table;
pub mod ring;

pub use flow_table::FlowTable;
pub use ring::Ring;
