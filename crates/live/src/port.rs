//! Devices as the loop of a bottleneck sees them: packets in, packets out.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use serde::{Deserialize, Serialize};

/// What a device has counted of packets that never reached the bottleneck behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets that the kernel dropped because this process was too slow to take them.
    pub overrun: u64,
    /// Frames longer than the MTU: segments that a sender left to its network card for segmentation.
    pub too_long: u64,
    /// How many times the interface disappeared.
    pub vanished: u64,
}

/// A device that packets come from and go to. It never blocks.
pub trait Port {
    /// Puts the next packet into the buffer; its length. Zero and [`io::ErrorKind::WouldBlock`] where there is none.
    ///
    /// # Errors
    /// When there is no packet, or the device fails.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Sends a packet.
    ///
    /// # Errors
    /// When the device does not take it.
    fn send(&mut self, packet: &[u8]) -> io::Result<()>;

    /// What becomes readable when a packet is there.
    fn poll_fd(&self) -> BorrowedFd<'_>;

    /// Whether this error says that the device is gone for good.
    fn is_gone(&self, error: &io::Error) -> bool;

    /// What it has counted so far; zeros where it counts nothing.
    fn counts(&mut self) -> Counts {
        Counts::default()
    }

    /// Polling says that something is wrong. Whether the device is gone for good.
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
