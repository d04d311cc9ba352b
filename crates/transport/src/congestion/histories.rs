//! Random histories of a connection on a changing path, for controls that are implemented twice: after each event both
//! implementations must be in the same state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use aqmkit_base::{Bytes, Duration, Instant, Rng};

use super::Cx;
use crate::profile::{LossDetection, Profile};
use crate::tcp::{Range, Rtt, Sent};

/// Bytes of a segment.
pub(super) const MSS: u64 = 1000;

/// An event for a control.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// Losses were detected: only with SACK.
    Losses,
    /// Fast recovery begins, or ends.
    Loss,
    Recovered,
    /// The retransmission timer expires; the flight before it is acknowledged.
    Timeout,
    Mended,
    /// The recovery was spurious.
    Needless,
    /// Bytes delivered, and how many of them were marked.
    Feedback(u64, u64),
    /// The peer has echoed a mark.
    Echo,
    /// An acknowledgement was processed.
    Sample,
    /// The first segment is sent while nothing is in flight.
    Restart,
}

impl Event {
    fn name(self) -> &'static str {
        match self {
            Event::Losses => "losses",
            Event::Loss => "loss",
            Event::Recovered => "recovered",
            Event::Timeout => "timeout",
            Event::Mended => "mended",
            Event::Needless => "needless",
            Event::Feedback(..) => "feedback",
            Event::Echo => "echo",
            Event::Sample => "sample",
            Event::Restart => "restart",
        }
    }
}

/// A control and its second implementation.
pub(super) trait Both {
    /// At the start of a connection. `counts_marks`: as in [`Cx`].
    fn new(profile: &Profile, counts_marks: bool) -> Self;

    /// Passes the event to both, and compares them.
    fn happens(&mut self, what: Event, cx: &Cx<'_>);

    /// The window of both.
    fn cwnd(&self) -> u64;

    /// The phase of both.
    fn phase(&self) -> &'static str;
}

/// Properties of the path for some time.
#[derive(Clone, Copy)]
struct Path {
    bytes_per_second: f64,
    delay: Duration,
    /// Maximum packets in the queue.
    limit: f64,
    loss: f64,
    mark: f64,
}

/// A connection and its path.
struct History<B> {
    both: B,
    profile: Profile,
    rtt: Rtt,
    sent: Sent,
    counts_marks: bool,
    rng: Rng,
    now: Instant,
    path: Path,
    /// When the bottleneck becomes free, and when each segment arrives.
    free: Instant,
    wire: VecDeque<(Instant, u64)>,
    received: BTreeSet<u64>,
    next: u64,
    una: u64,
    /// The end of the current recovery, and whether it is a fast one.
    recovery: Option<(u64, bool)>,
    /// Segments that the application has left to send.
    app: u64,
    seen: BTreeMap<&'static str, u64>,
}

/// Plays many histories; returns how often each event happened and each phase was seen.
pub(super) fn play<B: Both>() -> BTreeMap<&'static str, u64> {
    let mut seen = BTreeMap::new();
    // Long histories on a path that starts out well, and short ones on any path, for the start of connections.
    for (seed, steps) in (0..40).map(|seed| (seed, 4_000)).chain((40..440).map(|seed| (seed, 100))) {
        let mut history = History::<B>::new(seed);
        if steps < 1_000 {
            history.change();
        }
        for _ in 0..steps {
            if history.rng.chance(0.001) {
                history.change();
            }
            history.send();
            if history.rng.chance(0.003) {
                // Everything in flight is lost.
                history.wire.clear();
            }
            if history.wire.is_empty() { history.wait() } else { history.acknowledge() }
        }
        for (what, count) in history.seen {
            *seen.entry(what).or_default() += count;
        }
    }
    seen
}

