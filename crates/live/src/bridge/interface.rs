//! A network interface, where frames come from and leave.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aqmkit_base::{Duration, Instant};
use rustix::event::{EventfdFlags, eventfd};

use super::fail_open;
use super::ring::{self, Ring};
use super::xdp;
use crate::error::LiveError;
use crate::offload::{self, OFFLOADS, Offload, SwitchedOff, WriteDown};
use crate::packet_socket::{self, BATCH, Sender, bind, flags, index, mtu, set, take_error};
use crate::port::{Counts, Port, Room, Shared, refuse_all};
use crate::timing::Clock;
use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;
use aqmkit_packets::wire::{Encapsulation, View, checksum};

/// The interval of checks whether the interface exists.
const LOOK: Duration = Duration::from_millis(200);

/// The link header and two tags, which the MTU does not include.
const FRAMING: usize = 14 + 8;

/// An interface, which may disappear and return.
#[derive(Debug)]
pub struct Interface {
    name: String,
    needs: Opening,
    open: Option<Open>,
    /// What sends there, while the interface exists.
    outlet: Outlet,
    /// Never ready: polled while the interface is absent.
    nothing: OwnedFd,
    clock: Clock,
    next_look: Instant,
    counts: Counts,
    /// Room for super-packets.
    room: Room,
}

/// What opening an interface needs to know, now and whenever it returns.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The I/O method.
    pub(super) io: Io,
    /// The bridge device of the kernel that takes over when this process ends.
    pub(super) kernel_bridge: Option<u32>,
    /// Called with each offload before it is disabled.
    pub(super) note: WriteDown,
}

/// The I/O method of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// A ring of an `AF_PACKET` socket: any interface.
    #[default]
    Packet,
    /// `AF_XDP` sockets at all receive queues, before the kernel's network stack.
    Xdp,
}

/// The resources of an [`Io`] method to receive.
#[derive(Debug)]
enum Way {
    Packet(Ring),
    Xdp {
        receiver: Box<xdp::Receiver>,
        /// The receive queues that have a socket.
        queues: u32,
    },
}

/// The same to send.
#[derive(Debug)]
enum Sending {
    Packet(Sender),
    Xdp(Box<xdp::Transmitter>),
}

/// Sends frames at an interface, also from another thread than the one that receives there. While the interface is absent, they
/// are refused.
#[derive(Clone, Debug, Default)]
pub struct Outlet(Shared<Sending>);

/// A socket of an existing interface.
#[derive(Debug)]
struct Open {
    /// A packet socket, which makes the interface promiscuous; also carries the frames without `AF_XDP`.
    socket: OwnedFd,
    way: Way,
    index: u32,
    name: String,
    /// The MTU for which the ring was allocated, in bytes.
    mtu: usize,
    /// The offloads that were disabled.
    off: Vec<Offload>,
    /// Its place in the kernel's bridge that takes over.
    _port: Option<fail_open::Port>,
}

impl Open {
    /// Opens an interface, and what sends there.
    fn at(name: &str, needs: &Opening) -> io::Result<(Open, Sending)> {
        let io = needs.io;
        let socket = packet_socket::open()?;
        let fd = socket.as_fd();
        let index = index(fd, name)?;
        let mtu = mtu(fd, name)?;
        let on: libc::c_int = 1;
        set(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on)?;
        packet_socket::send_at_once(fd)?;
        let (way, sending) = match io {
            Io::Packet => {
                let ring = Ring::new(fd, mtu + FRAMING)?;
                bind(fd, index, libc::ETH_P_ALL)?;
                let sender = Sender { socket: socket.try_clone()?, joins: offload::segmentation(name) };
                (Way::Packet(ring), Sending::Packet(sender))
            }
            // A packet socket that is not bound to a protocol receives nothing.
            Io::Xdp => {
                let queues = receive_queues(name);
                let (receiver, transmitter) = xdp::open(index, queues)?;
                (Way::Xdp { receiver: Box::new(receiver), queues }, Sending::Xdp(Box::new(transmitter)))
            }
        };
        // It ends with the socket, however that ends, and is counted: who else wants it keeps it.
        let membership = libc::packet_mreq {
            mr_ifindex: index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        let port = needs.kernel_bridge.map(|bridge| fail_open::Port::join(index, bridge)).transpose()?;
        let off = switch_off(name, index, io, &needs.note);
        Ok((Open { socket, way, index, name: name.to_owned(), mtu, off, _port: port }, sending))
    }

    /// Whether frames may now be longer than the slots of the ring, or come by a receive queue without a socket. `AF_XDP` chunks
    /// hold the longest frame that it allows.
    fn is_outgrown(&self) -> bool {
        match self.way {
            Way::Packet(_) => mtu(self.socket.as_fd(), &self.name).is_ok_and(|mtu| mtu > self.mtu),
            Way::Xdp { queues, .. } => receive_queues(&self.name) > queues,
        }
    }

    /// Whether the interface of this name is still that of the socket.
    fn is_current(&self) -> bool {
        index(self.socket.as_fd(), &self.name).is_ok_and(|index| index == self.index)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        for offload in &self.off {
            // An interface that is gone needs no restoring.
            let _ = offload::switch(&self.name, offload, true);
        }
    }
}

/// Disables offloads that merge received packets, and, for sockets that do not report VLAN tags, the removal of tags.
/// Sent frames are never merged. Each change is recorded first.
fn switch_off(name: &str, index: u32, io: Io, note: &WriteDown) -> Vec<Offload> {
    let tags = (io == Io::Xdp).then_some(offload::TAGS);
    let spoil = OFFLOADS.into_iter().filter(|o| ["gro", "lro"].contains(&o.name)).chain(tags);
    let on = |o: &Offload| offload::is_on(name, o).unwrap_or(false);
    let switch = |o: &Offload| {
        note.note(&SwitchedOff { interface: name.to_owned(), index, offload: o.name.to_owned() });
        offload::switch(name, o, false).is_ok()
    };
    spoil.filter(|o| on(o) && switch(o)).collect()
}

impl Interface {
    /// Opens the interface of this name, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When it does not exist, is down or not Ethernet, or permission is missing (`CAP_NET_RAW`, and `CAP_NET_ADMIN` to
    /// disable offloads).
    pub fn open(name: &str, io: Io, clock: Clock) -> Result<Self, LiveError> {
        Interface::open_as(name, clock, Opening { io, kernel_bridge: None, note: WriteDown::nowhere() })
    }

