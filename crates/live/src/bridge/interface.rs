//! A network interface as a port: every frame that comes to it, and frames sent from it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use aqmkit_base::{Duration, Instant};
use rustix::event::{EventfdFlags, eventfd};

use super::ring::{self, Ring};
use super::sockopt::{ask, request, set, take_error};
use crate::error::LiveError;
use crate::offload::{self, OFFLOADS, Offload};
use crate::port::Port;
use crate::timing::Clock;
use crate::wire::{Encapsulation, View, checksum};

/// How often to look whether the interface is still there, or there again.
const LOOK: Duration = Duration::from_millis(200);

/// Link header and two tags, beyond what the MTU counts.
const FRAMING: usize = 14 + 8;

/// An interface, which may vanish and come back.
#[derive(Debug)]
pub struct Interface {
    name: String,
    open: Option<Open>,
    /// Never ready: what is polled while the interface is not there.
    nothing: OwnedFd,
    clock: Clock,
    next_look: Instant,
    counts: Counts,
}

/// What an interface has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Frames that the kernel dropped because this process was too slow to take them.
    pub overrun: u64,
    /// Frames longer than the MTU allows, which nobody could have sent on this link: segments that a sender left to its
    /// network card to cut.
    pub too_long: u64,
    /// How many times it went away.
    pub vanished: u64,
}

/// A socket at an interface that is there.
#[derive(Debug)]
struct Open {
    socket: OwnedFd,
    ring: Ring,
    index: u32,
    name: String,
    /// What was switched off.
    off: Vec<Offload>,
}

impl Open {
    fn at(name: &str) -> io::Result<Open> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers. Protocol zero: nothing arrives before the socket is bound to the interface.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now, and nobody else has it.
        let socket: OwnedFd = unsafe { std::os::fd::FromRawFd::from_raw_fd(socket) };
        let fd = socket.as_fd();
        let index = index(fd, name)?;
        let mtu = mtu(fd, name)?;
        let on: libc::c_int = 1;
        set(fd, libc::PACKET_IGNORE_OUTGOING, &on)?;
        set(fd, libc::PACKET_QDISC_BYPASS, &on)?;
        let ring = Ring::new(fd, mtu + FRAMING)?;
        bind(fd, index)?;
        // It ends with the socket, however that ends, and is counted: who else wants it keeps it.
        let membership = libc::packet_mreq {
            mr_ifindex: index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(fd, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        let off = switch_off(name);
        Ok(Open { socket, ring, index, name: name.to_owned(), off })
    }

    /// Whether the interface of this name is still the one of the socket.
    fn is_current(&self) -> bool {
        index(self.socket.as_fd(), &self.name).is_ok_and(|index| index == self.index)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        for offload in &self.off {
            // An interface that has gone needs nothing.
            let _ = offload::switch(&self.name, offload, true);
        }
    }
}

/// Switches off what joins packets on their way in, where it is on. What leaves is never joined: frames are sent one
/// by one.
fn switch_off(name: &str) -> Vec<Offload> {
    let joins = |o: &Offload| o.name == "gro" && offload::is_on(name, o).unwrap_or(false);
    OFFLOADS.into_iter().filter(|o| joins(o) && offload::switch(name, o, false).is_ok()).collect()
}

fn index(socket: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    let mut asked = request(name)?;
    ask(socket, libc::SIOCGIFINDEX, &mut asked)?;
    // SAFETY: the kernel has filled in this field of the union; any bits are a number.
    Ok(unsafe { asked.ifr_ifru.ifru_ifindex } as u32)
}

fn mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<usize> {
    let mut asked = request(name)?;
    ask(socket, libc::SIOCGIFMTU, &mut asked)?;
    // SAFETY: as above.
    Ok(usize::try_from(unsafe { asked.ifr_ifru.ifru_mtu }).unwrap_or(1500))
}

fn flags(socket: BorrowedFd<'_>, name: &str) -> io::Result<libc::c_int> {
    let mut asked = request(name)?;
    ask(socket, libc::SIOCGIFFLAGS, &mut asked)?;
    // SAFETY: as above.
    Ok(libc::c_int::from(unsafe { asked.ifr_ifru.ifru_flags }))
}

fn bind(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::c_ushort,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address outlives the call, and the size is its own.
    let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Interface {
    /// The interface of this name, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When there is none, it is down or no Ethernet, or the process may not (it needs `CAP_NET_RAW`, and
    /// `CAP_NET_ADMIN` to switch offloads off).
    pub fn open(name: &str, clock: Clock) -> Result<Self, LiveError> {
        let open = Open::at(name).map_err(|error| refused(name, error))?;
        let flags =
            flags(open.socket.as_fd(), name).map_err(LiveError::while_doing(format!("cannot look at {name}")))?;
        if flags & libc::IFF_LOOPBACK != 0 {
            return Err(LiveError::lacks(format!("{name} is the loopback"), "name an interface with a link behind it"));
        }
        if flags & libc::IFF_UP == 0 {
            return Err(LiveError::lacks(format!("{name} is down"), format!("ip link set {name} up")));
        }
        let nothing = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| refused(name, e.into()))?;
        let name = name.to_owned();
        Ok(Interface {
            name,
            open: Some(open),
            nothing,
            clock,
            next_look: clock.now() + LOOK,
            counts: Counts::default(),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is there.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.open.is_some()
    }

    /// What it has seen so far.
    pub fn counts(&mut self) -> Counts {
        if let Some(open) = &self.open {
            self.counts.overrun += ring::dropped(open.socket.as_fd());
        }
        self.counts
    }

    /// Lets go of an interface that is gone, and takes one that has come back.
    fn look(&mut self) {
        let now = self.clock.now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK;
        match &self.open {
            Some(open) if open.is_current() => {}
            Some(_) => {
                self.counts.vanished += 1;
                self.open = None;
            }
            None => self.open = Open::at(&self.name).ok(),
        }
    }
}

fn refused(name: &str, error: io::Error) -> LiveError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => LiveError::lacks(
            "the right to take frames from interfaces is missing (CAP_NET_RAW, CAP_NET_ADMIN)",
            "run it as root, such as with sudo",
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
    LiveError::lacks(format!("there is no interface called {name}"), "ip link shows the interfaces of this machine")
}

impl Port for Interface {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(about) = self.open.as_mut().and_then(|open| open.ring.take(buffer)) else {
                self.look();
                return Err(io::ErrorKind::WouldBlock.into());
            };
            if about.length > about.captured {
                self.counts.too_long += 1;
                continue;
            }
            let frame = &mut buffer[..about.captured];
            if about.open_checksum
                && let Some(network) = View::of(Encapsulation::Ethernet, frame).network
            {
                checksum::complete(frame, network);
            }
            return Ok(about.captured);
        }
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        let Some(open) = &self.open else { return Err(io::ErrorKind::NotConnected.into()) };
        // SAFETY: the pointer is to as many bytes as the length says, and the kernel only reads them.
        let sent = unsafe { libc::send(open.socket.as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.open.as_ref().map_or(self.nothing.as_fd(), |open| open.socket.as_fd())
    }

    /// An interface may come back, so it is never gone for good.
    fn is_gone(&self, _error: &io::Error) -> bool {
        false
    }

    fn look_after(&mut self) -> bool {
        if let Some(open) = &self.open {
            // Polling goes on telling of an error that nobody takes.
            take_error(open.socket.as_fd());
        }
        self.next_look = Instant::ZERO;
        self.look();
        false
    }
}
