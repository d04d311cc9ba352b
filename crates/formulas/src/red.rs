//! RED and FRED: Parris 2001, chapter III and appendix B.
//!
//! RED's probabilities and averages are computed by the discipline's functions. FRED's shares and tests are
//! reimplemented here, because the discipline applies them to queued flows.

use aqmkit_aqm::law::early::{Ramp, spread};
use aqmkit_aqm::law::ewma;
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

/// Equation 3.1 as in the discipline: zero up to `min`, one above the end of the ramp.
fn base(average: f64, ramp: Ramp) -> Result<f64, String> {
    if ramp.max <= ramp.min {
        return Err(format!("max = {} must be above min = {}", ramp.max, ramp.min));
    }
    let ramp = ramp.check().map_err(|e| e.to_string())?;
    Ok(match average {
        a if a <= ramp.min => 0.0,
        a if a <= ramp.ceiling() => ramp.base_probability(a),
        _ => 1.0,
    })
}

formula! {
    /// RED's drop probability before it is spread: `max_p (avg - min) / (max - min)`.
    "red-base-probability", "Parris 2001, eq 3.1; section III 2.2.4",
    BaseProbability { average: f64, min: f64, max: f64, max_p: f64, gentle: bool = false },
    |a| {
        let ramp = Ramp { min: a.min, max: a.max, max_p: probability("max_p", a.max_p)?, gentle: a.gentle };
        share(base(a.average, ramp)?)
    }
}

formula! {
    /// RED's drop probability after `count` packets were let through: `p_b / (1 - count p_b)`.
    "red-probability", "Parris 2001, eq 3.2",
    Probability { average: f64, min: f64, max: f64, max_p: f64, count: u32 },
    |a| {
        let ramp = Ramp { min: a.min, max: a.max, max_p: probability("max_p", a.max_p)?, gentle: false };
        share(spread(base(a.average, ramp)?, f64::from(a.count)))
    }
}

formula! {
    /// Packets between two drops while the average approaches the maximum threshold: the count at which a drop is
    /// certain, `1 / max_p - 1`.
    "red-guaranteed-gap", "Parris 2001, section III 3.2.1",
    GuaranteedGap { max_p: f64 },
    |a| {
        let p = probability("max_p", a.max_p)?;
        let certain = (0..10_000_000_u32).map(f64::from).find(|n| spread(p, *n) >= 1.0);
        certain.map_or_else(|| Err(format!("max_p = {p} is too small")), count)
    }
}

formula! {
    /// The weighted average after `n` equal samples: `q + (avg - q) (1 - w)^n`.
    "ewma", "Parris 2001, fig 3.7",
    Ewma { start: f64, sample: f64, weight: f64, samples: u32 = 1 },
    |a| {
        let (w, mut average) = (probability("weight", a.weight)?, ewma::Ewma::at(a.start));
        for _ in 0..a.samples.min(10_000_000) {
            average.sample(w, a.sample);
        }
        count(average.get())
    }
}

formula! {
    /// Weight of a sample in the average after `later` more samples: `w (1 - w)^later`.
    "ewma-sample-weight", "Parris 2001, fig 3.7; section VI 5.1.1",
    SampleWeight { weight: f64, later: u32 = 0 },
    |a| {
        let (w, mut average) = (probability("weight", a.weight)?, ewma::Ewma::default());
        average.sample(w, 1.0);
        average.decay(w, f64::from(a.later));
        share(average.get())
    }
}

formula! {
    /// RED's average after the queue was empty for some time: `(1 - w)^n avg` with `n = idle * drain_rate - 1`.
    "red-idle-average", "Parris 2001, fig 3.7",
    IdleAverage { average: f64, weight: f64, idle: Duration, rate: BitRate, packet: Bytes },
    |a| {
        let drained = a.idle.as_secs_f64() * a.rate.bytes_per_sec() / a.packet.as_f64();
        let mut average = ewma::Ewma::at(a.average);
        average.decay(probability("weight", a.weight)?, drained - 1.0);
        count(average.get())
    }
}

/// The average after each packet of a burst into an empty queue, starting with the first.
fn burst_averages(weight: f64) -> impl Iterator<Item = f64> {
    let mut average = ewma::Ewma::default();
    (1..=10_000_000_u32).map(move |length| {
        average.sample(weight, f64::from(length));
        average.get()
    })
}

formula! {
    /// RED's average after a burst into an empty queue: `L + 1 + ((1 - w)^(L+1) - 1) / w`.
    "red-burst-average", "Parris 2001, eq B.2",
    BurstAverage { burst: u32, weight: f64 },
    |a| {
        let w = probability("weight", a.weight)?;
        let Some(before) = a.burst.checked_sub(1) else { return count(0.0) };
        burst_averages(w).nth(before as usize).map_or_else(|| Err("the burst is too long".to_owned()), count)
    }
}

formula! {
    /// The smallest burst into an empty queue that raises RED's average to this value.
    "red-burst", "Parris 2001, eq B.2",
    Burst { average: f64, weight: f64 },
    |a| {
        let reached = burst_averages(probability("weight", a.weight)?).position(|average| average >= a.average);
        reached.map_or_else(|| Err("no burst gives this average".to_owned()), |before| count((before + 1) as f64))
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
    /// Whether the flow's packet is dropped with certainty: more than its share is queued, or two with a full average.
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
