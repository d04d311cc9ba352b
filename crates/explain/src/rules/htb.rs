//! HTB: packets that no class takes.

use super::place;
use crate::finding::{Finding, Weight};
use crate::queue::Queue;
use crate::words;

/// Packets that pass HTB unshaped, because no filter takes them and the default class does not exist.
pub(crate) fn unclassified(queue: &Queue<'_>) -> Option<Finding> {
    if queue.qdisc.kind != "htb" {
        return None;
    }
    let direct = queue.counted_option("direct_packets_stat");
    if direct == 0 || queue.share(direct) < 0.01 {
        return None;
    }
    let default = queue.qdisc.options.get("default").map(String::as_str).unwrap_or("0");
    let sentence = format!(
        "HTB does not shape {} of {}: no filter puts them into a class, and there is no default class {default}.",
        words::packets(direct),
        words::count(queue.arrived()),
    );
    let because = "packets without a class are sent at once, ahead of all classes (direct_packets_stat)";
    let major = queue.qdisc.handle.trim_end_matches(':');
    Some(
        Finding::new(Weight::Cause, sentence, because)
            .mend(format!(
                "tc class add {}parent {major}: classid {major}:{} htb rate RATE",
                queue.dev,
                default.trim_start_matches("0x")
            ))
            .mend(format!("or another default: tc qdisc replace {} handle {major}: htb default CLASS", place(queue))),
    )
}
