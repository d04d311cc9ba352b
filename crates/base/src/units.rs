//! Quantities as text, in the units of `tc(8)`.
//!
//! | quantity | units | examples |
//! |---|---|---|
//! | time | `ns us ms s min` | `30ms`, `1.5s`, `12min` |
//! | rate | `bit kbit mbit gbit tbit` (powers of 1000), `kibit mibit gibit` (of 1024), `bps kbps mbps gbps kibps mibps` (**bytes** per second, as in `tc`) | `10mbit`, `150kibps` |
//! | size | `b`, `kb mb gb` (powers of 1024, as in `tc`), `kib mib gib` (the same), `bit kbit mbit` | `1500b`, `16kb` |
//! | queue length | a bare number or `p` for packets, or a size | `60`, `"60p"`, `"90kb"` |
//!
//! A time, a rate or a size without a unit is an error, because its meaning is unknown. Values above 1000000000s,
//! 1000tbit or 1048576gb are errors too.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use crate::framing::Overhead;
use crate::{Amount, BitRate, Bytes, Duration};

/// An error in a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got:?} is not a {what}: {hint}")]
pub struct UnitError {
    /// The text that could not be parsed.
    pub got: String,
    /// The expected kind: `time`, `rate`, `size` or `queue length`.
    pub what: &'static str,
    /// The remedy.
    pub hint: String,
}

type Unit = (&'static str, f64);

/// The largest quantities, in base units and in words. Larger ones are taken for mistakes; sums of valid ones fit 64
/// bits.
type Most = (f64, &'static str);

const MOST_TIME: Most = (1e18, "1000000000s");
const MOST_RATE: Most = (1e15, "1000tbit");
const MOST_SIZE: Most = (1_125_899_906_842_624.0, "1048576gb");

const TIME: &[Unit] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)];

/// Other spellings of tc(8) for times and sizes.
const OF_TC: &[(&str, &str)] = &[
    ("usec", "us"),
    ("usecs", "us"),
    ("msec", "ms"),
    ("msecs", "ms"),
    ("sec", "s"),
    ("secs", "s"),
    ("k", "kb"),
    ("m", "mb"),
    ("g", "gb"),
];

const RATE: &[Unit] = &[
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("tbit", 1e12),
    ("kibit", 1024.0),
    ("mibit", 1_048_576.0),
    ("gibit", 1_073_741_824.0),
    ("bps", 8.0),
    ("kbps", 8e3),
    ("mbps", 8e6),
    ("gbps", 8e9),
    ("kibps", 8192.0),
    ("mibps", 8_388_608.0),
];

const SIZE: &[Unit] = &[
    ("b", 1.0),
    ("kb", 1024.0),
    ("mb", 1_048_576.0),
    ("gb", 1_073_741_824.0),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("bit", 0.125),
    ("kbit", 125.0),
    ("mbit", 125_000.0),
];

/// Splits `12.5ms` into 12.5 and the unit, and looks the unit up.
fn parse(text: &str, what: &'static str, units: &[Unit], most: Most, example: &str) -> Result<f64, UnitError> {
    let error = |hint: String| UnitError { got: text.to_owned(), what, hint };
    let names = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let (value, unit) = split(text).ok_or_else(|| error(format!("write a number and a unit, such as {example}")))?;
    if unit.is_empty() {
        return Err(error(format!("a {what} needs a unit ({}), such as {example}", names())));
    }
    let named = |name: &str| units.iter().find(|u| u.0.eq_ignore_ascii_case(name));
    let of_tc = || OF_TC.iter().find(|(spelling, _)| spelling.eq_ignore_ascii_case(unit));
    let known = named(unit).or_else(|| named(of_tc()?.1));
    let (_, scale) = known.ok_or_else(|| error(format!("the unit {unit:?} is not one of {}", names())))?;
    if value < 0.0 {
        return Err(error(format!("a {what} cannot be negative")));
    }
    if value * scale > most.0 {
        return Err(error(format!("the maximum is {}", most.1)));
    }
    Ok(value * scale)
}

/// A kind of quantity with units of different sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `10mbit`
    Rate,
    /// `30ms`
    Time,
    /// `16kb`
    Size,
}

