//! A live bottleneck between two network namespaces.
//!
//! ```text
//!   client namespace                this process                server namespace
//!   198.18.N.2  aqmkit0  ── up ──▶  Shaper  ──────────────▶  aqmkitM  198.18.N.1
//!                        ◀──────────────  Shaper  ◀── down ──
//! ```
//!
//! Nothing outside the namespaces that it creates is changed: no sysctl, no route, no file except its record. Inside
//! the client namespace of another link, that namespace is the server's side and forwards packets, so that bottlenecks
//! can be in series.
//!
//! `N` is 0 for the outermost link. A link inside link `N` has a number from the block of `N`, which starts at `N` and
//! has the size of the lowest set bit of `N`, or 256 for 0. The first link inside has the upper half of the block, the
//! next one the upper half of the rest, and so on. Therefore one route per address family, to the block of the link,
//! leads to all links behind it.

pub mod router;

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use aqmkit_base::Instant;
use netlink_packet_route::AddressFamily;
use rustix::event::{EventfdFlags, eventfd};

use crate::bottleneck::{Bottleneck, Direction, Look, Measured, Request};
use crate::bounds;
use crate::capabilities::keep_none;
use crate::confinement::{Needs, confine};
use crate::congestion;
use crate::ctl::Control;
use crate::error::LiveError;
use crate::kernel::{Decisions, Place};
use crate::nat::Nat;
use crate::netlink::{Destination, Netlink};
use crate::netns::{Netns, set_sysctl, sysctl, sysctl_path};
use crate::timing::{Clock, be_punctual};
use crate::tun::Tun;
use aqmkit_measure::Plan;
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::shaper::{Setup, Shaper};
use aqmkit_packets::wire::{Classes, Encapsulation};

/// The environment variable with the address of the server's side.
pub const BASE: &str = "AQMKIT_BASE";
/// The same for IPv6.
pub const BASE6: &str = "AQMKIT_BASE6";

/// The largest number of packets that wait before a TUN device while this process is delayed: 24 ms of full packets at
/// 1 Gbit/s. They wait outside of the discipline, so the number is as small as a stall permits.
const DEVICE_QUEUE: u32 = 2000;

/// The settings of a link.
#[derive(Clone, Debug)]
pub struct LinkSetup {
    /// From the server to the client.
    pub down: Setup,
    /// From the client to the server.
    pub up: Setup,
    /// The classification of packets.
    pub classes: Classes,
    /// The plan of the measurement, with times relative to the start of [`Link::clock`] and with the links `down` and
    /// `up`. `None` for one window over the whole time.
    pub plan: Option<Plan>,
    /// Whether, without a plan, only the time from [`Link::begin`] to [`Link::finish`] is measured.
    pub on_demand: bool,
    /// Whether TCP negotiates ECN in both namespaces; `None` for the kernel's default.
    pub ecn: Option<bool>,
    /// The congestion control of every connection in both namespaces; `None` for the kernel's default.
    pub cc: Option<String>,
    /// Largest packet.
    pub mtu: u32,
    /// Whether the client reaches the networks of the calling thread's namespace, which is then the server's side and
    /// translates addresses.
    pub outside: bool,
    /// Where the discipline of `down` runs if it runs inside the kernel, at the device of a router in front of the server's
    /// side: this process only delays packets, and measures. The link then has IPv4 alone.
    pub in_kernel: Option<Place>,
}

/// The addresses of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Addresses {
    /// Of the server's side.
    pub server: [IpAddr; 2],
    /// Of the client's side.
    pub client: [IpAddr; 2],
}

impl Addresses {
    /// The addresses of link `n`.
    #[must_use]
    pub fn of(n: u8) -> Self {
        Addresses { server: addresses_of(n, SERVER), client: addresses_of(n, CLIENT) }
    }
}

/// The last part of the addresses of the server's side, and of the client's.
const SERVER: u8 = 1;
const CLIENT: u8 = 2;

/// The addresses of an end of link `n`, from the block for benchmarks (RFC 2544) and a unique local prefix (RFC 4193).
fn addresses_of(n: u8, host: u8) -> [IpAddr; 2] {
    let v4 = Ipv4Addr::new(198, 18, n, host);
    let v6 = Ipv6Addr::new(0xfd61, 0x716d, 0x6b69, n.into(), 0, 0, 0, host.into());
    [v4.into(), v6.into()]
}

