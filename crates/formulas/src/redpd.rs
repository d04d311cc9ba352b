//! RED with preferential dropping: Mahajan and Floyd 2001.

use aqmkit_base::Duration;

use super::tcp::reno;
use super::{count, formula, probability, share, table, time};

table![
    Interval,
    History,
    Identification,
    Increase,
    Prefilter,
    Cutdown,
    SubtractiveRounds,
    MultiplicativeRounds,
    Release,
    Responsive,
];

/// Equation 3: `(K / M) R / sqrt(1.5 p)`.
fn interval(rtt: Duration, loss: f64, k: u32, m: u32) -> Result<f64, String> {
    if k == 0 || k > m {
        return Err(format!("k = {k} must be from 1 to m = {m}"));
    }
    let p = probability("loss", loss)?;
    Ok(f64::from(k) / f64::from(m) / (reno(rtt, p) * p))
}

formula! {
    /// The length of a drop list's interval: `(K / M) R / sqrt(1.5 p)`.
    "redpd-interval", "Mahajan and Floyd 2001, eq 3",
    Interval { rtt: Duration, loss: f64, k: u32, m: u32 },
    |a| time(interval(a.rtt, a.loss, a.k, a.m)?)
}

formula! {
    /// Length of the drop history: `M` intervals.
    "redpd-history", "Mahajan and Floyd 2001, section 8.1",
    History { interval: Duration, m: u32 },
    |a| time(a.interval.as_secs_f64() * f64::from(a.m))
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product()
}

formula! {
    /// The probability that a flow with `gamma` times the target's rate is in at least `K` of `M` drop lists.
    "redpd-identification", "Mahajan and Floyd 2001, eq 4",
    Identification { gamma: f64, loss: f64, k: u32, m: u32 },
    |a| {
        let p = probability("loss", a.loss)?;
        interval(Duration::from_secs(1), p, a.k, a.m)?;
        let listed = 1.0 - (1.0 - p).powf(a.gamma * f64::from(a.k) / (f64::from(a.m) * p));
        let in_lists = |k: u32| choose(a.m, k) * listed.powf(f64::from(k)) * (1.0 - listed).powf(f64::from(a.m - k));
        share((a.k..=a.m).map(in_lists).sum())
    }
}

formula! {
    /// The increase of a monitored flow's drop probability; at most its existing drop probability.
    "redpd-increase", "Mahajan and Floyd 2001, eq 5",
    Increase { drops: f64, mean_drops: f64, loss: f64, existing: Option<f64> = None },
    |a| share((a.drops / a.mean_drops * probability("loss", a.loss)?).min(a.existing.unwrap_or(1.0)))
}

formula! {
    /// The pre-filter's drop probability that reduces `gamma` times the target's rate to `alpha` times.
    "redpd-prefilter", "Mahajan and Floyd 2001, section 5.2",
    Prefilter { gamma: f64, alpha: f64 = 1.0 },
    |a| share((a.gamma - a.alpha) / a.gamma)
}

formula! {
    /// The time to reduce a flow from `gamma` to `alpha` times the target's rate.
    "redpd-cutdown", "Mahajan and Floyd 2001, eq 6",
    Cutdown { gamma: f64, alpha: f64, rtt: Duration, loss: f64, k: u32, m: u32 },
    |a| {
        let step = interval(a.rtt, a.loss, a.k, a.m)? * f64::from(a.m - 1);
        time((a.gamma - a.alpha) / (a.gamma * a.loss) * step)
    }
}

/// Number of rounds in which the probability falls by `decrement`: until it is at most twice that.
fn subtractive(probability: f64, decrement: f64) -> f64 {
    if probability <= 2.0 * decrement { 0.0 } else { whole(probability / decrement - 2.0) }
}

/// Rounds up to an integer, with a tolerance for rounding errors.
fn whole(x: f64) -> f64 {
    (x - 1e-9).ceil()
}

/// Number of rounds of dividing a probability by `beta` until it is below `minimum`.
fn multiplicative(probability: f64, decrement: f64, minimum: f64, beta: f64) -> f64 {
    let left = probability - subtractive(probability, decrement) * decrement;
    whole((left / minimum).ln() / beta.ln()).max(0.0)
}

formula! {
    /// The number of rounds in which a flow's drop probability falls by the largest decrement, `n`.
    "redpd-subtractive-rounds", "Mahajan and Floyd 2001, eq 7",
    SubtractiveRounds { probability: f64, decrement: f64 },
    |a| count(subtractive(a.probability, a.decrement))
}

formula! {
    /// The number of rounds in which the rest of a flow's drop probability is divided by `beta`, `m`.
    "redpd-multiplicative-rounds", "Mahajan and Floyd 2001, eq 7",
    MultiplicativeRounds { probability: f64, decrement: f64, minimum: f64, beta: f64 = 2.0 },
    |a| count(multiplicative(a.probability, a.decrement, a.minimum, a.beta))
}

formula! {
    /// The time until a well-behaved flow is released: `(m + n) l` intervals.
    "redpd-release", "Mahajan and Floyd 2001, eq 7",
    Release {
        probability: f64, decrement: f64, minimum: f64, lists: f64, rtt: Duration, loss: f64, k: u32, m: u32,
        beta: f64 = 2.0,
    },
    |a| {
        let rounds = subtractive(a.probability, a.decrement)
            + multiplicative(a.probability, a.decrement, a.minimum, a.beta);
        time(rounds * a.lists * interval(a.rtt, a.loss, a.k, a.m)?)
    }
}

formula! {
    /// Relative arrival rate of a conformant flow after its drop rate rises by this factor: `1 / sqrt(x)`.
    "redpd-responsive", "Mahajan and Floyd 2001, section 6.2",
    Responsive { factor: f64 },
    |a| share(1.0 / a.factor.sqrt())
}
