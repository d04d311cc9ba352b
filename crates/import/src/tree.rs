//! The tree of a device: disciplines in classes of disciplines.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_base::BitRate;
use aqmkit_tc::{Class, Listing, Parent, Qdisc};
use toml::{Table, Value};

use crate::filters::Filters;
use crate::kinds::{self, Unit, said};
use crate::{Leaf, Note, cake, id};

/// Below this many levels a listing is no tree.
const DEPTH: usize = 16;

/// Makes the tables of one device.
pub(crate) struct Builder<'a> {
    listing: &'a Listing,
    device: Option<&'a str>,
    filters: Filters<'a>,
    /// The discipline below each class.
    below: BTreeMap<String, &'a Qdisc>,
    depth: usize,
    pub(crate) notes: Vec<Note>,
    pub(crate) leaves: Vec<Leaf>,
    /// Keys of the link: what `netem` does to packets.
    pub(crate) wire: Table,
}

/// A queue with the rate that it shapes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Queue {
    pub(crate) table: Table,
    pub(crate) rate: Option<BitRate>,
}

#[allow(clippy::needless_pass_by_value, reason = "most callers make what they pass")]
fn text(shown: impl ToString) -> Value {
    Value::String(shown.to_string())
}

fn fifo(limit: i64) -> Table {
    Table::from_iter([("name".to_owned(), text("fifo")), ("limit".to_owned(), Value::Integer(limit))])
}

/// The most bands of `ets`.
const MOST_BANDS: usize = 16;

/// Linux's length of the queue of an Ethernet interface.
const TX_QUEUE_LEN: i64 = 1000;

impl<'a> Builder<'a> {
    pub(crate) fn new(listing: &'a Listing, device: Option<&'a str>) -> Self {
        let filters = Filters::of(listing, device);
        let (notes, leaves, wire) = (Vec::new(), Vec::new(), Table::new());
        let below = BTreeMap::new();
        let mut builder = Builder { listing, device, filters, below, depth: 0, notes, leaves, wire };
        for qdisc in &listing.qdiscs {
            if let (Parent::Class(class), true) = (&qdisc.parent, builder.here(qdisc.device.as_deref())) {
                builder.below.entry(id::plain(class)).or_insert(qdisc);
            }
        }
        builder
    }

    pub(crate) fn tell(&mut self, line: Option<usize>, text: impl Into<String>) {
        self.notes.push(Note::new(line, text));
    }

    fn here(&self, device: Option<&str>) -> bool {
        device.is_none() || self.device.is_none() || device == self.device
    }

