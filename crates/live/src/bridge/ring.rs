//! The memory-mapped receive ring of a packet socket: `TPACKET_V2`, one slot per frame.
//!
//! `TPACKET_V2` delivers each frame at once; `TPACKET_V3` batches frames in blocks, which delays them by up to a
//! millisecond until a block is retired. A super-packet exceeds its slot: with `PACKET_COPY_THRESH` the kernel queues
//! it on the socket rather than truncating it. `PACKET_VNET_HDR` puts a `virtio_net_hdr` in front of each frame. The
//! layout is that of `Documentation/networking/packet_mmap.rst`.

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
use crate::port::{LONGEST, ReceiveBuffer, received};

/// Number of slots: 14 ms of full-size frames at 10 Gbit/s.
const SLOTS: usize = 4096;
/// Socket receive buffer for super-packets, in bytes of skb truesize; the kernel doubles the value.
const MOST_WAITING: libc::c_int = 64 << 20;
/// `tp_block_size`.
const BLOCK: usize = 1 << 16;
/// `struct tpacket2_hdr` and the headroom in front of a frame, rounded up.
const HEAD: usize = 128;

/// A memory-mapped receive ring.
#[derive(Debug)]
pub(super) struct Ring {
    memory: NonNull<c_void>,
    size: usize,
    slot: usize,
    next: usize,
}

// SAFETY: the mapping is owned by the ring alone and moves with it.
unsafe impl Send for Ring {}

impl Ring {
    /// Sets up a ring for frames of at most `longest` bytes.
    pub(super) fn new(socket: BorrowedFd<'_>, longest: usize) -> io::Result<Ring> {
        let on: libc::c_int = 1;
        packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
        packet_socket::set(socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &on)?;
        // Needs CAP_NET_ADMIN; without it fewer super-packets fit.
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
        // SAFETY: a new mapping with the size of the ring just set up.
        let memory = unsafe {
            mmap(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, socket, 0)
        }?;
        let memory = NonNull::new(memory).ok_or_else(|| io::Error::other("the kernel mapped a ring at zero"))?;
        Ok(Ring { memory, size, slot, next: 0 })
    }

    /// The next frame, with a stripped VLAN tag restored; `None` if there is none. A super-packet, which exceeds its
    /// slot, is read from the socket, in the same order.
    ///
    /// # Errors
    /// [`io::ErrorKind::OutOfMemory`] when the socket buffer had no room for a super-packet, and
    /// [`io::ErrorKind::InvalidData`] when it exceeds 64 KiB or its GSO type is unknown.
    pub(super) fn take(&mut self, socket: BorrowedFd<'_>, buffer: &mut ReceiveBuffer) -> Option<io::Result<Received>> {
        // SAFETY: `next` is below SLOTS, so the slot lies within the mapping; blocks are contiguous and hold whole
        // slots, both being powers of two.
        let slot = unsafe { self.memory.as_ptr().cast::<u8>().add(self.next * self.slot) };
        // SAFETY: a slot starts with `tpacket2_hdr`, sufficiently aligned, whose first field is the status, accessed
        // atomically by both sides.
        let status = unsafe { AtomicU32::from_ptr(slot.cast::<u32>()) };
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the status says that the slot is owned by user space until released, and that its header is valid.
        let header = unsafe { slot.cast::<libc::tpacket2_hdr>().read() };
        let tag = (flags & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let known = flags & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let [kind, value] = [if known { header.tp_vlan_tpid } else { 0x8100 }, header.tp_vlan_tci];
            let ([k0, k1], [v0, v1]) = (kind.to_be_bytes(), value.to_be_bytes());
            [k0, k1, v0, v1]
        });
        let frame = if flags & libc::TP_STATUS_COPY != 0 {
            let whole = buffer.take(tag, |into| {
                rustix::net::recv(socket, spare_capacity(into), RecvFlags::DONTWAIT)?;
                Ok(())
            });
            let cut_off = header.tp_len as usize > LONGEST;
            if cut_off { Err(io::ErrorKind::InvalidData.into()) } else { whole }
        } else if header.tp_snaplen < header.tp_len {
            Err(io::ErrorKind::OutOfMemory.into())
        } else {
            // The `virtio_net_hdr` ends where the frame begins.
            let from = usize::from(header.tp_mac).min(self.slot).saturating_sub(HEADER);
            let length = (HEADER + header.tp_snaplen as usize).min(self.slot - from);
            // SAFETY: `from` and `length` are clamped to the slot.
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
        // SAFETY: `new` made the mapping with this size, and nothing borrows from it.
        let _ = unsafe { munmap(self.memory.as_ptr(), self.size) };
    }
}

/// Frames dropped since the last call because the ring was full.
pub(super) fn dropped(socket: BorrowedFd<'_>) -> u64 {
    let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut size = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: both pointers refer to values that outlive the call, and the size matches.
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