/// A side of the link.
#[derive(Debug)]
pub struct Side {
    /// Its namespace.
    pub namespace: Netns,
    /// Its device.
    pub device: String,
    /// The netlink socket of its namespace, which remains usable without capabilities.
    netlink: Netlink,
    /// The sysctl with the number of retransmissions of orphaned connections, if the namespace was created for this
    /// link.
    orphans: Option<File>,
}

impl Side {
    /// Makes orphaned connections end with their next timeout, because nobody answers them at the end of the link.
    /// Otherwise they would keep the namespace, and the congestion control loaded for them, for two minutes.
    fn give_up_orphans(&mut self) {
        if let Some(file) = &mut self.orphans {
            // If this fails, they end later.
            let _ = file.write_all(b"1");
        }
    }

    /// Packets that the kernel dropped before the device, not the discipline.
    fn dropped_before(&mut self) -> u64 {
        self.netlink.interface(&self.device).map_or(0, |i| i.tx_dropped)
    }
}

/// A running link.
#[derive(Debug)]
pub struct Link {
    /// The server's side.
    pub server: Side,
    /// The client's side.
    pub client: Side,
    /// The addresses.
    pub addresses: Addresses,
    /// Whether the server's side is the namespace in which this process was started.
    pub nested: bool,
    /// The clock of the measurement.
    pub clock: Clock,
    /// A snapshot, updated ten times a second.
    pub look: Arc<Mutex<Look>>,
    /// The handle that shows and changes it.
    pub control: Arc<Control<Tun>>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<Option<Measured>>>,
    /// The router in front of the server's side, where the discipline is inside the kernel.
    router: Option<Side>,
    _nat: Option<Nat>,
}

impl Link {
    /// Creates the namespaces, the devices and the thread between them.
    ///
    /// # Errors
    /// When a parameter cannot be used, or the machine or the user's rights lack something.
    pub fn open(setup: &LinkSetup) -> Result<Self, LiveError> {
        Link::placed(setup, setup.outside || std::env::var_os(BASE).is_some())
    }

    /// The same inside the calling thread's namespace, which is the client side of another link.
    ///
    /// # Errors
    /// As [`Link::open`].
    pub fn open_within(setup: &LinkSetup) -> Result<Self, LiveError> {
        Link::placed(setup, true)
    }

