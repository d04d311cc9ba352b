//! The open connections of an application.

use aqmkit_traffic::Conn;

/// No connection has this number.
const NONE: u32 = u32::MAX;

/// The open connections of an application: its own numbers and the network's. A single connection, the usual
/// case, needs no allocation.
pub(super) struct OpenConnections {
    /// The network's number is [`NONE`] if there is none.
    first: (Conn, u32),
    /// Boxed, because nearly all of a million applications have none.
    #[allow(clippy::box_collection, reason = "a word less than three for each application")]
    more: Option<Box<Vec<(Conn, u32)>>>,
}

impl Default for OpenConnections {
    fn default() -> Self {
        OpenConnections { first: (Conn(0), NONE), more: None }
    }
}

impl OpenConnections {
    pub(super) fn add(&mut self, conn: Conn, connection: u32) {
        if self.first.1 == NONE && self.more.as_ref().is_none_or(|more| more.is_empty()) {
            self.first = (conn, connection);
        } else {
            self.more.get_or_insert_default().push((conn, connection));
        }
    }

    pub(super) fn remove(&mut self, connection: u32) {
        if self.first.1 == connection {
            self.first.1 = NONE;
        }
        if let Some(more) = &mut self.more {
            more.retain(|(_, c)| *c != connection);
        }
    }

    pub(super) fn find(&self, conn: Conn) -> Option<u32> {
        self.pairs().find(|(own, _)| *own == conn).map(|(_, connection)| connection)
    }

    /// The network's numbers, in the order in which the connections were opened.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.pairs().map(|(_, connection)| connection)
    }

    fn pairs(&self) -> impl Iterator<Item = (Conn, u32)> {
        let first = (self.first.1 != NONE).then_some(self.first);
        first.into_iter().chain(self.more.iter().flat_map(|more| more.iter().copied()))
    }
}
