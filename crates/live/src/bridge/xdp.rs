//! `AF_XDP`: frames in memory shared with the kernel (UMEM), passed through four rings of descriptors.
//!
//! The layout is that of `Documentation/networking/af_xdp.rst`. Each frame occupies a chunk of the UMEM; a chunk is in
//! a receive ring, in a transmit ring, or free. Receiving and sending use separate rings and chunks, so one thread can
//! receive while another sends on the same socket.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::event::epoll;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::redirect::Redirect;
use crate::packet_socket;

/// Ring size, for received and for sent frames.
const SLOTS: u32 = 4096;
/// UMEM chunk size; the kernel allows at most a page.
const CHUNK: usize = 4096;
/// Headroom reserved by the kernel in each chunk (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;
/// Maximum frame length, in bytes.
pub(super) const LONGEST: usize = CHUNK - HEADROOM;

/// A memory mapping, unmapped on drop.
#[derive(Debug)]
struct Mapping {
    at: NonNull<c_void>,
    size: usize,
}

// SAFETY: the memory is owned by the mapping alone and moves with it.
unsafe impl Send for Mapping {}
// SAFETY: threads sharing the UMEM use disjoint chunks: one those of received frames, the other those of sent frames.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(at: *mut c_void, size: usize) -> io::Result<Mapping> {
        let at = NonNull::new(at).ok_or_else(|| io::Error::other("the kernel mapped memory at zero"))?;
        Ok(Mapping { at, size })
    }

    /// Anonymous memory for the UMEM.
    fn anonymous(size: usize) -> io::Result<Mapping> {
        // SAFETY: a new anonymous mapping.
        let at = unsafe {
            mmap_anonymous(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }?;
        Mapping::new(at, size)
    }

    /// Maps a ring of a socket.
    fn of(socket: BorrowedFd<'_>, size: usize, page: u64) -> io::Result<Mapping> {
        let how = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping of a ring set up by the kernel, which rejects a wrong size.
        let at = unsafe { mmap(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, how, socket, page) }?;
        Mapping::new(at, size)
    }

    /// The address of the byte at `offset`, which must be inside the mapping.
    fn byte(&self, offset: u64) -> *mut u8 {
        assert!((offset as usize) < self.size, "the kernel returned an address outside of the ring's memory");
        // SAFETY: within the mapping, as just asserted.
        unsafe { self.at.as_ptr().cast::<u8>().add(offset as usize) }
    }

    /// An index shared with the kernel.
    fn number(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: inside the mapping and aligned like the kernel's own; both sides access it atomically, and it lives
        // as long as the mapping.
        unsafe { AtomicU32::from_ptr(self.byte(offset).cast()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping has this size, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.at.as_ptr(), self.size) };
    }
}

/// The producer's or the consumer's side of a ring of `T`.
#[derive(Debug)]
struct Ring<T> {
    memory: Mapping,
    offsets: libc::xdp_ring_offset,
    kind: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn new(socket: BorrowedFd<'_>, option: libc::c_int, page: u64, offsets: libc::xdp_ring_offset) -> io::Result<Self> {
        set(socket, option, &SLOTS)?;
        let size = offsets.desc as usize + SLOTS as usize * size_of::<T>();
        Ok(Ring { memory: Mapping::of(socket, size, page)?, offsets, kind: std::marker::PhantomData })
    }

    fn slot(&self, number: u32) -> *mut T {
        self.memory.byte(self.offsets.desc + u64::from(number % SLOTS) * size_of::<T>() as u64).cast()
    }

    /// Consumer: removes the next entry.
    fn take(&mut self) -> Option<T> {
        let consumer = self.memory.number(self.offsets.consumer);
        let next = consumer.load(Ordering::Relaxed);
        if self.memory.number(self.offsets.producer).load(Ordering::Acquire) == next {
            return None;
        }
        // SAFETY: the producer has filled this slot and leaves it alone until the consumer index moves on.
        let value = unsafe { self.slot(next).read() };
        consumer.store(next.wrapping_add(1), Ordering::Release);
        Some(value)
    }

    /// Producer: adds an entry. Returns false if the ring is full.
    fn put(&mut self, value: T) -> bool {
        let producer = self.memory.number(self.offsets.producer);
        let next = producer.load(Ordering::Relaxed);
        let taken = self.memory.number(self.offsets.consumer).load(Ordering::Acquire);
        if next.wrapping_sub(taken) >= SLOTS {
            return false;
        }
        // SAFETY: the consumer is past this slot and does not read it until the producer index moves on.
        unsafe { self.slot(next).write(value) };
        producer.store(next.wrapping_add(1), Ordering::Release);
        true
    }

