//! A single discipline without a network around it: the workload of the per-packet benchmarks.
//!
//! It is here, and not with the command that prints the times, so that it runs the same code as the simulator: the
//! discipline as compiled for the simulator's packets, optimised for speed.

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Cx, Dequeued, Discard, Ends, ParamError, Qdisc};
use aqmkit_base::{Bytes, ClassId, Duration, Ecn, FlowKey, Instant, Rng};

use crate::packet::Queued;

/// Packets that arrive together, and then leave.
pub const BURST: u64 = 16;

/// Bytes of a packet.
const LEN: u32 = 1000;

/// The load on the link.
const LOAD: f64 = 0.98;

/// A discipline with a queue that is neither empty nor full: packets of several flows arrive in bursts of 16 at 98 % of
/// the link's rate, and 16 leave after each burst.
pub struct Alone {
    queue: Box<dyn Qdisc<Queued>>,
    rng: Rng,
    flows: u64,
    /// Between two arrivals.
    gap: Duration,
    now: Instant,
    /// Packets so far.
    number: u64,
}

impl Alone {
    /// An empty queue for packets of this many flows, at least one. Every fourth flow belongs to the link's second
    /// class, the others to its first.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(spec: &Spec, link: &Link, flows: u64) -> Result<Self, ParamError> {
        Ok(Alone {
            queue: spec.build(link, Instant::ZERO)?,
            rng: Rng::stream(1, "bench"),
            flows: flows.max(1),
            gap: link.rate.time_to_send(Bytes(u64::from(LEN))).mul_f64(1.0 / LOAD),
            now: Instant::ZERO,
            number: 0,
        })
    }

    /// Lets bursts arrive and leave; returns how many packets left.
    pub fn bursts(&mut self, bursts: u64) -> u64 {
        (0..bursts).map(|_| self.burst()).sum()
    }

    fn burst(&mut self) -> u64 {
        for _ in 0..BURST {
            self.now += self.gap;
            let packet = self.packet();
            self.queue.enqueue(packet, &mut Cx { now: self.now, rng: &mut self.rng, sink: &mut Discard });
        }
        let mut left = 0;
        for _ in 0..BURST {
            match self.queue.dequeue(&mut Cx { now: self.now, rng: &mut self.rng, sink: &mut Discard }) {
                Dequeued::Packet(_) => left += 1,
                Dequeued::Empty => break,
                Dequeued::NotBefore(_) => {}
            }
        }
        left
    }

    /// The next packet, of a pseudo-random flow.
    fn packet(&mut self) -> Queued {
        let flow = self.number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % self.flows;
        self.number += 1;
        Queued {
            flow: FlowKey(flow),
            id: 0,
            len: LEN,
            label: 0.0,
            ends: Ends::of(FlowKey(flow)),
            ack: None,
            class: ClassId(u8::from(flow.is_multiple_of(4))),
            ecn: Ecn::Ect0,
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::BitRate;

    use super::*;

    #[test]
    fn a_queue_that_drops_nothing_lets_all_pass() {
        let link = Link::new(BitRate::from_mbps(1000));
        let mut alone = Alone::new(&Spec::named("fifo").unwrap(), &link, 1000).unwrap();
        assert_eq!(alone.bursts(100), 1600);
        assert_eq!(alone.queue.backlog().packets, 0);
        let arrived = link.rate.time_to_send(Bytes(1600 * 1000)).as_secs_f64() / LOAD;
        assert!((alone.now.as_secs_f64() / arrived - 1.0).abs() < 1e-3, "98 % of the rate");
    }

    #[test]
    fn flows_take_turns() {
        let link = Link::new(BitRate::from_mbps(1000));
        let mut alone = Alone::new(&Spec::named("fifo").unwrap(), &link, 10).unwrap();
        let mut seen = [0; 10];
        for _ in 0..10_000 {
            seen[alone.packet().flow.0 as usize] += 1;
        }
        assert!(seen.iter().all(|n| (900..1100).contains(n)), "{seen:?}");
    }
}
