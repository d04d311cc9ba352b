//! A host that plays connection vectors. It decides for both ends of each connection.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmkit_base::{Duration, Instant, Rng};

use super::super::{Action, Application, Conn, Cx, Event, Exchange};
use super::vector::{After, Side, Step};

/// Kinds of [`Exchange`].
const KINDS: &[&str] = &["epoch", "connection"];
const EPOCH: u8 = 0;
const CONNECTION: u8 = 1;

/// A connection to be played.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Script {
    pub(super) concurrent: bool,
    pub(super) steps: Vec<Step>,
}

/// A sequence of connections.
pub(super) trait Source: Send {
    /// The next connection and its start, relative to the start of the traffic; `None` after the last.
    fn next(&mut self, rng: &mut Rng) -> Option<(Duration, Script)>;
}

/// A connection being played.
#[derive(Clone, Debug)]
struct Play {
    script: Script,
    started: Instant,
    /// Index of the next step; in a concurrent connection, one index per side.
    at: [usize; 2],
    /// Concurrent connections: sides that have finished.
    over: [bool; 2],
    /// Receipts to ignore: those of data units followed by another unit of the same side, for which no step waits. They
    /// arrive before the awaited one.
    ignored_receipts: u32,
    /// Earliest start of the awaited answer, and its size in bytes.
    epoch: Option<(Instant, u64)>,
    bytes: u64,
    closing: bool,
}

/// A scheduled action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The next connection begins.
    Begin,
    /// A side of a connection takes its next step. The serial number tells apart connections that reuse a connection
    /// number.
    Go { conn: u16, side: u8, serial: u64 },
}
pub(super) struct Host {
    source: Box<dyn Source>,
    started: Instant,
    upcoming: Option<Script>,
    due: BinaryHeap<Reverse<(Instant, Due)>>,
    plays: Vec<Option<(u64, Play)>>,
    free: Vec<u16>,
    serial: u64,
    /// Connections, completed connections, epochs, bytes from the acceptors, failures: in the order of the counters.
    counted: [u64; 5],
    over: bool,
}

impl Host {
    pub(super) fn new(source: Box<dyn Source>) -> Self {
        Host {
            source,
            started: Instant::ZERO,
            upcoming: None,
            due: BinaryHeap::new(),
            plays: Vec::new(),
            free: Vec::new(),
            serial: 0,
            counted: [0; 5],
            over: false,
        }
    }

    fn plan(&mut self, cx: &mut Cx<'_>) {
        if let Some((after, script)) = self.source.next(cx.rng) {
            self.upcoming = Some(script);
            self.due.push(Reverse((self.started + after, Due::Begin)));
        }
    }

    /// Executes all actions that are due, and requests a wake-up for the next one.
    fn run_due(&mut self, cx: &mut Cx<'_>) {
        while let Some(&Reverse((at, due))) = self.due.peek() {
            if at > cx.now {
                cx.want(Action::WakeAt(at));
                return;
            }
            self.due.pop();
            match due {
                Due::Begin => self.begin(cx),
                Due::Go { conn, side, serial } => self.step(conn, usize::from(side), serial, cx),
            }
        }
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        if let Some(script) = self.upcoming.take() {
            self.counted[0] += 1;
            match self.number() {
                Some(n) => {
                    self.serial += 1;
                    self.plays[usize::from(n)] = Some((self.serial, Play::new(script, cx.now)));
                    let server = cx.rng.below(u64::from(cx.servers)) as u32;
                    cx.want(Action::Open { conn: Conn(n), server });
                }
                None => self.counted[4] += 1,
            }
        }
        self.plan(cx);
    }

    fn number(&mut self) -> Option<u16> {
        self.free.pop().or_else(|| {
            let n = u16::try_from(self.plays.len()).ok()?;
            self.plays.push(None);
            Some(n)
        })
    }

    fn play(&mut self, conn: u16) -> Option<(u64, &mut Play)> {
        self.plays.get_mut(usize::from(conn))?.as_mut().map(|(serial, play)| (*serial, play))
    }

