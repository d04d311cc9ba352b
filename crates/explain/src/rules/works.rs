//! The queue does what it is there for.

use super::manages;
use crate::finding::{Finding, Weight};
use crate::queue::{Queue, Shaper};
use crate::words;

/// How much a managed queue dropped and marked.
pub(crate) fn share(queue: &Queue<'_>) -> Option<Finding> {
    let acted = queue.counters.dropped + queue.marked();
    if !manages(&queue.qdisc.kind) || acted == 0 {
        return None;
    }
    let load = queue.throughput().map(|rate| format!(" at {}", words::rate(rate))).unwrap_or_default();
    let sentence = format!(
        "{} holds the queue here: of {}{load} it dropped {} and marked {}.",
        queue.qdisc.kind,
        words::packets(queue.arrived()),
        words::percent(queue.share(queue.counters.dropped)),
        words::percent(queue.share(queue.marked())),
    );
    let because = match &queue.shaper {
        Shaper::Shaped { by, rate, held } => format!(
            "{by} limits the rate to {} and held packets back {} times, so they wait here",
            words::rate(*rate),
            words::count(*held)
        ),
        Shaper::Device => "the device itself is the slowest link, so packets wait here".to_owned(),
    };
    Some(Finding::new(Weight::Fine, sentence, because))
}
