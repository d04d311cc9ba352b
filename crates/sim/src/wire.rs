//! The wire between a link's transmitter and its other end: propagation, and impairments as in Linux's
//! netem.

use aqmkit_base::{Duration, Instant, Rng};

use crate::scenario::{Link, Loss, Wire};

/// The wire of one link.
#[derive(Clone, Debug)]
pub(crate) struct Propagation {
    delay: Duration,
    wire: Wire,
    /// Whether it only delays packets, the usual case.
    perfect: bool,
    losses: Hits,
    marks: Hits,
    /// The latest arrival so far of a packet that was not reordered.
    latest: Instant,
    shake: Rng,
}

/// Which packets are hit.
#[derive(Clone, Debug)]
struct Hits {
    by: Loss,
    /// Whether they come in a burst now.
    bad: bool,
    /// Packets since the last round began, where they come at even distances.
    since: u64,
    noise: Rng,
}

impl Hits {
    fn new(by: Loss, noise: Rng) -> Self {
        Hits { by, bad: false, since: 0, noise }
    }

    /// Whether the next packet is.
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
    pub(crate) fn new(link: &Link, seed: u64) -> Self {
        Propagation {
            delay: link.delay,
            wire: link.wire,
            perfect: link.wire == Wire::default(),
            losses: Hits::new(link.wire.loss, Rng::stream(seed, &format!("link.{}.loss", link.name))),
            marks: Hits::new(link.wire.mark, Rng::stream(seed, &format!("link.{}.mark", link.name))),
            latest: Instant::ZERO,
            shake: Rng::stream(seed, &format!("link.{}.wire", link.name)),
        }
    }

    /// Arrival time of a packet whose last bit is sent at `sent`.
    pub(crate) fn arrival(&mut self, sent: Instant) -> Instant {
        if self.perfect {
            return (sent + self.delay).max(self.latest);
        }
        let mut arrival = (sent + self.delay).max(self.latest);
        if !self.wire.jitter.is_zero() {
            arrival = sent + self.delay + self.wire.jitter.mul_f64(self.shake.uniform());
            arrival = arrival.max(self.latest);
            self.latest = arrival;
        }
        match self.wire.reorder {
            Some(reorder) if self.shake.chance(reorder.chance) => arrival + reorder.delay,
            _ => arrival,
        }
    }

    /// Other settings from now on. `last` is when the last bit of the latest packet is sent: none overtakes it.
    pub(crate) fn change(&mut self, link: &Link, last: Instant) {
        if link.delay < self.delay {
            self.latest = self.latest.max(last + self.delay);
        }
        (self.delay, self.wire, self.perfect) = (link.delay, link.wire, link.wire == Wire::default());
        for (hits, by) in [(&mut self.losses, link.wire.loss), (&mut self.marks, link.wire.mark)] {
            if hits.by != by {
                (hits.by, hits.bad, hits.since) = (by, false, 0);
            }
        }
    }

    /// Whether the next packet is lost.
    pub(crate) fn loses(&mut self) -> bool {
        !self.perfect && self.losses.next()
    }

    /// Whether the next packet that can carry a mark gets one.
    pub(crate) fn marks(&mut self) -> bool {
        !self.perfect && self.marks.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(wire: Wire) -> Propagation {
        Propagation {
            delay: Duration::from_millis(10),
            wire,
            perfect: wire == Wire::default(),
            losses: Hits::new(wire.loss, Rng::stream(1, "loss")),
            marks: Hits::new(wire.mark, Rng::stream(1, "mark")),
            latest: Instant::ZERO,
            shake: Rng::stream(1, "wire"),
        }
    }

    /// Arrivals of packets sent each millisecond, in milliseconds after they were sent.
    fn delays(wire: &mut Propagation, n: u64) -> Vec<f64> {
        let sent = |i| Instant::ZERO + Duration::from_millis(i);
        (0..n).map(|i| wire.arrival(sent(i)).since(sent(i)).as_millis_f64()).collect()
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
        let reorder = crate::scenario::Reorder { chance: 0.1, delay: Duration::from_millis(3) };
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
}
