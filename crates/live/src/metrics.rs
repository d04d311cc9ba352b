//! Metrics of a running bottleneck, for Prometheus.

mod page;
mod server;

pub use page::page;
pub use server::{MetricsServer, serve};
