//! Random operations against a queue, and the contract that every queue keeps.

use std::collections::BTreeMap;

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Dequeued, Packet, Qdisc, Why};
use aqmkit_base::units::parse_amount;
use aqmkit_base::{Amount, Duration, Ecn, Instant, Rng};
use serde_json::Value;

use super::slow::half_as_fast;
use super::{Event, Log, Pkt, cx, lane};

/// One thing that happens to a queue.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Advance(Duration),
    Enqueue {
        len: u32,
        flow: u64,
        class: u8,
        ecn: Ecn,
    },
    Burst {
        packets: u8,
        flow: u64,
        class: u8,
    },
    Dequeue {
        times: u8,
    },
    Wakeup,
    /// Change the limits to the n-th of [`LIMITS`].
    Reconfigure(u8),
}

/// Limits to change to; the first stands for those the queue began with.
pub const LIMITS: [&str; 5] = ["", "1p", "17p", "60p", "3000b"];

impl From<[u8; 4]> for Op {
    /// Any four bytes are an operation: what the fuzzer and proptest have in common.
    fn from([kind, a, b, c]: [u8; 4]) -> Op {
        // A flow has one class; the link names three of the four.
        let (flow, class) = (u64::from(b & 7), b & 3);
        match kind {
            0..=109 => Op::Enqueue { len: 40 + 6 * u32::from(a), flow, class, ecn: Ecn::from_bits(c) },
            110..=124 => Op::Burst { packets: a % 64, flow, class },
            125..=194 => Op::Dequeue { times: 1 },
            195..=204 => Op::Dequeue { times: a % 64 },
            205..=239 => Op::Advance(Duration::from_micros(20 * u64::from(a)) * if b > 240 { 1000 } else { 1 }),
            240..=249 => Op::Wakeup,
            _ => Op::Reconfigure(a % LIMITS.len() as u8),
        }
    }
}

/// One way to play operations.
#[derive(Clone, Debug)]
pub struct Play<'a> {
    pub spec: &'a Spec,
    /// The parameters that the queue is created with, to be changed before the first operation; by default the same.
    pub before: Option<&'a Spec>,
    pub link: Link,
    pub origin: Instant,
    /// Multiplies every duration by this factor.
    pub stretch: u64,
    pub seed: u64,
    /// Wake the queue again and again, whether it wants it or not.
    pub nudge: bool,
    /// Wake the queue whenever it wants it, at the very time.
    pub punctual: bool,
    /// Set its parameters again and again, to what they are.
    pub renewed: bool,
}

impl<'a> Play<'a> {
    pub fn new(spec: &'a Spec, link: Link) -> Self {
        Play {
            spec,
            before: None,
            link,
            origin: Instant::ZERO,
            stretch: 1,
            seed: 1,
            nudge: false,
            punctual: false,
            renewed: false,
        }
    }

    /// On a link of half the rate, with all times doubled.
    pub fn slow(mut self) -> Self {
        self.link = half_as_fast(&self.link);
        self.stretch = 2;
        self
    }

    /// Plays, holds the queue to its contract after every step, empties it, and gives what happened.
    pub fn run(&self, ops: &[Op]) -> Vec<Event> {
        let mut state = State::new(self);
        for op in ops {
            state.step(*op);
            state.check();
        }
        state.empty();
        state.log.0
    }
}

struct State<'a> {
    play: &'a Play<'a>,
    queue: Box<dyn Qdisc<Pkt>>,
    /// The most packets and bytes that may wait, as the queue was last told.
    limits: (f64, u64),
    now: Instant,
    rng: Rng,
    log: Log,
    /// How much of the log has been checked.
    seen: usize,
    offered: u64,
    delivered: u64,
    dropped: u64,
    marked: u64,
    inside: Inside,
    /// The last packet delivered of each lane.
    last: BTreeMap<u64, u64>,
}

