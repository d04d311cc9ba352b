//! The disciplines of aqmkit on live Linux traffic.
//!
//! The same `Box<dyn Qdisc<P>>` that runs in the simulator stands here between two network namespaces, so that
//! the kernel's own TCP crosses it.

pub mod bottleneck;
pub mod bounds;
mod bpf;
pub mod bridge;
pub mod capabilities;
pub mod children;
pub mod cleanup;
pub mod congestion;
pub mod ctl;
pub mod doctor;
pub mod error;
pub mod frame;
pub mod link;
pub mod meter;
pub mod metrics;
pub mod netlink;
pub mod netns;
pub mod offload;
pub mod port;
pub mod replay;
pub mod shaper;
pub mod tcp_info;
pub mod timing;
pub mod tun;
pub mod wire;

pub use error::LiveError;
pub use meter::Meter;
pub use shaper::{Setup, Shaper};
