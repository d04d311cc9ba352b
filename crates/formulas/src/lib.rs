//! The equations of the papers, by name, for `[[expect]]` rows that are worked values.
//!
//! An experiment computes one with `formula = "cbt-threshold"` and `args = { … }`. Quantities are text with
//! units as everywhere (`"575kibps"`, `"1507b"`, `"100ms"`; mind that `kbps` is 1000 bytes per second and `kibps` is 1024);
//! queue lengths in packets, probabilities, weights and counts are bare numbers. *{rates}* below stands for one
//! value for each class, such as `{ tcp = "575kibps", multimedia = "150kibps" }`. Arguments in brackets are optional.
//!
//! A formula with a * is computed by the discipline's own functions. All others are implemented only here: that they give the printed
//! value shows that the equation was understood, but says nothing about the discipline.
//!
//! ## Class-based thresholds (Parris 2001, chapters IV and VI; `cbt.rs`)
//!
//! | name | arguments | result | equation |
//! |---|---|---|---|
//! | `cbt-threshold` * | bandwidth, packet, latency | packets | 4.1, 4.9, 4.25, B.5: `B L / P` |
//! | `cbt-latency` | thresholds *{packets}*, packets *{sizes}*, capacity | time | 4.2, 4.26, 6.1: `sum(P Th) / C` |
//! | `cbt-bandwidth` * | thresholds, packets, capacity, class | rate | 4.3, 6.2 |
//! | `cbt-capacity` | allocations *{rates}* | rate | 4.4: `sum(B)` |
//! | `cbt-bandwidth-ratio` | threshold, packet, `other_threshold`, `other_packet` | ratio | 4.5 |
//! | `cbt-threshold-from` | bandwidth, packet, `other_bandwidth`, `other_packet`, `other_threshold` | packets | 4.6 |
//! | `cbt-latency-from` | allocations, class, threshold, packet, capacity | time | 4.7 |
//! | `cbt-threshold-share` | allocations, class, packet, latency, capacity | packets | 4.8 |
//! | `cbt-share` | allocations, class | share | 4.10: `B / sum(B)` |
//! | `cbt-occupancy-share` | occupancies *{sizes}*, class, \[idle = \[names\]\] | share | 4.10 on bytes queued, idle classes left out |
//! | `cbt-threshold-occupancy-share` * | thresholds, packets, class | share | 4.10: `P Th / sum(P Th)` |
//! | `cbt-excess` | allocations, loads *{rates}*, \[class\], \[iteration = 0\] | rate | 4.12; 4.14 without `class`: the sum |
//! | `cbt-excess-share` | allocations, loads, class | share | 4.15 |
//! | `cbt-reallocation` | allocations, loads, class, \[iteration\] | rate | 4.13, 4.16, 4.17 with 4.18: `B'`; at the end without `iteration` |
//! | `cbt-borrowed` | allocations, loads, class | rate | `B' - B` |
//! | `cbt-unused` | threshold, average, packet, capacity | time | 4.22, 4.23: `(Th - q_avg) P / C` |
//! | `cbt-latency-unused` | thresholds, averages *{packets}*, packets, latency, capacity | time | 4.24 |
//! | `cbt-predicted-latency` | threshold, packet, bandwidth | time | 4.27: `Th P / B'` |
//! | `sampling-disparity` | fast, slow (packets/s), time | count | VI 5.1.1 |
//!
//! ## RED and FRED (Parris 2001, chapter III and appendix B; `red.rs`)
//!
//! | name | arguments | result | equation |
//! |---|---|---|---|
//! | `red-base-probability` * | average, min, max, `max_p`, \[gentle = false\] | share | 3.1 |
//! | `red-probability` * | average, min, max, `max_p`, count | share | 3.2 |
//! | `red-guaranteed-gap` * | `max_p` | packets | III 3.2.1: `1 / max_p - 1` |
//! | `ewma` * | start, sample, weight, \[samples = 1\] | packets | fig 3.7: the average after `samples` equal samples |
//! | `ewma-sample-weight` * | weight, \[later = 0\] | share | `w (1 - w)^later`: what a sample counts after `later` more |
//! | `red-idle-average` * | average, weight, idle, rate, packet | packets | fig 3.7 |
//! | `red-burst-average` * | burst, weight | packets | B.2 |
//! | `red-burst` * | average, weight | packets | B.2 turned round: the smallest burst whose average reaches `average` |
//! | `fred-fair-share` | average, active | packets | fig 3.14: `max(q_avg / Nactive, 1)` |
//! | `fred-forced` | queued, average, active, strikes, min, max | 1 or 0 | fig 3.14: whether the flow loses its packet surely |
//! | `fred-early` | queued, average, active, min, max, minq | 1 or 0 | fig 3.14: whether an early drop may hit it |
//! | `fred-share` | min, max | share | B 5: `Th_min / Th_max` |
//!
//! ## Links, queues, loads (`link.rs`)
//!
//! | name | arguments | result | equation |
//! |---|---|---|---|
//! | `queue-latency` | queue (packets), packet, rate | time | B.1, B.3; the time to drain it |
//! | `queue-bytes` | queue (packets), packet | size | VI 5.1.1 |
//! | `packets-per-second` | rate, packet | packets/s | |
//! | `packet-load` | `packets_per_s`, packet | rate | |
//! | `drops-per-second` | `packets_per_s`, loss | packets/s | III 2.2.4 |
//! | `with-headers` | payload, header | size | Table 4.1 |
//! | `aggregate` | flows, rate | rate | |
//! | `rate-share` | part, whole | share | |
//! | `equal-share` | rate, flows, \[factor = 1\] | rate | `factor * rate / flows` |
//! | `mean-time` | times \[list\] | time | Table A.1 |
//! | `bandwidth-delay` | rate, rtt | size | |
//! | `window-rate` | window, rtt | rate | A 3.4 |
//! | `flows-to-fill` | rate, rtt, window | count, not rounded | A 3.4.2 |
//! | `browsers-to-load` | browsers, slope (rate), \[less = "0bit"\] (rate) | rate | A 3.4.1: `slope * browsers - less` |
//! | `transfer-time` | size, rate, rtt, \[`round_trips` = 2\] | time | DualQ fig 9 |
//!
//! ## MPEG (Parris 2001, appendix A 3.3.2; `mpeg.rs`)
//!
//! `gop` is in display order, `"IBBPBB"`; `packets` says how many packets a frame of each type has, `{ I = 6, P = 2, B = 1 }`.
//!
//! | name | arguments | result | equation |
//! |---|---|---|---|
//! | `mpeg-frame-packets` | packets | packets | Table A.6: the mean number in whole packets |
//! | `mpeg-gop-frames` | gop, \[frame\] | frames | Table A.6 |
//! | `mpeg-gop-packets` | gop, packets, \[frame\] | packets | Table A.7 |
//! | `mpeg-gop-time` | gop, `frames_per_s`, \[gops = 1\] | time | |
//! | `mpeg-effective-loss` | gop, frame | frames | Table A.6: frames that cannot be shown when one of this type is lost |
//! | `mpeg-loss-probability` | gop, packets, frame | share | Table A.7: where one lost packet falls |
//! | `mpeg-expected-loss` | gop, packets, \[frame\] | frames | Table A.7: frames lost per GOP when it loses one packet |
//! | `mpeg-loss-rate` | gop, packets, \[frame\], \[per = "packets"\] | share | Table A.7: the same over the GOP's packets (as printed) or `frames` |
//! | `mpeg-loss-amplification` | gop, packets, \[frame\] | ratio | frame loss over packet loss: of one type's own frames, or in all |
//! | `mpeg-loss-ratio` | gop, packets, frame, other | ratio | lost frames of a type to lost frames of another |
//! | `mpeg-bytes` | sizes *{I, P, B}*, frames *{I, P, B}* | size | bytes of these numbers of frames |
//!
//! ## Rates of TCP (`tcp.rs`)
//!
//! | name | arguments | result | equation |
//! |---|---|---|---|
//! | `tcp-friendly-bound` | packet, rtt, loss | rate | Parris III 2.3.2, eq 3.1 (first) |
//! | `tcp-rate` | rtt, loss | packets/s | RED-PD eq 1 |
//! | `tcp-rate-timeouts` | rtt, loss, \[rto\] | packets/s | RED-PD eq 2; `rto` is four round trips |
//! | `tcp-rate-full` | rtt, loss, \[b = 1\], rto | packets/s | Padhye et al. 1998 eq 30; `b` segments for each acknowledgement |
//! | `cubic-rate` | rtt, loss, \[c = 0.4\], \[decrease = 0.7\] | packets/s | RFC 9438 eq 5; Reno's where that is more |
//! | `relentless-rate` | rtt, signal | packets/s | `1 / (p r)` |
//! | `dctcp-step-share` | rate, rtt, packet, threshold | share | DCTCP 3.3, eqs 5 and 6: about `sqrt(2 / W)` |
//! | `tcp-epoch` | rtt, loss | time | RED-PD 4.1: `r / sqrt(1.5 p)` |
//! | `aimd-constant` | increase, decrease | ratio | `sqrt(a (1 + b) / (2 (1 - b)))`: DualQ eqs 1 and 3 |
//! | `cubic-constant` | c, decrease | ratio | DualQ eq 2 |
//! | `cubic-switch` | reno, cubic | ratio | DualQ eq 4: where Reno mode ends |
//! | `cubic-switch-rate` | rtt, packet, bound | rate | DualQ eq 4: the rate where it ends |
//! | `dctcp-rate` | rtt, marking, \[step = false\] | packets/s | DualQ eqs 8 and 9 |
//! | `coupling-constant` | scalable, classic | ratio | DualQ eq 11: ratio of the two rate constants |
//! | `coupled-probability` | p, \[k\] | share | DualQ eq 12, by `dualq` with its own slopes or the coupling `k` |
//! | `coupling-factor` | constant, \[base\], \[queue\] (times) | ratio | DualQ 5: `2^k` for equal rates, with the queue's delay |
//! | `coupling-shift` | constant, \[base\], \[queue\] | count | the whole `k` next to it |
//! | `coupled-rate-ratio` | reno, dctcp (constants), drop, mark, `rtt_reno`, `rtt_dctcp` | ratio | DualQ eq 17 |
//! | `bottleneck-penalty` | bottlenecks | ratio | DualQ 4: DCTCP beside Reno over several of them |
//! | `dcn-drop-probability` | reference, count | share | DCN 3.2: `1 - p_ref / pktcount` |
//! | `dcn-decrement` | reference, count | packets | DCN 3.2: `pktcount - p_ref`, every `T_dec` |
//! | `dcn-reference` | reference, a, b, queue, `queue_before`, target, \[`as_printed` = false\] | packets | DCN 3.2, as the discipline has it or as printed |
//! | `http-unc-size` | share | size | the size that this share of the responses of `http-unc` does not exceed |
//! | `http-unc-share` | \[above\], \[upto\] (sizes), \[of = "responses"\] | share | of all responses, or of all `bytes`, what is in responses of such sizes |
//!
//! ## The web's responses (le04 3, le03; `web.rs`)
//!
//! | name | arguments | result | equation |
//! |---|---|---|---|
//!
//! ## RED-PD (Mahajan and Floyd 2001; `redpd.rs`)
//!
//! | name | arguments | result | equation |
//! |---|---|---|---|
//! | `redpd-interval` | rtt, loss, k, m | time | 3 |
//! | `redpd-history` | interval, m | time | 8.1: `M` intervals |
//! | `redpd-identification` | gamma, loss, k, m | share | 4 |
//! | `redpd-increase` | drops, `mean_drops`, loss, \[existing\] | share | 5 |
//! | `redpd-prefilter` | gamma, \[alpha = 1\] | share | 5.2: `(gamma - alpha) / gamma` |
//! | `redpd-cutdown` | gamma, alpha, rtt, loss, k, m | time | 6 |
//! | `redpd-subtractive-rounds` | probability, decrement | count | 7: `n` |
//! | `redpd-multiplicative-rounds` | probability, decrement, minimum, \[beta = 2\] | count | 7: `m` |
//! | `redpd-release` | probability, decrement, minimum, lists, rtt, loss, k, m, \[beta = 2\] | time | 7 |
//! | `redpd-responsive` | factor | ratio | 6.2: `1 / sqrt(x)` |

