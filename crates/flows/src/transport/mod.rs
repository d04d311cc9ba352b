//! Transport endpoints, sans-I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`tcp`] | [`Tcp`], one endpoint: handshake, sliding window, timers, loss recovery, close |
//! | [`congestion`] | how much may be in flight: one file for each scheme |
//! | [`rate`] | the transports that are no TCP: datagrams at a rate that follows what arrives |
//! | [`profile`] | what an operating system did, as data |
//! | [`registry`] | the names of all profiles and controls |
//! | [`segment`] | what two endpoints say to each other |
//!
//! An endpoint is told what happens ([`Tcp::on_segment`], [`Tcp::on_deadline`], [`Tcp::write`],
//! [`Tcp::close`]) and when, and answers with segments, events, and the next time at which it wants to be
//! called ([`Tcp::deadline`]). Data is counted, never copied.

pub mod congestion;
pub mod profile;
pub mod rate;
pub mod registry;
pub mod segment;
pub mod tcp;

pub use congestion::{CongestionControl, Kind};
pub use profile::{
    DelayedAck, EcnFeedback, EcnPackets, LossDetection, Overrides, Profile, ProfileError, RateReduction, Timer,
};
pub use segment::{EcnCounters, Flags, Options, Segment};
pub use tcp::{Event, Output, Tcp, TcpStats};