impl<B: Both> History<B> {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "history");
        let (counts_marks, sack) = (rng.chance(0.5), rng.chance(0.8));
        let profile = Profile {
            mss: Bytes(MSS),
            header: Bytes(40),
            sack,
            loss_detection: LossDetection::Rack,
            cwnd_limit: Bytes(3_000_000),
            ..Profile::rfc()
        };
        let now = Instant::ZERO + Duration::from_secs(1);
        History {
            both: B::new(&profile, counts_marks),
            rtt: Rtt::new(&profile),
            sent: Sent::new(true, true, now),
            profile,
            counts_marks,
            path: Path { bytes_per_second: 1e6, delay: Duration::from_millis(40), limit: 100.0, loss: 0.0, mark: 0.0 },
            rng,
            now,
            free: now,
            wire: VecDeque::new(),
            received: BTreeSet::new(),
            next: 0,
            una: 0,
            recovery: None,
            app: u64::MAX,
            seen: BTreeMap::new(),
        }
    }

    fn happens(&mut self, what: Event) {
        let cx = Cx {
            now: self.now,
            profile: &self.profile,
            flight: self.sent.in_flight(),
            reducing: None,
            peer_window: 1 << 30,
            sack: self.profile.sack,
            sent: Some(&self.sent),
            counts_marks: self.counts_marks,
            sample: None,
            one_way: None,
            rtt: &self.rtt,
        };
        self.both.happens(what, &cx);
        for seen in [what.name(), self.both.phase()] {
            *self.seen.entry(seen).or_default() += 1;
        }
    }

    /// Changes the path, or the application.
    fn change(&mut self) {
        let mut of = |list: &[f64]| list[self.rng.below(list.len() as u64) as usize];
        self.path = Path {
            bytes_per_second: of(&[1e5, 5e5, 1e6, 4e6, 2e7]),
            delay: Duration::from_secs_f64(of(&[0.0005, 0.002, 0.01, 0.04, 0.1])),
            limit: of(&[5.0, 30.0, 100.0, 1000.0]),
            loss: of(&[0.0, 0.0, 0.0, 0.001, 0.01, 0.04]),
            mark: of(&[0.0, 0.0, 0.001, 0.1, 0.4, 0.8]),
        };
        self.app = if self.rng.chance(0.3) { self.rng.below(100) } else { u64::MAX };
    }

    fn transmit(&mut self, seq: u64) {
        if self.sent.in_flight() == 0 {
            self.happens(Event::Restart);
        }
        self.sent.on_sent(Range { start: seq, end: seq + MSS }, self.now);
        let time = Duration::from_secs_f64(MSS as f64 / self.path.bytes_per_second);
        let waiting = self.free.since(self.now).as_secs_f64() / time.as_secs_f64();
        if waiting <= self.path.limit && !self.rng.chance(self.path.loss) {
            self.free = self.free.max(self.now) + time;
            // In order, even if the delay has become shorter.
            let last = self.wire.back().map_or(Instant::ZERO, |(at, _)| *at);
            self.wire.push_back(((self.free + self.path.delay).max(last), seq));
        }
    }

    fn send(&mut self) {
        // At most as much at a time as a burst of acknowledgements allows.
        for _ in 0..40 {
            if self.sent.in_flight() + MSS > self.both.cwnd() {
                return;
            }
            if let Some(piece) = self.sent.next_lost() {
                self.transmit(piece.start);
            } else if self.app > 0 {
                self.app -= 1;
                self.next += MSS;
                self.transmit(self.next - MSS);
            } else {
                self.sent.note_app_limited();
                return;
            }
        }
    }

    /// The next acknowledgement; it may cover several arrivals.
    fn acknowledge(&mut self) {
        let most = if self.rng.chance(0.1) { 1 + self.rng.below(16) } else { 1 };
        self.sent.begin_ack();
        let (mut newest, mut bytes) = (0, 0);
        for _ in 0..most {
            let Some((at, seq)) = self.wire.pop_front() else { break };
            self.now = self.now.max(at);
            bytes += MSS;
            self.received.insert(seq);
            self.sent.on_sacked(Range { start: seq, end: seq + MSS }, self.now, |e| newest = newest.max(e.number));
        }
        while self.received.remove(&self.una) {
            self.una += MSS;
        }
        self.sent.on_acked(self.una, self.now, |_| ());
        let marked = (0..bytes / MSS).filter(|_| self.rng.chance(self.path.mark)).count() as u64 * MSS;
        self.happens(Event::Feedback(bytes, marked));
        self.sent.lose_before(newest, Duration::ZERO, self.now);
        if !self.sent.losses().is_empty() {
            self.lose();
        }
        if let Some((_, fast)) = self.recovery.filter(|(until, _)| self.una >= *until) {
            self.recovery = None;
            self.happens(if fast { Event::Recovered } else { Event::Mended });
        }
        if marked > 0 && self.recovery.is_none() && self.rng.chance(0.05) {
            self.happens(Event::Echo);
        }
        if self.recovery.is_some() && self.rng.chance(0.02) {
            self.recovery = None;
            self.happens(Event::Needless);
        }
        self.happens(Event::Sample);
    }

    fn lose(&mut self) {
        if self.profile.sack {
            self.happens(Event::Losses);
        }
        if self.recovery.is_none() {
            self.recovery = Some((self.next, true));
            self.happens(Event::Loss);
        }
    }

    /// Nothing arrives any more: the timer expires, or the connection is idle until the application has more.
    fn wait(&mut self) {
        self.now += Duration::from_millis(1 + self.rng.below(3_000));
        if self.sent.in_flight() > 0 || self.sent.next_lost().is_some() {
            self.sent.begin_ack();
            self.sent.lose_after_timeout(Duration::ZERO, self.now);
            self.recovery = Some((self.next, false));
            if self.profile.sack {
                self.happens(Event::Losses);
            }
            self.happens(Event::Timeout);
        } else {
            self.change();
            self.app = self.app.max(1);
        }
    }
}
