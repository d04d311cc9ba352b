//! A browser: connections to domains, waves of requests, and reading times.

use std::collections::VecDeque;
use std::sync::Arc;

use aqmkit_base::{Duration, Instant, dist};

use super::Version;
use super::site::{Kind, Object, Tables};
use crate::{Action, Application, Conn, Cx, Event, Exchange};

/// Bytes of a request.
const REQUEST: u64 = 300;
/// Bytes of the client's first flight of TLS, over TCP and padded as QUIC asks (rfc9000 14.1), and of the server's.
const HELLO: u64 = 517;
const PADDED_HELLO: u64 = 1200;
const CERTIFICATES: u64 = 4000;
/// Mean time between the arrival of a document and the requests for the objects it refers to, in seconds (r1-070674).
const PARSING: f64 = 0.13;
/// The largest number of connections, including closing ones.
const MAX_CONNS: usize = 1024;

/// Kinds of [`Exchange`].
const KINDS: &[&str] = &["object", "render", "page"];
const OBJECT: u8 = 0;
const RENDER: u8 = 1;
const PAGE: u8 = 2;

/// The parameters that all browsers of a population share.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    pub(super) tables: Tables,
    pub(super) version: Version,
    /// Factor of the sizes.
    pub(super) weight: f64,
    /// Mean time to read a page, in seconds.
    pub(super) think: f64,
}

/// The awaited response on a connection, in the order of requests.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// The end of the handshake.
    Handshake,
    Object {
        object: Object,
        known: Instant,
    },
}

/// The state of a connection number.
#[derive(Clone, Debug)]
enum Slot {
    Free,
    /// A connection to a domain of the page.
    Open {
        domain: usize,
        awaited: VecDeque<Awaited>,
        /// Objects to request after the handshake, with the times of their discovery.
        later: Vec<(Object, Instant)>,
    },
    Closing,
}

/// The page that is being loaded.
#[derive(Clone, Debug)]
struct Loading {
    started: Instant,
    /// The first domain's server.
    server: u32,
    /// Objects that are not yet requested.
    unknown: Vec<Object>,
    /// Requested objects that have not arrived, and those among them that block drawing.
    awaited: usize,
    blocking: usize,
    rendered: bool,
    /// Whether the next wave waits for the end of parsing.
    parsing: bool,
    failed: bool,
    bytes: u64,
}

/// A browser and its user.
pub(super) struct Browser {
    habits: Arc<Habits>,
    page: Option<Loading>,
    conns: Vec<Slot>,
    /// Pages, objects, bytes received, failures.
    counted: [u64; 4],
    over: bool,
}

impl Browser {
    pub(super) fn new(habits: Arc<Habits>) -> Self {
        Browser { habits, page: None, conns: Vec::new(), counted: [0; 4], over: false }
    }

    fn wait(mean: f64, cx: &mut Cx<'_>) {
        let secs = dist::exponential(cx.rng, mean);
        cx.want(Action::WakeAt(cx.now + Duration::from_secs_f64(secs)));
    }

    /// Starts a page: closes the connections of the previous page, and requests the document.
    fn begin(&mut self, cx: &mut Cx<'_>) {
        for (i, slot) in self.conns.iter_mut().enumerate() {
            if matches!(slot, Slot::Open { .. }) {
                *slot = Slot::Closing;
                cx.want(Action::Close { conn: number(i) });
            }
        }
        let habits = Arc::clone(&self.habits);
        let rank = cx.rng.uniform();
        let mut unknown = habits.tables.page(rank, habits.weight, cx.rng).objects;
        let document = unknown.remove(0);
        self.page = Some(Loading {
            started: cx.now,
            server: cx.rng.below(u64::from(cx.servers)) as u32,
            unknown,
            awaited: 0,
            blocking: 0,
            rendered: false,
            parsing: false,
            failed: false,
            bytes: 0,
        });
        self.ask(document, cx);
        // Without a connection for it, the other objects stay unknown.
        if let Some(page) = self.page.as_mut().filter(|page| page.awaited == 0) {
            page.unknown.clear();
            self.go_on(cx);
        }
    }

    /// Requests an object on the connection to its domain.
    fn ask(&mut self, object: Object, cx: &mut Cx<'_>) {
        let Some(first) = self.page.as_ref().map(|page| page.server) else { return };
        let server = (first + object.domain as u32) % cx.servers.max(1);
        let Some(i) = self.connection(object.domain, server, cx) else {
            self.lost(1);
            return;
        };
        if let Some(page) = self.page.as_mut() {
            page.awaited += 1;
            page.blocking += usize::from(object.kind.blocks());
        }
        if let Slot::Open { awaited, later, .. } = &mut self.conns[i] {
            if self.habits.version == Version::Http2 && matches!(awaited.front(), Some(Awaited::Handshake)) {
                later.push((object, cx.now));
            } else {
                request(number(i), object, cx.now, awaited, cx);
            }
        }
    }

