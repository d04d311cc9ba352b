//! RED and FRED: Parris 2001, chapter III and appendix B.

use aqmkit_base::{BitRate, Bytes, Duration};

use super::{count, formula, probability, share, table};

table![
    BaseProbability,
    Probability,
    GuaranteedGap,
    Ewma,
    SampleWeight,
    IdleAverage,
    BurstAverage,
    Burst,
    FairShare,
    Forced,
    Early,
    FredShare,
];

/// Equation 3.1 between the thresholds, with the ramp to 1 at twice `max` where it is gentle.
fn base(average: f64, min: f64, max: f64, max_p: f64, gentle: bool) -> Result<f64, String> {
    if max <= min {
        return Err(format!("max = {max} must be above min = {min}"));
    }
    Ok(match average {
        a if a < min => 0.0,
        a if a <= max => max_p * (a - min) / (max - min),
        a if gentle => (max_p + (1.0 - max_p) * (a - max) / max).min(1.0),
        _ => 1.0,
    })
}

formula! {
    /// RED's drop probability before it is spread: `max_p (avg - min) / (max - min)`.
    "red-base-probability", "Parris 2001, eq 3.1; section III 2.2.4",
    BaseProbability { average: f64, min: f64, max: f64, max_p: f64, #[serde(default)] gentle: bool },
    |a| share(base(a.average, a.min, a.max, probability("max_p", a.max_p)?, a.gentle)?)
}

formula! {
    /// RED's drop probability after `count` packets were let through: `p_b / (1 - count p_b)`.
    "red-probability", "Parris 2001, eq 3.2",
    Probability { average: f64, min: f64, max: f64, max_p: f64, count: u32 },
    |a| {
        let p = base(a.average, a.min, a.max, probability("max_p", a.max_p)?, false)?;
        let left = 1.0 - f64::from(a.count) * p;
        share(if left <= 0.0 { 1.0 } else { (p / left).min(1.0) })
    }
}

formula! {
    /// How many packets can pass between two drops as the average reaches the maximum: `1 / max_p - 1`.
    "red-guaranteed-gap", "Parris 2001, section III 3.2.1",
    GuaranteedGap { max_p: f64 },
    |a| count(1.0 / probability("max_p", a.max_p)? - 1.0)
}

fn one() -> u32 {
    1
}

formula! {
    /// A weighted average after so many equal samples: `q + (avg - q) (1 - w)^n`.
    "ewma", "Parris 2001, fig 3.7",
    Ewma { start: f64, sample: f64, weight: f64, #[serde(default = "one")] samples: u32 },
    |a| count(a.sample + (a.start - a.sample) * (1.0 - probability("weight", a.weight)?).powf(f64::from(a.samples)))
}

formula! {
    /// What one sample counts in a weighted average after `later` more: `w (1 - w)^later`.
    "ewma-sample-weight", "Parris 2001, fig 3.7; section VI 5.1.1",
    SampleWeight { weight: f64, #[serde(default)] later: u32 },
    |a| {
        let w = probability("weight", a.weight)?;
        share(w * (1.0 - w).powf(f64::from(a.later)))
    }
}

formula! {
    /// RED's average after the queue stood empty: `(1 - w)^n avg` with `n = idle * drain_rate - 1`.
    "red-idle-average", "Parris 2001, fig 3.7",
    IdleAverage { average: f64, weight: f64, idle: Duration, rate: BitRate, packet: Bytes },
    |a| {
        let drained = a.idle.as_secs_f64() * a.rate.bytes_per_sec() / a.packet.as_f64();
        count(a.average * (1.0 - probability("weight", a.weight)?).powf((drained - 1.0).max(0.0)))
    }
}

/// Equation B.2.
fn burst_average(burst: f64, weight: f64) -> f64 {
    burst + 1.0 + ((1.0 - weight).powf(burst + 1.0) - 1.0) / weight
}

formula! {
    /// RED's average after a burst into an empty queue: `L + 1 + ((1 - w)^(L+1) - 1) / w`.
    "red-burst-average", "Parris 2001, eq B.2",
    BurstAverage { burst: u32, weight: f64 },
    |a| count(burst_average(f64::from(a.burst), probability("weight", a.weight)?))
}

formula! {
    /// The smallest burst into an empty queue that lifts RED's average to this value.
    "red-burst", "Parris 2001, eq B.2",
    Burst { average: f64, weight: f64 },
    |a| {
        let w = probability("weight", a.weight)?;
        let reached = (0..10_000_000_u32).find(|l| burst_average(f64::from(*l), w) >= a.average);
        reached.map_or_else(|| Err("no burst reaches this average".to_owned()), |l| count(f64::from(l)))
    }
}

fn fair_share(average: f64, active: u32) -> f64 {
    (average / f64::from(active.max(1))).max(1.0)
}

formula! {
    /// A flow's fair share of the average queue: `max(q_avg / Nactive, 1)`.
    "fred-fair-share", "Parris 2001, fig 3.14",
    FairShare { average: f64, active: u32 },
    |a| count(fair_share(a.average, a.active))
}

fn yes(answer: bool) -> f64 {
    f64::from(u8::from(answer))
}

formula! {
    /// Whether the flow's packet is surely dropped: more than its share is queued, or two with a full average.
    "fred-forced", "Parris 2001, fig 3.14",
    Forced { queued: f64, average: f64, active: u32, strikes: u32, min: f64, max: f64 },
    |a| {
        let share_of_queue = fair_share(a.average, a.active);
        let greedy = a.queued >= a.min || (a.queued >= share_of_queue && a.strikes > 1);
        count(yes(greedy || (a.average >= a.max && a.queued >= 2.0)))
    }
}

formula! {
    /// Whether an early drop may hit the flow: the average is between the thresholds, and it has its share queued.
    "fred-early", "Parris 2001, fig 3.14",
    Early { queued: f64, average: f64, active: u32, min: f64, max: f64, minq: f64 },
    |a| {
        let between = a.average >= a.min && a.average < a.max;
        count(yes(between && a.queued >= fair_share(a.average, a.active).max(a.minq)))
    }
}

formula! {
    /// The share of the queue's limit that a misbehaving flow can hold: `Th_min / Th_max`.
    "fred-share", "Parris 2001, appendix B 5",
    FredShare { min: f64, max: f64 },
    |a| share(a.min / a.max)
}
