//! TUN and TAP devices: files that read and write IP packets or Ethernet frames.
//!
//! With `IFF_VNET_HDR` each packet is preceded by a `virtio_net_hdr`. A device with offloads enabled
//! ([`Tun::accept_super_packets`]) delivers GSO packets whole and without checksums; otherwise the kernel segments them
//! and computes checksums first, so that every read returns one IP packet of at most the MTU.

use std::fs::File;
use std::io::{self, IoSlice, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;
use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{IntegerSetter, Ioctl, IoctlOutput, Opcode, ioctl};

use crate::port::{Counts, Outlet, Port, ReceiveBuffer};

/// The device file.
pub const DEVICE: &str = "/dev/net/tun";

/// `txqueuelen` of a TUN device: packets that wait while this process is delayed, 24 ms of full-size packets at 1
/// Gbit/s. They wait outside the discipline, so it is no longer than stalls require.
pub(crate) const QUEUE: u32 = 2000;

/// A TUN or TAP device of the network namespace it was created in, removed on drop.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    name: String,
    buffer: ReceiveBuffer,
    /// Super-packets that cannot be segmented.
    too_long: u64,
    /// Drops on the device, if they are counted.
    dropped: Option<Dropped>,
}

impl Tun {
    /// Creates a TUN device in the calling thread's network namespace. `%d` in `name` is replaced by the first free
    /// number.
    ///
    /// # Errors
    /// When `/dev/net/tun` is missing, the name is taken or too long, or `CAP_NET_ADMIN` is missing.
    pub fn create(name: &str) -> io::Result<Self> {
        Tun::of_kind(name, libc::IFF_TUN)
    }

    /// As [`Tun::create`], for Ethernet frames (a TAP device).
    ///
    /// # Errors
    /// As [`Tun::create`].
    pub fn create_ethernet(name: &str) -> io::Result<Self> {
        Tun::of_kind(name, libc::IFF_TAP)
    }

    /// A second handle to the same device, which exists until both are dropped.
    ///
    /// # Errors
    /// When file descriptors are exhausted.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Tun {
            file: self.file.try_clone()?,
            name: self.name.clone(),
            buffer: ReceiveBuffer::new(),
            too_long: 0,
            dropped: None,
        })
    }

    fn of_kind(name: &str, kind: libc::c_int) -> io::Result<Self> {
        let file = open()?;
        let mut request = Request::new(name, kind)?;
        attach(&file, &mut request)?;
        Ok(Tun { file, name: request.name(), buffer: ReceiveBuffer::new(), too_long: 0, dropped: None })
    }

    /// Starts counting drops on the device, in the calling thread's network namespace, which must be the device's.
    ///
    /// # Errors
    /// When `/proc` is not mounted.
    pub fn count_dropped(&mut self) -> io::Result<()> {
        self.dropped = Some(Dropped::open()?);
        Ok(())
    }

    /// The name assigned by the kernel.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Enables offloads towards this reader (`TUNSETOFFLOAD`): the kernel then passes GSO packets whole, with partial
    /// checksums.
    ///
    /// # Errors
    /// When the kernel does not support it.
    pub fn accept_super_packets(&self) -> io::Result<()> {
        let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        let udp = tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6;
        // UDP since Linux 6.2.
        self.set_offload(udp).or_else(|_| self.set_offload(tcp))
    }

    fn set_offload(&self, flags: libc::c_uint) -> io::Result<()> {
        // SAFETY: TUNSETOFFLOAD takes flags in place of a pointer.
        unsafe { ioctl(&self.file, IntegerSetter::<{ libc::TUNSETOFFLOAD as Opcode }>::new_usize(flags as usize)) }?;
        Ok(())
    }
}

impl Port for Tun {
    type Outlet = Tun;

    fn receive(&mut self) -> io::Result<Received> {
        let file = &self.file;
        let read = |into: &mut Vec<u8>| {
            rustix::io::read(file, spare_capacity(into))?;
            Ok(())
        };
        self.buffer.take(None, read)
    }

    fn count_too_long(&mut self) {
        self.too_long += 1;
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn is_gone(&self, error: &io::Error) -> bool {
        is_gone(error)
    }

    fn counts(&mut self) -> Counts {
        let overrun = self.dropped.as_mut().map_or(0, |dropped| dropped.before(&self.name));
        Counts { overrun, too_long: self.too_long, ..Counts::default() }
    }
}

impl Outlet for Tun {
    fn send(&mut self, packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error)) {
        for (place, packet) in packets.iter().enumerate() {
            let parts = [&packet.offload, packet.headers(), packet.rest].map(IoSlice::new);
            if let Err(e) = rustix::io::writev(&self.file, &parts) {
                refused(place, e.into());
            }
        }
    }

