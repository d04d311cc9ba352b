//! The wire as options of the command line and strings in files have it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{Jitter, Loss, Reorder, Slot, Wire};
use crate::units::{UnitError, parse_bytes, parse_duration, split};
use crate::{Bytes, Duration};

/// An error in the text of an impairment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// An invalid time or size.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Anything else.
    #[error("{got:?} is not {what}: {hint}")]
    Other {
        /// The text that could not be parsed.
        got: String,
        /// The kind of impairment expected: `a loss`.
        what: &'static str,
        /// The remedy.
        hint: String,
    },
}

/// Reads a share such as `1%` or `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let number = match split(text) {
        Some((number, "%")) => Some(number / 100.0),
        Some((number, "")) => Some(number),
        _ => None,
    };
    match number {
        Some(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Some(_) => Err(format!("{text:?} must be between 0 and 100%")),
        None => Err(format!("{text:?} must be a percentage such as 1%")),
    }
}

impl FromStr for Loss {
    type Err = WireError;

    /// `1%`; `every=100,burst=2`; `p=1%,r=25%,bad=100%,good=0`, where `bad` and `good` are optional.
    fn from_str(text: &str) -> Result<Self, WireError> {
        let error = |hint: String| WireError::Other { got: text.to_owned(), what: "a loss", hint };
        if !text.contains('=') {
            return share(text).map(Loss::Random).map_err(error);
        }
        let mut given: BTreeMap<&str, &str> = BTreeMap::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(error(format!("{part:?} lacks its value")));
            };
            if given.insert(key.trim(), value.trim()).is_some() {
                return Err(error(format!("{key} is given twice")));
            }
        }
        let mut take = |key: &str| given.remove(key);
        let loss = match (take("every"), take("p"), take("r")) {
            (Some(every), None, None) => {
                let number = |digits: &str| {
                    digits.parse::<u64>().map_err(|_| error(format!("{digits:?} must be a whole number")))
                };
                let (n, burst) = (number(every)?, take("burst").map_or(Ok(1), number)?);
                if burst == 0 || burst >= n {
                    return Err(error("burst must be above 0 and below every".to_owned()));
                }
                Loss::Every { n, burst }
            }
            (None, Some(p), Some(r)) => {
                let of = |value: Option<&str>, usual: f64| value.map_or(Ok(usual), share).map_err(error);
                let (bad, good) = (of(take("bad"), 1.0)?, of(take("good"), 0.0)?);
                Loss::GilbertElliott { p: of(Some(p), 0.0)?, r: of(Some(r), 0.0)?, bad, good }
            }
            _ => return Err(error("write 1%, every=100,burst=2 or p=1%,r=25%".to_owned())),
        };
        match given.keys().next() {
            Some(key) => Err(error(format!("{key:?} is not a valid key here"))),
            None => Ok(loss),
        }
    }
}

impl FromStr for Reorder {
    type Err = WireError;

    /// `1%,5ms`: the share of delayed packets, and their additional delay.
    fn from_str(text: &str) -> Result<Self, WireError> {
        let error = |hint: String| WireError::Other { got: text.to_owned(), what: "a reordering", hint };
        let Some((chance, delay)) = text.split_once(',') else {
            return Err(error("write a percentage and a time, such as 1%,5ms".to_owned()));
        };
        let delay = parse_duration(delay)?;
        if delay.is_zero() {
            return Err(error("the time is zero".to_owned()));
        }
        Ok(Reorder { chance: share(chance).map_err(error)?, delay })
    }
}

impl FromStr for Jitter {
    type Err = WireError;

    /// `50ms`, or `50ms,overtaking`.
    fn from_str(text: &str) -> Result<Self, WireError> {
        let error = |hint: String| WireError::Other { got: text.to_owned(), what: "a jitter", hint };
        let (time, overtaking) = match text.split_once(',') {
            None => (text, false),
            Some((time, word)) if word.trim() == "overtaking" => (time, true),
            Some((_, word)) => {
                return Err(error(format!("{word:?} is not overtaking: write 50ms or 50ms,overtaking")));
            }
        };
        Ok(Jitter { time: parse_duration(time)?, overtaking })
    }
}

