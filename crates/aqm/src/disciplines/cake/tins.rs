//! CAKE's tins: the mapping from codepoints, and each tin's share of the link.

use aqmkit_base::BitRate;
use serde::{Deserialize, Serialize};

/// How packets are assigned to tins by their codepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Diffserv {
    /// One tin.
    BestEffort,
    /// Eight, by the upper three bits: the IP precedence of RFC 791.
    Precedence,
    /// Low priority, best effort, latency sensitive.
    #[default]
    Diffserv3,
    /// Background, best effort, streaming, latency sensitive.
    Diffserv4,
    /// Eight classes of applications.
    Diffserv8,
}

/// A tin before its rate is known: its name, its share of the link's rate, and its weight without a shaper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    pub(super) name: &'static str,
    /// It has priority up to this share of the rate.
    pub(super) part: f64,
    /// Its bytes per round of the tins.
    pub(super) quantum: i64,
}

const fn share(name: &'static str, part: f64, quantum: i64) -> Share {
    Share { name, part, quantum }
}

/// Names of tins by number, if there are eight.
const EIGHT: [&str; 8] = ["tin0", "tin1", "tin2", "tin3", "tin4", "tin5", "tin6", "tin7"];

/// The tins of `diffserv8` by codepoint.
const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2, 5, 2, 4, 2, 4, 2, 4, 2, 3, 2, 3, 2, 3, 2, 3, 2, 6, 2, 3, 2, 3, 2,
    3, 2, 6, 2, 2, 2, 6, 2, 6, 2, 7, 2, 2, 2, 2, 2, 2, 2, 7, 2, 2, 2, 2, 2, 2, 2,
];

impl Diffserv {
    /// The tin of a codepoint.
    pub(super) fn tin(self, dscp: usize) -> usize {
        match self {
            Diffserv::BestEffort => 0,
            Diffserv::Precedence => dscp / 8,
            Diffserv::Diffserv8 => DIFFSERV8[dscp].into(),
            Diffserv::Diffserv3 => match dscp {
                // LE, CS1
                1 | 8 => 1,
                // the minimum delay of RFC 1349, VA, EF, CS6, CS7
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Diffserv::Diffserv4 => match dscp {
                // LE, CS1
                1 | 8 => 1,
                // the minimum delay of RFC 1349, CS2, AF2x, CS3, AF3x, AF4x
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                // CS4, CS5, VA, EF, CS6, CS7
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
        }
    }

    /// The tins in increasing priority: of two within their rates, the later one is served.
    pub(super) fn shares(self) -> Vec<Share> {
        match self {
            Diffserv::BestEffort => vec![share("best effort", 1.0, 65_535)],
            Diffserv::Diffserv3 => {
                vec![share("best effort", 1.0, 1024), share("bulk", 1.0 / 16.0, 64), share("voice", 0.25, 256)]
            }
            Diffserv::Diffserv4 => vec![
                share("best effort", 1.0, 1024),
                share("bulk", 1.0 / 16.0, 64),
                share("video", 0.5, 512),
                share("voice", 0.25, 256),
            ],
            // Each has seven eighths of the previous one's rate.
            Diffserv::Precedence | Diffserv::Diffserv8 => {
                let (mut part, mut quantum) = (1.0, 256);
                let mut next = |name| {
                    let this = share(name, part, quantum);
                    (part, quantum) = (part * 7.0 / 8.0, quantum * 7 / 8);
                    this
                };
                EIGHT.into_iter().map(&mut next).collect()
            }
        }
    }
}

/// Bytes that a flow of a tin sends per round: what the tin sends in 1/4096 s, between 300 and 1500.
pub(super) fn flow_quantum(rate: Option<BitRate>) -> u64 {
    rate.map_or(1500, |rate| (rate.as_bps() / 8 / 4096).clamp(300, 1500))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codepoints that the names of the tins mean, with those of RFC 4594 and RFC 8622.
    #[test]
    fn codepoints_find_their_tins() {
        let tins = |by: Diffserv| [0, 1, 8, 10, 26, 34, 32, 46, 48].map(|dscp| by.tin(dscp));
        assert_eq!(tins(Diffserv::BestEffort), [0; 9]);
        assert_eq!(tins(Diffserv::Precedence), [0, 0, 1, 1, 3, 4, 4, 5, 6]);
        assert_eq!(tins(Diffserv::Diffserv3), [0, 1, 1, 0, 0, 0, 0, 2, 2]);
        assert_eq!(tins(Diffserv::Diffserv4), [0, 1, 1, 0, 2, 2, 3, 3, 3]);
        assert_eq!(tins(Diffserv::Diffserv8), [2, 0, 1, 1, 3, 3, 6, 6, 7]);
        for by in
            [Diffserv::BestEffort, Diffserv::Precedence, Diffserv::Diffserv3, Diffserv::Diffserv4, Diffserv::Diffserv8]
        {
            assert!((0..64).all(|dscp| by.tin(dscp) < by.shares().len()), "{by:?}");
        }
    }

    #[test]
    fn a_tin_has_seven_eighths_of_the_one_before() {
        let eight = Diffserv::Precedence.shares();
        assert_eq!(eight.iter().map(|tin| tin.quantum).collect::<Vec<_>>(), [256, 224, 196, 171, 149, 130, 113, 98]);
        assert_eq!(eight[2].part, 49.0 / 64.0);
    }

    #[test]
    fn a_round_of_a_flow_follows_the_rate() {
        let quantum = |mbit| flow_quantum(Some(BitRate::from_mbps(mbit)));
        assert_eq!((quantum(1), quantum(20), quantum(100), flow_quantum(None)), (300, 610, 1500, 1500));
    }
}
