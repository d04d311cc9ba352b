//! One viewer: download, buffer and playback.

use std::sync::Arc;

use aqmkit_base::{Bytes, Duration, Instant};

use super::Params;
use super::player::{Rule, Throughputs, by_buffer};
use crate::{Action, Application, Conn, Cx, Event, Exchange};

/// Bytes of a request.
const REQUEST: u64 = 400;
/// The largest interval between updates of the counters.
const BEAT: Duration = Duration::from_secs(1);

/// Kinds of [`Exchange`].
const KINDS: &[&str] = &["startup", "segment"];
const STARTUP: u8 = 0;
const SEGMENT: u8 = 1;

const COUNTERS: &[&str] =
    &["segments", "switches", "stalls", "played_s", "stalled_s", "video_s", "video_bits", "bytes_received", "failures"];

/// State of the playback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Screen {
    /// Not started.
    Waiting,
    Playing,
    /// Stopped at the last picture because the buffer is empty.
    Stalled,
}

/// The segment that is being downloaded.
#[derive(Clone, Copy, Debug)]
struct Segment {
    requested: Instant,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    segments: u64,
    switches: u64,
    stalls: u64,
    played: Duration,
    stalled: Duration,
    video: Duration,
    bits: u64,
    bytes: u64,
    failures: u64,
}
pub(super) struct Viewer {
    params: Arc<Params>,
    server: u32,
    /// When the viewer started to watch.
    started_at: Instant,
    segment: Option<Segment>,
    /// Index of the current bit rate in the ladder.
    rate_index: usize,
    seen: Throughputs,
    screen: Screen,
    buffered: Duration,
    /// Time to which `buffered` refers.
    at: Instant,
    /// The next segment is requested once the buffer level is at most this.
    ask_below: Duration,
    counted: Counted,
    over: bool,
}

impl Viewer {
    pub(super) fn new(params: Arc<Params>) -> Self {
        Viewer {
            params,
            server: 0,
            started_at: Instant::ZERO,
            segment: None,
            rate_index: 0,
            seen: Throughputs::default(),
            screen: Screen::Waiting,
            buffered: Duration::ZERO,
            at: Instant::ZERO,
            ask_below: Duration::ZERO,
            counted: Counted::default(),
            over: false,
        }
    }

    /// Advances playback to `now`.
    fn play(&mut self, now: Instant) {
        let passed = now.since(self.at);
        self.at = now;
        match self.screen {
            Screen::Waiting => {}
            Screen::Stalled => self.counted.stalled += passed,
            Screen::Playing if passed < self.buffered => {
                self.counted.played += passed;
                self.buffered -= passed;
            }
            Screen::Playing => {
                self.counted.played += self.buffered;
                self.counted.stalled += passed - self.buffered;
                self.counted.stalls += 1;
                self.buffered = Duration::ZERO;
                self.screen = Screen::Stalled;
            }
        }
    }

    /// Requests a wake-up for the next segment, or for the next update of the counters.
    fn wait(&self, cx: &mut Cx<'_>) {
        let full = self.buffered.saturating_sub(self.ask_below);
        let next = if self.segment.is_none() && full < BEAT { full } else { BEAT };
        cx.want(Action::WakeAt(cx.now + next));
    }

    fn open(&self, cx: &mut Cx<'_>) {
        cx.want(Action::Open { conn: Conn(0), server: self.server });
    }

    fn request(&mut self, cx: &mut Cx<'_>) {
        let Bytes(bytes) = self.params.ladder[self.rate_index].bytes_in(self.params.segment);
        // A repeated request counts from the first one.
        let requested = self.segment.map_or(cx.now, |segment| segment.requested);
        self.segment = Some(Segment { requested, bytes });
        let (conn, think) = (Conn(0), Duration::ZERO);
        cx.want(Action::Request { conn, request: REQUEST, response: bytes, think, close: false });
    }

    /// Requests the next segment if there is room for it.
    fn request_if_room(&mut self, cx: &mut Cx<'_>) {
        if self.segment.is_none() && self.buffered <= self.ask_below {
            self.request(cx);
        }
        self.wait(cx);
    }

    fn on_segment(&mut self, cx: &mut Cx<'_>) {
        let Some(done) = self.segment.take() else { return };
        cx.want(Action::Done(Exchange { kind: SEGMENT, started: done.requested, bytes: done.bytes }));
        let length = self.params.segment;
        self.counted.segments += 1;
        self.counted.bytes += done.bytes;
        self.counted.bits += 8 * done.bytes;
        self.counted.video += length;
        self.buffered += length;
        self.seen.add(8.0 * done.bytes as f64, cx.now.since(done.requested));
        if self.screen != Screen::Playing && self.buffered >= self.params.startup {
            if self.screen == Screen::Waiting {
                cx.want(Action::Done(Exchange { kind: STARTUP, started: self.started_at, bytes: self.counted.bytes }));
            }
            self.screen = Screen::Playing;
        }
        self.choose(cx);
    }

