//! When packets arrive at the other end of a wire, and which do not.

use super::{Loss, Slot, Wire};
use crate::{Bytes, Duration, Instant, Rng};

/// The wire of one link.
#[derive(Clone, Debug)]
pub struct Propagation {
    delay: Duration,
    wire: Wire,
    /// No impairments, only delay: the usual case.
    perfect: bool,
    losses: Hits,
    marks: Hits,
    /// The latest arrival of a packet that was not reordered.
    latest: Instant,
    /// The slot that is open, or opens next.
    slot: Opening,
    shake: Rng,
}

/// A slot and its remaining capacity.
#[derive(Clone, Copy, Debug, Default)]
struct Opening {
    at: Instant,
    packets: u32,
    bytes: u64,
}

/// Decides which packets are lost or marked.
#[derive(Clone, Debug)]
struct Hits {
    by: Loss,
    /// The state of the Gilbert-Elliott model.
    bad: bool,
    /// Packets since the start of the cycle, if losses are evenly spaced.
    since: u64,
    noise: Rng,
}

impl Hits {
    fn new(by: Loss, noise: Rng) -> Self {
        Hits { by, bad: false, since: 0, noise }
    }

    /// Whether the next packet is lost or marked.
    fn next(&mut self) -> bool {
        match self.by {
            Loss::Random(share) => self.noise.chance(share),
            Loss::Every { n, burst } => {
                self.since = self.since % n.max(1) + 1;
                self.since + burst > n
            }
            Loss::GilbertElliott { p, r, bad, good } => {
                // As in netem, the state changes after each packet.
                let (leaves, hits) = if self.bad { (r, bad) } else { (p, good) };
                self.bad ^= self.noise.chance(leaves);
                self.noise.chance(hits)
            }
        }
    }
}

impl Propagation {
    /// The wire of the link with this name, which has its own random streams.
    #[must_use]
    pub fn new(link: &str, delay: Duration, wire: Wire, seed: u64) -> Self {
        Propagation {
            delay,
            wire,
            perfect: wire == Wire::default(),
            losses: Hits::new(wire.loss, Rng::stream(seed, &format!("link.{link}.loss"))),
            marks: Hits::new(wire.mark, Rng::stream(seed, &format!("link.{link}.mark"))),
            latest: Instant::ZERO,
            slot: Opening::default(),
            shake: Rng::stream(seed, &format!("link.{link}.wire")),
        }
    }

    /// Arrival time of a packet of this length whose last bit is sent at `sent`.
    #[inline]
    pub fn arrival(&mut self, sent: Instant, len: u32) -> Instant {
        if self.perfect { (sent + self.delay).max(self.latest) } else { self.impaired_arrival(sent, len) }
    }

    #[inline(never)]
    fn impaired_arrival(&mut self, sent: Instant, len: u32) -> Instant {
        let mut arrival = (sent + self.delay).max(self.latest);
        if !self.wire.jitter.is_zero() {
            arrival = sent + self.delay + self.wire.jitter.mul_f64(self.shake.uniform());
            if !self.wire.overtaking {
                arrival = arrival.max(self.latest);
                self.latest = arrival;
            }
        }
        match self.wire.reorder {
            Some(reorder) if self.shake.chance(reorder.chance) => arrival += reorder.delay,
            _ => {}
        }
        match self.wire.slot {
            Some(slot) => self.in_slot(slot, arrival, sent, len),
            None => arrival,
        }
    }

    /// The slot in which a packet is delivered that could be delivered at `ready`. As netem's `get_slot_next`: a slot stays open until it
    /// is full or a packet comes that is ready later; the next one is drawn from then, which is when that packet is seen behind the
    /// others, at the earliest when it enters the wire.
    fn in_slot(&mut self, slot: Slot, ready: Instant, sent: Instant, len: u32) -> Instant {
        if self.slot.at < ready {
            self.open_after(slot, self.slot.at.max(sent));
        }
        if self.slot.at < ready {
            self.open_after(slot, ready);
        }
        let delivered = self.slot.at;
        self.slot.packets = self.slot.packets.saturating_sub(1);
        self.slot.bytes = self.slot.bytes.saturating_sub(len.into());
        if self.slot.packets == 0 || self.slot.bytes == 0 {
            self.open_after(slot, delivered);
        }
        delivered
    }

