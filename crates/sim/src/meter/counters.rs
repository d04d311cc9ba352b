//! Monotonic counters. A window or an interval is the difference of two copies.

use aqmkit_aqm::Why;

/// What passes a link, in total or of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) offered_packets: u64,
    pub(crate) offered_bytes: u64,
    /// Data without headers.
    pub(crate) offered_payload: u64,
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) marked: u64,
    pub(crate) dropped: [u64; Why::COUNT],
    /// Sum of the sojourn times of departed packets, in nanoseconds.
    pub(crate) waited_ns: u64,
}

impl Traffic {
    pub(crate) fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// What has been added since `earlier`.
    pub(crate) fn since(&self, earlier: &Traffic) -> Traffic {
        Traffic {
            offered_packets: self.offered_packets - earlier.offered_packets,
            offered_bytes: self.offered_bytes - earlier.offered_bytes,
            offered_payload: self.offered_payload - earlier.offered_payload,
            sent_packets: self.sent_packets - earlier.sent_packets,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            marked: self.marked - earlier.marked,
            dropped: std::array::from_fn(|i| self.dropped[i] - earlier.dropped[i]),
            waited_ns: self.waited_ns - earlier.waited_ns,
        }
    }
}

/// What reaches the receivers of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Received {
    /// Data, each byte once.
    pub(crate) bytes: u64,
    /// Packets with data, and the sum of their times from sender to receiver in nanoseconds.
    pub(crate) packets: u64,
    pub(crate) latency_ns: u64,
}

impl Received {
    pub(crate) fn since(&self, earlier: &Received) -> Received {
        Received {
            bytes: self.bytes - earlier.bytes,
            packets: self.packets - earlier.packets,
            latency_ns: self.latency_ns - earlier.latency_ns,
        }
    }
}

/// Counters of one application. There may be millions, so small counts have 32 bits, and two applications
/// share a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub(crate) struct Sent {
    /// Bytes delivered to the receiver, each once.
    pub(crate) delivered: u64,
    /// Data segments and datagrams.
    pub(crate) packets: u64,
    pub(crate) connections: u32,
    pub(crate) retransmissions: u32,
    pub(crate) timeouts: u32,
    pub(crate) drops: u32,
}

impl Sent {
    pub(crate) fn since(&self, earlier: &Sent) -> Sent {
        Sent {
            delivered: self.delivered - earlier.delivered,
            connections: self.connections - earlier.connections,
            packets: self.packets - earlier.packets,
            retransmissions: self.retransmissions - earlier.retransmissions,
            timeouts: self.timeouts - earlier.timeouts,
            drops: self.drops - earlier.drops,
        }
    }

    pub(crate) fn add(&mut self, other: &Sent) {
        self.delivered += other.delivered;
        self.connections += other.connections;
        self.packets += other.packets;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.drops += other.drops;
    }
}
