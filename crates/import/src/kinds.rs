//! Disciplines without classes: their options in `tc` and their parameters here.

use aqmkit_base::units::{parse_bytes, parse_duration, parse_rate};
use aqmkit_base::{BitRate, Bytes, Duration};
use toml::{Table, Value};

/// The header that Linux counts with every packet of an Ethernet device, and the simulator does not.
pub(crate) const MAC_HEADER: u64 = 14;

/// Length of a full packet of an Ethernet device, without that header.
const FULL_PACKET: u64 = 1500;

/// How the value of an option is written here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    /// A number of things, perhaps with `p` behind it.
    Count,
    /// Bytes.
    Size,
    /// Bytes that a queue sends in a turn: a full packet has 14 more in Linux.
    Turn,
    /// The same of several packets: each full one has 14 more in Linux.
    Turns,
    /// Numbers, one after the other.
    Numbers,
    Rate,
    /// A bare number counts microseconds.
    Time,
    /// A bare number counts seconds, the only notation that `tc` takes.
    Seconds,
    /// A bare number counts milliseconds, the only notation that `tc` takes.
    Millis,
    Number,
    /// `tc` has sixteenths.
    Sixteenth,
    Percent,
    /// `tc` has the negative logarithm to the base two.
    PowerOfTwo,
    /// A word without a value: the parameter is this.
    Word(bool),
    /// A word that is the value of the parameter.
    Choice(&'static str),
}

/// An option of `tc` and a parameter.
pub(crate) struct Rule(pub(crate) &'static str, pub(crate) &'static str, pub(crate) Unit);

/// A discipline: its name in `tc`, its name here, and its options.
pub(crate) struct Kind {
    pub(crate) in_tc: &'static str,
    pub(crate) here: &'static str,
    pub(crate) rules: &'static [Rule],
    /// Parameters that `tc` has by default and that differ here.
    pub(crate) defaults: &'static [(&'static str, &'static str)],
    /// Said wherever the discipline occurs.
    pub(crate) remark: Option<&'static str>,
}

use Unit::{
    Choice, Count, Millis, Number, Numbers, Percent, PowerOfTwo, Rate, Seconds, Sixteenth, Size, Time, Turn, Turns,
    Word,
};

const CODEL: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("target", "target", Time),
    Rule("interval", "interval", Time),
    Rule("ce_threshold", "ce_threshold", Time),
    Rule("ecn", "ecn", Word(true)),
    Rule("noecn", "ecn", Word(false)),
];

const FQ_CODEL: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("flows", "flows", Count),
    Rule("quantum", "quantum", Turn),
    Rule("target", "target", Time),
    Rule("interval", "interval", Time),
    Rule("memory_limit", "memory_limit", Size),
    Rule("drop_batch", "drop_batch", Count),
    Rule("ce_threshold", "ce_threshold", Time),
    Rule("ecn", "ecn", Word(true)),
    Rule("noecn", "ecn", Word(false)),
];

const PIE: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("target", "target", Time),
    Rule("tupdate", "tupdate", Time),
    Rule("alpha", "alpha", Sixteenth),
    Rule("beta", "beta", Sixteenth),
    Rule("ecn", "ecn", Word(true)),
    Rule("noecn", "ecn", Word(false)),
    Rule("bytemode", "bytemode", Word(true)),
    Rule("dq_rate_estimator", "dq_rate_estimator", Word(true)),
];

const FQ_PIE: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("flows", "flows", Count),
    Rule("target", "target", Time),
    Rule("tupdate", "tupdate", Time),
    Rule("alpha", "alpha", Sixteenth),
    Rule("beta", "beta", Sixteenth),
    Rule("quantum", "quantum", Turn),
    Rule("memory_limit", "memory_limit", Size),
    Rule("ecn_prob", "ecn_prob", Percent),
    Rule("ecn", "ecn", Word(true)),
    Rule("noecn", "ecn", Word(false)),
    Rule("bytemode", "bytemode", Word(true)),
    Rule("dq_rate_estimator", "dq_rate_estimator", Word(true)),
];

