//! Managed queues that overflow all the same.

use super::{manages, place};
use crate::finding::{Finding, Weight};
use crate::queue::Queue;
use crate::words;

/// More drops than this share at the limit: the limit decides, not the law.
const MANY: f64 = 0.1;

/// Drops at the packet limit.
pub(crate) fn limit(queue: &Queue<'_>) -> Option<Finding> {
    let kind = queue.qdisc.kind.as_str();
    let name = if matches!(kind, "pie" | "fq_pie") { "overlimit" } else { "drop_overlimit" };
    let overflowed = queue.counted(name);
    if !manages(kind) || overflowed == 0 || (overflowed as f64) < MANY * queue.counters.dropped as f64 {
        return None;
    }
    let limit = queue.qdisc.count("limit");
    let sentence = format!(
        "{kind} overflows: {} of its {} drops were at its limit{}, not decided by its law.",
        words::count(overflowed),
        words::count(queue.counters.dropped),
        limit.map(|limit| format!(" of {}", words::packets(limit))).unwrap_or_default(),
    );
    let small = limit.filter(|limit| *limit < 1000);
    let because = match small {
        Some(_) => {
            "the limit is shorter than the bursts that arrive, so whole bursts are lost before the law sees a delay"
        }
        None => {
            "a queue of this length is a flood that does not slow down when packets are dropped, or a rate that fell suddenly"
        }
    };
    let finding = Finding::new(Weight::Cause, sentence, because);
    Some(match small {
        Some(_) => finding.mend(format!("tc qdisc change {} {kind} limit 10240", place(queue))),
        None => finding.see("aqmkit compare fq-codel cake --udp 1"),
    })
}

/// Drops because the memory that a queue may use is full.
pub(crate) fn memory(queue: &Queue<'_>) -> Option<Finding> {
    let limit =
        queue.qdisc.size("memory_limit").map_or_else(|| queue.qdisc.detail("memory_limit"), |size| size.0 as f64);
    let full = limit > 0.0 && queue.qdisc.detail("memory_used") > 0.95 * limit;
    let counted = queue.counted("drop_overmemory");
    if queue.counters.dropped == 0
        || (counted == 0 && !full)
        || (counted as f64) < MANY * queue.counters.dropped as f64 && !full
    {
        return None;
    }
    let kind = queue.qdisc.kind.as_str();
    let size = format!("{:.0} MB", limit / 1_048_576.0);
    let sentence = format!(
        "{kind} ran out of memory: its {size} were full, and packets were dropped for that and not for their delay."
    );
    let because = format!(
        "memory counts buffers, not bytes on the wire: {} used of {} bytes",
        words::count(queue.qdisc.detail("memory_used") as u64),
        words::count(limit as u64)
    );
    let word = if kind == "cake" { "memlimit" } else { "memory_limit" };
    let more = ((limit / 1_048_576.0) * 4.0).max(16.0);
    Some(
        Finding::new(Weight::Cause, sentence, because)
            .mend(format!("tc qdisc change {} {kind} {word} {more:.0}mb", place(queue))),
    )
}
