//! Connections: two endpoints, the requests between them, and their timers.

mod ahead;

use aqmkit_base::rng::derive_seed;
use aqmkit_base::{Duration, Ecn, FlowKey, Instant};
use aqmkit_measure::SenderSample;
use aqmkit_stack::{Datagram, NewEnd, Role, Trace};
use aqmkit_traffic as traffic;
use aqmkit_transport::rate::{Content, Packet};
use aqmkit_transport::{Event, Profile, Segment, Tcp};
use smallvec::SmallVec;

use super::ends::{End, Other, Outputs, SenderView, StackEnd};
use super::{SimEvent, World};
use crate::follow::SenderState;
use crate::host::{Host, Request};
use crate::packet::{Body, Flight, Side};
use crate::scenario::Delays;

/// A connection. Slots are reused; `generation` distinguishes their users.
///
/// With a million connections nearly every access is a cache miss per line of 64 bytes. Therefore a
/// connection is aligned to a line, its ends take four lines each, the fields that every event needs share
/// the ninth, and the requests are in the tenth.
#[repr(C, align(64))]
pub(super) struct Connection {
    ends: [End; 2],
    timers: [Timer; 2],
    /// Additional delay on the path to the server.
    extra: Duration,
    pub(super) app: u32,
    /// Index of the path to the client; the next one is the path to the server.
    path: u32,
    serial: u32,
    /// Requests whose responses are not complete: those from `served` on have not been answered yet.
    served: u32,
    local: traffic::Conn,
    generation: u16,
    group: u16,
    /// Bytes of all requests that were answered, and of all completed responses.
    requested: u64,
    responded: u64,
    /// Most connections never have two.
    requests: SmallVec<[Request; 1]>,
}

/// The deadline of one end of a connection.
///
/// A copy of the end's deadline, so that an early event, the usual case, does not access the end.
#[derive(Clone, Copy, Debug)]
struct Timer {
    due: Instant,
    /// When the pending event is.
    armed: Instant,
}

impl Timer {
    const OFF: Timer = Timer { due: Instant::FAR_FUTURE, armed: Instant::FAR_FUTURE };
}

/// The counters of one end of a connection: in total, or of one call.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Bytes from server to client that have arrived, each once.
    arrived: u64,
    timeouts: u32,
}

impl Progress {
    #[inline(always)]
    fn of(end: &End, side: Side) -> Self {
        Progress { arrived: end.arrived(side), timeouts: end.timeouts() }
    }

    #[inline(always)]
    fn of_tcp(tcp: &Tcp, side: Side) -> Self {
        let arrived = if side == Side::Client { tcp.arrived() } else { 0 };
        Progress { arrived, timeouts: tcp.stats().timeouts }
    }

    #[inline(always)]
    fn since(self, before: Progress) -> Self {
        Progress { arrived: self.arrived - before.arrived, timeouts: self.timeouts - before.timeouts }
    }
}

impl Connection {
    pub(super) fn generation(&self) -> u16 {
        self.generation
    }

    /// Index of the path to the client.
    pub(super) fn path(&self) -> u32 {
        self.path
    }

    /// Its number in the run, from 1.
    pub(super) fn serial(&self) -> u64 {
        self.serial.into()
    }
}