impl FromStr for Slot {
    type Err = WireError;

    /// `5ms`, `5ms..10ms`, or `5ms..10ms,packets=32,bytes=64kb`.
    fn from_str(text: &str) -> Result<Self, WireError> {
        let error = |hint: String| WireError::Other { got: text.to_owned(), what: "a slot", hint };
        let mut parts = text.split(',');
        let times = parts.next().unwrap_or_default();
        let (min, max) = times.split_once("..").unwrap_or((times, times));
        let (min, max) = (parse_duration(min)?, parse_duration(max)?);
        let mut slot = Slot { min, max, packets: 0, bytes: Bytes::ZERO };
        for part in parts {
            match part.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                Some(("packets", value)) => {
                    slot.packets =
                        value.parse().map_err(|_| error(format!("{value:?} must be a number of packets")))?;
                }
                Some(("bytes", value)) => slot.bytes = parse_bytes(value)?,
                _ => return Err(error(format!("write 5ms..10ms,packets=32,bytes=64kb in place of {part:?}"))),
            }
        }
        slot.checked().map_err(error)
    }
}

impl Slot {
    /// The slot, if slots of these times can follow each other.
    ///
    /// # Errors
    /// A longest time of zero, or below the shortest.
    pub fn checked(self) -> Result<Slot, String> {
        match self {
            Slot { max: Duration::ZERO, .. } => Err("the time is zero".to_owned()),
            Slot { min, max, .. } if min > max => Err(format!("{min}, the shortest time, is above {max}")),
            _ => Ok(self),
        }
    }
}

/// A fraction in percent if that is exact, so that 0.29 % does not show binary rounding digits; otherwise as it is.
fn percent(share: f64) -> String {
    let text = format!("{:.6}", share * 100.0);
    let text = format!("{}%", text.trim_end_matches('0').trim_end_matches('.'));
    if self::share(&text) == Ok(share) { text } else { share.to_string() }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Loss::Random(share) => f.write_str(&percent(share)),
            Loss::Every { n, burst: 1 } => write!(f, "every={n}"),
            Loss::Every { n, burst } => write!(f, "every={n},burst={burst}"),
            Loss::GilbertElliott { p, r, bad, good } => {
                write!(f, "p={},r={}", percent(p), percent(r))?;
                let others = [("bad", bad, 1.0), ("good", good, 0.0)];
                others
                    .into_iter()
                    .filter(|(_, share, usual)| share != usual)
                    .try_for_each(|(name, share, _)| write!(f, ",{name}={}", percent(share)))
            }
        }
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.time, if self.overtaking { ",overtaking" } else { "" })
    }
}

impl fmt::Display for Reorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", percent(self.chance), self.delay)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Slot { min, max, packets, bytes } = self;
        write!(f, "{min}")?;
        if max != min {
            write!(f, "..{max}")?;
        }
        if *packets != 0 {
            write!(f, ",packets={packets}")?;
        }
        if *bytes != Bytes::ZERO {
            write!(f, ",bytes={bytes}")?;
        }
        Ok(())
    }
}

