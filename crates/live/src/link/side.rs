//! A side of a link: a namespace with a TUN device.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, UdpSocket};

use super::addresses::Behind;
use super::{LinkSetup, cannot, no_tun};
use crate::error::LiveError;
use crate::netlink::{Destination, Netlink};
use crate::netns::{Netns, set_sysctl};
use crate::tun::{QUEUE, Tun};

/// A side of the link.
#[derive(Debug)]
pub struct Side {
    /// Its namespace.
    pub namespace: Netns,
    /// Its device.
    pub device: String,
    /// The netlink socket of its namespace, which remains usable without capabilities.
    pub(super) netlink: Netlink,
    /// The sysctl with the number of retransmissions of orphaned connections, if the namespace was created for this
    /// link.
    pub(super) orphans: Option<File>,
}

impl Drop for Side {
    fn drop(&mut self) {
        self.give_up_orphans();
    }
}

impl Side {
    /// Makes orphaned connections end with their next timeout, because nobody answers them at the end of the link.
    /// Otherwise they would keep the namespace, and the congestion control loaded for them, for two minutes.
    pub(super) fn give_up_orphans(&mut self) {
        if let Some(file) = &mut self.orphans {
            // If this fails, they end later.
            let _ = file.write_all(b"1");
        }
    }

    /// Packets that the kernel dropped before the device, not the discipline.
    pub(super) fn dropped_before(&mut self) -> u64 {
        self.netlink.interface(&self.device).map_or(0, |i| i.tx_dropped)
    }
}

/// Configures a new namespace, from inside.
pub(super) fn prepare(ecn: Option<bool>) -> io::Result<()> {
    // Disables the kernel's own IPv6 traffic on the link, such as link-local addresses. A kernel without IPv6 has none.
    let _ = set_sysctl("net.ipv6.conf.default.addr_gen_mode", "1");
    Netlink::open()?.set_up(1, None, None)?;
    // The client's side forwards packets for links inside it.
    set_sysctl("net.ipv4.ip_forward", "1")?;
    let _ = set_sysctl("net.ipv6.conf.all.forwarding", "1");
    // Path metrics of earlier connections must not affect later ones.
    set_sysctl("net.ipv4.tcp_no_metrics_save", "1")?;
    if let Some(on) = ecn {
        // With 1 TCP requests and accepts ECN; with 0 it does neither.
        set_sysctl("net.ipv4.tcp_ecn", if on { "1" } else { "0" })?;
    }
    Ok(())
}

/// Creates the device of a side, with its addresses and routes.
pub(super) fn side(
    namespace: Netns,
    name: &str,
    local: [IpAddr; 2],
    peer: [IpAddr; 2],
    behind: Behind,
    setup: &LinkSetup,
) -> Result<(Tun, Side), LiveError> {
    let create = || {
        let mut tun = Tun::create(name)?;
        // Without /proc, what the kernel drops before the device is not known.
        let _ = tun.count_dropped();
        Ok(tun)
    };
    let tun = namespace.inside(create).map_err(no_tun)?;
    // A queue inside the kernel is measured packet by packet. Where a device refuses, the kernel cuts super-packets before they are read.
    if setup.in_kernel.is_none() {
        let _ = tun.accept_super_packets();
    }
    let device = tun.name().to_owned();
    let configure = || {
        let mut netlink = Netlink::open()?;
        let index = netlink.interface(&device)?.index;
        netlink.set_up(index, Some(setup.mtu), Some(QUEUE))?;
        for (own, other) in local.into_iter().zip(peer) {
            let mut routes = || -> io::Result<()> {
                netlink.add_address(index, own, other)?;
                netlink.add_route(index, Destination::Host(other), setup.cc.as_deref())?;
                netlink.add_route(index, behind.destination(own), setup.cc.as_deref())
            };
            match routes() {
                // Without IPv6 in the kernel, the link is IPv4 only.
                Err(_) if own.is_ipv6() => continue,
                result => result?,
            }
            await_address(own);
        }
        Ok(netlink)
    };
    let netlink = namespace.inside(configure).map_err(cannot("cannot set up a TUN device"))?;
    Ok((tun, Side { namespace, device, netlink, orphans: None }))
}

/// Waits until the calling thread's namespace can use its new address: the kernel enables IPv6 addresses in the
/// background. A connection opened earlier would use another source address and never get an answer.
pub(super) fn await_address(own: IpAddr) {
    const TRIES: u32 = 100;
    let round = || -> io::Result<()> {
        let socket = UdpSocket::bind((own, 0))?;
        socket.set_read_timeout(Some(PAUSE))?;
        socket.send_to(&[0], socket.local_addr()?)?;
        socket.recv(&mut [0]).map(|_| ())
    };
    for _ in 0..TRIES {
        // A datagram to itself arrives once the address and its route exist.
        if round().is_ok() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The interval of checks whether an address is ready.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
