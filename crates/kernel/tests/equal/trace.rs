//! Arrival traces at a queue, and the comparison of a law's decisions with a discipline's on them.

use aqmkit_aqm::registry::Link;
use aqmkit_aqm::{Aqm, Env, PacketView, QueueView, Verdict, Why};
use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, BitRate, Bytes, ClassId, Duration, Ecn, FlowKey, Instant, Rng};
use aqmkit_kernel_laws::law::{Arrival, DRAWS, Law};

/// The link used by all traces.
pub(crate) fn link() -> Link {
    let classes = ["tcp", "multimedia", "other"].map(str::to_owned).to_vec();
    Link { mean_packet: Bytes(1000), classes, ..Link::new(BitRate::from_mbps(10)) }
}

/// Arrival process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Random, in phases of different load.
    Random,
    /// Bursts, separated by pauses from zero to minutes.
    Bursty,
}

/// When the discipline sees departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departures {
    /// At the actual departure.
    Real,
    /// At each arrival, as if a packet departed at once after the delay predicted for the arrival: for laws that
    /// predict this delay. The decisions are those on the arrival.
    Predicted,
}

/// Counts of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Decisions compared.
    pub(crate) decisions: u64,
    /// Decisions that differ.
    pub(crate) different: u64,
    /// The discipline's marks and drops, except for overflow.
    pub(crate) signals: u64,
}

impl std::ops::AddAssign for Outcome {
    fn add_assign(&mut self, other: Outcome) {
        self.decisions += other.decisions;
        self.different += other.different;
        self.signals += other.signals;
    }
}

/// A queue drained at a constant rate.
struct Queue {
    waiting: std::collections::VecDeque<(u32, FlowKey, ClassId)>,
    bytes: u64,
    free_at: Instant,
    empty_since: Instant,
    /// When the current backlog will have been sent.
    sent_at: Instant,
}

/// Generates packets.
struct Source {
    rng: Rng,
    shape: Shape,
    load: f64,
    left: u64,
}

impl Source {
    /// The gap before the next packet.
    fn pause(&mut self) -> Duration {
        let packet = Duration::from_micros(800);
        if self.left == 0 {
            self.left = 1 + self.rng.below(400);
            self.load = [0.3, 0.8, 1.0, 1.1, 1.3, 2.0][self.rng.below(6) as usize];
            if let Shape::Bursty = self.shape {
                let pause = [0, 1, 1_000, 20_000, 400_000, 3_000_000, 100_000_000][self.rng.below(7) as usize];
                return Duration::from_micros(pause + self.rng.below(1 + pause));
            }
        }
        self.left -= 1;
        match self.shape {
            Shape::Random => packet.mul_f64(-libm::log(self.rng.uniform_open()) / self.load),
            Shape::Bursty => packet.mul_f64(self.rng.uniform() * 0.6),
        }
    }

    /// The next packet; a few flows send most of them.
    fn packet(&mut self) -> PacketView {
        let rng = &mut self.rng;
        let many = 1 + rng.below(40);
        let flow = if rng.chance(0.05) { 100 + rng.below(1_000_000) } else { 1 + rng.below(many) };
        PacketView {
            flow: FlowKey(flow),
            sojourn: Duration::ZERO,
            len: [40, 576, 1000, 1500, 1500][rng.below(5) as usize],
            class: ClassId((flow % 3) as u8),
            ecn: [Ecn::NotEct, Ecn::Ect0][rng.below(2) as usize],
        }
    }
}

/// The queue seen by the discipline when a packet of `len` bytes arrives.
fn view(queue: &Queue, len: u32, limit: Amount) -> QueueView {
    let full = match limit.unit() {
        Counting::Packets => (queue.waiting.len() + 1) as f64 > limit.value(),
        Counting::Bytes => (queue.bytes + u64::from(len)) as f64 > limit.value(),
    };
    QueueView { packets: queue.waiting.len() as u32, bytes: queue.bytes, full }
}

/// An arrival and the discipline's decision on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided {
    pub(crate) arrival: Arrival,
    /// Whether the queue is full.
    pub(crate) full: bool,
    pub(crate) wanted: Verdict,
}

impl Decided {
    /// The decision, encoded like a law's verdict.
    pub(crate) fn code(&self) -> u32 {
        match self.wanted {
            Verdict::Pass => 0,
            Verdict::Mark(why) => 1 + ((why as u32) << 8),
            Verdict::Drop(why) => 2 + ((why as u32) << 8),
        }
    }

    /// Whether the discipline drops or marks for a reason other than overflow.
    pub(crate) fn signals(&self) -> bool {
        !self.full && self.wanted != Verdict::Pass
    }
}

/// Runs a trace of `decisions` arrivals through discipline and law.
pub(crate) fn compare<A: Aqm, L: Law>(
    config: &A::Config,
    fixed: &L::Config,
    which: (u64, Shape),
    decisions: u64,
    departures: Departures,
) -> Outcome {
    let mut law = Box::new(L::ZERO);
    law.start(fixed, START.as_nanos());
    let mut outcome = Outcome::default();
    play::<A>(config, which, decisions, departures, |decided| {
        let mut arrival = decided.arrival;
        arrival.show_to::<L>();
        let verdict = law.on_arrival(fixed, &arrival, decided.full);
        outcome.decisions += 1;
        outcome.different += u64::from(verdict.code() != decided.code());
        outcome.signals += u64::from(decided.signals());
    });
    outcome
}

