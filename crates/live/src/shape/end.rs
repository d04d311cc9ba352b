//! Where the frames of an interface's queues come from, and where they leave: this machine and the network.

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

/// The interval of checks whether the interface exists.
const LOOK: Duration = Duration::from_millis(200);

/// The largest MTU of a TAP device: the frames of any interface fit.
const LARGEST: u32 = 65_521;

/// Where the frames of a direction come from: a device to which programs redirect them.
#[derive(Debug)]
pub struct End {
    /// Watches over the interface, at the end that does. Its programs are detached before the device goes.
    watch: Option<Watch>,
    device: Tun,
    netlink: Netlink,
    /// How many times the interface disappeared.
    vanished: Arc<AtomicU64>,
}

/// Where frames leave, also from another thread than the one of their end.
#[derive(Debug)]
pub enum Outlet {
    /// The network: the interface, while it exists.
    Network(Interface),
    /// This machine: a device from which the kernel takes them.
    Machine(Tun),
}

/// What sends at the interface.
#[derive(Clone, Debug, Default)]
pub struct Interface(Shared<Sender>);

/// Redirects the frames of an interface, which may disappear and return.
#[derive(Debug)]
struct Watch {
    interface: String,
    /// The number of the interface; `None` while it is absent.
    index: Option<u32>,
    /// What leads its frames to the devices.
    programs: Vec<Attached>,
    devices: Devices,
    /// What sends there.
    outlet: Interface,
    clock: Clock,
    next_look: Instant,
}

/// The numbers of the TAP devices.
#[derive(Clone, Copy, Debug)]
struct Devices {
    egress: u32,
    ingress: Option<u32>,
}

impl Devices {
    /// Leads the frames of the interface to the devices.
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

/// The ends of an interface and the outlet of each: of what leaves, and, with `ingress`, of what arrives. Its frames take the way
/// through them from then on.
///
/// # Errors
/// When there is no such interface, it is not Ethernet or down, the kernel is too old, or the process may not.
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
    // Comes last: frames take the way of the programs at once.
    let programs = devices.attach(number).map_err(|e| tcx::refused(e, "aqmkit shape"))?;
    let (interface, next_look) = (name.to_owned(), clock.now() + LOOK);
    let watch = Watch { interface, index: Some(number), programs, devices, outlet: outlet.clone(), clock, next_look };
    let leaving = (end(egress, Some(watch)).map_err(cannot)?, Outlet::Network(outlet));
    Ok(std::iter::once(leaving).chain(arriving).collect())
}

/// The number of an interface that can be shaped.
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

/// A TAP device that sends nothing by itself, and its number.
fn device(name: &str) -> io::Result<(Tun, u32)> {
    let device = Tun::create_ethernet(name)?;
    // Where the kernel refuses, it cuts super-packets before they are read.
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

/// What sends frames at an interface, past the programs there, and super-packets with what is left to its card.
fn sender(name: &str, number: u32) -> io::Result<Sender> {
    let socket = packet_socket::open()?;
    let on: libc::c_int = 1;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
    packet_socket::send_at_once(socket.as_fd())?;
    bind(socket.as_fd(), number, 0)?;
    Ok(Sender { socket, joins: offload::segmentation(name) })
}

impl Watch {
    /// Lets go of an interface that is gone, and takes one that has returned. Returns whether it has gone since the last time.
    fn look(&mut self, netlink: &mut Netlink) -> bool {
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

    /// Takes an interface that has returned, if it can be.
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
            && watch.look(&mut self.netlink)
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

    /// Only the devices of this process can be gone for good: the interface may return.
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
