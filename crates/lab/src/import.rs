//! Reads the queues of routers as experiments, and writes queues of experiments as lines of `tc`.

use std::io::Read;
use std::path::{Path, PathBuf};

use aqmkit_base::BitRate;
use aqmkit_base::units::parse_rate;
use aqmkit_experiment::{Catalogues, Experiment, Overrides, Problem};
use aqmkit_files::bounded;
use aqmkit_import::{Exported, ImportError, Imported, Known, Note};
use aqmkit_tc::Listing;
use toml::{Table, Value};

use crate::error::{LabError, wrong};
use crate::explain::tc;

/// Where a configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Files, `-` for standard input. Parts of one configuration may be in several.
    Files(Vec<PathBuf>),
    /// A device of this machine; `tc` is called.
    Device(String),
}

/// An experiment, as text with remarks at its head.
#[derive(Clone, Debug)]
pub struct Import {
    /// The queues that were read.
    pub imported: Imported,
    /// Settings without a counterpart, with the place of each.
    pub notes: Vec<String>,
    /// The experiment as a file has it.
    pub text: String,
}

/// Reads a configuration.
///
/// # Errors
/// When it cannot be read, is none, needs something that the user must add, or has values that no queue of the simulator takes.
pub fn import(source: &Source, known: &Known) -> Result<Import, LabError> {
    let (name, imported) = match source {
        Source::Device(device) => {
            let listing = of_machine(device)?;
            let known = Known { device: None, ..known.clone() };
            (device.clone(), aqmkit_import::import_listing(device, &listing, &known))
        }
        Source::Files(paths) => {
            let texts = paths.iter().map(|path| text_of(path)).collect::<Result<Vec<_>, _>>()?;
            let all: Vec<&str> = texts.iter().map(String::as_str).collect();
            let name = paths.iter().map(|path| short(path)).collect::<Vec<_>>().join(", ");
            let imported = aqmkit_import::import(&name, &all, known);
            (name, imported)
        }
    };
    let imported = imported.or_else(|error| refused(&name, &error))?;
    Experiment::from_table("import", &imported.experiment, &Overrides::default(), &Catalogues::default())
        .map_err(|problem| problem.without_place(&format!("{name}: ")))?;
    let notes = notes(source, &imported);
    let text = format!("{}\n{}", head(&name, &imported, &notes), imported.experiment);
    Ok(Import { imported, notes, text })
}

