//! A run that can be changed while it is simulated. The changes can be saved as `[[changes]]`.

use std::sync::Arc;

use aqmkit_base::Instant;
use aqmkit_sim::change::{Change, TimedChange};

use super::catalogues::Catalogues;
use super::changes::{CHANGES, Moment};
use super::files::Files;
use super::outline::{Outline, outline};
use super::plan::RunSpec;
use super::problem::{Origin, Problem, Text};
use super::resolve::{Resolved, resolve};
use super::scenario::steps;
use super::tree::{Entry, Node, Value};
use super::{Experiment, Overrides, Scale, Variant, shortened};

/// One run of an experiment, which can be changed while it is simulated.
pub struct EditableRun {
    files: Files,
    /// Text of the experiment, if this is its only run.
    text: Option<String>,
    /// The experiment reduced to this run, with the manual changes.
    tree: Node,
    /// The experiment reduced to this run, without the manual changes.
    start: Node,
    /// Manual changes: for each time, keys and values.
    by_hand: Vec<(Moment, Vec<(String, String)>)>,
    repeat: u32,
    seed: u64,
    spec: RunSpec,
}

/// The effect of a manual change on the simulation.
pub struct AppliedChange {
    /// Changes to apply at once.
    pub now: Vec<Change>,
    /// Changes that replace those still pending: `[[changes]]` of the experiment, applied on top of the manual change.
    pub later: Vec<TimedChange>,
}

/// Keys of a file that concern several runs, or the results.
const OF_ALL: &[&str] = &["sweep", "quick", "null", "expect", "expect_table", "predict", "overview", "figure", "plot"];

impl EditableRun {
    /// Reads an experiment as [`Experiment::parse`] does, and selects the run at `index` of its plan.
    ///
    /// # Errors
    /// Those of [`Experiment::parse`]; also when there is no such run.
    pub fn open(
        file_name: &str,
        text: &str,
        overrides: &Overrides,
        index: usize,
    ) -> Result<(Experiment, EditableRun), Problem> {
        let experiment = Experiment::parse(file_name, text, overrides)?;
        let plan = experiment.plan();
        let Some(spec) = plan.get(index).cloned() else {
            let what = format!("the experiment has no run {index}");
            return Err(Problem::new(what).right(format!("there are {}, counted from 0", plan.len())));
        };
        let variant = experiment.variant()?;
        let run = EditableRun::of(&experiment, &variant, index, spec);
        Ok((experiment, run))
    }

    /// The run at `index` of the plan.
    fn of(experiment: &Experiment, variant: &Variant, index: usize, spec: RunSpec) -> EditableRun {
        let (combination, repeat) = (index / experiment.repeat as usize, index % experiment.repeat as usize + 1);
        let tree = variant.combinations.get(combination).map_or(&variant.document, |c| &c.tree).without(OF_ALL);
        let (text, overrides) = &*experiment.origin;
        let runs = experiment.runs.len() * experiment.repeat as usize;
        let sole = runs == 1 && overrides.set.is_empty() && overrides.seed.is_none();
        EditableRun {
            files: Files::beside(&experiment.file, &Catalogues::default()),
            text: sole.then(|| text.clone()),
            start: tree.clone(),
            tree,
            by_hand: Vec::new(),
            repeat: repeat as u32,
            seed: experiment.seeds.of_cell(experiment.seed, &spec.labels),
            spec,
        }
    }

