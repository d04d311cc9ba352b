//! The estimate of a path.

use serde::Serialize;

use crate::evidence::{Evidence, evidence, lengths};
use crate::measurement::Direction;
use crate::quantile::{Value, quantile};
use crate::queue::{Kind, Verdict, fair, filled, managed};
use crate::rate::{Rate, rates};
use crate::trial::Trial;
use crate::{base, loss, words};

/// What files say of the bottleneck of a path. `None` is unknown; [`Estimate::unseen`] says why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The rate to the machine that measured, in bits per second of IP packets; also if the direction is unknown.
    pub down_bps: Option<Value>,
    /// The rate from it.
    pub up_bps: Option<Value>,
    /// Whether the load certainly filled the link: a queue was seen. Otherwise the rates are lower bounds.
    pub filled: bool,
    /// The round-trip time without a queue, in ms.
    pub rtt_ms: Option<Value>,
    /// The delay of sparse packets under load beyond the base, its median, in ms.
    pub sparse_delay_ms: Option<Value>,
    /// The delay of the bulk flows beyond the base, its median, in ms.
    pub bulk_delay_ms: Option<Value>,
    /// The buffer, if the load filled it, in ms at the rate of the link.
    pub buffer_ms: Option<Value>,
    /// The same in bytes.
    pub buffer_bytes: Option<Value>,
    /// Whether a sparse flow has a queue of its own.
    pub fair_queueing: Kind,
    /// Whether packets are dropped before the queue is full.
    pub aqm: Kind,
    /// The share of sparse packets lost under load.
    pub sparse_loss: Option<Value>,
    /// The share of the packets of bulk flows that were lost.
    pub bulk_loss: Option<Value>,
    /// What could not be seen: sentences without a full stop.
    pub unseen: Vec<String>,
}

impl Estimate {
    /// One sentence: the link, and what queue it has.
    #[must_use]
    pub fn sentence(&self) -> String {
        words::sentence(self)
    }

    /// A table of what is known: what, the estimate, and its interval or reason.
    #[must_use]
    pub fn rows(&self) -> Vec<[String; 3]> {
        words::rows(self)
    }
}

/// Estimates the path of a test.
#[must_use]
pub fn estimate(trial: &Trial) -> Estimate {
    let mut unseen = trial.unseen.clone();
    let rates = rates(trial);
    let slowest = rates.iter().map(|rate| rate.bps.value).min_by(f64::total_cmp).or(trial.given.rate_bps);
    let base = base::base(trial, slowest);
    let seen = evidence(trial, base, slowest);
    let busy = rates.iter().map(|rate| rate.busy).fold(0.0, f64::max);
    let fair = fair(&seen, busy);
    let (aqm, buffer) = managed(&seen, fair.answer);
    let one = |wanted: &[Direction]| rates.iter().find(|rate| wanted.contains(&rate.direction)).map(|rate| rate.bps);
    let given = trial.given.rate_bps.map(|bps| Value { value: bps, low: bps * 0.95, high: bps * 1.05 });
    let ms = |value: Value| value.scaled(1000.0);
    let of = |delays: &[(f64, f64)]| Value::of_quantile(&lengths(delays), 0.5).map(ms);
    let filled = rates.is_empty() || filled(&seen, fair.answer);
    about_load(trial, &rates, filled, &mut unseen);
    about_base(base, &mut unseen);
    about_queue(&seen, &fair, &aqm, buffer, &mut unseen);
    Estimate {
        down_bps: one(&[Direction::Down, Direction::Unknown]).or(given),
        up_bps: one(&[Direction::Up]),
        filled,
        rtt_ms: base.map(|base| ms(base.rtt)),
        sparse_delay_ms: of(&seen.sparse),
        bulk_delay_ms: of(&seen.bulk),
        buffer_ms: buffer.map(ms),
        buffer_bytes: buffer.zip(slowest).map(|(buffer, bps)| buffer.scaled(bps / 8.0)),
        fair_queueing: fair,
        aqm,
        sparse_loss: loss::of_sparse(trial),
        bulk_loss: loss::of_bulk(trial),
        unseen,
    }
}

fn about_load(trial: &Trial, rates: &[Rate], filled: bool, unseen: &mut Vec<String>) {
    if rates.is_empty() && trial.given.rate_bps.is_none() {
        unseen.push(
            "the rate: no file has flows that load the path (iperf3 -J, flent, or a capture of a transfer)".to_owned(),
        );
    }
    if !filled {
        unseen.push("whether the load filled the link: no queue was seen that stood, so the rate is at least this (use more flows, or a longer test)".to_owned());
    }
    if trial.load.is_none() {
        unseen.push("the queue: no file says when the path was loaded (--load 20s..50s for a ping log)".to_owned());
    }
    for rate in rates.iter().filter(|rate| !rate.is_plateau) {
        unseen.push(format!(
            "a steady rate: only {:.0} % of the time was within 5 % of the highest rate, so the load may not have filled the link",
            100.0 * rate.busy
        ));
    }
    let directions: Vec<Direction> = rates.iter().map(|rate| rate.direction).collect();
    match directions.as_slice() {
        [_] if trial.given.has_other_direction => {}
        [Direction::Down] => unseen.push("the rate and the queue from this machine: the load went to it".to_owned()),
        [Direction::Up] => unseen.push("the rate and the queue to this machine: the load came from it".to_owned()),
        [_] => unseen.push("the other direction, and which of the two this one is".to_owned()),
        [] => {}
        _ => unseen.push("which of the two queues the delay is in: both directions were loaded at once".to_owned()),
    }
}

fn about_base(base: Option<base::Base>, unseen: &mut Vec<String>) {
    match base {
        None => unseen.push("the base round trip: no file has round trips".to_owned()),
        Some(base) if !base.is_idle => unseen.push(
            "the base round trip without load: the shortest under load is an upper bound (begin the ping some seconds before the load)"
                .to_owned(),
        ),
        Some(_) => {}
    }
}

fn about_queue(seen: &Evidence, fair: &Kind, aqm: &Kind, buffer: Option<Value>, unseen: &mut Vec<String>) {
    if fair.answer == Verdict::Unknown {
        unseen.push(format!("fair queueing: {}", fair.because));
    }
    if aqm.answer == Verdict::Unknown {
        unseen.push(format!("whether packets are dropped before the queue is full: {}", aqm.because));
    }
    if buffer.is_none() {
        let highest = quantile(&lengths(if fair.answer == Verdict::Yes { &seen.bulk } else { &seen.sparse }), 0.995);
        let least = highest
            .map_or_else(String::new, |delay| format!("; it holds at least {} ms", words::digits(1000.0 * delay)));
        unseen.push(format!("the buffer: the load did not fill it{least}"));
    }
}
