//! The interface of devices to the loop of a bottleneck: packets come from a [`Port`] and leave at an [`Outlet`].

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use aqmkit_packets::offload::{HEADER, Offload};
use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;
use serde::{Deserialize, Serialize};

/// Counters of a device: packets that never reached the bottleneck behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets that the kernel dropped because this process was too slow.
    pub overrun: u64,
    /// Super-packets that cannot be cut into segments.
    pub too_long: u64,
    /// How many times the interface disappeared.
    pub vanished: u64,
}

/// A non-blocking device that packets come from.
pub trait Port {
    /// What sends packets at a device of this kind, in this thread or in another one.
    type Outlet: Outlet;

    /// Reads the next packet.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is no packet; others when the device fails.
    fn receive(&mut self) -> io::Result<Received>;

    /// Counts a super-packet that cannot be cut.
    fn count_too_long(&mut self);

    /// The descriptor that becomes readable when a packet arrives.
    fn poll_fd(&self) -> BorrowedFd<'_>;

    /// Whether this error means that the device is gone for good.
    fn is_gone(&self, error: &io::Error) -> bool;

    /// Its counters; zeros if it has none.
    fn counts(&mut self) -> Counts;

    /// Called when polling reports an error. Returns whether the device is gone for good.
    fn look_after(&mut self) -> bool {
        true
    }
}

/// What sends packets at a device, without blocking.
pub trait Outlet {
    /// Sends packets, in their order. `refused` is called with the place of each that the device does not take.
    fn send(&mut self, packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error));

    /// The largest number of packets that are best sent at once.
    fn batch(&self) -> usize {
        1
    }

    /// The kinds of super-packets that it takes.
    fn joins(&self) -> Joins;

    /// Whether this error means that the device is gone for good.
    fn is_gone(&self, error: &io::Error) -> bool;
}

/// What sends at an interface that may disappear and return. The side that receives there opens and closes it; the other side,
/// which may be another thread, uses it.
#[derive(Debug)]
pub(crate) struct Shared<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Shared(Arc::default())
    }
}

impl<T> Shared<T> {
    /// Puts it in place; `None` when the interface is gone.
    pub(crate) fn put(&self, new: Option<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// Uses it, if it is there.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }

    /// Changes it, unless it is in use: one direction does not wait for the other.
    pub(crate) fn change(&self, act: impl FnOnce(&mut T)) {
        if let Ok(mut guard) = self.0.try_lock() {
            guard.as_mut().map(act);
        }
    }
}

/// Tells of packets that there is nothing to send them at.
pub(crate) fn refuse_all(packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error)) {
    (0..packets.len()).for_each(|place| refused(place, io::ErrorKind::NotConnected.into()));
}

/// The longest super-packet, with its link header and two VLAN tags.
pub(crate) const LONGEST: usize = 65_536 + 14 + 8;

/// The same with the header that tells what is left to a card.
const ROOM: usize = LONGEST + HEADER;

/// Packets up to this length are copied, so that they take no more memory than they need.
const SHORT: usize = 4096;

/// Room into which packets are read behind the header that tells what is left to a card.
#[derive(Debug)]
pub(crate) struct Room(Vec<u8>);

impl Room {
    pub(crate) fn new() -> Room {
        Room(Vec::with_capacity(ROOM))
    }

    /// Takes the packet that `read` appends to an empty buffer. An empty read counts as no packet.
    pub(crate) fn take(
        &mut self,
        tag: Option<[u8; 4]>,
        read: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<Received> {
        self.0.clear();
        read(&mut self.0)?;
        if self.0.len() <= SHORT {
            return received(self.0.clone(), tag);
        }
        let mut bytes = std::mem::replace(&mut self.0, Vec::with_capacity(ROOM));
        bytes.shrink_to_fit();
        received(bytes, tag)
    }
}

/// The packet behind the header that tells what is left to a card, with a VLAN tag inserted where the kernel has removed one.
pub(crate) fn received(mut bytes: Vec<u8>, tag: Option<[u8; 4]>) -> io::Result<Received> {
    let header = *bytes.first_chunk::<HEADER>().ok_or(io::ErrorKind::WouldBlock)?;
    let start = tag.and_then(|tag| insert(&mut bytes, tag)).unwrap_or(HEADER);
    let unknown = || io::Error::new(io::ErrorKind::InvalidData, "an unknown kind of super-packet");
    let offload = Offload::read(header, (HEADER - start) as u16).ok_or_else(unknown)?;
    Ok(Received { bytes, start, offload })
}

/// Inserts a VLAN tag behind the link addresses, which move into the header before the packet. Returns where the frame
/// starts then; `None` if it has no addresses.
fn insert(bytes: &mut [u8], tag: [u8; 4]) -> Option<usize> {
    const ADDRESSES: usize = 12;
    let start = HEADER - tag.len();
    let place = start + ADDRESSES;
    bytes.get(HEADER..HEADER + ADDRESSES)?;
    bytes.copy_within(HEADER..HEADER + ADDRESSES, start);
    bytes[place..place + tag.len()].copy_from_slice(&tag);
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(packet: &[u8], tag: Option<[u8; 4]>) -> Received {
        let with_header = |into: &mut Vec<u8>| {
            into.extend_from_slice(&[0; HEADER]);
            into.extend_from_slice(packet);
            Ok(())
        };
        Room::new().take(tag, with_header).unwrap()
    }

    #[test]
    fn a_tag_goes_back_behind_the_addresses() {
        for length in [60, 9000] {
            let frame: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let tagged = read(&frame, Some([0x81, 0, 0, 7]));
            let wanted = [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat();
            assert_eq!(tagged.packet(), wanted);
            assert_eq!(read(&frame, None).packet(), frame);
        }
        assert_eq!(read(&[1; 5], Some([0x81, 0, 0, 7])).packet(), [1; 5], "there is nothing to put it behind");
    }

    #[test]
    fn nothing_and_the_unknown_are_errors() {
        let mut room = Room::new();
        assert_eq!(room.take(None, |_| Ok(())).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let unknown = |into: &mut Vec<u8>| {
            into.extend_from_slice(&[0, 77, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            Ok(())
        };
        assert_eq!(room.take(None, unknown).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