    /// Schedules the next step of a side after its waiting time.
    fn wait(&mut self, conn: u16, side: usize, cx: &Cx<'_>) {
        let Some((serial, play)) = self.play(conn) else { return };
        let wait = play.next(side).map_or(Duration::ZERO, |s| Duration::from_micros(s.wait_us));
        self.due.push(Reverse((cx.now + wait, Due::Go { conn, side: side as u8, serial })));
    }

    fn step(&mut self, conn: u16, side: usize, serial: u64, cx: &mut Cx<'_>) {
        let Some((now, play)) = self.play(conn) else { return };
        if now != serial || play.closing {
            return;
        }
        let again = if play.script.concurrent { play.send_alone(conn, side, cx) } else { play.send(conn, cx) };
        if again {
            self.wait(conn, side, cx);
        }
    }

    fn opened(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let concurrent = self.play(conn.0).is_some_and(|(_, p)| p.script.concurrent);
        for side in 0..if concurrent { 2 } else { 1 } {
            self.wait(conn.0, side, cx);
        }
    }

    /// The awaited data has arrived.
    fn on_data(&mut self, conn: Conn, cx: &mut Cx<'_>) {
        let Some((_, play)) = self.play(conn.0) else { return };
        if play.ignored_receipts > 0 {
            play.ignored_receipts -= 1;
            return;
        }
        let epoch = play.epoch.take();
        if let Some((started, bytes)) = epoch {
            self.counted[2] += 1;
            cx.want(Action::Done(Exchange { kind: EPOCH, started: started.min(cx.now), bytes }));
        }
        self.wait(conn.0, 0, cx);
    }

    fn on_close(&mut self, conn: Conn, failed: bool, cx: &mut Cx<'_>) {
        let Some((_, play)) = self.plays.get_mut(usize::from(conn.0)).and_then(Option::take) else { return };
        self.free.push(conn.0);
        if failed || !play.closing {
            self.counted[4] += 1;
            return;
        }
        self.counted[1] += 1;
        self.counted[3] += play.bytes;
        cx.want(Action::Done(Exchange { kind: CONNECTION, started: play.started, bytes: play.bytes }));
    }
}

impl Play {
    fn new(script: Script, started: Instant) -> Self {
        let mut play = Play {
            script,
            started,
            at: [0; 2],
            over: [false; 2],
            ignored_receipts: 0,
            epoch: None,
            bytes: 0,
            closing: false,
        };
        [0, 1].into_iter().for_each(|side| play.skip(side));
        play
    }

    /// The next step of a side in a concurrent connection; in a sequential one, of either side.
    fn next(&self, side: usize) -> Option<Step> {
        self.script.steps.get(self.at[side]).copied()
    }

    /// Completes the next step.
    fn advance(&mut self, side: usize) {
        self.at[side] += 1;
        self.skip(side);
    }

    /// Moves a side's index past the steps of the other side. Over a whole connection this is linear in the number of
    /// steps.
    fn skip(&mut self, side: usize) {
        let of_side = |s: &Step| !self.script.concurrent || (s.from == Side::Acceptor) == (side == 1);
        self.at[side] += self.script.steps[self.at[side]..].iter().take_while(|s| !of_side(s)).count();
    }

    fn request(conn: u16, request: u64, response: u64, think: Duration, cx: &mut Cx<'_>) {
        cx.want(Action::Request { conn: Conn(conn), request, response, think, close: false });
    }

    fn close(&mut self, conn: u16, cx: &mut Cx<'_>) {
        self.closing = true;
        cx.want(Action::Close { conn: Conn(conn) });
    }

    /// Executes the next step of a sequential connection. Returns true if the following step is timed, false if it
    /// waits for data.
    fn send(&mut self, conn: u16, cx: &mut Cx<'_>) -> bool {
        let Some(step) = self.next(0).filter(|s| s.bytes > 0) else {
            self.close(conn, cx);
            return false;
        };
        self.advance(0);
        if step.from == Side::Acceptor {
            self.bytes += step.bytes;
            Play::request(conn, 0, step.bytes, Duration::ZERO, cx);
            return false;
        }
        match self.next(0) {
            Some(answer) if answer.from == Side::Acceptor && answer.bytes > 0 => {
                let think = Duration::from_micros(answer.wait_us);
                self.advance(0);
                self.bytes += answer.bytes;
                self.epoch = Some((cx.now + think, answer.bytes));
                Play::request(conn, step.bytes, answer.bytes, think, cx);
                false
            }
            Some(more) if more.from == Side::Initiator && more.after == After::Send => {
                Play::request(conn, step.bytes, 0, Duration::ZERO, cx);
                self.ignored_receipts += 1;
                true
            }
            _ => {
                Play::request(conn, step.bytes, 0, Duration::ZERO, cx);
                false
            }
        }
    }

