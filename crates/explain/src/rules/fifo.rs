//! Queues without management: packets wait until the buffer is full.

use aqmkit_base::Duration;

use super::place;
use crate::finding::{Finding, Weight};
use crate::queue::{Queue, Shaper};
use crate::words;

/// tbf's own queue that can hold more than this delays calls and games.
const LONG: Duration = Duration::from_millis(50);

/// A FIFO that fills up to its limit.
pub(crate) fn fills(queue: &Queue<'_>) -> Option<Finding> {
    let kind = queue.qdisc.kind.as_str();
    let waits = queue.counters.dropped > 0 || queue.counters.backlog_packets >= 100;
    if !matches!(kind, "pfifo_fast" | "pfifo" | "bfifo") || !waits {
        return None;
    }
    let sentence = if queue.counters.dropped > 0 {
        format!(
            "{kind} holds packets until it is full: it dropped {} of {}, each at the end of a full queue, and every packet that it sent waited behind such a queue.",
            words::count(queue.counters.dropped),
            words::packets(queue.arrived()),
        )
    } else {
        format!(
            "{kind} lets its queue grow: {} wait in it now, each behind all before it.",
            words::packets(queue.counters.backlog_packets)
        )
    };
    let because = match queue.rate().filter(|_| queue.counters.backlog_bytes > 0) {
        Some(rate) => {
            let wait = rate.time_to_send(aqmkit_base::Bytes(queue.counters.backlog_bytes));
            format!(
                "the {} bytes that wait now take {} at {}",
                words::count(queue.counters.backlog_bytes),
                words::time(wait),
                words::rate(rate)
            )
        }
        None => "a FIFO signals congestion only when nothing more fits".to_owned(),
    };
    let rate = queue.rate().map(|rate| format!(" --rate {}", words::rate(rate))).unwrap_or_default();
    let finding = Finding::new(Weight::Cause, sentence, because).see(format!("aqmkit compare fifo fq-codel{rate}"));
    Some(finding.mend(format!("tc qdisc replace {} fq_codel", place(queue))))
}

/// tbf without a discipline below it has a FIFO inside.
pub(crate) fn inside_tbf(queue: &Queue<'_>) -> Option<Finding> {
    if queue.qdisc.kind != "tbf" {
        return None;
    }
    let Shaper::Shaped { rate, .. } = queue.shaper else { return None };
    let latency = queue.qdisc.time("lat").or_else(|| {
        let limit = queue.qdisc.size("limit")?;
        Some(rate.time_to_send(limit))
    })?;
    if latency < LONG || queue.counters.dropped == 0 {
        return None;
    }
    let sentence = format!(
        "tbf delays packets by up to {}: its own queue is a FIFO of that length, and it was full {} times.",
        words::time(latency),
        words::count(queue.counters.dropped),
    );
    let because =
        format!("`lat` (or `limit`) is the time that a packet may wait at {} before it is dropped", words::rate(rate));
    Some(
        Finding::new(Weight::Cause, sentence, because)
            .mend(format!("tc qdisc add {}parent {}1 fq_codel", queue.dev, queue.qdisc.handle))
            .see(format!("aqmkit compare fifo fq-codel --rate {}", words::rate(rate))),
    )
}
