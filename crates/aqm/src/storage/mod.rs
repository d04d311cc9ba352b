//! Places to keep packets and flows.

pub mod dual;
pub mod flow_table;
pub mod ring;

pub use dual::{Classifier, Dual, Lane};
pub use flow_table::FlowTable;
pub use ring::Ring;
