//! Tracks which packets are in the qdisc behind a classifier, and which class or flow each belongs to.
//!
//! A classifier sees arrivals and the backlog, but not departures. The qdisc is a FIFO, so the backlog consists of the
//! packets admitted last. At each arrival the oldest are removed from this list until it is as long as the backlog.
//! Their departure times are the predictions made on arrival, from the link rate.

use crate::fixed::Fixed;
use crate::law::Arrival;
use crate::verifier::masked;

/// Maximum departures processed per arrival; later ones are left to the next arrival.
pub const DEPARTURES: u32 = 256;

/// Maximum number of queued packets for a law that uses this list.
pub const PLACES: usize = 16_384;

/// A queued packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Predicted departure time in nanoseconds.
    pub leaves_at: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Number of packets on the wire (GSO segments).
    pub packets: u32,
    /// Its owner: a class, or the table slot of a flow.
    pub owner: u64,
}

/// A FIFO of at most `SIZE` packets, a power of two.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingList<const SIZE: usize = PLACES> {
    /// Packets removed and packets added since the start.
    out: u64,
    into: u64,
    /// Packets on the wire, and bytes, of the packets in the list.
    packets: u64,
    bytes: u64,
    places: [Waiting; SIZE],
}

impl<const SIZE: usize> WaitingList<SIZE> {
    /// An empty list.
    pub const ZERO: WaitingList<SIZE> = WaitingList {
        out: 0,
        into: 0,
        packets: 0,
        bytes: 0,
        places: [Waiting { leaves_at: 0, bytes: 0, packets: 0, owner: 0 }; SIZE],
    };

    /// Whether the list is full.
    #[inline(always)]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.into.wrapping_sub(self.out) >= SIZE as u64
    }

    /// Removes all packets, when the queue is empty.
    #[inline(always)]
    pub fn clear(&mut self) {
        (self.out, self.packets, self.bytes) = (self.into, 0, 0);
    }

    /// Index of the oldest packet, modulo the size of the list, for data kept in parallel arrays.
    #[inline(always)]
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.out
    }

    /// Index of the packet added next, likewise.
    #[inline(always)]
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.into
    }

    /// Number of packets on the wire that are in the list.
    #[inline(always)]
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Whether nothing waits.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.into == self.out
    }

    /// Adds an admitted arrival that belongs to `owner`. The list must not be full.
    #[inline(always)]
    pub fn push(&mut self, arrival: &Arrival, owner: u64) {
        self.places[masked::<SIZE>(self.into)] = Waiting {
            leaves_at: arrival.leaves_at,
            bytes: arrival.bytes as u32,
            packets: arrival.packets as u32,
            owner,
        };
        self.into = self.into.wrapping_add(1);
        self.packets = self.packets.wrapping_add(arrival.packets);
        self.bytes = self.bytes.wrapping_add(arrival.bytes);
    }

    /// Removes the oldest packet if it has departed from the queue that the arrival finds; its departure time is at
    /// most now. A partially departed GSO packet counts as queued.
    #[inline(always)]
    pub fn next_gone(&mut self, arrival: &Arrival) -> Option<Waiting> {
        if self.is_empty() {
            return None;
        }
        let mut oldest = self.places[masked::<SIZE>(self.out)];
        let without = self.bytes.wrapping_sub(u64::from(oldest.bytes));
        if without < arrival.waiting_bytes {
            return None;
        }
        self.bytes = without;
        self.packets = self.packets.wrapping_sub(u64::from(oldest.packets));
        self.out = self.out.wrapping_add(1);
        if oldest.leaves_at > arrival.now {
            oldest.leaves_at = arrival.now;
        }
        Some(oldest)
    }
}

/// A backlog, in packets and in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Amount {
    /// No backlog.
    pub const ZERO: Amount = Amount { packets: 0, bytes: 0 };

    /// Adds an admitted arrival.
    #[inline(always)]
    pub fn enqueued(&mut self, arrival: &Arrival) {
        self.packets = self.packets.wrapping_add(arrival.packets);
        self.bytes = self.bytes.wrapping_add(arrival.bytes);
    }

    /// Removes a departed packet.
    #[inline(always)]
    pub fn dequeued(&mut self, gone: &Waiting) {
        self.packets = self.packets.saturating_sub(u64::from(gone.packets));
        self.bytes = self.bytes.saturating_sub(u64::from(gone.bytes));
    }

    /// The backlog in bytes, or in packets.
    #[inline(always)]
    #[must_use]
    pub fn length(&self, in_bytes: bool) -> Fixed {
        Fixed::whole(if in_bytes { self.bytes } else { self.packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now: u64, bytes: u64, waiting_bytes: u64) -> Arrival {
        Arrival { now, bytes, packets: 1, waiting_bytes, leaves_at: now + waiting_bytes, ..Arrival::default() }
    }

    #[test]
    fn what_has_left_is_what_no_longer_waits() {
        let mut list = WaitingList::<4>::ZERO;
        list.push(&at(10, 100, 0), 7);
        list.push(&at(20, 300, 100), 8);
        assert!(list.next_gone(&at(30, 1, 400)).is_none(), "all of it waits");
        assert!(list.next_gone(&at(30, 1, 350)).is_none(), "a part of the first does");
        let first = list.next_gone(&at(40, 1, 300)).expect("the first has left");
        assert_eq!((first.owner, first.leaves_at), (7, 10));
        assert!(list.next_gone(&at(40, 1, 300)).is_none());
        let second = list.next_gone(&at(50, 1, 0)).expect("nothing waits");
        assert_eq!((second.owner, second.leaves_at), (8, 50), "not later than now");
        assert!(list.is_empty() && list.next_gone(&at(60, 1, 0)).is_none());
    }

    #[test]
    fn it_has_room_for_so_many() {
        let mut list = WaitingList::<4>::ZERO;
        (0..4).for_each(|i| list.push(&at(i, 10, 10 * i), i));
        assert!(list.is_full() && list.packets() == 4);
        assert!(list.next_gone(&at(9, 10, 30)).is_some() && !list.is_full());
    }
}
