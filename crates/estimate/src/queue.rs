//! What queue is there: fair queueing or not, managed or not, and how much it holds.
//!
//! *Fair queueing*: a sparse flow does not wait behind bulk flows. Seen where sparse packets and bulk flows are measured at the same time: they wait alike in
//! one queue, and in queues of their own the sparse packets hardly wait.
//!
//! *Managed*: packets are dropped before the queue is full. A FIFO drops when it is full and only then, so the delay has a cap, and whenever packets are lost it
//! is at that cap. A managed queue drops at delays that vary, far below the highest that it had.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evidence::{Delay, Evidence, lengths, mean};
use crate::quantile::{Value, median, quantile};
use crate::words::digits;

/// An answer that may be unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is so.
    Yes,
    /// It is not.
    No,
    /// The measurement does not tell.
    Unknown,
}

/// An answer with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// The answer.
    pub answer: Verdict,
    /// What it rests on, or what would have told; a sentence without a full stop.
    pub because: String,
}

impl Kind {
    fn new(answer: Verdict, because: impl Into<String>) -> Kind {
        Kind { answer, because: because.into() }
    }
}

/// Sparse packets that wait less than this share of what bulk flows wait have a queue of their own.
const OWN: f64 = 0.35;
/// From this share on they wait in the same queue.
const SAME: f64 = 0.6;
/// The smallest number of delays for a verdict.
const FEWEST: usize = 8;
/// The number of bulk flows that is assumed where it is unknown.
const MANY: usize = 16;
/// A delay this close to the cap is at it.
const AT_CAP: f64 = 0.85;

/// Whether a sparse flow has a queue of its own. `busy`: the share of the time in which the link was certainly full.
pub(crate) fn fair(seen: &Evidence, busy: f64) -> Kind {
    use Verdict::{No, Unknown, Yes};
    if seen.flows == 0 && seen.sparse.is_empty() {
        return Kind::new(Unknown, "it shows only where sparse packets are measured beside bulk flows");
    }
    let (Some(sparse), true) = (mean(&seen.sparse), seen.sparse.len() >= FEWEST) else {
        return Kind::new(Unknown, "it takes a ping beside the bulk flows, and there were too few of its packets");
    };
    let ms = |seconds: f64| format!("{} ms", digits(seconds * 1000.0));
    let bulk = top(seen);
    if let Some((short, long)) = bulk.filter(|(_, long)| *long > seen.threshold()) {
        let words = format!("while bulk flows waited {}, sparse packets waited {}", ms(long), ms(short));
        match short / long {
            ratio if ratio < OWN && is_standing(seen, long) => return Kind::new(Yes, words),
            ratio if ratio > SAME => return Kind::new(No, words),
            _ => {}
        }
    }
    // Behind one round of fair queueing a sparse packet waits for a packet of each flow at most.
    let flows = if seen.flows == 0 { MANY } else { seen.flows };
    let round = 1.5 * flows as f64 * seen.packet;
    if sparse > round.max(seen.threshold()) {
        return Kind::new(No, format!("sparse packets waited {} in the mean behind the load", ms(sparse)));
    }
    // A full link with one queue has packets waiting, and a sparse packet meets them.
    let middle = median(&lengths(&seen.sparse)).unwrap_or(sparse);
    if busy > 0.9 && middle < seen.packet && seen.noise < seen.packet {
        return Kind::new(Yes, format!("the link was full, and sparse packets waited {} in the mean", ms(sparse)));
    }
    Kind::new(Unknown, "no queue was seen, neither by sparse packets nor by the bulk flows")
}

/// Whether bulk flows that waited this long had a queue that stood. Bursts wait for each other in any queue, and the smoothed round trip of a sender is that of the
/// end of a burst, while sparse packets seldom meet one. A queue that stands keeps the link busy, so that nearly every sparse packet waits at least for the rest of the
/// packet that is being sent. Where that is too short to be measured, the queue must be longer than the bursts of a window.
fn is_standing(seen: &Evidence, bulk: f64) -> bool {
    if bulk < 4.0 * seen.flows as f64 * seen.packet {
        return false;
    }
    met(seen).map_or(bulk > 0.1 * seen.base, |met| met >= 0.8)
}

