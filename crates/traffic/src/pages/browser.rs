//! A browser: connections to domains, waves of requests, and reading times.

use std::collections::VecDeque;
use std::sync::Arc;

use aqmkit_base::{Duration, Instant, dist};

use super::Version;
use super::site::{Kind, Object, Tables};
use crate::{Action, Application, Conn, Cx, Event, Exchange};

/// Size of a request in bytes.
const REQUEST: u64 = 300;
/// Sizes in bytes of the client's first TLS flight, over TCP and padded for QUIC (rfc9000 14.1), and of the server's.
const HELLO: u64 = 517;
const PADDED_HELLO: u64 = 1200;
const CERTIFICATES: u64 = 4000;
/// Mean parsing time, from the arrival of a document to the requests for the objects that it refers to, in seconds
/// (r1-070674).
const PARSING: f64 = 0.13;
/// Maximum number of connections, closing ones included.
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
    /// Factor for the sizes of objects.
    pub(super) weight: f64,
    /// Mean reading time in seconds.
    pub(super) think: f64,
}

/// A response that is awaited on a connection.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    /// The server's part of the handshake.
    Handshake,
    Object {
        object: Object,
        known: Instant,
    },
}

/// State of a connection, by its number.
#[derive(Clone, Debug)]
enum Slot {
    Free,
    /// Open to a domain of the page.
    Open {
        domain: usize,
        awaited: VecDeque<Awaited>,
        /// Objects to request after the handshake, with the times at which they were discovered.
        later: Vec<(Object, Instant)>,
    },
    Closing,
}

/// A page that is being loaded.
#[derive(Clone, Debug)]
struct Loading {
    started: Instant,
    /// Server of the first domain.
    server: u32,
    /// Objects that are not yet discovered.
    unknown: Vec<Object>,
    /// Requested objects that have not arrived, and how many of them block rendering.
    awaited: usize,
    blocking: usize,
    rendered: bool,
    /// Whether the next wave waits for parsing to finish.
    parsing: bool,
    failed: bool,
    bytes: u64,
}

/// A browser and its user.
pub(super) struct Browser {
    habits: Arc<Habits>,
    page: Option<Loading>,
    conns: Vec<Slot>,
    /// Pages, objects, bytes received, failures: in the order of the counters.
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
        self.request_object(document, cx);
        // If there is no connection for the document, the other objects are never discovered.
        if let Some(page) = self.page.as_mut().filter(|page| page.awaited == 0) {
            page.unknown.clear();
            self.continue_page(cx);
        }
    }

    /// Requests an object on the connection to its domain.
    fn request_object(&mut self, object: Object, cx: &mut Cx<'_>) {
        let Some(first) = self.page.as_ref().map(|page| page.server) else { return };
        let server = (first + object.domain as u32) % cx.servers.max(1);
        let Some(i) = self.connection(object.domain, server, cx) else {
            self.count_lost(1);
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

    /// Returns the connection to a domain; opens it if necessary.
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
    fn on_response(&mut self, conn: Conn, cx: &mut Cx<'_>) {
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
                self.continue_page(cx);
            }
        }
    }

    /// Counts objects of the page that will not arrive.
    fn count_lost(&mut self, objects: u64) {
        self.counted[3] += objects;
        if let Some(page) = self.page.as_mut() {
            page.failed = true;
        }
    }

    /// A connection has closed; responses awaited on it are lost.
    fn on_close(&mut self, conn: Conn, cx: &mut Cx<'_>) {
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
                // The document is lost: the other objects are never discovered.
                page.unknown.clear();
            }
        }
        self.count_lost(objects.len() as u64);
        self.continue_page(cx);
    }

    /// Starts the next wave, or ends the page.
    fn continue_page(&mut self, cx: &mut Cx<'_>) {
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

    /// Requests the objects of the next wave.
    fn wave(&mut self, cx: &mut Cx<'_>) {
        let Some(page) = self.page.as_mut() else { return };
        page.parsing = false;
        let all = std::mem::take(&mut page.unknown);
        let first = all.iter().any(|object| !object.kind.comes_late());
        let (now, then): (Vec<Object>, Vec<Object>) =
            all.into_iter().partition(|object| !first || !object.kind.comes_late());
        page.unknown = then;
        for object in now {
            self.request_object(object, cx);
        }
        self.continue_page(cx);
    }

    /// Ends the page, complete or not.
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
            // The exponential distribution is memoryless: the residual reading time has the same distribution.
            Event::Start => Self::wait(self.habits.think, cx),
            Event::Wake if self.page.is_none() => self.begin(cx),
            Event::Wake => self.wave(cx),
            Event::Response(conn) => self.on_response(conn, cx),
            Event::Closed(conn) | Event::Failed(conn) => self.on_close(conn, cx),
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
