//! Sources and sinks of the shaped frames: the network and this machine.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aqmkit_base::{Duration, Instant};
use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;

use super::programs;
use crate::bpf::tcx::{self, Attached};
use crate::error::LiveError;
use crate::netlink::Netlink;
use crate::offload;
use crate::packet_socket::{self, BATCH, Sender, bind, flags, hardware, index, set};
use crate::port::{Counts, Port, Shared, refuse_all};
use crate::timing::Clock;
use crate::tun::{QUEUE, Tun};

/// Interval at which the interface's existence is checked.
const LOOK: Duration = Duration::from_millis(200);

/// Maximum MTU of a TAP device, so that the frames of any interface fit.
const LARGEST: u32 = 65_521;

/// The source of one direction: a TAP device to which tcx programs redirect frames.
#[derive(Debug)]
pub struct End {
    /// Monitors the interface; present at one of the two ends. Its programs are detached before the device is closed.
    watch: Option<Watch>,
    device: Tun,
    netlink: Netlink,
    /// How many times the interface disappeared.
    vanished: Arc<AtomicU64>,
}

/// The sink of one direction; may be used on another thread than its source.
#[derive(Debug)]
pub enum Outlet {
    /// The network: sends on the interface, while it exists.
    Network(Interface),
    /// This machine: writes to a TAP device, from which the kernel receives.
    Machine(Tun),
}

/// The sending side of the interface.
#[derive(Clone, Debug, Default)]
pub struct Interface(Shared<Sender>);

/// Redirects an interface's frames; the interface may disappear and return.
#[derive(Debug)]
struct Watch {
    interface: String,
    /// ifindex; `None` while the interface is absent.
    index: Option<u32>,
    /// The tcx programs that redirect its frames.
    programs: Vec<Attached>,
    devices: Devices,
    /// The sending side of the interface.
    outlet: Interface,
    clock: Clock,
    next_look: Instant,
}

/// ifindexes of the TAP devices.
#[derive(Clone, Copy, Debug)]
struct Devices {
    egress: u32,
    ingress: Option<u32>,
}

impl Devices {
    /// Attaches the programs that redirect the interface's frames to the devices.
    fn attach(self, interface: u32) -> io::Result<Vec<Attached>> {
        let mut programs = Vec::new();
        if let Some(device) = self.ingress {
            programs.push(programs::back_to(interface, device)?);
            programs.push(programs::at_ingress(interface, device)?);
        }
        programs.push(programs::at_egress(interface, self.egress)?);
        Ok(programs)
    }
}

/// Source and sink of each direction of an interface: egress and, with `ingress`, ingress. From then on its frames are
/// redirected.
///
/// # Errors
/// When the interface is missing, down or not Ethernet, the kernel is too old, or permission is missing.
pub(super) fn ends(name: &str, ingress: bool, clock: Clock) -> Result<Vec<(End, Outlet)>, LiveError> {
    let cannot = |error| LiveError::System { doing: format!("cannot open {name}"), error };
    let number = suitable(name)?;
    let (egress, egress_number) = device("aqm-egress%d").map_err(no_device)?;
    let ingress = if ingress { Some(device("aqm-ingress%d").map_err(no_device)?) } else { None };
    let devices = Devices { egress: egress_number, ingress: ingress.as_ref().map(|(_, own)| *own) };
    let outlet = Interface::default();
    outlet.0.put(Some(sender(name, number).map_err(cannot)?));
    let vanished = Arc::new(AtomicU64::new(0));
    let end = |device, watch| -> io::Result<End> {
        Ok(End { watch, device, netlink: Netlink::open()?, vanished: Arc::clone(&vanished) })
    };
    let arriving = match ingress {
        Some((device, _)) => {
            let back = Outlet::Machine(device.try_clone().map_err(cannot)?);
            Some((end(device, None).map_err(cannot)?, back))
        }
        None => None,
    };
    // Last, because redirection starts immediately.
    let programs = devices.attach(number).map_err(|e| tcx::refused(e, "aqmkit shape"))?;
    let (interface, next_look) = (name.to_owned(), clock.now() + LOOK);
    let watch = Watch { interface, index: Some(number), programs, devices, outlet: outlet.clone(), clock, next_look };
    let leaving = (end(egress, Some(watch)).map_err(cannot)?, Outlet::Network(outlet));
    Ok(std::iter::once(leaving).chain(arriving).collect())
}

