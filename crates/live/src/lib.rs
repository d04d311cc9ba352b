//! The disciplines of aqmkit on live Linux traffic.
//!
//! The same `Box<dyn Qdisc<P>>` that runs in the simulator stands here between two network namespaces, so that
//! the kernel's own TCP crosses it.

pub mod wire;
