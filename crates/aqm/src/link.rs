//! The link behind a queue.

use aqmkit_base::{BitRate, Bytes, Duration};

use crate::params::{ParamError, in_range};

/// The link behind a queue, from which omitted parameters are derived.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The link's rate.
    pub rate: BitRate,
    /// The size of a typical packet, with headers: converts idle time to packets that could have been sent.
    pub mean_packet: Bytes,
    /// The names of the traffic classes; a class's place in the list is its `ClassId`.
    pub classes: Vec<String>,
}

impl Link {
    /// A link of this rate, with 1000-byte packets and no named classes.
    #[must_use]
    pub fn new(rate: BitRate) -> Self {
        Link { rate, mean_packet: Bytes(1000), classes: Vec::new() }
    }

    /// The size of a typical packet: `avpkt` if given, else the link's.
    ///
    /// # Errors
    /// When it is zero.
    pub fn avpkt(&self, avpkt: Option<Bytes>) -> Result<Bytes, ParamError> {
        let size = avpkt.unwrap_or(self.mean_packet);
        in_range("avpkt", size.as_f64(), 1.0, f64::INFINITY).map(|()| size)
    }

    /// How many packets of this size the link sends per second.
    #[must_use]
    pub fn packets_per_sec(&self, size: Bytes) -> f64 {
        self.rate.bytes_per_sec() / size.as_f64()
    }

    /// The transmission time of a typical packet.
    #[must_use]
    pub fn packet_time(&self) -> Duration {
        self.rate.time_to_send(self.mean_packet)
    }
}
