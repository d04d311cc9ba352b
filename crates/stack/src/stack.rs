//! One end of a connection.

use aqmkit_base::{Duration, Ecn, Instant};

/// A datagram between the two ends of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Its contents, without the headers that [`Factory::headers`](crate::Factory::headers) counts.
    pub bytes: Vec<u8>,
    /// The ECN field of its IP header: as sent, or as received.
    pub ecn: Ecn,
}

/// An event at one end. [`Event::Closed`] and [`Event::Failed`] are the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is open.
    Connected,
    /// [`Stack::delivered`] has grown.
    Delivered,
    /// The peer has closed its direction, and everything before was delivered.
    PeerFinished,
    /// Both directions are closed, and everything was delivered and acknowledged.
    Closed,
    /// The connection was given up: the peer does not answer, or has aborted it.
    Failed,
}

/// Counters of one end since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackStats {
    /// Expiries of a timer that waits for the peer (retransmission timeouts, probe timeouts).
    pub timeouts: u32,
    /// Datagrams that this end declared lost, for TCP those that it retransmitted.
    pub lost: u64,
    /// Datagrams that arrived here with CE.
    pub ce_received: u64,
}

/// The state of a sender at one moment; `None` for what the stack does not have or does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StackView {
    /// The congestion window in bytes.
    pub window: Option<u64>,
    /// The slow-start threshold in bytes.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub in_flight: Option<u64>,
    /// The pacing rate in bits per second.
    pub pacing_bps: Option<f64>,
    /// The smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// The phase of the congestion control, such as `slow start` or `PROBE_UP`; empty where unknown.
    pub phase: &'static str,
}

/// One end of a connection that carries a byte stream in each direction.
///
/// The owner calls it with times that do not decrease. After each call with a `now` it calls [`Stack::transmit`] until there is no more
/// to send, then [`Stack::event`] until there are no more events, and then asks for the next [`Stack::deadline`]. What the bytes
/// of the streams are does not matter: writes and deliveries only count them.
pub trait Stack: Send {
    /// Opens the connection, at the client.
    fn connect(&mut self, now: Instant);

    /// Adds bytes to the stream to the peer; `u64::MAX` for data without end, for which a stack of live media sends media at the rate
    /// that it chooses. May be called before the connection is open.
    fn write(&mut self, bytes: u64, now: Instant);

    /// Closes the stream to the peer once all that was written is delivered. The other direction stays open. Further calls
    /// have no effect.
    fn close(&mut self, now: Instant);

    /// A datagram has arrived. The application reads at once all that becomes readable.
    fn on_datagram(&mut self, datagram: Datagram, now: Instant);

    /// The deadline has passed. May be called too early, which has no effect.
    fn on_deadline(&mut self, now: Instant);

    /// The next datagram to send now.
    fn transmit(&mut self, now: Instant) -> Option<Datagram>;

    /// The next event.
    fn event(&mut self, now: Instant) -> Option<Event>;

    /// When to call [`Stack::on_deadline`], if at all. A deadline that is not after `now` is moved to a microsecond after it, so that time goes
    /// on whatever a stack answers.
    fn deadline(&mut self, now: Instant) -> Option<Instant>;

    /// Bytes of the peer's stream that the application has read.
    fn delivered(&self) -> u64;

    /// Whether the connection is over at this end, after [`Event::Closed`] or [`Event::Failed`].
    fn is_closed(&self) -> bool;

    /// Counters.
    fn stats(&mut self) -> StackStats;

    /// The state of the sender.
    fn view(&self) -> StackView;
}
