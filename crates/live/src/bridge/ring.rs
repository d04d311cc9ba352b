//! The ring in which the kernel delivers frames: `TPACKET_V2`, one slot for each frame.
//!
//! This version delivers each frame at once; version 3 collects frames in blocks, which delays packets by up to a
//! millisecond until a block is closed. The layout is that of `Documentation/networking/packet_mmap.rst` of the Linux
//! kernel.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::sockopt;

/// Slots in a ring: arrivals of 14 ms at 10 Gbit/s with full frames.
const SLOTS: usize = 4096;
/// The unit in which the kernel allocates.
const BLOCK: usize = 1 << 16;
/// The kernel's header and the space before a frame, rounded up.
const HEAD: usize = 128;

/// The checksum of the frame was left to checksum offload.
const CHECKSUM_OPEN: u32 = libc::TP_STATUS_CSUMNOTREADY;

/// A ring that is mapped into this process.
#[derive(Debug)]
pub(super) struct Ring {
    memory: NonNull<c_void>,
    size: usize,
    slot: usize,
    next: usize,
}

// SAFETY: the memory belongs to the ring alone, and goes where it goes.
unsafe impl Send for Ring {}

/// The kernel's information about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct About {
    /// Its length; more than the captured bytes if it did not fit into a slot.
    pub length: usize,
    /// The number of bytes in the buffer.
    pub captured: usize,
    /// Whether its checksum was offloaded.
    pub checksum: Checksum,
}

/// The state of a frame's checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    /// It was computed.
    There,
    /// It was left to checksum offload.
    Open,
    /// Unknown.
    Unknown,
}

impl Ring {
    /// A ring for frames of at most `longest` bytes.
    pub(super) fn new(socket: BorrowedFd<'_>, longest: usize) -> io::Result<Ring> {
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        sockopt::set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let slot = (longest + HEAD).next_power_of_two().clamp(2048, BLOCK);
        let size = slot * SLOTS;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (size / BLOCK) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: SLOTS as u32,
        };
        sockopt::set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping, of as many bytes as the kernel has just made a ring of.
        let memory = unsafe {
            mmap(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, socket, 0)
        }?;
        let memory = NonNull::new(memory).ok_or_else(|| io::Error::other("the kernel mapped a ring at zero"))?;
        Ok(Ring { memory, size, slot, next: 0 })
    }

    /// Copies the next frame into the buffer, including the VLAN tag that the kernel removed. `None` if there is no
    /// frame.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> Option<About> {
        // SAFETY: `next` is below SLOTS, so the slot lies within the mapping; blocks follow each other without gaps
        // and hold whole slots, both being powers of two.
        let slot = unsafe { self.memory.as_ptr().cast::<u8>().add(self.next * self.slot) };
        // SAFETY: a slot begins with `tpacket2_hdr`, aligned to more than it needs, whose first field is the status,
        // which both sides change as an atomic number.
        let status = unsafe { AtomicU32::from_ptr(slot.cast::<u32>()) };
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the status says that the slot is ours until we give it back, and that its header is filled in.
        let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
        let from = usize::from(header.tp_mac).min(self.slot);
        let captured = (header.tp_snaplen as usize).min(self.slot - from);
        // SAFETY: `from` and `captured` were cut to what the slot has.
        let frame = unsafe { std::slice::from_raw_parts(slot.add(from), captured) };
        let tag = (flags & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let known = flags & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            (if known { header.tp_vlan_tpid } else { 0x8100 }, header.tp_vlan_tci)
        });
        let copied = copy(frame, tag, buffer);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        let length = header.tp_len as usize + copied - captured.min(copied);
        let checksum = if flags & CHECKSUM_OPEN == 0 { Checksum::There } else { Checksum::Open };
        Some(About { length, captured: copied, checksum })
    }
}

/// Copies a frame, with its tag after the addresses if it has one; returns its length.
fn copy(frame: &[u8], tag: Option<(u16, u16)>, buffer: &mut [u8]) -> usize {
    const ADDRESSES: usize = 12;
    let put = |to: &mut [u8], from: &[u8]| {
        let length = from.len().min(to.len());
        to[..length].copy_from_slice(&from[..length]);
        length
    };
    match (tag, frame.split_at_checked(ADDRESSES)) {
        (Some((protocol, value)), Some((addresses, rest))) if buffer.len() >= ADDRESSES + 4 => {
            buffer[..ADDRESSES].copy_from_slice(addresses);
            buffer[ADDRESSES..ADDRESSES + 2].copy_from_slice(&protocol.to_be_bytes());
            buffer[ADDRESSES + 2..ADDRESSES + 4].copy_from_slice(&value.to_be_bytes());
            ADDRESSES + 4 + put(&mut buffer[ADDRESSES + 4..], rest)
        }
        _ => put(buffer, frame),
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this size, and nothing borrows from it.
        let _ = unsafe { munmap(self.memory.as_ptr(), self.size) };
    }
}

/// Frames that the kernel dropped because the ring was full, since the last call.
pub(super) fn dropped(socket: BorrowedFd<'_>) -> u64 {
    let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut size = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: both pointers are to values that outlive the call, and the size is that of the value.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut size,
        )
    };
    if done == 0 { u64::from(stats.tp_drops) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::copy;

    #[test]
    fn a_tag_goes_back_behind_the_addresses() {
        let frame: Vec<u8> = (0..60).collect();
        let mut buffer = [0xee; 100];
        assert_eq!(copy(&frame, Some((0x8100, 7)), &mut buffer), 64);
        assert_eq!(buffer[..18], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0x81, 0, 0, 7, 12, 13]);
        assert_eq!(buffer[63..65], [59, 0xee]);
        assert_eq!(copy(&frame, None, &mut buffer), 60);
        assert_eq!(copy(&frame[..5], Some((0x8100, 7)), &mut buffer), 5, "nothing to put it behind");
        assert_eq!(copy(&frame, Some((0x8100, 7)), &mut buffer[..20]), 20);
    }
}
