//! A FIFO of packets with their arrival times and a running count of bytes.

use std::collections::VecDeque;

use aqmkit_base::{Amount, Duration, Instant};

use crate::aqm::QueueView;
use crate::packet::{Packet, PacketView};
use crate::qdisc::Backlog;

#[derive(Clone, Debug)]
struct Entry<P> {
    packet: P,
    since: Instant,
}

/// A FIFO that stores each packet's arrival time and counts bytes. It grows to the longest queue so far and allocates
/// nothing after that.
#[derive(Clone, Debug)]
pub struct Ring<P> {
    entries: VecDeque<Entry<P>>,
    bytes: u64,
}

impl<P> Default for Ring<P> {
    fn default() -> Self {
        Ring { entries: VecDeque::new(), bytes: 0 }
    }
}

impl<P: Packet> Ring<P> {
    /// Appends a packet.
    pub fn push(&mut self, packet: P, now: Instant) {
        self.bytes += u64::from(packet.len());
        self.entries.push_back(Entry { packet, since: now });
    }

    /// Removes the packet at the head; returns it with its sojourn time.
    pub fn pop(&mut self, now: Instant) -> Option<(P, Duration)> {
        let entry = self.entries.pop_front()?;
        self.bytes -= u64::from(entry.packet.len());
        Some((entry.packet, now.since(entry.since)))
    }

    /// Removes the packet at the tail.
    pub fn pop_tail(&mut self, now: Instant) -> Option<(P, Duration)> {
        let entry = self.entries.pop_back()?;
        self.bytes -= u64::from(entry.packet.len());
        Some((entry.packet, now.since(entry.since)))
    }

    /// Removes the packet at `index` (0 is the head) from the middle; the order of the others is kept.
    pub fn remove(&mut self, index: usize, now: Instant) -> Option<(P, Duration)> {
        let entry = self.entries.remove(index)?;
        self.bytes -= u64::from(entry.packet.len());
        Some((entry.packet, now.since(entry.since)))
    }

    /// The packet at `index` (0 is the head) as a discipline sees it.
    #[must_use]
    pub fn view(&self, index: usize, now: Instant) -> Option<PacketView> {
        self.entries.get(index).map(|e| PacketView::of(&e.packet, now.since(e.since)))
    }

    /// The packets from the head to the tail.
    pub fn packets(&self) -> impl Iterator<Item = &P> {
        self.entries.iter().map(|entry| &entry.packet)
    }

    /// How many packets wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many bytes wait.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a packet of `len` bytes fits under `limit`.
    #[must_use]
    pub fn fits(&self, len: u32, limit: Amount) -> bool {
        super::fits(self.backlog(), len, limit)
    }

    /// Whether more is queued than `limit` allows, as after the limit was lowered.
    #[must_use]
    pub fn over(&self, limit: Amount) -> bool {
        super::over(self.backlog(), limit)
    }

    /// Both counts.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.entries.len() as u64, bytes: self.bytes }
    }

    /// Both counts as an [`crate::Aqm`] sees them.
    #[must_use]
    pub fn queue_view(&self, full: bool) -> QueueView {
        QueueView { packets: self.entries.len() as u32, bytes: self.bytes, full }
    }
}
