//! One session of web pages.

use std::sync::Arc;

use aqmkit_base::{Duration, Instant};

use super::super::downloads::{Download, Downloads};
use super::super::{Action, Application, Conn, Cx, Event, Exchange};
use super::{InterpageFrom, Params};

/// Kinds of [`Exchange`].
const KINDS: &[&str] = &["object", "page"];
const OBJECT: u8 = 0;
const PAGE: u8 = 1;

/// A page that is not complete.
#[derive(Clone, Copy, Debug)]
struct Page {
    number: u32,
    server: u32,
    started: Instant,
    /// Objects not yet requested, and the time of the next request.
    left: u32,
    next: Instant,
    /// Requested objects that have not arrived.
    awaited: u32,
    bytes: u64,
    failed: bool,
}

pub(super) struct Session {
    law: Arc<Params>,
    /// Time from the start of the traffic to the first page.
    delay: Duration,
    /// Number of pages started.
    begun: u32,
    /// Start of the next page, if it is known.
    next_page: Option<Instant>,
    /// Several pages can be in progress if they do not wait for each other.
    pages: Vec<Page>,
    downloads: Downloads<u32>,
    completed: u64,
    over: bool,
}

impl Session {
    pub(super) fn new(law: Arc<Params>, delay: Duration) -> Self {
        Session {
            law,
            delay,
            begun: 0,
            next_page: None,
            pages: Vec::new(),
            downloads: Downloads::new(),
            completed: 0,
            over: false,
        }
    }

    /// Executes everything that is due, and requests the next wake-up.
    fn run_due(&mut self, cx: &mut Cx<'_>) {
        if self.next_page.is_some_and(|at| at <= cx.now) {
            self.begin(cx);
        }
        for i in 0..self.pages.len() {
            self.request_due(i, cx);
        }
        self.end_pages(cx);
        let objects = self.pages.iter().filter(|p| p.left > 0).map(|p| p.next);
        if let Some(at) = objects.chain(self.next_page).min() {
            cx.want(Action::WakeAt(at));
        }
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        let server = cx.rng.below(u64::from(cx.servers)) as u32;
        let left = self.law.objects(cx.rng);
        self.pages.push(Page {
            number: self.begun,
            server,
            started: cx.now,
            left,
            next: cx.now,
            awaited: 0,
            bytes: 0,
            failed: false,
        });
        self.begun += 1;
        self.next_page = None;
        if self.law.interpage_from == InterpageFrom::Start {
            self.schedule_page(cx);
        }
    }

    /// Schedules the next page, if there is one.
    fn schedule_page(&mut self, cx: &mut Cx<'_>) {
        if self.begun < self.law.pages {
            self.next_page = Some(cx.now + self.law.interpage(cx.rng));
        }
    }

    /// Requests the objects of a page that are due.
    fn request_due(&mut self, page: usize, cx: &mut Cx<'_>) {
        let page = &mut self.pages[page];
        while page.left > 0 && page.next <= cx.now {
            page.left -= 1;
            page.next += self.law.interobject(cx.rng);
            let size = self.law.object(cx.rng);
            if self.downloads.begin(page.server, self.law.packet.0, size, page.number, cx) {
                page.awaited += 1;
            } else {
                page.failed = true;
            }
        }
    }

    fn end_pages(&mut self, cx: &mut Cx<'_>) {
        let mut ended = false;
        for page in self.pages.extract_if(.., |p| p.left == 0 && p.awaited == 0) {
            ended = true;
            if !page.failed {
                self.completed += 1;
                cx.want(Action::Done(Exchange { kind: PAGE, started: page.started, bytes: page.bytes }));
            }
        }
        if ended && self.law.interpage_from == InterpageFrom::End {
            self.schedule_page(cx);
        }
    }

    fn on_response(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let Some(done) = self.downloads.on_response(conn) else { return };
        cx.want(Action::Done(Exchange { kind: OBJECT, started: done.started, bytes: done.bytes }));
        self.account(done, false);
        self.run_due(cx);
    }

    fn on_close(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        if let Some(lost) = self.downloads.on_close(conn) {
            self.account(lost, true);
            self.run_due(cx);
        }
    }

    fn account(&mut self, of: Download<u32>, failed: bool) {
        if let Some(page) = self.pages.iter_mut().find(|p| p.number == of.of) {
            page.awaited -= 1;
            page.bytes += if failed { 0 } else { of.bytes };
            page.failed |= failed;
        }
    }
}

impl Application for Session {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            Event::Start => {
                self.next_page = Some(cx.now + self.delay);
                self.run_due(cx);
            }
            Event::Wake => self.run_due(cx),
            Event::Response(conn) => self.on_response(conn, cx),
            Event::Closed(conn) | Event::Failed(conn) => self.on_close(conn, cx),
            Event::Opened(_) => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn counters(&self) -> &'static [&'static str] {
        &["pages", "requests", "completed", "bytes_received", "failures"]
    }

    fn counter(&self, index: usize) -> f64 {
        match index {
            0 => self.completed as f64,
            i => self.downloads.counter(i - 1),
        }
    }
}
