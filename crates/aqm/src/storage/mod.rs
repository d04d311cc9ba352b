//! Places to keep packets and flows.

pub mod dual;
pub mod flow_table;
pub mod pool;
pub mod ring;

pub use dual::{Classifier, Dual, Lane};
pub use flow_table::FlowTable;
pub use pool::{Chain, Pool};
pub use ring::Ring;
