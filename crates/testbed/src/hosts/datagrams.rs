//! Sockets for datagrams. On the server's side each application has its own, so that each is a separate flow; on the
//! client's side each group has one. Datagrams from clients take the same path in reverse.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use aqmkit_base::{Ecn, Instant};
use aqmkit_live::link::Link;
use aqmkit_live::netns::Netns;
use aqmkit_sim::host::Datagram;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::net::sockopt;

use super::{DATAGRAM, REPLY};
use crate::setup::port;

/// Size of the header in every datagram: application, tag and sending time. Shorter datagrams are padded to it.
const HEADER: usize = 20;

/// Maximum payload that fits into a packet of 1500 bytes with 28 bytes of headers. Longer datagrams are fragmented.
pub(super) const LONGEST_WHOLE: u32 = 1472;

/// A received datagram.
pub(super) struct Arrived {
    pub(super) app: u32,
    pub(super) tag: u64,
    pub(super) len: u32,
    pub(super) sent: Instant,
}

/// A sending socket, and its current ECN codepoint.
struct Sender {
    socket: UdpSocket,
    ecn: Ecn,
    /// Whether it is registered with `epoll`.
    hears: bool,
}

impl Sender {
    /// Opens a socket between two addresses; its packets are Not-ECT at first.
    fn open(from: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(from)?;
        socket.connect(to)?;
        socket.set_nonblocking(true)?;
        Ok(Sender { socket, ecn: Ecn::NotEct, hears: false })
    }

    /// Sets the ECN codepoint and returns the socket.
    fn with(&mut self, ecn: Ecn) -> &UdpSocket {
        if ecn != self.ecn && sockopt::set_ip_tos(&self.socket, ecn as u8).is_ok() {
            self.ecn = ecn;
        }
        &self.socket
    }
}

/// All sockets.
pub(super) struct Datagrams {
    /// By application: its group, and its server socket, opened on first use.
    senders: Vec<(usize, Option<Sender>)>,
    /// By group: the client socket, and its current ECN codepoint.
    receivers: Vec<(UdpSocket, Ecn)>,
    servers: Netns,
    client: IpAddr,
    server: IpAddr,
    buffer: Vec<u8>,
}

impl Datagrams {
    /// Opens the client sockets. `groups` has the group of each application.
    pub(super) fn open(link: &Link, groups: &[usize], count: usize, epoll: &OwnedFd) -> io::Result<Self> {
        let [client, server] = [link.addresses.client[0], link.addresses.server[0]];
        let receivers = link.client.namespace.inside(|| {
            let bind = |g| UdpSocket::bind(SocketAddr::new(client, port(g))).map(|socket| (socket, Ecn::NotEct));
            (0..count).map(bind).collect::<io::Result<Vec<_>>>()
        })?;
        let senders = groups.iter().map(|group| (*group, None)).collect();
        let servers = link.server.namespace.try_clone()?;
        for (group, (socket, _)) in receivers.iter().enumerate() {
            socket.set_nonblocking(true)?;
            let about = epoll::EventData::new_u64(DATAGRAM | group as u64);
            epoll::add(epoll, socket, about, epoll::EventFlags::IN)?;
        }
        Ok(Datagrams { senders, receivers, servers, client, server, buffer: vec![0; 65_536] })
    }

    /// Sends a datagram to the client. Returns both addresses of the application's socket if this opened it.
    pub(super) fn send(&mut self, app: u32, datagram: Datagram, now: Instant) -> Option<[SocketAddr; 2]> {
        let len = self.write(app, datagram, now);
        let ends = self.connect(app);
        // If the socket buffer is full, the datagram is lost, as it could be on the path.
        let _ = self.senders[app as usize].1.as_mut().map(|s| s.with(datagram.ecn).send(&self.buffer[..len]));
        ends
    }

    /// Sends a datagram to the server. Returns both addresses of the application's socket if this opened it.
    pub(super) fn reply(
        &mut self,
        app: u32,
        datagram: Datagram,
        now: Instant,
        epoll: &OwnedFd,
    ) -> Option<[SocketAddr; 2]> {
        let len = self.write(app, datagram, now);
        let ends = self.connect(app);
        let (group, sender) = &mut self.senders[app as usize];
        let sender = sender.as_mut()?;
        if !sender.hears {
            let about = epoll::EventData::new_u64(DATAGRAM | REPLY | u64::from(app));
            sender.hears = epoll::add(epoll, &sender.socket, about, epoll::EventFlags::IN).is_ok();
        }
        let (socket, last) = &mut self.receivers[*group];
        if datagram.ecn != *last && sockopt::set_ip_tos(&*socket, datagram.ecn as u8).is_ok() {
            *last = datagram.ecn;
        }
        let _ = sender.socket.local_addr().and_then(|to| socket.send_to(&self.buffer[..len], to));
        ends
    }

    /// Writes a datagram to the buffer; returns its length.
    fn write(&mut self, app: u32, datagram: Datagram, now: Instant) -> usize {
        self.buffer[..4].copy_from_slice(&app.to_be_bytes());
        self.buffer[4..12].copy_from_slice(&datagram.tag.to_be_bytes());
        self.buffer[12..20].copy_from_slice(&now.as_nanos().to_be_bytes());
        (datagram.len as usize).clamp(HEADER, self.buffer.len())
    }

    /// Opens the server socket of an application unless it is open. Returns both addresses if it was opened.
    fn connect(&mut self, app: u32) -> Option<[SocketAddr; 2]> {
        let (group, sender) = &mut self.senders[app as usize];
        if sender.is_some() {
            return None;
        }
        let (from, to) = (SocketAddr::new(self.server, 0), SocketAddr::new(self.client, port(*group)));
        *sender = self.servers.inside(|| Sender::open(from, to)).ok();
        sender.as_ref().and_then(|s| Some([s.socket.local_addr().ok()?, to]))
    }

    /// The next datagram received at the client socket of a group.
    pub(super) fn receive(&mut self, group: usize) -> Option<Arrived> {
        Self::next(&self.receivers.get(group)?.0, &mut self.buffer)
    }

    /// The next datagram received at the server socket of an application.
    pub(super) fn receive_reply(&mut self, app: u32) -> Option<Arrived> {
        Self::next(&self.senders.get(app as usize)?.1.as_ref()?.socket, &mut self.buffer)
    }

    fn next(socket: &UdpSocket, buffer: &mut [u8]) -> Option<Arrived> {
        loop {
            let len = socket.recv(buffer).ok()?;
            let word = |from: usize| buffer[from..from + 8].try_into().map(u64::from_be_bytes).unwrap_or(0);
            if len >= HEADER {
                let (app, tag, sent) = ((word(0) >> 32) as u32, word(4), Instant::from_nanos(word(12)));
                return Some(Arrived { app, tag, len: len as u32, sent });
            }
        }
    }
}