impl<'a> State<'a> {
    fn new(play: &'a Play<'a>) -> Self {
        let made = play.before.unwrap_or(play.spec);
        let mut queue = made.build(&play.link, play.origin).unwrap_or_else(|e| panic!("{made:?}: {e}"));
        let (mut rng, mut log) = (Rng::stream(play.seed, "conformance"), Log::default());
        if play.before.is_some() {
            let changed = queue.reconfigure(play.spec, &play.link, &mut cx(play.origin, &mut rng, &mut log));
            changed.unwrap_or_else(|e| panic!("{made:?} to {:?}: {e}", play.spec));
        }
        State {
            play,
            queue,
            limits: limits(play.spec, &play.link),
            now: play.origin,
            rng,
            log,
            seen: 0,
            offered: 0,
            delivered: 0,
            dropped: 0,
            marked: 0,
            inside: Inside::default(),
            last: BTreeMap::new(),
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Advance(time) => self.advance(time * self.play.stretch),
            Op::Enqueue { len, flow, class, ecn } => self.enqueue(Pkt { id: self.offered, len, flow, class, ecn }),
            Op::Burst { packets, flow, class } => {
                for _ in 0..packets {
                    self.enqueue(Pkt { class, ..Pkt::new(self.offered, flow) });
                }
            }
            Op::Dequeue { times } => {
                for _ in 0..times {
                    self.dequeue();
                }
            }
            Op::Wakeup => self.queue.on_wakeup(&mut cx(self.now, &mut self.rng, &mut self.log)),
            Op::Reconfigure(to) => self.reconfigure(LIMITS[usize::from(to)]),
        }
        if self.play.renewed {
            self.reconfigure("");
        }
        if self.play.nudge {
            for _ in 0..2 {
                self.queue.on_wakeup(&mut cx(self.now, &mut self.rng, &mut self.log));
            }
        }
    }

    fn advance(&mut self, time: Duration) {
        let then = self.now + time;
        while let Some(at) = self.queue.wakeup().filter(|&at| self.play.punctual && self.now < at && at <= then) {
            self.now = at;
            self.queue.on_wakeup(&mut cx(self.now, &mut self.rng, &mut self.log));
        }
        self.now = then;
    }

    fn enqueue(&mut self, packet: Pkt) {
        self.offered += 1;
        self.inside.push(packet);
        self.queue.enqueue(packet, &mut cx(self.now, &mut self.rng, &mut self.log));
    }

    /// Asks for a packet; gives when to come again where one is held back.
    fn dequeue(&mut self) -> Option<Instant> {
        let answer = self.queue.dequeue(&mut cx(self.now, &mut self.rng, &mut self.log));
        let (event, again) = match answer {
            Dequeued::Packet(packet) => (Event::Out(packet), None),
            Dequeued::Empty => (Event::Empty, None),
            Dequeued::NotBefore(at) => (Event::Held, Some(at)),
        };
        self.log.0.push(event);
        again
    }

    fn reconfigure(&mut self, limit: &str) {
        let spec = if limit.is_empty() { self.play.spec.clone() } else { with_limit(self.play.spec, limit) };
        let changed = self.queue.reconfigure(&spec, &self.play.link, &mut cx(self.now, &mut self.rng, &mut self.log));
        if changed.is_ok() {
            self.limits = limits(&spec, &self.play.link);
        }
    }

    /// The contract.
    fn check(&mut self) {
        for event in self.log.0.split_off(self.seen) {
            self.account(event);
            self.log.0.push(event);
        }
        self.seen = self.log.0.len();
        let (stats, backlog) = (*self.queue.stats(), self.queue.backlog());
        assert_eq!(
            (stats.enqueued, stats.dequeued, stats.drops(), stats.marks()),
            (self.offered, self.delivered, self.dropped, self.marked),
            "the counters are wrong"
        );
        assert_eq!(stats.enqueued, stats.dequeued + stats.drops() + backlog.packets, "a packet was lost or made");
        let inside = (self.inside.count as u64, self.inside.bytes);
        assert_eq!((backlog.packets, backlog.bytes), inside, "the backlog is wrong");
        let mut shown = (0, 0);
        self.queue.waiting(&mut |_, packet| shown = (shown.0 + 1, shown.1 + u64::from(packet.len())));
        assert_eq!(shown, inside, "the packets shown are not those that wait");
        let (max_packets, max_bytes) = self.limits;
        assert!(backlog.packets as f64 <= max_packets && backlog.bytes <= max_bytes, "{backlog:?} is over the limit");
    }

    fn account(&mut self, event: Event) {
        let before = match event {
            Event::Out(p) | Event::Dropped(p, _) => self.inside.remove(p.id),
            Event::Marked(p, _) => {
                self.marked += 1;
                return self.inside.mark(p);
            }
            Event::Empty => return assert_eq!(self.inside.count, 0, "there was something to send"),
            Event::Held => return,
        };
        match event {
            Event::Out(packet) => {
                self.delivered += 1;
                assert_eq!(packet, before, "a packet comes out as it was, with the marks that were announced");
                let entered = self.inside.entered[packet.id as usize];
                let last = self.last.insert(lane(self.play.spec, &entered), packet.id);
                assert!(last.is_none_or(|last| last < packet.id), "flow {} was put out of order", packet.flow);
            }
            Event::Dropped(_, why) => {
                self.dropped += 1;
                assert!(Why::ALL.contains(&why));
            }
            _ => {}
        }
    }