    /// The run with all changes; simulating it from the start gives the same results.
    #[must_use]
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Whether anything changes during the run.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.spec.resolved.changes.is_empty()
    }

    /// The links and the traffic of the run at an instant, after the changes up to then.
    #[must_use]
    pub fn outline_at(&self, now: Instant) -> Outline {
        let mut run = Resolved::clone(&self.spec.resolved);
        let at = Moment::of(now, run.warmup);
        if let Some(stage) = run.changes.iter().rfind(|stage| stage.at <= at) {
            (run.links, run.groups) = (stage.links.clone(), stage.groups.clone());
        }
        outline(&run)
    }

    /// Changes keys of the experiment by their paths at an instant: `("topology.rate", "\"5mbit\"")`. Values are in
    /// TOML; text that is not valid TOML is a string.
    ///
    /// # Errors
    /// When a key cannot change during a run or a value is invalid. Then nothing changes.
    pub fn set(&mut self, now: Instant, settings: &[(String, String)]) -> Result<AppliedChange, Problem> {
        let at = Moment::of(now, self.spec.resolved.warmup);
        let mut tree = self.tree.clone();
        add_change(&mut tree, change(at, settings));
        // A manual change has no text, so the error must not show a line.
        let resolved = resolve(&tree, &self.files).map_err(|e| e.without_place(""))?;
        let Some(run) = resolved else { return Err(Problem::new("the experiment has no run")) };
        let applied = self.applied(&run, at)?;
        self.tree = tree;
        self.by_hand.push((at, settings.to_vec()));
        self.spec = self.named(run);
        Ok(applied)
    }

    /// The effect of the latest change at time `at`.
    fn applied(&self, run: &Resolved, at: Moment) -> Result<AppliedChange, Problem> {
        let mut applied = AppliedChange { now: Vec::new(), later: Vec::new() };
        let place = run.changes.iter().rposition(|stage| stage.at <= at).unwrap_or(0);
        for (i, stage) in run.changes.iter().enumerate().skip(place) {
            let before = match i.checked_sub(1).map(|earlier| &run.changes[earlier]) {
                Some(earlier) => (&earlier.links[..], &earlier.groups[..]),
                None => (&run.links[..], &run.groups[..]),
            };
            let steps = steps(before, stage, run.uncongested, self.spec.seed)?;
            if i == place {
                applied.now = steps;
            } else {
                let then = stage.at.instant(run.warmup);
                applied.later.extend(steps.into_iter().map(|change| TimedChange { at: then, change }));
            }
        }
        Ok(applied)
    }

    /// Removes all manual changes.
    ///
    /// # Errors
    /// Only those that opening the run could have returned.
    pub fn revert(&mut self) -> Result<(), Problem> {
        if let Some(run) = resolve(&self.start, &self.files)? {
            self.tree = self.start.clone();
            self.by_hand.clear();
            self.spec = self.named(run);
        }
        Ok(())
    }

    fn named(&self, run: Resolved) -> RunSpec {
        RunSpec::new(&self.spec.labels, &Arc::new(run), self.seed, self.repeat)
    }

    /// The run as an experiment of its own, with the manual changes as `[[changes]]`. It ends at `end`, or at the end
    /// of the run.
    #[must_use]
    pub fn text(&self, end: Option<Instant>) -> String {
        let end = end.map(|end| Moment::of(end, self.spec.resolved.warmup)).filter(|end| end.0 > 0);
        let appended = self.text.as_ref().filter(|_| end.is_none()).map(|text| self.appended(text));
        appended.filter(|text| self.is_the_same(text)).unwrap_or_else(|| self.generated(end))
    }

    /// The text of the file with the manual changes appended.
    fn appended(&self, text: &str) -> String {
        let mut text = text.trim_end().to_owned() + "\n";
        for (at, settings) in &self.by_hand {
            text.push_str(&format!("\n[[{CHANGES}]]\nat = \"{at}\"\n"));
            for (path, value) in settings {
                text.push_str(&format!("{} = {}\n", quoted(path), as_toml(value)));
            }
        }
        text
    }

    /// Whether parsing this text gives this run.
    fn is_the_same(&self, text: &str) -> bool {
        let read = Experiment::parse("", text, &Overrides::default());
        read.is_ok_and(|experiment| matches!(&experiment.plan()[..], [run] if run.hash == self.spec.hash))
    }

    fn generated(&self, end: Option<Moment>) -> String {
        let mut table = match self.tree.plain() {
            toml::Value::Table(table) => table,
            _ => toml::Table::new(),
        };
        // The file must have the seed of this combination.
        table.remove("seeds");
        table.insert("seed".to_owned(), toml::Value::Integer(i64::try_from(self.seed).unwrap_or(i64::MAX)));
        table.insert("repeat".to_owned(), toml::Value::Integer(self.repeat.into()));
        if let Some(end) = end {
            table.insert("duration".to_owned(), toml::Value::String(end.to_string()));
            ended(&mut table, end);
        }
        toml::to_string_pretty(&table).unwrap_or_default()
    }
}

/// A self-contained experiment: a text and settings that give the same runs in the same order wherever they are parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portable {
    /// The text of the experiment, in TOML.
    pub text: String,
    /// Additional settings in the form of `--set`.
    pub set: Vec<String>,
}

impl Experiment {
    /// The experiment with the command line's changes, in a form that does not depend on its directory.
    ///
    /// # Errors
    /// When it reads other files, or uses models or disciplines that a program has added.
    pub fn portable(&self) -> Result<Portable, Problem> {
        let (text, overrides) = &*self.origin;
        let set = overrides.set.clone();
        let as_written = overrides.scale == Scale::Full && overrides.seed.is_none() && overrides.repeat.is_none();
        if as_written && self.is_read_anywhere(text, &set).is_ok() {
            return Ok(Portable { text: text.clone(), set });
        }
        let written = self.without_results()?;
        self.is_read_anywhere(&written, &set)?;
        Ok(Portable { text: written, set })
    }