#![forbid(unsafe_code)]

mod cbt;
mod link;
mod mpeg;
mod red;
mod redpd;
mod tcp;
pub mod unit;
mod web;

use serde::de::DeserializeOwned;

use crate::unit::{Dimension, Quantity};

/// An equation with its arguments.
trait Formula: Sized {
    const NAME: &'static str;
    /// Paper and equation number.
    const SOURCE: &'static str;
    /// One-line description.
    const ABOUT: &'static str;
    /// Names of its arguments.
    const ARGS: &'static [&'static str];

    /// Deserializes the arguments from a table.
    fn fill(args: &mut toml::Table) -> Result<Self, String>;

    /// Evaluates the formula.
    fn compute(&self) -> Result<Quantity, String>;
}

/// An equation by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in expressions and on the command line.
    pub name: &'static str,
    /// Paper and equation number.
    pub source: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Names of its arguments.
    pub args: &'static [&'static str],
    run: fn(toml::Table) -> Result<Quantity, String>,
}

impl Entry {
    const fn of<F: Formula>() -> Entry {
        Entry { name: F::NAME, source: F::SOURCE, about: F::ABOUT, args: F::ARGS, run: run::<F> }
    }
}

fn run<F: Formula>(mut args: toml::Table) -> Result<Quantity, String> {
    known(&args, F::ARGS)?;
    let q = F::fill(&mut args)?.compute()?;
    if q.value.is_finite() { Ok(q) } else { Err("these arguments give a division by zero".to_owned()) }
}

