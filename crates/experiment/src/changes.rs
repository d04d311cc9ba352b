//! `[[changes]]`: changes of settings during a run.
//!
//! A change sets keys by their paths, as `[quick]`, sweeps and `--set` do. It is applied to the tree of the
//! combination, which is then resolved again, so that changed values are checked like all others. The differences
//! become changes of the simulation; a difference that the simulator cannot apply during a run is an error at the key.

use std::fmt;

use aqmkit_base::units::parse_duration;
use aqmkit_base::{Duration, Instant};
use serde::{Serialize, Serializer};

use super::group::Group;
use super::link::Link;
use super::link_keys::LinkKeys;
use super::patch::Patch;
use super::path::Path;
use super::problem::{Origin, Problem, suggest};
use super::read::tables;
use super::resolve::Resolved;
use super::tree::Node;

/// The key of the file.
pub(super) const CHANGES: &str = "changes";

/// The tables that can change during a run. Abbreviated paths begin with other names.
const ROOTS: &[&str] = &["topology", "params", "traffic", "transport"];

/// Upper limit for the number of changes; more are probably a mistake.
const MAX_CHANGES: usize = 10_000;

/// Whether a change replaces the value of this key as a whole, even if the value is a table.
fn is_whole(key: &str) -> bool {
    key == "delays" || (LinkKeys::NAMES.contains(&key) && key != "aqm")
}

/// A time relative to the end of the warm-up, in nanoseconds; negative during the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) i64);

impl Moment {
    /// Parses `10s`, or `-2s` for a time during the warm-up.
    pub(super) fn parse(text: &str) -> Option<Moment> {
        let text = text.trim();
        let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        if rest.starts_with(['-', '+']) {
            return None;
        }
        i64::try_from(parse_duration(rest).ok()?.as_nanos()).ok().map(|nanoseconds| Moment(sign * nanoseconds))
    }

    /// Converts an instant of a run.
    pub(super) fn of(instant: Instant, warmup: Duration) -> Moment {
        Moment(i64::try_from(i128::from(instant.as_nanos()) - i128::from(warmup.as_nanos())).unwrap_or(i64::MAX))
    }

