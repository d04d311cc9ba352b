//! The interface of devices to the loop of a bottleneck: receive and send packets.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use serde::{Deserialize, Serialize};

/// Counters of a device: packets that never reached the bottleneck behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets that the kernel dropped because this process was too slow.
    pub overrun: u64,
    /// Frames longer than the MTU, which rely on segmentation offload of the sender.
    pub too_long: u64,
    /// How many times the interface disappeared.
    pub vanished: u64,
}

/// A non-blocking device that receives and sends packets.
pub trait Port {
    /// Reads the next packet into the buffer and returns its length. Zero and [`io::ErrorKind::WouldBlock`] if there is
    /// none.
    ///
    /// # Errors
    /// When there is no packet, or the device fails.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Sends a packet.
    ///
    /// # Errors
    /// When the device does not take it.
    fn send(&mut self, packet: &[u8]) -> io::Result<()>;

    /// The descriptor that becomes readable when a packet arrives.
    fn poll_fd(&self) -> BorrowedFd<'_>;

    /// Whether this error means that the device is gone for good.
    fn is_gone(&self, error: &io::Error) -> bool;

    /// Its counters; zeros if it has none.
    fn counts(&mut self) -> Counts {
        Counts::default()
    }

    /// Called when polling reports an error. Returns whether the device is gone for good.
    fn look_after(&mut self) -> bool {
        true
    }
}

/// A TUN device: each read and each write is a packet.
impl Port for File {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read(buffer)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.write(packet).map(|_| ())
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn is_gone(&self, error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::EBADFD | libc::ENODEV | libc::EBADF))
    }
}
