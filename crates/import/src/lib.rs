//! Configurations of queues that routers have, as experiments; and queues of experiments as lines of `tc`.
//!
//! [`import`] reads a listing of `tc` (text or JSON), a script of `tc` lines, `/etc/config/sqm`, a `.network` file of systemd, or the files of `LibreQoS`. All but listings are
//! turned into lines of `tc` first, so that there is one way from disciplines and classes to a tree (`tree.rs`). What has no counterpart is a [`Note`] with its line.
//! [`export`] goes back; importing what it wrote gives the same tree.

#![doc = include_str!("../README.md")]

mod cake;
mod experiment;
mod export;
mod filters;
mod id;
mod kinds;
mod libreqos;
mod networkd;
mod shell;
mod sqm;
mod tree;

use std::collections::BTreeMap;

use aqmkit_base::{BitRate, Duration};
use aqmkit_tc::{Listing, Parent, TcError};
use toml::Table;

pub use export::{Exported, export};

/// A remark on something that has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The line of the text, from 1; absent where it has none, as in JSON.
    pub line: Option<usize>,
    /// Which of several texts it is in, from 0.
    pub part: usize,
    /// The remark, with what would help.
    pub text: String,
}

impl Note {
    fn new(line: Option<usize>, text: impl Into<String>) -> Self {
        Note { line, part: 0, text: text.into() }
    }
}

/// A class with packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its name, which is also the name of the class of traffic.
    pub name: String,
    /// Whether its packets must not wait, as those of calls.
    pub urgent: bool,
    /// Rules of `--class` that find its packets on a live link.
    pub rules: Vec<String>,
}

/// The queue of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// The device.
    pub device: String,
    /// Whether packets that arrive go through it.
    pub down: bool,
    /// The queue, as `aqm` of a link has it.
    pub aqm: Table,
    /// The rate to which it shapes.
    pub rate: Option<BitRate>,
    /// Keys of the link.
    pub wire: Table,
    /// The classes with packets.
    pub leaves: Vec<Leaf>,
}

impl Direction {
    fn way(&self) -> &'static str {
        if self.down { "down" } else { "up" }
    }
}

/// Facts that the user adds to the source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The device to be read, where the source has several.
    pub device: Option<String>,
    /// The rate of the link: of the way down, or the only one.
    pub rate: Option<BitRate>,
    /// The rate of the link of the way up.
    pub up: Option<BitRate>,
    /// The usual round-trip time.
    pub rtt: Option<Duration>,
    /// A site of `LibreQoS`, to be read alone.
    pub site: Option<String>,
}

/// An experiment with the queues of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The experiment.
    pub experiment: Table,
    /// The queues in it.
    pub directions: Vec<Direction>,
    /// Settings without a counterpart in an experiment.
    pub notes: Vec<Note>,
}

/// Why a source cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is in none of the forms.
    #[error(
        "this is no configuration of queues: give the output of `tc qdisc show`, a script with lines of tc, /etc/config/sqm, a .network file of systemd, or LibreQoS's queuingStructure.json or ShapedDevices.csv"
    )]
    Unknown,
    /// A listing that cannot be read.
    #[error(transparent)]
    Tc(#[from] TcError),
    /// JSON that cannot be parsed.
    #[error("this is not JSON: {0}")]
    Json(String),
    /// There is no queue on a device.
    #[error("no device has a queue in it: {0}")]
    NoQueue(String),
    /// Several devices have queues.
    #[error("it has the queues of several devices: choose one with --dev: {0}")]
    Devices(String),
    /// The link has no rate.
    #[error("nothing in it limits the rate of {device}: give the rate of its link, for example --rate 100mbit")]
    Rate {
        /// The device.
        device: String,
    },
    /// There is no such site.
    #[error("there is no site {name:?}; there are {known}")]
    Site {
        /// The name asked for.
        name: String,
        /// The names of all sites.
        known: String,
    },
    /// Files of `LibreQoS` without sites and circuits.
    #[error(
        "there are no circuits in it: a queuingStructure.json has sites with `downloadBandwidthMbps`, a ShapedDevices.csv a line for each circuit"
    )]
    NoCircuits,
    /// More classes than a tree holds.
    #[error("{device} has {count} classes, and a tree has at most {MAX_CLASSES}: choose a part of it{more}")]
    Classes {
        /// The device.
        device: String,
        /// The number of its classes.
        count: usize,
        /// How.
        more: &'static str,
    },
}

/// The most classes of a discipline.
pub const MAX_CLASSES: usize = 65_535;

/// With more leaves than these, clients take the place of classes of traffic, of which there are at most 255.
pub(crate) const MOST_BY_CLASS: usize = 200;