    /// Checks that parsing a text without access to the experiment's directory gives the same runs.
    fn is_read_anywhere(&self, text: &str, set: &[String]) -> Result<(), Problem> {
        let overrides = Overrides { set: set.to_vec(), ..Overrides::default() };
        let read = Experiment::parse("no such directory/experiment.toml", text, &overrides)?;
        if read.hash() == self.hash() { Ok(()) } else { Err(Problem::new("its text alone has other runs")) }
    }

    /// The text of the experiment with its scale, seed and repeats, without the keys that only concern results.
    fn without_results(&self) -> Result<String, Problem> {
        let (text, overrides) = &*self.origin;
        let document = Node::document(&Text::new(&self.file, text))?;
        let document = match (overrides.scale, document.get("quick")) {
            (Scale::Quick, Some(changes)) => shortened(&document, changes)?,
            _ => document,
        };
        let others: Vec<&str> = OF_ALL.iter().copied().filter(|key| *key != "sweep").collect();
        let mut table = match document.without(&others).plain() {
            toml::Value::Table(table) => table,
            _ => toml::Table::new(),
        };
        table.insert("seed".to_owned(), toml::Value::Integer(i64::try_from(self.seed).unwrap_or(i64::MAX)));
        table.insert("repeat".to_owned(), toml::Value::Integer(self.repeat.into()));
        Ok(toml::to_string_pretty(&table).unwrap_or_default())
    }

    fn variant(&self) -> Result<Variant, Problem> {
        let (text, overrides) = &*self.origin;
        let document = Node::document(&Text::new(&self.file, text))?;
        Variant::of_overrides(&document, overrides, &Files::beside(&self.file, &Catalogues::default()))
    }
}

/// Removes everything after an earlier end.
fn ended(table: &mut toml::Table, end: Moment) {
    let time = |value: &toml::Value| value.as_str().and_then(Moment::parse);
    if let Some(toml::Value::Table(windows)) = table.get_mut("windows") {
        windows.retain(|_, span| span.as_array().and_then(|s| time(s.first()?)).is_some_and(|from| from < end));
        for span in windows.iter_mut().filter_map(|(_, span)| span.as_array_mut()) {
            if let Some(to) = span.get_mut(1).filter(|to| time(to).is_some_and(|to| to > end)) {
                *to = toml::Value::String(end.to_string());
            }
        }
    }
    let before = |value: &toml::Value, key: &str| value.get(key).and_then(time).is_none_or(|at| at <= end);
    if let Some(toml::Value::Array(changes)) = table.get_mut(CHANGES) {
        changes.retain(|change| before(change, "at"));
    }
    if let Some(toml::Value::Array(traffic)) = table.get_mut("traffic") {
        for one in traffic.iter_mut().filter_map(toml::Value::as_table_mut) {
            if one.get("start").and_then(time).is_some_and(|start| start >= end) {
                // This traffic would start after the end.
                one.remove("start");
                one.remove("stop");
                one.insert("active".to_owned(), toml::Value::Boolean(false));
            }
        }
    }
}

/// A manual change as an entry of `[[changes]]`.
fn change(at: Moment, settings: &[(String, String)]) -> Node {
    let origin = Origin::new(&Text::new("a change by hand", ""), 0..0);
    let entry = |key: &str, node: Node| Entry { key: key.to_owned(), at: origin.clone(), node };
    let value = |written: &str| {
        let text = Text::new("a change by hand", written);
        Node::value(&text, 0).unwrap_or_else(|_| Node::string(&origin, written))
    };
    let settings = settings.iter().map(|(path, written)| entry(path, value(written)));
    let at = entry("at", Node::string(&origin, &at.to_string()));
    Node { at: origin.clone(), value: Value::Table(std::iter::once(at).chain(settings).collect()) }
}

/// Appends a change to the experiment's list.
fn add_change(tree: &mut Node, change: Node) {
    let Value::Table(entries) = &mut tree.value else { return };
    match entries.iter_mut().find(|entry| entry.key == CHANGES) {
        Some(Entry { node: Node { value: Value::Array(list), .. }, .. }) => list.push(change),
        _ => {
            let (key, at) = (CHANGES.to_owned(), change.at.clone());
            let node = Node { at: at.clone(), value: Value::Array(vec![change]) };
            entries.push(Entry { key, at, node });
        }
    }
}

/// A path as a TOML key.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.'].contains(&c);
    if path.chars().all(plain) { path.to_owned() } else { toml::Value::String(path.to_owned()).to_string() }
}

/// A value as TOML.
fn as_toml(written: &str) -> String {
    match Node::value(&Text::new("", written), 0) {
        Ok(node) => node.plain().to_string(),
        Err(_) => toml::Value::String(written.to_owned()).to_string(),
    }
}
