//! A live bottleneck between two network namespaces.
//!
//! ```text
//!   client namespace                this process                server namespace
//!   198.18.N.2  aqmkit0  ── up ──▶  Shaper  ──────────────▶  aqmkitM  198.18.N.1
//!                        ◀──────────────  Shaper  ◀── down ──
//! ```
//!
//! Nothing outside the namespaces it creates is changed: no sysctl, no route, no file except its record. Inside the
//! client namespace of another link, that namespace is the server's side and forwards packets, so that bottlenecks can
//! be put in series.

mod addresses;
pub mod router;
mod side;

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use aqmkit_base::{Duration, Instant};

use crate::bottleneck::Direction;
use crate::capabilities::keep_none;
use crate::confinement::Needs;
use crate::congestion;
use crate::ctl::Control;
use crate::ctl::control::Shown;
use crate::error::LiveError;
use crate::kernel::{Decisions, Place};
use crate::measured::Measured;
use crate::nat::Nat;
use crate::netlink::Netlink;
use crate::netns::{Netns, sysctl, sysctl_path};
use crate::running::{self, Common, Running, Threads, Unbuilt};
use crate::timing::{Clock, wait};
use crate::tun::Tun;
use aqmkit_measure::Plan;
use aqmkit_packets::frame::Reader;
use aqmkit_packets::meter::Meter;
use aqmkit_packets::shaper::Setup;
use aqmkit_packets::wire::{Classes, Encapsulation};

pub use addresses::Addresses;
use addresses::{Behind, free_number};
pub use side::Side;
use side::{prepare, side};

/// The environment variable with the IPv4 address of the server's side.
pub const BASE: &str = "AQMKIT_BASE";
/// The environment variable with its IPv6 address.
pub const BASE6: &str = "AQMKIT_BASE6";

/// By then every thread has run a request: they check with each batch of packets, and at least ten times a second.
const HEARD: Duration = Duration::from_millis(200);

/// The settings of a link.
#[derive(Clone, Debug)]
pub struct LinkSetup {
    /// The direction from server to client.
    pub down: Setup,
    /// The direction from client to server.
    pub up: Setup,
    /// How packets are assigned to classes.
    pub classes: Classes,
    /// The measurement plan, with times relative to the start of [`Link::clock`] and the links `down` and `up`. `None`
    /// for a single window over the whole time.
    pub plan: Option<Plan>,
    /// Whether, without a plan, only the time from [`Link::begin`] to [`Link::finish`] is measured.
    pub on_demand: bool,
    /// Whether TCP negotiates ECN in both namespaces; `None` for the kernel's default.
    pub ecn: Option<bool>,
    /// The congestion control of every connection in both namespaces; `None` for the kernel's default.
    pub cc: Option<String>,
    /// The MTU in bytes.
    pub mtu: u32,
    /// Whether the client reaches the networks of the calling thread's namespace, which is then the server's side and
    /// masquerades its addresses.
    pub outside: bool,
    /// The threads that move packets.
    pub threads: Threads,
    /// If set, the discipline of `down` runs inside the kernel, on a router in front of the server's side; this process
    /// only adds delay and measures. The link is then IPv4-only.
    pub in_kernel: Option<Place>,
}

/// A running link.
#[derive(Debug)]
pub struct Link {
    /// The server's side.
    pub server: Side,
    /// The client's side.
    pub client: Side,
    /// The addresses of both sides.
    pub addresses: Addresses,
    /// Whether the server's side is the namespace this process was started in.
    pub nested: bool,
    /// The clock of the measurement; zero at the start.
    pub clock: Clock,
    /// The handle that reports on and changes the link.
    pub control: Arc<Control<Tun>>,
    running: Running,
    /// The router in front of the server's side, if the discipline runs inside the kernel.
    router: Option<Side>,
    _nat: Option<Nat>,
}

