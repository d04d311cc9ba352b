//! How well means are to be known, and how many seeds may be spent on it.

use aqmkit_experiment::Experiment;

/// The share of a mean to which it is known unless another one is asked for.
const PRECISION: f64 = 0.05;

/// The fewest seeds of the first round. Fewer make the first estimate of the spread so uncertain that runs would often
/// end by luck, too early (docs/statistics.md has both).
const FEWEST: u32 = 10;
/// The fewest seeds where even ten exceed the budget.
const FEWEST_OF_LONG_RUNS: u32 = 3;
/// The most seeds, if nothing else ends the rounds.
const MOST: u32 = 40;
/// The packets that all runs together carry at most, unless the fewest seeds exceed it. Packets and not seconds, so that a
/// command has the same results on every machine; three to eight seconds on two idle cores, by the traffic.
const BUDGET: f64 = 60e6;

/// How well means are to be known, and how many seeds may be spent on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    /// Half the width of the 95 % interval as a share of the mean.
    pub(super) share: f64,
    /// The fewest and the most seeds.
    pub(super) seeds: (u32, u32),
}

impl Aim {
    /// The aim for an experiment. `asked` is the share of a mean that the user asks for, which has ten times the budget.
    /// `cost` is what a packet through a discipline of this name costs, in packets through a built-in one.
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

    /// Half the width of the 95 % interval that is aimed at, as a share of the mean.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// The seeds of the first round.
    pub(super) fn fewest(&self) -> u32 {
        self.seeds.0
    }

    /// The seeds of the next round after `done` seeds; `None` if all is known or the budget is spent. `excess` is the
    /// width of the widest interval over the aim; widths shrink with the root of the number of seeds.
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