    /// Executes the next step of one side of a concurrent connection. Returns true if that side has further steps.
    fn send_alone(&mut self, conn: u16, side: usize, cx: &mut Cx<'_>) -> bool {
        if let Some(step) = self.next(side).filter(|s| s.bytes > 0) {
            self.advance(side);
            if step.from == Side::Initiator {
                self.ignored_receipts += 1;
                Play::request(conn, step.bytes, 0, Duration::ZERO, cx);
            } else {
                self.bytes += step.bytes;
                cx.want(Action::Push { conn: Conn(conn), bytes: step.bytes });
            }
            return true;
        }
        self.over[side] = true;
        if self.over[1 - side] {
            self.close(conn, cx);
        }
        false
    }
}

impl Application for Host {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if event == Event::Stop {
            self.over = true;
        }
        if self.over {
            return;
        }
        match event {
            Event::Start => {
                self.started = cx.now;
                self.plan(cx);
            }
            Event::Opened(conn) => self.opened(conn, cx),
            Event::Response(conn) => self.on_data(conn, cx),
            Event::Closed(conn) => self.on_close(conn, false, cx),
            Event::Failed(conn) => self.on_close(conn, true, cx),
            Event::Wake | Event::Stop => {}
        }
        self.run_due(cx);
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn counters(&self) -> &'static [&'static str] {
        &["connections", "completed", "epochs", "bytes_received", "failures"]
    }

    fn counter(&self, index: usize) -> f64 {
        self.counted.get(index).map_or(0.0, |&n| n as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: usize = 1_000_000;

    /// Plays a connection until it closes, the sides taking turns; returns the number of requests and pushes.
    fn played(script: Script) -> usize {
        let (mut play, mut rng, mut actions) = (Play::new(script, Instant::ZERO), Rng::stream(1, "abt"), Vec::new());
        let mut turn = 0;
        while !play.closing {
            let mut cx = Cx { now: Instant::ZERO, servers: 1, rng: &mut rng, actions: &mut actions };
            let side = turn % 2;
            if !play.script.concurrent {
                play.send(0, &mut cx);
            } else if !play.over[side] {
                play.send_alone(0, side, &mut cx);
            }
            turn += 1;
        }
        assert!(play.next(0).is_none() && play.next(1).is_none_or(|s| !play.script.concurrent || s.bytes == 0));
        actions.len() - 1
    }

    /// A source with a fixed list of connections and their start times in seconds.
    struct Listed(Vec<(u64, Script)>);

    impl Source for Listed {
        fn next(&mut self, _: &mut Rng) -> Option<(Duration, Script)> {
            (!self.0.is_empty()).then(|| self.0.remove(0)).map(|(at, script)| (Duration::from_secs(at), script))
        }
    }

    /// A connection fails while a step of it is scheduled; the next connection with the same number must ignore that
    /// step.
    #[test]
    fn a_step_of_a_connection_that_is_gone_is_not_taken() {
        let step = |wait_us, bytes| Step { from: Side::Initiator, after: After::Send, wait_us, bytes };
        let slow = |bytes| Script { concurrent: false, steps: vec![step(8_000_000, bytes), step(0, 0)] };
        let mut host = Host::new(Box::new(Listed(vec![(1, slow(11)), (5, slow(12))])));
        let mut rng = Rng::stream(1, "abt");
        let mut tell = |secs: u64, event: Event| {
            let mut actions = Vec::new();
            let now = Instant::ZERO + Duration::from_secs(secs);
            host.on_event(event, &mut Cx { now, servers: 1, rng: &mut rng, actions: &mut actions });
            actions.retain(|action| !matches!(action, Action::WakeAt(_)));
            actions
        };
        let (conn, at) = (Conn(0), |secs| Instant::ZERO + Duration::from_secs(secs));
        let (open, close) = (Action::Open { conn, server: 0 }, Action::Close { conn });
        let ask = |request| Action::Request { conn, request, response: 0, think: Duration::ZERO, close: false };
        assert_eq!(tell(0, Event::Start), []);
        assert_eq!((tell(1, Event::Wake), tell(1, Event::Opened(conn))), (vec![open], vec![]));
        assert_eq!(tell(3, Event::Failed(conn)), []);
        assert_eq!(
            (tell(5, Event::Wake), tell(5, Event::Opened(conn))),
            (vec![open], vec![]),
            "the number is free again"
        );
        assert_eq!(tell(9, Event::Wake), [], "the first step of the failed one was due");
        assert_eq!(tell(13, Event::Wake), [ask(12), close]);
        let done = Exchange { kind: CONNECTION, started: at(5), bytes: 0 };
        assert_eq!(tell(14, Event::Closed(conn)), [Action::Done(done)]);
        assert_eq!([0, 1, 2, 3, 4].map(|i| host.counter(i)), [2.0, 1.0, 0.0, 0.0, 1.0]);
    }

    /// A connection counts as complete if it was closed after its last step and did not fail while closing.
    #[test]
    fn only_what_was_closed_at_its_end_is_complete() {
        let step = |wait_us, bytes| Step { from: Side::Acceptor, after: After::Send, wait_us, bytes };
        for (asked, last, complete) in [
            (true, Event::Closed(Conn(0)), 1.0),
            (true, Event::Failed(Conn(0)), 0.0),
            (false, Event::Closed(Conn(0)), 0.0),
        ] {
            let script = Script { concurrent: false, steps: vec![step(0, 70), step(0, 0)] };
            let mut host = Host::new(Box::new(Listed(vec![(0, script)])));
            let (mut rng, mut actions) = (Rng::stream(1, "abt"), Vec::new());
            let mut cx = Cx { now: Instant::ZERO, servers: 1, rng: &mut rng, actions: &mut actions };
            host.on_event(Event::Start, &mut cx);
            host.on_event(Event::Opened(Conn(0)), &mut cx);
            if asked {
                host.on_event(Event::Response(Conn(0)), &mut cx);
            }
            host.on_event(last, &mut cx);
            assert_eq!([1, 3, 4].map(|i| host.counter(i)), [complete, 70.0 * complete, 1.0 - complete], "{last:?}");
        }
    }

    /// A source that repeats the same connection.
    struct Again;

    impl Source for Again {
        fn next(&mut self, _: &mut Rng) -> Option<(Duration, Script)> {
            Some((Duration::ZERO, Script { concurrent: false, steps: Vec::new() }))
        }
    }

    /// A host has 65,536 connection numbers; connections beyond them fail.
    #[test]
    fn connections_beyond_the_ports_fail() {
        let mut host = Host::new(Box::new(Again));
        host.plays = vec![None; 65_533];
        let (mut rng, mut actions) = (Rng::stream(1, "abt"), Vec::new());
        let mut cx = Cx { now: Instant::ZERO, servers: 1, rng: &mut rng, actions: &mut actions };
        host.plan(&mut cx);
        (0..5).for_each(|_| host.begin(&mut cx));
        let opened = actions.iter().map(|a| if let Action::Open { conn, .. } = a { conn.0 } else { 0 });
        assert_eq!(opened.collect::<Vec<_>>(), [65_533, 65_534, 65_535]);
        assert_eq!(host.counted, [5, 0, 0, 0, 2]);
    }

    /// One side's steps may all precede the other side's.
    #[test]
    fn many_steps_play() {
        let step = |from| Step { from, after: After::Send, wait_us: 0, bytes: 1 };
        let (i, a) = (step(Side::Initiator), step(Side::Acceptor));
        let apart = [vec![i; STEPS / 2], vec![a; STEPS / 2]].concat();
        assert_eq!(played(Script { concurrent: true, steps: apart }), STEPS);
        assert_eq!(played(Script { concurrent: true, steps: [i, a].repeat(STEPS / 2) }), STEPS);
        assert_eq!(played(Script { concurrent: false, steps: [i, a].repeat(STEPS / 2) }), STEPS / 2);
    }
}
