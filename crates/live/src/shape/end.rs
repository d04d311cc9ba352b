//! The two ends of the queues of an interface: this machine and the network.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aqmkit_base::{Duration, Instant};
use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;
use rustix::event::{EventfdFlags, eventfd};

use super::programs;
use crate::bpf::tcx::{self, Attached};
use crate::error::LiveError;
use crate::netlink::Netlink;
use crate::offload;
use crate::packet_socket::{self, BATCH, bind, flags, hardware, index, send_all, set};
use crate::port::{Counts, Port};
use crate::timing::Clock;
use crate::tun::{QUEUE, Tun};

/// The interval of checks whether the interface exists.
const LOOK: Duration = Duration::from_millis(200);

/// The largest MTU of a TAP device: the frames of any interface fit.
const LARGEST: u32 = 65_521;

/// One end: frames come from it, and those of the other direction go to it.
#[derive(Debug)]
pub struct End {
    /// What leads frames here; detached before the devices go.
    place: Place,
    /// Where its frames come from; nothing where a direction is left alone.
    from: Option<Tun>,
    /// Never ready: polled where there is nothing else.
    nothing: OwnedFd,
    netlink: Netlink,
    interface: String,
    /// The number of the interface; `None` while it is absent.
    index: Option<u32>,
    clock: Clock,
    next_look: Instant,
    vanished: u64,
}

/// What is particular to an end.
#[derive(Debug)]
enum Place {
    /// The protocol stack of this machine: frames that it sends are redirected, and what arrives is written to a device of which
    /// the kernel takes it.
    Machine { programs: Vec<Attached>, devices: Devices, to: Option<Tun> },
    /// The network: frames are sent at the interface.
    Network { socket: Option<OwnedFd>, joins: Joins },
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

/// Both ends of an interface: this machine, where the direction `egress` comes from, and the network. Its frames take the way
/// through them from then on; those that arrive only with `ingress`.
///
/// # Errors
/// When there is no such interface, it is not Ethernet or down, the kernel is too old, or the process may not.
pub(super) fn both(name: &str, ingress: bool, clock: Clock) -> Result<[End; 2], LiveError> {
    let cannot = |error| LiveError::System { doing: format!("cannot open {name}"), error };
    let number = suitable(name)?;
    let (egress, egress_number) = device("aqm-egress%d").map_err(no_device)?;
    let ingress = if ingress { Some(device("aqm-ingress%d").map_err(no_device)?) } else { None };
    let devices = Devices { egress: egress_number, ingress: ingress.as_ref().map(|(_, own)| *own) };
    let back = ingress.map(|(device, _)| device);
    let to = back.as_ref().map(Tun::try_clone).transpose().map_err(cannot)?;
    let socket = Some(sender(number).map_err(cannot)?);
    let network = Place::Network { socket, joins: offload::segmentation(name) };
    let network = End::new(network, back, name, number, clock).map_err(cannot)?;
    let machine = Place::Machine { programs: Vec::new(), devices, to };
    let mut machine = End::new(machine, Some(egress), name, number, clock).map_err(cannot)?;
    // Comes last: frames take the way of the programs at once.
    if let Place::Machine { programs, .. } = &mut machine.place {
        *programs = devices.attach(number).map_err(|e| tcx::refused(e, "aqmkit shape"))?;
    }
    Ok([machine, network])
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

/// A socket that sends frames at an interface, past the programs there, and super-packets with what is left to its card.
fn sender(interface: u32) -> io::Result<OwnedFd> {
    let socket = packet_socket::open()?;
    let on: libc::c_int = 1;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
    packet_socket::send_at_once(socket.as_fd())?;
    bind(socket.as_fd(), interface, 0)?;
    Ok(socket)
}

impl End {
    fn new(place: Place, from: Option<Tun>, interface: &str, index: u32, clock: Clock) -> io::Result<End> {
        Ok(End {
            place,
            from,
            nothing: eventfd(0, EventfdFlags::CLOEXEC)?,
            netlink: Netlink::open()?,
            interface: interface.to_owned(),
            index: Some(index),
            clock,
            next_look: clock.now() + LOOK,
            vanished: 0,
        })
    }

    /// Lets go of an interface that is gone, and takes one that has returned.
    fn look(&mut self) {
        let now = self.clock.now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK;
        let found = self.netlink.interface(&self.interface).ok().map(|i| i.index);
        if self.index.is_some() && found != self.index {
            self.vanished += 1;
            self.index = None;
            match &mut self.place {
                Place::Machine { programs, .. } => programs.clear(),
                Place::Network { socket, .. } => *socket = None,
            }
        }
        let Some(number) = found else { return };
        let taken = match &mut self.place {
            Place::Machine { programs, devices, .. } if programs.is_empty() => {
                devices.attach(number).map(|new| *programs = new)
            }
            Place::Network { socket: socket @ None, .. } => sender(number).map(|new| *socket = Some(new)),
            _ => Ok(()),
        };
        if taken.is_ok() {
            self.index = found;
        }
        if let Place::Network { joins, .. } = &mut self.place {
            *joins = offload::segmentation(&self.interface);
        }
    }
}

impl Port for End {
    fn receive(&mut self) -> io::Result<Received> {
        let received = self.from.as_mut().map_or_else(|| Err(io::ErrorKind::WouldBlock.into()), Tun::receive);
        if received.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock) {
            self.look();
        }
        received
    }

    fn send(&mut self, packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error)) {
        match &mut self.place {
            Place::Machine { to: Some(device), .. } => device.send(packets, refused),
            Place::Network { socket: Some(socket), .. } => send_all(socket.as_fd(), packets, refused),
            _ => (0..packets.len()).for_each(|place| refused(place, io::ErrorKind::NotConnected.into())),
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn joins(&self) -> Joins {
        match &self.place {
            Place::Machine { .. } => Joins::ALL,
            Place::Network { joins, .. } => *joins,
        }
    }

    fn count_too_long(&mut self) {
        if let Some(device) = &mut self.from {
            device.count_too_long();
        }
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.from.as_ref().map_or(self.nothing.as_fd(), Port::poll_fd)
    }

    /// Only the devices of this process can be gone for good: the interface may return.
    fn is_gone(&self, error: &io::Error) -> bool {
        self.from.as_ref().is_some_and(|device| device.is_gone(error))
    }

    fn counts(&mut self) -> Counts {
        let Some(device) = &mut self.from else { return Counts::default() };
        let dropped = self.netlink.interface(device.name()).map_or(0, |i| i.tx_dropped);
        Counts { overrun: dropped, vanished: self.vanished, ..device.counts() }
    }
}
