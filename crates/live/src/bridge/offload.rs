//! What network cards do to packets on their way, which a bottleneck must not see: several segments received as
//! one. It is switched off while the bridge runs.

use std::io;
use std::os::fd::BorrowedFd;

use super::sockopt::{ask, request};

/// Ways of receiving several segments as one packet.
#[derive(Clone, Copy, Debug)]
struct Feature {
    get: u32,
    set: u32,
    /// Its bit in the value; all of the value where it has its own.
    bit: u32,
}

/// Generic receive offload (`ETHTOOL_GGRO`, `ETHTOOL_SGRO`).
const GRO: Feature = Feature { get: 0x2b, set: 0x2c, bit: 1 };
/// Large receive offload (`ETH_FLAG_LRO` of `ETHTOOL_GFLAGS`, `ETHTOOL_SFLAGS`).
const LRO: Feature = Feature { get: 0x25, set: 0x26, bit: 1 << 15 };

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

fn ethtool(socket: BorrowedFd<'_>, name: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = Value { command, data };
    let mut asked = request(name)?;
    asked.ifr_ifru.ifru_data = (&raw mut value).cast();
    ask(socket, libc::SIOCETHTOOL, &mut asked)?;
    Ok(value.data)
}

/// What was switched off, to be switched on again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Off {
    gro: bool,
    lro: bool,
}

impl Off {
    /// Switches off what is on. What the interface does not know is off.
    pub(super) fn switch(socket: BorrowedFd<'_>, name: &str) -> Off {
        let off = |feature: Feature| {
            let now = ethtool(socket, name, feature.get, 0).unwrap_or(0);
            now & feature.bit != 0 && ethtool(socket, name, feature.set, now & !feature.bit).is_ok()
        };
        Off { gro: off(GRO), lro: off(LRO) }
    }

    /// Switches on again what was.
    pub(super) fn restore(self, socket: BorrowedFd<'_>, name: &str) {
        let on = |feature: Feature| {
            let now = ethtool(socket, name, feature.get, 0).unwrap_or(0);
            // An interface that has gone needs nothing.
            let _ = ethtool(socket, name, feature.set, now | feature.bit);
        };
        if self.gro {
            on(GRO);
        }
        if self.lro {
            on(LRO);
        }
    }
}
