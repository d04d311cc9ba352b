//! Offloads of an interface that join packets: a discipline would then see one packet of 64 KiB in place of many.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

/// An offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// As `ethtool -K` calls it.
    pub name: &'static str,
    /// The command that asks for it (`linux/ethtool.h`).
    ask: u32,
    /// The command that changes it.
    set: u32,
}

/// Those that join packets.
pub const OFFLOADS: [Offload; 3] = [
    Offload { name: "tso", ask: 0x1e, set: 0x1f },
    Offload { name: "gso", ask: 0x23, set: 0x24 },
    Offload { name: "gro", ask: 0x2b, set: 0x2c },
];

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Whether an interface of the calling thread's namespace does it.
///
/// # Errors
/// When there is no such interface, or it does not say.
pub fn is_on(interface: &str, offload: &Offload) -> io::Result<bool> {
    ethtool(interface, Value { command: offload.ask, data: 0 }).map(|data| data != 0)
}

/// Switches it on or off.
///
/// # Errors
/// When there is no such interface, it cannot be changed, or the process may not (it needs `CAP_NET_ADMIN`).
pub fn switch(interface: &str, offload: &Offload, on: bool) -> io::Result<()> {
    ethtool(interface, Value { command: offload.set, data: on.into() }).map(|_| ())
}

fn ethtool(interface: &str, mut value: Value) -> io::Result<u32> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: zeros are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL takes an `ifreq` that points at an ethtool command; both outlive the call, and the
    // commands of `OFFLOADS` read and write one `ethtool_value`.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if answer == 0 { Ok(value.data) } else { Err(io::Error::last_os_error()) }
}