/// Start of a trace: arrival of its first packet.
const START: Instant = Instant::from_nanos(1_000_000_000);

/// Runs a trace of `decisions` arrivals through the discipline and reports each decision. The queue evolves by its
/// decisions. Its timer fires late, at arrivals, with the queue they find, like the law's.
pub(crate) fn play<A: Aqm>(
    config: &A::Config,
    (seed, shape): (u64, Shape),
    decisions: u64,
    departures: Departures,
    mut tell: impl FnMut(&Decided),
) {
    let mut now = START;
    let mut rng = Rng::stream(seed, "draws");
    let mut source = Source { rng: Rng::stream(seed, "arrivals"), shape, load: 1.0, left: 0 };
    let mut queue = Queue { waiting: Default::default(), bytes: 0, free_at: now, empty_since: now, sent_at: now };
    let mut aqm = A::new(config, now);
    let mut due = A::tick(config).map(|period| now + period);
    for i in 0..decisions {
        let pause = source.pause();
        now += if i == 0 { Duration::ZERO } else { pause };
        drain(&mut queue, &mut aqm, config, &mut rng, now, departures);
        let pkt = source.packet();
        let found = view(&queue, pkt.len, A::limit(config));
        let leaving = if departures == Departures::Predicted && !found.full {
            leave_at_once(&mut aqm, config, pkt, found, &mut Env { now, rng: &mut rng })
        } else {
            Verdict::Pass
        };
        while let (Some(at), Some(period)) = (due.filter(|at| *at <= now), A::tick(config)) {
            aqm.on_tick(config, QueueView { full: false, ..found }, at);
            let next = at + period;
            let late = if next <= now { now.since(next).whole(period) + 1 } else { 0 };
            let skipped = late > 0 && aqm.skip_ticks(config, QueueView { full: false, ..found }, next, late);
            due = Some(if skipped { next + period * late } else { next });
        }
        let mut ahead = rng.clone();
        let draws = [(); DRAWS].map(|()| (ahead.bits() >> 32) as u32);
        let arriving = aqm.on_arrival(config, pkt, found, &mut Env { now, rng: &mut rng });
        let wanted = match (arriving, found.full) {
            (Verdict::Pass, true) if departures == Departures::Predicted => Verdict::Drop(Why::Overflow),
            (Verdict::Pass, false) => leaving,
            (arriving, _) => arriving,
        };
        let arrival = Arrival {
            now: now.as_nanos(),
            flow: pkt.flow.0,
            bytes: u64::from(pkt.len),
            packets: 1,
            waiting_packets: u64::from(found.packets),
            waiting_bytes: found.bytes,
            empty_since: queue.empty_since.as_nanos(),
            ecn_capable: u64::from(pkt.ecn.is_capable()),
            class: u64::from(pkt.class.0),
            leaves_at: queue.sent_at.as_nanos(),
            free_at: queue.free_at.as_nanos(),
            draws,
        };
        tell(&Decided { arrival, full: found.full, wanted });
        if !found.full && !matches!(wanted, Verdict::Drop(_)) {
            queue.waiting.push_back((pkt.len, pkt.flow, pkt.class));
            queue.bytes += u64::from(pkt.len);
            queue.sent_at += link().rate.time_to_send(Bytes(u64::from(pkt.len)));
        } else if found.full && !matches!(wanted, Verdict::Drop(_)) {
            aqm.on_discard(config, pkt, found, now);
        }
    }
}

/// Lets the arrival depart after the delay that the queue predicts for it.
fn leave_at_once<A: Aqm>(
    aqm: &mut A,
    config: &A::Config,
    pkt: PacketView,
    found: QueueView,
    env: &mut Env<'_>,
) -> Verdict {
    if found.packets == 0 {
        aqm.on_empty(config, env.now);
    }
    let sojourn = link().rate.time_to_send(Bytes(found.bytes));
    aqm.on_departure(config, PacketView { sojourn, ..pkt }, found, env)
}

/// Sends what the link can send up to `now`.
fn drain<A: Aqm>(
    queue: &mut Queue,
    aqm: &mut A,
    config: &A::Config,
    rng: &mut Rng,
    now: Instant,
    departures: Departures,
) {
    while queue.free_at <= now {
        let Some((len, flow, class)) = queue.waiting.pop_front() else {
            (queue.free_at, queue.sent_at) = (now, now);
            return;
        };
        let left_at = queue.free_at;
        queue.bytes -= u64::from(len);
        queue.free_at += link().rate.time_to_send(Bytes(u64::from(len)));
        if queue.waiting.is_empty() {
            queue.empty_since = left_at;
        }
        if departures == Departures::Predicted {
            continue;
        }
        let pkt = PacketView { flow, sojourn: Duration::ZERO, len, class, ecn: Ecn::NotEct };
        let rest = QueueView { packets: queue.waiting.len() as u32, bytes: queue.bytes, full: false };
        aqm.on_departure(config, pkt, rest, &mut Env { now: left_at, rng });
        if queue.waiting.is_empty() {
            aqm.on_empty(config, left_at);
        }
    }
}
