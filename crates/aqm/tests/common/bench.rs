//! A queue on the bench, for examples worked by hand.

use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Qdisc, Why};
use aqmkit_base::{Duration, Instant, Rng};

use super::{Event, Log, Pkt, cx, link, spec};

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

    pub fn of(name: &str, json: &str) -> Self {
        Bench::new(&spec(name, json))
    }

    /// Advances the clock, without waking the queue.
    pub fn after(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self
    }

    pub fn ms(&mut self, ms: u64) -> &mut Self {
        self.after(Duration::from_millis(ms))
    }

    pub fn wake(&mut self) -> &mut Self {
        self.queue.on_wakeup(&mut cx(self.now, &mut self.rng, &mut self.log));
        self
    }

    /// The drops and marks made by `step`: the packet's number and the reason.
    pub fn signals<T>(&mut self, step: impl FnOnce(&mut Self) -> T) -> (Vec<(u64, Why)>, T) {
        let seen = self.log.0.len();
        let result = step(self);
        let signal = |e: &Event| match e {
            Event::Dropped(packet, why) | Event::Marked(packet, why) => (packet.id, *why),
            _ => unreachable!("only drops and marks are logged"),
        };
        (self.log.0[seen..].iter().map(signal).collect(), result)
    }

    /// Enqueues the next packet.
    pub fn enqueue(&mut self, packet: Pkt) {
        self.next += 1;
        let packet = Pkt { id: self.next, ..packet };
        self.queue.enqueue(packet, &mut cx(self.now, &mut self.rng, &mut self.log));
    }

    pub fn dequeue(&mut self) -> Option<Pkt> {
        self.queue.dequeue(&mut cx(self.now, &mut self.rng, &mut self.log)).packet()
    }

    /// Enqueues the next packet; the reasons of the drops and marks that it caused.
    pub fn offer(&mut self, packet: Pkt) -> Vec<Why> {
        self.signals(|b| b.enqueue(packet)).0.into_iter().map(|(_, why)| why).collect()
    }

    pub fn flow(&mut self, flow: u64) -> Vec<Why> {
        self.offer(Pkt::new(0, flow))
    }

    /// The number of the last packet enqueued.
    pub fn offered(&self) -> u64 {
        self.next
    }

    pub fn take(&mut self) -> Option<u64> {
        self.dequeue().map(|packet| packet.id)
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
