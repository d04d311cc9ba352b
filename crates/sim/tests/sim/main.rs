//! The simulator from outside: links, hosts, congestion controls and traffic in whole runs.

#[path = "../common/mod.rs"]
mod common;

mod analytic;
mod arithmetic;
mod bbr3;
mod call;
mod changing;
mod claims;
mod controls;
mod determinism;
mod driver;
mod flow_kind;
mod follow;
mod host;
mod hosts;
mod nada;
mod network;
mod peers;
mod profiled;
mod rate;
mod replies;
mod seen;
mod simulation;
mod stack;
mod vectors;
