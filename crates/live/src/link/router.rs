//! A link whose discipline runs inside the kernel: on a router in front of the server's side, whose egress device has
//! the classifier and the qdisc.
//!
//! ```text
//!   client namespace            this process           router's namespace             server namespace
//!   198.18.N.2  aqmkit0  ── up, with its queue ──▶  aqmkitM  198.18.N.3  server ──▶  aqmkit0  198.18.N.1
//!                        ◀── delay alone ──  aqmkitM  ◀ tbf ◀ classifier ◀ server  ◀──
//! ```
//!
//! Without the router, the server's kernel would report each qdisc drop to its TCP at once (local congestion, not
//! loss), and TCP would send GSO packets. A veth pair without offloads connects the two, so that the router receives
//! single packets as from a network.

use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsFd;

use aqmkit_aqm::ParamError;
use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Framing};
use aqmkit_packets::frame::Reader;
use aqmkit_packets::shaper::Setup;
use aqmkit_packets::wire::Classes;

use super::addresses::{Addresses, Behind, addresses_of};
use super::side::{Side, await_address, prepare};
use super::{LinkSetup, cannot, meter, no_namespace};
use crate::error::LiveError;
use crate::kernel::queue::KernelQueue;
use crate::kernel::{Decisions, Place, Wanted, install_watched};
use crate::netlink::Netlink;
use crate::netns::{Netns, sysctl_path};
use crate::offload::{OFFLOADS, switch};
use crate::timing::Clock;

/// Host part of the router's addresses.
const ROUTER: u8 = 3;
/// The shaper rate of a direction that only adds delay.
const FREE: BitRate = BitRate::from_mbps(10_000);
/// The veth pair: the server's end and the router's end.
const PAIR: [&str; 2] = ["aqmkit0", "server"];

/// The router's addresses on link `number`, shared by both of its devices.
pub(super) fn addresses(number: u8) -> [IpAddr; 2] {
    addresses_of(number, ROUTER)
}

/// The discipline and parameters to install in the kernel for a direction.
///
/// # Errors
/// When the discipline or a parameter has no in-kernel equivalent, or the direction has features `tbf` lacks.
pub fn wanted(down: &Setup, classes: &Classes, place: Place) -> Result<Wanted, LiveError> {
    let refuse = |field: &str, what: &str| {
        let error = ParamError::sentence(field, what, "leave it out, or use a live link without the kernel");
        Err(LiveError::Parameter { direction: down.name.clone(), error })
    };
    if down.trace.is_some() {
        return refuse("trace", "a shaper of the kernel has one rate and follows no trace");
    }
    if down.framing != Framing::default() {
        return refuse("framing", "a queue in the kernel counts IP packets without framing");
    }
    let wanted = Wanted {
        spec: down.aqm.clone(),
        rate: down.rate,
        mean_packet: down.mean_packet,
        classes: classes.clone(),
        place,
    };
    match wanted.settings(1) {
        Ok(_) => Ok(wanted),
        Err(error) => Err(LiveError::Parameter { direction: down.name.clone(), error }),
    }
}

/// The same direction with its delay and wire only: the queue is in the kernel.
pub(super) fn delay_only(down: &Setup) -> Setup {
    let aqm = Spec::named("fifo").unwrap_or_else(|| down.aqm.clone());
    Setup { rate: FREE, aqm, ..down.clone() }
}

/// Measures the in-kernel queue.
pub(super) fn queue(link: &LinkSetup, decisions: Decisions, reader: Reader, clock: Clock) -> KernelQueue {
    KernelQueue::new(decisions, reader, link.down.aqm.flow(), clock, link.down.rate, meter(link))
}

/// The server's side behind a router, and the router's decision log.
pub(super) struct RoutedServer {
    pub(super) sender: Side,
    pub(super) decisions: Decisions,
}

/// Creates a namespace for the server's side, connects it to the previous server namespace, which becomes the router,
/// and installs the classifier on the router's egress device.
pub(super) fn insert_router(
    router: &Side,
    link: &Addresses,
    number: u8,
    setup: &LinkSetup,
    place: Place,
) -> Result<RoutedServer, LiveError> {
    let wanted = wanted(&setup.down, &setup.classes, place)?;
    let namespace = Netns::create().map_err(no_namespace)?;
    namespace.inside(|| prepare(setup.ecn)).map_err(cannot("cannot prepare the server's namespace"))?;
    let (server, own) = (link.server[0], addresses(number)[0]);
    let joined = namespace.inside(|| {
        let mut servers = Netlink::open()?;
        servers.add_pair(PAIR, router.namespace.as_fd())?;
        let index = end_of_pair(&mut servers, PAIR[0], setup.mtu)?;
        servers.add_address(index, server, own)?;
        let everything = Behind::Everything.destination(server);
        servers.add_route_by(index, everything, Some(own), setup.cc.as_deref())?;
        await_address(server);
        Ok(servers)
    });
    let netlink = joined.map_err(cannot("cannot join the server's side to the router"))?;
    let route = || {
        let mut routers = Netlink::open()?;
        let index = end_of_pair(&mut routers, PAIR[1], setup.mtu)?;
        routers.add_address(index, own, server)
    };
    router.namespace.inside(route).map_err(cannot("cannot set up the router"))?;
    let installed = router.namespace.inside(|| Ok(install_watched(&router.device, &wanted)));
    let decisions = installed.map_err(cannot("cannot enter the router's namespace"))??;
    let orphans = || File::options().write(true).open(sysctl_path("net.ipv4.tcp_orphan_retries"));
    let orphans = namespace.inside(orphans).ok();
    Ok(RoutedServer { sender: Side { namespace, device: PAIR[0].to_owned(), netlink, orphans }, decisions })
}

/// Disables segmentation and receive offloads on an end of the veth pair; returns its ifindex.
fn end_of_pair(netlink: &mut Netlink, name: &str, mtu: u32) -> std::io::Result<u32> {
    // A device without one of these offloads does not merge packets by it.
    OFFLOADS.iter().for_each(|offload| drop(switch(name, offload, false)));
    let index = netlink.interface(name)?.index;
    netlink.set_up(index, Some(mtu), None)?;
    Ok(index)
}
