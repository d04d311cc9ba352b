//! Parses a wish: `video, 2 web; p99 < 20ms; web page < 1s; max goodput`.
//!
//! Parts are separated by commas or semicolons. A part names traffic, sets a bound, or states an aim:
//!
//! | part | means |
//! |---|---|
//! | `video`, `2 video`, `web 30%` | this traffic is on the link, and matters |
//! | `p99 < 20ms`, `web page < 1s` | a bound: of all traffic that matters, or of one kind |
//! | `min delay`, `max goodput`, `2 max bulk goodput` | an aim, with a weight |

use aqmkit_base::near::suggest;

use crate::quantity::{self, Better, Quantity};

/// The unit of an amount of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountOf {
    /// Number of flows, viewers, calls, players.
    Count,
    /// A share of the link's rate.
    Load,
}

/// A kind of traffic that a wish can name.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Name in a wish and in the command's option.
    pub name: &'static str,
    /// Traffic groups that it adds to the experiment.
    pub groups: &'static [&'static str],
    /// Unit of an amount.
    pub amount: AmountOf,
    /// Default amount.
    pub usual: f64,
    /// Default aims if a wish has none: names of quantities.
    pub aims: &'static [&'static str],
}

const fn counted(
    name: &'static str,
    groups: &'static [&'static str],
    usual: f64,
    aims: &'static [&'static str],
) -> Kind {
    Kind { name, groups, amount: AmountOf::Count, usual, aims }
}

/// All kinds of traffic.
pub const KINDS: &[Kind] = &[
    counted("bulk", &["bulk"], 2.0, &["goodput"]),
    counted("upload", &["upload"], 1.0, &["goodput"]),
    Kind { name: "web", groups: &["web"], amount: AmountOf::Load, usual: 0.3, aims: &["page"] },
    counted("video", &["video"], 1.0, &["bitrate", "stalled"]),
    counted("call", &["call", "call-up"], 1.0, &["bitrate", "stalled", "p99"]),
    counted("game", &["game"], 1.0, &["p99", "missed"]),
    counted("voip", &["voip"], 1.0, &["mos"]),
    Kind { name: "http", groups: &["http-mah"], amount: AmountOf::Load, usual: 0.3, aims: &["page"] },
    counted("mpeg", &["mpeg"], 1.0, &["loss"]),
    counted("videoconf", &["videoconf"], 1.0, &["loss", "p99"]),
];

impl Kind {
    /// The kind of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

/// Traffic that matters to the user.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The kind of traffic.
    pub kind: &'static Kind,
    /// Its amount; `None` if the wish does not give it.
    pub amount: Option<f64>,
}

/// A bound on a quantity.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The traffic it applies to; `None` for all traffic of the wish.
    pub kind: Option<&'static Kind>,
    /// The bounded quantity.
    pub quantity: &'static Quantity,
    /// Whether the value must be below (`Less`) or above (`More`).
    pub side: Better,
    /// The value, in the unit of results.
    pub value: f64,
}

/// A quantity to make small or large.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// The traffic it applies to; `None` for all traffic of the wish.
    pub kind: Option<&'static Kind>,
    /// The quantity to optimise.
    pub quantity: &'static Quantity,
    /// Weight relative to other aims.
    pub weight: f64,
}

/// A parsed wish.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The traffic that matters.
    pub traffic: Vec<Wanted>,
    /// Bounds on quantities.
    pub bounds: Vec<Bound>,
    /// Quantities to optimise.
    pub aims: Vec<Aim>,
}

/// An error in a wish, and how to correct it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WishError {
    /// The problem.
    pub what: String,
    /// How to correct it.
    pub right: String,
}

/// Shorthand for an error result.
fn wrong<T>(what: impl Into<String>, right: impl Into<String>) -> Result<T, WishError> {
    Err(WishError { what: what.into(), right: right.into() })
}

/// The names of all quantities.
fn quantities() -> impl Iterator<Item = &'static str> {
    quantity::ALL.iter().map(|quantity| quantity.name)
}

impl Wish {
    /// Parses a wish.
    ///
    /// # Errors
    /// The first part that cannot be parsed, with the known alternatives.
    pub fn read(text: &str) -> Result<Wish, WishError> {
        let mut wish = Wish::default();
        for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
            let words: Vec<&str> = part.split_whitespace().collect();
            if part.contains(['<', '>', '≤', '≥']) {
                wish.bounds.push(bound(part)?);
            } else if words.iter().take(2).any(|word| ["min", "max"].contains(word)) {
                wish.aims.push(aim(part, &words)?);
            } else {
                let wanted = traffic(part, &words)?;
                if wish.traffic.iter().any(|before| before.kind.name == wanted.kind.name) {
                    return wrong(
                        format!("{} is named twice", wanted.kind.name),
                        "name each kind of traffic once, with its amount",
                    );
                }
                wish.traffic.push(wanted);
            }
        }
        if wish.traffic.is_empty() && wish.bounds.is_empty() && wish.aims.is_empty() {
            return wrong("the wish is empty", "for example --want \"video, web; p99 < 20ms\"");
        }
        Ok(wish)
    }
}

