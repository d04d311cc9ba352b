//! From the text of a script to its steps.

use aqmkit_base::{Ecn, Instant};
use aqmkit_transport::{Event, Overrides, Profile};
use serde_json::{Map, Value as Json};

use super::{Act, Form, Quantity, Script, Step, Value, Words};

type Result<T> = std::result::Result<T, String>;

/// Reads a script.
///
/// # Errors
/// The number of the first wrong line, and what is wrong.
pub(super) fn parse(text: &str) -> Result<Script> {
    let mut profile = None;
    let mut fields = Map::new();
    let mut steps: Vec<Step> = Vec::new();
    for (line, raw) in (1..).zip(text.lines()) {
        let content = raw.split('#').next().unwrap_or_default().trim();
        let at_line = |why: String| format!("line {line}: {why}");
        if content.is_empty() {
            continue;
        }
        if steps.last().is_some_and(|step| step.act == Act::End) {
            return Err(at_line("nothing follows `end`".to_owned()));
        }
        match content.split_once(char::is_whitespace) {
            Some(("profile" | "set", _)) if !steps.is_empty() => {
                return Err(at_line("settings come before what happens".to_owned()));
            }
            Some(("profile", name)) => {
                let named = Profile::named(name.trim()).ok_or_else(|| at_line(format!("no profile {name:?}")))?;
                if profile.replace(named).is_some() {
                    return Err(at_line("a second profile".to_owned()));
                }
            }
            Some(("set", rest)) => {
                let (field, value) = setting(rest).map_err(at_line)?;
                if fields.insert(field.clone(), value).is_some() {
                    return Err(at_line(format!("{field} is set twice")));
                }
            }
            _ => {
                let step = step(line, content).map_err(at_line)?;
                if steps.last().is_some_and(|last| step.at < last.at) {
                    return Err(at_line("time goes backwards".to_owned()));
                }
                steps.push(step);
            }
        }
    }
    if steps.last().is_none_or(|step| step.act != Act::End) {
        return Err("the last line must be `TIME end`".to_owned());
    }
    let profile = profile.ok_or("a script needs `profile NAME`")?;
    let overrides: Overrides = serde_json::from_value(Json::Object(fields)).map_err(|e| format!("settings: {e}"))?;
    let profile = overrides.apply(profile).map_err(|e| format!("settings: {e}"))?;
    Ok(Script { profile, steps })
}

/// `FIELD = JSON`.
fn setting(text: &str) -> Result<(String, Json)> {
    let (field, value) = text.split_once('=').ok_or("a setting is `set FIELD = JSON`")?;
    let value = serde_json::from_str(value.trim()).map_err(|e| format!("the value is no JSON: {e}"))?;
    Ok((field.trim().to_owned(), value))
}

/// A line with a time.
fn step(line: usize, text: &str) -> Result<Step> {
    let mut words = text.split_whitespace();
    let at = time(words.next().unwrap_or_default())?;
    let verb = words.next().ok_or("nothing happens at this time")?;
    let act = match verb {
        "<" => Act::Arrives(segment(&mut words, &ARRIVING)?),
        ">" => Act::Sends(segment(&mut words, &SENT)?),
        "connect" => Act::Connect,
        "close" => Act::Close,
        "end" => Act::End,
        "write" => Act::Write(number(words.next(), "a number of bytes")?),
        "state" => Act::State(state(&mut words)?),
        "event" => Act::Tells(event(words.next().unwrap_or_default())?),
        other => return Err(format!("{other:?} is none of <, >, connect, write, close, state, event, end")),
    };
    match words.next() {
        Some(word) => Err(format!("{word:?} is too much")),
        None => Ok(Step { line, at, act }),
    }
}

/// Seconds, with up to nine digits behind the point.
fn time(text: &str) -> Result<Instant> {
    let wrong = || format!("{text:?} is no time in seconds");
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let nanos: u64 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    whole.checked_mul(1_000_000_000).and_then(|n| n.checked_add(nanos)).map(Instant::from_nanos).ok_or_else(wrong)
}

fn number<T: std::str::FromStr>(word: Option<&str>, what: &str) -> Result<T> {
    let word = word.unwrap_or_default();
    word.parse().map_err(|_| format!("{word:?} is not {what}"))
}

fn event(name: &str) -> Result<Event> {
    match name {
        "connected" => Ok(Event::Connected),
        "closed" => Ok(Event::Closed),
        "failed" => Ok(Event::Failed),
        other => Err(format!("{other:?} is no event")),
    }
}

/// Words that only segments of one direction have.
const ARRIVING: [&str; 2] = ["win", "no-sack"];
const SENT: [&str; 1] = ["again"];

