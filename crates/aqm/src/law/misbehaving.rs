//! Tests for flows that do not respond to congestion like TCP, based on their drops.
//!
//! Floyd and Fall 1999, section IV; the constants are those of the authors' ns-2 scripts.

use super::tcp;

/// Estimates for a flow from its drops in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Its arrival rate in bytes per second.
    pub rate: f64,
    /// The drop rate of the queue it went through.
    pub loss: f64,
}

/// A flow's share of the drops, which estimates its share of the arrivals: the mean of its shares of early and of
/// forced drops, weighted by the number of packets of each kind.
#[must_use]
pub fn metric(early: [f64; 2], forced: [f64; 2], early_packets: f64, all_packets: f64) -> f64 {
    let part = |[own, all]: [f64; 2]| if all > 0.0 { own / all } else { 0.0 };
    let weight = part([early_packets, all_packets]);
    weight * part(early) + (1.0 - weight) * part(forced)
}

/// Upper bound of the rate of a conformant TCP, bytes per second: `1.5 sqrt(2/3) B / (R sqrt(p))`.
#[must_use]
pub fn reference(mtu: f64, rtt: f64, loss: f64) -> f64 {
    mtu * tcp::rate(rtt, loss)
}

/// Thresholds of the tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Largest packet, bytes.
    pub mtu: f64,
    /// Minimum round trip in seconds.
    pub rtt: f64,
    /// Maximum ratio of a rate to the reference.
    pub safety: f64,
    /// A loss higher by this factor
    pub loss_factor: f64,
    /// should bring the rate below this fraction.
    pub rate_factor: f64,
    /// Both values for a flow that has failed before.
    pub again: f64,
    /// Bytes per second times the root of the loss, above which a rate is high.
    pub c: f64,
}

impl Thresholds {
    /// The reference rate at this loss; infinite without loss.
    #[must_use]
    pub fn reference(&self, loss: f64) -> f64 {
        reference(self.mtu, self.rtt, loss)
    }

    /// Not TCP-friendly: above the reference.
    #[must_use]
    pub fn unfriendly(&self, flow: Estimate) -> bool {
        flow.rate > self.safety * self.reference(flow.loss)
    }

    /// Unresponsive: the loss has risen much, but the rate has not fallen.
    #[must_use]
    pub fn unresponsive(&self, before: Estimate, now: Estimate) -> bool {
        now.loss > self.loss_factor * before.loss && now.rate > self.rate_factor * before.rate
    }

    /// Still unresponsive: neither has fallen since.
    #[must_use]
    pub fn unresponsive_again(&self, before: Estimate, now: Estimate) -> bool {
        now.rate > 0.0 && now.rate >= self.again * before.rate && now.loss >= self.again * before.loss
    }

    /// Disproportionate: more than `ln(3n)/n` of the total of `n` flows, and more than `c / sqrt(p)`.
    #[must_use]
    pub fn disproportionate(&self, flow: Estimate, flows: usize, all: f64) -> bool {
        let n = flows.max(1) as f64;
        flow.rate > libm::log(3.0 * n) / n * all && flow.rate * flow.loss.sqrt() > self.c
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Thresholds = Thresholds {
        mtu: 1500.0,
        rtt: 0.06,
        safety: 1.2,
        loss_factor: 2.0,
        rate_factor: 0.8,
        again: 0.98,
        c: 12_000.0,
    };

    fn at(rate: f64, loss: f64) -> Estimate {
        Estimate { rate, loss }
    }

    #[test]
    fn the_reference_is_1_22_b_over_r_root_p() {
        assert!((USUAL.reference(0.01) - 306_186.0).abs() < 1.0);
        assert!(!USUAL.unfriendly(at(367_000.0, 0.01)) && USUAL.unfriendly(at(368_000.0, 0.01)));
        assert!(!USUAL.unfriendly(at(1e12, 0.0)), "without loss nobody is");
    }

    #[test]
    fn who_slows_down_by_a_fifth_has_responded() {
        let before = at(1000.0, 0.01);
        assert!(USUAL.unresponsive(before, at(900.0, 0.021)));
        // Neither a loss of just the factor nor a rate of just the factor is above it.
        assert!(
            !USUAL.unresponsive(before, at(900.0, 2.0 * 0.01)) && !USUAL.unresponsive(before, at(0.8 * 1000.0, 0.021))
        );
        assert!(!USUAL.unresponsive(before, at(700.0, 0.021)) && !USUAL.unresponsive(before, at(900.0, 0.019)));
        assert!(
            USUAL.unresponsive_again(before, at(985.0, 0.0099)) && !USUAL.unresponsive_again(before, at(970.0, 0.5))
        );
    }

    /// Who failed once fails again while neither is below `again` of what it was, and while it sends at all.
    #[test]
    fn who_stops_is_not_unresponsive_again() {
        let before = at(1000.0, 0.01);
        assert!(USUAL.unresponsive_again(before, at(0.98 * 1000.0, 0.5)), "just the part of the rate");
        assert!(USUAL.unresponsive_again(before, at(2000.0, 0.98 * 0.01)), "just the part of the loss");
        assert!(!USUAL.unresponsive_again(before, at(2000.0, 0.009)), "the loss has fallen");
        let silent = at(0.0, 0.0);
        assert!(!USUAL.unresponsive_again(silent, silent) && !USUAL.unresponsive_again(silent, at(0.0, 0.5)));
        assert!(USUAL.unresponsive_again(silent, at(0.5, 0.0)), "half a byte per second is not nothing");
    }

    /// ln(3n)/n: 0.896 of two flows' rate, 0.340 of ten's.
    #[test]
    fn disproportionate_depends_on_how_many_there_are() {
        assert!(USUAL.disproportionate(at(0.9e6, 0.01), 2, 1e6) && !USUAL.disproportionate(at(0.89e6, 0.01), 2, 1e6));
        assert!(
            USUAL.disproportionate(at(0.35e6, 0.01), 10, 1e6) && !USUAL.disproportionate(at(0.33e6, 0.01), 10, 1e6)
        );
        // c / sqrt(1 %) is 120 kB/s.
        assert!(
            !USUAL.disproportionate(at(119e3, 0.01), 100, 120e3) && USUAL.disproportionate(at(121e3, 0.01), 100, 122e3)
        );
    }

    /// Six of ten early drops and a quarter of the forced bytes, at two early packets for each forced one.
    #[test]
    fn the_metric_weighs_both_kinds_of_drops() {
        let metric = metric([6.0, 10.0], [1500.0, 6000.0], 10.0, 15.0);
        assert!((metric - (2.0 / 3.0 * 0.6 + 1.0 / 3.0 * 0.25)).abs() < 1e-12);
    }
}
