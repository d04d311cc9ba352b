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
/// (`examples/million`: nothing gained at 100,000 connections with some 10 events in a slot, a fifth at a million with some 100).
const SEVERAL: usize = 24;

impl World<'_> {
    /// Reads a little of what the events at hand are about.
    pub(super) fn look_ahead(&self) {
        if self.conns.len() < MANY || self.agenda.at_hand().len() < SEVERAL {
            return;
        }
        let mut seen = 0;
        // A packet has to be there before it can say which connection it is for.
        for happening in self.agenda.at_hand() {
            if let Happening::Arrival { packet } = happening {
                seen ^= self.arena.get(packet).len;
            }
        }
        for happening in self.agenda.at_hand() {
            if let Some((conn, side)) = self.about(happening) {
                seen ^= self.read(conn, side);
            }
        }
        // And a connection before it can say whose it is.
        for happening in self.agenda.at_hand() {
            if let Some(app) = self.whose(happening) {
                seen ^= self.apps[app as usize].index ^ self.meter.packets_of(app) as u32;
            }
        }
        black_box(seen);
    }

    /// The application that an event is about.
    fn whose(&self, happening: Happening) -> Option<u32> {
        match happening {
            Happening::Wake { app } => Some(app),
            other => self.about(other).map(|(conn, _)| self.app_of(conn)),
        }
    }

    /// The connection and the side of it that an event is about.
    fn about(&self, happening: Happening) -> Option<(u32, Side)> {
        match happening {
            Happening::Arrival { packet } => match self.arena.get(packet).body {
                Body::Segment { conn, to, .. } => Some((conn, to)),
                _ => None,
            },
            Happening::Timer { conn, side, .. } => Some((conn, side)),
            Happening::Thought { conn, .. } => Some((conn, Side::Server)),
            _ => None,
        }
    }
}
