//! # CoDel: controlled delay
//!
//! Keeps the *standing* delay of a queue at `target` on a link of any rate. A burst that drains within an
//! `interval` is not dropped. If every packet of an interval waited longer than `target`, packets are
//! dropped at the head, first one per interval and then at an increasing rate, until a packet waited less.
//! CoDel measures sojourn times only.
//!
//! ## Law
//!
//! For each packet taken from the head, with `bytes` the backlog behind it:
//!
//! ```text
//! sojourn < target or bytes <= mtu:  first_above = none, ok_to_drop = no          [rfc8289 sec 5.6]
//! else first_above is none:          first_above = now + interval, ok_to_drop = no
//! else:                              ok_to_drop = (now >= first_above)
//!
//! dropping:      leave when not ok_to_drop; while now >= drop_next:               [rfc8289 sec 5.5]
//!                drop, count++, take the next packet; where it is ok_to_drop,
//!                drop_next += interval / sqrt(count), else leave
//! not dropping:  when ok_to_drop: drop, forward the next packet, enter
//!
//! enter:         delta = count - lastcount
//!                count = delta where delta > 1 and now - drop_next < 16 interval, else 1
//!                lastcount = count;  drop_next = now + interval / sqrt(count)
//! ```
//!
//! The time from the n-th drop to the next is `interval / sqrt(n)`: 100, 70.7, 57.7, 50 ms ... With `ecn`,
//! an ECN-capable packet is marked and forwarded instead of dropped, and no further packet is taken.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 1000 | capacity of the queue; too small: drop-tail acts on bursts |
//! | `target` | TARGET | time | 5ms | acceptable standing delay: 5 to 10 % of `interval`; below the transmission time of one packet the link idles |
//! | `interval` | INTERVAL | time | 100ms | about the longest usual round-trip time; too short: flows with longer ones are dropped before they can react |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them |
//! | `ce_threshold` | | time | | also mark every ECN-capable packet that waited longer (for DCTCP-like senders), even without `ecn` |
//! | `ce_threshold_selector` | | | | `"VALUE/MASK"`: restricts `ce_threshold` to packets whose ECN field, masked, has this value: ECT(1) is `"0x1/0x3"` |
//! | `mtu` (`min_bytes`) | maxpacket | size | 1500b | no drop if at most this much is queued behind a packet |
//! | `reentry` | | | rfc8289 | initial `count` when re-entering the dropping state soon: `rfc8289` as above; `2012`: `count - 2`, if it was left less than one interval ago |
//! | `max_drops` | | packets | 64 | maximum packets dropped per packet sent; the rest are dropped at the next dequeue |
//!
//! ## Deviations
//!
//! 1. The loop of the RFC dequeues packets until one is sent; here the queue offers one packet at a time,
//!    and three phases (idle, dropping, just after another drop) hold the position in the loop.
//! 2. `max_drops` bounds the work of one dequeue; the RFC has no bound. It is reached only after the link
//!    stopped for seconds.
//! 3. `maxpacket` is a parameter, not the largest packet seen.
//! 4. ECN and `ce_threshold` are not in the RFC's pseudo-code: they follow `tc`'s codel. A mark moves
//!    `drop_next` as a drop does.
//! 5. `interval / sqrt(count)` is a square root; `tc` refines a 16-bit reciprocal by one Newton step, which
//!    has an error of about 1 % after a jump of `count`.
//! 6. `tc`'s `ce_threshold_selector` (of its `fq_codel`) looks at the whole DS field; here at the ECN
//!    field, the only part of it that packets have here.
//! 7. `drop_next` before the first drop, and a `drop_next` in the future on entry, count as recent, as in the
//!    RFC's signed arithmetic.
//!
//! ## Limits
//!
//! Unresponsive traffic is not bounded: the number of drops grows only with the square of time, so a blast
//! keeps the queue at `limit` and delays all flows. There is no fairness between flows. State: two times,
//! two counters, a phase. Per packet: two comparisons, a square root for each drop; each packet is dropped
//! at most once, and `max_drops` bounds one dequeue.
//!
//! ## Evidence
//!
//! `tests/oracle/codel.rs` transcribes the RFC's section 5 literally, for both rules of re-entry, with
//! equal decisions on random traces and on bursts about 16 intervals apart. Rescheduling before looking at
//! the next packet, or 15 intervals instead of 16, fails the test. `tests/aqm/closed_forms.rs` checks the
//! square root law, `tests/aqm/worked.rs` a time line by hand.
//!
//! ## References
//!
//! * nichols12: K. Nichols, V. Jacobson, Controlling Queue Delay, ACM Queue 10(5), 2012.
//! * rfc8289: K. Nichols, V. Jacobson, A. `McGregor`, J. Iyengar, Controlled Delay Active Queue Management, 2018.

use aqmkit_base::{Amount, Duration, Ecn, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::control::control_law;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, positive_time, usable_limit};
use crate::verdict::{Verdict, Why};

