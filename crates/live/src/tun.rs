//! TUN and TAP devices: files whose reads and writes are IP packets, or Ethernet frames.
//!
//! In front of each packet is a header that tells what is left to a card (`IFF_VNET_HDR`). A device that accepts this for its
//! reader ([`Tun::accept_super_packets`]) gets super-packets whole and without checksums; for others the kernel cuts them and
//! computes checksums before `read`, so that every read returns one IP packet of at most the MTU.

use std::fs::File;
use std::io::{self, IoSlice, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;
use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{IntegerSetter, Ioctl, IoctlOutput, Opcode, ioctl};

use crate::port::{Counts, Outlet, Port, Room};

/// The device file.
pub const DEVICE: &str = "/dev/net/tun";

/// The largest number of packets that wait before a TUN device while this process is delayed: 24 ms of full packets at
/// 1 Gbit/s. They wait outside of the discipline, so the number is as small as a stall permits.
pub(crate) const QUEUE: u32 = 2000;

/// A TUN or TAP device of the network namespace in which it was created. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    name: String,
    room: Room,
    /// Super-packets that cannot be cut.
    too_long: u64,
    /// What the kernel drops before the device, if that is counted.
    dropped: Option<Dropped>,
}

impl Tun {
    /// Creates a device in the calling thread's network namespace. `%d` in `name` is replaced by the first free number.
    ///
    /// # Errors
    /// When there is no `/dev/net/tun`, the name is taken or too long, or the process may not (it needs
    /// `CAP_NET_ADMIN`).
    pub fn create(name: &str) -> io::Result<Self> {
        Tun::of_kind(name, libc::IFF_TUN)
    }

    /// The same for Ethernet frames (a TAP device).
    ///
    /// # Errors
    /// As [`Tun::create`].
    pub fn create_ethernet(name: &str) -> io::Result<Self> {
        Tun::of_kind(name, libc::IFF_TAP)
    }

    /// A second handle of the same device, which is there until both are dropped.
    ///
    /// # Errors
    /// When the process has too many files.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Tun { file: self.file.try_clone()?, name: self.name.clone(), room: Room::new(), too_long: 0, dropped: None })
    }

    fn of_kind(name: &str, kind: libc::c_int) -> io::Result<Self> {
        let file = open()?;
        let mut request = Request::new(name, kind)?;
        attach(&file, &mut request)?;
        Ok(Tun { file, name: request.name(), room: Room::new(), too_long: 0, dropped: None })
    }

    /// Counts what the kernel drops before the device from now on, in the calling thread's network namespace, which must be that of
    /// the device.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn count_dropped(&mut self) -> io::Result<()> {
        self.dropped = Some(Dropped::open()?);
        Ok(())
    }

    /// The name that the kernel gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has the kernel leave checksums and segmentation to the reader of the device.
    ///
    /// # Errors
    /// When the kernel does not have this.
    pub fn accept_super_packets(&self) -> io::Result<()> {
        let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        let udp = tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6;
        // The kernel has UDP since Linux 6.2.
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
        self.room.take(None, read)
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

/// Makes the device of a file.
fn attach(file: &OwnedFd, request: &mut Request) -> rustix::io::Result<()> {
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which is what `Request` lays out.
    unsafe { ioctl(file, SetInterface(request)) }
}

/// Opens the device file, for a process that may not allocate memory.
pub(crate) fn try_open() -> rustix::io::Result<OwnedFd> {
    open()
}

/// Makes a device that goes with its file, for a process that may not allocate memory.
pub(crate) fn try_attach(file: &OwnedFd) -> rustix::io::Result<()> {
    let mut request = Request::new("aqmkit0", libc::IFF_TUN).map_err(|_| rustix::io::Errno::INVAL)?;
    attach(file, &mut request)
}

/// The kernel's table of the devices of a network namespace. Unlike a question over netlink, it can be read without the lock that
/// changes of any interface of the machine hold, so that the thread that moves packets does not wait for them.
#[derive(Debug)]
struct Dropped {
    table: File,
    text: String,
    /// What was counted last.
    last: u64,
}

impl Dropped {
    fn open() -> io::Result<Self> {
        Ok(Dropped { table: File::open("/proc/thread-self/net/dev")?, text: String::new(), last: 0 })
    }

    /// The packets that were dropped before a device.
    fn before(&mut self, device: &str) -> u64 {
        self.text.clear();
        let read = self.table.rewind().and_then(|()| self.table.read_to_string(&mut self.text));
        // A device that is gone has no line any more.
        if let Some(count) = read.ok().and_then(|_| sending_drops(&self.text, device)) {
            self.last = count;
        }
        self.last
    }
}

/// The packets that were dropped before a device, of the table `/proc/net/dev`.
fn sending_drops(table: &str, device: &str) -> Option<u64> {
    /// Eight columns are about receiving; the fourth one about sending counts drops.
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

// SAFETY: the opcode is that of TUNSETIFF, whose argument is a pointer to `struct ifreq`; `Request` has its size
// and layout, and is borrowed mutably for the call.
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
