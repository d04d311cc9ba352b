//! A web user: pages, the files of a page, stays at a server, and think times between pages. The models of web users
//! differ in their distributions and protocols.

use std::sync::Arc;

use aqmkit_base::{Duration, Instant, Rng};

use super::empirical::Empirical;
use super::mah_tables::MahTables;
use super::{Action, Application, Conn, Cx, Event, Exchange};

/// Kinds of [`Exchange`].
const KINDS: &[&str] = &["request", "page"];
const REQUEST: u8 = 0;
const PAGE: u8 = 1;

/// The largest number of connections, including closing ones; above it, a user waits until one has closed.
const MAX_CONNS: usize = 256;

/// The sizes of one kind of object in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Object {
    pub(crate) request: Empirical,
    pub(crate) reply: Empirical,
}

/// The distributions that users draw from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distributions {
    /// The first object of a page.
    pub(crate) top: Object,
    /// The other objects of a page.
    pub(crate) embedded: Object,
    /// Objects of a page, the top-level one among them.
    pub(crate) files: Empirical,
    /// Pages in a row from one server.
    pub(crate) stay: Empirical,
    /// Seconds from the end of a page to the next request.
    pub(crate) think: Empirical,
}

impl From<MahTables> for Distributions {
    /// The same sizes for both kinds of objects, which mah97 does not separate.
    fn from(mah: MahTables) -> Self {
        let object = Object { request: mah.request, reply: mah.reply };
        Distributions { top: object.clone(), embedded: object, files: mah.files, stay: mah.stay, think: mah.think }
    }
}

/// The parameters that all users of a population share.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    /// The distributions.
    pub(crate) tables: Distributions,
    /// The number of parallel connections, with one file each.
    pub(crate) parallel: usize,
    /// The probability that a stay at a server uses persistent connections.
    pub(crate) persistent: f64,
    /// The number of parallel connections on such a stay.
    pub(crate) persistent_parallel: usize,
}

/// The state of a connection number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    /// Unused.
    Free,
    /// A connection that waits for a reply.
    Asked { at: Instant, reply: u64 },
    /// A persistent connection that is idle.
    Idle,
    /// A connection that is being closed.
    Closing,
}

/// A page that is being loaded.
#[derive(Clone, Copy, Debug)]
struct Page {
    started: Instant,
    /// Files that are not yet requested.
    left: u64,
    /// Requested files that have not arrived.
    awaited: usize,
    /// Whether the main document has arrived, so that the other files are known.
    main: bool,
    failed: bool,
    bytes: u64,
}

/// One user.
pub(crate) struct User {
    habits: Arc<Habits>,
    /// Whether the connections of this stay are persistent.
    persistent: bool,
    /// The server, from the first page on.
    server: Option<u32>,
    /// Documents that are still to be requested from it.
    stay: u64,
    page: Option<Page>,
    conns: Vec<Slot>,
    /// Pages, files, bytes received, failures.
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

    /// The residual think time of a user who is observed at a random time: a think time drawn in proportion to its
    /// length, and a uniform part of it.
    fn residual_think(&self, rng: &mut Rng) -> f64 {
        let (think, max) = (&self.habits.tables.think, self.habits.tables.think.max());
        let mut time = think.draw(rng);
        // The probability to continue is below 1 - mean / max, so a thousand iterations are never needed.
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

    /// Starts a page, at another server if the stay is over.
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

    /// Closes the connections to the server.
    fn leave(&mut self, cx: &mut Cx<'_>) {
        for (i, slot) in self.conns.iter_mut().enumerate().filter(|(_, s)| **s == Slot::Idle) {
            *slot = Slot::Closing;
            cx.want(Action::Close { conn: number(i) });
        }
    }

    /// Whether a file of the page may be requested now.
    fn may_ask(&self) -> bool {
        let parallel = if self.persistent { self.habits.persistent_parallel } else { self.habits.parallel };
        self.page.is_some_and(|p| p.left > 0 && p.awaited < if p.main { parallel } else { 1 })
    }

    /// Requests as many files as possible.
    fn fetch(&mut self, cx: &mut Cx<'_>) {
        while self.may_ask() {
            let Some(conn) = self.connection(cx) else { return };
            let tables = &self.habits.tables;
            let object = if self.page.is_some_and(|p| p.main) { &tables.embedded } else { &tables.top };
            let request = whole(object.request.draw(cx.rng));
            let reply = whole(object.reply.draw(cx.rng));
            self.conns[usize::from(conn.0)] = Slot::Asked { at: cx.now, reply };
            let close = !self.persistent;
            cx.want(Action::Request { conn, request, response: reply, think: Duration::ZERO, close });
            if let Some(page) = self.page.as_mut() {
                page.left -= 1;
                page.awaited += 1;
            }
        }
    }

    /// An idle connection, or a new one.
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
    fn came(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let Some(slot) = self.conns.get_mut(usize::from(conn.0)) else { return };
        let Slot::Asked { at, reply } = *slot else { return };
        *slot = if self.persistent { Slot::Idle } else { Slot::Closing };
        cx.want(Action::Done(Exchange { kind: REQUEST, started: at, bytes: reply }));
        self.counted[1] += 1;
        self.counted[2] += reply;
        if let Some(page) = self.page.as_mut() {
            page.main = true;
            page.awaited -= 1;
            page.bytes += reply;
        }
        self.go_on(cx);
    }

    /// A connection has closed; a file awaited on it has failed.
    fn gone(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let Some(slot) = self.conns.get_mut(usize::from(conn.0)) else { return };
        let awaited = matches!(*slot, Slot::Asked { .. });
        *slot = Slot::Free;
        if let Some(page) = self.page.as_mut().filter(|_| awaited) {
            self.counted[3] += 1;
            page.awaited -= 1;
            page.failed = true;
            if !page.main {
                page.left = 0;
            }
        }
        self.go_on(cx);
    }

    /// Requests the next files, or ends the page.
    fn go_on(&mut self, cx: &mut Cx<'_>) {
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
            Event::Response(conn) => self.came(conn, cx),
            Event::Closed(conn) | Event::Failed(conn) => self.gone(conn, cx),
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

/// A drawn length or number as a whole number of at least 1.
fn whole(drawn: f64) -> u64 {
    ((drawn + 0.5) as u64).max(1)
}

fn number(slot: usize) -> Conn {
    Conn(slot as u16)
}

#[cfg(test)]
mod tests;
