//! One side of a link: a namespace with a TUN device.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, UdpSocket};

use super::addresses::Behind;
use super::{LinkSetup, cannot, no_tun};
use crate::error::LiveError;
use crate::netlink::{Destination, Netlink};
use crate::netns::{Netns, set_sysctl};
use crate::tun::{QUEUE, Tun};

/// One side of a link.
#[derive(Debug)]
pub struct Side {
    /// Its namespace.
    pub namespace: Netns,
    /// Name of its TUN device.
    pub device: String,
    /// A netlink socket in its namespace, usable after capabilities are dropped.
    pub(super) netlink: Netlink,
    /// `net.ipv4.tcp_orphan_retries`, if the namespace was created for this link.
    pub(super) orphans: Option<File>,
}

impl Drop for Side {
    fn drop(&mut self) {
        self.give_up_orphans();
    }
}

impl Side {
    /// Makes orphaned TCP connections give up at their next RTO, because no peer will answer. Otherwise they would keep
    /// the namespace, and the congestion control module, alive for two minutes.
    pub(super) fn give_up_orphans(&mut self) {
        if let Some(file) = &mut self.orphans {
            // Best effort: otherwise they end later.
            let _ = file.write_all(b"1");
        }
    }

    /// Packets that the kernel dropped on the device, before the discipline.
    pub(super) fn dropped_before(&mut self) -> u64 {
        self.netlink.interface(&self.device).map_or(0, |i| i.tx_dropped)
    }
}

/// Configures a new namespace; called inside it.
pub(super) fn prepare(ecn: Option<bool>) -> io::Result<()> {
    // No link-local addresses, so that the kernel's own IPv6 traffic stays off the link. A kernel without IPv6 has no
    // such sysctl.
    let _ = set_sysctl("net.ipv6.conf.default.addr_gen_mode", "1");
    Netlink::open()?.set_up(1, None, None)?;
    // The client's side routes packets for links nested in it.
    set_sysctl("net.ipv4.ip_forward", "1")?;
    let _ = set_sysctl("net.ipv6.conf.all.forwarding", "1");
    // Otherwise cached metrics (ssthresh, RTT) of earlier connections would affect later ones.
    set_sysctl("net.ipv4.tcp_no_metrics_save", "1")?;
    if let Some(on) = ecn {
        // 1: request and accept ECN; 0: neither.
        set_sysctl("net.ipv4.tcp_ecn", if on { "1" } else { "0" })?;
    }
    Ok(())
}

/// Creates the TUN device of a side, with addresses and routes.
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
        // Without /proc, drops before the device remain uncounted.
        let _ = tun.count_dropped();
        Ok(tun)
    };
    let tun = namespace.inside(create).map_err(no_tun)?;
    // An in-kernel queue is measured packet by packet. If the device rejects offloads, the kernel segments before
    // `read`.
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
                // Without IPv6 in the kernel, the link is IPv4-only.
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

/// Waits until the calling thread's namespace can use its new address: the kernel assigns IPv6 addresses asynchronously
/// (duplicate address detection). A connection opened earlier would pick another source address and never get a reply.
pub(super) fn await_address(own: IpAddr) {
    const TRIES: u32 = 100;
    let round = || -> io::Result<()> {
        let socket = UdpSocket::bind((own, 0))?;
        socket.set_read_timeout(Some(PAUSE))?;
        socket.send_to(&[0], socket.local_addr()?)?;
        socket.recv(&mut [0]).map(|_| ())
    };
    for _ in 0..TRIES {
        // A datagram to itself arrives once address and local route exist.
        if round().is_ok() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Polling interval.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