impl Kind {
    /// Every kind; `mbit` is first a unit of rates, then one of sizes.
    pub const ALL: [Kind; 3] = [Kind::Rate, Kind::Time, Kind::Size];

    /// The number of base units (bits per second, nanoseconds, bytes) in one `unit`; `None` if it is not a unit of this
    /// kind.
    #[must_use]
    pub fn scale(self, unit: &str) -> Option<f64> {
        let units = match self {
            Kind::Rate => RATE,
            Kind::Time => TIME,
            Kind::Size => SIZE,
        };
        units.iter().find(|u| u.0.eq_ignore_ascii_case(unit)).map(|u| u.1)
    }
}

/// Splits a text into its leading number and the rest: `98%`, `20ms`, `4 flows`, `0.01`.
#[must_use]
pub fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let digits = |from: usize| {
        let end = text[from..].find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c)));
        end.map_or(text.len(), |n| from + n)
    };
    let mut end = digits(0);
    if text[end..]
        .strip_prefix(['e', 'E'])
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
    {
        end = digits(end + 1);
    }
    let number = text[..end].parse().ok().filter(|n: &f64| n.is_finite())?;
    Some((number, text[end..].trim_start()))
}

/// Reads a share of a whole as a fraction of 1: `5%`, `0.05`.
///
/// # Errors
/// When it is no number, or not above 0 and at most 1.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let error = |hint: &str| UnitError { got: text.to_owned(), what: "share", hint: hint.to_owned() };
    let share = match split(text) {
        Some((value, "")) => value,
        Some((value, "%")) => value / 100.0,
        _ => return Err(error("write a share such as 5% or 0.05")),
    };
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err(error("it must be above 0 and at most 100%")) }
}

/// Reads a time such as `30ms`.
///
/// # Errors
/// When the text has no unit, an unknown unit, or is not a number, is negative or infinite.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    parse(text, "time", TIME, MOST_TIME, "\"30ms\"").map(|ns| Duration::from_nanos((ns + 0.5) as u64))
}

/// Reads a rate such as `10mbit`.
///
/// # Errors
/// As [`parse_duration`].
pub fn parse_rate(text: &str) -> Result<BitRate, UnitError> {
    parse(text, "rate", RATE, MOST_RATE, "\"10mbit\"").map(|bps| BitRate::from_bps((bps + 0.5) as u64))
}

/// A warning about rates written as `10 Mbps`: it is read as bytes per second, as in `tc`, while many mean bits. `None`
/// for all other units, including `kibps` and `bps`, which are not used for bits.
#[must_use]
pub fn doubtful_rate(text: &str) -> Option<String> {
    let (value, unit) = split(text)?;
    let bits = ["kbit", "mbit", "gbit"].into_iter().find(|bit| {
        let bytes = bit.replace("it", "ps");
        bytes.eq_ignore_ascii_case(unit)
    })?;
    Some(format!(
        "{text:?} is {}{bits}, because bps means bytes per second, as in tc; write {value}{bits} if bits were meant",
        value * 8.0
    ))
}

/// Reads a size such as `1500b`.
///
/// # Errors
/// As [`parse_duration`].
pub fn parse_bytes(text: &str) -> Result<Bytes, UnitError> {
    parse(text, "size", SIZE, MOST_SIZE, "\"1500b\"").map(|b| Bytes((b + 0.5) as u64))
}

/// Reads the overhead of a link per packet, such as `38b`; `-4b` if it sends less than the packet.
///
/// # Errors
/// As [`parse_duration`], but a negative size is valid; also below [`Overhead::LEAST`] and above [`Overhead::MOST`].
pub fn parse_overhead(text: &str) -> Result<Overhead, UnitError> {
    let (negative, size) = match text.trim().strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let error = |hint: String| UnitError { got: text.to_owned(), what: "framing overhead", hint };
    let bytes = parse_bytes(size).map_err(|e| error(e.hint))?.0;
    let bytes = i32::try_from(bytes).map(|bytes| if negative { -bytes } else { bytes });
    match bytes {
        Ok(bytes @ Overhead::LEAST..=Overhead::MOST) => Ok(Overhead(bytes)),
        _ => Err(error(format!("it is between {}b and {}b", Overhead::LEAST, Overhead::MOST))),
    }
}