    /// The same, with all settings.
    ///
    /// # Errors
    /// As [`Interface::open`].
    pub(super) fn open_as(name: &str, clock: Clock, needs: Opening) -> Result<Self, LiveError> {
        let io = needs.io;
        if io == Io::Xdp {
            suits_xdp(name)?;
        }
        let (open, sending) = opened(name, &needs).map_err(|error| refused(name, io, error))?;
        let flags =
            flags(open.socket.as_fd(), name).map_err(LiveError::while_doing(format!("cannot look at {name}")))?;
        if flags & libc::IFF_LOOPBACK != 0 {
            return Err(LiveError::lacks(format!("{name} is the loopback"), "use another interface"));
        }
        if flags & libc::IFF_UP == 0 {
            return Err(LiveError::lacks(format!("{name} is down"), format!("ip link set {name} up")));
        }
        let nothing = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| refused(name, io, e.into()))?;
        let name = name.to_owned();
        let outlet = Outlet::default();
        outlet.0.put(Some(sending));
        Ok(Interface {
            name,
            needs,
            open: Some(open),
            outlet,
            nothing,
            clock,
            next_look: clock.now() + LOOK,
            counts: Counts::default(),
            room: Room::new(),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the interface exists.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.open.is_some()
    }

    /// What sends there.
    #[must_use]
    pub fn outlet(&self) -> Outlet {
        self.outlet.clone()
    }

    /// The disabled offloads, which are enabled again at the end.
    #[must_use]
    pub fn switched_off(&self) -> Vec<SwitchedOff> {
        let of = |open: &Open| {
            let (interface, index) = (open.name.clone(), open.index);
            let one = |o: &Offload| SwitchedOff { interface: interface.clone(), index, offload: o.name.to_owned() };
            open.off.iter().map(one).collect()
        };
        self.open.as_ref().map(of).unwrap_or_default()
    }

    /// Closes an interface that is gone, and opens one that has returned.
    fn look(&mut self) {
        let now = self.clock.now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK;
        match &self.open {
            Some(open) if open.is_current() && !open.is_outgrown() => {
                if let Way::Packet(_) = open.way {
                    let joins = offload::segmentation(&open.name);
                    self.outlet.0.change(|sending| {
                        if let Sending::Packet(sender) = sending {
                            sender.joins = joins;
                        }
                    });
                }
            }
            Some(open) if open.is_current() => {
                // The old one is closed first, because it enables offloads that the new one disables.
                self.close();
                self.reopen();
            }
            Some(_) => {
                self.close();
                self.counts.vanished += 1;
            }
            None => self.reopen(),
        }
    }

    fn close(&mut self) {
        // The counters of its socket are lost with it.
        self.counts();
        self.outlet.0.put(None);
        self.open = None;
    }

    /// Opens the interface again, if it can be.
    fn reopen(&mut self) {
        if let Ok((open, sending)) = Open::at(&self.name, &self.needs) {
            self.outlet.0.put(Some(sending));
            self.open = Some(open);
        }
    }
}

/// A frame of `AF_XDP`, which does not tell whether the checksum was left to a card: it is computed where it was.
fn with_checksum(mut frame: Vec<u8>) -> Received {
    if let Some(network) = View::of(Encapsulation::Ethernet, &frame).network {
        checksum::complete_where_open(&mut frame, network);
    }
    frame.into()
}

/// Opens an interface, with retries: the queue of a closed socket becomes available only after a while.
fn opened(name: &str, needs: &Opening) -> io::Result<(Open, Sending)> {
    const TRIES: u32 = 15;
    for _ in 0..TRIES {
        match Open::at(name, needs) {
            Err(e) if needs.io == Io::Xdp && e.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            result => return result,
        }
    }
    Open::at(name, needs)
}

/// The number of receive queues of an interface; one that does not report it has one.
fn receive_queues(name: &str) -> u32 {
    offload::receive_queues(name).unwrap_or(1).max(1)
}

/// Checks that `AF_XDP` would receive all frames of an interface. Missing interfaces are reported elsewhere.
fn suits_xdp(name: &str) -> Result<(), LiveError> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None);
    let mtu = socket.map_err(io::Error::from).and_then(|s| mtu(s.as_fd(), name));
    match mtu {
        Ok(mtu) if mtu + FRAMING > xdp::LONGEST => {
            let most = xdp::LONGEST - FRAMING;
            let found = format!("{name} has an MTU of {mtu}, but AF_XDP supports at most {most}");
            Err(LiveError::lacks(found, format!("ip link set {name} mtu {most}, or omit --io af-xdp")))
        }
        _ => Ok(()),
    }
}