/// The share of sparse packets that met a busy link, which is the share of the time in which it was busy; `None` where the time of a packet is too short to be
/// measured.
fn met(seen: &Evidence) -> Option<f64> {
    if seen.noise >= seen.packet / 3.0 || seen.sparse.len() < FEWEST {
        return None;
    }
    let waited = seen.sparse.iter().filter(|(_, delay)| *delay > 0.1 * seen.packet).count() as f64;
    Some(waited / seen.sparse.len() as f64)
}

/// The middle delays of sparse packets and of bulk flows in the quarter of the seconds in which the bulk flows waited longest. Only a queue that stands shows who
/// shares it: bursts of bulk packets wait for each other in any queue, and sparse packets seldom meet them.
fn top(seen: &Evidence) -> Option<(f64, f64)> {
    let by_second = |delays: &[Delay]| {
        let mut seconds: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
        for (at, delay) in delays {
            let one = seconds.entry(at.floor() as i64).or_default();
            *one = (one.0 + delay, one.1 + 1.0);
        }
        seconds.into_iter().map(|(second, (sum, count))| (second, sum / count)).collect::<BTreeMap<i64, f64>>()
    };
    let (sparse, bulk) = (by_second(&seen.sparse), by_second(&seen.bulk));
    let mut both: Vec<(f64, f64)> =
        bulk.iter().filter_map(|(second, bulk)| Some((*bulk, *sparse.get(second)?))).collect();
    both.sort_by(|a, b| b.0.total_cmp(&a.0));
    both.truncate(both.len().div_ceil(4));
    if both.len() < 2 {
        return None;
    }
    // Medians: one second of a flow's start does not decide.
    let middle = median(&both.iter().map(|pair| pair.1).collect::<Vec<_>>())?;
    Some((middle, median(&both.iter().map(|pair| pair.0).collect::<Vec<_>>())?))
}

/// Whether the load certainly filled the link: a queue stood, or sparse packets always met a packet. Otherwise it may have sent less than the link can.
pub(crate) fn filled(seen: &Evidence, fair: Verdict) -> bool {
    let above = |delays: &[Delay]| mean(delays).is_some_and(|mean| mean > seen.threshold());
    let bulk = mean(&seen.bulk).is_some_and(|bulk| bulk > seen.threshold() && is_standing(seen, bulk));
    fair == Verdict::Yes || above(&seen.sparse) || bulk || met(seen).is_some_and(|met| met >= 0.9)
}

