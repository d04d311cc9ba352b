//! Common parts of models that open a connection for every object.

use aqmkit_base::{Duration, Instant};

use super::{Action, Conn, Cx};

/// Maximum number of connections, closing ones included: connection numbers have 16 bits. Downloads beyond it are
/// refused.
const MAX_CONNS: usize = 1 << 16;

/// A download in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Download<T> {
    /// When it was requested.
    pub(crate) started: Instant,
    /// Bytes of the response.
    pub(crate) bytes: u64,
    /// The model's data about the download.
    pub(crate) of: T,
}

/// State of a connection, by its number.
#[derive(Clone, Copy, Debug)]
enum Slot<T> {
    Free,
    Awaited(Download<T>),
    Closing,
}

/// The downloads of one application, and their counters.
#[derive(Clone, Debug)]
pub(crate) struct Downloads<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u16>,
    requested: u64,
    completed: u64,
    received: u64,
    failures: u64,
}

impl<T: Copy> Downloads<T> {
    /// The names of [`Downloads::counter`].
    pub(crate) const COUNTERS: &[&str] = &["requests", "completed", "bytes_received", "failures"];

    pub(crate) fn new() -> Self {
        Downloads { slots: Vec::new(), free: Vec::new(), requested: 0, completed: 0, received: 0, failures: 0 }
    }

    /// Opens a connection to a server and requests `response` bytes, after which the server closes. Returns false if no
    /// connection number is free; the download then counts as failed.
    pub(crate) fn begin(&mut self, server: u32, request: u64, response: u64, of: T, cx: &mut Cx<'_>) -> bool {
        self.requested += 1;
        let Some(conn) = self.number() else {
            self.failures += 1;
            return false;
        };
        self.slots[usize::from(conn.0)] = Slot::Awaited(Download { started: cx.now, bytes: response, of });
        cx.want(Action::Open { conn, server });
        cx.want(Action::Request { conn, request, response, think: Duration::ZERO, close: true });
        true
    }

    fn number(&mut self) -> Option<Conn> {
        if let Some(n) = self.free.pop() {
            return Some(Conn(n));
        }
        let n = u16::try_from(self.slots.len()).ok().filter(|_| self.slots.len() < MAX_CONNS)?;
        self.slots.push(Slot::Free);
        Some(Conn(n))
    }

    /// A response has arrived.
    pub(crate) fn on_response(&mut self, conn: Conn) -> Option<Download<T>> {
        let slot = self.slots.get_mut(usize::from(conn.0))?;
        let Slot::Awaited(done) = *slot else { return None };
        *slot = Slot::Closing;
        self.completed += 1;
        self.received += done.bytes;
        Some(done)
    }

    /// A connection has closed; if its download was incomplete, it has failed.
    pub(crate) fn on_close(&mut self, conn: Conn) -> Option<Download<T>> {
        let slot = self.slots.get_mut(usize::from(conn.0))?;
        let was = std::mem::replace(slot, Slot::Free);
        if !matches!(was, Slot::Free) {
            self.free.push(conn.0);
        }
        let Slot::Awaited(lost) = was else { return None };
        self.failures += 1;
        Some(lost)
    }

    /// The value of the counter at `index` of [`Downloads::COUNTERS`].
    pub(crate) fn counter(&self, index: usize) -> f64 {
        let values = [self.requested, self.completed, self.received, self.failures];
        values.get(index).map_or(0.0, |&n| n as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_base::Rng;

    #[test]
    fn numbers_come_back_and_run_out() {
        let (mut rng, mut actions) = (Rng::stream(1, "x"), Vec::new());
        let mut cx = Cx { now: Instant::ZERO, servers: 1, rng: &mut rng, actions: &mut actions };
        let mut downloads = Downloads::new();
        assert!((0..MAX_CONNS).all(|i| downloads.begin(0, 1, 1, i, &mut cx)));
        assert!(!downloads.begin(0, 1, 1, 0, &mut cx), "all numbers are taken");
        assert_eq!(downloads.on_response(Conn(7)).map(|d| d.of), Some(7));
        assert_eq!(downloads.on_response(Conn(7)), None, "it came already");
        assert_eq!(downloads.on_close(Conn(7)), None, "nothing was lost");
        assert_eq!(downloads.on_close(Conn(8)).map(|d| d.of), Some(8));
        assert_eq!(downloads.on_close(Conn(8)), None, "it is gone already");
        assert!((0..2).all(|i| downloads.begin(0, 1, 1, i, &mut cx)));
        assert!(!downloads.begin(0, 1, 1, 0, &mut cx));
        assert_eq!([0, 1, 2, 3, 4].map(|i| downloads.counter(i)), [65_540.0, 1.0, 1.0, 3.0, 0.0]);
    }
}
