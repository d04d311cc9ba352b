//! CAKE: tins and what a packet takes on the wire.

use aqmkit_base::Duration;
use aqmkit_tc::Tin;

use crate::finding::{Finding, Weight};
use crate::queue::Queue;
use crate::words;

/// Rates up to this are those of DSL lines that may use ATM.
const SLOW_DSL: u64 = 24_000_000;

fn share(tin: &Tin, tins: &[Tin]) -> f64 {
    let all: u64 = tins.iter().map(|one| one.bytes).sum();
    if all == 0 { 0.0 } else { tin.bytes as f64 / all as f64 }
}

/// Bulk traffic in a tin for little traffic, which then loses its priority for all that is in it.
pub(crate) fn misplaced(queue: &Queue<'_>) -> Option<Finding> {
    let tins = &queue.tins;
    let priority = tins.iter().filter(|tin| matches!(tin.name.as_str(), "Voice" | "Video"));
    let crowded = priority.max_by_key(|tin| tin.drops)?;
    if share(crowded, tins) < 0.4 || crowded.drops == 0 || !queue.busy() {
        return None;
    }
    let sentence = format!(
        "Bulk traffic is in the {} tin: {} of all bytes, with {} drops there and packets that waited up to {}.",
        crowded.name,
        words::percent(share(crowded, tins)),
        words::count(crowded.drops),
        words::time(crowded.peak_delay),
    );
    let because = format!(
        "above {} the tin has no priority over the others, so calls in it wait behind the bulk traffic; some application sets the DSCP of calls",
        words::rate(crowded.threshold)
    );
    Some(Finding::new(Weight::Cause, sentence, because).mend(format!(
        "tc qdisc change {}root cake besteffort   (ignores the DSCP; or clear it where the traffic enters)",
        queue.dev
    )))
}

/// Priority tins in which there is nothing.
pub(crate) fn no_classes(queue: &Queue<'_>) -> Option<Finding> {
    let tins = &queue.tins;
    let best = tins.iter().find(|tin| tin.name == "Best Effort")?;
    if !queue.busy() || share(best, tins) < 0.999 {
        return None;
    }
    let sentence =
        "All traffic is in the Best Effort tin: no sender marks its packets with a DSCP, so the other tins do nothing."
            .to_owned();
    Some(Finding::new(
        Weight::Note,
        sentence,
        "CAKE sorts by the DSCP alone; flows are shared fairly within the tin all the same",
    ))
}

/// A slow line without compensation for ATM cells.
pub(crate) fn overhead(queue: &Queue<'_>) -> Option<Finding> {
    let qdisc = queue.qdisc;
    let rate = qdisc.rate("bandwidth").filter(|_| qdisc.kind == "cake")?;
    let none = qdisc.has("raw") || (!qdisc.has("atm") && qdisc.size("overhead").is_none_or(|bytes| bytes.0 == 0));
    if !none || rate.as_bps() > SLOW_DSL {
        return None;
    }
    let sentence = format!(
        "CAKE counts packets at {} without framing; on ADSL it then sends more than the line carries.",
        words::rate(rate)
    );
    let because = "ADSL carries a packet in ATM cells of 53 bytes with 48 of data: an acknowledgement of 40 bytes takes 106, so that the modem's queue fills though the shaper is below its rate";
    Some(Finding::new(Weight::Note, sentence, because).mend(format!(
        "tc qdisc change {}root cake overhead 44 atm   (ADSL only; `ethernet`, `docsis` or `ptm` for others)",
        queue.dev
    )))
}

/// The tin whose packets wait longest.
pub(crate) fn waiting(queue: &Queue<'_>) -> Option<Finding> {
    let longest = queue.tins.iter().filter(|tin| tin.packets > 0).max_by_key(|tin| tin.peak_delay)?;
    let limit = longest.target.max(Duration::from_millis(5)).mul_f64(4.0);
    if longest.peak_delay <= limit {
        return None;
    }
    let sentence = format!(
        "Packets of the {} tin lately waited up to {}, where CAKE aims at {}.",
        longest.name,
        words::time(longest.peak_delay),
        words::time(longest.target),
    );
    let because = if longest.unresponsive_flows > 0 {
        format!("{} flows in it do not slow down when packets are dropped", longest.unresponsive_flows)
    } else {
        "pk_delay is a decaying maximum: bursts and the start of downloads raise it for some seconds".to_owned()
    };
    Some(Finding::new(Weight::Note, sentence, because))
}
