//! The devices of the forwarding loop: packets come from a [`Port`] and leave at an [`Outlet`].

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use aqmkit_packets::offload::{HEADER, Offload};
use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;
use serde::{Deserialize, Serialize};

/// Packets lost at a device before the bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets that the kernel dropped because this process was too slow.
    pub overrun: u64,
    /// Super-packets that cannot be segmented.
    pub too_long: u64,
    /// How many times the interface disappeared.
    pub vanished: u64,
}

/// A non-blocking input device.
pub trait Port {
    /// The sending side of this kind of device; may be used on another thread.
    type Outlet: Outlet;

    /// Reads the next packet.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if no packet is available; other errors when the device fails.
    fn receive(&mut self) -> io::Result<Received>;

    /// Counts a super-packet that cannot be segmented.
    fn count_too_long(&mut self);

    /// Readable when a packet arrives.
    fn poll_fd(&self) -> BorrowedFd<'_>;

    /// Whether this error means that the device is gone for good.
    fn is_gone(&self, error: &io::Error) -> bool;

    /// Counters of the device; zeros if it has none.
    fn counts(&mut self) -> Counts;

    /// Called when polling reports an error. Returns whether the device is gone for good.
    fn on_poll_error(&mut self) -> bool {
        true
    }
}

/// A non-blocking output device.
pub trait Outlet {
    /// Sends packets in order. `refused` is called with the index of each that the device rejects.
    fn send(&mut self, packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error));

    /// The preferred maximum number of packets per call.
    fn batch(&self) -> usize {
        1
    }

    /// The kinds of GSO packets that the device accepts.
    fn joins(&self) -> Joins;

    /// Whether this error means that the device is gone for good.
    fn is_gone(&self, error: &io::Error) -> bool;
}

/// The sending side of an interface that may disappear and return. The receiving side opens and closes it; the sending
/// side, possibly on another thread, uses it.
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
    /// Replaces it; `None` when the interface is gone.
    pub(crate) fn put(&self, new: Option<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// Uses it, if it exists.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }

    /// Changes it unless it is in use: one direction must not block on the other.
    pub(crate) fn change(&self, act: impl FnOnce(&mut T)) {
        if let Ok(mut guard) = self.0.try_lock() {
            guard.as_mut().map(act);
        }
    }
}

/// Rejects all packets, because the interface is absent.
pub(crate) fn refuse_all(packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error)) {
    (0..packets.len()).for_each(|place| refused(place, io::ErrorKind::NotConnected.into()));
}

/// Maximum length of a super-packet with Ethernet header and two VLAN tags.
pub(crate) const LONGEST: usize = 65_536 + 14 + 8;

/// The same with the `virtio_net_hdr` in front.
const BUFFER: usize = LONGEST + HEADER;

/// Shorter packets are copied out of the buffer, so that they take no more memory than they need.
const SHORT: usize = 4096;

/// A receive buffer for a packet behind its `virtio_net_hdr`.
#[derive(Debug)]
pub(crate) struct ReceiveBuffer(Vec<u8>);

impl ReceiveBuffer {
    pub(crate) fn new() -> ReceiveBuffer {
        ReceiveBuffer(Vec::with_capacity(BUFFER))
    }

    /// Takes the packet that `read` appends to the empty buffer. An empty read counts as no packet.
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
        let mut bytes = std::mem::replace(&mut self.0, Vec::with_capacity(BUFFER));
        bytes.shrink_to_fit();
        received(bytes, tag)
    }
}

/// Parses the `virtio_net_hdr` in front of a packet; a VLAN tag stripped by the kernel is reinserted.
pub(crate) fn received(mut bytes: Vec<u8>, tag: Option<[u8; 4]>) -> io::Result<Received> {
    let header = *bytes.first_chunk::<HEADER>().ok_or(io::ErrorKind::WouldBlock)?;
    let start = tag.and_then(|tag| insert(&mut bytes, tag)).unwrap_or(HEADER);
    let unknown = || io::Error::new(io::ErrorKind::InvalidData, "an unknown kind of super-packet");
    let offload = Offload::read(header, (HEADER - start) as u16).ok_or_else(unknown)?;
    Ok(Received { bytes, start, offload })
}

/// Inserts a VLAN tag behind the MAC addresses, which move forward into the space of the `virtio_net_hdr`. Returns
/// where the frame then starts; `None` if the frame is too short to have addresses.
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
        ReceiveBuffer::new().take(tag, with_header).unwrap()
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
        let mut buffer = ReceiveBuffer::new();
        assert_eq!(buffer.take(None, |_| Ok(())).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let unknown = |into: &mut Vec<u8>| {
            into.extend_from_slice(&[0, 77, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            Ok(())
        };
        assert_eq!(buffer.take(None, unknown).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
