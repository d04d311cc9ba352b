//! How much there is to do in a run: about how many packets its links carry.

use aqmkit_base::BitRate;

use super::calibration::Calibration;
use super::plan::RunSpec;
use super::resolve::Resolved;

impl Resolved {
    /// About how many packets its links carry, where traffic fills those that are reported. The others, such as those of the
    /// hosts, do not count, and neither do the links that only acknowledgements cross.
    fn packets(&self) -> f64 {
        let carries = |link: usize| self.groups.iter().any(|g| g.routes.iter().any(|r| r.forward.contains(&link)));
        let full = (0..self.links.len()).filter(|l| self.links[*l].report && carries(*l));
        full.map(|l| self.packets_at(l, self.links[l].rate.mean)).sum()
    }

    fn packets_at(&self, link: usize, rate: BitRate) -> f64 {
        let seconds = (self.warmup + self.duration).as_secs_f64();
        rate.as_bps() as f64 * seconds / (8.0 * self.links[link].mean_packet.0.max(1) as f64)
    }
}

impl RunSpec {
    /// About how many packets its links carry: what its cost is in proportion to.
    #[must_use]
    pub fn packets(&self) -> f64 {
        self.resolved.packets()
    }
}

impl Calibration {
    /// The same of a trial.
    #[must_use]
    pub fn packets(&self) -> f64 {
        self.network.packets_at(self.network.measured, BitRate::from_bps(self.bps))
    }
}
