//! Common parts of models that send datagrams.

use aqmkit_base::{Bytes, Ecn, Instant};

use super::model::{ParamError, UDP_HEADERS};
use super::{Action, Application, Cx, Event};

/// The largest payload of a UDP datagram over IPv4.
pub(crate) const MAX_PAYLOAD: u64 = 65_507;

/// The counters of a [`Flow`].
const RECEIVED: &[&str] = &["packets_sent", "packets_received", "bytes_received", "delay_sum_s"];

/// Counters of received datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) packets: u64,
    /// Bytes of payload.
    pub(crate) bytes: u64,
    /// The sum of the one-way delays, in seconds.
    pub(crate) delay_sum: f64,
}

impl Received {
    pub(crate) fn packet(&mut self, len: u32, sent: Instant, now: Instant) {
        self.packets += 1;
        self.bytes += u64::from(len);
        self.delay_sum += now.since(sent).as_secs_f64();
    }

    /// The value of the counter at `index` of [`RECEIVED`].
    pub(crate) fn counter(&self, index: usize, sent: u64) -> f64 {
        match index {
            0 => sent as f64,
            1 => self.packets as f64,
            2 => self.bytes as f64,
            3 => self.delay_sum,
            _ => 0.0,
        }
    }
}

/// The interface through which a sender acts.
pub(crate) struct Out<'a, 'c> {
    pub(crate) cx: &'a mut Cx<'c>,
    sent: &'a mut u64,
}

impl Out<'_, '_> {
    /// Sends a datagram with this number of payload bytes.
    pub(crate) fn send(&mut self, len: u32, ecn: Ecn) {
        self.cx.want(Action::Datagram { len, tag: *self.sent, ecn });
        *self.sent += 1;
    }

    /// Datagrams sent so far.
    pub(crate) fn sent(&self) -> u64 {
        *self.sent
    }

    /// Requests a call of [`Sender::wake`] at this time.
    pub(crate) fn wake_at(&mut self, at: Instant) {
        self.cx.want(Action::WakeAt(at));
    }
}

/// Decides when a flow sends datagrams, and how large they are.
pub(crate) trait Sender: Send {
    /// Called when the flow starts.
    fn start(&mut self, out: &mut Out<'_, '_>);

    /// Called at the requested time.
    fn wake(&mut self, out: &mut Out<'_, '_>);
}

/// A flow of datagrams that are independent of each other. It sends until it is stopped, and counts sent and received
/// datagrams.
pub(crate) struct Flow<S> {
    sender: S,
    sent: u64,
    received: Received,
    over: bool,
}

impl<S: Sender + 'static> Flow<S> {
    /// A flow with this sender.
    pub(crate) fn of(sender: S) -> Box<dyn Application> {
        Box::new(Flow { sender, sent: 0, received: Received::default(), over: false })
    }
}

impl<S: Sender> Application for Flow<S> {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        let out = &mut Out { cx, sent: &mut self.sent };
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            Event::Start => self.sender.start(out),
            Event::Wake => self.sender.wake(out),
            _ => {}
        }
    }

    fn on_datagram(&mut self, _tag: u64, len: u32, sent: Instant, now: Instant) {
        self.received.packet(len, sent, now);
    }

    fn counters(&self) -> &'static [&'static str] {
        RECEIVED
    }

    fn counter(&self, index: usize) -> f64 {
        self.received.counter(index, self.sent)
    }
}

/// Payload in bytes of an IP packet of this size.
pub(crate) fn payload_of(field: &str, packet: Bytes) -> Result<u32, ParamError> {
    let payload = packet.0.saturating_sub(u64::from(UDP_HEADERS));
    if (1..=MAX_PAYLOAD).contains(&payload) {
        return Ok(payload as u32);
    }
    let want = format!("it must be from {}b to {}b", UDP_HEADERS + 1, MAX_PAYLOAD + u64::from(UDP_HEADERS));
    Err(ParamError::new(field, packet, want))
}
