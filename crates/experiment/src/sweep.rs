//! `[sweep]`: axes, labels, and all combinations.

use std::collections::BTreeMap;

use super::keys::{is_of_the_file, is_swept, swept};
use super::patch::Patch;
use super::path::Path;
use super::problem::{Problem, suggest};
use super::tree::{Entry, Node, Value};
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// Path of a key, or a name chosen by the author.
    pub(super) name: String,
    /// The key that it changes, if its name is the path of one.
    path: Option<Path>,
    pub(super) choices: Vec<Choice>,
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) label: String,
    patches: Vec<Patch>,
    /// Names and values that tables show for it (`as`).
    called: BTreeMap<String, String>,
}

impl Choice {
    /// The keys that it changes (last part of the path), with their values; and the names of `as`.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let named = |p: &Patch| Some((p.path.0.last()?.clone(), text_of(&p.node)));
        self.patches.iter().filter_map(named).chain(self.called.clone()).collect()
    }
}

/// The key of `[sweep]` that is not an axis: combinations to leave out.
pub(super) const SKIP: &str = "skip";

/// Reserved names of axes, in addition to the keys of the file.
const TAKEN: &[&str] = &["window", "class", "app", "link"];

/// Upper limit for combinations; more are probably a mistake.
const MAX_COMBINATIONS: usize = 100_000;

/// Reads `[sweep]`.
pub(super) fn read_axes(sweep: &Node) -> Result<Vec<Axis>, Problem> {
    if !sweep.is_table() {
        return Err(Problem::new("sweep is not a table").right("write [sweep] with its axes below it").at(&sweep.at));
    }
    let mut axes = Vec::new();
    collect(&sweep.without(&[SKIP]), &Path::default(), &mut axes)?;
    let combinations = axes.iter().try_fold(1_usize, |n, a| n.checked_mul(a.choices.len()));
    match combinations {
        Some(n) if n <= MAX_COMBINATIONS => Ok(axes),
        _ => Err(Problem::new(format!("the sweep has more than {MAX_COMBINATIONS} combinations"))
            .right("sweep fewer values at once")
            .at(&sweep.at)),
    }
}

/// Rejects axes that change the same key: the labels of one of them would be wrong.
pub(super) fn check_apart(document: &Node, axes: &[Axis]) -> Result<(), Problem> {
    let mut seen: Vec<(&Axis, Path)> = Vec::new();
    for axis in axes {
        let mut own: Vec<(&Axis, Path)> = Vec::new();
        for patch in axis.choices.iter().flat_map(|choice| &choice.patches) {
            for path in patch.keys(document) {
                // An axis may refine a change of an earlier axis: change a key below it.
                if let Some((other, at)) = seen.iter().find(|(_, before)| before.0.starts_with(&path.0)) {
                    let what = format!("the axes {} and {} both change {at}", other.name, axis.name);
                    let help = "one of the two would have no effect; each axis must change different keys";
                    return Err(Problem::new(what).right(help).at(&patch.at));
                }
                own.push((axis, path));
            }
        }
        seen.extend(own);
    }
    Ok(())
}

/// Collects the lists in nested tables: `[sweep.topology] rate = […]` is the axis `topology.rate`.
fn collect(table: &Node, above: &Path, axes: &mut Vec<Axis>) -> Result<(), Problem> {
    for entry in table.entries() {
        let bad = || Problem::new(format!("{:?} is not a valid path", entry.key)).at(&entry.at);
        let own = Path::parse(&entry.key).ok_or_else(bad)?;
        let path = Path(above.0.iter().cloned().chain(own.0).collect());
        match &entry.node.value {
            Value::Table(_) => collect(&entry.node, &path, axes)?,
            Value::Array(values) => {
                let axis = read_axis(&path, entry, values)?;
                if axes.iter().any(|a| a.name == axis.name) {
                    return Err(Problem::new(format!("the axis {} is defined twice", axis.name)).at(&entry.at));
                }
                axes.push(axis);
            }
            Value::Scalar(_) => {
                let problem = Problem::new(format!("the axis {path} needs a list of values"));
                return Err(problem.right(format!("write {path} = [ … ]")).at(&entry.node.at));
            }
        }
    }
    Ok(())
}

fn read_axis(path: &Path, entry: &Entry, values: &[Node]) -> Result<Axis, Problem> {
    if values.is_empty() {
        return Err(Problem::new(format!("the axis {path} is empty"))
            .right("give it at least one value")
            .at(&entry.node.at));
    }
    if is_of_the_file(path.root()) || TAKEN.contains(&path.root()) {
        let help = format!("the keys that can be swept are {}", swept().collect::<Vec<_>>().join(", "));
        return Err(Problem::new(format!("{} cannot be swept; the name is reserved", path.root()))
            .right(help)
            .at(&entry.at));
    }
    let known = is_swept(path.root());
    let choices =
        values.iter().map(|v| if known { value_of_key(path, entry, v) } else { value_of_own(path, entry, v) });
    let mut choices = choices.collect::<Result<Vec<_>, _>>()?;
    make_unique(path, values, &mut choices)?;
    let target = known.then(|| path.clone().normal());
    Ok(Axis { name: path.to_string(), path: target, choices })
}

fn value_of_key(path: &Path, entry: &Entry, value: &Node) -> Result<Choice, Problem> {
    let node = if value.is_table() { value.without(&["label"]) } else { value.clone() };
    let patch = Patch { path: path.clone().normal(), at: entry.at.clone(), node };
    Ok(Choice { label: label_of(value)?, patches: vec![patch], called: BTreeMap::new() })
}

