//! The kernel's bridge between both interfaces, which forwards their frames whenever this program does not.
//!
//! Both interfaces are ports of a bridge device of the kernel. While this program runs, a traffic control program on
//! each of them drops every frame on its way to that device. A packet socket has received the frame before: the kernel
//! hands it to packet sockets first, then to traffic control, then to the bridge device (`__netif_receive_skb_core` in
//! Linux's `net/core/dev.c`). `AF_XDP` takes frames earlier still.
//!
//! The program is attached by BPF links, which are files of this process. However the process ends, the kernel closes
//! them, and its bridge forwards the next frame.

use std::io;
use std::net::IpAddr;

use crate::bpf::code::{Code, Reg};
use crate::bpf::tcx::{self, Attached, Hook};
use crate::error::LiveError;
use crate::netlink::{Interface, Netlink};

/// How the names of the bridge devices begin that are made here; the index of an interface follows.
const PREFIX: &str = "aqmkit-";

/// Attaches a program that keeps the frames of an interface from the kernel's bridge.
fn guard(index: u32) -> io::Result<Attached> {
    let mut code = Code::default();
    code.set(Reg::R0, tcx::DROP);
    code.exit();
    Attached::to(index, Hook::Ingress, code)
}

/// An interface that is a port of the kernel's bridge, and guarded.
#[derive(Debug)]
pub(super) struct Port {
    _guard: Attached,
}

impl Port {
    /// Makes an interface a port, if it is none, and keeps its frames from the bridge.
    ///
    /// # Errors
    /// When the process may not, or the kernel has no such programs.
    pub(super) fn join(index: u32, bridge: u32) -> io::Result<Port> {
        let guard = guard(index)?;
        let mut netlink = Netlink::open()?;
        let joined = netlink.interfaces()?.iter().any(|i| i.index == index && i.controller == bridge);
        if !joined {
            netlink.set_controller(index, bridge)?;
        }
        Ok(Port { _guard: guard })
    }
}

/// The bridge device that takes over. It stays when this program ends; where the start fails, a new one is removed.
#[derive(Debug)]
pub(super) struct KernelBridge {
    /// Its number.
    pub(super) index: u32,
    /// Whether the device was made here and the start may still fail.
    unfinished: bool,
    /// No frame passes to the bridge device before the interfaces are open.
    _guards: [Attached; 2],
}

impl KernelBridge {
    /// The bridge device of which both interfaces are ports, or a new one. The ports themselves join when they are opened
    /// ([`Port::join`]).
    ///
    /// # Errors
    /// When the kernel is too old, an interface has an address or belongs to another bridge, or the process may not.
    pub(super) fn between(names: &[String; 2]) -> Result<KernelBridge, LiveError> {
        let cannot = |error| LiveError::System { doing: "cannot make the kernel's bridge".into(), error };
        let mut netlink = Netlink::open().map_err(cannot)?;
        let all = netlink.interfaces().map_err(cannot)?;
        let [first, second] = names.each_ref().map(|name| named(&all, name));
        let (first, second) = (first?, second?);
        for port in [first, second] {
            without_address(&mut netlink, port)?;
        }
        let guards = [guard(first.index).map_err(refused)?, guard(second.index).map_err(refused)?];
        let name = format!("{PREFIX}{}", first.index);
        let existing = all.iter().find(|i| i.name == name);
        let (index, unfinished) = match ([first.controller, second.controller], existing) {
            ([0, 0], None) => (make_device(&mut netlink, &name).map_err(cannot)?, true),
            ([0, 0], Some(left)) => (left.index, false),
            ([one, other], _) if one == other || other == 0 => (one, false),
            ([0, other], _) => (other, false),
            _ => {
                return Err(LiveError::lacks(
                    format!("{} and {} are ports of different bridges of the kernel", names[0], names[1]),
                    "ip link set NAME nomaster takes a port from its bridge",
                ));
            }
        };
        Ok(KernelBridge { index, unfinished, _guards: guards })
    }

    /// Says that the interfaces are open, so the device stays.
    pub(super) fn keep(mut self) {
        self.unfinished = false;
    }
}

impl Drop for KernelBridge {
    fn drop(&mut self) {
        if self.unfinished {
            // The start has failed, and its error is reported.
            let _ = Netlink::open().and_then(|mut n| n.delete(self.index));
        }
    }
}

fn named<'a>(all: &'a [Interface], name: &str) -> Result<&'a Interface, LiveError> {
    let found = all.iter().find(|i| i.name == name);
    found.ok_or_else(|| LiveError::lacks(format!("there is no interface {name}"), "ip link shows the interfaces"))
}

/// An address of a port is out of reach: the kernel gives the frames of a port to its bridge.
fn without_address(netlink: &mut Netlink, port: &Interface) -> Result<(), LiveError> {
    let own = netlink.addresses_of(port.index).unwrap_or_default();
    let reached = |ip: &IpAddr| match ip {
        IpAddr::V4(_) => true,
        // fe80::/10: every interface has one.
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 != 0xfe80,
    };
    match own.iter().find(|ip| reached(ip)) {
        None => Ok(()),
        Some(ip) => Err(LiveError::lacks(
            format!("{} has the address {ip}, which cannot be reached over a port of the kernel's bridge", port.name),
            "remove the address and manage this machine over another interface, or omit --fail-open",
        )),
    }
}

/// Makes a bridge device that forwards multicast to all ports and sends nothing by itself.
fn make_device(netlink: &mut Netlink, name: &str) -> io::Result<u32> {
    netlink.add_bridge(name)?;
    let index = netlink.interface(name)?.index;
    // A kernel without IPv6 has no such file.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    netlink.set_up(index, None, None)?;
    Ok(index)
}

fn refused(error: io::Error) -> LiveError {
    tcx::refused(error, "--fail-open")
}

/// The kernel's bridge of an interface, if it has one: its name, and whether `--fail-open` made it.
///
/// # Errors
/// When the kernel does not answer.
pub fn kernel_bridge_of(name: &str) -> io::Result<Option<(String, bool)>> {
    let all = Netlink::open()?.interfaces()?;
    let controller = all.iter().find(|i| i.name == name).map_or(0, |i| i.controller);
    let bridge = all.iter().find(|i| controller != 0 && i.index == controller);
    Ok(bridge.map(|b| (b.name.clone(), b.name.starts_with(PREFIX))))
}

/// Removes one bridge device.
///
/// # Errors
/// When there is none of this name, or the process may not.
pub fn remove_kernel_bridge(name: &str) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.interface(name)?.index;
    netlink.delete(index)
}

/// A bridge device of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelDevice {
    /// Its name.
    pub name: String,
    /// Whether `--fail-open` made it.
    pub made_here: bool,
    /// The interfaces between which it forwards.
    pub ports: Vec<String>,
}

/// The bridge devices of the calling thread's namespace.
///
/// # Errors
/// When the kernel does not answer.
pub fn kernel_bridges() -> io::Result<Vec<KernelDevice>> {
    Ok(devices(&Netlink::open()?.interfaces()?))
}

/// The bridge devices among all interfaces: those that have ports, and those that were made here.
fn devices(all: &[Interface]) -> Vec<KernelDevice> {
    let of = |bridge: &Interface| {
        let ports = all.iter().filter(|i| i.controller == bridge.index).map(|i| i.name.clone()).collect();
        KernelDevice { name: bridge.name.clone(), made_here: bridge.name.starts_with(PREFIX), ports }
    };
    all.iter().map(of).filter(|device| device.made_here || !device.ports.is_empty()).collect()
}