/// Reads texts of one machine: listings may come in several parts, as `LibreQoS`'s files do. `source` names them in the title.
///
/// # Errors
/// When they are no configuration of queues, or need something that the user must add.
pub fn import(source: &str, texts: &[&str], known: &Known) -> Result<Imported, ImportError> {
    let mut notes = Vec::new();
    let listing = listing(texts, known, &mut notes)?;
    let mut imported = of_listing(source, &listing, known, notes)?;
    let starts: Vec<usize> = starts(texts);
    for note in &mut imported.notes {
        let Some(line) = note.line else { continue };
        note.part = starts.iter().rposition(|start| *start < line).unwrap_or(0);
        note.line = Some(line - starts[note.part]);
    }
    imported.notes.sort_by_key(|note| (note.line.is_none(), note.part, note.line));
    Ok(imported)
}

/// How many lines precede each text. While they are read, lines are counted through all of them.
fn starts(texts: &[&str]) -> Vec<usize> {
    let before = |at: usize| texts[..at].iter().map(|text| text.lines().count()).sum();
    (0..texts.len()).map(before).collect()
}

/// As [`import`], of what `tc` lists.
///
/// # Errors
/// As [`import`].
pub fn import_listing(source: &str, listing: &Listing, known: &Known) -> Result<Imported, ImportError> {
    of_listing(source, listing, known, Vec::new())
}

fn of_listing(source: &str, listing: &Listing, known: &Known, mut notes: Vec<Note>) -> Result<Imported, ImportError> {
    let mut directions = Vec::new();
    for (device, down) in devices(listing, known)? {
        directions.push(direction(listing, device, down, &mut notes)?);
    }
    directions.sort_by_key(|direction| !direction.down);
    let mut links = Vec::new();
    for direction in &directions {
        let given = if direction.down || directions.len() == 1 { known.rate } else { known.up.or(known.rate) };
        let rate = experiment::link_rate(direction, given)
            .ok_or_else(|| ImportError::Rate { device: direction.device.clone() })?;
        if let (None, Some(shaped)) = (given, direction.rate) {
            let text = format!(
                "the link of {} is taken to be faster ({rate}) than its shaper ({shaped}): where it is not, give its rate with --rate",
                direction.device
            );
            notes.push(Note::new(None, text));
        }
        links.push(rate);
    }
    let experiment = experiment::experiment(source, &directions, &links, known.rtt);
    Ok(Imported { experiment, directions, notes })
}

/// The listing that all texts together make.
fn listing(texts: &[&str], known: &Known, notes: &mut Vec<Note>) -> Result<Listing, ImportError> {
    let (mut network, mut subscribers) = (None, None);
    let mut all = Listing::default();
    for (text, start) in texts.iter().zip(starts(texts)) {
        if let Some(value) = json(text)? {
            if libreqos::is_network(&value) {
                network = Some(value);
                continue;
            }
        } else if libreqos::is_devices(text) {
            subscribers = Some((*text, start));
            continue;
        }
        let before = notes.len();
        let mut part = form(text, notes)?;
        let lines = part.qdiscs.iter_mut().map(|qdisc| &mut qdisc.line);
        let lines = lines.chain(part.classes.iter_mut().map(|class| &mut class.line));
        let lines = lines.chain(part.filters.iter_mut().map(|filter| &mut filter.line));
        let lines = lines.chain(notes[before..].iter_mut().map(|note| &mut note.line));
        lines.flatten().for_each(|line| *line += start);
        all.qdiscs.extend(part.qdiscs);
        all.classes.extend(part.classes);
        all.filters.extend(part.filters);
    }
    if network.is_some() || subscribers.is_some() {
        let (text, start) = subscribers.unzip();
        let before = notes.len();
        let mut listing = libreqos::read(network.as_ref(), text, known.site.as_deref(), notes)?;
        notes[before..].iter_mut().filter_map(|note| note.line.as_mut()).for_each(|line| *line += start.unwrap_or(0));
        // Its lines are made, not read.
        listing.qdiscs.iter_mut().for_each(|qdisc| qdisc.line = None);
        listing.classes.iter_mut().for_each(|class| class.line = None);
        return Ok(listing);
    }
    Ok(all)
}

/// An object of JSON; a listing of `tc` is an array.
fn json(text: &str) -> Result<Option<serde_json::Value>, ImportError> {
    if !text.trim_start().starts_with('{') {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(|e| ImportError::Json(e.to_string()))
}

/// Reads the form that the text has.
fn form(text: &str, notes: &mut Vec<Note>) -> Result<Listing, ImportError> {
    let begins =
        |starts: &[&str]| text.lines().any(|line| starts.iter().any(|start| line.trim_start().starts_with(start)));
    if text.trim_start().starts_with('[') && text.contains('{') {
        return Ok(aqmkit_tc::read(text)?);
    }
    if begins(&["config queue", "option interface", "option script"]) {
        return Ok(sqm::read(text, notes));
    }
    if begins(&["[Match]", "[Network]", "[CAKE]", "[FairQueueing", "[TokenBucket", "[HierarchyTokenBucket"]) {
        return Ok(networkd::read(text, notes));
    }
    let commands = ["add", "replace", "change"];
    let is_script = text.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(2).any(|pair| matches!(pair[0], "qdisc" | "class" | "filter") && commands.contains(&pair[1]))
    });
    if is_script {
        return Ok(shell::read(text, notes));
    }
    if begins(&["filter "]) && !begins(&["qdisc ", "class "]) {
        // A listing of filters alone, which belongs to one of disciplines.
        let with_one = format!("{text}\nqdisc noqueue 0: dev lo root\n");
        return Ok(Listing { qdiscs: Vec::new(), ..aqmkit_tc::read(&with_one)? });
    }
    match aqmkit_tc::read(text) {
        Err(TcError::Nothing) => Err(ImportError::Unknown),
        other => Ok(other?),
    }
}

