//! Connections of a live run: their two sockets, their requests, and how they are closed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};

use aqmkit_base::Instant;
use aqmkit_live::tcp_info::{Sender, TcpInfo};
use aqmkit_sim::host::{Applications, Request};
use aqmkit_traffic::{Conn, ENDLESS, Event};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::record::{Record, TCP};
use super::{Due, LISTENER};
use crate::setup::port;

/// Flag in the user data of an `epoll` event: the server's socket of a connection rather than the client's.
const SERVER: u64 = 1 << 60;

/// Maximum number of bytes per read or write.
const CHUNK: usize = 65_536;

/// The payload of responses and requests: zeros.
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// The parts of [`Hosts`](super::Hosts) that connections use.
pub(super) struct World<'a> {
    pub(super) now: Instant,
    pub(super) apps: &'a mut Applications,
    pub(super) event_queue: &'a mut BinaryHeap<Reverse<(Instant, Due)>>,
    pub(super) record: &'a mut Record,
    pub(super) epoll: &'a rustix::fd::OwnedFd,
}

/// A connection. Requests are served in order; the counters are about the first one at each end.
struct Connection {
    app: u32,
    group: usize,
    conn: Conn,
    serial: u64,
    client: TcpStream,
    server: Option<TcpStream>,
    /// The server's counters at their last reading, and the time of that reading.
    counted: (TcpInfo, Sender),
    counted_at: Instant,
    open: bool,
    /// Request bytes that the client has not written yet.
    to_ask: u64,
    /// Requests that the server has not read completely, and the unread bytes of the first one.
    asked: VecDeque<Request>,
    unread: u64,
    /// Response bytes that the server has not written yet.
    to_answer: u64,
    closing: bool,
    /// Sizes of the responses that the client has not read completely, and the unread bytes of the first one.
    awaited: VecDeque<u64>,
    missing: u64,
    /// Whether the client closes the connection once everything is read.
    leaving: bool,
}

/// All connections, in slots.
pub(super) struct Connections {
    servers: Vec<TcpListener>,
    address: IpAddr,
    slots: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// By the client's address, the slot of each connection that the server has not accepted yet.
    expected: BTreeMap<SocketAddr, usize>,
    /// Sockets accepted by a server before the client has seen the connection established.
    early: BTreeMap<SocketAddr, TcpStream>,
    serial: u64,
    buffer: Vec<u8>,
}

impl Connections {
    /// Opens a listening socket for each group in the servers' namespace, with its congestion control.
    pub(super) fn listen(address: IpAddr, controls: &[String], epoll: &rustix::fd::OwnedFd) -> io::Result<Self> {
        let one = |(group, control): (usize, &String)| {
            let server = TcpListener::bind(SocketAddr::new(address, port(group)))?;
            // Accepted sockets inherit this.
            sockopt::set_tcp_congestion(&server, control)?;
            sockopt::set_tcp_nodelay(&server, true)?;
            server.set_nonblocking(true)?;
            epoll::add(epoll, &server, EventData::new_u64(LISTENER | group as u64), EventFlags::IN)?;
            Ok(server)
        };
        Ok(Connections {
            servers: controls.iter().enumerate().map(one).collect::<io::Result<_>>()?,
            address,
            slots: Vec::new(),
            free: Vec::new(),
            expected: BTreeMap::new(),
            early: BTreeMap::new(),
            serial: 0,
            buffer: vec![0; CHUNK],
        })
    }

    pub(super) fn open(&mut self, app: u32, group: usize, conn: Conn, world: &mut World<'_>) {
        let server = SocketAddr::new(self.address, port(group));
        let Ok((client, from)) = begin(server) else {
            return world.apps.notify(app, Event::Failed(conn));
        };
        world.record.owns(app, TCP, [server, from], world.now);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.serial += 1;
        // Edge-triggered: each end is read and written until the call would block.
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let watched = epoll::add(world.epoll, &client, EventData::new_u64(slot as u64), flags);
        self.slots[slot] = Some(Connection {
            app,
            group,
            conn,
            serial: self.serial,
            client,
            server: None,
            counted: Default::default(),
            counted_at: world.now,
            open: false,
            to_ask: 0,
            asked: VecDeque::new(),
            unread: 0,
            to_answer: 0,
            closing: false,
            awaited: VecDeque::new(),
            missing: 0,
            leaving: false,
        });
        world.apps.add_connection(app, conn, slot as u32);
        if watched.is_err() {
            return self.end(slot, Event::Failed, world);
        }
        match self.early.remove(&from) {
            Some(accepted) => self.join(slot, accepted, world.now, world.epoll),
            None => drop(self.expected.insert(from, slot)),
        }
    }

