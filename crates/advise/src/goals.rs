//! Evaluates a wish for a link with its traffic: selects metrics, and computes the score that compares candidates.

use crate::quantity::{Numbers, Quantity};
use crate::wish::{Kind, Wish};

/// Cost of a value that could not be measured, as a logarithm: higher than that of any measured value.
const UNMEASURED: f64 = 10.0;

/// Penalty for a missed bound, relative to the aims: missing it by 10 % costs as much as a score that is twice as bad.
const PER_MISS: f64 = 7.0;

/// A metric of the link or of some traffic, and its role in the wish.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The bounded or optimised quantity.
    pub quantity: &'static Quantity,
    /// Traffic groups that it applies to, of which the worst counts; empty for the link.
    pub groups: Vec<String>,
    /// Name of the traffic, such as `video`; empty for the link.
    pub of: String,
    /// Bound, in the unit of results.
    pub bound: Option<f64>,
    /// Weight in the score; zero if it is only bounded.
    pub weight: f64,
}

impl Goal {
    /// The bounded or optimised quantity: `video queue delay p99`.
    #[must_use]
    pub fn words(&self) -> String {
        if self.of.is_empty() { self.quantity.words.to_owned() } else { format!("{} {}", self.of, self.quantity.words) }
    }

    /// The cost of a value as a logarithm; lower is better.
    fn cost(&self, value: Option<f64>) -> f64 {
        let Some(value) = value.filter(|value| value.is_finite()) else { return UNMEASURED };
        self.quantity.cost(value)
    }

    /// The logarithm of the factor by which a value misses the bound; zero if it is within the bound or there is none.
    fn miss(&self, value: Option<f64>) -> f64 {
        let Some(bound) = self.bound else { return 0.0 };
        if value.is_none() { UNMEASURED } else { (self.cost(value) - self.cost(Some(bound))).max(0.0) }
    }

    /// Whether a value is within the bound, or there is no bound.
    #[must_use]
    pub fn holds(&self, value: Option<f64>) -> bool {
        self.miss(value) == 0.0
    }
}

/// The goals of a wish.
#[derive(Clone, Debug, Default)]
pub struct Goals {
    /// All goals, bounds first.
    pub all: Vec<Goal>,
}

impl Goals {
    /// The goals of a wish for a link with these traffic groups. A bound or aim that names no traffic applies to the
    /// worst of the traffic that the wish names, or to the link if it names none. If the wish has no aims, the default
    /// aims of its traffic and the total goodput are used.
    ///
    /// # Errors
    /// The kind of traffic that a bound or aim names but the link does not have.
    pub fn of(wish: &Wish, groups: &[String]) -> Result<Goals, &'static Kind> {
        let mut goals = Goals::default();
        let wanted: Vec<&'static Kind> = wish.traffic.iter().map(|wanted| wanted.kind).collect();
        for bound in &wish.bounds {
            goals.add(bound.quantity, bound.kind, &wanted, groups, Some(bound.value), 0.0)?;
        }
        for aim in &wish.aims {
            goals.add(aim.quantity, aim.kind, &wanted, groups, None, aim.weight)?;
        }
        if wish.aims.is_empty() {
            let on_link = |kind: &&'static Kind| !members(kind, groups).is_empty();
            let matters: Vec<&'static Kind> =
                if wanted.is_empty() { crate::wish::KINDS.iter().filter(on_link).collect() } else { wanted };
            for kind in matters {
                for quantity in kind.aims.iter().filter_map(|name| Quantity::find(name)) {
                    goals.add(quantity, Some(kind), &[], groups, None, 1.0 / kind.aims.len() as f64)?;
                }
            }
            if let Some(goodput) = Quantity::find("goodput") {
                goals.add(goodput, None, &[], groups, None, 1.0)?;
            }
        }
        Ok(goals)
    }

    fn add(
        &mut self,
        quantity: &'static Quantity,
        kind: Option<&'static Kind>,
        wanted: &[&'static Kind],
        groups: &[String],
        bound: Option<f64>,
        weight: f64,
    ) -> Result<(), &'static Kind> {
        let kinds: Vec<&'static Kind> = match kind {
            Some(kind) => vec![kind],
            // Only kinds of traffic for which the quantity is defined: a bit rate for video, a page time for web.
            None if quantity.is_of_traffic() => wanted
                .iter()
                .copied()
                .filter(|other| quantity.is_of_link() || other.aims.contains(&quantity.name))
                .collect(),
            None => Vec::new(),
        };
        if let Some(absent) = kinds.iter().find(|other| members(other, groups).is_empty()) {
            return Err(absent);
        }
        let of = kinds.iter().map(|other| other.name).collect::<Vec<_>>().join(" and ");
        let groups: Vec<String> = if kinds.is_empty() && !quantity.is_of_link() {
            groups.to_vec()
        } else {
            kinds.iter().flat_map(|other| members(other, groups)).collect()
        };
        let same = |goal: &&mut Goal| goal.quantity.name == quantity.name && goal.groups == groups;
        match self.all.iter_mut().find(same) {
            Some(goal) => {
                goal.bound = bound.or(goal.bound);
                goal.weight += weight;
            }
            None => self.all.push(Goal { quantity, groups, of, bound, weight }),
        }
        Ok(())
    }

    /// The value of each goal in a run.
    #[must_use]
    pub fn values(&self, numbers: &Numbers) -> Vec<Option<f64>> {
        self.all.iter().map(|goal| goal.quantity.value(numbers, &goal.groups)).collect()
    }

    /// The score of a run: the logarithm of the weighted geometric mean of its values; lower is better. The difference
    /// between two runs is the logarithm of the factor between them.
    #[must_use]
    pub fn cost(&self, values: &[Option<f64>]) -> f64 {
        let weights: f64 = self.all.iter().map(|goal| goal.weight).sum();
        let sum: f64 = self.all.iter().zip(values).map(|(goal, value)| goal.weight * goal.cost(*value)).sum();
        if weights > 0.0 { sum / weights } else { 0.0 }
    }

    /// The penalty for missed bounds, from mean values over several runs: zero if all hold.
    #[must_use]
    pub fn misses(&self, means: &[Option<f64>]) -> f64 {
        PER_MISS * self.all.iter().zip(means).map(|(goal, value)| goal.miss(*value)).sum::<f64>()
    }

    /// Mean of each goal over several runs; `None` if a run does not have it.
    #[must_use]
    pub fn means(&self, runs: &[&[Option<f64>]]) -> Vec<Option<f64>> {
        let mean = |i: usize| {
            let values: Option<Vec<f64>> = runs.iter().map(|run| run.get(i).copied().flatten()).collect();
            values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        (0..self.all.len()).map(mean).collect()
    }
}

