//! systemd's `.network` files: the sections of queue disciplines, as systemd.network(5) has them.

use aqmkit_tc::{Listing, Script};

use crate::Note;

/// How a value is written in a line of `tc`.
#[derive(Clone, Copy)]
enum As {
    Plain,
    /// `10M`: in powers of 1000, bits per second.
    Rate,
    /// `4M`: in powers of 1024.
    Size,
    /// `5ms`; a bare number counts seconds.
    Time,
    /// The word stands for `yes`.
    Flag(&'static str),
    /// A word of a list stands for another.
    Words(&'static [(&'static str, &'static str)]),
}

/// A key, the word before its value in `tc`, and its notation.
struct Key(&'static str, &'static str, As);

/// A section: its name, its kind in `tc`, and its keys.
struct Kind(&'static str, &'static str, &'static [Key]);

use As::{Flag, Plain, Rate, Size, Time, Words};

const CODEL: &[Key] = &[
    Key("PacketLimit", "limit", Plain),
    Key("MemoryLimitBytes", "memory_limit", Size),
    Key("Flows", "flows", Plain),
    Key("QuantumBytes", "quantum", Size),
    Key("TargetSec", "target", Time),
    Key("IntervalSec", "interval", Time),
    Key("CEThresholdSec", "ce_threshold", Time),
    Key("ECN", "", Flag("ecn")),
];

const CAKE: &[Key] = &[
    Key("Bandwidth", "bandwidth", Rate),
    Key("OverheadBytes", "overhead", Plain),
    Key("MPUBytes", "mpu", Size),
    Key("RTTSec", "rtt", Time),
    Key("CompensationMode", "", Words(&[("none", "noatm"), ("atm", "atm"), ("ptm", "ptm")])),
    Key("UseRawPacketSize", "", Flag("raw")),
    Key("AutoRateIngress", "", Flag("autorate-ingress")),
    Key(
        "FlowIsolationMode",
        "",
        Words(&[
            ("none", "flowblind"),
            ("src-host", "srchost"),
            ("dst-host", "dsthost"),
            ("hosts", "hosts"),
            ("flows", "flows"),
            ("dual-src-host", "dual-srchost"),
            ("dual-dst-host", "dual-dsthost"),
            ("triple", "triple-isolate"),
        ]),
    ),
    Key("NAT", "", Flag("nat")),
    Key(
        "PriorityQueueingPreset",
        "",
        Words(&[
            ("besteffort", "besteffort"),
            ("precedence", "precedence"),
            ("diffserv8", "diffserv8"),
            ("diffserv4", "diffserv4"),
            ("diffserv3", "diffserv3"),
        ]),
    ),
    Key("FirewallMark", "fwmark", Plain),
    Key("Wash", "", Flag("wash")),
    Key("SplitGSO", "", Flag("split-gso")),
    Key(
        "AckFilter",
        "",
        Words(&[("yes", "ack-filter"), ("no", "no-ack-filter"), ("aggressive", "ack-filter-aggressive")]),
    ),
];

const KINDS: &[Kind] = &[
    Kind("CAKE", "cake", CAKE),
    Kind("FairQueueingControlledDelay", "fq_codel", CODEL),
    Kind("ControlledDelay", "codel", CODEL),
    Kind(
        "FairQueueing",
        "fq",
        &[
            Key("PacketLimit", "limit", Plain),
            Key("FlowLimit", "flow_limit", Plain),
            Key("QuantumBytes", "quantum", Size),
            Key("InitialQuantumBytes", "initial_quantum", Size),
            Key("MaximumRate", "maxrate", Rate),
            Key("Pacing", "", Words(&[("yes", "pacing"), ("no", "nopacing")])),
            Key("CEThresholdSec", "ce_threshold", Time),
            Key("OrphanMask", "orphan_mask", Plain),
            Key("Buckets", "buckets", Plain),
        ],
    ),
    Kind("PFIFO", "pfifo", &[Key("PacketLimit", "limit", Plain)]),
    Kind("BFIFO", "bfifo", &[Key("LimitBytes", "limit", Size)]),
    Kind("PFIFOFast", "pfifo_fast", &[]),
    Kind("PIE", "pie", &[Key("PacketLimit", "limit", Plain)]),
    Kind("FlowQueuePIE", "fq_pie", &[Key("PacketLimit", "limit", Plain)]),
    Kind("StochasticFairnessQueueing", "sfq", &[Key("PerturbPeriodSec", "perturb", Plain)]),
    Kind("HeavyHitterFilter", "hhf", &[Key("PacketLimit", "limit", Plain)]),
    Kind(
        "TokenBucketFilter",
        "tbf",
        &[
            Key("Rate", "rate", Rate),
            Key("BurstBytes", "burst", Size),
            Key("LatencySec", "latency", Time),
            Key("LimitBytes", "limit", Size),
            Key("PeakRate", "peakrate", Rate),
            Key("MTUBytes", "mtu", Size),
        ],
    ),
    Kind("HierarchyTokenBucket", "htb", &[Key("DefaultClass", "default", Plain), Key("RateToQuantum", "r2q", Plain)]),
    Kind(
        "EnhancedTransmissionSelection",
        "ets",
        &[
            Key("Bands", "bands", Plain),
            Key("StrictBands", "strict", Plain),
            Key("QuantumBytes", "quanta", Plain),
            Key("PriorityMap", "priomap", Plain),
        ],
    ),
    Kind(
        "NetworkEmulator",
        "netem",
        &[Key("DelaySec", "delay", Time), Key("PacketLimit", "limit", Plain), Key("LossRate", "loss", Plain)],
    ),
];

const CLASS: &[Key] = &[
    Key("Rate", "rate", Rate),
    Key("CeilRate", "ceil", Rate),
    Key("BufferBytes", "burst", Size),
    Key("CeilBufferBytes", "cburst", Size),
    Key("Priority", "prio", Plain),
    Key("QuantumBytes", "quantum", Size),
];

struct Section {
    name: String,
    line: usize,
    keys: Vec<(usize, String, String)>,
}

pub(crate) fn read(text: &str, notes: &mut Vec<Note>) -> Listing {
    let mut script = Script::default();
    let sections = sections(text);
    let device = sections
        .iter()
        .find(|section| section.name == "Match")
        .and_then(|section| value(section, "Name"))
        .unwrap_or("eth0");
    for section in &sections {
        let command = match KINDS.iter().find(|kind| kind.0 == section.name) {
            Some(Kind(_, kind, keys)) => queue(section, kind, keys, device, notes),
            None if section.name == "HierarchyTokenBucketClass" => class(section, device, notes),
            None if queues(&section.name) => {
                let why = format!("[{}] has no counterpart, and is left out", section.name);
                notes.push(Note::new(Some(section.line), why));
                continue;
            }
            None => continue,
        };
        let words: Vec<&str> = command.split_whitespace().collect();
        if let Err(why) = script.command(&words, section.line, None) {
            notes.push(Note::new(Some(section.line), why));
        }
    }
    script.listing()
}

/// Sections of queue disciplines that are not read.
fn queues(name: &str) -> bool {
    [
        "QDisc",
        "QFQ",
        "DeficitRound",
        "GenericRandom",
        "StochasticFairBlue",
        "BandMultiQueueing",
        "TrivialLink",
        "QuickFair",
        "ClassfulMulti",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

fn value<'a>(section: &'a Section, key: &str) -> Option<&'a str> {
    section.keys.iter().rev().find(|(_, name, _)| name == key).map(|(_, _, value)| value.as_str())
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push(Section { name: name.to_owned(), line: index + 1, keys: Vec::new() });
        } else if let (false, Some((key, value)), Some(section)) =
            (line.starts_with(['#', ';']), line.split_once('='), sections.last_mut())
        {
            section.keys.push((index + 1, key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    sections
}

/// `root`, or a class: `Parent=2:30`.
fn place(section: &Section) -> String {
    match value(section, "Parent") {
        None | Some("root") => "root".to_owned(),
        Some(class) => format!("parent {class}"),
    }
}

fn queue(section: &Section, kind: &str, keys: &[Key], device: &str, notes: &mut Vec<Note>) -> String {
    // A bare handle is hexadecimal and has no colon.
    let handle =
        value(section, "Handle").map(|handle| format!("handle {}:", handle.trim_end_matches(':'))).unwrap_or_default();
    format!("qdisc add dev {device} {} {handle} {kind} {}", place(section), words(section, keys, notes))
}

fn class(section: &Section, device: &str, notes: &mut Vec<Note>) -> String {
    let id = value(section, "ClassId").unwrap_or_default();
    let major = id.split(':').next().unwrap_or_default();
    let parent = match value(section, "Parent") {
        None | Some("root") => format!("{major}:"),
        Some(class) => class.to_owned(),
    };
    format!("class add dev {device} parent {parent} classid {id} htb {}", words(section, CLASS, notes))
}

fn words(section: &Section, keys: &[Key], notes: &mut Vec<Note>) -> String {
    let mut words = Vec::new();
    for (line, name, value) in &section.keys {
        if matches!(name.as_str(), "Parent" | "Handle" | "ClassId") || value.is_empty() {
            continue;
        }
        let Some(Key(_, word, notation)) = keys.iter().find(|key| key.0 == name) else {
            let text = format!("{name}={value} of [{}] has no counterpart, and is left out", section.name);
            notes.push(Note::new(Some(*line), text));
            continue;
        };
        match written(*notation, value) {
            Some(value) => words.push(format!("{word} {value}")),
            None => {
                let text = format!("{name}={value} of [{}] cannot be read, and is left out", section.name);
                notes.push(Note::new(Some(*line), text));
            }
        }
    }
    words.join(" ")
}

fn written(notation: As, value: &str) -> Option<String> {
    let scaled = |thousand: f64| {
        let (digits, factor) = match value.chars().last()? {
            'K' | 'k' => (&value[..value.len() - 1], thousand),
            'M' => (&value[..value.len() - 1], thousand.powi(2)),
            'G' => (&value[..value.len() - 1], thousand.powi(3)),
            'T' => (&value[..value.len() - 1], thousand.powi(4)),
            _ => (value, 1.0),
        };
        let number: f64 = digits.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then(|| format!("{}", (number * factor) as u64))
    };
    match notation {
        Plain => Some(value.to_owned()),
        Rate => scaled(1000.0).map(|bits| format!("{bits}bit")),
        Size => scaled(1024.0),
        Time => Some(if value.parse::<f64>().is_ok() { format!("{value}s") } else { value.replace(' ', "") }),
        Flag(word) => match value.to_ascii_lowercase().as_str() {
            "yes" | "true" | "1" | "on" => Some(word.to_owned()),
            "no" | "false" | "0" | "off" => Some(if word == "ecn" { "noecn".to_owned() } else { String::new() }),
            _ => None,
        },
        Words(list) => list.iter().find(|(name, _)| *name == value).map(|(_, word)| (*word).to_owned()),
    }
}
