//! The simulated network as the host of its applications.

use aqmkit_base::{Duration, FlowKey, Instant};
use aqmkit_measure::{HostRecorder, Plan};
use aqmkit_traffic as traffic;

use super::ends::End;
use super::{SimEvent, World};
use crate::host::{Applications, Datagram, Host, Request};
use crate::packet::{Body, Flight, Side};

/// Bit that distinguishes flow keys of datagrams from those of connections.
const DATAGRAM_FLOW: u64 = 1 << 63;
/// Bit that distinguishes flow keys of datagrams from clients from those to them.
const REPLY_FLOW: u64 = 1 << 62;

impl Host for World<'_> {
    #[inline(always)]
    fn now(&self) -> Instant {
        self.now
    }

    #[inline(always)]
    fn applications(&mut self) -> &mut Applications {
        &mut self.apps
    }

    #[inline(always)]
    fn measurements(&mut self) -> (&Plan, &mut HostRecorder) {
        self.meter.hosts()
    }

    fn open_connection(&mut self, app: u32, conn: traffic::Conn, server: u32) {
        let connection = self.new_connection(app, conn, server);
        self.apps.add_connection(app, conn, connection);
        self.with_end(connection, Side::Client, End::connect);
    }

    fn send_request(&mut self, connection: u32, request: Request) {
        self.request(connection, request);
    }

    fn push(&mut self, connection: u32, bytes: u64) {
        self.with_end(connection, Side::Server, |end, profile, now, out| end.write(profile, bytes, now, out));
    }

    fn close_connection(&mut self, connection: u32) {
        self.with_end(connection, Side::Client, End::close);
    }

    fn abandon_connection(&mut self, connection: u32) {
        self.free_connection(connection);
    }

    fn send_datagram(&mut self, app: u32, to: traffic::Side, datagram: Datagram) {
        let to = Side::from(to);
        if to == Side::Server {
            self.set_reply_delay(app);
        }
        let it = &self.apps[app];
        let group = &self.groups[usize::from(it.group)];
        let (id, flight) = self.arena.claim();
        *flight = Flight {
            body: Body::Datagram { tag: datagram.tag, len: datagram.len },
            conn: 0,
            generation: it.generation,
            to,
            sent: self.now,
            queued: self.now,
            flow: FlowKey(DATAGRAM_FLOW | if to == Side::Server { REPLY_FLOW } else { 0 } | u64::from(app)),
            len: datagram.len + group.datagram_overhead,
            payload: datagram.len,
            path: group.paths[it.index as usize % group.paths.len()][to as usize],
            hop: 0,
            label: 0.0,
            class: group.class,
            ecn: datagram.ecn,
            app,
        };
        self.send(id);
    }

    fn schedule_wake(&mut self, app: u32, at: Instant) {
        self.event_queue.put(at, SimEvent::Wake { app });
    }
}

impl World<'_> {
    /// With the first datagram from an application's client, sets their delay in addition to the links.
    fn set_reply_delay(&mut self, app: u32) {
        if !self.reply_delays.contains_key(&app) {
            let delay = self.new_reply_delay(app);
            self.reply_delays.insert(app, delay);
        }
    }

    /// The delay of datagrams from an application's client.
    pub(super) fn new_reply_delay(&mut self, app: u32) -> Duration {
        let (group, index) = (self.apps[app].group, self.apps[app].index);
        let server = index as usize % self.groups[usize::from(group)].paths.len();
        self.extra_delay(group, index, server)
    }

    /// The models' own counters, by group, summed over its applications.
    pub(super) fn counters(&self) -> Vec<Vec<f64>> {
        self.apps.counters(self.meter.plan())
    }
}
