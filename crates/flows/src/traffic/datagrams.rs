//! What the models that send datagrams have in common.

use aqmkit_base::{Bytes, Instant};

use super::model::{TrafficError, UDP_HEADERS};

/// The largest payload of a UDP datagram over IPv4.
pub(crate) const MAX_PAYLOAD: u64 = 65_507;

/// The counters of a flow of datagrams without frames.
pub(crate) const RECEIVED: &[&str] = &["packets_sent", "packets_received", "bytes_received", "delay_sum_s"];

/// What has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) packets: u64,
    /// Of payload.
    pub(crate) bytes: u64,
    /// One-way delays, in seconds, added up.
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

/// The payload of an IP packet of this size.
pub(crate) fn payload_of(field: &str, packet: Bytes) -> Result<u32, TrafficError> {
    let payload = packet.0.saturating_sub(u64::from(UDP_HEADERS));
    if (1..=MAX_PAYLOAD).contains(&payload) {
        return Ok(payload as u32);
    }
    let want = format!("it must be from {}b to {}b", UDP_HEADERS + 1, MAX_PAYLOAD + u64::from(UDP_HEADERS));
    Err(TrafficError::new(field, packet, want))
}
