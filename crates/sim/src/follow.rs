//! Following of senders, for traces of connections.
//!
//! Without a [`Follower`] it costs nothing: the event loop of ordinary runs is compiled without it.

use aqmkit_base::{Duration, Instant};
use aqmkit_stack::Trace;

use crate::observe::{Parties, Sighting};

/// Sees everything that the servers' ends of connections send, receive and decide, for connections whose data cross the measured
/// link. Servers send the data of all traffic models.
pub trait Follower {
    /// The end sends a packet.
    fn sent(&mut self, now: Instant, packet: &Sighting);

    /// A packet reaches the end, which has not processed it yet.
    fn received(&mut self, now: Instant, packet: &Sighting);

    /// The state of the end after it has processed a packet, a timer or a request, whether or not it differs from the
    /// state before.
    fn state(&mut self, now: Instant, parties: &Parties, state: &SenderState);

    /// Where a stack that traces itself writes its trace of a new connection; `None` for no trace. The other methods are called for such a
    /// connection as well.
    fn trace(&mut self, parties: &Parties) -> Option<Trace>;
}

/// The state of a sender at one moment; `None` for what its transport does not have or does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderState {
    /// The congestion window in bytes.
    pub window: Option<u64>,
    /// The slow-start threshold in bytes, once there is one.
    pub ssthresh: Option<u64>,
    /// Bytes in the network: sent, and neither acknowledged nor considered lost (`pipe` of RFC 6675, `bytes_in_flight` of
    /// RFC 9002).
    pub in_flight: Option<u64>,
    /// The pacing rate in bits per second.
    pub pacing_bps: Option<f64>,
    /// The smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// Its mean deviation.
    pub rtt_variation: Option<Duration>,
    /// The shortest round trip that the congestion control works with.
    pub min_rtt: Option<Duration>,
    /// The state of the congestion control: that of its own state machine, or as [`aqmkit_transport::Tcp::phase`] names it.
    pub phase: &'static str,
    /// Counters since the connection was opened.
    pub counters: SenderCounters,
}

/// Counters of rare events at a sender. A stack from outside has the first two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments sent again, or packets that a stack declared lost.
    pub lost: u64,
    /// Expiries of the retransmission timer, or of a probe timeout.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
    /// Reductions of the window by an echo of congestion experienced.
    pub ecn_reductions: u64,
    /// Reductions that were undone as spurious.
    pub undone: u64,
}
