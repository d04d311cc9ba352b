//! RED: drops by force.

use crate::finding::{Finding, Weight};
use crate::queue::Queue;
use crate::words;

/// More packets dropped because the queue was above `max` or full than early.
pub(crate) fn forced(queue: &Queue<'_>) -> Option<Finding> {
    let (early, forced) = (queue.counted("early"), queue.counted("pdrop"));
    if queue.qdisc.kind != "red" || forced < 100 || forced <= early {
        return None;
    }
    let sentence = format!(
        "RED works as a FIFO: {} packets were dropped above `max` or at the limit, {} early.",
        words::count(forced),
        words::count(early)
    );
    let because = "between `min` and `max` the probability is too small for the flows that are there, so the average stays above `max`";
    Some(
        Finding::new(Weight::Cause, sentence, because).mend(
            "tc qdisc replace ... red ... adaptive   (adapts the probability; or fq_codel, which needs no thresholds)"
                .to_owned(),
        ),
    )
}