/// Parses `2 video`, `web 30%` or `call`.
fn traffic(part: &str, words: &[&str]) -> Result<Wanted, WishError> {
    let (name, amount) = match words {
        [name] => (*name, None),
        [a, b] if Kind::find(a).is_some() => (*a, Some(*b)),
        [a, b] => (*b, Some(*a)),
        _ => {
            return wrong(
                format!("{part:?} is not understood"),
                "a part names traffic (2 video), sets a bound (p99 < 20ms) or states an aim (max goodput)",
            );
        }
    };
    let Some(kind) = Kind::find(name) else {
        if Quantity::find(name).is_some() {
            return wrong(
                format!("{part:?} has no bound"),
                format!("write a bound, such as {name} {}, or an aim, such as {}", example(name), aimed(name)),
            );
        }
        let known = KINDS.iter().map(|kind| kind.name).chain(quantities());
        return wrong(format!("{name:?} is neither traffic nor a quantity"), suggest(name, known));
    };
    let amount = amount.map(|text| read_amount(kind, text)).transpose()?;
    Ok(Wanted { kind, amount })
}

/// An example of a bound, for an error.
fn example(name: &str) -> &'static str {
    match Quantity::find(name).map(|quantity| (quantity.unit, quantity.better)) {
        Some((quantity::Unit::Time, _)) => "< 20ms",
        Some((quantity::Unit::Rate, _)) => "> 5mbit",
        Some((quantity::Unit::Share, Better::Less)) => "< 1%",
        Some((quantity::Unit::Share, Better::More)) => "> 90%",
        _ => "> 0.9",
    }
}

/// An example of an aim, for an error.
fn aimed(name: &str) -> String {
    let way = if Quantity::find(name).is_some_and(|quantity| quantity.better == Better::More) { "max" } else { "min" };
    format!("{way} {name}")
}

fn read_amount(kind: &Kind, text: &str) -> Result<f64, WishError> {
    match kind.amount {
        AmountOf::Count => match text.parse::<u32>() {
            Ok(count) if count > 0 => Ok(f64::from(count)),
            _ => wrong(
                format!("{text:?} is not a number of {}", kind.name),
                format!("write a whole number, such as 2 {}", kind.name),
            ),
        },
        AmountOf::Load => match quantity::Unit::Share.read(text) {
            Ok(load) if load > 0.0 => Ok(load),
            _ => wrong(
                format!("{text:?} is not a load of {}", kind.name),
                format!("write a share of the link's rate, such as {} 30%", kind.name),
            ),
        },
    }
}

/// Parses `p99 < 20ms` or `web page < 1s`.
fn bound(part: &str) -> Result<Bound, WishError> {
    let place = part.find(['<', '>', '≤', '≥']).unwrap_or(0);
    let (left, rest) = part.split_at(place);
    let side = if rest.starts_with(['<', '≤']) { Better::Less } else { Better::More };
    let value = rest.trim_start_matches(['<', '>', '≤', '≥', '=']).trim();
    if left.trim().is_empty() {
        return wrong(format!("{part:?} does not say what is bounded"), "for example p99 < 20ms");
    }
    let (kind, quantity) = subject(part, left)?;
    let value = quantity
        .unit
        .read(value)
        .or_else(|right| wrong(format!("{value:?} is not a bound of {}", quantity.words), right))?;
    if side != quantity.better {
        let (sign, way) = if quantity.better == Better::Less { ("<", "less") } else { (">", "more") };
        return wrong(
            format!("{part:?} asks for the worse side: {way} {} is better", quantity.words),
            format!("write {} {sign} …", left.trim()),
        );
    }
    Ok(Bound { kind, quantity, side, value })
}

/// Parses `min delay`, `2 max bulk goodput` or `2 * max goodput`.
fn aim(part: &str, words: &[&str]) -> Result<Aim, WishError> {
    let place = words.iter().position(|word| ["min", "max"].contains(word)).unwrap_or(0);
    let weight = match &words[..place] {
        [] => 1.0,
        [text] => match text.trim_end_matches(['*', 'x', '×']).parse::<f64>() {
            Ok(weight) if weight.is_finite() && weight > 0.0 => weight,
            _ => return wrong(format!("{text:?} is no weight"), "write a number above zero: 2 max goodput"),
        },
        _ => {
            return wrong(
                format!("{part:?} is not understood"),
                "an aim is min or max, a quantity, and before them its weight: 2 max goodput",
            );
        }
    };
    let rest = words[place + 1..].join(" ");
    if rest.is_empty() {
        return wrong(format!("{part:?} does not say of what"), "for example max goodput");
    }
    let (kind, quantity) = subject(part, &rest)?;
    let way = if words[place] == "min" { Better::Less } else { Better::More };
    if way != quantity.better {
        return wrong(
            format!("{part:?} asks for the worse side of {}", quantity.words),
            format!("write {}", aimed(quantity.name)),
        );
    }
    Ok(Aim { kind, quantity, weight })
}

