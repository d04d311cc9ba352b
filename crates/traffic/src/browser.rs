//! A web user: requests pages and their files, stays at a server for several pages, and thinks between pages. The
//! models of web users differ in their distributions and protocols.

use std::sync::Arc;

use aqmkit_base::{Duration, Instant, Rng};

use super::empirical::Empirical;
use super::mah_tables::MahTables;
use super::{Action, Application, Conn, Cx, Event, Exchange};

/// Kinds of [`Exchange`].
const KINDS: &[&str] = &["request", "page"];
const REQUEST: u8 = 0;
const PAGE: u8 = 1;

/// Upper limit of a user's connections, closing ones included; at the limit a request waits until one has closed.
const MAX_CONNS: usize = 256;

/// The sizes of one kind of object in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Object {
    pub(crate) request: Empirical,
    pub(crate) reply: Empirical,
}

/// Distributions of a user's behaviour.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distributions {
    /// The first object of a page.
    pub(crate) top: Object,
    /// The other objects of a page.
    pub(crate) embedded: Object,
    /// Objects of a page, including the top-level one.
    pub(crate) files: Empirical,
    /// Number of consecutive pages from one server.
    pub(crate) stay: Empirical,
    /// Seconds from the end of a page to the next request.
    pub(crate) think: Empirical,
}

impl From<MahTables> for Distributions {
    /// Uses the same sizes for both kinds of objects, which mah97 does not separate.
    fn from(mah: MahTables) -> Self {
        let object = Object { request: mah.request, reply: mah.reply };
        Distributions { top: object.clone(), embedded: object, files: mah.files, stay: mah.stay, think: mah.think }
    }
}

/// The parameters that all users of a population share.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    pub(crate) tables: Distributions,
    /// Number of parallel connections, each with one file at a time.
    pub(crate) parallel: usize,
    /// Probability that a stay at a server uses persistent connections.
    pub(crate) persistent: f64,
    /// The number of parallel connections on such a stay.
    pub(crate) persistent_parallel: usize,
}

/// State of a connection, by its number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    /// Unused.
    Free,
    /// Waits for a response.
    Waiting { at: Instant, reply: u64 },
    /// Persistent, without an outstanding request.
    Idle,
    /// Being closed.
    Closing,
}

/// A page that is being loaded.
#[derive(Clone, Copy, Debug)]
struct Page {
    started: Instant,
    /// Files that have not been requested.
    left: u64,
    /// Files requested but not yet received.
    awaited: usize,
    /// Whether the main document has arrived; only then are the other files known.
    main: bool,
    failed: bool,
    bytes: u64,
}
pub(crate) struct User {
    habits: Arc<Habits>,
    /// Whether the connections of this stay are persistent.
    persistent: bool,
    /// The current server; `None` before the first page.
    server: Option<u32>,
    /// Pages still to request from this server.
    stay: u64,
    page: Option<Page>,
    conns: Vec<Slot>,
    /// Pages, files, bytes received, failures: in the order of the counters.
    counted: [u64; 4],
    over: bool,
}

impl User {
    pub(crate) fn new(habits: Arc<Habits>) -> Self {
        User {
            habits,
            persistent: false,
            server: None,
            stay: 0,
            page: None,
            conns: Vec::new(),
            counted: [0; 4],
            over: false,
        }
    }

    /// Residual think time of a user observed at a random moment: a uniform part of a think time that is drawn with a
    /// probability proportional to its length.
    fn residual_think(&self, rng: &mut Rng) -> f64 {
        let (think, max) = (&self.habits.tables.think, self.habits.tables.think.max());
        let mut time = think.draw(rng);
        // Each draw is rejected with a probability of less than 1 - mean / max, so that 1000 draws practically never
        // fail.
        for _ in 0..1000 {
            if rng.uniform() * max < time {
                break;
            }
            time = think.draw(rng);
        }
        time * rng.uniform()
    }

    fn think(&self, secs: f64, cx: &mut Cx<'_>) {
        cx.want(Action::WakeAt(cx.now + Duration::from_secs_f64(secs)));
    }

    /// Starts a page; moves to another server if the stay is over.
    fn begin(&mut self, cx: &mut Cx<'_>) {
        if self.stay == 0 {
            self.leave(cx);
            self.server = Some(another(self.server, cx.servers, cx.rng));
            self.stay = whole(self.habits.tables.stay.draw(cx.rng));
            self.persistent = cx.rng.chance(self.habits.persistent);
        }
        self.stay -= 1;
        let left = whole(self.habits.tables.files.draw(cx.rng));
        self.page = Some(Page { started: cx.now, left, awaited: 0, main: false, failed: false, bytes: 0 });
        self.fetch(cx);
    }

    /// Closes the idle connections to the server.
    fn leave(&mut self, cx: &mut Cx<'_>) {
        for (i, slot) in self.conns.iter_mut().enumerate().filter(|(_, s)| **s == Slot::Idle) {
            *slot = Slot::Closing;
            cx.want(Action::Close { conn: number(i) });
        }
    }

