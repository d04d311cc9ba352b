//! Offloads of an interface. Those that merge packets would show a discipline one packet of 64 KiB instead of many.
//! Also the number of receive queues.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use aqmkit_packets::outgoing::Joins;
use rustix::net::{AddressFamily, SocketType, socket};
use serde::{Deserialize, Serialize};

use crate::netlink::Netlink;

/// An offload feature of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Its name for `ethtool -K`.
    pub name: &'static str,
    access: Access,
}

/// How an offload is read and set (`linux/ethtool.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// By a pair of commands, `ETHTOOL_G*` and `ETHTOOL_S*`.
    Commands { get: u32, set: u32 },
    /// By a bit of `ETHTOOL_GFLAGS` and `ETHTOOL_SFLAGS`.
    Flag(u32),
}

const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const GET_CHANNELS: u32 = 0x3c;

/// The offloads that merge packets.
pub const OFFLOADS: [Offload; 4] = [
    Offload { name: "tso", access: Access::Commands { get: 0x1e, set: 0x1f } },
    Offload { name: "gso", access: Access::Commands { get: 0x23, set: 0x24 } },
    Offload { name: "gro", access: Access::Commands { get: 0x2b, set: 0x2c } },
    Offload { name: "lro", access: Access::Flag(1 << 15) },
];

/// VLAN stripping: removes VLAN tags from received frames.
pub const TAGS: Offload = Offload { name: "rxvlan", access: Access::Flag(1 << 8) };

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// An offload that was disabled on an interface, to be restored later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledOffload {
    /// Interface name.
    pub interface: String,
    /// Its ifindex, because another interface may get the name later.
    pub index: u32,
    /// The offload's name for `ethtool -K`.
    pub offload: String,
}

/// A callback invoked with each offload before it is disabled, to record what must be restored if this process is
/// killed.
#[derive(Clone)]
pub struct OffloadLog(Arc<dyn Fn(&DisabledOffload) + Send + Sync>);

impl OffloadLog {
    /// Invokes this function.
    pub fn new(note: impl Fn(&DisabledOffload) + Send + Sync + 'static) -> Self {
        OffloadLog(Arc::new(note))
    }

    /// Records nothing.
    #[must_use]
    pub fn none() -> Self {
        OffloadLog::new(|_| ())
    }

    pub(crate) fn note(&self, off: &DisabledOffload) {
        (self.0)(off);
    }
}

impl std::fmt::Debug for OffloadLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OffloadLog")
    }
}

impl DisabledOffload {
    /// Enables the offload again, in the calling thread's namespace.
    ///
    /// # Errors
    /// When the interface is gone, or permission is missing.
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
/// When there is no such interface, or the driver does not report it.
pub fn is_on(interface: &str, offload: &Offload) -> io::Result<bool> {
    let (get, bits) = match offload.access {
        Access::Commands { get, .. } => (get, u32::MAX),
        Access::Flag(bit) => (GET_FLAGS, bit),
    };
    let mut value = Value { command: get, data: 0 };
    ethtool(interface, &mut value)?;
    Ok(value.data & bits != 0)
}

/// Enables or disables an offload.
///
/// # Errors
/// When there is no such interface, its driver refuses, or `CAP_NET_ADMIN` is missing.
pub fn switch(interface: &str, offload: &Offload, on: bool) -> io::Result<()> {
    let mut value = match offload.access {
        Access::Commands { set, .. } => Value { command: set, data: on.into() },
        Access::Flag(bit) => {
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
/// When there is no such interface, or the driver does not report it.
pub fn receive_queues(interface: &str) -> io::Result<u32> {
    // `struct ethtool_channels`: the maxima of rx, tx, other and combined channels, then the current numbers.
    let mut channels = [0_u32; 9];
    channels[0] = GET_CHANNELS;
    ethtool(interface, &mut channels)?;
    Ok(channels[5] + channels[8])
}

/// The kinds of GSO packets that an interface segments itself (`tx-tcp-segmentation` and others of `ethtool -k`); none
/// if it does not report them.
#[must_use]
pub fn segmentation(interface: &str) -> Joins {
    let active = |names: [&str; 3]| -> io::Result<[bool; 3]> {
        let mut strings = Strings { command: GET_STRINGS, set: FEATURES, length: 0, names: [[0; NAME]; MOST_FEATURES] };
        ethtool(interface, &mut strings)?;
        let mut features = Features { command: GET_FEATURES, size: WORDS as u32, words: [[0; 4]; WORDS] };
        ethtool(interface, &mut features)?;
        let named = &strings.names[..MOST_FEATURES.min(strings.length as usize)];
        let place = |name: &str| named.iter().position(|n| n.split(|byte| *byte == 0).next() == Some(name.as_bytes()));
        // The third word holds the active features.
        Ok(names.map(|name| place(name).is_some_and(|bit| features.words[bit / 32][2] >> (bit % 32) & 1 == 1)))
    };
    let names = ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation"];
    let [tcp_v4, tcp_v6, udp] = active(names).unwrap_or_default();
    Joins { tcp_v4, tcp_v6, udp }
}

const GET_STRINGS: u32 = 0x1b;
const GET_FEATURES: u32 = 0x3a;
/// `ETH_SS_FEATURES`.
const FEATURES: u32 = 4;
/// `ETH_GSTRING_LEN`.
const NAME: usize = 32;
/// An upper bound on the kernel's number of features.
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

/// `struct ethtool_gfeatures`: per 32 features, the words available, requested, active, and never changed.
#[repr(C)]
struct Features {
    command: u32,
    size: u32,
    words: [[u32; 4]; WORDS],
}

/// Executes an ethtool command; `value` starts with the command number.
fn ethtool<T>(interface: &str, value: &mut T) -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all zeros is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(value).cast();
    // SAFETY: SIOCETHTOOL takes an `ifreq` that points to an ethtool command. Both outlive the call, and each command
    // of this file comes with the structure it reads and writes.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