    fn joins(&self) -> Joins {
        Joins::ALL
    }

    fn is_gone(&self, error: &io::Error) -> bool {
        is_gone(error)
    }
}

fn open() -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
}

/// `TUNSETIFF`: creates the device of a file.
fn attach(file: &OwnedFd, request: &mut Request) -> rustix::io::Result<()> {
    // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, whose layout `Request` has.
    unsafe { ioctl(file, SetInterface(request)) }
}

/// Opens the device file without allocating, for use after fork.
pub(crate) fn try_open() -> rustix::io::Result<OwnedFd> {
    open()
}

/// Creates a device that disappears with its file, without allocating, for use after fork.
pub(crate) fn try_attach(file: &OwnedFd) -> rustix::io::Result<()> {
    let mut request = Request::new("aqmkit0", libc::IFF_TUN).map_err(|_| rustix::io::Errno::INVAL)?;
    attach(file, &mut request)
}

/// Reads `/proc/net/dev`. Unlike a netlink request it does not take the RTNL lock, so the forwarding thread never waits
/// for changes to other interfaces.
#[derive(Debug)]
struct Dropped {
    table: File,
    text: String,
    /// The count when last read.
    last: u64,
}

impl Dropped {
    fn open() -> io::Result<Self> {
        Ok(Dropped { table: File::open("/proc/thread-self/net/dev")?, text: String::new(), last: 0 })
    }

    /// Packets dropped on a device so far.
    fn before(&mut self, device: &str) -> u64 {
        self.text.clear();
        let read = self.table.rewind().and_then(|()| self.table.read_to_string(&mut self.text));
        // A device that is gone has no line.
        if let Some(count) = read.ok().and_then(|_| sending_drops(&self.text, device)) {
            self.last = count;
        }
        self.last
    }
}

/// Transmit drops of a device, from the text of `/proc/net/dev`.
fn sending_drops(table: &str, device: &str) -> Option<u64> {
    /// After eight receive columns, the fourth transmit column (`drop`).
    const COLUMN: usize = 8 + 3;
    let rows = table.lines().filter_map(|line| line.trim_start().split_once(':'));
    let (_, columns) = rows.into_iter().find(|(name, _)| *name == device)?;
    columns.split_whitespace().nth(COLUMN)?.parse().ok()
}

/// Whether an error means that the device was removed.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADFD | libc::ENODEV | libc::EBADF))
}

/// The part of `struct ifreq` that TUNSETIFF uses.
#[repr(C)]
#[derive(Clone, Copy)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

impl Request {
    fn new(name: &str, kind: libc::c_int) -> io::Result<Self> {
        let mut request = Request {
            name: [0; libc::IFNAMSIZ],
            flags: (kind | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short,
            rest: [0; 22],
        };
        if name.len() >= libc::IFNAMSIZ {
            let text = format!("{name} is too long for an interface: at most {} bytes", libc::IFNAMSIZ - 1);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        Ok(request)
    }

    fn name(&self) -> String {
        let end = self.name.iter().position(|&b| b == 0).unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..end]).into_owned()
    }
}

struct SetInterface<'a>(&'a mut Request);

// SAFETY: the opcode is TUNSETIFF, whose argument is a pointer to `struct ifreq`; `Request` has its size and layout,
// and is borrowed mutably for the call.
unsafe impl Ioctl for SetInterface<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        libc::TUNSETIFF as Opcode
    }

    fn as_ptr(&mut self) -> *mut rustix::ffi::c_void {
        (&raw mut *self.0).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut rustix::ffi::c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_before_a_device_are_read_from_the_table_of_the_kernel() {
        let table = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       1       2    3    4    5     6          7         8        9      10   11   12   13    14      15         16
aqmkit0: 0 0 0 7 0 0 0 0 0 0 0 87218 0 0 0 0
";
        assert_eq!(sending_drops(table, "aqmkit0"), Some(87_218));
        assert_eq!(sending_drops(table, "lo"), Some(12));
        assert_eq!(sending_drops(table, "aqmkit"), None);
        assert_eq!(Dropped::open().unwrap().before("lo"), 0, "the real table has this form");
    }

    #[test]
    fn the_request_is_an_ifreq() {
        assert_eq!(size_of::<Request>(), size_of::<libc::ifreq>());
        assert!(Tun::create("a name longer than sixteen").is_err());
    }
}
