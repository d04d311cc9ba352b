//! Tests the browser event by event, without a network.

use super::*;
use aqmkit_base::Rng;

/// A browser with five servers, and the responses that it awaits: a connection number per request, in order.
struct Desk {
    browser: Browser,
    rng: Rng,
    now: Instant,
    awaited: VecDeque<Conn>,
    wake: Option<Instant>,
    done: Vec<Exchange>,
    opened: Vec<(Conn, u32)>,
}

impl Desk {
    fn new(version: Version) -> Desk {
        let habits = Habits { tables: Tables::default(), version, weight: 1.0, think: 30.0 };
        Desk {
            browser: Browser::new(Arc::new(habits)),
            rng: Rng::stream(7, "desk"),
            now: Instant::ZERO,
            awaited: VecDeque::new(),
            wake: None,
            done: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// Passes an event to the browser; returns the requests that it makes: connection, request bytes, response bytes.
    fn handle(&mut self, event: Event) -> Vec<(u16, u64, u64)> {
        let mut actions = Vec::new();
        let mut cx = Cx { now: self.now, servers: 5, rng: &mut self.rng, actions: &mut actions };
        self.browser.on_event(event, &mut cx);
        let mut asked = Vec::new();
        for action in actions {
            match action {
                Action::Request { conn, request, response, think: Duration::ZERO, close: false } => {
                    self.awaited.push_back(conn);
                    asked.push((conn.0, request, response));
                }
                Action::WakeAt(at) => self.wake = Some(at),
                Action::Done(exchange) => self.done.push(exchange),
                Action::Open { conn, server } => self.opened.push((conn, server)),
                Action::Close { .. } => {}
                other => panic!("it wanted {other:?}"),
            }
        }
        asked
    }

    /// One millisecond later, delivers the next response, or the wake-up if no response is awaited.
    fn step(&mut self) -> Vec<(u16, u64, u64)> {
        self.now += Duration::from_millis(1);
        if let Some(conn) = self.awaited.pop_front() {
            return self.handle(Event::Response(conn));
        }
        self.now = self.wake.take().expect("it waits for something");
        self.handle(Event::Wake)
    }

    /// Runs until the page is complete.
    fn finish(&mut self) {
        while self.browser.page.is_some() {
            self.step();
        }
    }

    fn kinds(&self, kind: u8) -> Vec<Exchange> {
        self.done.iter().copied().filter(|exchange| exchange.kind == kind).collect()
    }

    fn counters(&self) -> [f64; 4] {
        [0, 1, 2, 3].map(|i| self.browser.counter(i))
    }
}

/// A page begins with its document: over TCP after the TLS handshake, over QUIC together with it.
#[test]
fn a_document_comes_after_its_handshake() {
    let mut tls = Desk::new(Version::Http2);
    assert_eq!(tls.handle(Event::Wake), [(0, 517, 4000)]);
    assert_eq!(tls.step(), [(0, 300, 18_300)]);
    let mut quic = Desk::new(Version::Http3);
    assert_eq!(quic.handle(Event::Wake), [(0, 1200, 4000), (0, 300, 18_300)]);
    for desk in [&mut tls, &mut quic] {
        assert!(desk.opened[0].0 == Conn(0) && desk.opened[0].1 < 5);
        desk.finish();
        // Each domain has a connection. Domain `n` is on the `n`-th server after that of the first domain.
        assert_eq!(desk.kinds(OBJECT)[0].started, Instant::ZERO, "the document is known when the page begins");
        let (objects, page) = (desk.kinds(OBJECT), desk.kinds(PAGE)[0]);
        assert_eq!(page.bytes, objects.iter().map(|e| e.bytes).sum::<u64>());
        assert_eq!(desk.kinds(RENDER).len(), 1);
        assert_eq!(desk.counters(), [1.0, objects.len() as f64, page.bytes as f64, 0.0]);
        let first = desk.opened.len();
        desk.finish();
        // The next page closes all connections and opens new ones.
        desk.step();
        assert!(desk.browser.conns.iter().filter(|slot| matches!(slot, Slot::Closing)).count() == first);
    }
}

/// Fonts and objects that scripts load come in a second wave, after style sheets and scripts; the page is rendered
/// between the waves.
#[test]
fn waves_wait_for_what_blocks() {
    let mut desk = Desk::new(Version::Http3);
    desk.handle(Event::Wake);
    desk.step();
    desk.step();
    let page = desk.browser.page.clone().unwrap();
    assert!(page.parsing && page.blocking == 0 && page.awaited == 0 && !page.rendered);
    let late = page.unknown.iter().filter(|object| object.kind.comes_late()).count();
    desk.step();
    let wave = desk.browser.page.clone().unwrap();
    let blocking = page.unknown.iter().filter(|object| object.kind.blocks()).count();
    assert_eq!((wave.unknown.len(), wave.blocking, wave.awaited), (late, blocking, page.unknown.len() - late));
    while desk.browser.page.as_ref().is_some_and(|loading| loading.blocking > 0) {
        assert!(desk.kinds(RENDER).is_empty());
        desk.step();
    }
    let drawn = desk.kinds(RENDER)[0];
    assert_eq!((drawn.started, drawn.bytes), (Instant::ZERO, desk.kinds(OBJECT).iter().map(|e| e.bytes).sum()));
    desk.finish();
    assert_eq!(desk.kinds(OBJECT).len(), 1 + page.unknown.len());
}

/// A connection without outstanding requests can close without losses.
#[test]
fn an_idle_connection_may_close() {
    let mut desk = Desk::new(Version::Http2);
    desk.handle(Event::Wake);
    desk.step();
    desk.step();
    desk.handle(Event::Closed(Conn(0)));
    desk.finish();
    assert!(desk.opened[1].0 == Conn(0) && desk.opened[1].1 == desk.opened[0].1, "the same number, the same server");
    assert_eq!((desk.counters()[0], desk.counters()[3], desk.kinds(PAGE).len()), (1.0, 0.0, 1));
}

/// Each object requested on a failed connection counts as a failure; the page continues without them and is not
/// reported.
#[test]
fn what_a_connection_loses_is_counted() {
    for version in [Version::Http2, Version::Http3] {
        let mut desk = Desk::new(version);
        desk.handle(Event::Wake);
        while desk.browser.page.as_ref().is_some_and(|page| page.awaited < 2) {
            desk.step();
        }
        // The first connection carries at least the style sheets.
        let Slot::Open { awaited, later, .. } = &desk.browser.conns[0] else { panic!("it is open") };
        let lost = later.len() + awaited.iter().filter(|a| matches!(a, Awaited::Object { .. })).count();
        desk.awaited.retain(|conn| *conn != Conn(0));
        desk.handle(Event::Failed(Conn(0)));
        assert_eq!(desk.counters()[3], lost as f64);
        desk.finish();
        assert_eq!((desk.counters()[0], desk.kinds(PAGE).len(), desk.kinds(RENDER).len()), (0.0, 0, 0));
        assert_eq!(desk.counters()[1], desk.kinds(OBJECT).len() as f64);
        assert!(desk.wake.is_some_and(|at| at > desk.now), "the user reads on");
    }
}

/// Before the handshake is complete, the objects that wait for it are lost with the connection; without the document no
/// others are discovered.
#[test]
fn a_page_ends_without_its_document() {
    for version in [Version::Http2, Version::Http3] {
        let mut desk = Desk::new(version);
        desk.handle(Event::Wake);
        desk.awaited.clear();
        desk.handle(Event::Failed(Conn(0)));
        assert!(desk.browser.page.is_none() && desk.wake.is_some());
        assert_eq!((desk.counters(), desk.done.len()), ([0.0, 0.0, 0.0, 1.0], 0));
    }
}

/// A browser has at most 1024 connections, closing ones included; objects that would need another one are lost.
#[test]
fn connections_run_out() {
    let mut desk = Desk::new(Version::Http3);
    desk.browser.conns = vec![Slot::Closing; MAX_CONNS - 1];
    desk.handle(Event::Wake);
    assert_eq!(desk.opened[0].0, Conn(1023));
    desk.finish();
    assert_eq!((desk.browser.conns.len(), desk.opened.len(), desk.kinds(PAGE).len()), (1024, 1, 0));
    // Objects on other domains are lost, those on the first domain arrive.
    let (came, lost) = (desk.counters()[1], desk.counters()[3]);
    assert!(came > 1.0 && lost > 1.0, "{came} {lost}");
    let mut none = Desk::new(Version::Http3);
    none.browser.conns = vec![Slot::Closing; MAX_CONNS];
    none.handle(Event::Wake);
    assert_eq!((none.opened.len(), none.counters()[3]), (0, 1.0));
    assert!(none.browser.page.is_none() && none.wake.is_some(), "the user reads on");
}