impl Link {
    /// Creates the namespaces, the devices and the threads between them.
    ///
    /// # Errors
    /// When a parameter is invalid, or the machine or the user's permissions do not suffice.
    pub fn open(setup: &LinkSetup) -> Result<Self, LiveError> {
        Link::placed(setup, setup.outside || std::env::var_os(BASE).is_some())
    }

    /// As [`Link::open`], inside the calling thread's namespace, which is the client's side of another link.
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
        // In a nested link that namespace belongs to the outer link and stays.
        let of_outer = if nested { None } else { outer.inside(orphans).ok() };
        let of_inner = inner.inside(orphans).ok();
        let local = if setup.in_kernel.is_some() { router::addresses(number) } else { addresses.server };
        let (down, mut server) = side(outer, "aqmkit%d", local, addresses.client, behind, setup)?;
        let (up, mut client) = side(inner, "aqmkit0", addresses.client, addresses.server, Behind::Everything, setup)?;
        (server.orphans, client.orphans) = (of_outer, of_inner);
        let (mut router, mut decisions) = (None, None);
        if let Some(in_kernel) = setup.in_kernel {
            let made = router::insert_router(&server, &addresses, number, setup, in_kernel)?;
            router = Some(std::mem::replace(&mut server, made.sender));
            decisions = Some(made.decisions);
        }
        let clock = Clock::start();
        let reader = Reader::new(Encapsulation::Ip, setup.classes.clone(), setup.down.seed);
        let [down, up] = directions(setup, [down, up], decisions, &reader, clock)?;
        let setups = vec![with_classes(&setup.down, setup), with_classes(&setup.up, setup)];
        let common = Common { reader, clock, plan: setup.plan.clone(), keep: keep_none, needs: Needs::Nothing };
        let ways = ["server to client", "client to server"].map(str::to_owned).to_vec();
        let name = format!("link-{}", std::process::id());
        let shown = Shown { kind: "link", name, interfaces: Vec::new(), ways };
        let running = Running::start(shown, setups, setup.threads, vec![down, up], &common)?;
        Ok(Link {
            server,
            client,
            addresses,
            nested,
            clock,
            control: Arc::clone(&running.control),
            running,
            router,
            _nat: nat,
        })
    }

    /// The server address for commands on the client's side, IPv4 and IPv6; for links in series, that of the outermost
    /// link.
    #[must_use]
    pub fn base(&self) -> [String; 2] {
        let own = self.addresses.server.map(|a| a.to_string());
        let outermost =
            |name, at_hand: String| if self.nested { std::env::var(name).unwrap_or(at_hand) } else { at_hand };
        let [v4, v6] = own;
        [outermost(BASE, v4), outermost(BASE6, v6)]
    }

    /// Starts the measurement in all directions at the instant this returns.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn begin(&self) -> Result<(), LiveError> {
        let at = self.clock.now() + HEARD;
        self.on_each_direction(move |direction, _| direction.meter_mut().begin(at))?;
        let failed = "cannot wait for the start of the measurement";
        while self.clock.now() < at {
            // A signal may interrupt the wait: retry.
            wait(&mut [], &self.clock, at).map_err(LiveError::while_doing(failed))?;
        }
        Ok(())
    }

    /// Ends the measurement at the time of the call.
    ///
    /// # Errors
    /// When a thread does not answer, so that the measurement has no end.
    pub fn finish(&self) -> Result<(), LiveError> {
        let at = self.clock.now();
        self.on_each_direction(move |direction, _| {
            // First process departures that are due by then.
            direction.advance(at);
            direction.meter_mut().end(at);
        })
    }

    /// Runs a closure on every direction. Not an error if the link has ended.
    fn on_each_direction(
        &self,
        act: impl Fn(&mut Direction, Instant) + Clone + Send + 'static,
    ) -> Result<(), LiveError> {
        if self.control.ask_all(act).is_some() || !self.is_up() {
            return Ok(());
        }
        Err(LiveError::lacks("the threads of the link do not answer", "this machine has too much other work"))
    }

    /// Whether the link is still running. It ends by itself when a device is removed.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.running.is_up()
    }

    /// Ends the link. Returns the measurements, and the number of packets dropped by the kernel elsewhere than on the
    /// input devices (those are in the measurements). Devices are removed with the threads, namespaces with their last
    /// process.
    ///
    /// # Errors
    /// When a thread panicked.
    pub fn close(mut self) -> Result<(Measured, u64), LiveError> {
        let elsewhere = self.dropped_elsewhere();
        let Link { mut server, mut client, running, .. } = self;
        server.give_up_orphans();
        client.give_up_orphans();
        Ok((running.close()?, elsewhere))
    }

    /// With a router, the server's own device is not an input device of any direction.
    fn dropped_elsewhere(&mut self) -> u64 {
        if self.router.is_some() { self.server.dropped_before() } else { 0 }
    }
}

