//! `LibreQoS`: `queuingStructure.json`, or `network.json` and `ShapedDevices.csv`, as the classes of HTB that it makes of them.
//!
//! Sites are classes, circuits are classes below them with a discipline each; one tree for each direction.

use std::collections::BTreeMap;

use aqmkit_tc::{Listing, Script};
use serde_json::{Map, Value};

use crate::{ImportError, Note};

/// The devices of the two directions.
pub(crate) const DEVICES: [&str; 2] = ["down", "up"];

/// The discipline of a circuit where nothing else is given.
const USUAL: &str = "cake diffserv4";

/// A site or an access point.
#[derive(Debug, Default)]
struct Site {
    name: String,
    /// Rates of both directions in Mbit/s.
    rates: [f64; 2],
    circuits: Vec<Circuit>,
    sites: Vec<Site>,
}

/// A subscriber.
#[derive(Debug)]
struct Circuit {
    name: String,
    least: [f64; 2],
    most: [f64; 2],
    queues: [String; 2],
}

/// Whether the file is one of those of `LibreQoS` that are JSON.
pub(crate) fn is_network(value: &Value) -> bool {
    let rate = |node: &Value| node.get("downloadBandwidthMbps").is_some();
    value.get("Network").is_some() || value.as_object().is_some_and(|nodes| nodes.values().any(rate))
}

/// Whether the file is a list of subscribers.
pub(crate) fn is_devices(text: &str) -> bool {
    text.lines().any(|line| line.trim_start_matches('\u{feff}').starts_with("Circuit ID,"))
}

/// The trees; of the site `only` alone, if one is given.
pub(crate) fn read(
    network: Option<&Value>,
    devices: Option<&str>,
    only: Option<&str>,
    notes: &mut Vec<Note>,
) -> Result<Listing, ImportError> {
    let nodes = network.map(|value| value.get("Network").unwrap_or(value)).and_then(Value::as_object);
    let mut top = Site { sites: nodes.map(sites).unwrap_or_default(), ..Site::default() };
    for (parent, circuit) in devices.map(|text| circuits(text, notes)).unwrap_or_default() {
        match find(&mut top, &parent) {
            Some(site) => site.circuits.push(circuit),
            None => {
                if network.is_some() && !parent.is_empty() {
                    let text = format!("{}: there is no site {parent:?}, so the circuit has no parent", circuit.name);
                    notes.push(Note::new(None, text));
                }
                top.circuits.push(circuit);
            }
        }
    }
    if let Some(name) = only {
        let known = names(&top);
        let Some(site) = take(top, name) else {
            return Err(ImportError::Site { name: name.to_owned(), known: known.join(", ") });
        };
        top = Site { sites: vec![site], ..Site::default() };
    }
    if top.sites.is_empty() && top.circuits.is_empty() {
        return Err(ImportError::NoCircuits);
    }
    Ok(listing(&top))
}

fn number(object: &Map<String, Value>, key: &str) -> Option<f64> {
    let value = object.get(key)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|rate| rate.is_finite() && *rate > 0.0)
}

fn sites(nodes: &Map<String, Value>) -> Vec<Site> {
    let site = |(name, node): (&String, &Value)| {
        let node = node.as_object()?;
        let rates = [number(node, "downloadBandwidthMbps")?, number(node, "uploadBandwidthMbps")?];
        let list = node.get("circuits").and_then(Value::as_array).into_iter().flatten();
        let circuits = list.filter_map(|circuit| self::circuit(circuit.as_object()?)).collect();
        let sites = node.get("children").and_then(Value::as_object).map(sites).unwrap_or_default();
        Some(Site { name: name.clone(), rates, circuits, sites })
    };
    nodes.iter().filter_map(site).collect()
}

fn circuit(object: &Map<String, Value>) -> Option<Circuit> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let most = [number(object, "maxDownload")?, number(object, "maxUpload")?];
    let least = [number(object, "minDownload").unwrap_or(most[0]), number(object, "minUpload").unwrap_or(most[1])];
    let name = text("circuitID").or_else(|| text("circuitName")).unwrap_or("circuit").to_owned();
    let queues = ["down", "up"].map(|_| text("sqm").unwrap_or(USUAL).to_owned());
    Some(Circuit { name, least, most, queues })
}