const RED: &[Rule] = &[
    Rule("limit", "limit", Size),
    Rule("min", "min", Size),
    Rule("max", "max", Size),
    Rule("avpkt", "avpkt", Size),
    Rule("burst", "burst", Count),
    Rule("bandwidth", "bandwidth", Rate),
    Rule("probability", "max_p", Number),
    Rule("ewma", "weight", PowerOfTwo),
    Rule("ecn", "ecn", Word(true)),
    Rule("harddrop", "harddrop", Word(true)),
    Rule("nodrop", "nodrop", Word(true)),
    Rule("adaptive", "adaptive", Word(true)),
];

const CHOKE: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("min", "min", Count),
    Rule("max", "max", Count),
    Rule("burst", "burst", Count),
    Rule("bandwidth", "bandwidth", Rate),
    Rule("probability", "max_p", Number),
    Rule("ewma", "weight", PowerOfTwo),
    Rule("ecn", "ecn", Word(true)),
];

const SFQ: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("quantum", "quantum", Turn),
    Rule("depth", "depth", Count),
    Rule("divisor", "divisor", Count),
    Rule("perturb", "perturb", Seconds),
    Rule("headdrop", "headdrop", Word(true)),
    Rule("redflowlimit", "redflowlimit", Size),
    Rule("min", "min", Size),
    Rule("max", "max", Size),
    Rule("avpkt", "avpkt", Size),
    Rule("burst", "burst", Count),
    Rule("probability", "probability", Number),
    Rule("ewma", "weight", PowerOfTwo),
    Rule("ecn", "ecn", Word(true)),
    Rule("harddrop", "harddrop", Word(true)),
];

const SFB: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("max", "max", Count),
    Rule("increment", "increment", Number),
    Rule("decrement", "decrement", Number),
    Rule("rehash", "rehash", Millis),
    Rule("db", "db", Millis),
];

const HHF: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("quantum", "quantum", Turn),
    Rule("hh_limit", "hh_limit", Count),
    Rule("reset_timeout", "reset_timeout", Time),
    Rule("admit_bytes", "admit_bytes", Size),
    Rule("evict_timeout", "evict_timeout", Time),
    Rule("non_hh_weight", "non_hh_weight", Count),
];

const DUALPI2: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("memlimit", "memlimit", Size),
    Rule("target", "target", Time),
    Rule("tupdate", "tupdate", Time),
    Rule("alpha", "alpha", Number),
    Rule("beta", "beta", Number),
    Rule("max_rtt", "max_rtt", Time),
    Rule("typical_rtt", "typical_rtt", Time),
    Rule("coupling_factor", "coupling_factor", Count),
    Rule("step_thresh", "step_thresh", Time),
    Rule("min_qlen_step", "min_qlen_step", Count),
    Rule("classic_protection", "classic_protection", Percent),
    Rule("l4s_ect", "classifier", Choice("l4s_ect")),
    Rule("any_ect", "classifier", Choice("any_ect")),
    Rule("drop_on_overload", "overload", Choice("drop_on_overload")),
    Rule("overflow", "overload", Choice("overflow")),
    Rule("drop_dequeue", "drop_at", Choice("drop_dequeue")),
    Rule("drop_enqueue", "drop_at", Choice("drop_enqueue")),
];

const FQ: &[Rule] = &[
    Rule("limit", "limit", Count),
    Rule("flow_limit", "flow_limit", Count),
    Rule("quantum", "quantum", Turns),
    Rule("initial_quantum", "initial_quantum", Turns),
    Rule("refill_delay", "refill_delay", Time),
    Rule("maxrate", "maxrate", Rate),
    Rule("pacing", "pacing", Word(true)),
    Rule("nopacing", "pacing", Word(false)),
    Rule("low_rate_threshold", "low_rate_threshold", Rate),
    Rule("timer_slack", "timer_slack", Time),
    Rule("ce_threshold", "ce_threshold", Time),
    Rule("orphan_mask", "orphan_mask", Count),
    Rule("priomap", "priomap", Numbers),
    Rule("weights", "weights", Numbers),
];