    fn placed(setup: &LinkSetup, nested: bool) -> Result<Self, LiveError> {
        check(setup)?;
        let place = if nested { Netns::current() } else { Netns::create() };
        let outer = place.map_err(no_namespace)?;
        let inner = Netns::create().map_err(no_namespace)?;
        let nat = if setup.outside { Some(outer.inside(way_outside).map_err(|e| no_way_outside(&e))?) } else { None };
        if !nested {
            outer.inside(|| prepare(setup.ecn)).map_err(cannot("cannot prepare the server's namespace"))?;
        }
        inner.inside(|| prepare(setup.ecn)).map_err(cannot("cannot prepare the client's namespace"))?;
        let number = outer.inside(free_number).map_err(cannot("cannot find addresses for the link"))?;
        let addresses = Addresses::of(number);
        let behind = if nested { Behind::Block(number) } else { Behind::Everything };
        let orphans = || File::options().write(true).open(sysctl_path("net.ipv4.tcp_orphan_retries"));
        // The namespace of another link remains.
        let of_outer = if nested { None } else { outer.inside(orphans).ok() };
        let of_inner = inner.inside(orphans).ok();
        let local = if setup.in_kernel.is_some() { router::addresses(number) } else { addresses.server };
        let (down, mut server) = side(outer, "aqmkit%d", local, addresses.client, behind, setup)?;
        let (up, mut client) = side(inner, "aqmkit0", addresses.client, addresses.server, Behind::Everything, setup)?;
        (server.orphans, client.orphans) = (of_outer, of_inner);
        let (mut router, mut decisions) = (None, None);
        if let Some(in_kernel) = setup.in_kernel {
            let made = router::put_before(&server, &addresses, number, setup, in_kernel)?;
            router = Some(std::mem::replace(&mut server, made.sender));
            decisions = Some(made.decisions);
        }
        let clock = Clock::start();
        let look = Arc::new(Mutex::new(Look::default()));
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| cannot("cannot make an eventfd")(e.into()))?);
        let (sender, requests) = channel();
        let setups = [&setup.down, &setup.up].map(|s| Setup { classes: setup.classes.names().to_vec(), ..s.clone() });
        let name = format!("link-{}", std::process::id());
        let control = Arc::new(Control::new("link", &name, setups, Arc::clone(&look), sender));
        let work = {
            let (setup, look, stop) = (setup.clone(), Arc::clone(&look), Arc::clone(&stop));
            move |started: &Sender<_>| {
                bottleneck(&setup, [down, up], decisions, clock, look, requests).map(|b| {
                    // The receiver still waits for the result.
                    let _ = started.send(Ok(()));
                    b.run(&*stop)
                })
            }
        };
        let thread = start(work)?;
        Ok(Link {
            server,
            client,
            addresses,
            nested,
            clock,
            look,
            control,
            stop,
            thread: Some(thread),
            router,
            _nat: nat,
        })
    }

    /// The address of servers for commands on the client's side: for links in series, that of the outermost link.
    #[must_use]
    pub fn base(&self) -> [String; 2] {
        let own = self.addresses.server.map(|a| a.to_string());
        let outermost =
            |name, at_hand: String| if self.nested { std::env::var(name).unwrap_or(at_hand) } else { at_hand };
        let [v4, v6] = own;
        [outermost(BASE, v4), outermost(BASE6, v6)]
    }

    /// Starts the measurement.
    pub fn begin(&self) {
        self.tell(Meter::begin);
    }

    /// Ends the measurement.
    pub fn finish(&self) {
        self.tell(Meter::end);
    }

    /// Applies a function to the meters of both directions, at the time of the call.
    fn tell(&self, act: fn(&mut Meter, Instant)) {
        let at = self.clock.now();
        self.control.ask(move |directions, _| {
            for direction in directions {
                // Departures that are due by then come first.
                direction.advance(at);
                act(direction.meter_mut(), at);
            }
        });
    }

    /// Whether it is still running. It ends by itself when a device is removed.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.thread.as_ref().is_some_and(|t| !t.is_finished())
    }

    /// Ends the link and returns the measurements. The devices are removed with the thread, the namespaces with their
    /// last process.
    ///
    /// # Errors
    /// When the thread panicked.
    pub fn close(mut self) -> Result<(Measured, u64), LiveError> {
        let before = self.dropped_before();
        let measured = self.end();
        let measured = measured.ok_or_else(|| cannot("the link failed")(io::Error::other("its thread panicked")))?;
        Ok((measured, before))
    }

    fn end(&mut self) -> Option<Measured> {
        self.server.give_up_orphans();
        self.client.give_up_orphans();
        // A counter that cannot be raised has been raised.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        self.thread.take().and_then(|t| t.join().ok()).flatten()
    }

    /// The number of packets that the kernel dropped before the two devices.
    pub fn dropped_before(&mut self) -> u64 {
        let sides = [Some(&mut self.server), Some(&mut self.client), self.router.as_mut()];
        sides.into_iter().flatten().map(Side::dropped_before).sum()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end();
    }
}

fn check(setup: &LinkSetup) -> Result<(), LiveError> {
    setup.cc.as_deref().map_or(Ok(()), congestion::provide)?;
    if let Some(place) = setup.in_kernel {
        router::wanted(&setup.down, &setup.classes, place)?;
    }
    for direction in [&setup.down, &setup.up] {
        bounds::check(direction).map_err(|error| LiveError::Parameter { direction: direction.name.clone(), error })?;
    }
    Ok(())
}

fn cannot(doing: &str) -> impl FnOnce(io::Error) -> LiveError {
    LiveError::while_doing(doing)
}

/// Advice if the rights to create links are missing.
pub(crate) const WITHOUT_ROOT: &str =
    "run it as root, for example with sudo; or without root in a user namespace: unshare -Urn aqmkit link …";

fn no_namespace(error: io::Error) -> LiveError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            LiveError::lacks("no permission to create network namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)", WITHOUT_ROOT)
        }
        Some(libc::EINVAL | libc::ENOSYS) => {
            LiveError::lacks("this kernel has no network namespaces", "it must be built with CONFIG_NET_NS")
        }
        _ => cannot("cannot make a network namespace")(error),
    }
}

