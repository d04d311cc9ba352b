//! Estimates the cost of a run: the number of packets that its links carry.

use aqmkit_base::BitRate;

use super::calibration::Calibration;
use super::plan::RunSpec;
use super::resolve::Resolved;

impl Resolved {
    /// Estimates the number of packets on the reported links, assuming that traffic fills them. Other links, such as
    /// those of the hosts, do not count, nor do links that carry only acknowledgements. Each packet is weighted by the
    /// `cost` of its link's discipline.
    fn packets(&self, cost: impl Fn(&str) -> f64) -> f64 {
        let carries = |link: usize| self.groups.iter().any(|g| g.routes.iter().any(|r| r.forward.contains(&link)));
        let full = (0..self.links.len()).filter(|l| self.links[*l].report && carries(*l));
        full.map(|l| cost(self.links[l].aqm.name()) * self.packets_at(l, self.links[l].rate)).sum()
    }

    fn packets_at(&self, link: usize, rate: BitRate) -> f64 {
        let seconds = (self.warmup + self.duration).as_secs_f64();
        rate.as_bps() as f64 * seconds / (8.0 * self.links[link].mean_packet.0.max(1) as f64)
    }
}

impl RunSpec {
    /// Estimates the number of packets that the run's links carry; the cost of the run is proportional to it.
    #[must_use]
    pub fn packets(&self) -> f64 {
        self.weighted_packets(|_| 1.0)
    }

    /// Like [`RunSpec::packets`], with each packet weighted by the `cost` of the discipline with this name.
    #[must_use]
    pub fn weighted_packets(&self, cost: impl Fn(&str) -> f64) -> f64 {
        self.resolved.packets(cost)
    }
}

impl Calibration {
    /// Estimates the number of packets that the measured link carries in the trial.
    #[must_use]
    pub fn packets(&self) -> f64 {
        self.network.packets_at(self.network.measured, BitRate::from_bps(self.bps))
    }
}
