//! Looking ahead: reading what the next events are about before they happen.
//!
//! With many connections nothing that an event needs is in the processor's caches, and events that happen one after the other wait
//! for memory one after the other. Reads that do not depend on each other wait together. So when a slot of the
//! agenda comes to hand, a little of every packet, connection and application that its events are about is read. Nothing is
//! changed, and nothing follows from what is read.

use std::hint::black_box;

use super::{Happening, World};
use crate::packet::{Body, Side};

/// From so many connections on they do not fit into the caches near the processor: some 600 bytes each.
const MANY: usize = 4096;
/// Fewer events than this have too little to wait for together: reading twice then costs what waiting together saves
/// (`examples/million`: with some 10 at hand nothing is gained).
const SEVERAL: usize = 24;

/// What the events at hand are about: reused from slot to slot.
#[derive(Default)]
pub(super) struct Ahead {
    ends: Vec<(u32, Side)>,
    apps: Vec<u32>,
}

impl World<'_> {
    /// Reads a little of what the events at hand are about.
    ///
    /// In three rounds of little else than reading, since the processor waits together only for what it finds within some hundred
    /// instructions: a packet has to be there before it can say which connection it is for, and a connection before it
    /// can say whose it is.
    pub(super) fn look_ahead(&mut self) {
        if self.conns.len() < MANY || self.agenda.at_hand().len() < SEVERAL {
            return;
        }
        let Ahead { mut ends, mut apps } = std::mem::take(&mut self.ahead);
        let mut seen = 0;
        for happening in self.agenda.at_hand() {
            match happening {
                Happening::Arrival { packet } => {
                    let flight = self.arena.get(packet);
                    seen ^= u64::from(flight.len);
                    if let Body::Segment { conn, to, .. } = flight.body {
                        ends.push((conn, to));
                    }
                }
                Happening::Timer { conn, side, .. } => ends.push((conn, side)),
                Happening::Thought { conn, .. } => ends.push((conn, Side::Server)),
                Happening::Wake { app } => apps.push(app),
                _ => {}
            }
        }
        for (conn, side) in ends.drain(..) {
            let (read, app) = self.read(conn, side);
            seen ^= read;
            apps.push(app);
        }
        for app in apps.drain(..) {
            seen ^= u64::from(self.apps[app as usize].index) ^ self.meter.packets_of(app);
        }
        black_box(seen);
        self.ahead = Ahead { ends, apps };
    }
}