/// Parses the subject of a bound or aim: a kind of traffic, if one is named, and a quantity.
fn subject(part: &str, text: &str) -> Result<(Option<&'static Kind>, &'static Quantity), WishError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (kind, names) = match words.split_first() {
        Some((first, rest)) if Kind::find(first).is_some() => (Kind::find(first), rest),
        _ => (None, &words[..]),
    };
    // Synonyms: `delay p99` for p99, `page p90` for page-p90.
    let name = match names {
        ["delay", which @ ("p50" | "p90" | "p99")] | [which @ ("p50" | "p90" | "p99"), "delay"] => (*which).to_owned(),
        _ => names.join("-"),
    };
    let Some(quantity) = Quantity::find(&name) else {
        if name.is_empty() {
            return wrong(
                format!("{part:?} does not say which quantity"),
                format!("they are {}", quantities().collect::<Vec<_>>().join(", ")),
            );
        }
        let shown = names.join(" ");
        let known: Vec<&str> =
            if names.len() > 1 { KINDS.iter().map(|other| other.name).collect() } else { quantities().collect() };
        let near = suggest(if names.len() > 1 { names[0] } else { &name }, known);
        return wrong(format!("{shown:?} in {part:?} is not a quantity"), near);
    };
    match kind {
        Some(kind) if !quantity.is_of_traffic() => wrong(
            format!("{} is a quantity of the link, not of {}", quantity.name, kind.name),
            format!("write {part:?} without {}", kind.name),
        ),
        _ => Ok((kind, quantity)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_has_traffic_bounds_and_aims() {
        let wish = Wish::read("video, 2 call, web 40%; p99 < 20ms; web page p90 <= 1.5s; call stalled < 1%, 2 max bulk goodput, min delay").unwrap();
        let traffic: Vec<(&str, Option<f64>)> = wish.traffic.iter().map(|t| (t.kind.name, t.amount)).collect();
        assert_eq!(traffic, [("video", None), ("call", Some(2.0)), ("web", Some(0.4))]);
        let bounds: Vec<(Option<&str>, &str, f64)> =
            wish.bounds.iter().map(|b| (b.kind.map(|k| k.name), b.quantity.name, b.value)).collect();
        assert_eq!(bounds, [(None, "p99", 20.0), (Some("web"), "page-p90", 1500.0), (Some("call"), "stalled", 0.01)]);
        let aims: Vec<(Option<&str>, &str, f64)> =
            wish.aims.iter().map(|a| (a.kind.map(|k| k.name), a.quantity.name, a.weight)).collect();
        assert_eq!(aims, [(Some("bulk"), "goodput", 2.0), (None, "delay", 1.0)]);
        assert_eq!(Wish::read("delay p99 < 5ms").unwrap().bounds[0].quantity.name, "p99");
        assert_eq!(Wish::read("goodput > 40mbit").unwrap().bounds[0].value, 40e6);
    }

    #[test]
    fn what_is_not_understood_is_named_with_what_is_near() {
        let of = |text: &str| {
            let error = Wish::read(text).unwrap_err();
            format!("{}: {}", error.what, error.right)
        };
        assert!(of("vidio").contains("did you mean video?"), "{}", of("vidio"));
        assert!(of("p98 < 3ms").contains("did you mean p90?"), "{}", of("p98 < 3ms"));
        assert!(of("vidoe bitrate > 3mbit").contains("did you mean video?"), "{}", of("vidoe bitrate > 3mbit"));
        assert!(of("p99 < 3mbit").contains("write a time, such as 20ms"), "{}", of("p99 < 3mbit"));
        assert!(of("p99 > 3ms").contains("less queue delay p99 is better"), "{}", of("p99 > 3ms"));
        assert!(of("goodput").contains("such as max goodput"), "{}", of("goodput"));
        assert!(of("min goodput").contains("write max goodput"), "{}", of("min goodput"));
        assert!(of("0 video").contains("write a whole number, such as 2 video"), "{}", of("0 video"));
        assert!(of("web 0%").contains("such as web 30%"), "{}", of("web 0%"));
        assert!(of("video use > 90%").contains("a quantity of the link"), "{}", of("video use > 90%"));
        assert!(of("video, video").contains("named twice"), "{}", of("video, video"));
        assert!(of("-1 max goodput").contains("no weight"), "{}", of("-1 max goodput"));
        for empty in ["", " ; ,", "< 20ms", "max"] {
            assert!(Wish::read(empty).is_err(), "{empty:?}");
        }
    }

    /// The default aims of a kind of traffic are quantities that it has.
    #[test]
    fn every_kind_has_aims() {
        for kind in KINDS {
            assert!(
                !kind.aims.is_empty()
                    && kind.aims.iter().all(|aim| Quantity::find(aim).is_some_and(Quantity::is_of_traffic)),
                "{}",
                kind.name
            );
        }
    }
}