fn no_tun(error: io::Error) -> LiveError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => LiveError::lacks(
            "there is no /dev/net/tun",
            "load the module with modprobe tun; in a container, pass the device, for example --device /dev/net/tun",
        ),
        Some(libc::EPERM | libc::EACCES) => LiveError::lacks(
            "no permission to create TUN devices (CAP_NET_ADMIN)",
            "run it as root, for example with sudo",
        ),
        _ => cannot("cannot make a TUN device")(error),
    }
}

/// Enables the translation of the addresses of links in the calling thread's namespace, which must forward packets.
fn way_outside() -> io::Result<Nat> {
    if sysctl("net.ipv4.ip_forward")? != "1" {
        return Err(io::ErrorKind::NetworkUnreachable.into());
    }
    Nat::open()
}

fn no_way_outside(error: &io::Error) -> LiveError {
    match error.raw_os_error() {
        None if error.kind() == io::ErrorKind::NetworkUnreachable => LiveError::lacks(
            "this machine does not forward packets, so a link leads nowhere outside",
            "sysctl -w net.ipv4.ip_forward=1; a firewall has to let 198.18.0.0/16 through",
        ),
        Some(libc::EPERM | libc::EACCES) => LiveError::lacks(
            "no permission to translate addresses (CAP_NET_ADMIN)",
            "run it as root, for example with sudo",
        ),
        _ => LiveError::lacks(
            format!("this kernel cannot translate addresses: {error}"),
            "Linux 5.12 or newer with CONFIG_NF_TABLES and CONFIG_NFT_MASQ",
        ),
    }
}