fn value_of_own(path: &Path, entry: &Entry, value: &Node) -> Result<Choice, Problem> {
    if value.get("label").is_none() {
        let help = format!(
            "a named axis is [[sweep.{path}]] with a label and the keys it changes; for keys, {}",
            suggest(path.root(), swept())
        );
        let what = format!("{path} is not a key that can be swept, and its value has no label");
        return Err(Problem::new(what).right(help).at(&entry.at));
    }
    let patches = Patch::from_table(value, &["label", "as"])?;
    let called = value.get("as").map_or(Ok(BTreeMap::new()), names_of)?;
    if let Some(patch) = patches.iter().find(|p| !is_swept(p.path.root())) {
        let problem = Problem::new(format!("{} is not a key that can be swept", patch.path));
        return Err(problem.right(suggest(patch.path.root(), swept())).at(&patch.at));
    }
    Ok(Choice { label: label_of(value)?, patches, called })
}

/// The names and values that tables show: `as = { gamma = 0.5 }`.
fn names_of(table: &Node) -> Result<BTreeMap<String, String>, Problem> {
    if !table.is_table() {
        return Err(Problem::new("as is not a table").right("write as = { gamma = 0.5 }").at(&table.at));
    }
    Ok(table.entries().iter().map(|e| (e.key.clone(), text_of(&e.node))).collect())
}

/// The label of a value: its `label`, its `name`, or the value itself.
fn label_of(value: &Node) -> Result<String, Problem> {
    if let Some(label) = value.get("label") {
        let text = label.as_str().map(str::trim).filter(|t| !t.is_empty());
        let bad = || Problem::new("a label must be a string").right("write label = \"gentle\"").at(&label.at);
        return text.map(str::to_owned).ok_or_else(bad);
    }
    Ok(match value.get("name").and_then(Node::as_str) {
        Some(name) => name.to_owned(),
        None => text_of(value),
    })
}

fn text_of(value: &Node) -> String {
    match &value.value {
        Value::Scalar(toml::Value::String(s)) => s.clone(),
        Value::Scalar(other) => other.to_string(),
        Value::Array(nodes) => nodes.iter().map(text_of).collect::<Vec<_>>().join("+"),
        Value::Table(entries) => {
            entries.iter().map(|e| format!("{}={}", e.key, text_of(&e.node))).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Numbers repeated labels (`red`, `red-2`); rejects repetitions of explicit labels.
fn make_unique(path: &Path, values: &[Node], choices: &mut [Choice]) -> Result<(), Problem> {
    let mut used: BTreeMap<String, &Node> = BTreeMap::new();
    let written = |node: &Node| node.get("label").is_some();
    for (value, choice) in values.iter().zip(choices.iter()).filter(|(v, _)| written(v)) {
        if used.insert(choice.label.clone(), value).is_some() {
            let problem = Problem::new(format!("two values of {path} have the label {:?}", choice.label));
            return Err(problem.right("give each a different label").at(&value.get("label").unwrap_or(value).at));
        }
    }
    for (value, choice) in values.iter().zip(choices.iter_mut()).filter(|(v, _)| !written(v)) {
        let base = choice.label.clone();
        let mut n = 1;
        while used.contains_key(&choice.label) {
            n += 1;
            choice.label = format!("{base}-{n}");
        }
        used.insert(choice.label.clone(), value);
    }
    Ok(())
}

/// Reduces an axis to the value that a setting of the command line gives it, by label or as a new value. Returns the
/// other settings, which apply to every combination.
pub(super) fn narrow(axes: &mut [Axis], settings: Vec<Patch>) -> Result<Vec<Patch>, Problem> {
    let mut rest = Vec::new();
    for setting in settings {
        let same = |a: &&mut Axis| a.path.as_ref().map_or(a.name == setting.path.to_string(), |p| *p == setting.path);
        match axes.iter_mut().find(same) {
            Some(axis) => choose(axis, &setting)?,
            None => rest.push(setting),
        }
    }
    Ok(rest)
}

fn choose(axis: &mut Axis, setting: &Patch) -> Result<(), Problem> {
    let label = label_of(&setting.node)?;
    let choice = match axis.choices.iter().find(|c| c.label == label) {
        Some(choice) => choice.clone(),
        None if axis.path.is_some() => Choice { label, patches: vec![setting.clone()], called: BTreeMap::new() },
        None => {
            let problem = Problem::new(format!("the axis {} has no value {label:?}", axis.name));
            return Err(problem
                .right(suggest(&label, axis.choices.iter().map(|c| c.label.as_str())))
                .at(&setting.node.at));
        }
    };
    axis.choices = vec![choice];
    Ok(())
}

/// One combination: labels by axis, and the tree with the values set.
#[derive(Debug)]
pub(super) struct Combination {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) tree: Node,
}

/// All combinations; the last axis varies fastest. `settings` take precedence over the axes.
pub(super) fn combinations(base: &Node, axes: &[Axis], settings: &[Patch]) -> Result<Vec<Combination>, Problem> {
    let mut all = vec![Combination { labels: BTreeMap::new(), tree: base.clone() }];
    for axis in axes {
        let mut next = Vec::new();
        for before in &all {
            for choice in &axis.choices {
                let mut labels = before.labels.clone();
                labels.insert(axis.name.clone(), choice.label.clone());
                let mut tree = before.tree.clone();
                choice.patches.iter().try_for_each(|p| p.apply(&mut tree))?;
                next.push(Combination { labels, tree });
            }
        }
        all = next;
    }
    for combination in &mut all {
        settings.iter().try_for_each(|p| p.apply(&mut combination.tree))?;
    }
    Ok(all)
}
