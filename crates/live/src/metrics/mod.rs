//! What a bottleneck measures, for others to collect.

mod buckets;
mod page;
mod server;

pub use buckets::Buckets;
pub use page::page;
pub use server::{MetricsServer, serve};