/// The devices to be read, with whether packets that arrive go through them.
fn devices<'a>(listing: &'a Listing, known: &Known) -> Result<Vec<(Option<&'a str>, bool)>, ImportError> {
    let redirected = |device: &str| listing.filters.iter().any(|filter| filter.redirect.as_deref() == Some(device));
    let down = |device: &str| device.starts_with("ifb") || device == libreqos::DEVICES[0] || redirected(device);
    let mut found: Vec<(Option<&str>, bool, bool)> = Vec::new();
    for qdisc in listing.qdiscs.iter().filter(|qdisc| qdisc.parent == Parent::Root && qdisc.kind != "noqueue") {
        let device = qdisc.device.as_deref();
        if !found.iter().any(|(other, ..)| *other == device) {
            found.push((device, device.is_some_and(down), qdisc.handle == "0:"));
        }
    }
    let names = || found.iter().filter_map(|(device, ..)| *device).collect::<Vec<_>>().join(", ");
    if let Some(wanted) = &known.device {
        let of_it = |(device, ..): &&(Option<&str>, bool, bool)| device.is_none() || *device == Some(wanted.as_str());
        let chosen: Vec<_> = found.iter().filter(of_it).map(|(device, arriving, _)| (*device, *arriving)).collect();
        if chosen.is_empty() {
            return Err(ImportError::NoQueue(format!("--dev {wanted} is not among {}", names())));
        }
        return Ok(chosen);
    }
    // Those that the kernel attached say little where somebody has attached others.
    if found.iter().any(|(.., kernels)| !kernels) {
        found.retain(|(.., kernels)| !kernels);
    }
    let left = found.iter().filter_map(|(device, ..)| *device).collect::<Vec<_>>().join(", ");
    match found.as_slice() {
        [] => Err(ImportError::NoQueue("noqueue and ingress keep no packets".to_owned())),
        [(device, arriving, _)] => Ok(vec![(*device, *arriving)]),
        [(first, one, _), (second, other, _)] if one != other => Ok(vec![(*first, *one), (*second, *other)]),
        _ => Err(ImportError::Devices(left)),
    }
}

fn direction(
    listing: &Listing,
    device: Option<&str>,
    down: bool,
    notes: &mut Vec<Note>,
) -> Result<Direction, ImportError> {
    let mut builder = tree::Builder::new(listing, device);
    policed(listing, device, notes);
    let name = device.unwrap_or("the device").to_owned();
    let mut queue = builder.root().ok_or_else(|| ImportError::NoQueue(name.clone()))?;
    let count = queue.table.get("class").and_then(toml::Value::as_array).map_or(0, Vec::len);
    if count > MAX_CLASSES {
        let more = if libreqos::DEVICES.contains(&name.as_str()) { " with --site NAME" } else { "" };
        return Err(ImportError::Classes { device: name, count, more });
    }
    if builder.leaves.len() > MOST_BY_CLASS {
        let n = builder.leaves.len();
        by_client(&mut queue.table, &builder.leaves);
        let text = format!(
            "{name} has {n} classes with packets: client 0 of the simulation is in the first, client {} in the last, and users are at random clients",
            n - 1
        );
        notes.push(Note::new(None, text));
    }
    for note in builder.notes {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(Direction { device: name, down, aqm: queue.table, rate: queue.rate, wire: builder.wire, leaves: builder.leaves })
}

/// Gives each leaf the client of its number.
fn by_client(table: &mut Table, leaves: &[Leaf]) {
    let numbers: BTreeMap<&str, usize> = leaves.iter().enumerate().map(|(i, leaf)| (leaf.name.as_str(), i)).collect();
    let classes = table.get_mut("class").and_then(toml::Value::as_array_mut).into_iter().flatten();
    for class in classes.filter_map(toml::Value::as_table_mut) {
        let number = class.get("name").and_then(toml::Value::as_str).and_then(|name| numbers.get(name));
        if let (Some(number), false) = (number, class.contains_key("match")) {
            class.insert("match".to_owned(), toml::Value::String(format!("client {number}")));
        }
    }
}

/// Says which packets that arrive are dropped by a policer.
fn policed(listing: &Listing, device: Option<&str>, notes: &mut Vec<Note>) {
    let police = aqmkit_tc::Condition::Other("police".to_owned());
    for filter in &listing.filters {
        let here = filter.device.is_none() || device.is_none() || filter.device.as_deref() == device;
        if here && filter.conditions.contains(&police) {
            let text = "police is not simulated: the packets that this filter takes pass, whatever their rate";
            notes.push(Note::new(filter.line, text));
        }
    }
}