    /// Empties the queue: as many calls as packets, and one for each wait. In a tree, each queue may have a packet wait.
    fn empty(&mut self) {
        let queues = 1 + self.play.spec.inner(&self.play.link).len();
        let mut calls = (1 + queues) * self.inside.count + 1;
        while self.inside.count > 0 {
            calls -= 1;
            assert!(calls > 0, "the queue does not drain");
            if let Some(at) = self.dequeue() {
                assert!(at > self.now, "held until now");
                self.now = at;
            }
            self.check();
        }
        assert_eq!(self.dequeue(), None);
        assert_eq!(self.log.0.last(), Some(&Event::Empty));
    }
}

/// The packets in the queue. The n-th packet offered has the number n.
#[derive(Default)]
struct Inside {
    /// Every packet offered, as it arrived.
    entered: Vec<Pkt>,
    /// Those inside, with the marks they have got since.
    waiting: Vec<Option<Pkt>>,
    count: usize,
    bytes: u64,
}

impl Inside {
    fn push(&mut self, packet: Pkt) {
        assert_eq!(packet.id, self.entered.len() as u64);
        self.entered.push(packet);
        self.waiting.push(Some(packet));
        self.count += 1;
        self.bytes += u64::from(packet.len());
    }

    fn mark(&mut self, packet: Pkt) {
        let waiting = self.waiting[packet.id as usize].as_mut();
        *waiting.expect("a packet inside is marked") = packet;
    }

    fn remove(&mut self, id: u64) -> Pkt {
        let packet = self.waiting[id as usize].take().expect("each packet comes out once");
        self.count -= 1;
        self.bytes -= u64::from(packet.len());
        packet
    }
}

/// Applies `f` to each limit in the parameters.
fn each_limit(value: &mut Value, f: &mut dyn FnMut(&mut Value)) {
    if let Some(limit) = value.get_mut("limit") {
        f(limit);
    }
    if let Some(limit) = value.get_mut("direct_qlen") {
        f(limit);
    }
    if let Some(inner) = value.get_mut("aqm").filter(|inner| inner.is_object()) {
        each_limit(inner, f);
    }
    for class in value.get_mut("classes").and_then(Value::as_array_mut).into_iter().flatten() {
        each_limit(class, f);
    }
}

/// The same parameters with every limit changed.
pub fn with_limit(spec: &Spec, limit: &str) -> Spec {
    let mut value = serde_json::to_value(spec).expect("parameters are plain data");
    each_limit(&mut value, &mut |old| *old = Value::from(limit));
    if spec.name() == "cbq" && value.get("classes").is_none() {
        value = serde_json::json!({ "classes": [{ "share": 1.0, "limit": limit }] });
    }
    Spec::read(spec.name(), value).expect("a changed limit reads back")
}

/// The most packets and bytes that may wait, over all of a discipline's queues.
pub fn limits(spec: &Spec, link: &Link) -> (f64, u64) {
    let mut value = serde_json::to_value(spec.effective(link).expect("it was built")).expect("plain data");
    // A packet of each class of a tree may have left its queue and wait outside. `pfifo-fast` and `fq` have three queues, and
    // `fq` another one of eight packets.
    let outside = spec.inner(link).len() as f64;
    let queues = if matches!(spec.name(), "pfifo-fast" | "fq") { 3 } else { 1 };
    let fast = if spec.name() == "fq" { 8 } else { 0 };
    let (mut packets, mut bytes) = (outside, 1600 * outside as u64);
    each_limit(&mut value, &mut |limit| match parse_amount(limit.as_str().unwrap_or("")) {
        Ok(Amount::Packets(max)) => (packets, bytes) = (packets + max, u64::MAX),
        Ok(Amount::Bytes(max)) => (packets, bytes) = (f64::INFINITY, bytes.saturating_add(max)),
        Err(e) => panic!("{e}"),
    });
    let infinite = packets.is_infinite();
    let bytes =
        if infinite { u64::from(queues as u8).saturating_mul(bytes).saturating_add(1600 * fast) } else { bytes };
    (f64::from(queues) * packets + fast as f64, bytes)
}
