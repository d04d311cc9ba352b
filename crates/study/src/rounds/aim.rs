//! The required precision of means, and the seeds that may be spent on it.

use aqmkit_experiment::Experiment;

/// Default precision: half the width of the interval relative to the mean.
const PRECISION: f64 = 0.05;

/// Minimum number of seeds in the first round. With fewer, the first estimate of the spread is so uncertain that rounds
/// often end too early by chance (docs/statistics.md has the numbers).
const FEWEST: u32 = 10;
/// Minimum number of seeds if even ten exceed the budget.
const FEWEST_OF_LONG_RUNS: u32 = 3;
/// Maximum number of seeds, if nothing else ends the rounds.
const MOST: u32 = 40;
/// Upper limit for the packets of all runs together, unless the minimum number of seeds exceeds it. It is in packets
/// and not in seconds, so that a command has the same results on every machine; it takes three to eight seconds on two
/// idle cores, depending on the traffic.
const BUDGET: f64 = 60e6;

/// The required precision, and the limits for the number of seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    /// Half the width of the 95 % interval relative to the mean.
    pub(super) share: f64,
    /// Minimum and maximum number of seeds.
    pub(super) seeds: (u32, u32),
}

impl Aim {
    /// The aim for an experiment. `asked` is a precision that the user requested, which multiplies the budget by ten.
    /// `cost` is the cost of a packet through the discipline with this name, relative to a built-in one.
    #[must_use]
    pub fn of(exp: &Experiment, asked: Option<f64>, cost: impl Fn(&str) -> f64) -> Aim {
        let packets: f64 = exp.plan().iter().map(|run| run.weighted_packets(&cost)).sum();
        let of_a_seed = packets / f64::from(exp.repeat.max(1));
        let budget = if asked.is_some() { 10.0 * BUDGET } else { BUDGET };
        let affordable = (budget / of_a_seed.max(1.0)) as u32;
        let fewest = affordable.clamp(FEWEST_OF_LONG_RUNS, FEWEST);
        let most = if asked.is_some() { 10 * MOST } else { MOST };
        Aim { share: asked.unwrap_or(PRECISION), seeds: (fewest, affordable.clamp(fewest, most)) }
    }

    /// The target for half the width of the 95 % interval, relative to the mean.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// Number of seeds in the first round.
    pub(super) fn fewest(&self) -> u32 {
        self.seeds.0
    }

    /// Number of seeds after the next round; `None` if the target is reached or the budget is spent. `done` seeds have
    /// been run; `excess` is the width of the widest interval relative to the target. Widths shrink with the square
    /// root of the number of seeds.
    pub(super) fn next(&self, done: u32, excess: f64) -> Option<u32> {
        if excess <= 1.0 || done >= self.seeds.1 {
            return None;
        }
        let needed = (f64::from(done) * excess * excess).ceil().min(f64::from(2 * done)) as u32;
        Some(needed.max(done + 1).min(self.seeds.1))
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_experiment::Overrides;

    use super::*;

    fn experiment(rate: &str) -> Experiment {
        let text = format!(
            "title = \"t\"\nduration = \"60s\"\nwarmup = \"10s\"\n[topology]\nrate = \"{rate}\"\nmean_packet = \"1500b\"\n\
             [[traffic]]\nkind = \"bulk\"\nflows = 2\n"
        );
        Experiment::parse("t", &text, &Overrides::default()).unwrap()
    }

    /// 70 s at 60 Mbit/s are 350,000 packets of 1500 bytes, at 6 Gbit/s 35 million.
    #[test]
    fn the_budget_is_in_packets() {
        let seeds = |rate, asked| Aim::of(&experiment(rate), asked, |_| 1.0).seeds;
        assert_eq!(seeds("60mbit", None), (10, 40));
        assert_eq!(seeds("600mbit", None), (10, 17));
        assert_eq!(seeds("6gbit", None), (3, 3));
        assert_eq!(seeds("600mbit", Some(0.01)), (10, 171));
    }

    #[test]
    fn a_packet_through_a_slow_discipline_counts_as_several() {
        let seeds = |slow| Aim::of(&experiment("60mbit"), None, |name| if name == slow { 10.0 } else { 1.0 }).seeds;
        assert_eq!(seeds("fifo"), (10, 17), "as at ten times the rate");
        assert_eq!(seeds("red"), (10, 40), "it has none");
    }

    #[test]
    fn a_round_has_the_seeds_that_the_widest_interval_asks_for() {
        let aim = Aim { share: 0.05, seeds: (5, 30) };
        assert_eq!(aim.next(5, 0.9), None);
        assert_eq!(aim.next(10, 1.2), Some(15), "1.44 times as many");
        assert_eq!(aim.next(10, 1.01), Some(11));
        assert_eq!(aim.next(5, 8.0), Some(10), "at most twice as many");
        assert_eq!(aim.next(20, 8.0), Some(30));
        assert_eq!(aim.next(30, 8.0), None);
        assert_eq!(aim.next(5, f64::INFINITY), Some(10));
    }
}