    /// Chooses the bit rate and the time of the next request.
    fn choose(&mut self, cx: &mut Cx<'_>) {
        let p = &self.params;
        let room = p.most_buffered() - p.segment;
        let (next, below) = match p.player {
            Rule::Buffer => (by_buffer(&p.ladder, self.rate_index, self.buffered, p.reservoir, p.cushion), room),
            Rule::Rate => {
                (self.seen.next(&p.ladder, self.rate_index), room.saturating_sub(p.segment.mul_f64(cx.rng.uniform())))
            }
        };
        self.counted.switches += u64::from(next != self.rate_index);
        self.rate_index = next;
        // Before playback starts, segments are requested without pauses.
        self.ask_below = if self.screen == Screen::Playing { below } else { p.startup };
    }

    /// The connection has closed: opens another one, on which the segment is requested again.
    fn on_close(&mut self, cx: &mut Cx<'_>) {
        self.counted.failures += 1;
        self.open(cx);
        if self.segment.is_some() {
            self.request(cx);
        }
    }
}

impl Application for Viewer {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if self.over {
            return;
        }
        if event != Event::Start {
            self.play(cx.now);
        }
        match event {
            Event::Stop => self.over = true,
            Event::Start => {
                self.server = cx.rng.below(u64::from(cx.servers)) as u32;
                (self.at, self.started_at) = (cx.now, cx.now);
                // The first wait is a random part of a segment, so that viewers are not synchronised.
                let phase = self.params.segment.mul_f64(cx.rng.uniform());
                cx.want(Action::WakeAt(cx.now + phase));
            }
            Event::Wake if self.counted.segments == 0 && self.segment.is_none() => {
                self.started_at = cx.now;
                self.open(cx);
                self.request_if_room(cx);
            }
            Event::Wake => self.request_if_room(cx),
            Event::Response(_) => {
                self.on_segment(cx);
                self.request_if_room(cx);
            }
            Event::Closed(_) | Event::Failed(_) => self.on_close(cx),
            Event::Opened(_) => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn counters(&self) -> &'static [&'static str] {
        COUNTERS
    }

    fn counter(&self, index: usize) -> f64 {
        let c = &self.counted;
        let values = [
            c.segments as f64,
            c.switches as f64,
            c.stalls as f64,
            c.played.as_secs_f64(),
            c.stalled.as_secs_f64(),
            c.video.as_secs_f64(),
            c.bits as f64,
            c.bytes as f64,
            c.failures as f64,
        ];
        values.get(index).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_base::Rng;

    /// A segment whose connection closes is requested again on a new connection, and its time counts from the first
    /// request; if no segment was outstanding, only the connection is opened.
    #[test]
    fn what_a_connection_did_not_bring_is_asked_for_again() {
        let mut viewer = Viewer::new(Arc::new(Params::default()));
        let mut rng = Rng::stream(1, "viewer");
        let mut tell = |secs: u64, event: Event| {
            let mut actions = Vec::new();
            let now = Instant::ZERO + Duration::from_secs(secs);
            viewer.on_event(event, &mut Cx { now, servers: 1, rng: &mut rng, actions: &mut actions });
            actions.retain(|action| !matches!(action, Action::WakeAt(_)));
            actions
        };
        let (open, bytes) = (Action::Open { conn: Conn(0), server: 0 }, 235_000 * 4 / 8);
        let (conn, think) = (Conn(0), Duration::ZERO);
        let request = Action::Request { conn, request: REQUEST, response: bytes, think, close: false };
        assert_eq!(tell(0, Event::Start), []);
        assert_eq!(tell(4, Event::Wake), [open, request]);
        assert_eq!(tell(6, Event::Failed(conn)), [open, request]);
        assert_eq!(tell(9, Event::Closed(conn)), [open, request]);
        let started = Instant::ZERO + Duration::from_secs(4);
        let done = |kind| Action::Done(Exchange { kind, started, bytes });
        assert_eq!(tell(12, Event::Response(conn)), [done(SEGMENT), done(STARTUP), request]);
        assert_eq!(tell(13, Event::Stop), []);
        assert_eq!((viewer.counter(8), viewer.counter(7)), (2.0, bytes as f64));
    }
}