    /// The connection to a domain, opened if necessary.
    fn connection(&mut self, domain: usize, server: u32, cx: &mut Cx<'_>) -> Option<usize> {
        let to = |slot: &Slot| matches!(slot, Slot::Open { domain: d, .. } if *d == domain);
        if let Some(i) = self.conns.iter().position(to) {
            return Some(i);
        }
        let free = self.conns.iter().position(|slot| matches!(slot, Slot::Free));
        let i = free.or_else(|| (self.conns.len() < MAX_CONNS).then_some(self.conns.len()))?;
        if i == self.conns.len() {
            self.conns.push(Slot::Free);
        }
        let conn = number(i);
        self.conns[i] = Slot::Open { domain, awaited: VecDeque::from([Awaited::Handshake]), later: Vec::new() };
        cx.want(Action::Open { conn, server });
        let request = if self.habits.version == Version::Http2 { HELLO } else { PADDED_HELLO };
        cx.want(Action::Request { conn, request, response: CERTIFICATES, think: Duration::ZERO, close: false });
        Some(i)
    }

    /// A response has arrived.
    fn came(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let Some(Slot::Open { awaited, later, .. }) = self.conns.get_mut(usize::from(conn.0)) else { return };
        match awaited.pop_front() {
            None => {}
            Some(Awaited::Handshake) => {
                for (object, known) in std::mem::take(later) {
                    request(conn, object, known, awaited, cx);
                }
            }
            Some(Awaited::Object { object, known }) => {
                cx.want(Action::Done(Exchange { kind: OBJECT, started: known, bytes: object.bytes }));
                self.counted[1] += 1;
                self.counted[2] += object.bytes;
                if let Some(page) = self.page.as_mut() {
                    page.awaited -= 1;
                    page.blocking -= usize::from(object.kind.blocks());
                    page.bytes += object.bytes;
                }
                self.go_on(cx);
            }
        }
    }

    /// Records objects of the page that will not arrive.
    fn lost(&mut self, objects: u64) {
        self.counted[3] += objects;
        if let Some(page) = self.page.as_mut() {
            page.failed = true;
        }
    }

    /// A connection has closed; the responses awaited on it are lost.
    fn gone(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let Some(slot) = self.conns.get_mut(usize::from(conn.0)) else { return };
        let Slot::Open { awaited, later, .. } = std::mem::replace(slot, Slot::Free) else { return };
        let asked = awaited.iter().filter_map(|awaited| match awaited {
            Awaited::Handshake => None,
            Awaited::Object { object, .. } => Some(*object),
        });
        let objects: Vec<Object> = asked.chain(later.iter().map(|(object, _)| *object)).collect();
        if objects.is_empty() {
            return;
        }
        if let Some(page) = self.page.as_mut() {
            page.awaited -= objects.len();
            page.blocking -= objects.iter().filter(|object| object.kind.blocks()).count();
            if objects.iter().any(|object| object.kind == Kind::Document) {
                // The other objects of the page are unknown.
                page.unknown.clear();
            }
        }
        self.lost(objects.len() as u64);
        self.go_on(cx);
    }

    /// Continues with the next wave, or with reading.
    fn go_on(&mut self, cx: &mut Cx<'_>) {
        let Some(page) = self.page.as_mut().filter(|page| page.blocking == 0 && !page.parsing) else { return };
        if page.unknown.is_empty() {
            if page.awaited == 0 {
                self.end(cx);
            }
            return;
        }
        let last_wave = page.unknown.iter().all(|object| object.kind.comes_late());
        if last_wave && !page.rendered {
            page.rendered = true;
            if !page.failed {
                cx.want(Action::Done(Exchange { kind: RENDER, started: page.started, bytes: page.bytes }));
            }
        }
        page.parsing = true;
        Self::wait(PARSING, cx);
    }

    /// Requests the objects that the browser has discovered.
    fn wave(&mut self, cx: &mut Cx<'_>) {
        let Some(page) = self.page.as_mut() else { return };
        page.parsing = false;
        let all = std::mem::take(&mut page.unknown);
        let first = all.iter().any(|object| !object.kind.comes_late());
        let (now, then): (Vec<Object>, Vec<Object>) =
            all.into_iter().partition(|object| !first || !object.kind.comes_late());
        page.unknown = then;
        for object in now {
            self.ask(object, cx);
        }
        self.go_on(cx);
    }

    /// Ends the page: it is complete, or parts of it were lost.
    fn end(&mut self, cx: &mut Cx<'_>) {
        let Some(page) = self.page.take() else { return };
        if !page.failed {
            self.counted[0] += 1;
            cx.want(Action::Done(Exchange { kind: PAGE, started: page.started, bytes: page.bytes }));
        }
        Self::wait(self.habits.think, cx);
    }
}

/// Sends a request.
fn request(conn: Conn, object: Object, known: Instant, awaited: &mut VecDeque<Awaited>, cx: &mut Cx<'_>) {
    awaited.push_back(Awaited::Object { object, known });
    let (request, response) = (REQUEST, object.bytes);
    cx.want(Action::Request { conn, request, response, think: Duration::ZERO, close: false });
}

impl Application for Browser {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            // The remainder of an exponential time has the same distribution.
            Event::Start => Self::wait(self.habits.think, cx),
            Event::Wake if self.page.is_none() => self.begin(cx),
            Event::Wake => self.wave(cx),
            Event::Response(conn) => self.came(conn, cx),
            Event::Closed(conn) | Event::Failed(conn) => self.gone(conn, cx),
            Event::Opened(_) => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn counters(&self) -> &'static [&'static str] {
        &["pages", "objects", "bytes_received", "failures"]
    }

    fn counter(&self, index: usize) -> f64 {
        self.counted.get(index).map_or(0.0, |&n| n as f64)
    }
}

fn number(slot: usize) -> Conn {
    Conn(slot as u16)
}

#[cfg(test)]
mod tests;