/// Parses the words after `<` or `>`; `own` are those that only this direction has.
fn segment<'a>(words: &mut impl Iterator<Item = &'a str>, own: &[&str]) -> Result<Words> {
    let mut out = form(words)?;
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if (ARRIVING.contains(&word) || SENT.contains(&word)) && !own.contains(&word) {
            return Err(format!("{word:?} has no meaning in this direction"));
        }
        let new = match word {
            "ack" => out.ack.replace(number(words.next(), "a sequence number")?).is_none(),
            "sack" => {
                let new = out.sack.is_empty();
                while let Some(block) = words.next_if(|w| w.starts_with(|c: char| c.is_ascii_digit())) {
                    out.sack.push(range(block, "-")?);
                }
                if out.sack.is_empty() {
                    return Err("sack needs a block, A-B".to_owned());
                }
                new
            }
            "dsack" => out.dsack.replace(range(words.next().unwrap_or_default(), "-")?).is_none(),
            "win" => out.window.replace(number(words.next(), "a number of bytes")?).is_none(),
            "ts" => {
                let value = number(words.next(), "a timestamp")?;
                out.timestamps.replace((value, number(words.next(), "a timestamp")?)).is_none()
            }
            "ece" => !std::mem::replace(&mut out.ece, true),
            "cwr" => !std::mem::replace(&mut out.cwr, true),
            "again" => !std::mem::replace(&mut out.again, true),
            "no-sack" => !std::mem::replace(&mut out.no_sack, true),
            "ect0" => out.ecn.replace(Ecn::Ect0).is_none(),
            "ect1" => out.ecn.replace(Ecn::Ect1).is_none(),
            "ce" => out.ecn.replace(Ecn::Ce).is_none(),
            "not-ect" => out.ecn.replace(Ecn::NotEct).is_none(),
            other => return Err(format!("{other:?} says nothing about a segment")),
        };
        if !new {
            return Err(format!("{word:?} comes twice, or with its opposite"));
        }
    }
    Ok(out)
}

/// The first words about a segment.
fn form<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Words> {
    let mut ack = None;
    let form = match words.next().unwrap_or_default() {
        "syn" => Form::Syn,
        "syn-ack" => Form::SynAck,
        "reset" => Form::Reset,
        "ack" => {
            ack = Some(number(words.next(), "a sequence number")?);
            Form::Ack
        }
        "data" => {
            let (start, end) = range(words.next().unwrap_or_default(), "..")?;
            Form::Data { start, end }
        }
        other => return Err(format!("{other:?} is none of syn, syn-ack, ack, data, reset")),
    };
    Ok(Words {
        form,
        ack,
        sack: Vec::new(),
        dsack: None,
        window: None,
        timestamps: None,
        ecn: None,
        ece: false,
        cwr: false,
        again: false,
        no_sack: false,
    })
}

/// From the first sequence number to the one after the last.
fn range(text: &str, between: &str) -> Result<(u64, u64)> {
    let wrong = || format!("{text:?} is no range A{between}B of sequence numbers");
    let (start, end) = text.split_once(between).ok_or_else(wrong)?;
    let (start, end) = (start.parse().map_err(|_| wrong())?, end.parse().map_err(|_| wrong())?);
    if start < end { Ok((start, end)) } else { Err(wrong()) }
}

fn state<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Vec<(Quantity, Value)>> {
    let mut out = Vec::new();
    while let Some(name) = words.next() {
        let quantity = match name {
            "cwnd" => Quantity::Cwnd,
            "ssthresh" => Quantity::Ssthresh,
            "flight" => Quantity::Flight,
            "pipe" => Quantity::Pipe,
            "rto" => Quantity::Rto,
            "srtt" => Quantity::Srtt,
            "timeouts" => Quantity::Timeouts,
            "fast" => Quantity::Fast,
            "probes" => Quantity::Probes,
            "resent" => Quantity::Resent,
            "reductions" => Quantity::Reductions,
            "undone" => Quantity::Undone,
            other => return Err(format!("{other:?} is nothing that an endpoint shows")),
        };
        out.push((quantity, value(quantity, words.next().unwrap_or_default())?));
    }
    if out.is_empty() { Err("state needs a name and a number".to_owned()) } else { Ok(out) }
}

fn value(quantity: Quantity, text: &str) -> Result<Value> {
    let in_segments = matches!(quantity, Quantity::Cwnd | Quantity::Ssthresh | Quantity::Flight | Quantity::Pipe);
    match text.strip_suffix('b') {
        _ if text == "initial" && quantity == Quantity::Ssthresh => Ok(Value::Initial),
        Some(bytes) if in_segments => Ok(Value::Bytes(number(Some(bytes), "a number of bytes")?)),
        _ => {
            let decimals = text.split_once('.').map_or(0, |(_, part)| part.len() as i32);
            let within = if decimals == 0 { 0.0 } else { 0.5 * 10_f64.powi(-decimals) + 1e-12 };
            let wanted: f64 = number(Some(text), "a number")?;
            if wanted.is_finite() { Ok(Value::Near(wanted, within)) } else { Err(format!("{text:?} is not a number")) }
        }
    }
}
