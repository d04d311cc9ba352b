//! An estimate in words.

use crate::estimate::Estimate;
use crate::quantile::Value;
use crate::queue::Verdict::{No, Unknown, Yes};

/// One sentence: the link, and what queue it has.
pub(crate) fn sentence(estimate: &Estimate) -> String {
    let least = if estimate.filled { "" } else { "at least " };
    let link = match (estimate.down_bps, estimate.up_bps) {
        (Some(down), Some(up)) => format!("A link of {least}{} down and {} up", rate(down.value), rate(up.value)),
        (Some(one), None) | (None, Some(one)) => format!("A link of {least}{}", rate(one.value)),
        (None, None) => "A link of unknown rate".to_owned(),
    };
    let trip = match estimate.rtt_ms {
        Some(rtt) => format!("with a round trip of {} ms", digits(rtt.value)),
        None => "with an unknown round trip".to_owned(),
    };
    format!("{link} {trip}; {}.", queue(estimate))
}

/// The queue in words.
fn queue(estimate: &Estimate) -> String {
    let ms = |value: Option<Value>| value.map(|value| format!("{} ms", digits(value.value)));
    let kept = |delay: Option<Value>| {
        ms(delay).map(|delay| format!(", in which packets wait {delay} under load")).unwrap_or_default()
    };
    match (estimate.fair_queueing.answer, estimate.aqm.answer) {
        (No, No) => {
            format!("its queue is a FIFO of {}", ms(estimate.buffer_ms).unwrap_or_else(|| "unknown length".to_owned()))
        }
        (No, Yes) => format!("all flows share one queue with an AQM{}", kept(estimate.sparse_delay_ms)),
        (No, Unknown) => format!("all flows share one queue{}", kept(estimate.sparse_delay_ms)),
        (Yes, No) => format!("it has fair queueing without an AQM{}", of_each(ms(estimate.buffer_ms))),
        (Yes, Yes) => "it has fair queueing with an AQM".to_owned(),
        (Yes, Unknown) => "it has fair queueing".to_owned(),
        (Unknown, No) => format!(
            "its queue is full at {}",
            ms(estimate.buffer_ms).unwrap_or_else(|| "a length that was not seen".to_owned())
        ),
        (Unknown, Yes) => "its queue has an AQM".to_owned(),
        (Unknown, Unknown) => "what queue it has was not seen".to_owned(),
    }
}

fn of_each(buffer: Option<String>) -> String {
    buffer.map(|buffer| format!(", with up to {buffer} for a flow")).unwrap_or_default()
}

/// Bits per second with a unit: `47.9 Mbit/s`.
pub(crate) fn rate(bps: f64) -> String {
    match bps {
        1e9.. => format!("{} Gbit/s", digits(bps / 1e9)),
        1e6.. => format!("{} Mbit/s", digits(bps / 1e6)),
        _ => format!("{} kbit/s", digits(bps / 1e3)),
    }
}

/// A number with three digits.
pub(crate) fn digits(value: f64) -> String {
    // Rounding may add a digit.
    match value.abs() {
        99.95.. => format!("{value:.0}"),
        9.995.. => format!("{value:.1}"),
        0.9995.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A row of the table: what, the estimate, its interval.
pub(crate) type Row = [String; 3];

/// The table: a row for each quantity that is known.
pub(crate) fn rows(estimate: &Estimate) -> Vec<Row> {
    let row = |what: &str, value: Option<Value>, show: &dyn Fn(f64) -> String| {
        let value = value?;
        Some([what.to_owned(), show(value.value), format!("{} to {}", show(value.low), show(value.high))])
    };
    let ms = |value: f64| format!("{} ms", digits(value));
    let bytes = |value: f64| format!("{} kB", digits(value / 1000.0));
    let share = |value: f64| format!("{} %", digits(100.0 * value));
    let least = |what: &str| if estimate.filled { what.to_owned() } else { format!("{what}, at least") };
    let rate_down = if estimate.up_bps.is_some() { least("rate down") } else { least("rate") };
    let mut rows: Vec<Row> = [
        row(&rate_down, estimate.down_bps, &rate),
        row(&least(if estimate.down_bps.is_some() { "rate up" } else { "rate" }), estimate.up_bps, &rate),
        row("base round trip", estimate.rtt_ms, &ms),
        row("sparse packets wait", estimate.sparse_delay_ms, &ms),
        row("bulk flows wait", estimate.bulk_delay_ms, &ms),
        row("buffer", estimate.buffer_ms, &ms),
        row("", estimate.buffer_bytes, &bytes),
        row("sparse packets lost", estimate.sparse_loss, &share),
        row("bulk packets lost", estimate.bulk_loss, &share),
    ]
    .into_iter()
    .flatten()
    .collect();
    for (what, kind) in [("fair queueing", &estimate.fair_queueing), ("AQM", &estimate.aqm)] {
        let answer = match kind.answer {
            Yes => "yes",
            No => "no",
            Unknown => continue,
        };
        rows.push([what.to_owned(), answer.to_owned(), kind.because.clone()]);
    }
    rows
}