    fn open_after(&mut self, slot: Slot, from: Instant) {
        let Slot { min, max, packets, bytes: Bytes(bytes) } = slot;
        let wait = min + max.saturating_sub(min).mul_f64(self.shake.uniform());
        let packets = if packets == 0 { u32::MAX } else { packets };
        let bytes = if bytes == 0 { u64::MAX } else { bytes };
        self.slot = Opening { at: from + wait, packets, bytes };
    }

    /// Changes the settings. `last` is the time at which the last bit of the latest packet is sent; packets sent later
    /// do not overtake it.
    pub fn change(&mut self, delay: Duration, wire: Wire, last: Instant) {
        if delay < self.delay {
            self.latest = self.latest.max(last + self.delay);
        }
        (self.delay, self.wire, self.perfect) = (delay, wire, wire == Wire::default());
        for (hits, by) in [(&mut self.losses, wire.loss), (&mut self.marks, wire.mark)] {
            if hits.by != by {
                (hits.by, hits.bad, hits.since) = (by, false, 0);
            }
        }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn loses(&mut self) -> bool {
        !self.perfect && self.losses.next()
    }

    /// Whether the next ECN-capable packet is marked.
    #[inline]
    pub fn marks(&mut self) -> bool {
        !self.perfect && self.marks.next()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reorder;
    use super::*;

    fn wire(wire: Wire) -> Propagation {
        Propagation {
            delay: Duration::from_millis(10),
            wire,
            perfect: wire == Wire::default(),
            losses: Hits::new(wire.loss, Rng::stream(1, "loss")),
            marks: Hits::new(wire.mark, Rng::stream(1, "mark")),
            latest: Instant::ZERO,
            slot: Opening::default(),
            shake: Rng::stream(1, "wire"),
        }
    }

    /// Arrivals of packets sent each millisecond, in milliseconds after they were sent.
    fn delays(wire: &mut Propagation, n: u64) -> Vec<f64> {
        let sent = |i| Instant::ZERO + Duration::from_millis(i);
        (0..n).map(|i| wire.arrival(sent(i), 1000).since(sent(i)).as_millis_f64()).collect()
    }

    #[test]
    fn jitter_with_overtaking_is_uniform_at_any_rate() {
        // 10 us apart, and up to 5 ms late: with the order kept nearly all would have nearly all of it.
        let jitter = Duration::from_millis(5);
        let mean = |overtaking| {
            let mut wire = wire(Wire { jitter, overtaking, ..Wire::default() });
            let sent = |i: u64| Instant::ZERO + Duration::from_micros(10 * i);
            let sum: f64 = (0..100_000).map(|i| wire.arrival(sent(i), 1000).since(sent(i)).as_millis_f64()).sum();
            sum / 100_000.0
        };
        // Beside the 10 ms of the wire.
        assert!((mean(true) - 12.5).abs() < 0.05, "{}", mean(true));
        assert!(mean(false) > 14.5, "{}", mean(false));
    }

    #[test]
    fn jitter_varies_the_delay_and_keeps_the_order() {
        let delays = delays(&mut wire(Wire { jitter: Duration::from_millis(5), ..Wire::default() }), 100_000);
        assert!(delays.iter().all(|d| (10.0..=15.0).contains(d)));
        assert!(delays.windows(2).all(|d| d[1] + 1.0 >= d[0]), "a packet overtakes the one before it");
        let mean = delays.iter().sum::<f64>() / 1e5;
        assert!(mean > 12.5 && mean < 14.5, "{mean}: keeping the order only adds to the 12.5 without it");
    }

    #[test]
    fn reordering_holds_back_the_share_of_packets_that_it_says() {
        let reorder = Reorder { chance: 0.1, delay: Duration::from_millis(3) };
        let delays = delays(&mut wire(Wire { reorder: Some(reorder), ..Wire::default() }), 100_000);
        let held = delays.iter().filter(|d| **d == 13.0).count();
        assert_eq!(delays.iter().filter(|d| **d == 10.0).count() + held, 100_000);
        assert!((9_700..10_300).contains(&held), "{held}: 100 is one standard deviation");
    }

    /// Share lost of many packets, and mean length of the runs of losses.
    fn losses(loss: Loss) -> (f64, f64) {
        let mut wire = wire(Wire { loss, ..Wire::default() });
        let lost: Vec<bool> = (0..400_000).map(|_| wire.loses()).collect();
        let count = lost.iter().filter(|l| **l).count() as f64;
        let runs = lost.chunk_by(|a, b| a == b).filter(|c| c[0]).count() as f64;
        (count / 4e5, count / runs)
    }

    #[test]
    fn random_losses_are_independent() {
        let (share, run) = losses(Loss::Random(0.2));
        assert!((share - 0.2).abs() < 0.005 && (run - 1.25).abs() < 0.02, "{share} {run}");
    }

    /// Gilbert: the share is p / (p + r), and a burst lasts 1 / r packets in the mean.
    #[test]
    fn bursts_have_the_share_and_the_length_of_the_chain() {
        let (share, run) = losses(Loss::GilbertElliott { p: 0.01, r: 0.25, bad: 1.0, good: 0.0 });
        assert!((share - 0.01 / 0.26).abs() < 0.002 && (run - 4.0).abs() < 0.15, "{share} {run}");
        let (half, _) = losses(Loss::GilbertElliott { p: 0.01, r: 0.25, bad: 0.5, good: 0.1 });
        assert!((half - (0.1 + 0.4 * 0.01 / 0.26)).abs() < 0.004, "{half}");
    }

    #[test]
    fn every_fifth_packet_and_no_other() {
        let every = |n, burst| wire(Wire { mark: Loss::Every { n, burst }, ..Wire::default() });
        let marked = |wire: &mut Propagation| (1..=20).filter(|_| wire.marks()).collect::<Vec<_>>();
        let mut fifth = every(5, 1);
        assert_eq!(marked(&mut fifth), [5, 10, 15, 20]);
        assert!(!fifth.loses());
        assert_eq!(marked(&mut every(7, 2)), [6, 7, 13, 14, 20]);
    }

    /// When packets of 1000 bytes that are sent each millisecond arrive, in milliseconds of the run.
    fn arrivals(slot: Slot, n: u64) -> Vec<f64> {
        let mut wire = wire(Wire { slot: Some(slot), ..Wire::default() });
        let sent = |i| Instant::ZERO + Duration::from_millis(i);
        (0..n).map(|i| wire.arrival(sent(i), 1000).since(Instant::ZERO).as_millis_f64()).collect()
    }

    /// Slots every 4 ms: each delivers what became ready (10 ms after it was sent) since the previous one.
    #[test]
    fn a_slot_delivers_what_has_become_ready_together() {
        let each = Slot { min: Duration::from_millis(4), max: Duration::from_millis(4), packets: 0, bytes: Bytes(0) };
        // The first slot would be 4 ms after the first packet entered the wire, before it is ready: then 4 ms after that.
        assert_eq!(arrivals(each, 10), [14.0, 14.0, 14.0, 14.0, 14.0, 18.0, 18.0, 18.0, 18.0, 22.0]);
        // Two packets, or two thousand bytes, and the next slot follows.
        let full = [14.0, 14.0, 18.0, 18.0, 22.0, 22.0];
        assert_eq!(arrivals(Slot { packets: 2, ..each }, 6), full);
        assert_eq!(arrivals(Slot { bytes: Bytes(2000), ..each }, 6), full);
    }

    #[test]
    fn slots_keep_the_order_and_the_longest_delay() {
        let slot = Slot { min: Duration::from_millis(1), max: Duration::from_millis(9), packets: 0, bytes: Bytes(0) };
        let all = arrivals(slot, 50_000);
        assert!(all.is_sorted());
        let delays: Vec<f64> = all.iter().zip(0..).map(|(at, sent)| at - f64::from(sent)).collect();
        assert!(
            delays.iter().all(|delay| (10.0..=19.0).contains(delay)),
            "10 ms of the wire, and a slot of 9 ms at most"
        );
        let slots = all.chunk_by(|a, b| a == b).count() as f64;
        assert!((50_000.0 / slots - 5.0).abs() < 0.1, "{slots}: one each 5 ms in the mean");
    }
}
