//! The queue is not here.

use aqmkit_base::BitRate;

use super::{manages, place};
use crate::finding::{Finding, Weight};
use crate::queue::{Queue, Shaper};
use crate::words;

/// A shaper takes this share of what a link carries, so that the queue is at the shaper: the usual advice for CAKE and sqm.
const SHARE_OF_THE_LINK: f64 = 0.95;
/// A shaper that holds back fewer packets than this share is not the bottleneck.
const SELDOM: f64 = 0.001;

/// A discipline without a shaper that has never had to drop or mark.
pub(crate) fn nothing_waits(queue: &Queue<'_>) -> Option<Finding> {
    let kind = queue.qdisc.kind.as_str();
    let acted = queue.counters.dropped + queue.marked();
    let leaf = manages(kind) || matches!(kind, "pfifo_fast" | "pfifo" | "bfifo" | "fq" | "sfq");
    let idle = leaf && queue.busy() && acted == 0 && queue.counters.backlog_packets == 0;
    if !idle || queue.shaper != Shaper::Device {
        return None;
    }
    let sentence = format!(
        "No queue builds up at {kind}: it dropped and marked none of {}, so a delay that users notice is in another queue, such as that of the modem or the radio behind {}.",
        words::packets(queue.arrived()),
        queue.qdisc.device.as_deref().unwrap_or("this device"),
    );
    let because = "nothing limits the rate here, so packets leave as fast as the device sends and wait at the first link that is slower";
    Some(Finding::new(Weight::Cause, sentence, because).mend(shape(queue)).see(compare(queue)))
}

/// A shaper above the rate of the link.
pub(crate) fn shaper_never_holds(queue: &Queue<'_>) -> Option<Finding> {
    let Shaper::Shaped { by, rate, held } = &queue.shaper else { return None };
    let seldom = queue.busy() && (*held as f64) < SELDOM * queue.arrived() as f64;
    if !seldom || queue.counters.dropped + queue.marked() > 0 {
        return None;
    }
    let sentence = format!(
        "The shaper is not the bottleneck: {by} at {} held back {} of {}, so packets wait in a slower queue behind it, or the link has been idle.",
        words::rate(*rate),
        words::packets(*held),
        words::count(queue.arrived()),
    );
    let because = match queue.known.rate {
        Some(link) if link < *rate => {
            format!("the link carries {}, less than the shaper lets through", words::rate(link))
        }
        _ => "a shaper that is slower than the link would hold back most packets of a download".to_owned(),
    };
    Some(Finding::new(Weight::Cause, sentence, because).mend(shape(queue)).see(compare(queue)))
}

/// The line that moves the queue here.
fn shape(queue: &Queue<'_>) -> String {
    match queue.known.rate {
        Some(link) => {
            let bps = (link.as_bps() as f64 * SHARE_OF_THE_LINK / 1000.0).round() * 1000.0;
            format!("tc qdisc replace {} cake bandwidth {}", place(queue), words::rate(BitRate::from_bps(bps as u64)))
        }
        None => format!(
            "tc qdisc replace {} cake bandwidth RATE   (95 % of the rate that a speed test shows)",
            place(queue)
        ),
    }
}

fn compare(queue: &Queue<'_>) -> String {
    let rate = queue.known.rate.map_or_else(|| "RATE".to_owned(), words::rate);
    let rtt = queue.known.rtt.map(|rtt| format!(" --rtt {}", words::tc_time(rtt))).unwrap_or_default();
    format!("aqmkit compare fifo cake --rate {rate}{rtt}")
}
