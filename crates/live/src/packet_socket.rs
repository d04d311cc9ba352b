//! Packet sockets (`AF_PACKET`): options, interface queries, and sending.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use aqmkit_packets::outgoing::{Joins, Outgoing};

/// Maximum number of packets per sendmmsg(2).
pub(crate) const BATCH: usize = 32;

/// Send buffer in bytes of skb truesize; the kernel doubles the value.
const MOST_UNSENT: libc::c_int = 4 << 20;

/// Opens a packet socket, which receives nothing until it is bound.
pub(crate) fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers.
    let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just created, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Makes the socket bypass the interface's qdisc and egress programs (`PACKET_QDISC_BYPASS`).
pub(crate) fn send_at_once(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &on)?;
    // Needs CAP_NET_ADMIN; without it a batch may exceed the send buffer.
    let _ = set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &MOST_UNSENT);
    Ok(())
}

/// Sets a socket option.
pub(crate) fn set<T>(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer is to a value that outlives the call, with the given size; the kernel reads no more.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads and clears the pending error of a socket.
pub(crate) fn take_error(socket: BorrowedFd<'_>) -> Option<io::Error> {
    rustix::net::sockopt::socket_error(socket).ok()?.err().map(Into::into)
}

/// An `ifreq` for the interface `name`.
fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a valid `ifreq`: an empty name and a union of numbers and pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.is_empty() || name.contains('\0') {
        return Err(io::Error::new(io::ErrorKind::NotFound, "this is not a valid interface name"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Executes the ioctl `code`.
fn ask(socket: BorrowedFd<'_>, code: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: the codes used here read and write a `struct ifreq`, which outlives the call together with what it points
    // to.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), code as _, std::ptr::from_mut(request)) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// ifindex of an interface.
pub(crate) fn index(socket: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    let mut asked = request(name)?;
    ask(socket, libc::SIOCGIFINDEX, &mut asked)?;
    // SAFETY: the kernel has filled in this field of the union; any bit pattern is valid.
    Ok(unsafe { asked.ifr_ifru.ifru_ifindex } as u32)
}

/// MTU of an interface, in bytes.
pub(crate) fn mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<usize> {
    let mut asked = request(name)?;
    ask(socket, libc::SIOCGIFMTU, &mut asked)?;
    // SAFETY: as above.
    Ok(usize::try_from(unsafe { asked.ifr_ifru.ifru_mtu }).unwrap_or(1500))
}

/// Flags of an interface (`IFF_UP`, `IFF_LOOPBACK`).
pub(crate) fn flags(socket: BorrowedFd<'_>, name: &str) -> io::Result<libc::c_int> {
    let mut asked = request(name)?;
    ask(socket, libc::SIOCGIFFLAGS, &mut asked)?;
    // SAFETY: as above.
    Ok(libc::c_int::from(unsafe { asked.ifr_ifru.ifru_flags }))
}

/// Hardware type of an interface (`ARPHRD_ETHER`).
pub(crate) fn hardware(socket: BorrowedFd<'_>, name: &str) -> io::Result<u16> {
    let mut asked = request(name)?;
    ask(socket, libc::SIOCGIFHWADDR, &mut asked)?;
    // SAFETY: as above.
    Ok(unsafe { asked.ifr_ifru.ifru_hwaddr }.sa_family)
}

/// Binds a socket to an interface, to receive frames of this protocol; with protocol zero it only sends.
pub(crate) fn bind(socket: BorrowedFd<'_>, index: u32, protocol: libc::c_int) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::c_ushort,
        sll_protocol: (protocol as u16).to_be(),
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

/// Sends packets on an interface, through a packet socket with `PACKET_VNET_HDR`.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) socket: OwnedFd,
    /// The kinds of GSO packets that the interface segments.
    pub(crate) joins: Joins,
}

impl Sender {
    /// Sends packets in order. `refused` is called with the index of each that the interface rejects.
    pub(crate) fn send(&self, packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error)) {
        send_all(self.socket.as_fd(), packets, refused);
    }
}

/// Sends packets through a packet socket with `PACKET_VNET_HDR`.
fn send_all(socket: BorrowedFd<'_>, packets: &[Outgoing<'_>], refused: &mut dyn FnMut(usize, io::Error)) {
    let part = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let parts = |packet: &Outgoing<'_>| [part(&packet.offload), part(packet.headers()), part(packet.rest)];
    let mut parts: Vec<[libc::iovec; 3]> = packets.iter().map(parts).collect();
    let message = |of: &mut [libc::iovec; 3]| {
        // SAFETY: all zeros is a valid message: no address, no control data, no flags.
        let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        message.msg_hdr.msg_iov = of.as_mut_ptr();
        message.msg_hdr.msg_iovlen = of.len();
        message
    };
    let mut messages: Vec<libc::mmsghdr> = parts.iter_mut().map(message).collect();
    let mut done = 0;
    while done < messages.len() {
        let rest = &mut messages[done..];
        // SAFETY: the messages and what they point to outlive the call; the kernel only reads the packets.
        let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), rest.as_mut_ptr(), rest.len() as libc::c_uint, 0) };
        match usize::try_from(sent) {
            Ok(sent @ 1..) => done += sent,
            // sendmmsg stopped at the first of the rest.
            _ => {
                refused(done, io::Error::last_os_error());
                done += 1;
            }
        }
    }
}
