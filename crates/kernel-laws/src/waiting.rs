//! Which packets wait in the queue behind a classifier, and what each of them belongs to.
//!
//! A classifier sees what arrives and how much waits, but not what leaves. The queue behind is a FIFO, so what waits are the
//! packets that were let in last. This is the list of them: at each arrival the oldest are taken out until it is as long as the
//! queue that the arrival finds. When one left was predicted when it came, from the rate of the link.

use crate::fixed::Fixed;
use crate::law::Arrival;
use crate::verifier::masked;

/// How many departures one arrival makes up for; more wait for the next one.
pub const DEPARTURES: u32 = 256;

/// The most packets that can wait behind a law that keeps this list.
pub const PLACES: usize = 16_384;

/// A packet that was let in.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// When it leaves, in nanoseconds.
    pub leaves_at: u64,
    /// Its bytes.
    pub bytes: u32,
    /// How many packets it is on the wire.
    pub packets: u32,
    /// What it belongs to: a class, or a flow's place in a table.
    pub owner: u64,
}

/// The list of `SIZE` packets at most, a power of two.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingList<const SIZE: usize = PLACES> {
    /// Packets that have been taken out, and that have been put in, since the start.
    out: u64,
    into: u64,
    /// Packets on the wire and bytes of those that are in it.
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

    /// Whether no packet can be put in.
    #[inline(always)]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.into.wrapping_sub(self.out) >= SIZE as u64
    }

    /// Takes all out at once, where nothing waits.
    #[inline(always)]
    pub fn clear(&mut self) {
        (self.out, self.packets, self.bytes) = (self.into, 0, 0);
    }

    /// The places of the oldest packet and of the one that is put in next, modulo the size of the list: for what is known of them
    /// elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.out
    }

    /// See [`oldest`](Self::oldest).
    #[inline(always)]
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.into
    }

    /// How many packets it has.
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

    /// The arrival is let in and belongs to `owner`. The list must not be full.
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

    /// Takes out the oldest packet, if it has left the queue that the arrival finds, with the time at which it left. One of which a
    /// part still waits (GSO) is there as a whole.
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

/// How much of something waits, in packets and in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount { packets: 0, bytes: 0 };

    /// An arrival is let in.
    #[inline(always)]
    pub fn enqueued(&mut self, arrival: &Arrival) {
        self.packets = self.packets.wrapping_add(arrival.packets);
        self.bytes = self.bytes.wrapping_add(arrival.bytes);
    }

    /// A packet has left.
    #[inline(always)]
    pub fn dequeued(&mut self, gone: &Waiting) {
        self.packets = self.packets.saturating_sub(u64::from(gone.packets));
        self.bytes = self.bytes.saturating_sub(u64::from(gone.bytes));
    }

    /// In bytes, or in packets.
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