/// Rejects a table with other arguments than these.
fn known(args: &toml::Table, names: &[&str]) -> Result<(), String> {
    let unknown = args.keys().find(|key| !names.contains(&key.as_str()));
    unknown.map_or(Ok(()), |key| Err(format!("unknown field `{key}`; the arguments are {}", names.join(", "))))
}

/// Reads a required argument.
fn required<T: DeserializeOwned>(args: &mut toml::Table, name: &str) -> Result<T, String> {
    optional(args, name)?.ok_or_else(|| format!("missing field `{name}`"))
}

/// Reads an optional argument.
fn optional<T: DeserializeOwned>(args: &mut toml::Table, name: &str) -> Result<Option<T>, String> {
    let read = |given: toml::Value| given.try_into().map_err(|e: toml::de::Error| format!("{name}: {}", e.message()));
    args.remove(name).map(read).transpose()
}

/// Why a formula has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No formula has this name.
    #[error("there is no formula {name:?}{}", hint(.near))]
    Unknown {
        /// The unknown name.
        name: String,
        /// The unknown name.
        near: Option<String>,
    },
    /// Invalid arguments.
    #[error("args of {name}: {what}")]
    Args {
        /// Name of the formula.
        name: &'static str,
        /// The problem.
        what: String,
    },
}

