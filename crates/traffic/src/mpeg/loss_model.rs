//! How many frames a lost packet costs: the calculation of parris01, tables A.6 and A.7.
//!
//! A frame is lost with any of its packets, and so are the frames that refer to it. The tables assume one lost packet
//! per group of pictures; with more, frames would be counted twice, so the numbers are valid up to that loss rate only.
//! [`Group::playable`] has no such limit.

use super::movie::Kind;

/// A group of pictures, by type of frame: I, P, B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Packets per frame.
    pub packets: [f64; 3],
    /// Frames per group.
    pub frames: [f64; 3],
    /// Unplayable frames per lost frame of this type, including that frame.
    pub effective: [f64; 3],
}

impl Group {
    /// Tables A.6 and A.7: `IBBPBB`, open, with packets rounded up.
    pub const PARRIS: Group = Group { packets: [6.0, 2.0, 1.0], frames: [1.0, 1.0, 4.0], effective: [8.0, 5.0, 1.0] };

    /// Packets of all frames of one type in a group.
    #[must_use]
    pub fn packets_of(&self, kind: Kind) -> f64 {
        self.packets[kind as usize] * self.frames[kind as usize]
    }

    /// Packets per group.
    #[must_use]
    pub fn total_packets(&self) -> f64 {
        Kind::ALL.iter().map(|&k| self.packets_of(k)).sum()
    }

    /// Frames per group.
    #[must_use]
    pub fn total_frames(&self) -> f64 {
        self.frames.iter().sum()
    }

    /// The probability that a lost packet belongs to this type.
    #[must_use]
    pub fn share(&self, kind: Kind) -> f64 {
        self.packets_of(kind) / self.total_packets()
    }

    /// Unplayable frames per group because of losses in this type, at this packet loss rate.
    #[must_use]
    pub fn lost_to(&self, kind: Kind, loss: f64) -> f64 {
        loss * self.packets_of(kind) * self.effective[kind as usize]
    }

    /// Unplayable frames per group, at this packet loss rate.
    #[must_use]
    pub fn lost(&self, loss: f64) -> f64 {
        Kind::ALL.iter().map(|&k| self.lost_to(k, loss)).sum()
    }

    /// Playable share of the frames of an open `IBBPBB` with independent packet losses at this rate: every frame needs
    /// the group's I frame, all but that one the P frame, and the last two the next I frame.
    #[must_use]
    pub fn playable(&self, loss: f64) -> f64 {
        let [i, p, b] = self.packets.map(|n| libm::pow(1.0 - loss, n));
        (i + i * p + 2.0 * i * p * b + 2.0 * i * p * i * b) / 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_IN_TWELVE: f64 = 1.0 / 12.0;

    #[test]
    fn table_a7() {
        let g = Group::PARRIS;
        let near =
            |got: f64, printed: f64, digit: f64| assert!((got - printed).abs() <= digit, "{got} is not {printed}");
        near(g.total_packets(), 12.0, 0.0);
        for (kind, packets, share, lost, rate) in
            [(Kind::I, 6.0, 50.0, 4.0, 33.0), (Kind::B, 4.0, 33.3, 0.333, 2.8), (Kind::P, 2.0, 16.6, 0.833, 6.9)]
        {
            near(g.packets_of(kind), packets, 0.0);
            near(100.0 * g.share(kind), share, 0.1);
            near(g.lost_to(kind, ONE_IN_TWELVE), lost, 0.001);
            // The tables divide by the packets of a group, not by its frames.
            near(100.0 * g.lost_to(kind, ONE_IN_TWELVE) / g.total_packets(), rate, 0.4);
        }
        near(g.lost(ONE_IN_TWELVE), 5.166, 0.001);
        near(100.0 * g.lost(ONE_IN_TWELVE) / g.total_packets(), 43.0, 0.1);
        // "Almost 5 times the packet loss rate" divides by packets, too.
        near(g.lost(ONE_IN_TWELVE) / g.total_packets() / ONE_IN_TWELVE, 5.0, 0.2);
        // Relative to the six frames it is 86 %.
        near(g.lost(ONE_IN_TWELVE) / g.total_frames(), 0.861, 0.001);
    }

    #[test]
    fn the_sum_and_the_product_agree_for_rare_losses() {
        let g = Group::PARRIS;
        let lost = 6.0 * (1.0 - g.playable(1e-5));
        assert!((lost / g.lost(1e-5) - 1.0).abs() < 1e-3, "{lost}");
        // At one in twelve several losses fall into one group, and fewer frames are lost than in the tables.
        assert!(6.0 * (1.0 - g.playable(ONE_IN_TWELVE)) < 0.75 * g.lost(ONE_IN_TWELVE));
    }
}
