//! The disciplines of aqmkit on live Linux traffic.
//!
//! The same `Box<dyn Qdisc<P>>` as in the simulator runs here between two network namespaces or interfaces, and carries
//! the kernel's TCP.
//!
//! Linux only. Header parsing, the shaper and captures need no kernel and are in `aqmkit_packets`.

#![allow(unsafe_code, reason = "some system calls need it; each block says why it is sound")]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod bottleneck;
pub mod bounds;
mod bpf;
pub mod bridge;
pub mod capabilities;
pub mod children;
pub mod cleanup;
pub mod confinement;
pub mod congestion;
pub mod ctl;
pub mod doctor;
pub mod error;
pub mod handover;
pub mod kernel;
pub mod link;
pub mod measured;
pub mod metrics;
pub mod nat;
pub mod netlink;
pub mod netns;
pub mod offload;
mod packet_socket;
pub mod port;
pub mod rootless;
pub mod running;
pub mod service;
pub mod shape;
pub mod tcp_info;
pub mod timing;
pub mod tun;
pub mod user;

pub use error::LiveError;
