//! The wire of a link: propagation, and impairments as in Linux's netem. The simulator and live links share this code.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Serialize;

use crate::units::{parse_duration, split};
use crate::{Duration, Instant, Rng};

/// Impairments of a link's wire, after transmission, with the terms of Linux's netem. The default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Wire {
    /// Losses.
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
    /// Reordering.
    pub reorder: Option<Reorder>,
}

impl Wire {
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
    /// Of every `n` packets the last `burst`.
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
    /// The additional delay.
    pub delay: Duration,
}

/// An error in the text of losses or reordering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got:?} is not {what}: {hint}")]
pub struct WireError {
    got: String,
    what: &'static str,
    hint: String,
}

/// Reads a share such as `1%` or `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let number = match split(text) {
        Some((number, "%")) => Some(number / 100.0),
        Some((number, "")) => Some(number),
        _ => None,
    };
    match number {
        Some(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Some(_) => Err(format!("{text:?} must be between 0 and 100%")),
        None => Err(format!("{text:?} must be a percentage such as 1%")),
    }
}

impl FromStr for Loss {
    type Err = WireError;

    /// `1%`; `every=100,burst=2`; `p=1%,r=25%,bad=100%,good=0`, where `bad` and `good` are optional.
    fn from_str(text: &str) -> Result<Self, WireError> {
        let error = |hint: String| WireError { got: text.to_owned(), what: "a loss", hint };
        if !text.contains('=') {
            return share(text).map(Loss::Random).map_err(error);
        }
        let mut given: BTreeMap<&str, &str> = BTreeMap::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(error(format!("{part:?} lacks its value")));
            };
            if given.insert(key.trim(), value.trim()).is_some() {
                return Err(error(format!("{key} is given twice")));
            }
        }
        let mut take = |key: &str| given.remove(key);
        let loss = match (take("every"), take("p"), take("r")) {
            (Some(every), None, None) => {
                let number = |digits: &str| {
                    digits.parse::<u64>().map_err(|_| error(format!("{digits:?} must be a whole number")))
                };
                let (n, burst) = (number(every)?, take("burst").map_or(Ok(1), number)?);
                if burst == 0 || burst >= n {
                    return Err(error("burst must be above 0 and below every".to_owned()));
                }
                Loss::Every { n, burst }
            }
            (None, Some(p), Some(r)) => {
                let of = |value: Option<&str>, usual: f64| value.map_or(Ok(usual), share).map_err(error);
                let (bad, good) = (of(take("bad"), 1.0)?, of(take("good"), 0.0)?);
                Loss::GilbertElliott { p: of(Some(p), 0.0)?, r: of(Some(r), 0.0)?, bad, good }
            }
            _ => return Err(error("write 1%, every=100,burst=2 or p=1%,r=25%".to_owned())),
        };
        match given.keys().next() {
            Some(key) => Err(error(format!("{key:?} is not a valid key here"))),
            None => Ok(loss),
        }
    }
}

impl FromStr for Reorder {
    type Err = WireError;

    /// `1%,5ms`: the share of delayed packets, and their additional delay.
    fn from_str(text: &str) -> Result<Self, WireError> {
        let error = |hint: String| WireError { got: text.to_owned(), what: "a reordering", hint };
        let Some((chance, delay)) = text.split_once(',') else {
            return Err(error("write a percentage and a time, such as 1%,5ms".to_owned()));
        };
        let delay = parse_duration(delay).map_err(|e| error(e.to_string()))?;
        if delay.is_zero() {
            return Err(error("the time is zero".to_owned()));
        }
        Ok(Reorder { chance: share(chance).map_err(error)?, delay })
    }
}

/// The wire of one link.
#[derive(Clone, Debug)]
pub struct Propagation {
    delay: Duration,
    wire: Wire,
    /// Whether it only delays packets, which is the usual case.
    perfect: bool,
    losses: Hits,
    marks: Hits,
    /// The latest arrival of a packet that was not reordered.
    latest: Instant,
    shake: Rng,
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
            shake: Rng::stream(seed, &format!("link.{link}.wire")),
        }
    }

    /// Arrival time of a packet whose last bit is sent at `sent`.
    #[inline]
    pub fn arrival(&mut self, sent: Instant) -> Instant {
        if self.perfect { (sent + self.delay).max(self.latest) } else { self.impaired_arrival(sent) }
    }

    #[inline(never)]
    fn impaired_arrival(&mut self, sent: Instant) -> Instant {
        let mut arrival = (sent + self.delay).max(self.latest);
        if !self.wire.jitter.is_zero() {
            arrival = sent + self.delay + self.wire.jitter.mul_f64(self.shake.uniform());
            if !self.wire.overtaking {
                arrival = arrival.max(self.latest);
                self.latest = arrival;
            }
        }
        match self.wire.reorder {
            Some(reorder) if self.shake.chance(reorder.chance) => arrival + reorder.delay,
            _ => arrival,
        }
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
    fn jitter_with_overtaking_is_uniform_at_any_rate() {
        // 10 us apart, and up to 5 ms late: with the order kept nearly all would have nearly all of it.
        let jitter = Duration::from_millis(5);
        let mean = |overtaking| {
            let mut wire = wire(Wire { jitter, overtaking, ..Wire::default() });
            let sent = |i: u64| Instant::ZERO + Duration::from_micros(10 * i);
            let sum: f64 = (0..100_000).map(|i| wire.arrival(sent(i)).since(sent(i)).as_millis_f64()).sum();
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

    #[test]
    fn losses_and_reordering_as_text() {
        assert_eq!("1%".parse(), Ok(Loss::Random(0.01)));
        assert_eq!("0.25".parse(), Ok(Loss::Random(0.25)));
        assert_eq!("every=100".parse(), Ok(Loss::Every { n: 100, burst: 1 }));
        assert_eq!("every=7, burst=2".parse(), Ok(Loss::Every { n: 7, burst: 2 }));
        let bursts = Loss::GilbertElliott { p: 0.01, r: 0.25, bad: 1.0, good: 0.0 };
        assert_eq!("p=1%,r=25%".parse(), Ok(bursts));
        assert_eq!("p=1%,r=0.25,bad=100%,good=0".parse(), Ok(bursts));
        assert_eq!("1%,5ms".parse(), Ok(Reorder { chance: 0.01, delay: Duration::from_millis(5) }));
        let why = |text: &str| text.parse::<Loss>().unwrap_err().to_string();
        assert_eq!(why("1.5"), "\"1.5\" is not a loss: \"1.5\" must be between 0 and 100%");
        for (text, says) in [
            ("-1%", "between 0 and 100%"),
            ("often", "a percentage such as 1%"),
            ("every=2,burst=2", "below every"),
            ("every=many", "whole number"),
            ("p=1%", "write 1%"),
            ("p=1%,r=2", "between 0 and 100%"),
            ("every=5,q=3", "\"q\" is not a valid key here"),
            ("every=5,every=6", "given twice"),
            ("every=5,burst", "lacks its value"),
        ] {
            assert!(why(text).contains(says), "{text}: {}", why(text));
        }
        let unordered = |text: &str| text.parse::<Reorder>().unwrap_err().to_string();
        assert!(
            unordered("1%").contains("1%,5ms")
                && unordered("1%,5").contains("unit")
                && unordered("1%,0ms").contains("zero")
        );
        assert!(unordered("120%,5ms").contains("between 0 and 100%"));
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
