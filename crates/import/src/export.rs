//! The lines of `tc` that make a queue of an experiment.

use aqmkit_base::BitRate;
use aqmkit_base::units::{parse_bytes, parse_duration, parse_rate};
use toml::{Table, Value};

use crate::kinds::{self, KINDS, Unit};
use crate::{cake, id};

/// Lines of `tc`, and what they do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The lines, in the order in which they are typed.
    pub lines: Vec<String>,
    /// Settings that `tc` cannot make.
    pub notes: Vec<String>,
}

/// Writes the lines that make the queue `aqm` of a link of this rate on a device. `aqm` is what `aqm` of a link is: a table with `name`.
///
/// # Errors
/// When Linux does not have the discipline, or one inside of it, with a message that says which.
pub fn export(aqm: &Table, rate: Option<BitRate>, device: &str) -> Result<Exported, String> {
    let mut writer = Writer { device, rate, next: 1, out: Exported::default() };
    writer.queue(aqm, "root")?;
    Ok(writer.out)
}

struct Writer<'a> {
    device: &'a str,
    rate: Option<BitRate>,
    /// The next handle.
    next: u32,
    out: Exported,
}

fn name(aqm: &Table) -> &str {
    aqm.get("name").and_then(Value::as_str).unwrap_or("fifo")
}

/// The table of `aqm` in a class, which may be a name alone.
fn inner(table: &Table) -> Option<Table> {
    match table.get("aqm")? {
        Value::Table(table) => Some(table.clone()),
        other => Some(Table::from_iter([("name".to_owned(), other.clone())])),
    }
}

fn classes(aqm: &Table) -> Vec<&Table> {
    let list = aqm.get("class").or_else(|| aqm.get("classes")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_table).collect()
}