fn refused(name: &str, io: Io, error: io::Error) -> LiveError {
    let xdp = io == Io::Xdp;
    match error.raw_os_error() {
        Some(libc::EAFNOSUPPORT | libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL) if xdp => LiveError::lacks(
            format!("the kernel or the driver of {name} does not support AF_XDP"),
            "Linux 5.9 or later with CONFIG_XDP_SOCKETS; or omit --io af-xdp",
        ),
        Some(libc::EBUSY | libc::EEXIST) if xdp => LiveError::lacks(
            format!("{name} already has an XDP program or an AF_XDP socket"),
            format!("ip link set {name} xdp off; or omit --io af-xdp"),
        ),
        Some(libc::EPERM | libc::EACCES) if xdp => LiveError::lacks(
            "no permission to attach a program to an interface (CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF)",
            "run it as root, for example with sudo",
        ),
        Some(libc::EPERM | libc::EACCES) => LiveError::lacks(
            "no permission to capture frames from interfaces (CAP_NET_RAW, CAP_NET_ADMIN)",
            "run it as root, for example with sudo",
        ),
        Some(libc::ENODEV) => missing(name),
        None if error.kind() == io::ErrorKind::NotFound => missing(name),
        Some(libc::EAFNOSUPPORT) => {
            LiveError::lacks("this kernel has no packet sockets", "it must be built with CONFIG_PACKET")
        }
        _ => LiveError::System { doing: format!("cannot open {name}"), error },
    }
}

fn missing(name: &str) -> LiveError {
    LiveError::lacks(format!("there is no interface {name}"), "ip link shows the interfaces of this machine")
}

impl Port for Interface {
    type Outlet = Outlet;

    fn receive(&mut self) -> io::Result<Received> {
        let room = &mut self.room;
        let taken = self.open.as_mut().and_then(|open| match &mut open.way {
            Way::Packet(ring) => ring.take(open.socket.as_fd(), room),
            Way::Xdp { receiver, .. } => receiver.take().map(|frame| Ok(with_checksum(frame))),
        });
        match taken {
            // The socket had no memory left.
            Some(Err(e)) if e.kind() == io::ErrorKind::OutOfMemory => {
                self.counts.overrun += 1;
                Err(io::ErrorKind::Interrupted.into())
            }
            Some(result) => result,
            None => {
                self.look();
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }

    fn count_too_long(&mut self) {
        self.counts.too_long += 1;
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.open.as_ref().map_or(self.nothing.as_fd(), |open| match &open.way {
            Way::Packet(_) => open.socket.as_fd(),
            Way::Xdp { receiver, .. } => receiver.fd(),
        })
    }

    fn counts(&mut self) -> Counts {
        self.counts.overrun += match &mut self.open {
            Some(Open { way: Way::Xdp { receiver, .. }, .. }) => receiver.dropped(),
            Some(open) => ring::dropped(open.socket.as_fd()),
            None => 0,
        };
        self.counts
    }

    /// An interface may return, so it is never gone for good.
    fn is_gone(&self, _error: &io::Error) -> bool {
        false
    }

    fn look_after(&mut self) -> bool {
        if self.open.is_some() {
            // Polling continues to report an error until it is read.
            take_error(self.poll_fd());
        }
        self.next_look = Instant::ZERO;
        self.look();
        false
    }
}

impl crate::port::Outlet for Outlet {
    fn send(&mut self, packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error)) {
        let sent = self.0.with(|sending| match sending {
            Sending::Packet(sender) => sender.send(packets, refused),
            Sending::Xdp(transmitter) => {
                for (place, packet) in packets.iter().enumerate() {
                    transmitter.send([packet.headers(), packet.rest]).unwrap_or_else(|error| refused(place, error));
                }
            }
        });
        if sent.is_none() {
            refuse_all(packets, refused);
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn joins(&self) -> Joins {
        let of = |sending: &mut Sending| match sending {
            Sending::Packet(sender) => sender.joins,
            Sending::Xdp(_) => Joins::default(),
        };
        self.0.with(of).unwrap_or_default()
    }

    /// An interface may return, so it is never gone for good.
    fn is_gone(&self, _error: &io::Error) -> bool {
        false
    }
}