/// Reads a queue length: `60`, `60p` or `90kb`.
///
/// # Errors
/// As [`parse_duration`], but a number without a unit is valid.
pub fn parse_amount(text: &str) -> Result<Amount, UnitError> {
    let trimmed = text.trim();
    let packets = trimmed.strip_suffix(['p', 'P']).unwrap_or(trimmed);
    match packets.trim().parse::<f64>() {
        Ok(n) => check_packets(n).map(Amount::Packets),
        Err(_) => match parse(trimmed, "queue length", SIZE, MOST_SIZE, "\"60p\" or \"90kb\"") {
            Ok(b) => Ok(Amount::Bytes((b + 0.5) as u64)),
            Err(e) => Err(e),
        },
    }
}

fn check_packets(n: f64) -> Result<f64, UnitError> {
    if n.is_finite() && n >= 0.0 {
        return Ok(n);
    }
    let hint = "it cannot be negative or infinite".to_owned();
    Err(UnitError { got: n.to_string(), what: "queue length", hint })
}

/// `value` in the largest unit in which it is a short number; `units` ascend.
fn format(value: f64, units: &[Unit]) -> String {
    let best = units.iter().rev().find(|(_, scale)| {
        let n = value / scale;
        n >= 1.0 && (n * 1e3).fract().abs() < 1e-6
    });
    let (name, scale) = best.unwrap_or(&units[0]);
    format!("{}{name}", value / scale)
}

/// The shortest text that reads as the same rate.
#[must_use]
pub fn format_rate(rate: BitRate) -> String {
    format(rate.as_bps() as f64, &RATE[..5])
}

/// The shortest text that reads as the same time.
#[must_use]
pub fn format_duration(time: Duration) -> String {
    format(time.as_nanos() as f64, &TIME[..4])
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_duration(*self))
    }
}

/// Implements the text form of a quantity for every data format, and its `FromStr`.
macro_rules! as_text {
    ($type:ty, $parse:path, $what:literal, $example:literal) => {
        impl std::str::FromStr for $type {
            type Err = UnitError;
            fn from_str(s: &str) -> Result<Self, UnitError> {
                $parse(s)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a ", $what, " with its unit, such as \"", $example, "\""))
                    }
                    fn visit_str<E: de::Error>(self, v: &str) -> Result<$type, E> {
                        $parse(v).map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, v: i64) -> Result<$type, E> {
                        $parse(&v.to_string()).map_err(E::custom)
                    }
                    fn visit_u64<E: de::Error>(self, v: u64) -> Result<$type, E> {
                        $parse(&v.to_string()).map_err(E::custom)
                    }
                    fn visit_f64<E: de::Error>(self, v: f64) -> Result<$type, E> {
                        $parse(&v.to_string()).map_err(E::custom)
                    }
                }
                d.deserialize_any(Text)
            }
        }
    };
}