impl Writer<'_> {
    fn tell(&mut self, text: String) {
        self.out.notes.push(text);
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.out.lines.push(format!("tc {}", words.join(" ")));
    }

    /// A handle that no class has yet; that of the names of the classes if they are identifiers of one discipline.
    fn handle(&mut self, classes: &[&Table]) -> u32 {
        let named = |class: &&Table| id::major(class.get("name")?.as_str()?);
        let major =
            classes.first().and_then(named).filter(|major| classes.iter().all(|class| named(class) == Some(*major)));
        match major {
            Some(major) if major >= self.next => {
                self.next = major + 1;
                major
            }
            _ => {
                self.next += 1;
                self.next - 1
            }
        }
    }

    fn queue(&mut self, aqm: &Table, place: &str) -> Result<(), String> {
        match name(aqm) {
            "htb" => self.htb(aqm, place),
            "prio" | "ets" => self.bands(aqm, place),
            "tbf" => self.tbf(aqm, place),
            _ => {
                let words = self.words(aqm)?;
                self.line(&format!("qdisc add dev {} {place} {words}", self.device));
                Ok(())
            }
        }
    }

    /// A discipline without classes: its name in `tc` and its options.
    fn words(&mut self, aqm: &Table) -> Result<String, String> {
        let here = name(aqm);
        if here == "cake" {
            let mut notes = Vec::new();
            let words = cake::words(aqm, &mut |text| notes.push(text));
            self.out.notes.extend(notes);
            return Ok(format!("cake {}", words.join(" ")));
        }
        let of_bytes =
            |queue: &Table| queue.get("limit").and_then(Value::as_str).is_some_and(|limit| parse_bytes(limit).is_ok());
        let kind = match here {
            "fifo" if of_bytes(aqm) => KINDS.iter().find(|kind| kind.in_tc == "bfifo"),
            name => KINDS.iter().find(|kind| kind.here == name),
        };
        let Some(kind) = kind else {
            return Err(format!(
                "Linux's tc has no {here}: `aqmkit kernel install` or `aqmkit bridge` run it, or choose fq-codel, cake or another discipline of tc"
            ));
        };
        let mut words = vec![kind.in_tc.to_owned()];
        if here == "fifo" && !aqm.contains_key("limit") {
            words.push("limit 60".to_owned());
        }
        for (key, value) in aqm.iter().filter(|(key, _)| !matches!(key.as_str(), "name" | "label")) {
            let rules = kind.rules.iter().filter(|rule| rule.1 == key);
            let word = rules.filter_map(|rule| Some((rule.0, kinds::there(rule.2, value)?))).next();
            let silent = value.as_bool() == Some(false) && kind.rules.iter().any(|rule| rule.1 == key);
            match word {
                Some((option, written)) => words.push(format!("{option} {written}")),
                None if silent => {}
                None => self.tell(format!("tc cannot set {key} of {}, which is left out", kind.in_tc)),
            }
        }
        Ok(words.join(" "))
    }

    fn tbf(&mut self, aqm: &Table, place: &str) -> Result<(), String> {
        let handle = self.handle(&[]);
        let text = |key: &str| aqm.get(key).and_then(Value::as_str);
        let Some(rate) = text("rate").and_then(|rate| parse_rate(rate).ok()).or(self.rate) else {
            return Err("tbf has no rate, and the link has none: give it a rate".to_owned());
        };
        let mut words = format!(
            "rate {rate} burst {}b",
            text("burst").and_then(|size| parse_bytes(size).ok()).map_or(15_000, |size| size.0)
        );
        let size = |key: &str| text(key).and_then(|size| parse_bytes(size).ok()).map(|size| size.0);
        let below = inner(aqm);
        match (size("limit"), text("latency").and_then(|time| parse_duration(time).ok())) {
            (Some(limit), _) => words.push_str(&format!(" limit {limit}b")),
            (None, Some(latency)) => words.push_str(&format!(" latency {latency}")),
            (None, None) => words.push_str(" latency 50ms"),
        }
        if let (Some(peak), least) = (text("peakrate").and_then(|peak| parse_rate(peak).ok()), size("minburst")) {
            words.push_str(&format!(" peakrate {peak} minburst {}b", least.unwrap_or(1500)));
        }
        self.line(&format!("qdisc add dev {} {place} handle {handle:x}: tbf {words}", self.device));
        match below {
            Some(below) => self.queue(&below, &format!("parent {handle:x}:1")),
            None => Ok(()),
        }
    }

    fn bands(&mut self, aqm: &Table, place: &str) -> Result<(), String> {
        let list = classes(aqm);
        let handle = self.handle(&list);
        let kind = name(aqm);
        let integer = |key: &str| aqm.get(key).and_then(Value::as_integer);
        let quanta: Vec<String> = aqm
            .get("quanta")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|turn| kinds::there(Unit::Turn, turn))
            .collect();
        let least = if kind == "prio" {
            if list.is_empty() { 3 } else { 2 }
        } else {
            integer("strict").unwrap_or(0) + quanta.len() as i64
        };
        let bands = integer("bands").unwrap_or(least.max(list.len() as i64).max(1));
        let mut words = format!("{kind} bands {bands}");
        words.extend(integer("strict").map(|strict| format!(" strict {strict}")));
        if !quanta.is_empty() {
            words.push_str(&format!(" quanta {}", quanta.join(" ")));
        }
        let map = aqm.get("priomap").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if !map.is_empty() {
            words.push_str(&format!(" priomap {}", map.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")));
        } else if kind == "prio" && bands < 3 {
            words.push_str(&format!(
                " priomap{}",
                [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
                    .map(|band: i64| format!(" {}", band.min(bands - 1)))
                    .concat()
            ));
        }
        self.line(&format!("qdisc add dev {} {place} handle {handle:x}: {words}", self.device));
        for (band, class) in list.iter().enumerate() {
            let class_id = format!("{handle:x}:{:x}", band + 1);
            if let Some(below) = inner(class) {
                self.queue(&below, &format!("parent {class_id}"))?;
            }
            self.filters(class, handle, &class_id);
        }
        Ok(())
    }

    fn htb(&mut self, aqm: &Table, place: &str) -> Result<(), String> {
        let list = classes(aqm);
        let handle = self.handle(&list);
        let names: Vec<&str> =
            list.iter().map(|class| class.get("name").and_then(Value::as_str).unwrap_or_default()).collect();
        let ids: Vec<String> = names.iter().enumerate().map(|(i, name)| identifier(name, i, handle, &names)).collect();
        let id_of = |name: &str| names.iter().position(|other| *other == name).map(|at| ids[at].clone());
        let default = aqm.get("default").and_then(Value::as_str).and_then(id_of);
        let minor = |id: &str| id.split(':').nth(1).unwrap_or_default().to_owned();
        let mut words = default.map(|id| format!(" default {}", minor(&id))).unwrap_or_default();
        for key in ["r2q", "direct_qlen"] {
            words.extend(aqm.get(key).and_then(Value::as_integer).map(|number| format!(" {key} {number}")));
        }
        self.line(&format!("qdisc add dev {} {place} handle {handle:x}: htb{words}", self.device));
        for (class, (name, id)) in parents_first(&list).into_iter().map(|at| (list[at], (names[at], &ids[at]))) {
            let parent = class.get("parent").and_then(Value::as_str).and_then(id_of).unwrap_or(format!("{handle:x}:"));
            let options = self.class_words(class);
            // The comment is the name, which an import reads again.
            let comment = if name == id { String::new() } else { format!(" # {name}") };
            self.line(&format!("class add dev {} parent {parent} classid {id} htb {options}{comment}", self.device));
        }
        for (class, id) in list.iter().zip(&ids) {
            if let Some(below) = inner(class) {
                self.queue(&below, &format!("parent {id}"))?;
            }
            self.filters(class, handle, id);
        }
        Ok(())
    }

    fn class_words(&mut self, class: &Table) -> String {
        let mut words = Vec::new();
        for (key, unit) in [
            ("rate", Unit::Rate),
            ("ceil", Unit::Rate),
            ("burst", Unit::Size),
            ("cburst", Unit::Size),
            ("prio", Unit::Count),
            ("quantum", Unit::Turn),
        ] {
            words.extend(
                class.get(key).and_then(|value| kinds::there(unit, value)).map(|value| format!("{key} {value}")),
            );
        }
        words.join(" ")
    }

    /// Filters for codepoints. Classes of a link are chosen by rules that `tc` is not told.
    fn filters(&mut self, class: &Table, handle: u32, id: &str) {
        let name = class.get("name").and_then(Value::as_str).unwrap_or_default();
        let conditions: Vec<&str> = match class.get("match") {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(one)) => vec![one.as_str()],
            _ => return,
        };
        for condition in conditions {
            let pref = self.out.lines.iter().filter(|line| line.starts_with("tc filter")).count() + 1;
            let place = format!("filter add dev {} parent {handle:x}:", self.device);
            match condition.strip_prefix("dscp ").and_then(tos) {
                Some(tos) => {
                    self.line(&format!(
                        "{place} protocol ip prio {pref} u32 match ip dsfield {tos:#04x} 0xfc flowid {id}"
                    ));
                    self.line(&format!(
                        "{place} protocol ipv6 prio {} u32 match ip6 priority {tos:#04x} 0xfc flowid {id}",
                        pref + 1
                    ));
                }
                None if condition == "*" => self.line(&format!("{place} protocol all prio 999 matchall flowid {id}")),
                None if condition == name || inside(class, condition) => {}
                None => self.tell(format!("packets of {condition} go to {id}: add a filter that finds them")),
            }
        }
    }
}

