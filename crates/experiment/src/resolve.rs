//! Resolves one combination of an experiment: checks and converts every table.

use aqmkit_base::{Duration, Instant};
use serde::Serialize;

use super::changes::{Stage, stages};
use super::files::Files;
use super::group::{Context, Group, Source, read_sources};
use super::link::Link;
use super::network::read_network;
use super::problem::{Origin, Problem, suggest};
use super::queue::check_params;
use super::read::{Keys, read};
use super::shape;
use super::tree::Node;

/// Everything that determines a run's output except its seed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Resolved {
    pub(super) duration: Duration,
    pub(super) warmup: Duration,
    pub(super) interval: Duration,
    pub(super) classes: Vec<String>,
    pub(super) windows: Vec<Window>,
    pub(super) links: Vec<Link>,
    pub(super) measured: usize,
    pub(super) groups: Vec<Group>,
    /// Whether links are as fast as in trials, so that none is congested.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) uncongested: bool,
    /// Links and traffic after each change during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Stage>,
}

/// A part of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Name in results.
    pub name: String,
    /// Start, relative to t = 0.
    pub from: Duration,
    /// End, relative to t = 0.
    pub to: Duration,
}

/// Upper limit for the length of the time series; a longer one is probably a mistake.
const MAX_INTERVALS: u64 = 1_000_000;

/// A packet carries its class in a byte.
const MAX_CLASSES: usize = 256;

/// Reads the keys at the root of the file.
pub(super) fn read_root(tree: &Node) -> Result<shape::Root, Problem> {
    let root: shape::Root = read(tree, Keys::of("a key of an experiment"))?;
    if root.repeat == 0 {
        return Err(Problem::new("repeat is 0")
            .right("at least one run per combination is required")
            .at(at(tree, "repeat")));
    }
    Ok(root)
}

/// Resolves a combination, including the changes during its run.
pub(super) fn resolve(tree: &Node, files: &Files) -> Result<Option<Resolved>, Problem> {
    let Some(mut run) = resolve_start(tree, files)? else { return Ok(None) };
    run.changes = stages(tree, &run, &|changed| resolve_start(changed, files))?;
    Ok(Some(run))
}

/// Resolves the initial state of a combination. `None` for an experiment without topology and traffic, all of whose
/// claims are calculations.
fn resolve_start(tree: &Node, files: &Files) -> Result<Option<Resolved>, Problem> {
    let root = read_root(tree)?;
    let params = tree.get("params");
    params.map_or(Ok(()), |params| check_params(params, &files.catalogues.disciplines))?;
    let (topology, traffic) = match (tree.get("topology"), tree.get("traffic")) {
        (None, None) => return Ok(None),
        (Some(topology), Some(traffic)) => (topology, traffic),
        (None, Some(traffic)) => {
            let help = "write [topology] with a rate";
            return Err(Problem::new("traffic needs a topology").right(help).at(&traffic.at));
        }
        (Some(topology), None) => {
            let help = "write at least one [[traffic]]";
            return Err(Problem::new("the topology has no traffic").right(help).at(&topology.at));
        }
    };
    let duration = check_times(&root, tree)?;
    let all = read_sources(traffic, &files.catalogues.traffic)?;
    let used = in_use(&all, root.r#use.as_deref(), tree)?;
    let classes = class_names(&root, &used, tree)?;
    let mut network = read_network(topology, params, &classes, files)?;
    let context = Context { topology, transport: tree.get("transport"), classes: &classes, duration, files };
    // Unused tables are read, too, so that mistakes in them are found.
    for source in all.iter().filter(|s| !used.iter().any(|u| u.name == s.name)) {
        source.check(&context)?;
    }
    let groups = used.iter().map(|s| s.resolve(&context, &mut network)).collect::<Result<_, _>>()?;
    Ok(Some(Resolved {
        duration,
        warmup: root.warmup,
        interval: root.interval,
        windows: windows(&root, duration, tree)?,
        classes,
        links: network.links,
        measured: network.measured,
        groups,
        uncongested: network.uncongested,
        changes: Vec::new(),
    }))
}

fn at<'a>(tree: &'a Node, key: &str) -> &'a Origin {
    &tree.get(key).unwrap_or(tree).at
}