    /// Converts to an instant of a run with this warm-up.
    pub(super) fn instant(self, warmup: Duration) -> Instant {
        let nanoseconds = i128::from(self.0) + i128::from(warmup.as_nanos());
        Instant::from_nanos(u64::try_from(nanoseconds.max(0)).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Moment {
    /// In seconds, to the nanosecond: `12.5s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (seconds, rest) = (self.0.unsigned_abs() / 1_000_000_000, self.0.unsigned_abs() % 1_000_000_000);
        if rest == 0 {
            return write!(f, "{sign}{seconds}s");
        }
        let digits = format!("{rest:09}");
        write!(f, "{sign}{seconds}.{}s", digits.trim_end_matches('0'))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

/// Links and traffic from a given time on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Stage {
    pub(super) at: Moment,
    pub(super) links: Vec<Link>,
    pub(super) groups: Vec<Group>,
}

/// An entry of `[[changes]]`.
struct Written {
    at: Moment,
    patches: Vec<Patch>,
}

/// The stages of a run: its links and traffic after each change. `resolve` resolves a tree without `[[changes]]`.
pub(super) fn stages(
    tree: &Node,
    run: &Resolved,
    resolve: &dyn Fn(&Node) -> Result<Option<Resolved>, Problem>,
) -> Result<Vec<Stage>, Problem> {
    let Some(list) = tree.get(CHANGES) else { return Ok(Vec::new()) };
    let mut tree = tree.without(&[CHANGES]);
    let mut stages: Vec<Stage> = Vec::new();
    for change in read(list, run)? {
        change.patches.iter().try_for_each(|patch| patch.apply(&mut tree))?;
        let Some(after) = resolve(&tree)? else { continue };
        let (links, groups) = stages.last().map_or((&run.links, &run.groups), |s| (&s.links, &s.groups));
        check(links, groups, &after, &run.classes).map_err(|refused| refused.at(&change))?;
        stages.push(Stage { at: change.at, links: after.links, groups: after.groups });
    }
    Ok(stages)
}

/// The changes in order of time; changes at the same time keep their order in the file.
fn read(list: &Node, run: &Resolved) -> Result<Vec<Written>, Problem> {
    let help = "write [[changes]] for each, with at = \"10s\" and what changes, for example topology.rate = \"5mbit\"";
    let listed = tables(list, CHANGES, help)?;
    if listed.len() > MAX_CHANGES {
        let problem = Problem::new(format!("{} changes are listed", listed.len()));
        return Err(problem.right(format!("at most {MAX_CHANGES} are allowed")).at(&list.at));
    }
    let mut changes = listed.iter().map(|node| read_one(node, run)).collect::<Result<Vec<_>, _>>()?;
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

fn read_one(node: &Node, run: &Resolved) -> Result<Written, Problem> {
    let Some(written) = node.get("at") else {
        return Err(Problem::new("a change has no time").right("write at = \"10s\"").at(&node.at));
    };
    let Some(at) = written.as_str().and_then(Moment::parse) else {
        let help = "a time of the run such as \"10s\"; \"-2s\" is in the warm-up";
        return Err(Problem::new("this is not a time").right(help).at(&written.at));
    };
    let whole = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    if at.0 > whole(run.duration) {
        let problem = Problem::new(format!("the change at {at} comes after the end"));
        return Err(problem.right(format!("the duration is {}", run.duration)).at(&written.at));
    }
    if at.0 < -whole(run.warmup) {
        let problem = Problem::new(format!("the change at {at} comes before the start"));
        return Err(problem.right(format!("the warm-up is {}", run.warmup)).at(&written.at));
    }
    let mut patches = Vec::new();
    for entry in node.entries().iter().filter(|e| !["at", "name"].contains(&e.key.as_str())) {
        let path = Path::parse(&entry.key).ok_or_else(|| {
            let problem = Problem::new(format!("{:?} is not a valid path", entry.key));
            problem.right("a path consists of keys joined by dots, for example topology.rate").at(&entry.at)
        })?;
        single(path, &entry.at, &entry.node, &mut patches);
    }
    if patches.is_empty() {
        let help = "add keys to change, for example topology.rate = \"5mbit\"";
        return Err(Problem::new("this change changes nothing").right(help).at(&node.at));
    }
    for patch in &mut patches {
        patch.path = std::mem::take(&mut patch.path).normal();
        if !ROOTS.contains(&patch.path.root()) {
            return Err(not_changeable(patch));
        }
    }
    Ok(Written { at, patches })
}

fn not_changeable(patch: &Patch) -> Problem {
    let root = patch.path.root();
    let help = match root {
        key if key == "delays" || LinkKeys::NAMES.contains(&key) => format!("write topology.{key}"),
        _ if super::keys::is_known(root) => format!("what can change is in {}", ROOTS.join(", ")),
        _ => suggest(root, ROOTS.iter().copied()),
    };
    Problem::new(format!("{root} cannot be changed during a run")).right(help).at(&patch.at)
}

/// Collects changes of single keys from a table: `topology.aqm.max = 60` in TOML is a table inside a table.
fn single(path: Path, at: &Origin, node: &Node, patches: &mut Vec<Patch>) {
    let key = path.0.last().map_or("", String::as_str);
    let whole = !node.is_table() || is_whole(key) || (key == "aqm" && node.get("name").is_some());
    if whole || node.entries().is_empty() {
        patches.push(Patch { path, at: at.clone(), node: node.clone() });
        return;
    }
    for entry in node.entries() {
        single(path.below(&entry.key), &entry.at, &entry.node, patches);
    }
}

/// An error of a change, with the name of the key to point to: the first key whose path contains it.
struct Refused {
    why: Problem,
    about: &'static str,
}

impl Refused {
    fn new(about: &'static str, what: String, right: &str) -> Refused {
        Refused { why: Problem::new(what).right(right), about }
    }

    fn at(self, change: &Written) -> Problem {
        let of_it = |patch: &&Patch| patch.path.0.iter().any(|part| part == self.about);
        let patch = change.patches.iter().find(of_it).or(change.patches.first());
        match patch {
            Some(patch) => self.why.at(&patch.at),
            None => self.why,
        }
    }
}

/// Refuses changes that cannot be made while a run is in progress.
fn check(links: &[Link], groups: &[Group], after: &Resolved, classes: &[String]) -> Result<(), Refused> {
    let names = |list: &[Link]| list.iter().map(|l| l.name.clone()).collect::<Vec<_>>();
    if names(links) != names(&after.links) {
        let help = "a run keeps its links and their names; give a link that is not needed at first a rate of its own";
        return Err(Refused::new("topology", "links cannot be added or removed during a run".to_owned(), help));
    }
    let of_groups = |list: &[Group]| list.iter().map(|g| (g.name.clone(), g.spec.name())).collect::<Vec<_>>();
    if of_groups(groups) != of_groups(&after.groups) || classes != after.classes {
        let help = "list all traffic and its classes from the start, with active = false for what begins later";
        return Err(Refused::new(
            "traffic",
            "traffic cannot be added, removed or renamed during a run".to_owned(),
            help,
        ));
    }
    links.iter().zip(&after.links).try_for_each(|(old, new)| check_link(old, new, classes))?;
    groups.iter().zip(&after.groups).try_for_each(|(old, new)| check_group(old, new))
}

fn check_link(old: &Link, new: &Link, classes: &[String]) -> Result<(), Refused> {
    let name = &old.name;
    let refused = |about, what: &str, right: &str| {
        Err(Refused::new(about, format!("{what} of {name} cannot change during a run"), right))
    };
    if old.aqm.name() != new.aqm.name() {
        let what = format!("{} cannot be replaced by {} during a run", old.aqm.name(), new.aqm.name());
        return Err(Refused::new("aqm", what, "its parameters can change; sweep aqm to compare disciplines"));
    }
    if old.aqm.flow() != new.aqm.flow() {
        return refused("flow", "what a flow is for the discipline", "set flow for the whole run");
    }
    if old.trace_hash != new.trace_hash {
        return refused("rate", "the trace of the rate", "a rate that changes is written as a rate at each time");
    }
    if old.driver != new.driver {
        return refused("driver", "the driver", "set it for the whole run; sweep topology.driver to compare rings");
    }
    if old.report != new.report {
        return refused("report", "whether results have the link, report", "set it for the whole run");
    }
    let change = aqmkit_sim::change::check_link(old, new, classes);
    change.map_err(|e| Refused::new("aqm", format!("{}: {e}", new.aqm.name()), "a change of this needs a new run"))
}

fn check_group(old: &Group, new: &Group) -> Result<(), Refused> {
    let name = &old.name;
    let refused = |about, what: &str, right: &str| {
        Err(Refused::new(about, format!("{what} of {name} cannot change during a run"), right))
    };
    if (old.start, old.stop) != (new.start, new.stop) {
        return refused("traffic", "start and stop", "use active = false and active = true to pause and resume it");
    }
    if old.class != new.class {
        return refused("class", "the class", "give a second traffic the other class");
    }
    let links = |group: &Group| group.routes.iter().map(|r| (r.forward.clone(), r.reverse.clone())).collect::<Vec<_>>();
    if links(old) != links(new) || old.clients != new.clients || old.scattered != new.scattered {
        return refused("topology", "the hosts and paths", "set servers, clients, path and access for the whole run");
    }
    let written = |group: &Group| group.load.as_ref().map(|l| (l.written.clone(), l.back.is_some()));
    if written(old) != written(new) || (old.load.is_some() && old.spec != new.spec) {
        return refused("traffic", "the calibrated population", "use a population in place of load");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_they_are_read() {
        for text in ["10s", "0s", "-2s", "12.345678901s", "0.000000001s", "-0.5s", "3600.25s"] {
            assert_eq!(Moment::parse(text).map(|m| m.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Moment::parse("250ms"), Some(Moment(250_000_000)));
        assert_eq!((Moment::parse("--2s"), Moment::parse("-+2s"), Moment::parse("soon")), (None, None, None));
        let warmup = Duration::from_secs(3);
        assert_eq!(Moment(-2_000_000_000).instant(warmup), Instant::ZERO + Duration::from_secs(1));
        assert_eq!(Moment::of(Instant::ZERO + Duration::from_secs(1), warmup), Moment(-2_000_000_000));
    }
}
