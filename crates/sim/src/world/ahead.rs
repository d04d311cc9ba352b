//! Prefetching the state of upcoming events.
//!
//! When the event queue loads events, their packets, connections and applications are prefetched in rounds:
//! a packet must be in the cache before its connection is known, and the connection before it is known
//! whether a response is complete and the application will be called.

use aqmkit_base::Instant;

use super::{SimEvent, World};
use crate::fetch::{fetch, fetch_line};
use crate::packet::{Body, Side};

/// Minimum number of connections for prefetching; fewer fit into the caches at about 600 bytes each.
const MANY: usize = 4096;
/// Events loaded together when prefetching; their state must fit into the caches.
const TOGETHER: usize = 64;

/// Lists of objects to prefetch; the memory is reused.
#[derive(Default)]
pub(super) struct Ahead {
    packets: Vec<u32>,
    timers: Vec<(Instant, u32, Side)>,
    wakes: Vec<u32>,
    /// Connections whose client receives data, with the sequence number after the data.
    data: Vec<(u32, u64)>,
    readers: Vec<u32>,
}

impl World<'_> {
    /// With many connections, loads the next events if there are none, and prefetches their state.
    #[inline(always)]
    pub(super) fn look_ahead(&mut self) {
        if self.conns.len() >= MANY {
            self.look_ahead_of_many();
        }
    }

    #[inline(never)]
    fn look_ahead_of_many(&mut self) {
        if self.event_queue.turn(TOGETHER) {
            let mut ahead = std::mem::take(&mut self.ahead);
            self.fetch_first(&mut ahead);
            self.fetch_connections(&mut ahead);
            self.fetch_applications(&mut ahead);
            self.ahead = ahead;
        }
    }

    /// Objects named by the events.
    fn fetch_first(&self, ahead: &mut Ahead) {
        for (at, event) in self.event_queue.at_hand() {
            match event {
                SimEvent::Arrival { packet } => {
                    fetch(self.arena.get(packet));
                    ahead.packets.push(packet);
                }
                SimEvent::Timer { conn, side, .. } => {
                    self.conns[conn as usize].fetch_common();
                    ahead.timers.push((at, conn, side));
                }
                SimEvent::RequestProcessed { conn, .. } => {
                    self.conns[conn as usize].fetch_requests();
                    self.conns[conn as usize].fetch(Side::Server);
                }
                SimEvent::Wake { app } => {
                    fetch(&self.apps[app]);
                    ahead.wakes.push(app);
                }
                _ => {}
            }
        }
    }

    /// Objects reached from packets, timers and applications.
    fn fetch_connections(&self, ahead: &mut Ahead) {
        while let Some(packet) = ahead.packets.pop() {
            let flight = self.arena.get(packet);
            if let Body::Datagram { .. } = flight.body {
                fetch_line(self.meter.app(flight.app));
                continue;
            }
            let conn = flight.conn;
            let connection = &self.conns[conn as usize];
            connection.fetch(flight.to);
            if flight.payload > 0 {
                connection.fetch_requests();
            }
            match flight.to {
                Side::Client => ahead.data.push((conn, flight.body.data_end())),
                Side::Server => fetch_line(self.meter.app(flight.app)),
            }
        }
        while let Some((at, conn, side)) = ahead.timers.pop() {
            let connection = &self.conns[conn as usize];
            if connection.is_due(side, at) {
                connection.fetch(side);
            }
        }
        while let Some(app) = ahead.wakes.pop() {
            let app = &self.apps[app];
            app.fetch_model();
            if let Some(conn) = app.connections().next() {
                self.conns[conn as usize].fetch(Side::Client);
                self.conns[conn as usize].fetch_requests();
            }
        }
    }

    /// Applications that a response will reach.
    fn fetch_applications(&self, ahead: &mut Ahead) {
        while let Some((conn, end)) = ahead.data.pop() {
            let connection = &self.conns[conn as usize];
            if connection.will_respond(end) {
                fetch(&self.apps[connection.app]);
                ahead.readers.push(connection.app);
            }
        }
        while let Some(app) = ahead.readers.pop() {
            self.apps[app].fetch_model();
        }
    }
}
