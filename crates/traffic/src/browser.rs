//! One user of the web: pages, the files of a page, stays at a server, and time to read between pages. The models of web
//! users differ in what they draw from and in the protocol they speak.

use std::sync::Arc;

use aqmkit_base::{Duration, Instant, Rng};

use super::mah_tables::MahTables;
use super::{Action, Application, Conn, Cx, Event, Exchange};

/// Kinds of [`Exchange`].
const KINDS: &[&str] = &["request", "page"];
const REQUEST: u8 = 0;
const PAGE: u8 = 1;

/// Connections, closing ones among them, above which a user waits for one to be gone.
const MAX_CONNS: usize = 256;

/// What all users of a population have in common.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    /// What they draw from.
    pub(crate) tables: MahTables,
    /// Connections at a time, where each file has one of its own.
    pub(crate) parallel: usize,
    /// The chance that a stay at a server is with connections that serve file after file.
    pub(crate) persistent: f64,
    /// Connections at a time on such a stay.
    pub(crate) persistent_parallel: usize,
}

/// What a connection number stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    /// Nothing.
    Free,
    /// A connection on which a reply is awaited.
    Asked { at: Instant, reply: u64 },
    /// A persistent connection on which nothing is awaited.
    Idle,
    /// A connection that is being closed.
    Closing,
}

/// The page on its way.
#[derive(Clone, Copy, Debug)]
struct Page {
    started: Instant,
    /// Files not yet asked for.
    left: u64,
    /// Files asked for that have not come.
    awaited: usize,
    /// Whether the main document has come, so that the others are known.
    main: bool,
    failed: bool,
    bytes: u64,
}

/// One user.
pub(crate) struct User {
    habits: Arc<Habits>,
    /// Whether connections of this stay serve file after file.
    persistent: bool,
    /// The server, from the first page on.
    server: Option<u32>,
    /// Documents still to be asked of it.
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

    /// What is left of a think time that one finds a user in: the time in proportion to its length, and a
    /// uniform part of that.
    fn residual_think(&self, rng: &mut Rng) -> f64 {
        let (think, max) = (&self.habits.tables.think, self.habits.tables.think.max());
        let mut time = think.draw(rng);
        // The chance to go on is below 1 - mean / max: a thousand times are never needed.
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

    /// Begins a page, at another server if the stay is over.
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

    /// Closes what is open to the server.
    fn leave(&mut self, cx: &mut Cx<'_>) {
        for (i, slot) in self.conns.iter_mut().enumerate().filter(|(_, s)| **s == Slot::Idle) {
            *slot = Slot::Closing;
            cx.want(Action::Close { conn: number(i) });
        }
    }

    /// Whether a file of the page may be asked for now.
    fn may_ask(&self) -> bool {
        let parallel = if self.persistent { self.habits.persistent_parallel } else { self.habits.parallel };
        self.page.is_some_and(|p| p.left > 0 && p.awaited < if p.main { parallel } else { 1 })
    }

    /// Asks for as many files as may be asked for now.
    fn fetch(&mut self, cx: &mut Cx<'_>) {
        while self.may_ask() {
            let Some(conn) = self.connection(cx) else { return };
            let request = whole(self.habits.tables.request.draw(cx.rng));
            let reply = whole(self.habits.tables.reply.draw(cx.rng));
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

    /// A file has come.
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

    /// A connection is gone, and with it the file that was awaited on it.
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

    /// Asks for the next files, or ends the page.
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

/// A server other than `now`, where there is one.
fn another(now: Option<u32>, servers: u32, rng: &mut Rng) -> u32 {
    match now {
        None => rng.below(u64::from(servers)) as u32,
        Some(now) => {
            let step = 1 + rng.below(u64::from(servers.saturating_sub(1))) as u32;
            (now + step) % servers.max(1)
        }
    }
}

/// A drawn length or number as a whole number from 1 on.
fn whole(drawn: f64) -> u64 {
    ((drawn + 0.5) as u64).max(1)
}

fn number(slot: usize) -> Conn {
    Conn(slot as u16)
}