    /// Accepts the pending connections of a listening socket.
    pub(super) fn accept(&mut self, group: usize, now: Instant, epoll: &rustix::fd::OwnedFd) {
        while let Some(Ok((server, from))) = self.servers.get(group).map(TcpListener::accept) {
            match self.expected.remove(&from) {
                Some(slot) => self.join(slot, server, now, epoll),
                None => drop(self.early.insert(from, server)),
            }
        }
    }

    /// Attaches the server's socket to a connection.
    fn join(&mut self, slot: usize, server: TcpStream, now: Instant, epoll: &rustix::fd::OwnedFd) {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let ready = server.set_nonblocking(true).is_ok()
            && epoll::add(epoll, &server, EventData::new_u64(SERVER | slot as u64), flags).is_ok();
        if let Some(c) = self.slots[slot].as_mut().filter(|_| ready) {
            (c.server, c.counted_at) = (Some(server), now);
        }
    }

    pub(super) fn request(&mut self, slot: usize, request: Request, world: &mut World<'_>) {
        let Some(c) = &mut self.slots[slot] else { return };
        c.to_ask += request.request;
        if c.asked.is_empty() {
            c.unread = request.request;
            if request.request == 0 {
                world.event_queue.push(Reverse((world.now + request.think, Due::RequestProcessed(slot, c.serial))));
            }
        }
        if c.awaited.is_empty() {
            c.missing = request.response;
        }
        c.asked.push_back(request);
        c.awaited.push_back(request.response);
        self.ready(slot as u64, world);
    }

    /// Makes the server send data without a request.
    pub(super) fn push(&mut self, slot: usize, bytes: u64, world: &mut World<'_>) {
        if let Some(c) = &mut self.slots[slot] {
            c.to_answer = c.to_answer.saturating_add(bytes);
        }
        self.ready(SERVER | slot as u64, world);
    }

    pub(super) fn close(&mut self, slot: usize, world: &mut World<'_>) {
        if let Some(c) = &mut self.slots[slot] {
            c.leaving = true;
        }
        self.ready(slot as u64, world);
    }

    /// Records what each connection has sent, and what limited its sender.
    pub(super) fn count(&mut self, record: &mut Record, now: Instant) {
        self.slots.iter_mut().flatten().for_each(|c| c.count(record, now));
    }

    /// For each endless connection without a slow-start threshold, its group.
    pub(super) fn without_threshold(&self) -> impl Iterator<Item = usize> {
        let starting = |c: &&Connection| c.is_endless() && c.server.is_some() && c.counted.1.no_threshold;
        self.slots.iter().flatten().filter(starting).map(|c| c.group)
    }

    /// Closes both sockets of a connection at once.
    pub(super) fn abandon(&mut self, slot: usize, record: &mut Record, now: Instant) {
        self.forget(slot, record, now);
    }

    fn forget(&mut self, slot: usize, record: &mut Record, now: Instant) -> Option<Connection> {
        let mut gone = self.slots[slot].take()?;
        gone.count(record, now);
        self.expected.retain(|_, s| *s != slot);
        self.free.push(slot);
        Some(gone)
    }

    /// Makes the server answer the first request that it has read, after its processing time.
    pub(super) fn request_processed(&mut self, slot: usize, serial: u64, world: &mut World<'_>) {
        let Some(c) = self.slots.get_mut(slot).and_then(Option::as_mut).filter(|c| c.serial == serial) else { return };
        let Some(request) = c.asked.pop_front() else { return };
        c.unread = c.asked.front().map_or(0, |r| r.request);
        if let Some(next) = c.asked.front().filter(|next| next.request == 0) {
            world.event_queue.push(Reverse((world.now + next.think, Due::RequestProcessed(slot, serial))));
        }
        c.to_answer = if request.response == ENDLESS { ENDLESS } else { c.to_answer.saturating_add(request.response) };
        c.closing |= request.close;
        if request.response == 0 && c.awaited.front() == Some(&0) {
            c.awaited.pop_front();
            c.missing = c.awaited.front().copied().unwrap_or(0);
            world.apps.notify(c.app, Event::Response(c.conn));
        }
        self.ready(SERVER | slot as u64, world);
    }

    /// Handles the readiness of one end of a connection.
    pub(super) fn ready(&mut self, data: u64, world: &mut World<'_>) {
        let slot = (data & !SERVER) as usize;
        let Some(c) = self.slots.get_mut(slot).and_then(Option::as_mut) else { return };
        let result = if data & SERVER != 0 {
            c.serve(slot, &mut self.buffer, world).map(|()| false)
        } else {
            c.consume(&mut self.buffer, world)
        };
        match result {
            Ok(false) => {}
            Ok(true) => self.end(slot, Event::Closed, world),
            Err(_) => self.end(slot, Event::Failed, world),
        }
    }