    /// `XDP_RING_NEED_WAKEUP`: whether the kernel needs a system call to process new entries.
    fn wants_wakeup(&self) -> bool {
        self.memory.number(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// A socket on one receive queue of an interface.
#[derive(Debug)]
struct Queue {
    incoming: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    socket: OwnedFd,
    chunks: Arc<Mapping>,
    overrun: u64,
}

/// The sockets on all receive queues of an interface, and the program that redirects frames to them. RSS keeps a flow
/// on one queue, hence in order.
#[derive(Debug)]
pub(super) struct Receiver {
    // Declared first: the program must be detached before the sockets are closed.
    _redirect: Redirect,
    queues: Vec<Queue>,
    /// The queue to serve next (round robin).
    next: usize,
    /// An epoll descriptor over all sockets, if there is more than one.
    ready: Option<OwnedFd>,
}

/// Sends frames through the first queue's socket.
#[derive(Debug)]
pub(super) struct Transmitter {
    outgoing: Ring<libc::xdp_desc>,
    completion: Ring<u64>,
    /// Free chunks.
    free: Vec<u64>,
    socket: OwnedFd,
    chunks: Arc<Mapping>,
}

/// Opens sockets for this many receive queues of an interface.
///
/// # Errors
/// When the kernel has no `AF_XDP`, permission is missing, or a queue is taken (`EBUSY`).
pub(super) fn open(index: u32, queues: u32) -> io::Result<(Receiver, Transmitter)> {
    let (first, transmitter) = Queue::with_transmitter(index)?;
    let others = (1..queues).map(|number| Queue::open(index, number));
    let opened: Vec<Queue> = std::iter::once(Ok(first)).chain(others).collect::<io::Result<_>>()?;
    let ready = if opened.len() > 1 { Some(all_of(&opened)?) } else { None };
    let sockets: Vec<_> = opened.iter().map(|queue| queue.socket.as_fd()).collect();
    let redirect = Redirect::attach(index, &sockets)?;
    Ok((Receiver { _redirect: redirect, queues: opened, next: 0, ready }, transmitter))
}

/// An epoll descriptor, readable when one of the sockets is.
fn all_of(queues: &[Queue]) -> io::Result<OwnedFd> {
    let all = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for queue in queues {
        epoll::add(&all, &queue.socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    }
    Ok(all)
}

impl Queue {
    /// The first queue's socket, which also sends: its UMEM has chunks for received frames, then chunks for sent ones.
    fn with_transmitter(index: u32) -> io::Result<(Queue, Transmitter)> {
        let mut transmitter = None;
        let queue = Queue::opened(index, 0, 2 * SLOTS, |fd, places, chunks| {
            let completion =
                Ring::new(fd, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_UMEM_PGOFF_COMPLETION_RING, places.cr)?;
            let outgoing = Ring::new(fd, libc::XDP_TX_RING, libc::XDP_PGOFF_TX_RING as u64, places.tx)?;
            let free = (SLOTS..2 * SLOTS).map(chunk).collect();
            let (socket, chunks) = (fd.try_clone_to_owned()?, Arc::clone(chunks));
            transmitter = Some(Transmitter { outgoing, completion, free, socket, chunks });
            Ok(())
        })?;
        let transmitter = transmitter.ok_or_else(|| io::Error::other("the socket has no ring to send"))?;
        Ok((queue, transmitter))
    }

    /// The socket of another queue, which only receives.
    fn open(index: u32, number: u32) -> io::Result<Queue> {
        // The kernel requires a completion ring even without a transmit ring.
        Queue::opened(index, number, SLOTS, |fd, _, _| set(fd, libc::XDP_UMEM_COMPLETION_RING, &SLOTS))
    }

    /// A socket with a UMEM of this many chunks; `more` sets up its other rings before it is bound to a queue.
    fn opened(
        index: u32,
        number: u32,
        count: u32,
        more: impl FnOnce(BorrowedFd<'_>, &libc::xdp_mmap_offsets, &Arc<Mapping>) -> io::Result<()>,
    ) -> io::Result<Queue> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers.
        let socket = unsafe { libc::socket(libc::AF_XDP, kind, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just created, and nobody else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let fd = socket.as_fd();
        let size = count as usize * CHUNK;
        let chunks = Arc::new(Mapping::anonymous(size)?);
        // SAFETY: all zeros is a valid registration: no flags, no headroom.
        let mut register: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        register.addr = chunks.at.as_ptr().addr() as u64;
        register.len = size as u64;
        register.chunk_size = CHUNK as u32;
        set(fd, libc::XDP_UMEM_REG, &register)?;
        let places = offsets(fd)?;
        let mut fill = Ring::new(fd, libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_PGOFF_FILL_RING, places.fr)?;
        let incoming = Ring::new(fd, libc::XDP_RX_RING, libc::XDP_PGOFF_RX_RING as u64, places.rx)?;
        more(fd, &places, &chunks)?;
        (0..SLOTS).all(|slot| fill.put(chunk(slot)));
        bind(fd, index, number)?;
        Ok(Queue { incoming, fill, socket, chunks, overrun: 0 })
    }

    /// The next frame; `None` if there is none.
    fn take(&mut self) -> Option<Vec<u8>> {
        let Some(desc) = self.incoming.take() else {
            if self.fill.wants_wakeup() {
                // SAFETY: a zero-length receive, which only wakes the kernel up.
                unsafe { libc::recv(self.socket.as_raw_fd(), std::ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
            }
            return None;
        };
        let length = (desc.len as usize).min(LONGEST);
        let last = desc.addr + length.max(1) as u64 - 1;
        let from = self.chunks.byte(desc.addr.min(last));
        self.chunks.byte(last);
        // SAFETY: both ends lie in the UMEM, as `byte` asserts, and the kernel leaves the chunk alone until it is back
        // in the fill ring.
        let frame = unsafe { std::slice::from_raw_parts(from, length) }.to_vec();
        // Never full: there are no more chunks than slots.
        self.fill.put(desc.addr - desc.addr % CHUNK as u64);
        Some(frame)
    }

    /// Frames dropped since the last call because the rings were full.
    fn dropped(&mut self) -> u64 {
        // SAFETY: all zeros is valid.
        let mut found: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        if get(self.socket.as_fd(), libc::XDP_STATISTICS, &mut found).is_err() {
            return 0;
        }
        let all = found.rx_dropped + found.rx_ring_full;
        let more = all.saturating_sub(self.overrun);
        self.overrun = all;
        more
    }
}

impl Receiver {
    /// Readable when a frame arrives.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_ref().map_or_else(|| self.queues[0].socket.as_fd(), OwnedFd::as_fd)
    }

    /// The next frame; `None` if there is none. Queues are served round robin.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let count = self.queues.len();
        (0..count).find_map(|_| {
            let turn = self.next;
            self.next = (turn + 1) % count;
            self.queues[turn].take()
        })
    }

    /// Frames dropped since the last call because the rings were full.
    pub(super) fn dropped(&mut self) -> u64 {
        self.queues.iter_mut().map(Queue::dropped).sum()
    }
}

impl Transmitter {
    /// Sends a frame.
    ///
    /// # Errors
    /// When the frame is too long, or the interface accepts no more.
    pub(super) fn send(&mut self, frame: [&[u8]; 2]) -> io::Result<()> {
        while let Some(chunk) = self.completion.take() {
            self.free.push(chunk - chunk % CHUNK as u64);
        }
        let length = frame[0].len() + frame[1].len();
        if length > LONGEST || length == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let Some(chunk) = self.free.pop() else {
            // The kernel owns all chunks and may need a wakeup to proceed.
            self.kick();
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let to = self.chunks.byte(chunk);
        // SAFETY: the chunk is free, so the kernel does not access it, and longer than the frame.
        unsafe {
            std::ptr::copy_nonoverlapping(frame[0].as_ptr(), to, frame[0].len());
            std::ptr::copy_nonoverlapping(frame[1].as_ptr(), to.add(frame[0].len()), frame[1].len());
        }
        // Never full: there are no more chunks than slots.
        self.outgoing.put(libc::xdp_desc { addr: chunk, len: length as u32, options: 0 });
        if self.outgoing.wants_wakeup() {
            self.kick();
        }
        Ok(())
    }

    /// Makes the kernel process the transmit ring. If the device queue is full, the entries are sent with the next
    /// frame.
    fn kick(&self) {
        // SAFETY: a zero-length send, which only wakes the kernel up.
        unsafe { libc::send(self.socket.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
    }
}

/// UMEM address of a chunk.
fn chunk(number: u32) -> u64 {
    u64::from(number) * CHUNK as u64
}

fn set<T>(socket: BorrowedFd<'_>, option: libc::c_int, value: &T) -> io::Result<()> {
    packet_socket::set(socket, libc::SOL_XDP, option, value)
}

/// Reads a socket option of the type of `value`.
fn get<T>(socket: BorrowedFd<'_>, option: libc::c_int, value: &mut T) -> io::Result<()> {
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: both pointers refer to values that outlive the call, and the size matches.
    let done = unsafe {
        let at = std::ptr::from_mut(value).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, at, &raw mut size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn offsets(socket: BorrowedFd<'_>) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: all zeros is valid.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    get(socket, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    Ok(offsets)
}

fn bind(socket: BorrowedFd<'_>, index: u32, queue: u32) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let size = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
    // SAFETY: the address outlives the call, and the size is its own.
    let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