fn hint(near: &Option<String>) -> String {
    near.as_ref().map(|n| format!("; did you mean {n:?}?")).unwrap_or_default()
}

/// All formulas, in the order of the page.
#[must_use]
pub fn all() -> Vec<Entry> {
    [cbt::ALL, red::ALL, link::ALL, mpeg::ALL, tcp::ALL, web::ALL, redpd::ALL].concat()
}

/// Looks up a formula by name.
#[must_use]
pub fn find(name: &str) -> Option<Entry> {
    all().into_iter().find(|e| e.name == name)
}

/// The value of the formula `name` for these arguments.
///
/// # Errors
/// When no formula has this name, or arguments are missing, unknown or of the wrong type.
pub fn evaluate(name: &str, args: &toml::Table) -> Result<Quantity, Error> {
    let Some(entry) = find(name) else {
        let near = aqmkit_base::near::closest(name, all().iter().map(|e| e.name)).map(str::to_owned);
        return Err(Error::Unknown { name: name.to_owned(), near });
    };
    (entry.run)(args.clone()).map_err(|what| Error::Args { name: entry.name, what })
}

/// Declares a formula: description, name, source, arguments and value. An argument with a default is optional.
macro_rules! formula {
    (@take $args:ident $field:ident) => { crate::required($args, stringify!($field))? };
    (@take $args:ident $field:ident $default:expr) => {
        crate::optional($args, stringify!($field))?.unwrap_or_else(|| $default)
    };
    ($(#[doc = $doc:literal])+ $name:literal, $source:literal,
     $type:ident { $($field:ident: $ty:ty $(= $default:expr)?),* $(,)? }, $compute:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        struct $type { $($field: $ty),* }

        impl crate::Formula for $type {
            const NAME: &'static str = $name;
            const SOURCE: &'static str = $source;
            const ABOUT: &'static str = concat!($($doc),+);
            const ARGS: &'static [&'static str] = &[$(stringify!($field)),*];

            // Field by field: a separate deserializer for each formula would be a fiftieth of the whole program.
            fn fill(args: &mut toml::Table) -> Result<Self, String> {
                Ok($type { $($field: formula!(@take args $field $($default)?)),* })
            }

            fn compute(&self) -> Result<crate::unit::Quantity, String> {
                let law: fn(&Self) -> Result<crate::unit::Quantity, String> = $compute;
                law(self)
            }
        }
    };
}
use formula;

/// The list of a file's formulas.
macro_rules! table {
    ($($type:ident),* $(,)?) => {
        pub(super) const ALL: &[crate::Entry] = &[$(crate::Entry::of::<$type>()),*];
    };
}
use table;

fn rate(bps: f64) -> Result<Quantity, String> {
    Ok(Quantity { value: bps, dimension: Dimension::Rate })
}

fn time(seconds: f64) -> Result<Quantity, String> {
    Ok(Quantity { value: seconds, dimension: Dimension::Time })
}

fn size(bytes: f64) -> Result<Quantity, String> {
    Ok(Quantity { value: bytes, dimension: Dimension::Size })
}

fn count(n: f64) -> Result<Quantity, String> {
    Ok(Quantity { value: n, dimension: Dimension::Count })
}

fn per_second(n: f64) -> Result<Quantity, String> {
    Ok(Quantity { value: n, dimension: Dimension::PerSecond })
}

fn share(x: f64) -> Result<Quantity, String> {
    Ok(Quantity { value: x, dimension: Dimension::Share })
}

/// Rejects a probability outside (0, 1].
fn probability(name: &str, p: f64) -> Result<f64, String> {
    if p > 0.0 && p <= 1.0 { Ok(p) } else { Err(format!("{name} = {p} must be above 0 and at most 1")) }
}

#[cfg(test)]
mod tests;
