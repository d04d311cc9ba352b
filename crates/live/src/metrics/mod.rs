//! What a bottleneck measures, for others to collect.

mod page;
mod server;

pub use page::page;
pub use server::{MetricsServer, serve};