/// Whether a class inside of this one has the name, so that its packets are those of both.
fn inside(class: &Table, name: &str) -> bool {
    let Some(aqm) = inner(class) else { return false };
    let named = |part: &&Table| part.get("name").and_then(Value::as_str) == Some(name);
    inside(&aqm, name) || classes(&aqm).iter().any(|part| named(part) || inside(part, name))
}

/// Parents come before their parts, as the kernel wants it.
fn parents_first(list: &[&Table]) -> Vec<usize> {
    let text = |at: usize, key: &str| list[at].get(key).and_then(Value::as_str);
    let mut order: Vec<usize> = Vec::new();
    while order.len() < list.len() {
        let ready = |at: &usize| {
            let parent =
                text(*at, "parent").and_then(|name| (0..list.len()).find(|other| text(*other, "name") == Some(name)));
            !order.contains(at) && parent.is_none_or(|parent| order.contains(&parent))
        };
        let next: Vec<usize> = (0..list.len()).filter(ready).collect();
        if next.is_empty() {
            break;
        }
        order.extend(next);
    }
    order
}

/// The identifier of a class: its name if that is one, or a free number.
fn identifier(name: &str, place: usize, handle: u32, names: &[&str]) -> String {
    if id::parts(name).is_some_and(|(major, minor)| major == handle && minor != 0) && id::plain(name) == name {
        return name.to_owned();
    }
    let free = |minor: &u32| !names.contains(&format!("{handle:x}:{minor:x}").as_str());
    let minor = (1_u32..).filter(free).nth(place).unwrap_or(1);
    format!("{handle:x}:{minor:x}")
}

/// The byte of a codepoint.
fn tos(name: &str) -> Option<u8> {
    let digit = |c: &u8| c.is_ascii_digit().then(|| c - b'0');
    let bits = match (name, name.as_bytes()) {
        ("ef", _) => 46,
        ("va", _) => 44,
        ("le", _) => 1,
        ("be", _) => 0,
        (_, [b'c', b's', class]) => 8 * digit(class)?,
        (_, [b'a', b'f', class, drop]) => 8 * digit(class)? + 2 * digit(drop)?,
        (number, _) => number.parse().ok()?,
    };
    (bits < 64).then_some(bits << 2)
}
