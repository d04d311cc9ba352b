//! A queue on the bench, for examples worked by hand.

use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Dequeued, Qdisc, Why};
use aqmkit_base::{Instant, Rng};

use super::{Event, Log, Pkt, cx, link};

/// A queue, and what happens to numbered packets in it.
pub struct Bench {
    pub queue: Box<dyn Qdisc<Pkt>>,
    pub rng: Rng,
    pub log: Log,
    pub now: Instant,
    next: u64,
}

impl Bench {
    pub fn new(spec: &Spec) -> Self {
        let queue = spec.build(&link(), Instant::ZERO).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
        Bench { queue, rng: Rng::stream(1, "worked"), log: Log::default(), now: Instant::ZERO, next: 0 }
    }

    /// Offers the next packet; gives the reasons of the drops and marks that this brought.
    pub fn offer(&mut self, packet: Pkt) -> Vec<Why> {
        self.next += 1;
        let seen = self.log.0.len();
        let packet = Pkt { id: self.next, ..packet };
        self.queue.enqueue(packet, &mut cx(self.now, &mut self.rng, &mut self.log));
        let why = |e: &Event| match e {
            Event::Dropped(_, why) | Event::Marked(_, why) => *why,
            _ => unreachable!("only drops and marks are logged"),
        };
        self.log.0[seen..].iter().map(why).collect()
    }

    pub fn flow(&mut self, flow: u64) -> Vec<Why> {
        self.offer(Pkt::new(0, flow))
    }

    /// The number of the packet that was offered last.
    pub fn offered(&self) -> u64 {
        self.next
    }

    pub fn take(&mut self) -> Option<u64> {
        match self.queue.dequeue(&mut cx(self.now, &mut self.rng, &mut self.log)) {
            Dequeued::Packet(packet) => Some(packet.id),
            _ => None,
        }
    }

    pub fn take_all(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.take()).collect()
    }

    pub fn gauge(&self, name: &str) -> f64 {
        super::gauge(&*self.queue, name)
    }
}

/// No drop and no mark.
pub const PASS: Vec<Why> = Vec::new();
