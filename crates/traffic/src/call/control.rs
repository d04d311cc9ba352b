//! Dispatch to the congestion control of a call.

use aqmkit_base::{Duration, Ecn, Instant};
use serde::{Deserialize, Serialize};

use super::gcc::Gcc;
use super::nada::Nada;

/// Pacing rate of Google's pacer relative to the video's rate (webrtc).
const PACING: f64 = 2.5;

/// The congestion control that sets the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Google's congestion control.
    #[default]
    Gcc,
    /// Network-assisted dynamic adaptation, RFC 8698.
    Nada,
}

/// ECN codepoint of video packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Codepoint {
    /// Not ECN-capable.
    #[default]
    Off,
    /// ECT(0), as RFC 6679 recommends for RTP.
    Ect0,
    /// ECT(1), which identifies L4S traffic (RFC 9331).
    Ect1,
}

impl From<Codepoint> for Ecn {
    fn from(codepoint: Codepoint) -> Ecn {
        match codepoint {
            Codepoint::Off => Ecn::NotEct,
            Codepoint::Ect0 => Ecn::Ect0,
            Codepoint::Ect1 => Ecn::Ect1,
        }
    }
}

/// Bounds of the rate, in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) least: f64,
    pub(super) most: f64,
}

/// A packet's fate, as the receiver's feedback reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    /// Arrival time and the codepoint at arrival.
    Arrived(Instant, Ecn),
    /// Not received.
    Lost,
}

/// Summary of a receiver report, processed after the fates of its packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Report {
    /// When the receiver generated it.
    pub(super) made: Instant,
    pub(super) rtt: Duration,
    /// Number of packets whose fate it reported, and of the lost ones among them.
    pub(super) packets: u64,
    pub(super) lost: u64,
}

/// The controller at the sender.
#[derive(Clone, Debug)]
pub(super) enum Control {
    Gcc(Box<Gcc>),
    Nada(Box<Nada>),
}

impl Control {
    /// The call starts.
    pub(super) fn start(&mut self, now: Instant) {
        if let Control::Nada(nada) = self {
            nada.start(now);
        }
    }

    /// The rate that the network allows, in bits per second.
    pub(super) fn rate(&self) -> f64 {
        match self {
            Control::Gcc(gcc) => gcc.rate(),
            Control::Nada(nada) => nada.rate(),
        }
    }

    /// Rate for the encoder while the pacer holds `held` bytes.
    pub(super) fn video(&self, held: f64) -> f64 {
        match self {
            Control::Gcc(gcc) => gcc.rate(),
            Control::Nada(nada) => nada.video(held),
        }
    }

    /// Rate of the pacer while it holds `held` bytes.
    pub(super) fn pacing(&self, held: f64) -> f64 {
        match self {
            Control::Gcc(gcc) => PACING * gcc.rate(),
            Control::Nada(nada) => nada.sending(held),
        }
    }

    /// Processes one packet of a report. Packets are passed in the order of transmission.
    pub(super) fn packet(&mut self, sent: Instant, bytes: u32, rtt: Duration, fate: Fate) {
        match (self, fate) {
            (Control::Gcc(gcc), Fate::Arrived(at, _)) => gcc.packet(sent, at, bytes),
            (Control::Gcc(_), Fate::Lost) => {}
            (Control::Nada(nada), Fate::Arrived(at, ecn)) => nada.packet(sent, at, bytes, ecn == Ecn::Ce),
            (Control::Nada(nada), Fate::Lost) => nada.lost(rtt),
        }
    }

    /// Processes a report after its packets.
    pub(super) fn report(&mut self, now: Instant, report: Report) {
        match self {
            Control::Gcc(gcc) => gcc.report(now, report.rtt, report.packets, report.lost),
            Control::Nada(nada) => nada.report(now, report.made, report.rtt),
        }
    }

    /// Reacts to a long time without reports.
    pub(super) fn silence(&mut self) {
        match self {
            Control::Gcc(gcc) => gcc.silence(),
            Control::Nada(nada) => nada.silence(),
        }
    }
}