/// The initial `count` when dropping resumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reentry {
    /// The number of drops in the last dropping state, if that ended within 16 intervals.
    #[default]
    #[serde(rename = "rfc8289")]
    Rfc8289,
    /// The previous `count` less two, if that ended within one interval.
    #[serde(rename = "2012")]
    Nichols2012,
}

/// A set of ECN codepoints in `tc`'s notation: those equal to `value` under `mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Selector {
    value: u8,
    mask: u8,
}

impl Selector {
    fn selects(self, ecn: Ecn) -> bool {
        ecn as u8 & self.mask == self.value
    }
}

impl TryFrom<String> for Selector {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bits = |part: &str| match part.strip_prefix("0x") {
            Some(hex) => u8::from_str_radix(hex, 16).ok(),
            None => part.parse().ok(),
        };
        let parts = text.split_once('/').and_then(|(value, mask)| Some((bits(value)?, bits(mask)?)));
        match parts {
            Some((value, mask)) if mask <= 0b11 && value & !mask == 0 => Ok(Selector { value, mask }),
            _ => Err(format!("{text:?} does not select ECN codepoints; \"0x1/0x3\", VALUE/MASK, selects ECT(1)")),
        }
    }
}

impl From<Selector> for String {
    fn from(selector: Selector) -> String {
        format!("{:#x}/{:#x}", selector.value, selector.mask)
    }
}

/// Defines the `Params` of a discipline that contains CoDel: its own fields, then those that all of them share, as
/// qdiscs of Linux share `codel_params`. Only the default of `ecn` differs.
macro_rules! params_with_codel {
    ($(#[$about:meta])* { $($own:tt)* } ecn = $ecn:literal) => {
        $crate::params::params! {
            $(#[$about])*
            {
                $($own)*
                /// Acceptable standing delay.
                target: aqmkit_base::Duration = aqmkit_base::Duration::from_millis(5),
                /// About the longest usual round-trip time.
                interval: aqmkit_base::Duration = aqmkit_base::Duration::from_millis(100),
                /// Marks ECN-capable packets instead of dropping them.
                ecn: bool = $ecn,
                /// Also marks ECN-capable packets that waited longer than this.
                #[serde(skip_serializing_if = "Option::is_none")]
                ce_threshold: Option<aqmkit_base::Duration> = None,
                /// Restricts `ce_threshold` to these ECN codepoints.
                #[serde(skip_serializing_if = "Option::is_none")]
                ce_threshold_selector: Option<$crate::disciplines::codel::Selector> = None,
                /// No drops while the backlog behind a packet is at most this.
                #[serde(alias = "min_bytes")]
                mtu: aqmkit_base::Bytes = aqmkit_base::Bytes(1500),
                /// Initial `count` when the dropping state is re-entered soon.
                reentry: $crate::disciplines::codel::Reentry = $crate::disciplines::codel::Reentry::Rfc8289,
                /// Maximum packets dropped per packet sent.
                max_drops: u32 = 64,
            }
        }
    };
}
pub(crate) use params_with_codel;

params_with_codel! {
    /// The parameters of CoDel as a user writes them.
    {
        /// Capacity of the queue.
        limit: Amount = Amount::Packets(1000.0),
    }
    ecn = false
}

impl Discipline for Params {
    discipline!("codel", Codel);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Codel::config(self, link).map(|config| config.0)
    }
}

/// CoDel's parameters, checked; nothing is derived.
#[derive(Clone, Debug)]
pub struct Config(Params);

/// The position in the RFC's dequeue loop. After the drop that enters the dropping state the next packet is always
/// forwarded; this needs no phase of its own: `drop_next` is still in the future, and a good packet clears
/// `first_above`, so the one after it cannot be bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not in the dropping state.
    Idle,
    /// In it.
    Dropping,
    /// Another drop was just made: `drop_next` advances only if the next packet is bad too.
    AfterDrop,
}

/// CoDel's state.
#[derive(Clone, Debug)]
pub struct Codel {
    phase: Phase,
    /// Drops since the dropping state was entered, and the initial value.
    count: u32,
    lastcount: u32,
    /// Drops made for the current request.
    drops: u32,
    /// When the delay will have been above `target` for an interval.
    first_above: Option<Instant>,
    drop_next: Instant,
}

impl Codel {
    /// `dodequeue` of the RFC: whether the delay has been above `target` for an interval.
    fn ok_to_drop(&mut self, config: &Params, pkt: PacketView, queue: QueueView, now: Instant) -> bool {
        if pkt.sojourn < config.target || queue.bytes <= config.mtu.0 {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + config.interval)
    }

    /// `control_law` of the RFC.
    fn drop_after(&mut self, from: Instant, interval: Duration) {
        self.drop_next = control_law(from, interval, self.count);
    }

