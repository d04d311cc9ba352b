//! `OpenWrt`'s `/etc/config/sqm`: what the scripts of sqm-scripts make of it, in lines of `tc`.

use std::collections::BTreeMap;

use aqmkit_tc::{Listing, Script};

use crate::Note;

/// A section with its options and the line that it begins on.
struct Section {
    line: usize,
    options: BTreeMap<String, (usize, String)>,
}

impl Section {
    fn value(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(|(_, value)| value.as_str())
    }
}

/// Options that need no counterpart.
const SILENT: &[&str] = &[
    "enabled",
    "interface",
    "download",
    "upload",
    "script",
    "qdisc",
    "debug_logging",
    "verbosity",
    "qdisc_advanced",
    "qdisc_really_really_advanced",
    "linklayer_advanced",
    "squash_dscp",
    "squash_ingress",
    "ingress_ecn",
    "egress_ecn",
    "linklayer",
    "overhead",
    "tcMPU",
    "tcMTU",
    "tcTSIZE",
    "ilimit",
    "elimit",
    "itarget",
    "etarget",
    "iqdisc_opts",
    "eqdisc_opts",
    "linklayer_adaptation_mechanism",
    "use_mq",
];

pub(crate) fn read(text: &str, notes: &mut Vec<Note>) -> Listing {
    let mut script = Script::default();
    for section in sections(text, notes) {
        let mut tell = |why: String| notes.push(Note::new(Some(section.line), why));
        if section.value("enabled").is_some_and(|on| !matches!(on, "1" | "on" | "true" | "yes")) {
            tell("this queue is not enabled, and is left out: set option enabled '1'".to_owned());
            continue;
        }
        for (key, (line, value)) in section.options.iter().filter(|(key, _)| !SILENT.contains(&key.as_str())) {
            notes.push(Note::new(Some(*line), format!("option {key} '{value}' has no counterpart, and is left out")));
        }
        for command in commands(&section, notes) {
            let words: Vec<&str> = command.split_whitespace().collect();
            if let Err(why) = script.command(&words, section.line, None) {
                notes.push(Note::new(Some(section.line), why));
            }
        }
    }
    script.listing()
}

fn sections(text: &str, notes: &mut Vec<Note>) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let rest = |word: &str| line.strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t'])).map(str::trim);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if rest("config").is_some() {
            sections.push(Section { line: index + 1, options: BTreeMap::new() });
            continue;
        }
        let option = rest("option").and_then(|rest| rest.split_once([' ', '\t']));
        match (option, sections.last_mut()) {
            (Some((key, value)), Some(section)) => {
                let value = value.trim().trim_matches(['\'', '"']).to_owned();
                section.options.insert(key.trim_matches(['\'', '"']).to_owned(), (index + 1, value));
            }
            _ => notes
                .push(Note::new(Some(index + 1), format!("{line:?} is neither config nor option, and is left out"))),
        }
    }
    sections
}

/// The lines of `tc` of both directions.
fn commands(section: &Section, notes: &mut Vec<Note>) -> Vec<String> {
    let device = section.value("interface").unwrap_or("eth0");
    let script = section.value("script").unwrap_or("simple.qos");
    let mut lines = Vec::new();
    for (key, queue, down) in [("upload", device.to_owned(), false), ("download", format!("ifb4{device}"), true)] {
        let Some((line, text)) = section.options.get(key) else { continue };
        let mut tell = |why: String| notes.push(Note::new(Some(*line), why));
        match text.parse::<u64>() {
            Ok(0) => {}
            Ok(rate) => lines.extend(direction(script, &queue, rate, down, section, &mut tell)),
            Err(_) => tell(format!("option {key} {text:?} is not a rate: it must be a number in kbit/s")),
        }
    }
    lines
}

fn direction(
    script: &str,
    device: &str,
    rate: u64,
    down: bool,
    section: &Section,
    tell: &mut dyn FnMut(String),
) -> Vec<String> {
    let advanced = section.value("qdisc_advanced") == Some("1");
    let expert = section.value("qdisc_really_really_advanced") == Some("1");
    let off = |key: &str| advanced && section.value(key) == Some("0");
    let side = |down_key, up_key| expert.then(|| section.value(if down { down_key } else { up_key })).flatten();
    let more = side("iqdisc_opts", "eqdisc_opts").unwrap_or_default();
    let one_tier = down && !off("squash_ingress");
    let mut qdisc = section.value("qdisc").unwrap_or("fq_codel");
    let cake = qdisc.starts_with("cake") || script.contains("cake");
    if cake {
        let tins = if script.starts_with("piece_of_cake") || one_tier { "besteffort" } else { "diffserv3" };
        return vec![format!(
            "qdisc add dev {device} root cake bandwidth {rate}kbit {tins} {} {more}",
            framing(section)
        )];
    }
    if !matches!(qdisc, "fq_codel" | "codel" | "pie" | "sfq") {
        tell(format!("qdisc {qdisc} is not simulated in this script; fq_codel takes its place"));
        qdisc = "fq_codel";
    }
    let ecn = section.value(if down { "ingress_ecn" } else { "egress_ecn" }).filter(|_| advanced).unwrap_or("ECN");
    let limit = side("ilimit", "elimit").filter(|limit| limit.parse::<u64>().is_ok()).unwrap_or("1001");
    let target = side("itarget", "etarget").filter(|target| !target.eq_ignore_ascii_case("auto") && !target.is_empty());
    let mut queue = format!("{qdisc} limit {limit}");
    if qdisc.contains("codel") {
        queue.push_str(if ecn.eq_ignore_ascii_case("ecn") { " ecn" } else { " noecn" });
        queue.extend(target.map(|target| format!(" target {target}")));
        if target.is_none() && rate < SLOW {
            tell(format!(
                "at {rate} kbit/s sqm-scripts lengthen target and interval of {qdisc}; they are 5 ms and 100 ms here: give itarget and etarget"
            ));
        }
    }
    if section.value("linklayer").is_some_and(|layer| layer != "none") {
        tell("linklayer and overhead: shapers count IP packets here; give the framing to the link (overhead, linklayer), and lower the rates by its share".to_owned());
    }
    shaper(script, device, rate, one_tier, &format!("{queue} {more}"), tell)
}

