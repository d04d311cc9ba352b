//! A network interface on which the bridge receives and sends frames.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aqmkit_base::{Duration, Instant};
use rustix::event::{EventfdFlags, eventfd};

use super::fail_open;
use super::ring::{self, Ring};
use super::xdp;
use crate::error::LiveError;
use crate::offload::{self, DisabledOffload, OFFLOADS, Offload, OffloadLog};
use crate::packet_socket::{self, BATCH, Sender, bind, flags, index, mtu, set, take_error};
use crate::port::{Counts, Port, ReceiveBuffer, Shared, refuse_all};
use crate::timing::Clock;
use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;
use aqmkit_packets::wire::{Encapsulation, View, checksum};

/// Interval at which the interface's existence is checked.
const LOOK: Duration = Duration::from_millis(200);

/// Ethernet header and two VLAN tags, which the MTU excludes.
const FRAMING: usize = 14 + 8;

/// An interface, which may disappear and return.
#[derive(Debug)]
pub struct Interface {
    name: String,
    needs: Opening,
    open: Option<Open>,
    /// Its sending side, while it exists.
    outlet: Outlet,
    /// Never readable; polled while the interface is absent.
    nothing: OwnedFd,
    clock: Clock,
    next_look: Instant,
    counts: Counts,
    /// Receive buffer for super-packets.
    buffer: ReceiveBuffer,
}

/// How to open the interface, at start and whenever it returns.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The I/O method.
    pub(super) io: Io,
    /// ifindex of the kernel bridge that takes over when this process ends.
    pub(super) kernel_bridge: Option<u32>,
    /// Called with each offload before it is disabled.
    pub(super) note: OffloadLog,
}

/// The I/O method of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// A `PACKET_RX_RING`: works on any interface.
    #[default]
    Packet,
    /// `AF_XDP` sockets on all receive queues, ahead of the kernel's network stack.
    Xdp,
}

/// The receiving sockets of an [`Io`] method.
#[derive(Debug)]
enum Receiving {
    Packet(Ring),
    Xdp {
        receiver: Box<xdp::Receiver>,
        /// Number of receive queues that have a socket.
        queues: u32,
    },
}

/// The sending socket of an [`Io`] method.
#[derive(Debug)]
enum Sending {
    Packet(Sender),
    Xdp(Box<xdp::Transmitter>),
}

/// The sending side of an interface, usable from another thread than the receiving side. While the interface is absent,
/// frames are refused.
#[derive(Clone, Debug, Default)]
pub struct Outlet(Shared<Sending>);

/// The open sockets of an existing interface.
#[derive(Debug)]
struct Open {
    /// A packet socket, which keeps the interface promiscuous; without `AF_XDP` it also carries the frames.
    socket: OwnedFd,
    receiving: Receiving,
    index: u32,
    name: String,
    /// The MTU that the ring was allocated for, in bytes.
    mtu: usize,
    /// Offloads disabled here, to be restored.
    off: Vec<Offload>,
    /// Its membership in the kernel bridge that takes over.
    _port: Option<fail_open::Port>,
}

impl Open {
    /// Opens the sockets of an interface.
    fn at(name: &str, needs: &Opening) -> io::Result<(Open, Sending)> {
        let io = needs.io;
        let socket = packet_socket::open()?;
        let fd = socket.as_fd();
        let index = index(fd, name)?;
        let mtu = mtu(fd, name)?;
        let on: libc::c_int = 1;
        set(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on)?;
        packet_socket::send_at_once(fd)?;
        let (receiving, sending) = match io {
            Io::Packet => {
                let ring = Ring::new(fd, mtu + FRAMING)?;
                bind(fd, index, libc::ETH_P_ALL)?;
                let sender = Sender { socket: socket.try_clone()?, joins: offload::segmentation(name) };
                (Receiving::Packet(ring), Sending::Packet(sender))
            }
            // A packet socket not bound to a protocol receives nothing.
            Io::Xdp => {
                let queues = receive_queues(name);
                let (receiver, transmitter) = xdp::open(index, queues)?;
                (Receiving::Xdp { receiver: Box::new(receiver), queues }, Sending::Xdp(Box::new(transmitter)))
            }
        };
        // Promiscuous mode by membership is reference-counted and ends with the socket, so other users of it are not
        // affected.
        let membership = libc::packet_mreq {
            mr_ifindex: index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        let port = needs.kernel_bridge.map(|bridge| fail_open::Port::join(index, bridge)).transpose()?;
        let off = disable_offloads(name, index, io, &needs.note);
        Ok((Open { socket, receiving, index, name: name.to_owned(), mtu, off, _port: port }, sending))
    }

    /// Whether frames may have outgrown the ring's slots, or arrive on a receive queue without a socket. `AF_XDP`
    /// chunks hold the longest frame that it allows.
    fn is_outgrown(&self) -> bool {
        match self.receiving {
            Receiving::Packet(_) => mtu(self.socket.as_fd(), &self.name).is_ok_and(|mtu| mtu > self.mtu),
            Receiving::Xdp { queues, .. } => receive_queues(&self.name) > queues,
        }
    }

    /// Whether the interface of this name still has the socket's ifindex.
    fn is_current(&self) -> bool {
        index(self.socket.as_fd(), &self.name).is_ok_and(|index| index == self.index)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        for offload in &self.off {
            // Fails if the interface is gone, which then needs no restoring.
            let _ = offload::switch(&self.name, offload, true);
        }
    }
}

/// Disables receive offloads that merge packets and, for sockets that do not report VLAN tags, VLAN stripping. Each
/// change is recorded first. Sent frames are never merged.
fn disable_offloads(name: &str, index: u32, io: Io, note: &OffloadLog) -> Vec<Offload> {
    let tags = (io == Io::Xdp).then_some(offload::TAGS);
    let spoil = OFFLOADS.into_iter().filter(|o| ["gro", "lro"].contains(&o.name)).chain(tags);
    let on = |o: &Offload| offload::is_on(name, o).unwrap_or(false);
    let switch = |o: &Offload| {
        note.note(&DisabledOffload { interface: name.to_owned(), index, offload: o.name.to_owned() });
        offload::switch(name, o, false).is_ok()
    };
    spoil.filter(|o| on(o) && switch(o)).collect()
}

impl Interface {
    /// Opens an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// When it does not exist, is down or not Ethernet, or permission is missing (`CAP_NET_RAW`, and `CAP_NET_ADMIN` to
    /// disable offloads).
    pub fn open(name: &str, io: Io, clock: Clock) -> Result<Self, LiveError> {
        Interface::open_as(name, clock, Opening { io, kernel_bridge: None, note: OffloadLog::none() })
    }