fn check_times(root: &shape::Root, tree: &Node) -> Result<Duration, Problem> {
    let Some(duration) = root.duration else {
        return Err(Problem::new("duration is missing").right("for example duration = \"60s\"").at(&tree.at));
    };
    if duration.is_zero() {
        return Err(Problem::new("duration is zero").right("for example \"60s\"").at(at(tree, "duration")));
    }
    if root.interval.is_zero() {
        return Err(Problem::new("interval is zero").right("for example \"1s\"").at(at(tree, "interval")));
    }
    if (duration + root.warmup).whole(root.interval) > MAX_INTERVALS {
        let what = format!("{duration} at intervals of {} exceeds {MAX_INTERVALS} values", root.interval);
        let key = if tree.get("interval").is_some() { "interval" } else { "duration" };
        return Err(Problem::new(what).right("use a longer interval or a shorter duration").at(at(tree, key)));
    }
    Ok(duration)
}

/// The traffic in use, in the order of `use`.
fn in_use<'a>(all: &'a [Source<'a>], names: Option<&[String]>, tree: &Node) -> Result<Vec<&'a Source<'a>>, Problem> {
    let used: Vec<&Source<'_>> = match names {
        None => all.iter().collect(),
        Some(names) => {
            let list = tree.get("use").unwrap_or(tree);
            let at = |i: usize| &list.elements().get(i).unwrap_or(list).at;
            let find = |(i, name): (usize, &String)| {
                if names[..i].contains(name) {
                    return Err(Problem::new(format!("traffic {name} is used twice")).right("name it once").at(at(i)));
                }
                all.iter().find(|s| s.name == *name).ok_or_else(|| {
                    Problem::new(format!("there is no traffic {name:?}"))
                        .right(suggest(name, all.iter().map(|s| s.name.as_str())))
                        .at(at(i))
                })
            };
            names.iter().enumerate().map(find).collect::<Result<_, _>>()?
        }
    };
    if used.is_empty() {
        let at = at(tree, if names.is_some() { "use" } else { "traffic" });
        return Err(Problem::new("nothing sends").right("give at least one traffic").at(at));
    }
    Ok(used)
}

fn class_names(root: &shape::Root, used: &[&Source<'_>], tree: &Node) -> Result<Vec<String>, Problem> {
    let mut classes: Vec<String> = Vec::new();
    let Some(listed) = &root.classes else {
        for source in used {
            if !classes.contains(&source.class) {
                classes.push(source.class.clone());
            }
        }
        return Ok(classes);
    };
    if listed.len() > MAX_CLASSES {
        let problem = Problem::new(format!("{} classes are listed", listed.len()));
        return Err(problem.right(format!("at most {MAX_CLASSES} are allowed")).at(at(tree, "classes")));
    }
    for name in listed {
        if classes.contains(name) {
            let problem = Problem::new(format!("the class {name:?} is listed twice"));
            return Err(problem.right("name it once").at(at(tree, "classes")));
        }
        classes.push(name.clone());
    }
    Ok(classes)
}

/// Windows in order of their starts; by default one window for the whole measurement.
fn windows(root: &shape::Root, duration: Duration, tree: &Node) -> Result<Vec<Window>, Problem> {
    if root.windows.is_empty() {
        return Ok(vec![Window { name: "all".to_owned(), from: Duration::ZERO, to: duration }]);
    }
    let table = tree.get("windows").unwrap_or(tree);
    for (name, &(from, to)) in &root.windows {
        if from >= to {
            let problem = Problem::new(format!("the window {name} ends at {to}, before its start at {from}"));
            return Err(problem.right("give its start, then its end").at(at(table, name)));
        }
        if to > duration {
            let problem = Problem::new(format!("the window {name} ends at {to}, after the end"));
            return Err(problem.right(format!("the duration is {duration}")).at(at(table, name)));
        }
    }
    let window = |(name, &(from, to)): (&String, &(Duration, Duration))| Window { name: name.clone(), from, to };
    let mut windows: Vec<Window> = root.windows.iter().map(window).collect();
    windows.sort_by_key(|w| (w.from, w.to));
    Ok(windows)
}

impl Resolved {
    /// Converts a time after the warm-up into an instant of the run.
    pub(super) fn instant(&self, t: Duration) -> Instant {
        Instant::ZERO + self.warmup + t
    }
}