    /// Enters the dropping state with its first drop.
    fn enter(&mut self, config: &Params, pkt: PacketView, now: Instant) -> Verdict {
        let good_time = now.since(self.drop_next);
        self.count = match config.reentry {
            Reentry::Rfc8289 => match self.count.saturating_sub(self.lastcount) {
                delta if delta > 1 && good_time < config.interval * 16 => delta,
                _ => 1,
            },
            Reentry::Nichols2012 if good_time < config.interval => self.count.saturating_sub(2).max(1),
            Reentry::Nichols2012 => 1,
        };
        self.lastcount = self.count;
        self.drop_after(now, config.interval);
        self.signal(config, pkt, Phase::Dropping)
    }

    /// One round of the RFC's loop in the dropping state.
    fn continue_dropping(&mut self, config: &Params, pkt: PacketView, now: Instant) -> Verdict {
        if now < self.drop_next || self.drops >= config.max_drops {
            self.phase = Phase::Dropping;
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        let verdict = self.signal(config, pkt, Phase::AfterDrop);
        if let Verdict::Mark(_) = verdict {
            self.drop_after(self.drop_next, config.interval);
        }
        verdict
    }

    /// A drop, with the phase for the next packet; or a mark, which ends the request.
    fn signal(&mut self, config: &Params, pkt: PacketView, after_drop: Phase) -> Verdict {
        let verdict = pkt.signal(config.ecn, Why::Sojourn);
        self.phase = if let Verdict::Drop(_) = verdict { after_drop } else { Phase::Dropping };
        verdict
    }

    /// The body of the RFC's `dequeue`, resumed where the last packet left it.
    fn judge(&mut self, config: &Params, pkt: PacketView, ok_to_drop: bool, now: Instant) -> Verdict {
        match self.phase {
            Phase::Idle if ok_to_drop => self.enter(config, pkt, now),
            Phase::Dropping if ok_to_drop => self.continue_dropping(config, pkt, now),
            Phase::AfterDrop if ok_to_drop => {
                self.drop_after(self.drop_next, config.interval);
                self.continue_dropping(config, pkt, now)
            }
            Phase::Idle | Phase::Dropping | Phase::AfterDrop => {
                self.phase = Phase::Idle;
                Verdict::Pass
            }
        }
    }
}

impl Aqm for Codel {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, _link: &Link) -> Result<Config, ParamError> {
        let source = "RFC 8289, section 4";
        usable_limit("limit", params.limit)?;
        positive_time("target", params.target)?;
        in_range("max_drops", f64::from(params.max_drops), 1.0, f64::INFINITY)?;
        if params.interval < params.target {
            let want = format!("it must be at least target, {}, and should be ten to twenty times it", params.target);
            return Err(ParamError::new("interval", params.interval, want).cite(source));
        }
        Ok(Config(params.clone()))
    }

    fn limit(config: &Config) -> Amount {
        config.0.limit
    }

    fn new(_config: &Config, now: Instant) -> Self {
        Codel { phase: Phase::Idle, count: 0, lastcount: 0, drops: 0, first_above: None, drop_next: now }
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let ok_to_drop = self.ok_to_drop(&config.0, pkt, queue, env.now);
        let verdict = self.judge(&config.0, pkt, ok_to_drop, env.now);
        if let Verdict::Drop(_) = verdict {
            self.drops += 1;
            return verdict;
        }
        self.drops = 0;
        let above = config.0.ce_threshold.is_some_and(|threshold| pkt.sojourn > threshold);
        let selected = config.0.ce_threshold_selector.is_none_or(|selector| selector.selects(pkt.ecn));
        if verdict == Verdict::Pass && above && selected && pkt.ecn.is_capable() {
            return Verdict::Mark(Why::Step);
        }
        verdict
    }

    fn on_empty(&mut self, _config: &Config, _now: Instant) {
        self.first_above = None;
        self.phase = Phase::Idle;
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("count", f64::from(self.count));
        out("dropping", if self.phase == Phase::Idle { 0.0 } else { 1.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bits under a mask, decimal or hexadecimal; a value with a bit that the mask does not show could match nothing.
    #[test]
    fn selectors_are_codepoints_under_a_mask() {
        let read = |text: &str| Selector::try_from(text.to_owned());
        let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        for (text, selected) in [
            ("0x1/0x3", vec![Ecn::Ect1]),
            ("1/3", vec![Ecn::Ect1]),
            ("0x2/0x2", vec![Ecn::Ect0, Ecn::Ce]),
            ("0/0", all.to_vec()),
        ] {
            let selector = read(text).unwrap();
            let seen: Vec<Ecn> = all.into_iter().filter(|ecn| selector.selects(*ecn)).collect();
            assert_eq!(seen, selected, "{text}");
            assert_eq!(read(&String::from(selector)), Ok(selector), "{text}");
        }
        for wrong in ["0x2/0x1", "0x3/0x2", "4/4", "0/4", "1", "1/", "/3", "x/3", "256/3"] {
            assert!(read(wrong).unwrap_err().contains("does not select"), "{wrong}");
        }
    }
}
