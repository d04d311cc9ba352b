//! Monotonic counters. A window or an interval is the difference of two copies.

use aqmkit_aqm::Why;
use aqmkit_base::ClassId;

/// The properties of a packet that a link counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Traffic class.
    pub class: ClassId,
    /// Length in bytes, with headers.
    pub len: u32,
    /// Payload in bytes, excluding network and transport headers.
    pub payload: u32,
}

/// Packets that pass a link, in total or of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that arrived at the queue.
    pub offered_packets: u64,
    /// Bytes of these packets, with headers.
    pub offered_bytes: u64,
    /// Payload bytes of these packets, without headers.
    pub offered_payload: u64,
    /// Packets that left the queue.
    pub sent_packets: u64,
    /// Bytes of these packets, with headers.
    pub sent_bytes: u64,
    /// Sum of the sojourn times of these packets, in nanoseconds.
    pub waited_ns: u64,
    /// Packets dropped, by reason.
    pub dropped: [u64; Why::COUNT],
    /// Packets marked, by reason.
    pub marked: [u64; Why::COUNT],
}

impl Traffic {
    /// Packets dropped for any reason.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Packets marked for any reason.
    #[must_use]
    pub fn marks(&self) -> u64 {
        self.marked.iter().sum()
    }

    /// The increase since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Traffic) -> Traffic {
        Traffic {
            offered_packets: self.offered_packets - earlier.offered_packets,
            offered_bytes: self.offered_bytes - earlier.offered_bytes,
            offered_payload: self.offered_payload - earlier.offered_payload,
            sent_packets: self.sent_packets - earlier.sent_packets,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            waited_ns: self.waited_ns - earlier.waited_ns,
            dropped: std::array::from_fn(|i| self.dropped[i] - earlier.dropped[i]),
            marked: std::array::from_fn(|i| self.marked[i] - earlier.marked[i]),
        }
    }
}

/// Data that reached the receivers of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Payload bytes, each byte counted once.
    pub bytes: u64,
    /// Data packets whose sending time is known.
    pub packets: u64,
    /// Sum of the one-way delays of these packets, in nanoseconds.
    pub latency_ns: u64,
}

impl Received {
    /// The increase since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Received) -> Received {
        Received {
            bytes: self.bytes - earlier.bytes,
            packets: self.packets - earlier.packets,
            latency_ns: self.latency_ns - earlier.latency_ns,
        }
    }
}

/// Counters of one application. There may be millions, so small counts have 32 bits, and two applications
/// share a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(32))]
pub struct Sent {
    /// Payload bytes delivered to the receiver, each byte counted once.
    pub delivered: u64,
    /// Data segments and datagrams sent.
    pub packets: u64,
    /// Connections that were opened.
    pub connections: u32,
    /// TCP segments retransmitted.
    pub retransmissions: u32,
    /// RTO expirations.
    pub timeouts: u32,
    /// Packets lost at any link.
    pub drops: u32,
}

impl Sent {
    /// The increase since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Sent) -> Sent {
        Sent {
            delivered: self.delivered - earlier.delivered,
            connections: self.connections - earlier.connections,
            packets: self.packets - earlier.packets,
            retransmissions: self.retransmissions - earlier.retransmissions,
            timeouts: self.timeouts - earlier.timeouts,
            drops: self.drops - earlier.drops,
        }
    }

    /// Adds the counters of another application.
    pub fn add(&mut self, other: &Sent) {
        self.delivered += other.delivered;
        self.connections += other.connections;
        self.packets += other.packets;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.drops += other.drops;
    }
}
