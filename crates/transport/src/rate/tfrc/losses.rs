//! Which packets are lost, and when (RFC 5348 sections 5.1 and 5.2).

use aqmkit_base::Instant;

/// A missing packet counts as lost after this many later packets.
const NDUPACK: u8 = 3;

/// A received packet.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Arrival {
    seq: u64,
    at: Instant,
}

/// Consecutive missing packets, between two received ones.
#[derive(Clone, Copy, Debug)]
struct Gap {
    before: Arrival,
    after: Arrival,
    /// Packets received after the gap.
    later: u8,
}

/// Detects losses in the order of packet numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    highest: Option<Arrival>,
    gaps: Vec<Gap>,
}

impl Losses {
    /// The highest number received.
    #[must_use]
    pub(super) fn highest(&self) -> Option<u64> {
        self.highest.map(|h| h.seq)
    }

    /// Packet `seq` has arrived. Calls `lost` for each packet that now counts as lost, in order, with the time at which
    /// it would have arrived, interpolated between its neighbours [section 5.2].
    pub(super) fn on_packet(&mut self, seq: u64, at: Instant, mut lost: impl FnMut(u64, Instant)) {
        let arrival = Arrival { seq, at };
        let highest = match self.highest {
            Some(highest) => highest,
            // Losses before the first arrival count as simultaneous with it: their times are unknown.
            None if seq > 0 => {
                (0..seq).for_each(|n| lost(n, at));
                arrival
            }
            None => arrival,
        };
        if seq > highest.seq + 1 {
            self.gaps.push(Gap { before: highest, after: arrival, later: 0 });
        } else if seq < highest.seq {
            self.fill(arrival);
        }
        if seq >= highest.seq {
            self.highest = Some(arrival);
        }
        self.gaps.iter_mut().filter(|g| g.after.seq <= seq).for_each(|g| g.later += 1);
        self.gaps.retain(|gap| {
            if gap.later >= NDUPACK {
                (gap.before.seq + 1..gap.after.seq).for_each(|n| lost(n, gap.time_of(n)));
            }
            gap.later < NDUPACK
        });
    }

    /// A late packet shortens its gap, or splits it in two.
    fn fill(&mut self, arrival: Arrival) {
        let within = |g: &Gap| g.before.seq < arrival.seq && arrival.seq < g.after.seq;
        let Some(i) = self.gaps.iter().position(within) else { return };
        let gap = self.gaps.remove(i);
        let halves = [Gap { after: arrival, ..gap }, Gap { before: arrival, ..gap }];
        let open = halves.into_iter().filter(|g| g.after.seq > g.before.seq + 1);
        self.gaps.splice(i..i, open);
    }
}

impl Gap {
    fn time_of(&self, seq: u64) -> Instant {
        let share = (seq - self.before.seq) as f64 / (self.after.seq - self.before.seq) as f64;
        self.before.at + self.after.at.since(self.before.at).mul_f64(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    /// Packets of these numbers, 10 ms apart; what is found lost at which arrival, and the time it gets.
    fn play(order: &[u64]) -> Vec<(u64, u64, Instant)> {
        let (mut losses, mut found) = (Losses::default(), Vec::new());
        for (i, &seq) in order.iter().enumerate() {
            losses.on_packet(seq, ms(10 * i as u64), |lost, at| found.push((seq, lost, at)));
        }
        found
    }

    /// By hand: 2 and 3 are missing between 1 (at 10 ms) and 4 (at 20 ms), so they are of 13.3 and 16.7 ms; the third
    /// packet from above is 6.
    #[test]
    fn three_later_packets_make_a_loss() {
        let found = play(&[0, 1, 4, 5, 6, 7]);
        let at = |ns| Instant::from_nanos(ns);
        assert_eq!(found, [(6, 2, at(13_333_333)), (6, 3, at(16_666_667))]);
    }

    #[test]
    fn what_comes_late_is_not_lost() {
        assert_eq!(play(&[0, 1, 3, 4, 2, 5, 6, 7]), []);
        // 3 fills a hole of three: 2 and 4 are left.
        let lost: Vec<u64> = play(&[0, 1, 5, 3, 6, 7]).iter().map(|f| f.1).collect();
        assert_eq!(lost, [2, 4]);
        assert_eq!(play(&[0, 1, 1, 2, 2, 3]), [], "duplicates");
    }
}