    /// Whether another file of the page may be requested now.
    fn may_request(&self) -> bool {
        let parallel = if self.persistent { self.habits.persistent_parallel } else { self.habits.parallel };
        self.page.is_some_and(|p| p.left > 0 && p.awaited < if p.main { parallel } else { 1 })
    }

    /// Requests as many files as the limits allow.
    fn fetch(&mut self, cx: &mut Cx<'_>) {
        while self.may_request() {
            let Some(conn) = self.connection(cx) else { return };
            let tables = &self.habits.tables;
            let object = if self.page.is_some_and(|p| p.main) { &tables.embedded } else { &tables.top };
            let request = whole(object.request.draw(cx.rng));
            let reply = whole(object.reply.draw(cx.rng));
            self.conns[usize::from(conn.0)] = Slot::Waiting { at: cx.now, reply };
            let close = !self.persistent;
            cx.want(Action::Request { conn, request, response: reply, think: Duration::ZERO, close });
            if let Some(page) = self.page.as_mut() {
                page.left -= 1;
                page.awaited += 1;
            }
        }
    }

    /// Returns an idle connection, or opens a new one.
    fn connection(&mut self, cx: &mut Cx<'_>) -> Option<Conn> {
        if let Some(i) = self.conns.iter().position(|s| *s == Slot::Idle) {
            return Some(number(i));
        }
        let free = self.conns.iter().position(|s| *s == Slot::Free);
        let i = free.or_else(|| (self.conns.len() < MAX_CONNS).then_some(self.conns.len()))?;
        if i == self.conns.len() {
            self.conns.push(Slot::Free);
        }
        cx.want(Action::Open { conn: number(i), server: self.server.unwrap_or(0) });
        Some(number(i))
    }

    /// A file has arrived.
    fn on_response(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let Some(slot) = self.conns.get_mut(usize::from(conn.0)) else { return };
        let Slot::Waiting { at, reply } = *slot else { return };
        *slot = if self.persistent { Slot::Idle } else { Slot::Closing };
        cx.want(Action::Done(Exchange { kind: REQUEST, started: at, bytes: reply }));
        self.counted[1] += 1;
        self.counted[2] += reply;
        if let Some(page) = self.page.as_mut() {
            page.main = true;
            page.awaited -= 1;
            page.bytes += reply;
        }
        self.continue_page(cx);
    }

    /// A connection has closed; a file awaited on it has failed.
    fn on_close(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let Some(slot) = self.conns.get_mut(usize::from(conn.0)) else { return };
        let awaited = matches!(*slot, Slot::Waiting { .. });
        *slot = Slot::Free;
        if let Some(page) = self.page.as_mut().filter(|_| awaited) {
            self.counted[3] += 1;
            page.awaited -= 1;
            page.failed = true;
            if !page.main {
                page.left = 0;
            }
        }
        self.continue_page(cx);
    }

    /// Requests the next files, or ends the page.
    fn continue_page(&mut self, cx: &mut Cx<'_>) {
        let Some(page) = self.page else { return };
        if page.left > 0 || page.awaited > 0 {
            return self.fetch(cx);
        }
        self.page = None;
        if !page.failed {
            self.counted[0] += 1;
            cx.want(Action::Done(Exchange { kind: PAGE, started: page.started, bytes: page.bytes }));
        }
        let secs = self.habits.tables.think.draw(cx.rng);
        self.think(secs, cx);
    }
}

impl Application for User {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            Event::Start => {
                let secs = self.residual_think(cx.rng);
                self.think(secs, cx);
            }
            Event::Wake if self.page.is_none() => self.begin(cx),
            Event::Wake | Event::Opened(_) => {}
            Event::Response(conn) => self.on_response(conn, cx),
            Event::Closed(conn) | Event::Failed(conn) => self.on_close(conn, cx),
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn counters(&self) -> &'static [&'static str] {
        &["pages", "files", "bytes_received", "failures"]
    }

    fn counter(&self, index: usize) -> f64 {
        self.counted.get(index).map_or(0.0, |&n| n as f64)
    }
}

/// A server other than `now`, if there is one.
fn another(now: Option<u32>, servers: u32, rng: &mut Rng) -> u32 {
    match now {
        None => rng.below(u64::from(servers)) as u32,
        Some(now) => {
            let step = 1 + rng.below(u64::from(servers.saturating_sub(1))) as u32;
            (now + step) % servers.max(1)
        }
    }
}

/// Rounds a drawn length or number to an integer of at least 1.
fn whole(drawn: f64) -> u64 {
    ((drawn + 0.5) as u64).max(1)
}

fn number(slot: usize) -> Conn {
    Conn(slot as u16)
}

#[cfg(test)]
mod tests;