/// Subscribers of `ShapedDevices.csv` with the names of their parents. Devices of one circuit share it.
fn circuits(text: &str, notes: &mut Vec<Note>) -> Vec<(String, Circuit)> {
    let mut columns: Vec<String> = Vec::new();
    let mut found: Vec<(String, Circuit)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let cells = cells(line);
        if cells.first().is_some_and(|cell| cell.trim_start_matches('\u{feff}') == "Circuit ID") {
            columns = cells;
            continue;
        }
        if columns.is_empty() || line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let cell = |name: &str| {
            columns.iter().position(|column| column == name).and_then(|at| cells.get(at)).map(|cell| cell.trim())
        };
        let mut broken = None;
        let mut rate = |name: &str| {
            let rate =
                cell(name).and_then(|cell| cell.parse::<f64>().ok()).filter(|rate| rate.is_finite() && *rate > 0.0);
            if rate.is_none() {
                broken = Some(name.to_owned());
            }
            rate.unwrap_or(1.0)
        };
        let most = [rate("Download Max Mbps"), rate("Upload Max Mbps")];
        let least = [rate("Download Min Mbps"), rate("Upload Min Mbps")];
        if let Some(name) = broken {
            let why = format!("{name:?} is not a rate above zero in Mbit/s; the circuit is left out");
            notes.push(Note::new(Some(index + 1), why));
            continue;
        }
        let name = cell("Circuit ID").filter(|id| !id.is_empty()).unwrap_or("circuit").to_owned();
        if found.iter().any(|(_, circuit)| circuit.name == name) {
            continue;
        }
        let sqm = cell("sqm").unwrap_or_default();
        let (down, up) = sqm.split_once('/').unwrap_or((sqm, sqm));
        let queues = [down, up].map(|one| if one.is_empty() { USUAL.to_owned() } else { one.to_ascii_lowercase() });
        found.push((cell("Parent Node").unwrap_or_default().to_owned(), Circuit { name, least, most, queues }));
    }
    found
}

/// The cells of a line; quotes hold commas.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => {
                if let Some(last) = cells.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    cells
}

fn find<'a>(site: &'a mut Site, name: &str) -> Option<&'a mut Site> {
    if site.name == name && !name.is_empty() {
        return Some(site);
    }
    site.sites.iter_mut().find_map(|site| find(site, name))
}

fn take(site: Site, name: &str) -> Option<Site> {
    if site.name == name {
        return Some(site);
    }
    site.sites.into_iter().find_map(|site| take(site, name))
}

fn names(site: &Site) -> Vec<String> {
    let own = Some(site.name.clone()).filter(|name| !name.is_empty());
    own.into_iter().chain(site.sites.iter().flat_map(names)).collect()
}

/// Both trees in lines of `tc`.
fn listing(top: &Site) -> Listing {
    let mut script = Script::default();
    for (way, device) in DEVICES.iter().enumerate() {
        let mut tree = Tree { way, device, minor: 0, names: BTreeMap::new(), script: &mut script };
        tree.say(&format!("qdisc add dev {device} root handle 1: htb"), None);
        tree.parts(top, "1:");
    }
    script.listing()
}

struct Tree<'a> {
    way: usize,
    device: &'a str,
    minor: u32,
    names: BTreeMap<String, u32>,
    script: &'a mut Script,
}

impl Tree<'_> {
    fn say(&mut self, command: &str, name: Option<&str>) {
        let words: Vec<&str> = command.split_whitespace().collect();
        // Its form is that of the lines above.
        drop(self.script.command(&words, 0, name));
    }

    fn parts(&mut self, site: &Site, parent: &str) {
        for circuit in &site.circuits {
            let id = self.class(parent, circuit.least[self.way], circuit.most[self.way], &circuit.name);
            let queue = circuit.queues[self.way].clone();
            if queue != "none" {
                self.say(
                    &format!(
                        "qdisc add dev {} parent {id} {queue}{}",
                        self.device,
                        slow(&queue, circuit.most[self.way])
                    ),
                    None,
                );
            }
        }
        for inner in &site.sites {
            let rate = inner.rates[self.way];
            let id = self.class(parent, rate, rate, &inner.name);
            self.parts(inner, &id);
        }
    }

    fn class(&mut self, parent: &str, rate: f64, ceil: f64, name: &str) -> String {
        self.minor += 1;
        let id = format!("1:{:x}", self.minor);
        let kbit = |mbit: f64| format!("{}kbit", (mbit * 1000.0).round().clamp(1.0, 1e12) as u64);
        let plain: String =
            name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        let times = self.names.entry(plain.clone()).or_insert(0);
        *times += 1;
        let own = if *times > 1 { format!("{plain}-{times}") } else { plain };
        let (device, rate, ceil) = (self.device, kbit(rate), kbit(ceil));
        self.say(
            &format!("class add dev {device} parent {parent} classid {id} htb rate {rate} ceil {ceil} prio 3"),
            Some(&own),
        );
        id
    }
}

/// `LibreQoS` gives CAKE a longer `rtt` at rates below 5 Mbit/s.
fn slow(queue: &str, mbit: f64) -> &'static str {
    if !queue.starts_with("cake") || queue.contains("rtt") {
        return "";
    }
    match mbit as u64 {
        0 | 1 => " rtt 300ms",
        2 => " rtt 180ms",
        3 => " rtt 140ms",
        4 => " rtt 120ms",
        _ => "",
    }
}
