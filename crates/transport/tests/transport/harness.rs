//! Two endpoints and a wire in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmkit_base::{Duration, Ecn, Instant};
use aqmkit_transport::{Event, Flags, Output, Profile, Segment, Tcp};

/// The end that opens.
pub(crate) const A: usize = 0;
/// The end that is opened to.
pub(crate) const B: usize = 1;

pub(crate) const fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

/// The fate of a segment on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Drop,
    /// Arrives so much later than it should.
    Late(Duration),
    /// Arrives, and so much later once more.
    Twice(Duration),
    /// Arrives with CE, if it may be marked.
    Mark,
}

/// A segment as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) from: usize,
    pub(crate) seg: Segment,
}

pub(crate) type Script = Box<dyn FnMut(usize, &Segment) -> Fate>;

pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) ends: [Tcp; 2],
    pub(crate) profiles: [Profile; 2],
    /// One way.
    pub(crate) delay: Duration,
    /// How long the path takes for each of A's segments with data, one after the other.
    pub(crate) spacing: Duration,
    /// When it has room for the next.
    room: Instant,
    pub(crate) script: Script,
    /// Whether an end closes when the other has.
    pub(crate) closes_back: [bool; 2],
    /// Whether to keep [`Pair::sent`].
    pub(crate) keep: bool,
    pub(crate) sent: Vec<Sent>,
    pub(crate) events: Vec<(Instant, usize, Event)>,
    wire: BinaryHeap<Reverse<(Instant, u64, usize, usize)>>,
    slots: Vec<Segment>,
    free: Vec<usize>,
    count: u64,
    segments: Vec<Segment>,
    said: Vec<Event>,
}

impl Pair {
    /// Both ends with one profile and timers that tick at 0, with a round trip of `rtt_ms` ms.
    pub(crate) fn new(profile: &Profile, rtt_ms: u64) -> Self {
        Self::with_phases(profile, rtt_ms, [Duration::ZERO; 2])
    }