    fn end(&mut self, slot: usize, event: fn(Conn) -> Event, world: &mut World<'_>) {
        if let Some(c) = self.forget(slot, world.record, world.now) {
            world.apps.remove_connection(c.app, slot as u32);
            world.apps.notify(c.app, event(c.conn));
        }
    }
}

/// Starts a non-blocking connect from the calling thread's namespace; returns the socket and its address.
fn begin(to: SocketAddr) -> io::Result<(TcpStream, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match connect(&socket, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
        Err(e) => return Err(e.into()),
    }
    let stream = TcpStream::from(socket);
    let from = stream.local_addr()?;
    Ok((stream, from))
}

/// Converts `EWOULDBLOCK` to `None`.
fn blocked<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e)
            if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted, io::ErrorKind::NotConnected]
                .contains(&e.kind()) =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Writes up to `left` zero bytes; returns the number of bytes left to write.
fn pour(mut stream: &TcpStream, mut left: u64) -> io::Result<u64> {
    while left > 0 {
        let most = left.min(CHUNK as u64) as usize;
        let Some(n) = blocked(stream.write(&ZEROS[..most]))? else { break };
        if left != ENDLESS {
            left -= n as u64;
        }
    }
    Ok(left)
}

impl Connection {
    /// Whether the server sends an endless response.
    fn is_endless(&self) -> bool {
        self.to_answer == ENDLESS
    }

    /// Records what the server has sent since the last reading, and what limited it, as the simulator does.
    fn count(&mut self, record: &mut Record, now: Instant) {
        let Some(read) = self.server.as_ref().and_then(|s| TcpInfo::with_sender(s).ok()) else { return };
        let (counters, sender) = std::mem::replace(&mut self.counted, read);
        record.segments(self.app, read.0.since(counters));
        record.limited(self.group, self.is_endless(), [sender, read.1], now.since(self.counted_at));
        self.counted_at = now;
    }

    /// Serves the client's end: writes requests, reads responses. Returns true when the connection has ended.
    fn consume(&mut self, buffer: &mut [u8], world: &mut World<'_>) -> io::Result<bool> {
        if let Some(error) = self.client.take_error()? {
            return Err(error);
        }
        if !self.open {
            if self.client.peer_addr().is_err() {
                return Ok(false);
            }
            self.open = true;
            world.apps.notify(self.app, Event::Opened(self.conn));
        }
        self.to_ask = pour(&self.client, self.to_ask)?;
        while let Some(n) = blocked((&self.client).read(buffer))? {
            if n == 0 {
                return Ok(true);
            }
            self.came(n as u64, world);
        }
        if self.leaving && self.to_ask == 0 && self.awaited.is_empty() {
            self.leaving = false;
            self.client.shutdown(Shutdown::Write)?;
        }
        Ok(false)
    }

    /// Handles received response bytes.
    fn came(&mut self, bytes: u64, world: &mut World<'_>) {
        world.record.delivered(self.app, self.group, bytes);
        let mut left = bytes;
        while let Some(response) = self.awaited.front() {
            // An endless response never completes; an empty one completes when the server has processed the request.
            if *response == ENDLESS || *response == 0 {
                return;
            }
            let part = left.min(self.missing);
            self.missing -= part;
            left -= part;
            if self.missing > 0 {
                return;
            }
            self.awaited.pop_front();
            self.missing = self.awaited.front().copied().unwrap_or(0);
            world.apps.notify(self.app, Event::Response(self.conn));
            if left == 0 {
                return;
            }
        }
    }

    /// Serves the server's end: reads requests, processes them, writes responses.
    fn serve(&mut self, slot: usize, buffer: &mut [u8], world: &mut World<'_>) -> io::Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        let (mut gone, mut ahead) = (false, 0);
        while let Some(n) = blocked((&*server).read(buffer))? {
            if n == 0 {
                gone = true;
                break;
            }
            let mut left = n as u64;
            // The server starts processing when a request is read completely; later requests wait for its response.
            let part = left.min(self.unread);
            self.unread -= part;
            left -= part;
            if part > 0
                && self.unread == 0
                && let Some(request) = self.asked.front()
            {
                let due = Due::RequestProcessed(slot, self.serial);
                world.event_queue.push(Reverse((world.now + request.think, due)));
            }
            ahead += left;
        }
        self.to_answer = pour(server, self.to_answer)?;
        if self.to_answer == 0 && (gone || (self.closing && self.asked.is_empty())) {
            self.closing = false;
            // Fails if the client has closed the connection already.
            let _ = server.shutdown(Shutdown::Write);
        }
        self.read_ahead(ahead);
        Ok(())
    }

    /// Accounts for bytes of later requests that were read together with the first one.
    fn read_ahead(&mut self, mut bytes: u64) {
        for request in self.asked.iter_mut().skip(1) {
            let part = bytes.min(request.request);
            request.request -= part;
            bytes -= part;
        }
    }
}