fn short(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn refused<T>(name: &str, error: &ImportError) -> Result<T, LabError> {
    let right = match error {
        ImportError::Unknown | ImportError::Tc(_) | ImportError::Json(_) => {
            "tc qdisc show dev eth0 > queues.txt; tc class show dev eth0 >> queues.txt; aqmkit import queues.txt"
        }
        ImportError::NoQueue(_) => "tc qdisc show lists the queues of all devices",
        ImportError::Devices(_) => "aqmkit import FILE --dev eth0",
        ImportError::Rate { .. } => "aqmkit import FILE --rate 100mbit, or --rate DOWN/UP for two directions",
        ImportError::Site { .. } | ImportError::NoCircuits | ImportError::Classes { .. } => {
            "aqmkit import queuingStructure.json --site NAME; without it, network.json and ShapedDevices.csv together"
        }
    };
    wrong(format!("{name}: {error}"), right)
}

/// The remarks with their places: the line, and the file where there are several.
fn notes(source: &Source, imported: &Imported) -> Vec<String> {
    let files = match source {
        Source::Files(files) if files.len() > 1 => files.as_slice(),
        _ => &[],
    };
    let one = |note: &Note| match (note.line, files.get(note.part)) {
        (Some(line), Some(file)) => format!("{}, line {line}: {}", short(file), note.text),
        (Some(line), None) => format!("line {line}: {}", note.text),
        (None, _) => note.text.clone(),
    };
    imported.notes.iter().map(one).collect()
}

/// Comments at the head of the file: what has no counterpart, and how a live link finds the classes.
fn head(name: &str, imported: &Imported, notes: &[String]) -> String {
    let mut lines = vec![format!("# The queues of {name}, by aqmkit import.")];
    lines.extend(notes.iter().map(|note| format!("# {}", note.replace('\n', " "))));
    let mut classes: Vec<String> = Vec::new();
    for leaf in imported.directions.iter().flat_map(|direction| &direction.leaves).filter(|leaf| !leaf.rules.is_empty())
    {
        let class = format!("--class '{}={}'", leaf.name, leaf.rules.join(","));
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    if !classes.is_empty() {
        lines.push(format!("# On a live link: {}", classes.join(" ")));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn text_of(path: &Path) -> Result<String, LabError> {
    if path == Path::new("-") {
        return bounded_text("standard input", std::io::stdin().lock());
    }
    let name = path.display().to_string();
    match std::fs::File::open(path) {
        Ok(file) => bounded_text(&name, file),
        Err(e) => wrong(
            format!("{name} cannot be read: {e}"),
            "give a file with a configuration, - for standard input, or --from eth0 for a device of this machine",
        ),
    }
}

fn bounded_text(name: &str, input: impl Read) -> Result<String, LabError> {
    bounded::text_of(name, input, &bounded::TC).map_err(|unread| {
        let problem = Problem::new(unread.to_string());
        LabError::Problem(match unread.right() {
            Some(right) => problem.right(right),
            None => problem,
        })
    })
}

/// The queues of a device, and of the one to which it redirects what arrives.
fn of_machine(device: &str) -> Result<Listing, LabError> {
    let mut listing = of_device(device)?;
    let redirected = listing.filters.iter().find_map(|filter| filter.redirect.clone());
    if let Some(inner) = redirected.filter(|inner| inner != device) {
        let arriving = of_device(&inner)?;
        listing.qdiscs.extend(arriving.qdiscs);
        listing.classes.extend(arriving.classes);
        listing.filters.extend(arriving.filters);
    }
    Ok(listing)
}

fn of_device(device: &str) -> Result<Listing, LabError> {
    let mut listing = Listing::default();
    let parts: [&[&str]; 4] = [&["-d", "qdisc"], &["-d", "class"], &["filter"], &["filter"]];
    for (at, part) in parts.iter().enumerate() {
        let (object, options) = part.split_last().unwrap_or((&"qdisc", &[]));
        let mut words: Vec<&str> = options.to_vec();
        words.extend([*object, "show", "dev", device]);
        // Filters of packets that arrive are not among the others; a device without that hook reports an error.
        if at == 3 {
            words.push("ingress");
        }
        let text = match tc(&words) {
            Err(_) if at == 3 => continue,
            text => text?,
        };
        let read = aqmkit_tc::read(&format!("{text}\nqdisc end 0: root\n"));
        let mut read =
            read.or_else(|error| wrong(format!("tc {}: {error}", words.join(" ")), "report it with that output"))?;
        read.qdiscs.pop();
        listing.qdiscs.extend(read.qdiscs.into_iter().map(|mut qdisc| {
            (qdisc.device, qdisc.line) = (Some(device.to_owned()), None);
            qdisc
        }));
        listing.classes.extend(read.classes.into_iter().map(|mut class| {
            (class.device, class.line) = (Some(device.to_owned()), None);
            class
        }));
        listing.filters.extend(read.filters.into_iter().map(|mut filter| {
            (filter.device, filter.line) = (Some(device.to_owned()), None);
            if at == 3 {
                "ffff:".clone_into(&mut filter.parent);
            }
            filter
        }));
    }
    Ok(listing)
}

/// The lines of `tc` for the queue of an experiment's link on a device. `link` names one where there are several.
///
/// # Errors
/// When the file is no experiment and no tree, has no such link, or has a discipline that Linux does not have.
pub fn export(file: &Path, link: Option<&str>, device: &str) -> Result<Exported, LabError> {
    let shown = file.display();
    let text = bounded::text(file, &bounded::EXPERIMENT).map_err(Problem::from)?;
    let whole: Table = match text.parse() {
        Ok(table) => table,
        Err(e) => return wrong(format!("{shown} is not TOML: {e}"), "give an experiment, or a file with a tree"),
    };
    let (aqm, rate) = queue(&whole, link).or_else(|(what, right)| wrong(format!("{shown}: {what}"), right))?;
    let aqm = with_params(&aqm, &whole);
    aqmkit_import::export(&aqm, rate, device)
        .or_else(|what| wrong(format!("{shown}: {what}"), "aqmkit list disciplines shows what there is"))
}

/// The queue of a link and its rate; or what is wrong, and what would be right.
fn queue(whole: &Table, link: Option<&str>) -> Result<(Table, Option<BitRate>), (String, String)> {
    let named = |value: &Value| match value {
        Value::Table(table) => table.clone(),
        name => Table::from_iter([("name".to_owned(), name.clone())]),
    };
    let Some(topology) = whole.get("topology").and_then(Value::as_table) else {
        let right = "give an experiment with [topology], or a file that has what [topology.aqm] has";
        return match whole.get("name").and_then(Value::as_str) {
            Some(_) => Ok((whole.clone(), None)),
            None => Err(("it has no [topology] and no name of a discipline".to_owned(), right.to_owned())),
        };
    };
    let links: Vec<&Table> =
        topology.get("links").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table).collect();
    let name = |table: &&Table| table.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let wanted = link.or_else(|| topology.get("measured").and_then(Value::as_str));
    let place = match (links.as_slice(), wanted) {
        ([], None) => topology,
        ([only], None) => only,
        (_, None) => {
            let all = links.iter().map(name).collect::<Vec<_>>().join(", ");
            return Err((format!("it has several links: {all}"), "choose one with --link".to_owned()));
        }
        (_, Some(wanted)) => match links.iter().find(|table| name(table) == wanted) {
            Some(table) => table,
            None => {
                let all = links.iter().map(name).collect::<Vec<_>>().join(", ");
                return Err((format!("it has no link {wanted:?}"), format!("its links are: {all}")));
            }
        },
    };
    let Some(aqm) = place.get("aqm").or_else(|| topology.get("aqm")) else {
        let right = "write the one that you want into it: aqm = \"fq-codel\" in [topology]".to_owned();
        return Err(("its link has no aqm, or sweeps it".to_owned(), right));
    };
    let rate = place.get("rate").and_then(Value::as_str).and_then(|rate| parse_rate(rate).ok());
    Ok((named(aqm), rate))
}

/// Adds what `[params]` says of each discipline in the tree.
fn with_params(aqm: &Table, whole: &Table) -> Table {
    let mut table = aqm.clone();
    let name = table.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let more = whole.get("params").and_then(|params| params.get(&name)).and_then(Value::as_table);
    for (key, value) in more.into_iter().flatten() {
        table.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let inside = |value: &mut Value| {
        let inner = match &*value {
            Value::Table(inner) => inner.clone(),
            bare => Table::from_iter([("name".to_owned(), bare.clone())]),
        };
        *value = Value::Table(with_params(&inner, whole));
    };
    table.get_mut("aqm").into_iter().for_each(inside);
    for key in ["class", "classes"] {
        let list = table.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
        list.filter_map(|class| class.get_mut("aqm")).for_each(inside);
    }
    table
}
