//! Reports what senders receive and decide to a [`Follower`](crate::follow::Follower).

use aqmkit_stack::Trace;

use super::{SimEvent, World};
use crate::observe::Watch;
use crate::packet::{Body, Side};

/// A followed sender that is about to process an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    conn: u32,
    generation: u16,
}

impl World<'_> {
    /// Whether senders are followed.
    pub(crate) fn follows(&self) -> bool {
        self.watch.as_deref().is_some_and(Watch::follows)
    }

    /// The sender that an event concerns, if there is one. Reports the packet that reaches it.
    pub(super) fn followed(&mut self, event: SimEvent) -> Option<Followed> {
        match event {
            SimEvent::Arrival { packet } => self.receives(packet),
            SimEvent::Timer { conn, generation, side: Side::Server }
            | SimEvent::RequestProcessed { conn, generation } => Some(Followed { conn, generation }),
            _ => None,
        }
    }

    /// The sender that a packet has reached, if it has.
    fn receives(&mut self, packet: u32) -> Option<Followed> {
        let flight = self.arena.get(packet);
        let is_there = usize::from(flight.hop) == self.paths[flight.path as usize].links.len();
        if !is_there || flight.to != Side::Server || matches!(flight.body, Body::Datagram { .. }) {
            return None;
        }
        let (conn, generation) = (flight.conn, flight.generation);
        let connection = self.conns.get(conn as usize).filter(|it| it.generation() == generation)?;
        let index = self.apps[flight.app].index;
        if let Some(watch) = &mut self.watch {
            watch.see_reception(connection.path(), flight, index, self.now);
        }
        Some(Followed { conn, generation })
    }

    /// Reports the state of a sender that has processed an event, unless its connection has ended.
    pub(super) fn report(&mut self, sender: Followed) {
        let Some(connection) = self.conns.get(sender.conn as usize) else { return };
        if connection.generation() != sender.generation {
            return;
        }
        let state = self.sender_state(sender.conn);
        let (index, serial) = (self.apps[connection.app].index, connection.serial());
        if let Some(watch) = &mut self.watch {
            watch.see_state(connection.path(), index, serial, &state, self.now);
        }
    }

    /// Where the server's end of a new connection of a stack writes its trace, if it can and the connection is followed.
    #[cold]
    pub(super) fn trace_of_stack(&mut self, app: u32, server: usize) -> Option<Trace> {
        let (index, group) = (self.apps[app].index, &self.groups[usize::from(self.apps[app].group)]);
        let path = group.paths[server][0];
        group.stack.as_ref().filter(|stack| stack.writes_traces())?;
        let (follower, parties) = self.watch.as_mut()?.follower(path, index, self.serial.into())?;
        follower.trace(&parties)
    }
}