impl World<'_> {
    /// Creates a connection of an application to a server, not opened yet. Returns its number.
    pub(super) fn new_connection(&mut self, app: u32, local: traffic::Conn, server: u32) -> u32 {
        let (group_index, index) = (self.apps[app].group, self.apps[app].index);
        let server = server as usize % self.groups[usize::from(group_index)].paths.len();
        let extra = self.extra_delay(group_index, index, server);
        self.serial += 1;
        let trace = if self.watch.is_some() { self.trace_of_stack(app, server) } else { None };
        let group = &self.groups[usize::from(group_index)];
        let client = group.placement.client(index) as usize;
        let profile = &group.profile;
        let mut ends = match &group.stack {
            None => [End::new(profile, group.client_phase[client]), End::new(profile, group.server_phase[server])],
            Some(_) => self.stack_ends(group_index, trace),
        };
        if let Some(routes) = group.routes.get(server * group.placement.clients() as usize + client) {
            ends.iter_mut().zip(routes).for_each(|(end, route)| end.begin_with(profile, route));
        }
        let connection = Connection {
            ends,
            timers: [Timer::OFF; 2],
            app,
            local,
            generation: 0,
            group: group_index,
            path: group.paths[server][0],
            extra,
            serial: self.serial,
            requests: SmallVec::new(),
            served: 0,
            requested: 0,
            responded: 0,
        };
        self.store_connection(connection)
    }

    /// The ends of a new connection of a stack. The server's end writes a trace.
    #[cold]
    fn stack_ends(&self, group: u16, mut trace: Option<Trace>) -> [End; 2] {
        let group = &self.groups[usize::from(group)];
        let number = u64::from(self.serial);
        let mut end = |role: Role| {
            let new = NewEnd { role, seed: derive_seed(group.stack_seed, &format!("{number}.{role:?}")), number };
            let trace = trace.take_if(|_| role == Role::Server);
            group.stack.as_ref().map(|stack| match trace {
                None => stack.end(&new),
                Some(trace) => stack.traced_end(&new, trace),
            })
        };
        [Role::Client, Role::Server].map(|role| match end(role) {
            Some(stack) => End::Other(Box::new(Other::Stack(StackEnd::new(stack)))),
            None => End::new(&group.profile, Duration::ZERO),
        })
    }

    /// The delay of the round trip in addition to the links, between a server and an application of a group.
    pub(super) fn extra_delay(&mut self, group: u16, index: u32, server: usize) -> Duration {
        let group = &mut self.groups[usize::from(group)];
        match &group.delays {
            Delays::None => Duration::ZERO,
            Delays::Matrix(rows) => rows[server][group.placement.client(index) as usize],
            Delays::Uniform(low, high) => *low + (*high - *low).mul_f64(group.rng.uniform()),
            Delays::Each(list) => list[index as usize % list.len()],
        }
    }

    /// The server at one end of a connection, as an index into its group's paths.
    pub(super) fn server_of(&self, conn: u32) -> usize {
        let connection = &self.conns[conn as usize];
        let paths = &self.groups[usize::from(connection.group)].paths;
        paths.iter().position(|ends| ends[0] == connection.path).unwrap_or_default()
    }

    /// Gives an open connection another delay on the path to the server.
    pub(super) fn set_extra_delay(&mut self, conn: u32, extra: Duration) {
        self.conns[conn as usize].extra = extra;
    }

    /// The sender of a connection's data, for displays.
    pub(super) fn sender_view(&self, conn: u32) -> SenderView {
        let connection = &self.conns[conn as usize];
        connection.ends[Side::Server as usize].view(&self.groups[usize::from(connection.group)].profile, self.now)
    }

    /// The sender of a connection's data, for its trace.
    pub(super) fn sender_state(&self, conn: u32) -> SenderState {
        let connection = &self.conns[conn as usize];
        connection.ends[Side::Server as usize].state(&self.groups[usize::from(connection.group)].profile, self.now)
    }

    /// The sender of a connection's data, for what limits it; `None` unless it is an open TCP.
    pub(super) fn sender_sample(&self, conn: u32) -> Option<SenderSample> {
        let connection = &self.conns[conn as usize];
        connection.ends[Side::Server as usize].sample(&self.groups[usize::from(connection.group)].profile)
    }

    /// Whether the sender of a connection has unlimited data, and is in its first slow start.
    pub(super) fn is_in_first_slow_start(&self, conn: u32) -> bool {
        let connection = &self.conns[conn as usize];
        let profile = &self.groups[usize::from(connection.group)].profile;
        matches!(&connection.ends[Side::Server as usize], End::Tcp(tcp) if tcp.is_endless() && tcp.is_in_first_slow_start(profile))
    }

    fn store_connection(&mut self, mut connection: Connection) -> u32 {
        match self.free_conns.pop() {
            Some(conn) => {
                connection.generation = self.conns[conn as usize].generation;
                self.conns[conn as usize] = connection;
                conn
            }
            None => {
                self.conns.push(connection);
                self.conns.len() as u32 - 1
            }
        }
    }

    /// Frees a connection's slot. Packets and timers of the old connection see a different generation.
    pub(super) fn free_connection(&mut self, conn: u32) {
        let connection = &mut self.conns[conn as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.requests = SmallVec::new();
        self.free_conns.push(conn);
    }

    fn end_connection(&mut self, conn: u32, event: fn(traffic::Conn) -> traffic::Event) {
        self.keep_route(conn);
        let (app, local) = (self.conns[conn as usize].app, self.conns[conn as usize].local);
        self.apps.remove_connection(app, conn);
        self.free_connection(conn);
        self.apps.notify(app, event(local));
    }

    /// The ends of a closed connection save their estimates with the hosts' routes to each other.
    fn keep_route(&mut self, conn: u32) {
        let connection = &self.conns[conn as usize];
        if self.groups[usize::from(connection.group)].routes.is_empty() {
            return;
        }
        let (server, index) = (self.server_of(conn), self.apps[connection.app].index);
        let group = &mut self.groups[usize::from(connection.group)];
        let client = group.placement.client(index) as usize;
        let routes = &mut group.routes[server * group.placement.clients() as usize + client];
        connection.ends.iter().zip(routes).for_each(|(end, route)| end.leave_with(&group.profile, route));
    }

    /// A client sends a request.
    pub(super) fn request(&mut self, conn: u32, request: Request) {
        self.conns[conn as usize].requests.push(request);
        if request.request == 0 {
            return self.serve(conn);
        }
        self.with_end(conn, Side::Client, |end, profile, now, out| end.write(profile, request.request, now, out));
    }

    /// Calls one end of a connection and executes its output.
    pub(super) fn with_end(
        &mut self,
        conn: u32,
        side: Side,
        call: impl FnOnce(&mut End, &Profile, Instant, &mut Outputs),
    ) {
        // An event below may call an endpoint in the middle of this call: that call has its own.
        let mut out = self.spare_outputs.pop().unwrap_or_default();
        let connection = &mut self.conns[conn as usize];
        let group = &self.groups[usize::from(connection.group)];
        let end = &mut connection.ends[side as usize];
        let before = Progress::of(end, side);
        call(end, &group.profile, self.now, &mut out);
        let progress = Progress::of(end, side).since(before);
        self.follow_up(conn, side, progress, out);
    }

    /// Counts the results of a call of one end of a connection, sends its packets and passes on its events.
    fn follow_up(&mut self, conn: u32, side: Side, progress: Progress, mut out: Box<Outputs>) {
        let connection = &self.conns[conn as usize];
        let app = connection.app;
        if progress.arrived > 0 {
            let class = self.groups[usize::from(connection.group)].class;
            self.meter.delivered(app, class.index(), progress.arrived);
        }
        if progress.timeouts > 0 && side == Side::Server {
            self.meter.sent(app).timeouts += progress.timeouts;
        }
        for segment in &mut out.segments {
            self.send_segment(conn, side, segment);
        }
        out.segments.clear();
        if let End::Other(_) = self.conns[conn as usize].ends[side as usize] {
            self.send_packets(conn, side, &mut out.packets);
            self.send_datagrams(conn, side, &mut out);
        }
        self.arm(conn, side);
        // The event that ends a connection is the last of its call, so the others find the connection in its slot.
        for event in out.events.drain(..) {
            self.end_event(conn, side, event);
        }
        self.spare_outputs.push(out);
    }

    /// Sends a segment, moving its options out.
    fn send_segment(&mut self, conn: u32, from: Side, segment: &mut Segment) {
        let c = &self.conns[conn as usize];
        let profile = &self.groups[usize::from(c.group)].profile;
        if from == Side::Server && segment.len > 0 {
            let sent = self.meter.sent(c.app);
            sent.packets += 1;
            sent.retransmissions += u32::from(segment.retransmission);
        }
        let len = profile.wire_len(segment).0 as u32;
        self.launch(conn, from, (len, segment.len), segment.ecn, |body| {
            *body = Body::Segment(Segment { options: std::mem::take(&mut segment.options), ..*segment });
        });
    }

    #[inline(never)]
    fn send_packets(&mut self, conn: u32, from: Side, packets: &mut Vec<Packet>) {
        for packet in packets.drain(..) {
            self.send_packet(conn, from, packet);
        }
    }

    fn send_packet(&mut self, conn: u32, from: Side, packet: Packet) {
        let c = &self.conns[conn as usize];
        let header = self.groups[usize::from(c.group)].profile.header;
        if matches!(packet.content, Content::Data(_)) {
            self.meter.sent(c.app).packets += 1;
        }
        let (lens, ecn) = ((header.0 as u32 + packet.len, packet.len), packet.ecn);
        self.launch(conn, from, lens, ecn, |body| *body = Body::Rate(packet));
    }

    #[inline(never)]
    fn send_datagrams(&mut self, conn: u32, from: Side, out: &mut Outputs) {
        let c = &self.conns[conn as usize];
        let headers = self.groups[usize::from(c.group)].stack.as_ref().map_or(0, |stack| stack.headers());
        if from == Side::Server {
            let sent = self.meter.sent(c.app);
            sent.packets += out.datagrams.len() as u64;
            sent.retransmissions += out.lost as u32;
        }
        out.lost = 0;
        for Datagram { bytes, ecn } in out.datagrams.drain(..) {
            let len = bytes.len() as u32;
            self.launch(conn, from, (headers + len, len), ecn, |body| *body = Body::Bytes(bytes));
        }
    }

    /// Sends a packet of a connection, of this length with headers and without. Its body is written in place: copying memory that
    /// was just written in smaller units stalls the processor.
    #[inline(always)]
    fn launch(&mut self, conn: u32, from: Side, lens: (u32, u32), ecn: Ecn, load: impl FnOnce(&mut Body)) {
        let c = &self.conns[conn as usize];
        let (id, flight) = self.arena.claim();
        load(&mut flight.body);
        (flight.conn, flight.generation, flight.to) = (conn, c.generation, from.other());
        (flight.sent, flight.queued) = (self.now, self.now);
        flight.flow = FlowKey(u64::from(c.serial) * 2 + u64::from(from == Side::Client));
        flight.path = c.path + u32::from(from == Side::Client);
        (flight.hop, flight.label) = (0, 0.0);
        (flight.class, flight.app) = (self.groups[usize::from(c.group)].class, c.app);
        (flight.len, flight.payload) = lens;
        flight.ecn = ecn;
        self.send(id);
    }

    /// The delay from the end of the last link to the receiver.
    #[inline]
    pub(super) fn end_delay(&self, flight: &Flight) -> Duration {
        let delay = self.paths[flight.path as usize].delay;
        match (flight.to, &flight.body) {
            (Side::Client, _) => delay,
            (Side::Server, Body::Datagram { .. }) => {
                delay + self.reply_delays.get(&flight.app).copied().unwrap_or(Duration::ZERO)
            }
            (Side::Server, _) => delay + self.conns[flight.conn as usize].extra,
        }
    }

    /// A packet has reached the end of its path.
    pub(super) fn deliver(&mut self, id: u32) {
        let flight = self.arena.get(id);
        match &flight.body {
            Body::Segment(_) => self.deliver_segment(id),
            Body::Datagram { tag, len } => {
                let (app, generation, to) = (flight.app, flight.generation, traffic::Side::from(flight.to));
                let arrival = traffic::Arrival { to, tag: *tag, len: *len, sent: flight.sent, ecn: flight.ecn };
                self.arena.release(id);
                if self.apps[app].generation == generation {
                    self.deliver_datagram(app, arrival);
                }
            }
            Body::Rate(_) => self.deliver_packet(id),
            Body::Bytes(_) => self.deliver_bytes(id),
        }
    }

    /// A segment has reached its end of a connection. The endpoint reads it in place: copying it would take longer than
    /// most endpoints take to process it.
    fn deliver_segment(&mut self, id: u32) {
        let flight = self.arena.get_mut(id);
        let (conn, to) = (flight.conn, flight.to);
        let connection = &mut self.conns[conn as usize];
        let Body::Segment(segment) = &mut flight.body else { return };
        if connection.generation != flight.generation {
            return self.arena.release(id);
        }
        let End::Tcp(tcp) = &mut connection.ends[to as usize] else { return };
        segment.ecn = flight.ecn;
        if segment.len > 0 && to == Side::Client {
            self.meter.arrived(flight.class.index(), self.now.since(flight.sent));
        }
        let mut out = self.spare_outputs.pop().unwrap_or_default();
        let profile = &self.groups[usize::from(connection.group)].profile;
        let before = Progress::of_tcp(tcp, to);
        tcp.on_segment(profile, segment, self.now, &mut out.tcp());
        let progress = Progress::of_tcp(tcp, to).since(before);
        // The reply, if there is one, reuses the slot in the arena, which is in the cache.
        self.arena.release(id);
        self.follow_up(conn, to, progress, out);
    }

    /// A packet of a rate-based transport has reached its end of a connection.
    fn deliver_packet(&mut self, id: u32) {
        let flight = self.arena.get(id).clone();
        self.arena.release(id);
        let Body::Rate(mut packet) = flight.body else { return };
        let (conn, to) = (flight.conn, flight.to);
        if self.conns[conn as usize].generation != flight.generation {
            return;
        }
        packet.ecn = flight.ecn;
        if matches!(packet.content, Content::Data(_)) {
            self.meter.arrived(flight.class.index(), self.now.since(flight.sent));
        }
        self.with_end(conn, to, |end, profile, now, out| end.on_packet(profile, &packet, now, out));
    }

    /// A datagram of a stack has come to its end of a connection.
    #[inline(never)]
    fn deliver_bytes(&mut self, id: u32) {
        let flight = self.arena.get_mut(id);
        let (sent, class, ecn) = (flight.sent, flight.class, flight.ecn);
        let (conn, generation, to) = (flight.conn, flight.generation, flight.to);
        let Body::Bytes(bytes) = &mut flight.body else { return };
        let bytes = std::mem::take(bytes);
        self.arena.release(id);
        if self.conns[conn as usize].generation != generation {
            return;
        }
        if to == Side::Client {
            self.meter.arrived(class.index(), self.now.since(sent));
        }
        let datagram = Datagram { bytes, ecn };
        self.with_end(conn, to, |end, _, now, out| end.on_datagram(datagram, now, out));
    }

    /// Updates the deadline of an end.
    #[inline]
    fn arm(&mut self, conn: u32, side: Side) {
        let c = &mut self.conns[conn as usize];
        let profile = &self.groups[usize::from(c.group)].profile;
        let deadline = c.ends[side as usize].deadline(profile, self.now);
        c.timers[side as usize].due = deadline.unwrap_or(Instant::FAR_FUTURE);
        self.wait(conn, side);
    }

    /// Schedules the deadline of an end. A pending earlier event reschedules itself when it fires, so
    /// moving a deadline later costs nothing.
    #[inline]
    fn wait(&mut self, conn: u32, side: Side) {
        let c = &mut self.conns[conn as usize];
        let Timer { due, armed } = &mut c.timers[side as usize];
        if due < armed {
            *armed = *due;
            self.event_queue.put((*due).max(self.now), SimEvent::Timer { conn, generation: c.generation, side });
        }
    }

    pub(super) fn timer(&mut self, conn: u32, generation: u16, side: Side) {
        let c = &mut self.conns[conn as usize];
        let timer = &mut c.timers[side as usize];
        if c.generation != generation || timer.armed > self.now {
            return;
        }
        timer.armed = Instant::FAR_FUTURE;
        if timer.due <= self.now {
            self.with_end(conn, side, End::on_deadline);
        } else {
            self.wait(conn, side);
        }
    }

    fn end_event(&mut self, conn: u32, side: Side, event: Event) {
        match (event, side) {
            (Event::Connected, Side::Client) => {
                let c = &self.conns[conn as usize];
                self.apps.notify(c.app, traffic::Event::Opened(c.local));
            }
            (Event::Connected, Side::Server) => {}
            (Event::Delivered, Side::Server) => self.serve(conn),
            (Event::Delivered, Side::Client) => self.respond(conn),
            (Event::PeerFinished, _) => {
                self.with_end(conn, side, End::close);
            }
            (Event::Closed, _) => {
                if self.conns[conn as usize].ends.iter().all(End::is_closed) {
                    self.end_connection(conn, traffic::Event::Closed);
                }
            }
            (Event::Failed, _) => self.end_connection(conn, traffic::Event::Failed),
        }
    }

    /// The server received more request data: it starts processing complete requests.
    fn serve(&mut self, conn: u32) {
        loop {
            let c = &mut self.conns[conn as usize];
            let Some(next) = c.requests.get(c.served as usize).copied() else { return };
            if c.ends[Side::Server as usize].delivered() < c.requested + next.request {
                return;
            }
            c.requested += next.request;
            c.served += 1;
            if next.think.is_zero() {
                self.answer(conn, next);
            } else {
                let generation = c.generation;
                self.event_queue.put(self.now + next.think, SimEvent::RequestProcessed { conn, generation });
            }
        }
    }

    /// A server finished processing its oldest unanswered request.
    pub(super) fn request_processed(&mut self, conn: u32, generation: u16) {
        let c = &self.conns[conn as usize];
        if c.generation != generation {
            return;
        }
        if let Some(request) = c.served.checked_sub(1).and_then(|i| c.requests.get(i as usize)).copied() {
            self.answer(conn, request);
        }
    }

    fn answer(&mut self, conn: u32, request: Request) {
        if request.response == 0 {
            return self.respond(conn);
        }
        self.with_end(conn, Side::Server, |end, profile, now, out| {
            end.write(profile, request.response, now, out);
            if request.close {
                end.close(profile, now, out);
            }
        });
    }

    /// The client received more response data: reports complete responses.
    fn respond(&mut self, conn: u32) {
        let c = &mut self.conns[conn as usize];
        let delivered = c.ends[Side::Client as usize].delivered();
        while let Some(first) = c.requests.first() {
            let end = c.responded.saturating_add(first.response);
            if c.served == 0 || delivered < end {
                return;
            }
            c.responded = end;
            c.requests.remove(0);
            c.served -= 1;
            self.apps.notify(c.app, traffic::Event::Response(c.local));
        }
        // Nearly all of a million connections are idle.
        c.requests = SmallVec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_million_have_in_memory_is_ten_lines_each() {
        assert_eq!(size_of::<End>(), 4 * 64);
        assert_eq!(size_of::<Connection>(), 10 * 64);
        assert_eq!(std::mem::offset_of!(Connection, timers) % 64, 0);
        assert_eq!(std::mem::offset_of!(Connection, requested) % 64, 0);
        assert_eq!(size_of::<Flight>(), 2 * 64);
        assert_eq!(size_of::<SimEvent>(), 8);
    }
}
