//! The ring in which the kernel delivers frames: `TPACKET_V2`, one slot for each frame.
//!
//! This version delivers each frame at once; version 3 collects frames in blocks, which delays packets by up to a
//! millisecond until a block is closed. Super-packets do not fit into a slot; the kernel queues them at the socket in place of
//! cutting them off (`PACKET_COPY_THRESH`), and tells in front of each frame what is left to a card (`PACKET_VNET_HDR`). The layout is that of `Documentation/networking/packet_mmap.rst` of the Linux
//! kernel.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use aqmkit_packets::offload::HEADER;
use aqmkit_packets::super_packet::Received;
use rustix::buffer::spare_capacity;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::RecvFlags;

use crate::packet_socket;
use crate::port::{LONGEST, Room, received};

/// Slots in a ring: arrivals of 14 ms at 10 Gbit/s with full frames.
const SLOTS: usize = 4096;
/// Bytes of super-packets that wait at the socket, as the kernel counts memory; it doubles the number.
const MOST_WAITING: libc::c_int = 64 << 20;
/// The unit in which the kernel allocates.
const BLOCK: usize = 1 << 16;
/// The kernel's header and the space before a frame, rounded up.
const HEAD: usize = 128;

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

impl Ring {
    /// A ring for frames of at most `longest` bytes, and for super-packets.
    pub(super) fn new(socket: BorrowedFd<'_>, longest: usize) -> io::Result<Ring> {
        let on: libc::c_int = 1;
        packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
        packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &on)?;
        // Without the right to this, fewer super-packets can wait.
        let _ = packet_socket::set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &MOST_WAITING);
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let slot = (longest + HEAD).next_power_of_two().clamp(2048, BLOCK);
        let size = slot * SLOTS;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (size / BLOCK) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: SLOTS as u32,
        };
        packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping, of as many bytes as the kernel has just made a ring of.
        let memory = unsafe {
            mmap(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, socket, 0)
        }?;
        let memory = NonNull::new(memory).ok_or_else(|| io::Error::other("the kernel mapped a ring at zero"))?;
        Ok(Ring { memory, size, slot, next: 0 })
    }

    /// The next frame, including the VLAN tag that the kernel removed; `None` if there is none. A super-packet does not fit into
    /// a slot: the kernel gives it to the socket in the same order.
    ///
    /// # Errors
    /// [`io::ErrorKind::OutOfMemory`] when the socket had no memory left for a super-packet, and
    /// [`io::ErrorKind::InvalidData`] when it is longer than 64 KiB, or of an unknown kind.
    pub(super) fn take(&mut self, socket: BorrowedFd<'_>, room: &mut Room) -> Option<io::Result<Received>> {
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
        let tag = (flags & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let known = flags & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let [kind, value] = [if known { header.tp_vlan_tpid } else { 0x8100 }, header.tp_vlan_tci];
            let ([k0, k1], [v0, v1]) = (kind.to_be_bytes(), value.to_be_bytes());
            [k0, k1, v0, v1]
        });
        let frame = if flags & libc::TP_STATUS_COPY != 0 {
            let whole = room.take(tag, |into| {
                rustix::net::recv(socket, spare_capacity(into), RecvFlags::DONTWAIT)?;
                Ok(())
            });
            let cut_off = header.tp_len as usize > LONGEST;
            if cut_off { Err(io::ErrorKind::InvalidData.into()) } else { whole }
        } else if header.tp_snaplen < header.tp_len {
            Err(io::ErrorKind::OutOfMemory.into())
        } else {
            // The header that tells what is left to a card ends where the frame begins.
            let from = usize::from(header.tp_mac).min(self.slot).saturating_sub(HEADER);
            let length = (HEADER + header.tp_snaplen as usize).min(self.slot - from);
            // SAFETY: `from` and `length` were cut to what the slot has.
            let bytes = unsafe { std::slice::from_raw_parts(slot.add(from), length) };
            received(bytes.to_vec(), tag)
        };
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        Some(frame)
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