/// The groups of a kind that are on the link; there are several if congestion controls share it: `bulk-cubic`.
fn members(kind: &Kind, groups: &[String]) -> Vec<String> {
    let of = |group: &&String| {
        kind.groups.iter().any(|name| {
            group.as_str() == *name
                || (kind.name == "bulk" || kind.name == "upload")
                    && group.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
        })
    };
    groups.iter().filter(of).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn numbers(list: &[(&str, f64)]) -> Numbers {
        list.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect()
    }

    #[test]
    fn a_bound_is_of_the_traffic_that_matters() {
        let on_link = groups(&["bulk-cubic", "bulk-prague", "video", "web", "upload"]);
        let goals = Goals::of(&Wish::read("video, web; p99 < 20ms").unwrap(), &on_link).unwrap();
        assert_eq!(goals.all[0].words(), "video and web queue delay p99");
        let words: Vec<String> = goals.all[1..].iter().map(Goal::words).collect();
        assert_eq!(words, ["video bit rate", "video time stalled", "web page time", "goodput"]);
        let run = numbers(&[
            ("classes.video.queue_delay_ms.p99", 8.0),
            ("classes.web.queue_delay_ms.p99", 30.0),
            ("classes.bulk-cubic.queue_delay_ms.p99", 90.0),
            ("classes.video.goodput_bps", 2e6),
            ("classes.web.goodput_bps", 3e6),
        ]);
        let values = goals.values(&run);
        assert_eq!((values[0], values[4]), (Some(30.0), Some(5e6)), "the worse of both, and the sum of all");
        assert!(!goals.all[0].holds(values[0]) && goals.all[0].holds(Some(19.9)));
        let named = Goals::of(&Wish::read("bulk goodput > 5mbit").unwrap(), &on_link).unwrap();
        assert_eq!(named.all[0].groups, ["bulk-cubic", "bulk-prague"]);
        assert_eq!(Goals::of(&Wish::read("call p99 < 5ms").unwrap(), &on_link).unwrap_err().name, "call");
    }

    #[test]
    fn an_upload_waits_in_the_other_queue() {
        let goals = Goals::of(&Wish::read("upload p99 < 5ms").unwrap(), &groups(&["upload"])).unwrap();
        let run = numbers(&[
            ("links.down.queue_delay_ms.p99", 90.0),
            ("links.up.queue_delay_ms.p99", 7.0),
            ("classes.upload.queue_delay_ms.p99", 1.0),
        ]);
        assert_eq!(goals.values(&run)[0], Some(7.0));
        let whole = Goals::of(&Wish::read("p99 < 5ms").unwrap(), &groups(&["upload"])).unwrap();
        assert_eq!(whole.values(&run)[0], Some(90.0), "of the link, the worse of both queues");
    }

    /// Half the delay at the same goodput is better by a factor of the square root of two; a missed bound outweighs
    /// this.
    #[test]
    fn the_measure_is_a_geometric_mean() {
        let goals = Goals::of(&Wish::read("delay < 100ms, min delay, max goodput").unwrap(), &[]).unwrap();
        let of = |delay: f64, goodput: f64| vec![Some(delay), Some(goodput)];
        let factor = (goals.cost(&of(19.0, 1e7)) - goals.cost(&of(9.0, 1e7))).exp();
        assert!((factor - 2_f64.sqrt()).abs() < 1e-9, "{factor}");
        assert_eq!(goals.misses(&of(100.0, 1e7)), 0.0);
        assert!(goals.misses(&of(110.0, 1e7)) > 0.6 && goals.misses(&[None, None]) > 60.0);
        let runs = [of(10.0, 1e7), of(30.0, 3e7)];
        let means = goals.means(&[&runs[0], &runs[1]]);
        assert_eq!(means, [Some(20.0), Some(2e7)]);
        assert_eq!(goals.means(&[&runs[0], &[None, Some(1.0)]])[0], None);
    }
}