/// Checks that an interface can be shaped; returns its ifindex.
fn suitable(name: &str) -> Result<u32, LiveError> {
    let denied = |error: io::Error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => LiveError::lacks(
            "no permission to send frames at interfaces (CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF)",
            "run it as root, for example with sudo",
        ),
        Some(libc::ENODEV) => {
            LiveError::lacks(format!("there is no interface {name}"), "ip link shows the interfaces of this machine")
        }
        _ => LiveError::System { doing: format!("cannot look at {name}"), error },
    };
    let socket = packet_socket::open().map_err(denied)?;
    let socket = socket.as_fd();
    let flags = flags(socket, name).map_err(denied)?;
    if flags & libc::IFF_LOOPBACK != 0 || hardware(socket, name).map_err(denied)? != libc::ARPHRD_ETHER {
        return Err(LiveError::lacks(
            format!("{name} is not an Ethernet interface"),
            "for a tunnel or PPP, use the Ethernet interface that carries it",
        ));
    }
    if flags & libc::IFF_UP == 0 {
        return Err(LiveError::lacks(format!("{name} is down"), format!("ip link set {name} up")));
    }
    if offload::OFFLOADS.iter().any(|o| o.name == "lro" && offload::is_on(name, o).unwrap_or(false)) {
        return Err(LiveError::lacks(
            format!("{name} merges packets in a way that cannot be undone (LRO)"),
            format!("ethtool -K {name} lro off"),
        ));
    }
    index(socket, name).map_err(denied)
}

/// A TAP device that sends nothing itself, and its ifindex.
fn device(name: &str) -> io::Result<(Tun, u32)> {
    let device = Tun::create_ethernet(name)?;
    // If refused, the kernel segments packets before `read`.
    let _ = device.accept_super_packets();
    // A kernel without IPv6 has no such file.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", device.name()), "1");
    let mut netlink = Netlink::open()?;
    let number = netlink.interface(device.name())?.index;
    netlink.set_up(number, Some(LARGEST), Some(QUEUE))?;
    Ok((device, number))
}

fn no_device(error: io::Error) -> LiveError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            LiveError::lacks("there is no /dev/net/tun", "load the module with modprobe tun")
        }
        Some(libc::EPERM | libc::EACCES) => LiveError::lacks(
            "no permission to create TAP devices (CAP_NET_ADMIN)",
            "run it as root, for example with sudo",
        ),
        _ => LiveError::System { doing: "cannot make a TAP device".into(), error },
    }
}

/// A sender that bypasses the egress programs and passes GSO packets on to the NIC.
fn sender(name: &str, number: u32) -> io::Result<Sender> {
    let socket = packet_socket::open()?;
    let on: libc::c_int = 1;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
    packet_socket::send_at_once(socket.as_fd())?;
    bind(socket.as_fd(), number, 0)?;
    Ok(Sender { socket, joins: offload::segmentation(name) })
}

impl Watch {
    /// Releases the interface if it is gone, and takes it over again if it has returned. Returns whether it has
    /// disappeared since the last call.
    fn check_presence(&mut self, netlink: &mut Netlink) -> bool {
        let now = self.clock.now();
        if now < self.next_look {
            return false;
        }
        self.next_look = now + LOOK;
        let found = netlink.interface(&self.interface).ok().map(|i| i.index);
        let gone = self.index.is_some() && found != self.index;
        if gone {
            self.index = None;
            self.programs.clear();
            self.outlet.0.put(None);
        }
        match (self.index, found) {
            (None, Some(number)) => self.take(number),
            (Some(_), _) => {
                let joins = offload::segmentation(&self.interface);
                self.outlet.0.change(|sender| sender.joins = joins);
            }
            (None, None) => {}
        }
        gone
    }

    /// Takes over an interface that has returned, if possible.
    fn take(&mut self, number: u32) {
        let taken = sender(&self.interface, number).and_then(|new| {
            self.outlet.0.put(Some(new));
            self.devices.attach(number)
        });
        if let Ok(programs) = taken {
            self.programs = programs;
            self.index = Some(number);
        }
    }
}

impl Port for End {
    type Outlet = Outlet;

    fn receive(&mut self) -> io::Result<Received> {
        let received = self.device.receive();
        if let Some(watch) = &mut self.watch
            && received.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
            && watch.check_presence(&mut self.netlink)
        {
            self.vanished.fetch_add(1, Ordering::Relaxed);
        }
        received
    }

    fn count_too_long(&mut self) {
        self.device.count_too_long();
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.device.poll_fd()
    }

    /// The interface may return; only this process's own devices can be gone for good.
    fn is_gone(&self, error: &io::Error) -> bool {
        Port::is_gone(&self.device, error)
    }

    fn counts(&mut self) -> Counts {
        let dropped = self.netlink.interface(self.device.name()).map_or(0, |i| i.tx_dropped);
        let vanished = self.vanished.load(Ordering::Relaxed);
        Counts { overrun: dropped, vanished, ..self.device.counts() }
    }
}

impl crate::port::Outlet for Outlet {
    fn send(&mut self, packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error)) {
        match self {
            Outlet::Machine(device) => device.send(packets, refused),
            Outlet::Network(interface) => {
                if interface.0.with(|sender| sender.send(packets, refused)).is_none() {
                    refuse_all(packets, refused);
                }
            }
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn joins(&self) -> Joins {
        match self {
            Outlet::Machine(_) => Joins::ALL,
            Outlet::Network(interface) => interface.0.with(|sender| sender.joins).unwrap_or_default(),
        }
    }

    fn is_gone(&self, error: &io::Error) -> bool {
        matches!(self, Outlet::Machine(device) if crate::port::Outlet::is_gone(device, error))
    }
}