/// Whether packets are dropped before the queue is full, and the buffer in seconds.
pub(crate) fn managed(seen: &Evidence, fair: Verdict) -> (Kind, Option<Value>) {
    use Verdict::{No, Unknown, Yes};
    // With queues of their own, sparse packets do not see that of the bulk flows.
    let delays: Vec<Delay> = match fair {
        Yes => seen.bulk.clone(),
        _ if seen.sparse.len() >= FEWEST => seen.sparse.clone(),
        _ => seen.bulk.clone(),
    };
    if delays.len() < FEWEST {
        return (Kind::new(Unknown, "the delay of the queue was not seen under load"), None);
    }
    let all = lengths(&delays);
    let Some(cap) = quantile(&all, 0.995).filter(|cap| *cap > seen.threshold()) else {
        return (Kind::new(Unknown, "no queue was seen"), None);
    };
    let round = 4.0 * seen.flows as f64 * seen.packet;
    if fair == Yes && cap < round {
        return (Kind::new(Unknown, "each flow had only a few packets in its queue"), None);
    }
    let peaks = peaks(&delays, &seen.losses, cap);
    let at_cap = peaks.iter().filter(|peak| **peak >= AT_CAP * cap).count() as f64 / peaks.len().max(1) as f64;
    let tail = tail(&all, cap);
    let stands = median(&all).is_some_and(|middle| middle > seen.threshold());
    // Single delays above the cap are of hosts that were busy: they are a long tail only of a queue that was full all the time.
    let is_full = median(&all).is_some_and(|middle| middle >= AT_CAP * cap);
    let words = words(cap, at_cap, peaks.len(), tail);
    // Queues change within a round trip: peaks are seen where delays were measured more often.
    let peaks_seen = if is_resolved(&delays, seen.base + cap) { peaks.len() } else { 0 };
    let answer = match peaks.len() {
        // Without losses the queue may never have been full.
        0 if seen.knows_losses => Unknown,
        _ if !seen.knows_losses && tail > 1.5 && stands => Yes,
        0 => Unknown,
        _ if tail < CAPPED && (at_cap >= 0.7 || peaks_seen == 0) && (seen.knows_losses || stands) => No,
        _ if !seen.knows_losses => Unknown,
        _ if peaks_seen > 0 && at_cap >= 0.9 && tail < 1.0 => No,
        _ if peaks_seen >= 10 && at_cap >= 0.9 && is_full => No,
        _ if peaks_seen >= 3 && at_cap <= 0.4 => Yes,
        _ if tail > 1.2 && (stands || at_cap <= 0.6) => Yes,
        _ => Unknown,
    };
    let buffer = (answer == No).then(|| {
        let full: Vec<f64> = peaks.iter().copied().filter(|peak| *peak >= AT_CAP * cap).collect();
        // The highest are nearest to the cap, which is seen to a packet.
        let full = if full.len() < 6 {
            Value { value: cap, low: quantile(&all, 0.9)?, high: cap }
        } else {
            Value::of_quantile(&full, 0.9)?
        };
        Some(Value { high: full.high + seen.packet, ..full })
    });
    (Kind::new(answer, words), buffer.flatten())
}

/// What an answer rests on.
fn words(cap: f64, at_cap: f64, losses: usize, tail: f64) -> String {
    let end = match tail {
        tail if tail < CAPPED => "the delays end there",
        tail if tail > 1.2 => "few delays are near it",
        _ => "the delays become fewer towards it",
    };
    let ms = digits(1000.0 * cap);
    match losses {
        0 => format!("the highest delay was {ms} ms and {end}, but no loss was seen with it"),
        n => format!(
            "the highest delay was {ms} ms and {end}; in {:.0} % of {n} times of loss the delay was within 15 % of it",
            100.0 * at_cap
        ),
    }
}

/// Whether delays were measured three times or more in `time`, as a rule.
fn is_resolved(delays: &[Delay], time: f64) -> bool {
    let gaps: Vec<f64> = delays.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    median(&gaps).is_some_and(|gap| gap <= time / 3.0)
}

/// How the delays end above: the distance of the highest from the ninth decile, as a share of that from the median. Where delays have a cap it is small; it is 1 for
/// the normal distribution, and larger for longer tails.
fn tail(all: &[f64], cap: f64) -> f64 {
    let (high, middle) = (quantile(all, 0.9).unwrap_or(cap), median(all).unwrap_or(cap));
    (cap - high) / (high - middle).max(0.02 * cap)
}

/// A tail below this has a cap.
const CAPPED: f64 = 0.35;

/// The highest delay around each time of loss. A loss is seen up to a round trip later than it happens.
fn peaks(delays: &[Delay], losses: &[(f64, f64)], cap: f64) -> Vec<f64> {
    let mut peaks = Vec::new();
    for &(from, to) in losses {
        let begin = delays.partition_point(|(at, _)| *at < from - 2.0 * cap - 0.2);
        let end = delays.partition_point(|(at, _)| *at <= to + 0.05);
        let around = delays.get(begin..end.max(begin)).unwrap_or_default();
        peaks.extend(around.iter().map(|(_, delay)| *delay).max_by(f64::total_cmp));
    }
    peaks
}