as_text!(Duration, parse_duration, "time", "30ms");
as_text!(BitRate, parse_rate, "rate", "10mbit");
as_text!(Bytes, parse_bytes, "size", "1500b");
as_text!(Overhead, parse_overhead, "size", "38b");
as_text!(Amount, parse_amount, "queue length", "60p");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_of_tc() {
        assert_eq!(parse_rate("10mbit"), Ok(BitRate::from_mbps(10)));
        assert_eq!(parse_rate("150kibps"), Ok(BitRate::from_bps(150 * 1024 * 8)));
        assert_eq!(parse_rate("1.5Mbps"), Ok(BitRate::from_mbps(12)));
        assert_eq!(parse_bytes("16kb"), Ok(Bytes(16_384)));
        assert_eq!(parse_duration("1.5ms"), Ok(Duration::from_micros(1500)));
        assert_eq!(parse_duration("1e3us"), Ok(Duration::from_millis(1)));
        assert_eq!(parse_amount("60"), Ok(Amount::Packets(60.0)));
        assert_eq!(parse_amount("4.28p"), Ok(Amount::Packets(4.28)));
        assert_eq!(parse_amount("90kb"), Ok(Amount::Bytes(92_160)));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let text = |e: Result<Duration, UnitError>| e.unwrap_err().to_string();
        assert_eq!(
            text(parse_duration("30")),
            "\"30\" is not a time: a time needs a unit (ns, us, ms, s, min), such as \"30ms\""
        );
        assert_eq!(
            text(parse_duration("30mbit")),
            "\"30mbit\" is not a time: the unit \"mbit\" is not one of ns, us, ms, s, min"
        );
        assert!(text(parse_duration("soon")).contains("write a number and a unit"));
        assert!(text(parse_duration("-3ms")).contains("negative"));
        assert_eq!(text(parse_duration("1e20s")), "\"1e20s\" is not a time: the maximum is 1000000000s");
        assert!(
            parse_duration(MOST_TIME.1).is_ok() && parse_rate(MOST_RATE.1).is_ok() && parse_bytes(MOST_SIZE.1).is_ok()
        );
        assert!(
            parse_rate("1e30gbit").is_err() && parse_bytes("1048577gb").is_err() && parse_amount("1e30kb").is_err()
        );
        assert!(parse_amount("-3").is_err() && parse_amount("").is_err());
    }

    #[test]
    fn an_overhead_may_be_negative() {
        assert_eq!(parse_overhead("38b"), Ok(Overhead(38)));
        assert_eq!(parse_overhead("-4b"), Ok(Overhead(-4)));
        assert_eq!(parse_overhead("-4b").unwrap().to_string(), "-4b");
        let text = |text: &str| parse_overhead(text).unwrap_err().to_string();
        assert_eq!(text("257b"), "\"257b\" is not a framing overhead: it is between -64b and 256b");
        assert_eq!(text("-65b"), "\"-65b\" is not a framing overhead: it is between -64b and 256b");
        assert_eq!((parse_overhead("-64b"), parse_overhead("256b")), (Ok(Overhead(-64)), Ok(Overhead(256))));
        assert!(text("--4b").contains("not a framing overhead"), "{}", text("--4b"));
        assert!(text("38").contains("needs a unit"), "{}", text("38"));
    }

    #[test]
    fn a_number_is_told_from_what_follows_it() {
        assert_eq!(split("500kbit"), Some((500.0, "kbit")));
        assert_eq!(split(" 1e-3 s"), Some((1e-3, "s")));
        assert_eq!((split("98%"), split("-0.5"), split("2e")), (Some((98.0, "%")), Some((-0.5, "")), Some((2.0, "e"))));
        assert_eq!((split("5-40"), split("2+3"), split("none"), split("")), (None, None, None, None));
        assert_eq!((Kind::Rate.scale("Mbit"), Kind::Time.scale("mbit")), (Some(1e6), None));
    }

    #[test]
    fn a_bare_number_is_refused_in_data_too() {
        let e = serde_json::from_str::<Duration>("30").unwrap_err().to_string();
        assert!(e.contains("a time needs a unit"), "{e}");
        assert_eq!(serde_json::from_str::<Amount>("60").unwrap(), Amount::Packets(60.0));
        assert!(serde_json::from_str::<Amount>("-1").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(ns in 0_u64..1_000_000_000_000, bps in 0_u64..1_000_000_000_000) {
            let d = Duration::from_nanos(ns);
            prop_assert_eq!(parse_duration(&d.to_string()), Ok(d));
            let r = BitRate::from_bps(bps);
            prop_assert_eq!(parse_rate(&r.to_string()), Ok(r));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (parse_duration(&text), parse_rate(&text), parse_bytes(&text), parse_amount(&text));
        }
    }

    #[test]
    fn a_rate_that_may_have_been_meant_in_bits_is_warned_of() {
        let warning = doubtful_rate("10 Mbps").unwrap();
        assert!(warning.contains("is 80mbit") && warning.contains("write 10mbit if bits were meant"), "{warning}");
        assert!(doubtful_rate("1.5gbps").unwrap().contains("12gbit") && doubtful_rate("64kbps").is_some());
        for plain in ["10mbit", "150kibps", "1200bps", "10ms", "fast", ""] {
            assert_eq!(doubtful_rate(plain), None, "{plain}");
        }
    }
}
