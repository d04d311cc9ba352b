//! Offloads of an interface that merge packets, so that a discipline would see one packet of 64 KiB instead of many;
//! and the number of its queues.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use aqmkit_packets::outgoing::Joins;
use rustix::net::{AddressFamily, SocketType, socket};
use serde::{Deserialize, Serialize};

use crate::netlink::Netlink;

/// An offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Its name in `ethtool -K`.
    pub name: &'static str,
    way: Way,
}

/// How the kernel reports and changes an offload (`linux/ethtool.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By separate commands to read and to change it.
    Own { ask: u32, set: u32 },
    /// By a bit of the common flags.
    Flag(u32),
}

const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const GET_CHANNELS: u32 = 0x3c;

/// The offloads that merge packets.
pub const OFFLOADS: [Offload; 4] = [
    Offload { name: "tso", way: Way::Own { ask: 0x1e, set: 0x1f } },
    Offload { name: "gso", way: Way::Own { ask: 0x23, set: 0x24 } },
    Offload { name: "gro", way: Way::Own { ask: 0x2b, set: 0x2c } },
    Offload { name: "lro", way: Way::Flag(1 << 15) },
];

/// The offload that removes VLAN tags from received frames.
pub const TAGS: Offload = Offload { name: "rxvlan", way: Way::Flag(1 << 8) };

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// An offload that was disabled on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchedOff {
    /// The interface.
    pub interface: String,
    /// Its index, because another interface may get the name later.
    pub index: u32,
    /// The name of the offload in `ethtool -K`.
    pub offload: String,
}

/// A function that is called with each offload before it is disabled, to record what must be restored if the process is
/// killed.
#[derive(Clone)]
pub struct WriteDown(Arc<dyn Fn(&SwitchedOff) + Send + Sync>);

impl WriteDown {
    /// Calls this function.
    pub fn with(note: impl Fn(&SwitchedOff) + Send + Sync + 'static) -> Self {
        WriteDown(Arc::new(note))
    }

    /// Records nothing.
    #[must_use]
    pub fn nowhere() -> Self {
        WriteDown::with(|_| ())
    }

    pub(crate) fn note(&self, off: &SwitchedOff) {
        (self.0)(off);
    }
}

impl std::fmt::Debug for WriteDown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteDown")
    }
}

impl SwitchedOff {
    /// Enables it again, in the calling thread's namespace.
    ///
    /// # Errors
    /// When the interface is not there any more, or the process may not.
    pub fn undo(&self) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        if Netlink::open()?.interface(&self.interface)?.index != self.index {
            return Err(gone());
        }
        let known = OFFLOADS.into_iter().chain([TAGS]).find(|o| o.name == self.offload);
        switch(&self.interface, &known.ok_or_else(gone)?, true)
    }
}

/// Whether an offload is enabled on an interface of the calling thread's namespace.
///
/// # Errors
/// When there is no such interface, or it does not say.
pub fn is_on(interface: &str, offload: &Offload) -> io::Result<bool> {
    let (ask, bits) = match offload.way {
        Way::Own { ask, .. } => (ask, u32::MAX),
        Way::Flag(bit) => (GET_FLAGS, bit),
    };
    let mut value = Value { command: ask, data: 0 };
    ethtool(interface, &mut value)?;
    Ok(value.data & bits != 0)
}

/// Enables or disables an offload.
///
/// # Errors
/// When there is no such interface, it cannot be changed, or the process may not (it needs `CAP_NET_ADMIN`).
pub fn switch(interface: &str, offload: &Offload, on: bool) -> io::Result<()> {
    let mut value = match offload.way {
        Way::Own { set, .. } => Value { command: set, data: on.into() },
        Way::Flag(bit) => {
            let mut flags = Value { command: GET_FLAGS, data: 0 };
            ethtool(interface, &mut flags)?;
            let data = if on { flags.data | bit } else { flags.data & !bit };
            Value { command: SET_FLAGS, data }
        }
    };
    ethtool(interface, &mut value)
}

/// The number of receive queues of an interface.
///
/// # Errors
/// When there is no such interface, or it does not say.
pub fn receive_queues(interface: &str) -> io::Result<u32> {
    // `struct ethtool_channels`: the maxima of rx, tx, other and combined channels, then the present numbers.
    let mut channels = [0_u32; 9];
    channels[0] = GET_CHANNELS;
    ethtool(interface, &mut channels)?;
    Ok(channels[5] + channels[8])
}

/// The kinds of super-packets that an interface cuts before it sends them (`tx-tcp-segmentation` and others of
/// `ethtool -k`); none if it does not say.
#[must_use]
pub fn segmentation(interface: &str) -> Joins {
    let active = |names: [&str; 3]| -> io::Result<[bool; 3]> {
        let mut strings = Strings { command: GET_STRINGS, set: FEATURES, length: 0, names: [[0; NAME]; MOST_FEATURES] };
        ethtool(interface, &mut strings)?;
        let mut features = Features { command: GET_FEATURES, size: WORDS as u32, words: [[0; 4]; WORDS] };
        ethtool(interface, &mut features)?;
        let named = &strings.names[..MOST_FEATURES.min(strings.length as usize)];
        let place = |name: &str| named.iter().position(|n| n.split(|byte| *byte == 0).next() == Some(name.as_bytes()));
        // The third word is that of the active features.
        Ok(names.map(|name| place(name).is_some_and(|bit| features.words[bit / 32][2] >> (bit % 32) & 1 == 1)))
    };
    let names = ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation"];
    let [tcp_v4, tcp_v6, udp] = active(names).unwrap_or_default();
    Joins { tcp_v4, tcp_v6, udp }
}

const GET_STRINGS: u32 = 0x1b;
const GET_FEATURES: u32 = 0x3a;
/// `ETH_SS_FEATURES`
const FEATURES: u32 = 4;
/// The length of a name.
const NAME: usize = 32;
/// More features than the kernel has.
const MOST_FEATURES: usize = 256;
const WORDS: usize = MOST_FEATURES / 32;

/// `struct ethtool_gstrings`.
#[repr(C)]
struct Strings {
    command: u32,
    set: u32,
    length: u32,
    names: [[u8; NAME]; MOST_FEATURES],
}

/// `struct ethtool_gfeatures`: of 32 features each, those that can be changed, are wanted, are active, and never change.
#[repr(C)]
struct Features {
    command: u32,
    size: u32,
    words: [[u32; 4]; WORDS],
}

/// Executes one of the commands above with its structure, which begins with the number of the command.
fn ethtool<T>(interface: &str, value: &mut T) -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: zeros are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(value).cast();
    // SAFETY: SIOCETHTOOL takes an `ifreq` that points at an ethtool command; both outlive the call, and the commands of
    // this file read and write the structures that they are given with.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