/// Configures a new namespace, from inside.
fn prepare(ecn: Option<bool>) -> io::Result<()> {
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

/// The number of the next link in the calling thread's namespace.
fn free_number() -> io::Result<u8> {
    let here = Netlink::open()?.addresses()?;
    let ends: Vec<(u8, u8)> = here
        .iter()
        .filter_map(|ip| match ip {
            IpAddr::V4(v4) if v4.octets()[..2] == [198, 18] => Some((v4.octets()[2], v4.octets()[3])),
            _ => None,
        })
        .collect();
    let of = |host| ends.iter().filter(move |(_, h)| *h == host).map(|(number, _)| *number);
    let within = of(CLIENT).next();
    next_number(within, &of(SERVER).collect::<Vec<_>>()).ok_or_else(|| {
        io::Error::other("no more links are possible here: at most nine nested, and at most eight in parallel")
    })
}

/// The number of the next link inside link `within`, where the numbers in `taken` are in use.
fn next_number(within: Option<u8>, taken: &[u8]) -> Option<u8> {
    let Some(outer) = within else { return (!taken.contains(&0)).then_some(0) };
    // The largest free half of its block.
    let halves = (0..outer.trailing_zeros()).rev().map(|bit| outer + (1 << bit));
    halves.into_iter().find(|number| !taken.contains(number))
}

/// The destinations reached through a device, besides the other end.
#[derive(Clone, Copy, Debug)]
enum Behind {
    /// Everything.
    Everything,
    /// The links inside the link of this number.
    Block(u8),
}

impl Behind {
    /// The destination, in the family of an address of the link.
    fn destination(self, of: IpAddr) -> Destination {
        match (self, of) {
            (Behind::Everything, IpAddr::V4(_)) => Destination::Everything(AddressFamily::Inet),
            (Behind::Everything, IpAddr::V6(_)) => Destination::Everything(AddressFamily::Inet6),
            (Behind::Block(number), _) => {
                let [v4, v6] = addresses_of(number, 0);
                // The size of a block is the lowest set bit of its first number.
                let free = number.trailing_zeros() as u8;
                if of.is_ipv4() { Destination::Network(v4, 24 - free) } else { Destination::Network(v6, 64 - free) }
            }
        }
    }
}

/// Creates the device of a side, with its addresses and routes.
fn side(
    namespace: Netns,
    name: &str,
    local: [IpAddr; 2],
    peer: [IpAddr; 2],
    behind: Behind,
    setup: &LinkSetup,
) -> Result<(Tun, Side), LiveError> {
    let tun = namespace.inside(|| Tun::create(name)).map_err(no_tun)?;
    // A queue inside the kernel is measured packet by packet. Where a device refuses, the kernel cuts super-packets before they are read.
    if setup.in_kernel.is_none() {
        let _ = tun.accept_super_packets();
    }
    let device = tun.name().to_owned();
    let configure = || {
        let mut netlink = Netlink::open()?;
        let index = netlink.interface(&device)?.index;
        netlink.set_up(index, Some(setup.mtu), Some(DEVICE_QUEUE))?;
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
fn await_address(own: IpAddr) {
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

/// Starts the thread that moves packets, and waits until it runs. Disciplines are built in that thread, because they
/// need not be movable between threads.
pub(crate) fn start(
    work: impl FnOnce(&Sender<Result<(), LiveError>>) -> Result<Measured, LiveError> + Send + 'static,
) -> Result<JoinHandle<Option<Measured>>, LiveError> {
    let (started, news) = channel();
    let body = move || match work(&started) {
        Ok(measured) => Some(measured),
        Err(error) => {
            // The receiver still waits for the result.
            let _ = started.send(Err(error));
            None
        }
    };
    let thread =
        std::thread::Builder::new().name("bottleneck".into()).spawn(body).map_err(cannot("cannot start a thread"))?;
    match news.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(cannot("the link failed")(io::Error::other("its thread panicked"))),
    }
}

/// The two directions, in the thread that moves packets.
fn bottleneck(
    setup: &LinkSetup,
    [down, up]: [Tun; 2],
    decisions: Option<Decisions>,
    clock: Clock,
    look: Arc<Mutex<Look>>,
    requests: Receiver<Request<Tun>>,
) -> Result<Bottleneck, LiveError> {
    let reader = Reader::new(Encapsulation::Ip, setup.classes.clone(), setup.down.seed);
    let directions = match decisions {
        None => [direction(&setup.down, down, setup)?, direction(&setup.up, up, setup)?],
        Some(decisions) => {
            let queue = router::queue(setup, decisions, reader.clone(), clock);
            let down = Direction { kernel: Some(queue), ..direction(&router::delay_only(&setup.down), down, setup)? };
            [down, direction(&setup.up, up, setup)?]
        }
    };
    let granted = be_punctual();
    // Packets come from anywhere, so the thread that reads them gets only the necessary rights.
    keep_none();
    // Older kernels ignore this.
    let _ = confine(Needs::Nothing);
    let requests = Some(requests);
    Ok(Bottleneck { directions, requests, reader, clock, look, plan: setup.plan.clone(), granted })
}

fn direction(setup: &Setup, tun: Tun, link: &LinkSetup) -> Result<Direction, LiveError> {
    let setup = Setup { classes: link.classes.names().to_vec(), ..setup.clone() };
    let shaper = Shaper::<Frame>::new(&setup, meter(link), Instant::ZERO)
        .map_err(|error| LiveError::Parameter { direction: setup.name.clone(), error })?;
    Ok(Direction { name: setup.name, device: tun, shaper, kernel: None })
}

/// What measures a direction of the link.
fn meter(link: &LinkSetup) -> Meter {
    let classes = link.classes.names();
    let planned = |p: &Plan| Meter::new(&p.windows, classes.len()).listing_drops();
    let unplanned = || if link.on_demand { Meter::on_demand(classes) } else { Meter::whole(classes) };
    link.plan.as_ref().map_or_else(unplanned, planned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_within_links_have_blocks_of_their_own() {
        assert_eq!(next_number(None, &[]), Some(0));
        assert_eq!(next_number(None, &[0]), None);
        let row: Vec<u8> = std::iter::successors(Some(0), |n| next_number(Some(*n), &[])).collect();
        assert_eq!(row, [0, 128, 192, 224, 240, 248, 252, 254, 255]);
        let mut beside = Vec::new();
        while let Some(next) = next_number(Some(128), &beside) {
            beside.push(next);
        }
        assert_eq!(beside, [192, 160, 144, 136, 132, 130, 129]);
        assert_eq!(next_number(Some(128), &[192, 144]), Some(160), "a place that became free is used again");
        let block = |n| Behind::Block(n).destination(addresses_of(n, SERVER)[0]);
        assert_eq!(block(160), Destination::Network(Ipv4Addr::new(198, 18, 160, 0).into(), 19), "160 to 191");
        let v6 = Behind::Block(129).destination(addresses_of(129, SERVER)[1]);
        assert_eq!(v6, Destination::Network("fd61:716d:6b69:81::".parse().unwrap(), 64));
    }
}
