//! The comparison for schemes that decide on departure too, mark, and have timers: everything that happens,
//! in order.

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Stats, Why};
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Event, Log, Pkt, cx};
use crate::trace::{Step, bursty, random};

/// Events, without the reason, which is ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Seen {
    Out(u64, Ecn),
    Dropped(u64),
    Marked(u64),
    Empty,
}

impl Seen {
    fn of(event: &Event) -> Seen {
        match event {
            Event::Out(p) => Seen::Out(p.id, p.ecn),
            Event::Dropped(p, _) => Seen::Dropped(p.id),
            Event::Marked(p, _) => Seen::Marked(p.id),
            Event::Empty | Event::Held => Seen::Empty,
        }
    }
}

/// A transcription that reports events. It handles its own timer: each call passes the time.
pub(crate) trait Literal {
    fn arriving(&mut self, packet: Pkt, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>);
    fn departing(&mut self, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>);
}

/// Operations of transcriptions on packets.
pub(crate) fn mark(p: &mut Pkt, seen: &mut Vec<Seen>) {
    p.ecn = Ecn::Ce;
    seen.push(Seen::Marked(p.id));
}

pub(crate) fn drop_packet(p: Pkt, seen: &mut Vec<Seen>) {
    seen.push(Seen::Dropped(p.id));
}

/// Marks a packet that is ECN-capable where `ecn` is on, else drops it: whether it is still there.
pub(crate) fn signal(p: &mut Pkt, ecn: bool, seen: &mut Vec<Seen>) -> bool {
    if ecn && p.ecn != Ecn::NotEct {
        mark(p, seen);
        return true;
    }
    drop_packet(*p, seen);
    false
}

pub(crate) fn out(p: Pkt, seen: &mut Vec<Seen>) {
    seen.push(Seen::Out(p.id, p.ecn));
}

/// A timer as pseudo-code has it: every `period`, first one period after the start.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    next: Instant,
    period: Duration,
}

impl Timer {
    pub(crate) fn new(period: Duration) -> Self {
        Timer { next: START + period, period }
    }

    /// The next time that is due, if any.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Instant> {
        let at = self.next;
        (at <= now).then(|| {
            self.next = at + self.period;
            at
        })
    }
}

/// When every trace starts.
pub(crate) const START: Instant = Instant::from_nanos(7_000_000_000);

/// Plays traces of packets with every codepoint through the discipline and through a fresh transcription for
/// each, and compares all that happens. Gives the discipline's counters over all traces.
pub(crate) fn compare<O: Literal>(spec: &Spec, link: &Link, literal: impl Fn() -> O) -> Stats {
    let mut total = Stats::default();
    for seed in 0..100 {
        let mut draw = Rng::stream(seed, "trace");
        let steps = if seed % 2 == 0 { random(&mut draw) } else { bursty(&mut draw) };
        let stats = play(spec, link, &mut literal(), &steps, seed);
        for why in Why::ALL {
            total.dropped[why as usize] += stats.dropped[why as usize];
            total.marked[why as usize] += stats.marked[why as usize];
        }
    }
    total
}

fn play(spec: &Spec, link: &Link, literal: &mut impl Literal, steps: &[Step], seed: u64) -> Stats {
    let mut now = START;
    let mut queue = spec.build::<Pkt>(link, now).unwrap();
    let (mut ours, mut theirs) = (Rng::stream(seed, "aqm"), Rng::stream(seed, "aqm"));
    let (mut draw, mut log, mut seen) = (Rng::stream(seed, "packets"), Log::default(), Vec::new());
    for (id, step) in steps.iter().enumerate() {
        match step {
            Step::Wait(time) => now += *time,
            Step::Arrive => {
                let flow = draw.below(6);
                let len = 40 + draw.below(1461) as u32;
                let packet = Pkt { id: id as u64, len, flow, class: 0, ecn: Ecn::from_bits(flow as u8) };
                queue.enqueue(packet, &mut cx(now, &mut ours, &mut log));
                literal.arriving(packet, now, &mut theirs, &mut seen);
            }
            Step::Depart => {
                let packet = queue.dequeue(&mut cx(now, &mut ours, &mut log)).packet();
                log.0.push(packet.map_or(Event::Empty, Event::Out));
                literal.departing(now, &mut theirs, &mut seen);
            }
        }
        let happened: Vec<Seen> = log.0.drain(..).map(|e| Seen::of(&e)).collect();
        assert_eq!(happened, std::mem::take(&mut seen), "seed {seed}, step {id}");
    }
    assert_eq!(ours, theirs, "one drew more random numbers than the other");
    *queue.stats()
}

/// Fails a comparison that hardly came to one of these drops or marks: it would prove nothing about them.
pub(crate) fn assert_seen(stats: &Stats, drops: &[Why], marks: &[Why]) {
    for why in drops {
        assert!(stats.dropped[*why as usize] > 50, "{why:?} hardly dropped: {stats:?}");
    }
    for why in marks {
        assert!(stats.marked[*why as usize] > 50, "{why:?} hardly marked: {stats:?}");
    }
}
