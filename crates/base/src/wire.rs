//! The wire of a link: propagation, and impairments as in Linux's netem. The simulator and live links share this code.

mod propagation;
mod text;

pub use propagation::Propagation;
pub use text::{WireError, options};

use serde::Serialize;

use crate::{Bytes, Duration};

/// Impairments of a link's wire, after transmission, with the terms of Linux's netem. The default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wire {
    /// Packet loss.
    pub loss: Loss,
    /// Marks of ECN-capable packets.
    #[serde(skip_serializing_if = "is_none")]
    pub mark: Loss,
    /// The largest additional delay, which is uniform for each packet.
    pub jitter: Duration,
    /// Whether a packet may overtake those with more jitter, as in netem. Otherwise order is kept, so that a packet also waits for those
    /// before it: at high rates nearly all of them have nearly all of the jitter.
    #[serde(skip_serializing_if = "is_false")]
    pub overtaking: bool,
    /// Random reordering.
    pub reorder: Option<Reorder>,
    /// Slots in which packets are delivered together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

impl Wire {
    /// The longest delay that jitter, reordering and slots add to a packet, as long as no slot is full.
    #[must_use]
    pub fn longest_delay(&self) -> Duration {
        let held = self.reorder.map_or(Duration::ZERO, |reorder| reorder.delay);
        self.jitter + held + self.slot.map_or(Duration::ZERO, |slot| slot.max)
    }

    /// Whether every probability is from 0 to 1.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let held = self.reorder.map_or(0.0, |r| r.chance);
        let chances = |hits: Loss| match hits {
            Loss::Random(share) => [share, 0.0, 0.0, 0.0],
            Loss::Every { .. } => [0.0; 4],
            Loss::GilbertElliott { p, r, bad, good } => [p, r, bad, good],
        };
        let all = [self.loss, self.mark].map(chances).into_iter().flatten();
        all.chain([held]).all(|chance| (0.0..=1.0).contains(&chance))
    }
}

/// Serialised only if marks are configured, so that earlier hashes stay valid.
fn is_none(hits: &Loss) -> bool {
    *hits == Loss::default()
}

/// Serialised only if packets may overtake, for the same reason.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A warning for a loss probability of 1: netem's `loss 1` means 1 %.
#[must_use]
pub fn doubtful_loss(wire: &Wire) -> Option<String> {
    (wire.loss == Loss::Random(1.0)).then(|| {
        "loss 1 is a probability: every packet is lost. netem's `loss 1` is 1 %, here 1% on the command line and 0.01 in files".to_owned()
    })
}

/// Which packets are lost, or marked, on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Loss {
    /// Each packet with this probability.
    Random(f64),
    /// The last `burst` of every `n` packets.
    Every {
        /// The length of the cycle in packets; at least one.
        n: u64,
        /// The number of packets at the end of each cycle.
        burst: u64,
    },
    /// The Gilbert-Elliott model: a Markov chain of two states with different loss probabilities (Gilbert 1960, Elliott
    /// 1963; `loss gemodel p r 1-h 1-k` of netem).
    GilbertElliott {
        /// Probability per packet of a change from the good to the bad state.
        p: f64,
        /// Probability per packet of the change back. Bursts last 1/r packets on average.
        r: f64,
        /// The loss probability in the bad state (netem's 1-h).
        bad: f64,
        /// The loss probability in the good state (netem's 1-k).
        good: f64,
    },
}

impl Default for Loss {
    fn default() -> Self {
        Loss::Random(0.0)
    }
}

/// Delays some packets, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reorder {
    /// The probability that a packet is delayed.
    pub chance: f64,
    /// Additional delay of a reordered packet.
    pub delay: Duration,
}

/// `50ms`, or `50ms,overtaking`: the jitter of a wire, and whether packets may overtake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// The largest additional delay.
    pub time: Duration,
    /// Whether a packet may overtake those with more jitter.
    pub overtaking: bool,
}

/// Slots as in netem (`slot` of tc-netem(8), `sch_netem.c` of Linux 6.12): packets wait for the next slot, and are
/// delivered together when it opens, as on links that share a medium by turns (Wi-Fi, DOCSIS, LTE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// The shortest time to the next slot, which is uniform between this and `max`.
    pub min: Duration,
    /// The longest time to the next slot.
    pub max: Duration,
    /// The most packets in a slot; the next slot follows when it is full. 0 for any number.
    pub packets: u32,
    /// Maximum bytes per slot, which the last packet may exceed; 0 for unlimited.
    pub bytes: Bytes,
}
