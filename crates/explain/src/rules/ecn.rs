//! Whether explicit congestion notification does anything.

use super::{manages, place};
use crate::finding::{Finding, Weight};
use crate::queue::Queue;
use crate::words;

fn drops_enough(queue: &Queue<'_>) -> bool {
    queue.busy() && queue.counters.dropped >= 100
}

/// The queue would mark, and only drops.
pub(crate) fn senders_do_not_use_it(queue: &Queue<'_>) -> Option<Finding> {
    let kind = queue.qdisc.kind.as_str();
    // CAKE, dualpi2 and SFB always mark.
    let on = queue.qdisc.has("ecn") || matches!(kind, "cake" | "dualpi2" | "sfb");
    if !manages(kind) || !on || !drops_enough(queue) || queue.marked() > 0 {
        return None;
    }
    let sentence = format!(
        "ECN does nothing here: {kind} may mark, but dropped {} and marked none, because no sender negotiates it.",
        words::packets(queue.counters.dropped)
    );
    let because = "a connection has ECN only if both hosts ask for it; most clients do not by default";
    Some(Finding::new(Weight::Note, sentence, because).mend("sysctl -w net.ipv4.tcp_ecn=1   (on the hosts that send)"))
}

/// The queue could mark and is told not to.
pub(crate) fn switched_off(queue: &Queue<'_>) -> Option<Finding> {
    let kind = queue.qdisc.kind.as_str();
    if !matches!(kind, "fq_codel" | "codel" | "pie" | "fq_pie" | "red")
        || queue.qdisc.has("ecn")
        || !drops_enough(queue)
    {
        return None;
    }
    let sentence = format!(
        "ECN is off: {kind} dropped {}, of which those of ECN-capable senders could have been marks.",
        words::packets(queue.counters.dropped)
    );
    let because = "a mark has the effect of a drop without the packet's being sent again";
    Some(Finding::new(Weight::Note, sentence, because).mend(format!("tc qdisc change {} {kind} ecn", place(queue))))
}
