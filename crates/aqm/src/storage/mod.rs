//! Places to keep packets and flows.

pub mod chain;
pub mod crowd;
pub mod flow_table;
pub mod recent;
pub mod ring;

pub use crowd::Crowd;
pub use flow_table::FlowTable;
pub use recent::RecentFlows;
pub use ring::Ring;
