//! Transport endpoints, sans-I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`tcp`] | [`Tcp`], one endpoint: handshake, sliding window, timers, loss recovery, close |
//! | [`congestion`] | congestion controls, one file each |
//! | [`rate`] | rate-based transports: unreliable datagrams at a controlled rate |
//! | [`profile`] | the TCP behaviour of operating systems, as data |
//! | [`registry`] | the names of all profiles and controls |
//! | [`catalogue`] | the controls of this crate and those that a program adds |
//! | [`segment`] | segments and acknowledgements |
//!
//! The owner of an endpoint passes in events with their times ([`Tcp::on_segment`], [`Tcp::on_deadline`],
//! [`Tcp::write`], [`Tcp::close`]); the endpoint returns segments, events and its next deadline
//! ([`Tcp::deadline`]). Data is counted, never copied.

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod congestion;
pub mod profile;
pub mod rate;
pub mod registry;
pub mod segment;
pub mod tcp;

pub use catalogue::{Addition, Catalogue};
pub use congestion::{CongestionControl, Kind, Leaves, Scheme, Window};
pub use profile::{DelayedAck, EcnFeedback, EcnPackets, LossDetection, Overrides, Profile, RateReduction, Timer};
pub use segment::{EcnCounters, Flags, Options, Segment};
pub use tcp::{Event, Output, Route, Tcp, TcpStats};