fn check(setup: &LinkSetup) -> Result<(), LiveError> {
    setup.cc.as_deref().map_or(Ok(()), congestion::provide)?;
    if let Some(place) = setup.in_kernel {
        router::wanted(&setup.down, &setup.classes, place)?;
    }
    running::check(&[with_classes(&setup.down, setup), with_classes(&setup.up, setup)])
}

fn cannot(doing: &str) -> impl FnOnce(io::Error) -> LiveError {
    LiveError::while_doing(doing)
}

/// The remedy when the capabilities to create links are missing.
const WITHOUT_ROOT: &str =
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

/// Masquerades links' addresses in the calling thread's namespace, which must forward packets.
fn way_outside() -> io::Result<Nat> {
    let addresses = Netlink::open()?.addresses()?;
    if !addresses.iter().any(leads_out) {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    }
    if sysctl("net.ipv4.ip_forward")? != "1" {
        return Err(io::ErrorKind::NetworkUnreachable.into());
    }
    Nat::open()
}

/// Whether an address is routable beyond its own interface.
fn leads_out(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_loopback(),
        // Every interface has a link-local address.
        IpAddr::V6(v6) => !v6.is_loopback() && !v6.is_unicast_link_local(),
    }
}

fn no_way_outside(error: &io::Error) -> LiveError {
    match error.raw_os_error() {
        None if error.kind() == io::ErrorKind::AddrNotAvailable => LiveError::lacks(
            "this network namespace has no address but that of the loopback, so a link leads nowhere outside",
            "start it in the namespace with the interfaces of the machine, as root: unshare -n makes an empty one",
        ),
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

/// Both directions: the input device of one is the output of the other.
fn directions(
    setup: &LinkSetup,
    [down, up]: [Tun; 2],
    decisions: Option<Decisions>,
    reader: &Reader,
    clock: Clock,
) -> Result<[Unbuilt<Tun>; 2], LiveError> {
    let outlet = |device: &Tun| device.try_clone().map_err(cannot("cannot set up a TUN device"));
    let (to_client, to_server) = (outlet(&up)?, outlet(&down)?);
    let direction =
        |of: &Setup, between| Unbuilt { setup: with_classes(of, setup), between, meter: meter(setup), kernel: None };
    let down = match decisions {
        None => direction(&setup.down, (down, to_client)),
        Some(decisions) => {
            let queue = router::queue(setup, decisions, reader.clone(), clock);
            Unbuilt { kernel: Some(queue), ..direction(&router::delay_only(&setup.down), (down, to_client)) }
        }
    };
    Ok([down, direction(&setup.up, (up, to_server))])
}

fn with_classes(direction: &Setup, link: &LinkSetup) -> Setup {
    Setup { classes: link.classes.names().to_vec(), ..direction.clone() }
}

/// The meter of one direction.
fn meter(link: &LinkSetup) -> Meter {
    let classes = link.classes.names();
    let planned = |p: &Plan| Meter::new(&p.windows, classes.len()).listing_drops();
    let unplanned = || if link.on_demand { Meter::on_demand(classes) } else { Meter::whole(classes) };
    link.plan.as_ref().map_or_else(unplanned, planned)
}
