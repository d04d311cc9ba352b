//! Increase and decrease of a flow's drop probability, and the test for unresponsive flows.
//!
//! Mahajan and Floyd 2000, sections 5 and 6.2; the numbers of the unresponsiveness test are those of the
//! authors' scripts for ns-2.

/// The rules for one kind of flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Number of quanta per increase.
    pub gain: f64,
    /// Divisor of a decrease, beta,
    pub beta: f64,
    /// which subtracts at most this much, `p_d`.
    pub p_d: f64,
    /// At this probability the flow is released.
    pub p_min: f64,
    /// Intervals between a change and the next decrease, l.
    pub wait: u64,
}

impl Pace {
    /// One increase: by the quantum, but at most doubling the flow's drop rate (its own probability and that of the
    /// queue, `ambient`) for each gain. A result above 1 goes half-way there instead.
    #[must_use]
    pub fn increased(&self, p: f64, quantum: f64, ambient: f64) -> f64 {
        let raised = p + self.gain * quantum.min(p + ambient);
        if raised < 1.0 { raised } else { (1.0 + p) / 2.0 }
    }

    /// One decrease: by the factor or by the fixed step, whichever is smaller.
    #[must_use]
    pub fn decreased(&self, p: f64) -> f64 {
        p - (p - p / self.beta).min(self.p_d)
    }
}

/// A flow's arrival rate over some time, and the share of it that was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Response {
    /// Arrivals per second, in any unit.
    pub rate: f64,
    /// Dropped fraction.
    pub loss: f64,
}

/// The last few of a flow's responses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Responses {
    kept: [Response; Responses::KEPT],
    len: usize,
}

impl Responses {
    /// Maximum number kept.
    pub const KEPT: usize = 5;

    /// Adds a response; the oldest is removed.
    pub fn push(&mut self, response: Response) {
        if self.len == Self::KEPT {
            self.kept.rotate_left(1);
            self.len -= 1;
        }
        self.kept[self.len] = response;
        self.len += 1;
    }

    /// Whether the flow fails to slow down: if the loss rises by a factor x (up to ten), the rate of a TCP falls to
    /// `1/sqrt(x)`. A pair of responses is good if the rate fell that far, bad if not; a flow is unresponsive with
    /// three bad pairs and no good one, with four and one good, or with four for each good one.
    #[must_use]
    pub fn unresponsive(&self) -> bool {
        let (mut good, mut bad) = (0, 0);
        let kept = &self.kept[..self.len];
        for before in kept {
            for after in kept {
                if before.loss >= after.loss || before.loss <= 0.1 * after.loss {
                    continue;
                }
                if after.rate > (before.loss / after.loss).sqrt() * before.rate {
                    bad += 1;
                } else {
                    good += 1;
                }
            }
        }
        bad >= if good == 0 { 3 } else { 4 * good }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONSIVE: Pace = Pace { gain: 1.0, beta: 2.0, p_d: 0.05, p_min: 0.005, wait: 3 };
    const UNRESPONSIVE: Pace = Pace { gain: 2.0, beta: 1.5, p_d: 0.05, p_min: 0.0025, wait: 5 };

    fn decreases(pace: &Pace, mut p: f64) -> u32 {
        let mut n = 0;
        while p > pace.p_min {
            p = pace.decreased(p);
            n += 1;
        }
        n
    }

    /// Equation 7's example: from 0.75, 13 subtractive and 5 multiplicative decreases.
    #[test]
    fn a_release_takes_as_many_rounds_as_equation_7_says() {
        assert_eq!(decreases(&RESPONSIVE, 0.75), 18);
        // With beta = 1.5 the steps are subtractive down to 0.15: 12 of them, then 11 by the factor.
        assert_eq!(decreases(&UNRESPONSIVE, 0.75), 23);
    }

    #[test]
    fn an_increase_doubles_the_drop_rate_at_most() {
        assert!((RESPONSIVE.increased(0.1, 0.01, 0.02) - 0.11).abs() < 1e-12);
        assert!((RESPONSIVE.increased(0.1, 0.5, 0.02) - 0.22).abs() < 1e-12, "by 0.12, not 0.5");
        assert!((RESPONSIVE.increased(0.0, 0.5, 0.02) - 0.02).abs() < 1e-12, "the first");
        assert!((UNRESPONSIVE.increased(0.1, 0.01, 0.02) - 0.12).abs() < 1e-12);
        assert!((RESPONSIVE.increased(0.8, 0.5, 0.02) - 0.9).abs() < 1e-12, "half-way to one");
    }

    fn responses(pairs: &[(f64, f64)]) -> Responses {
        let mut all = Responses::default();
        pairs.iter().for_each(|&(rate, loss)| all.push(Response { rate, loss }));
        all
    }

    #[test]
    fn constant_rates_are_unresponsive_and_tcps_are_not() {
        assert!(!responses(&[(100.0, 0.1), (100.0, 0.2)]).unresponsive(), "one pair proves nothing");
        assert!(responses(&[(100.0, 0.1), (100.0, 0.2), (100.0, 0.3)]).unresponsive());
        let tcp = |p: f64| (10.0 / p.sqrt(), p);
        assert!(!responses(&[tcp(0.1), tcp(0.2), tcp(0.3), tcp(0.4), tcp(0.5)]).unresponsive());
        // A loss rate more than ten times as high is ignored: path or demand may have changed.
        assert!(!responses(&[(100.0, 0.01), (100.0, 0.2), (100.0, 0.21)]).unresponsive());
        // Three good pairs among ten: fewer than four bad ones for each.
        assert!(!responses(&[(400.0, 0.1), (200.0, 0.2), (190.0, 0.3), (180.0, 0.31)]).unresponsive());
    }
}