const fn kind(in_tc: &'static str, here: &'static str, rules: &'static [Rule]) -> Kind {
    Kind { in_tc, here, rules, defaults: &[], remark: None }
}

/// Every discipline without classes but CAKE.
pub(crate) const KINDS: &[Kind] = &[
    Kind { defaults: &[("limit", "1000")], ..kind("pfifo", "fifo", &[Rule("limit", "limit", Count)]) },
    Kind { defaults: &[("limit", "1500000b")], ..kind("bfifo", "fifo", &[Rule("limit", "limit", Size)]) },
    kind("pfifo_fast", "pfifo-fast", &[]),
    kind("codel", "codel", CODEL),
    kind("fq_codel", "fq-codel", FQ_CODEL),
    kind("pie", "pie", PIE),
    kind("fq_pie", "fq-pie", FQ_PIE),
    Kind { defaults: &[("harddrop", "false")], ..kind("red", "red", RED) },
    kind("choke", "choke", CHOKE),
    Kind { defaults: &[("quantum", "1500b")], ..kind("sfq", "sfq", SFQ) },
    kind("sfb", "sfb", SFB),
    kind("hhf", "hhf", HHF),
    kind("dualpi2", "dualpi2", DUALPI2),
    Kind {
        remark: Some(
            "fq of Linux also paces the sockets of its own machine and holds packets until their departure time; here it has what it does to packets that it forwards",
        ),
        ..kind("fq", "fq", FQ)
    },
];

/// Options that mean nothing for a packet here, or say what is the case anyway.
const SILENT: &[&str] = &[
    "refcnt",
    "bands",
    "priomap",
    "split_gso",
    "no_split_gso",
    "split-gso",
    "no-split-gso",
    "Plog",
    "Scell_log",
    "offloaded",
    "buckets",
    "orphan_mask",
    "leaf",
    "stab",
    // Bounds of departure times, which forwarded packets do not have.
    "horizon",
    "horizon_drop",
    "horizon_cap",
    "offload_horizon",
];

/// Converts options in the notation of `tc` to parameters of a discipline, and notes each option without a counterpart.
pub(crate) fn parameters<'a>(
    kind: &Kind,
    options: impl Iterator<Item = (&'a String, &'a String)>,
    tell: &mut dyn FnMut(String),
) -> Table {
    let mut table = Table::new();
    table.insert("name".to_owned(), Value::String(kind.here.to_owned()));
    for (key, value) in kind.defaults {
        table.insert((*key).to_owned(), read(value));
    }
    if let Some(remark) = kind.remark {
        tell(remark.to_owned());
    }
    for (option, value) in options {
        match kind.rules.iter().find(|rule| rule.0 == option.as_str()) {
            Some(Rule(_, key, unit)) => match here(*unit, value) {
                Some(value) => drop(table.insert((*key).to_owned(), value)),
                None => tell(format!("{option} {value} of {} cannot be read, and is left out", kind.in_tc)),
            },
            None if SILENT.contains(&option.as_str()) => {}
            None => tell(format!("{} of {} has no counterpart, and is left out", said(option, value), kind.in_tc)),
        }
    }
    table
}

/// An option as it was written.
pub(crate) fn said(option: &str, value: &str) -> String {
    if value.is_empty() { option.to_owned() } else { format!("{option} {value}") }
}

fn read(text: &str) -> Value {
    match text.parse::<Table>().ok().or_else(|| format!("x = {text}").parse().ok()).and_then(|mut t| t.remove("x")) {
        Some(value) => value,
        None => Value::String(text.to_owned()),
    }
}