    /// As [`Interface::open`], with all settings.
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
            buffer: ReceiveBuffer::new(),
        })
    }

    /// Interface name, such as `eth0`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the interface exists.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.open.is_some()
    }

    /// A handle to its sending side.
    #[must_use]
    pub fn outlet(&self) -> Outlet {
        self.outlet.clone()
    }

    /// The disabled offloads, which are restored at the end.
    #[must_use]
    pub fn disabled_offloads(&self) -> Vec<DisabledOffload> {
        let of = |open: &Open| {
            let (interface, index) = (open.name.clone(), open.index);
            let one = |o: &Offload| DisabledOffload { interface: interface.clone(), index, offload: o.name.to_owned() };
            open.off.iter().map(one).collect()
        };
        self.open.as_ref().map(of).unwrap_or_default()
    }

    /// Closes the interface if it is gone, and reopens it if it has returned.
    fn check_presence(&mut self) {
        let now = self.clock.now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK;
        match &self.open {
            Some(open) if open.is_current() && !open.is_outgrown() => {
                if let Receiving::Packet(_) = open.receiving {
                    let joins = offload::segmentation(&open.name);
                    self.outlet.0.change(|sending| {
                        if let Sending::Packet(sender) = sending {
                            sender.joins = joins;
                        }
                    });
                }
            }
            Some(open) if open.is_current() => {
                // The old one is closed first: closing re-enables offloads that opening disables.
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
        // Its socket's counters are lost on close.
        self.counts();
        self.outlet.0.put(None);
        self.open = None;
    }

    /// Reopens the interface if possible.
    fn reopen(&mut self) {
        if let Ok((open, sending)) = Open::at(&self.name, &self.needs) {
            self.outlet.0.put(Some(sending));
            self.open = Some(open);
        }
    }
}

/// `AF_XDP` does not say whether a checksum was left to offload (`CHECKSUM_PARTIAL`), so it is recomputed where it may
/// have been.
fn with_checksum(mut frame: Vec<u8>) -> Received {
    if let Some(network) = View::of(Encapsulation::Ethernet, &frame).network {
        checksum::complete_where_open(&mut frame, network);
    }
    frame.into()
}

/// Opens an interface with retries: after a close, its queue stays busy for a while.
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

/// The number of receive queues; 1 if the driver does not report it.
fn receive_queues(name: &str) -> u32 {
    offload::receive_queues(name).unwrap_or(1).max(1)
}

/// Checks that `AF_XDP` can receive all frames of an interface. A missing interface is reported elsewhere.
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
        let buffer = &mut self.buffer;
        let taken = self.open.as_mut().and_then(|open| match &mut open.receiving {
            Receiving::Packet(ring) => ring.take(open.socket.as_fd(), buffer),
            Receiving::Xdp { receiver, .. } => receiver.take().map(|frame| Ok(with_checksum(frame))),
        });
        match taken {
            // The socket's receive buffer was full.
            Some(Err(e)) if e.kind() == io::ErrorKind::OutOfMemory => {
                self.counts.overrun += 1;
                Err(io::ErrorKind::Interrupted.into())
            }
            Some(result) => result,
            None => {
                self.check_presence();
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }

    fn count_too_long(&mut self) {
        self.counts.too_long += 1;
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.open.as_ref().map_or(self.nothing.as_fd(), |open| match &open.receiving {
            Receiving::Packet(_) => open.socket.as_fd(),
            Receiving::Xdp { receiver, .. } => receiver.fd(),
        })
    }

    fn counts(&mut self) -> Counts {
        self.counts.overrun += match &mut self.open {
            Some(Open { receiving: Receiving::Xdp { receiver, .. }, .. }) => receiver.dropped(),
            Some(open) => ring::dropped(open.socket.as_fd()),
            None => 0,
        };
        self.counts
    }

    /// The interface may return, so this port is never gone for good.
    fn is_gone(&self, _error: &io::Error) -> bool {
        false
    }

    fn on_poll_error(&mut self) -> bool {
        if self.open.is_some() {
            // Poll keeps reporting the socket error until it is read.
            take_error(self.poll_fd());
        }
        self.next_look = Instant::ZERO;
        self.check_presence();
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

    /// The interface may return, so it is never gone for good.
    fn is_gone(&self, _error: &io::Error) -> bool {
        false
    }
}