/// Below this rate in kbit/s, one and a half full packets take longer than 5 ms.
const SLOW: u64 = 3634;

/// `simple.qos` has three tiers for packets that leave, and one for those that arrive unless told otherwise; the others have one.
fn shaper(
    script: &str,
    device: &str,
    rate: u64,
    one_tier: bool,
    queue: &str,
    tell: &mut dyn FnMut(String),
) -> Vec<String> {
    let burst = (rate / 8).max(1514);
    let one = vec![
        format!("qdisc add dev {device} root handle 1: htb default 10"),
        format!(
            "class add dev {device} parent 1: classid 1:1 htb rate {rate}kbit ceil {rate}kbit burst {burst}b cburst {burst}b"
        ),
        format!(
            "class add dev {device} parent 1:1 classid 1:10 htb rate {rate}kbit ceil {rate}kbit burst {burst}b cburst {burst}b quantum {}",
            burst.min(200_000)
        ),
        format!("qdisc add dev {device} parent 1:10 handle 110: {queue}"),
    ];
    match script {
        "simplest_tbf.qos" => vec![
            format!("qdisc add dev {device} root handle 1: tbf rate {rate}kbit burst {burst}b latency 300ms"),
            format!("qdisc add dev {device} parent 1:1 handle 110: {queue}"),
        ],
        "simplest.qos" => one,
        "simple.qos" if one_tier => one,
        "simple.qos" => three_tiers(device, rate, burst, queue),
        other => {
            tell(format!(
                "script {other} is not known; simplest.qos takes its place. Known are simple.qos, simplest.qos, simplest_tbf.qos, piece_of_cake.qos and layer_cake.qos"
            ));
            one
        }
    }
}

fn three_tiers(device: &str, rate: u64, burst: u64, queue: &str) -> Vec<String> {
    let quantum = burst.min(200_000);
    let bursts = format!("burst {burst}b cburst {burst}b");
    let class = |minor: &str, own: u64, ceil: u64, prio: u64| {
        let rates = format!("rate {own}kbit ceil {ceil}kbit");
        format!(
            "class add dev {device} parent 1:1 classid 1:{minor} htb {rates} {bursts} prio {prio} quantum {quantum}"
        )
    };
    let shared = rate.saturating_sub(16).max(8);
    let mut lines = vec![
        format!("qdisc add dev {device} root handle 1: htb default 12"),
        format!("class add dev {device} parent 1: classid 1:1 htb rate {rate}kbit ceil {rate}kbit {bursts}"),
        class("11", 128.min(rate), (rate / 3).max(8), 1),
        class("12", (rate / 6).max(8), shared, 2),
        class("13", (rate / 6).max(8), shared, 3),
    ];
    lines.extend(
        ["11", "12", "13"].map(|minor| format!("qdisc add dev {device} parent 1:{minor} handle {minor}0: {queue}")),
    );
    // Its marks come from these codepoints, and 0x10 is the old "minimize delay".
    let marks = [("0xc0", "11"), ("0xb8", "11"), ("0x90", "11"), ("0x10", "11"), ("0x20", "13")];
    lines.extend(marks.iter().enumerate().map(|(i, (tos, minor))| {
        format!(
            "filter add dev {device} parent 1: protocol ip prio {} u32 match ip dsfield {tos} 0xfc flowid 1:{minor}",
            i + 1
        )
    }));
    lines
}

fn framing(section: &Section) -> String {
    let mut words = Vec::new();
    match section.value("linklayer") {
        Some("atm" | "adsl") => words.push("atm".to_owned()),
        Some("ethernet") => words.push("noatm".to_owned()),
        _ => return String::new(),
    }
    words.extend(
        section.value("overhead").filter(|bytes| bytes.parse::<i64>().is_ok()).map(|bytes| format!("overhead {bytes}")),
    );
    words.extend(
        section
            .value("tcMPU")
            .filter(|bytes| bytes.parse::<u64>().is_ok_and(|n| n > 0))
            .map(|bytes| format!("mpu {bytes}")),
    );
    words.join(" ")
}