    /// The discipline at a place; `None` where there is none.
    fn at(&self, place: impl Fn(&Parent) -> bool) -> Option<&'a Qdisc> {
        self.listing.qdiscs.iter().find(|qdisc| self.here(qdisc.device.as_deref()) && place(&qdisc.parent))
    }

    /// The queue of the device.
    pub(crate) fn root(&mut self) -> Option<Queue> {
        let root = self.at(|parent| *parent == Parent::Root)?;
        Some(self.queue(root, true))
    }

    /// The discipline below a class.
    fn below(&self, class: &str) -> Option<&'a Qdisc> {
        self.below.get(&id::plain(class)).copied()
    }

    fn queue(&mut self, qdisc: &'a Qdisc, outermost: bool) -> Queue {
        self.depth += 1;
        let queue = if self.depth > DEPTH {
            self.tell(
                qdisc.line,
                "disciplines are inside of each other in a circle; a FIFO takes the place of the innermost",
            );
            Queue { table: fifo(TX_QUEUE_LEN), rate: None }
        } else {
            self.of_kind(qdisc, outermost)
        };
        self.depth -= 1;
        queue
    }

    fn of_kind(&mut self, qdisc: &'a Qdisc, outermost: bool) -> Queue {
        if let Some(stab) = qdisc.options.get("stab") {
            self.tell(
                qdisc.line,
                format!("stab {stab}: shapers count IP packets here; give the framing to the link (overhead, mpu, linklayer) and lower their rates by its share"),
            );
        }
        match qdisc.kind.as_str() {
            "htb" => self.htb(qdisc),
            "prio" | "ets" => self.bands(qdisc),
            "drr" if (1..=MOST_BANDS).contains(&self.classes(qdisc).len()) => self.drr(qdisc),
            "tbf" => self.tbf(qdisc),
            "mq" | "mqprio" => self.transmit_queues(qdisc, outermost),
            "netem" if outermost => self.netem(qdisc),
            "cake" | "cake_mq" => {
                if qdisc.kind == "cake_mq" {
                    self.tell(qdisc.line, "cake_mq: its queues share a rate, and one with all of it is simulated; a link has one queue here");
                }
                let table = self.telling(qdisc.line, |tell| cake::parameters(&qdisc.options, tell));
                Queue { rate: qdisc.rate("bandwidth"), table }
            }
            name => {
                let Some(kind) = kinds::KINDS.iter().find(|kind| kind.in_tc == name) else {
                    self.tell(
                        qdisc.line,
                        format!("{name} is not simulated: a FIFO of {TX_QUEUE_LEN} packets takes its place, and what is inside of it is left out"),
                    );
                    self.left_out(qdisc);
                    return Queue { table: fifo(TX_QUEUE_LEN), rate: None };
                };
                let table = self.telling(qdisc.line, |tell| kinds::parameters(kind, qdisc.options.iter(), tell));
                Queue { table, rate: None }
            }
        }
    }

    /// Says of each class of a discipline that is not simulated, of what is below it and of its filters what they were to do.
    fn left_out(&mut self, qdisc: &'a Qdisc) {
        let kind = &qdisc.kind;
        let mut told = Vec::new();
        for class in self.classes(qdisc) {
            let options =
                class.options.iter().map(|(option, value)| said(option, value)).collect::<Vec<_>>().join(", ");
            let like = match kind.as_str() {
                "hfsc" => {
                    "; a class of htb with the rate of its service curve as rate, and that of its upper limit as ceil, comes close, without the delay of the curve"
                }
                "qfq" => "; ets shares by quanta as qfq does by weights",
                _ => "",
            };
            let id = &class.id;
            let what = if options.is_empty() { String::new() } else { format!(" ({options})") };
            told.push((
                class.line,
                format!("class {id} of {kind}{what} is left out: its packets wait with all others{like}"),
            ));
            if let Some(inner) = self.below(id) {
                told.push((inner.line, format!("{} below class {id} of {kind} is left out", inner.kind)));
            }
        }
        // A listing without classes has what is below them.
        let major = id::major(&qdisc.handle);
        let known: BTreeSet<String> = self.classes(qdisc).iter().map(|class| id::plain(&class.id)).collect();
        for (class, inner) in
            self.below.iter().filter(|(class, _)| id::major(class) == major && !known.contains(*class))
        {
            told.push((inner.line, format!("{} below class {class} of {kind} is left out", inner.kind)));
        }
        for (line, text) in told {
            self.tell(line, text);
        }
    }

    fn telling<T>(&mut self, line: Option<usize>, make: impl FnOnce(&mut dyn FnMut(String)) -> T) -> T {
        let mut told = Vec::new();
        let made = make(&mut |text| told.push(text));
        told.into_iter().for_each(|text| self.tell(line, text));
        made
    }

    /// `mq`: a queue for each transmit queue of the device, of which one is simulated.
    fn transmit_queues(&mut self, qdisc: &'a Qdisc, outermost: bool) -> Queue {
        let major = id::major(&qdisc.handle);
        let of_it = |parent: &Parent| matches!(parent, Parent::Class(of) if id::major(of) == major);
        let inner: Vec<&Qdisc> = self
            .listing
            .qdiscs
            .iter()
            .filter(|inner| self.here(inner.device.as_deref()) && of_it(&inner.parent) && !std::ptr::eq(*inner, qdisc))
            .collect();
        let Some(first) = inner.first().copied() else {
            self.tell(
                qdisc.line,
                format!("{} has no disciplines inside: a FIFO of {TX_QUEUE_LEN} packets takes its place", qdisc.kind),
            );
            return Queue { table: fifo(TX_QUEUE_LEN), rate: None };
        };
        self.tell(
            qdisc.line,
            format!(
                "{}: the first of its {} queues is simulated, {} {}; a link has one queue here",
                qdisc.kind,
                inner.len(),
                first.kind,
                first.handle
            ),
        );
        self.queue(first, outermost)
    }

    /// Delay and loss belong to the link, behind the queue.
    fn netem(&mut self, qdisc: &'a Qdisc) -> Queue {
        let mut rate = None;
        for (option, value) in &qdisc.options {
            let mut words = value.split_whitespace();
            let first = words.next().unwrap_or_default().to_owned();
            let time = |text: &str| aqmkit_base::units::parse_duration(text).ok();
            match option.as_str() {
                "limit" | "refcnt" => {}
                "rate" => rate = kinds::rate(&first),
                "delay" => match (time(&first), words.next().and_then(time)) {
                    (Some(mean), Some(around)) if !around.is_zero() && around <= mean => {
                        self.wire.insert("delay".to_owned(), text(mean - around));
                        self.wire.insert("jitter".to_owned(), text(format!("{},overtaking", around + around)));
                    }
                    (Some(delay), _) => drop(self.wire.insert("delay".to_owned(), text(delay))),
                    _ => self
                        .tell(qdisc.line, format!("{} of netem cannot be read, and is left out", said(option, value))),
                },
                "loss" if first.ends_with('%') => drop(self.wire.insert("loss".to_owned(), text(first))),
                _ => self
                    .tell(qdisc.line, format!("{} of netem has no counterpart, and is left out", said(option, value))),
            }
        }
        if let Some(rate) = rate {
            self.wire.insert("rate".to_owned(), text(rate));
        }
        if let Some(inner) = self.below(&format!("{}1", qdisc.handle)).or_else(|| self.below(&qdisc.handle)) {
            return self.queue(inner, false);
        }
        let limit = qdisc.count("limit").and_then(|limit| i64::try_from(limit).ok()).unwrap_or(TX_QUEUE_LEN);
        Queue { table: fifo(limit), rate: None }
    }

    fn tbf(&mut self, qdisc: &'a Qdisc) -> Queue {
        let mut table = Table::from_iter([("name".to_owned(), text("tbf"))]);
        let inner = self.below(&format!("{}1", qdisc.handle)).or_else(|| self.below(&qdisc.handle));
        for (option, value) in &qdisc.options {
            let (key, unit) = match option.as_str() {
                "rate" => ("rate", Unit::Rate),
                "burst" | "buffer" | "maxburst" => ("burst", Unit::Size),
                "peakrate" => ("peakrate", Unit::Rate),
                "minburst" | "mtu" => ("minburst", Unit::Size),
                "limit" | "lat" | "latency" if inner.is_some() => continue,
                "limit" => ("limit", Unit::Size),
                "lat" | "latency" => ("latency", Unit::Time),
                "refcnt" | "stab" => continue,
                _ => {
                    self.tell(
                        qdisc.line,
                        format!("{} of tbf has no counterpart, and is left out", said(option, value)),
                    );
                    continue;
                }
            };
            match kinds::here(unit, value) {
                Some(value) => drop(table.insert(key.to_owned(), value)),
                None => {
                    self.tell(qdisc.line, format!("{} of tbf cannot be read, and is left out", said(option, value)));
                }
            }
        }
        if let Some(inner) = inner {
            table.insert("aqm".to_owned(), Value::Table(self.queue(inner, false).table));
        }
        Queue { rate: qdisc.rate("rate").or_else(|| kinds::rate(qdisc.options.get("rate")?)), table }
    }

    /// `prio` and `ets`: a class for each band.
    fn bands(&mut self, qdisc: &'a Qdisc) -> Queue {
        let kind = qdisc.kind.as_str();
        let mut table = Table::from_iter([("name".to_owned(), text(kind))]);
        let numbers = |value: &str| value.split_whitespace().map(str::parse::<i64>).collect::<Result<Vec<_>, _>>().ok();
        let list = |list: Vec<i64>| Value::Array(list.into_iter().map(Value::Integer).collect());
        for (option, value) in &qdisc.options {
            let read = match option.as_str() {
                "bands" | "strict" => value.parse().ok().map(Value::Integer),
                "priomap" => numbers(value).map(list),
                "quanta" => value
                    .split_whitespace()
                    .map(|turn| kinds::here(Unit::Turn, turn))
                    .collect::<Option<Vec<_>>>()
                    .map(Value::Array),
                "refcnt" | "stab" => continue,
                _ => {
                    self.tell(
                        qdisc.line,
                        format!("{} of {kind} has no counterpart, and is left out", said(option, value)),
                    );
                    continue;
                }
            };
            match read {
                Some(read) => drop(table.insert(option.clone(), read)),
                None => {
                    self.tell(qdisc.line, format!("{} of {kind} cannot be read, and is left out", said(option, value)));
                }
            }
        }
        let integer = |key: &str| table.get(key).and_then(Value::as_integer);
        let sharing = table.get("quanta").and_then(Value::as_array).map_or(0, Vec::len) as i64;
        let least = if kind == "prio" { 3 } else { (integer("strict").unwrap_or(0) + sharing).max(1) };
        let bands = integer("bands").unwrap_or(least).clamp(1, 16);
        table.insert("bands".to_owned(), Value::Integer(bands));
        if let Some(band) = self.everything(qdisc, |minor| minor >= 1 && i64::from(minor) <= bands) {
            table.insert("priomap".to_owned(), list(vec![i64::from(band) - 1; 16]));
        }
        let classes = (1..=bands).map(|band| {
            let class = id::plain(&format!("{}{band:x}", qdisc.handle));
            let inner = self.below(&class);
            self.leaf(qdisc, &class, class.clone(), inner, None)
        });
        let classes: Vec<Value> = classes.collect();
        table.insert("class".to_owned(), Value::Array(classes));
        Queue { table, rate: None }
    }

    /// `drr` with classes: the sharing bands of `ets` take turns by the same law.
    fn drr(&mut self, qdisc: &'a Qdisc) -> Queue {
        let classes = self.classes(qdisc);
        let names = names(&classes);
        let mut table = Table::from_iter([("name".to_owned(), text("ets"))]);
        table.insert("bands".to_owned(), Value::Integer(classes.len() as i64));
        let (mut quanta, mut list) = (Vec::new(), Vec::new());
        for class in &classes {
            let given = class.options.get("quantum");
            let quantum = given.and_then(|turn| kinds::here(Unit::Turn, turn));
            if let (Some(value), None) = (given, &quantum) {
                self.tell(
                    class.line,
                    format!("quantum {value} of class {} cannot be read: it is a full packet", class.id),
                );
            }
            quanta.push(quantum.unwrap_or_else(|| text("1500b")));
            let id = id::plain(&class.id);
            let (name, inner) = (names.get(&id).cloned().unwrap_or_else(|| id.clone()), self.below(&id));
            list.push(self.leaf(qdisc, &id, name, inner, None));
        }
        table.insert("quanta".to_owned(), Value::Array(quanta));
        let place =
            |minor: u32| classes.iter().position(|class| id::parts(&class.id).is_some_and(|(_, own)| own == minor));
        match self.everything(qdisc, |minor| place(minor).is_some()).and_then(place) {
            Some(band) => drop(table.insert("priomap".to_owned(), Value::Array(vec![Value::Integer(band as i64); 16]))),
            None => self.tell(
                qdisc.line,
                "drr drops packets that no filter takes; here they are those of the last class: add a filter for the rest",
            ),
        }
        table.insert("class".to_owned(), Value::Array(list));
        Queue { table, rate: None }
    }

    /// The class to which a filter sends everything that no other has taken.
    fn everything(&mut self, qdisc: &Qdisc, is_class: impl Fn(u32) -> bool) -> Option<u32> {
        let target = self.filters.rest(&qdisc.handle)?;
        id::parts(&target).map(|(_, minor)| minor).filter(|minor| is_class(*minor))
    }

    /// A class with packets: its name, its packets and its queue.
    fn leaf(&mut self, qdisc: &Qdisc, class: &str, name: String, inner: Option<&'a Qdisc>, prio: Option<u64>) -> Value {
        let mut table = Table::from_iter([("name".to_owned(), text(&name))]);
        let chosen = self.filters.of_class(&qdisc.handle, class);
        let urgent = chosen.urgent || prio == Some(0);
        chosen.notes.into_iter().for_each(|note| self.notes.push(note));
        let before = self.leaves.len();
        if let Some(inner) = inner {
            let queue = self.queue(inner, false);
            table.insert("aqm".to_owned(), Value::Table(queue.table));
        }
        // A class whose queue has classes again has their packets.
        let inside: Vec<String> = self.leaves[before..].iter().map(|leaf| leaf.name.clone()).collect();
        let codepoints = chosen.codepoints.iter().map(|codepoint| format!("dscp {codepoint}"));
        let names = if inside.is_empty() { vec![name.clone()] } else { inside.clone() };
        if !inside.is_empty() || !chosen.codepoints.is_empty() {
            let all = names.into_iter().chain(codepoints);
            table.insert("match".to_owned(), Value::Array(all.map(Value::String).collect()));
        }
        if inside.is_empty() {
            self.leaves.push(Leaf { name, urgent, rules: chosen.rules });
        }
        Value::Table(table)
    }

    fn classes(&self, qdisc: &Qdisc) -> Vec<&'a Class> {
        let major = id::major(&qdisc.handle);
        let mine = |class: &&Class| {
            class.kind == qdisc.kind && id::major(&class.id) == major && self.here(class.device.as_deref())
        };
        let mut classes: Vec<&Class> = self.listing.classes.iter().filter(mine).collect();
        // The kernel serves classes of one level and priority by their numbers.
        classes.sort_by_key(|class| id::parts(&class.id));
        classes
    }

    fn htb(&mut self, qdisc: &'a Qdisc) -> Queue {
        let classes = self.classes(qdisc);
        let mut table = Table::from_iter([("name".to_owned(), text("htb"))]);
        if classes.is_empty() {
            self.tell(
                qdisc.line,
                "htb has no classes in this text: add the output of `tc class show`, or its lines of the script",
            );
            return Queue { table: fifo(TX_QUEUE_LEN), rate: None };
        }
        let names = names(&classes);
        let name_of = |class: &str| names.get(&id::plain(class)).cloned();
        let parent = |class: &Class| match &class.parent {
            Parent::Class(of) => id::parts(of).filter(|(_, minor)| *minor != 0).and_then(|_| name_of(of)),
            _ => None,
        };
        let parents: BTreeSet<String> = classes.iter().filter_map(|class| parent(class)).collect();
        let is_leaf = |class: &Class| name_of(&class.id).is_none_or(|name| !parents.contains(&name));
        let first = classes.iter().any(|other| other.options.get("prio").is_some_and(|number| number != "0"));
        self.htb_options(qdisc, &classes, &is_leaf, &name_of, &mut table);
        let mut list = Vec::new();
        for class in &classes {
            let leaf = is_leaf(class);
            let name = name_of(&class.id).unwrap_or_default();
            let of = parent(class);
            let mut entry = if leaf {
                let prio = class.options.get("prio").and_then(|prio| prio.parse().ok());
                let inner = self.below(&class.id);
                match self.leaf(qdisc, &id::plain(&class.id), name, inner, prio.filter(|_| first)) {
                    Value::Table(own) => own,
                    _ => Table::new(),
                }
            } else {
                Table::from_iter([("name".to_owned(), text(name))])
            };
            entry.extend(of.map(|of| ("parent".to_owned(), text(of))));
            self.class_options(class, leaf, &mut entry);
            list.push(Value::Table(entry));
        }
        table.insert("class".to_owned(), Value::Array(list));
        let tops = classes.iter().filter(|class| parent(class).is_none());
        let ceil = |class: &&Class| rate_of(class, "ceil").or_else(|| rate_of(class, "rate"));
        let total = tops.filter_map(ceil).map(BitRate::as_bps).fold(0, u64::saturating_add);
        Queue { table, rate: Some(BitRate::from_bps(total)).filter(|rate| rate.as_bps() > 0) }
    }

    fn htb_options(
        &mut self,
        qdisc: &Qdisc,
        classes: &[&Class],
        is_leaf: &dyn Fn(&Class) -> bool,
        name_of: &dyn Fn(&str) -> Option<String>,
        table: &mut Table,
    ) {
        let major = id::major(&qdisc.handle).unwrap_or(1);
        let found =
            |minor: u32| classes.iter().find(|class| id::parts(&class.id) == Some((major, minor)) && is_leaf(class));
        let mut default =
            qdisc.options.get("default").and_then(|text| id::parts(&format!("0:{text}"))).map(|(_, minor)| minor);
        if let Some(minor) = self.everything(qdisc, |minor| found(minor).is_some()) {
            default = Some(minor);
        }
        match default.filter(|minor| *minor != 0) {
            Some(minor) => match found(minor).and_then(|class| name_of(&class.id)) {
                Some(name) => drop(table.insert("default".to_owned(), text(name))),
                None => self.tell(
                    qdisc.line,
                    format!("default {minor:x} is no class with packets of its own: as in Linux, what no filter takes goes out unshaped"),
                ),
            },
            None => self.tell(qdisc.line, "htb has no default: as in Linux, what no filter takes goes out unshaped"),
        }
        for (option, value) in &qdisc.options {
            match option.as_str() {
                "direct_qlen" if value == "1000" => {}
                "r2q" | "direct_qlen" => {
                    drop(kinds::here(Unit::Count, value).map(|number| table.insert(option.clone(), number)));
                }
                "default" | "direct_packets_stat" | "ver" | "refcnt" | "stab" | "offload" => {}
                _ => {
                    self.tell(
                        qdisc.line,
                        format!("{} of htb has no counterpart, and is left out", said(option, value)),
                    );
                }
            }
        }
    }

    fn class_options(&mut self, class: &Class, leaf: bool, entry: &mut Table) {
        for (option, value) in &class.options {
            let (key, unit) = match option.as_str() {
                "rate" => ("rate", Unit::Rate),
                "ceil" => ("ceil", Unit::Rate),
                "burst" | "buffer" | "maxburst" => ("burst", Unit::Size),
                "cburst" | "cbuffer" => ("cburst", Unit::Size),
                "prio" if leaf => ("prio", Unit::Count),
                "quantum" if leaf => ("quantum", Unit::Turn),
                "prio" | "quantum" | "leaf" | "level" | "mtu" => continue,
                "overhead" | "mpu" | "linklayer" if value == "0" || value == "0b" || value == "ethernet" => continue,
                _ => {
                    let text =
                        format!("{} of class {} has no counterpart, and is left out", said(option, value), class.id);
                    self.tell(class.line, text);
                    continue;
                }
            };
            match kinds::here(unit, value) {
                Some(value) => drop(entry.insert(key.to_owned(), value)),
                None => self.tell(
                    class.line,
                    format!("{} of class {} cannot be read, and is left out", said(option, value), class.id),
                ),
            }
        }
        if !entry.contains_key("rate") {
            self.tell(class.line, format!("class {} has no rate, which htb needs: add `rate`", class.id));
        }
    }
}

fn rate_of(class: &Class, option: &str) -> Option<BitRate> {
    kinds::rate(class.options.get(option)?)
}

/// The names of classes by their identifiers: those of comments where they differ, and otherwise the identifiers.
fn names(classes: &[&Class]) -> BTreeMap<String, String> {
    let mut given: BTreeMap<&String, usize> = BTreeMap::new();
    classes.iter().filter_map(|class| class.name.as_ref()).for_each(|name| *given.entry(name).or_default() += 1);
    let once = |name: &&String| given.get(*name) == Some(&1);
    let name = |class: &&Class| {
        let plain = id::plain(&class.id);
        (plain.clone(), class.name.as_ref().filter(once).cloned().unwrap_or(plain))
    };
    classes.iter().map(name).collect()
}