    pub(crate) fn with_phases(profile: &Profile, rtt_ms: u64, phases: [Duration; 2]) -> Self {
        Pair {
            now: Instant::ZERO,
            ends: phases.map(|phase| Tcp::new(profile, phase)),
            profiles: [profile.clone(), profile.clone()],
            delay: Duration::from_millis(rtt_ms) / 2,
            spacing: Duration::ZERO,
            room: Instant::ZERO,
            script: Box::new(|_, _| Fate::Pass),
            closes_back: [true; 2],
            keep: true,
            sent: Vec::new(),
            events: Vec::new(),
            wire: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            count: 0,
            segments: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Loses the n-th (from 0) of A's segments that carry data; retransmissions count too.
    pub(crate) fn lose_data(&mut self, which: &'static [u64]) {
        let mut n = 0;
        self.script = Box::new(move |from, seg| {
            if from != A || seg.len == 0 {
                return Fate::Pass;
            }
            n += 1;
            if which.contains(&(n - 1)) { Fate::Drop } else { Fate::Pass }
        });
    }

    /// Loses the first copy of the segments of A that begin at these bytes of the stream (from 0).
    pub(crate) fn lose_bytes(&mut self, offsets: Vec<u64>) {
        let mut left = offsets;
        self.script = Box::new(move |from, seg| {
            let hit = left.iter().position(|o| from == A && seg.len > 0 && seg.seq == o + 1);
            match hit {
                Some(i) => {
                    left.remove(i);
                    Fate::Drop
                }
                None => Fate::Pass,
            }
        });
    }

    /// Calls an end, sends what it says, and reacts to its events as an application would.
    pub(crate) fn call(&mut self, end: usize, f: impl FnOnce(&mut Tcp, &Profile, Instant, &mut Output<'_>)) {
        let (mut segments, mut said) = (std::mem::take(&mut self.segments), std::mem::take(&mut self.said));
        let mut out = Output { segments: &mut segments, events: &mut said };
        f(&mut self.ends[end], &self.profiles[end], self.now, &mut out);
        for seg in segments.drain(..) {
            self.send(end, seg);
        }
        crate::ends_last(&said);
        let mut close = false;
        for event in said.drain(..) {
            close |= event == Event::PeerFinished && self.closes_back[end];
            if self.keep || event != Event::Delivered {
                self.events.push((self.now, end, event));
            }
        }
        (self.segments, self.said) = (segments, said);
        if close {
            self.close(end);
        }
    }

    pub(crate) fn connect(&mut self) {
        self.call(A, Tcp::connect);
    }

    pub(crate) fn write(&mut self, end: usize, bytes: u64) {
        self.call(end, |tcp, p, now, out| tcp.write(p, bytes, now, out));
    }

    pub(crate) fn close(&mut self, end: usize) {
        self.call(end, Tcp::close);
    }

    pub(crate) fn send(&mut self, from: usize, seg: Segment) {
        let fate = (self.script)(from, &seg);
        if self.keep {
            self.sent.push(Sent { at: self.now, from, seg: seg.clone() });
        }
        let mut at = self.now + self.delay;
        if from == A && seg.len > 0 {
            self.room = self.room.max(self.now) + self.spacing;
            at = self.room + self.delay;
        }
        match fate {
            Fate::Drop => {}
            Fate::Pass => self.post(at, 1 - from, seg),
            Fate::Late(by) => self.post(at + by, 1 - from, seg),
            Fate::Twice(by) => {
                self.post(at, 1 - from, seg.clone());
                self.post(at + by, 1 - from, seg);
            }
            Fate::Mark => {
                let ecn = if seg.ecn.is_capable() { Ecn::Ce } else { seg.ecn };
                self.post(at, 1 - from, Segment { ecn, ..seg });
            }
        }
    }

    fn post(&mut self, at: Instant, to: usize, seg: Segment) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Segment::default());
            self.slots.len() - 1
        });
        self.slots[slot] = seg;
        self.wire.push(Reverse((at, self.count, to, slot)));
        self.count += 1;
    }

    /// The time of the next thing that happens.
    fn next(&self) -> Option<Instant> {
        let arrival = self.wire.peek().map(|r| r.0.0);
        [arrival, self.ends[A].deadline(), self.ends[B].deadline()].into_iter().flatten().min()
    }

    fn step(&mut self, at: Instant) {
        self.now = self.now.max(at);
        if let Some(&Reverse((time, _, to, slot))) = self.wire.peek()
            && time <= at
        {
            self.wire.pop();
            self.free.push(slot);
            let seg = std::mem::take(&mut self.slots[slot]);
            self.call(to, |tcp, p, now, out| tcp.on_segment(p, &seg, now, out));
            return;
        }
        for end in [A, B] {
            if self.ends[end].deadline().is_some_and(|d| d <= at) {
                self.call(end, Tcp::on_deadline);
                return;
            }
        }
    }

    /// Runs until a time, with everything that happens at it.
    pub(crate) fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.next().filter(|&at| at <= until) {
            self.step(at);
        }
        self.now = self.now.max(until);
    }

    /// Runs until nothing is left to happen.
    pub(crate) fn run(&mut self) {
        let mut steps = 0;
        while let Some(at) = self.next() {
            self.step(at);
            steps += 1;
            assert!(steps < 10_000_000, "it does not end: {:?}", self.ends);
        }
    }

    /// A connected pair at the time that A is connected; logs are emptied.
    pub(crate) fn connected(profile: &Profile, rtt_ms: u64) -> Self {
        let mut pair = Pair::new(profile, rtt_ms);
        pair.connect();
        pair.run_until(ms(rtt_ms + rtt_ms / 2));
        assert!(pair.ends[A].is_open() && pair.ends[B].is_open());
        pair.sent.clear();
        pair.events.clear();
        pair
    }

    /// When an end sent segments with data, and the first bytes (from 0) of that data.
    pub(crate) fn data(&self, from: usize) -> Vec<(Instant, u64)> {
        self.sent.iter().filter(|s| s.from == from && s.seg.len > 0).map(|s| (s.at, s.seg.seq - 1)).collect()
    }

    /// When an end sent segments with this flag.
    pub(crate) fn times(&self, from: usize, flag: Flags) -> Vec<Instant> {
        self.sent.iter().filter(|s| s.from == from && s.seg.flags.has(flag)).map(|s| s.at).collect()
    }

    /// When an end sent pure acknowledgements, and what they acknowledge (bytes of the stream).
    pub(crate) fn acks(&self, from: usize) -> Vec<(Instant, u64)> {
        let pure = |s: &&Sent| s.from == from && s.seg.flags == Flags::ACK && s.seg.len == 0;
        self.sent.iter().filter(pure).map(|s| (s.at, s.seg.ack - 1)).collect()
    }

    /// When an event happened at an end.
    pub(crate) fn when(&self, end: usize, event: Event) -> Vec<Instant> {
        self.events.iter().filter(|e| e.1 == end && e.2 == event).map(|e| e.0).collect()
    }
}

/// Loses the segments with this flag from one end that are in the list: 0 is the first.
pub(crate) fn lose_flag(end: usize, flag: Flags, which: &'static [u32]) -> Script {
    let mut n = 0;
    Box::new(move |from, seg| {
        if from != end || !seg.flags.has(flag) {
            return Fate::Pass;
        }
        n += 1;
        if which.contains(&(n - 1)) { Fate::Drop } else { Fate::Pass }
    })
}