/// The value of an option as it is written here.
pub(crate) fn here(unit: Unit, text: &str) -> Option<Value> {
    let number = || text.trim_end_matches(['p', 'P']).parse::<f64>().ok();
    let whole = || text.trim_end_matches(['p', 'P']).parse::<i64>().ok();
    Some(match unit {
        Count => Value::Integer(whole()?),
        Size => Value::String(bytes(text)?.to_string()),
        Turn => Value::String(Bytes(bytes(text)?.0.saturating_sub(MAC_HEADER).max(1)).to_string()),
        Turns => {
            let size = bytes(text)?.0;
            Value::String(Bytes(size - size.div_ceil(FULL_PACKET + MAC_HEADER) * MAC_HEADER.min(size)).to_string())
        }
        Numbers => {
            let each = |one: &str| one.parse().map(Value::Integer).ok();
            Value::Array(text.split_whitespace().map(each).collect::<Option<_>>()?)
        }
        Rate => Value::String(rate(text)?.to_string()),
        Time => Value::String(time(text, 1_000)?.to_string()),
        Seconds => Value::String(time(text, 1_000_000_000)?.to_string()),
        Millis => Value::String(time(text, 1_000_000)?.to_string()),
        Number => Value::Float(text.parse().ok()?),
        Sixteenth => Value::Float(number()? / 16.0),
        Percent => Value::Float(text.trim_end_matches('%').parse::<f64>().ok()? / 100.0),
        PowerOfTwo => Value::Float((-number()?).exp2()),
        Word(value) => Value::Boolean(value),
        Choice(value) => Value::String(value.to_owned()),
    })
}

/// A size; a bare number counts bytes, and what follows a slash is the size of a cell of a table.
pub(crate) fn bytes(text: &str) -> Option<Bytes> {
    let text = text.split('/').next()?;
    text.parse().map(Bytes).ok().or_else(|| parse_bytes(text).ok())
}

/// A rate; a bare number counts bits per second.
pub(crate) fn rate(text: &str) -> Option<BitRate> {
    text.parse().map(BitRate::from_bps).ok().or_else(|| parse_rate(text).ok())
}

fn time(text: &str, bare: u64) -> Option<Duration> {
    let plain = |number: f64| {
        (number.is_finite() && number >= 0.0).then(|| Duration::from_nanos((number * bare as f64) as u64))
    };
    text.parse::<f64>().ok().and_then(plain).or_else(|| parse_duration(text).ok())
}

/// A parameter in the notation of `tc`; `None` for what it cannot say.
pub(crate) fn there(unit: Unit, value: &Value) -> Option<String> {
    let number = || value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    let text = || value.as_str();
    Some(match unit {
        Count => match value {
            Value::Integer(n) => n.to_string(),
            Value::Float(n) => n.to_string(),
            other => other.as_str()?.strip_suffix('p')?.to_owned(),
        },
        Size => format!("{}b", parse_bytes(text()?).ok()?.0),
        Turn => format!("{}", parse_bytes(text()?).ok()?.0 + MAC_HEADER),
        Turns => {
            let size = parse_bytes(text()?).ok()?.0;
            format!("{}", size + size.div_ceil(FULL_PACKET) * MAC_HEADER)
        }
        Numbers => value.as_array()?.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Rate => parse_rate(text()?).ok()?.to_string(),
        Time => parse_duration(text()?).ok()?.to_string(),
        Seconds => (parse_duration(text()?).ok()?.as_nanos() / 1_000_000_000).to_string(),
        Millis => (parse_duration(text()?).ok()?.as_nanos() / 1_000_000).to_string(),
        Number => number()?.to_string(),
        Sixteenth => (number()? * 16.0).to_string(),
        Percent => (number()? * 100.0).to_string(),
        // `tc` computes it from burst and avpkt.
        PowerOfTwo => return None,
        Word(wanted) => return (value.as_bool()? == wanted).then(String::new),
        Choice(wanted) => return (text()? == wanted).then(String::new),
    })
}
