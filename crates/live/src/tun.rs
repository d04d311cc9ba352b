//! TUN devices: files whose reads and writes are packets.
//!
//! Without `IFF_VNET_HDR` the kernel segments large packets and computes checksums before `read`, so every read returns
//! one IP packet of at most the MTU.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl};

/// The device file.
pub const DEVICE: &str = "/dev/net/tun";

/// A TUN device of the network namespace in which it was created. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    name: String,
}

impl Tun {
    /// Creates a device in the calling thread's network namespace. `%d` in `name` is replaced by the first free number.
    ///
    /// # Errors
    /// When there is no `/dev/net/tun`, the name is taken or too long, or the process may not (it needs
    /// `CAP_NET_ADMIN`).
    pub fn create(name: &str) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(DEVICE, flags, Mode::empty())?;
        let mut request = Request::new(name)?;
        // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which is what `Request` lays out.
        unsafe { ioctl(&file, SetInterface(&mut request)) }?;
        Ok(Tun { file, name: request.name() })
    }

    /// The name that the kernel gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device as a file; each read or write is one packet. Closing the file removes the device.
    #[must_use]
    pub fn into_file(self) -> File {
        self.file.into()
    }
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
    fn new(name: &str) -> io::Result<Self> {
        let mut request = Request {
            name: [0; libc::IFNAMSIZ],
            flags: (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short,
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
    fn the_request_is_an_ifreq() {
        assert_eq!(size_of::<Request>(), size_of::<libc::ifreq>());
        assert!(Tun::create("a name longer than sixteen").is_err());
    }
}
