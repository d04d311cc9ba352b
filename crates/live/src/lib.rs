//! The disciplines of aqmkit on live Linux traffic.
//!
//! The `Box<dyn Qdisc<P>>` of the simulator runs here between two network namespaces and carries the
//! kernel's TCP.

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
