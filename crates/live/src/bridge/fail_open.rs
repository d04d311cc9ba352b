//! A kernel bridge device between both interfaces, which forwards their frames whenever this process does not.
//!
//! Both interfaces are ports of a kernel bridge. While this process runs, a tcx program on each of them drops every
//! frame before it reaches the bridge. Packet sockets still get the frame: `__netif_receive_skb_core`
//! (`net/core/dev.c`) delivers to them first, then runs ingress programs, then the bridge's `rx_handler`. `AF_XDP`
//! receives frames earlier still.
//!
//! The programs are attached by BPF links, which are file descriptors. However this process ends, the kernel closes
//! them, and the bridge forwards the next frame.

use std::io;
use std::net::IpAddr;

use crate::bpf::code::{Code, Reg};
use crate::bpf::tcx::{self, Attached, Hook};
use crate::error::LiveError;
use crate::netlink::{Interface, Netlink};

/// Prefix of the names of bridges created here, followed by the first interface's index.
const PREFIX: &str = "aqmkit-";

/// Attaches a program that drops an interface's frames before they reach the bridge.
fn guard(index: u32) -> io::Result<Attached> {
    let mut code = Code::default();
    code.set(Reg::R0, tcx::DROP);
    code.exit();
    Attached::to(index, Hook::Ingress, code)
}

/// An interface that is a bridge port, with its guard program attached.
#[derive(Debug)]
pub(super) struct Port {
    _guard: Attached,
}

impl Port {
    /// Enslaves an interface to the bridge unless it is a port already, and attaches the guard.
    ///
    /// # Errors
    /// When permission is missing, or the kernel has no tcx.
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

/// The kernel bridge that takes over. It outlives this process; if start-up fails, a newly created one is removed.
#[derive(Debug)]
pub(super) struct KernelBridge {
    /// ifindex.
    pub(super) index: u32,
    /// Whether the bridge was created here and start-up may still fail.
    unfinished: bool,
    /// Held so that the bridge gets no frame before the interfaces are open.
    _guards: [Attached; 2],
}

impl KernelBridge {
    /// The bridge both interfaces are ports of, or a new one. Ports join when the interfaces are opened
    /// ([`Port::join`]).
    ///
    /// # Errors
    /// When the kernel is too old, an interface has an address or is a port of another bridge, or permission is
    /// missing.
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

    /// Called once the interfaces are open: the bridge then stays.
    pub(super) fn keep(mut self) {
        self.unfinished = false;
    }
}

impl Drop for KernelBridge {
    fn drop(&mut self) {
        if self.unfinished {
            // Start-up has failed, and that error is reported.
            let _ = Netlink::open().and_then(|mut n| n.delete(self.index));
        }
    }
}

fn named<'a>(all: &'a [Interface], name: &str) -> Result<&'a Interface, LiveError> {
    let found = all.iter().find(|i| i.name == name);
    found.ok_or_else(|| LiveError::lacks(format!("there is no interface {name}"), "ip link shows the interfaces"))
}

/// Refuses a port with an address: it would be unreachable, because the kernel hands a port's frames to the bridge.
fn without_address(netlink: &mut Netlink, port: &Interface) -> Result<(), LiveError> {
    let own = netlink.addresses_of(port.index).unwrap_or_default();
    let reached = |ip: &IpAddr| match ip {
        IpAddr::V4(_) => true,
        // fe80::/10, which every interface has.
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

/// Creates a bridge that floods multicast to all ports and sends nothing itself.
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

/// The kernel bridge an interface is a port of: its name, and whether `--fail-open` created it.
///
/// # Errors
/// When the kernel does not answer.
pub fn kernel_bridge_of(name: &str) -> io::Result<Option<(String, bool)>> {
    let all = Netlink::open()?.interfaces()?;
    let controller = all.iter().find(|i| i.name == name).map_or(0, |i| i.controller);
    let bridge = all.iter().find(|i| controller != 0 && i.index == controller);
    Ok(bridge.map(|b| (b.name.clone(), b.name.starts_with(PREFIX))))
}

/// Removes a bridge device.
///
/// # Errors
/// When there is no such device, or permission is missing.
pub fn remove_kernel_bridge(name: &str) -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.interface(name)?.index;
    netlink.delete(index)
}

/// A bridge device of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelDevice {
    /// Interface name.
    pub name: String,
    /// Whether `--fail-open` created it.
    pub made_here: bool,
    /// Names of its ports.
    pub ports: Vec<String>,
}

/// All bridge devices of the calling thread's network namespace.
///
/// # Errors
/// When the kernel does not answer.
pub fn kernel_bridges() -> io::Result<Vec<KernelDevice>> {
    Ok(devices(&Netlink::open()?.interfaces()?))
}

/// Picks the bridges among all interfaces: those with ports, and those created by `--fail-open`.
fn devices(all: &[Interface]) -> Vec<KernelDevice> {
    let of = |bridge: &Interface| {
        let ports = all.iter().filter(|i| i.controller == bridge.index).map(|i| i.name.clone()).collect();
        KernelDevice { name: bridge.name.clone(), made_here: bridge.name.starts_with(PREFIX), ports }
    };
    all.iter().map(of).filter(|device| device.made_here || !device.ports.is_empty()).collect()
}