/// The impairments of a wire: names of options and of keys, with their values.
#[must_use]
pub fn options(wire: &Wire) -> Vec<(&'static str, String)> {
    let Wire { loss, mark, jitter: time, overtaking, reorder, slot } = *wire;
    let hits = |hits: Loss| (hits != Loss::default()).then(|| hits.to_string());
    let all = [
        ("loss", hits(loss)),
        ("mark", hits(mark)),
        ("jitter", (!time.is_zero()).then(|| Jitter { time, overtaking }.to_string())),
        ("reorder", reorder.map(|reorder| reorder.to_string())),
        ("slot", slot.map(|slot| slot.to_string())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_reordering_as_text() {
        assert_eq!("1%".parse(), Ok(Loss::Random(0.01)));
        assert_eq!("0.25".parse(), Ok(Loss::Random(0.25)));
        assert_eq!("every=100".parse(), Ok(Loss::Every { n: 100, burst: 1 }));
        assert_eq!("every=7, burst=2".parse(), Ok(Loss::Every { n: 7, burst: 2 }));
        let bursts = Loss::GilbertElliott { p: 0.01, r: 0.25, bad: 1.0, good: 0.0 };
        assert_eq!("p=1%,r=25%".parse(), Ok(bursts));
        assert_eq!("p=1%,r=0.25,bad=100%,good=0".parse(), Ok(bursts));
        assert_eq!("1%,5ms".parse(), Ok(Reorder { chance: 0.01, delay: Duration::from_millis(5) }));
        let why = |text: &str| text.parse::<Loss>().unwrap_err().to_string();
        assert_eq!(why("1.5"), "\"1.5\" is not a loss: \"1.5\" must be between 0 and 100%");
        for (text, says) in [
            ("-1%", "between 0 and 100%"),
            ("often", "a percentage such as 1%"),
            ("every=2,burst=2", "below every"),
            ("every=many", "whole number"),
            ("p=1%", "write 1%"),
            ("p=1%,r=2", "between 0 and 100%"),
            ("every=5,q=3", "\"q\" is not a valid key here"),
            ("every=5,every=6", "given twice"),
            ("every=5,burst", "lacks its value"),
        ] {
            assert!(why(text).contains(says), "{text}: {}", why(text));
        }
        let unordered = |text: &str| text.parse::<Reorder>().unwrap_err().to_string();
        assert!(
            unordered("1%").contains("1%,5ms")
                && unordered("1%,5").contains("unit")
                && unordered("1%,0ms").contains("zero")
        );
        assert!(unordered("120%,5ms").contains("between 0 and 100%"));
    }

    #[test]
    fn jitter_and_slots_as_text() {
        let (time, ms) = (Duration::from_millis(50), Duration::from_millis);
        assert_eq!("50ms".parse(), Ok(Jitter { time, overtaking: false }));
        assert_eq!("50ms, overtaking".parse(), Ok(Jitter { time, overtaking: true }));
        let why = |text: &str| text.parse::<Jitter>().unwrap_err().to_string();
        assert!(why("50ms,late").contains("50ms,overtaking") && why("50").contains("unit"));
        let slot = Slot { min: ms(5), max: ms(5), packets: 0, bytes: Bytes::ZERO };
        assert_eq!("5ms".parse(), Ok(slot));
        assert_eq!(
            "5ms..10ms,packets=32,bytes=64kb".parse(),
            Ok(Slot { max: ms(10), packets: 32, bytes: Bytes(65_536), ..slot })
        );
        let wrong_slot = |text: &str| text.parse::<Slot>().unwrap_err().to_string();
        assert!(wrong_slot("0ms").contains("zero") && wrong_slot("10ms..5ms").contains("above 5ms"));
        assert!(
            wrong_slot("5ms,32").contains("packets=32") && wrong_slot("5ms,packets=-1").contains("number of packets")
        );
    }

    #[test]
    fn options_are_read_as_they_are_written() {
        for text in ["1%", "0.29%", "every=100", "every=100,burst=2", "p=1%,r=25%", "p=1%,r=25%,bad=90%,good=0.1%"] {
            assert_eq!(text.parse::<Loss>().unwrap().to_string(), text);
        }
        for share in [1.0 / 3.0, 1e-9, 0.0029] {
            assert_eq!(Loss::Random(share).to_string().parse(), Ok(Loss::Random(share)));
        }
        let wire = Wire {
            loss: Loss::Random(0.02),
            jitter: Duration::from_micros(1500),
            overtaking: true,
            reorder: "1%,5ms".parse().ok(),
            slot: "5ms..10ms,packets=32".parse().ok(),
            ..Wire::default()
        };
        let written: Vec<String> = options(&wire).iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(written, ["loss=2%", "jitter=1.5ms,overtaking", "reorder=1%,5ms", "slot=5ms..10ms,packets=32"]);
        assert_eq!(options(&Wire::default()), []);
    }
}
