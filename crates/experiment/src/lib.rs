//! Experiment files: from TOML to a plan. `docs/experiment-format.md` is the format.
//!
//! | module | holds |
//! |---|---|
//! | `tree`, `path`, `patch` | the file as values with their locations in the text; changes by path |
//! | `read`, `shape`, `keys` | from values to types, with errors that point to the text; what each key applies to |
//! | `sweep`, `skip` | axes and combinations; combinations that are left out |
//! | `resolve`, `network`, `link`, `rate`, `wire`, `group`, `queue`, `delays`, `transport` | checks and converts the tables of one combination |
//! | `changes` | changes of settings during a run |
//! | `load`, `calibration` | loads to offer; trial runs that find the population for a load |
//! | `without_scheme` | removes the scheme under study, for the null test |
//! | `plan`, `scenario` | the runs, and the simulator's scenario of each |
//! | `editable`, `outline` | a run that is changed while it is simulated; its links and traffic |
//! | `expect`, `expect_table`, `order`, `metric`, `exchanges`, `response` | claims about published values |
//! | `predict`, `figure`, `overview` | predictions by equations; figures of the report; its matrix of small plots |
//! | `catalogue`, `embedded`, `files`, `recording` | the places of experiments and their data; captures that are replayed as traffic |
//! | `catalogues` | names of disciplines, controls, stacks and traffic models |
//! | `setting` | the settings of an experiment in words, for reports |
//! | `problem` | errors: what is wrong, where, and how to correct it |

#![forbid(unsafe_code)]

mod calibration;
mod catalogue;
mod catalogues;
mod changes;
mod delays;
mod digest;
mod driver;
mod editable;
mod effort;
mod embedded;
pub mod engine;
mod exchanges;
mod expect;
mod expect_table;
mod figure;
mod files;
mod group;
mod keys;
mod link;
mod link_keys;
mod load;
mod metric;
mod network;
pub mod number;
mod order;
mod outline;
mod overview;
mod patch;
mod path;
mod plan;
mod predict;
mod problem;
mod queue;
mod rate;
mod read;
mod recording;
mod resolve;
mod response;
mod scenario;
mod schema;
mod scope;
#[cfg(feature = "claims")]
mod setting;
mod shape;
mod skip;
mod sweep;
mod transport;
mod tree;
mod varying;
mod warnings;
mod wire;
mod without_scheme;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aqmkit_files::bounded;

pub use calibration::{Calibration, Trial};
pub use catalogue::{CatalogueEntry, catalogue, find, library_files};
pub use catalogues::Catalogues;
pub use digest::digest;
pub use editable::{AppliedChange, EditableRun, Portable};
pub use exchanges::{Exchanges, Quantity};
pub use expect::Expect;
pub use metric::{OVER, PLUS};
pub use order::{Bound, Compare, OrderChain, Relation, Statistic};
pub use outline::{GroupOutline, LinkOutline, Outline};
pub use plan::{RunSpec, Seeds};
pub use problem::{Location, Problem};
pub use recording::recorded_capture;
pub use resolve::Window;
pub use response::Response;
pub use schema::schema;
pub use warnings::doubts;

use expect::read_expects;
use expect_table::read_tables;
use figure::read_figures;
use files::Files;
use keys::{is_of_the_file, is_of_the_results};
use overview::read_overview;
use patch::Patch;
use predict::{check_plotted, read_predictions};
use problem::Text;
use resolve::{Resolved, read_root, resolve};
use scope::Scope;
use skip::Skip;
use sweep::{Axis, Combination, check_apart, combinations, narrow, read_axes};
use tree::{Entry, Node, Value};
use warnings::warnings;
use without_scheme::Without;

/// Whether to run an experiment as published or shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// With the changes of `[quick]`.
    Quick,
    /// As published.
    #[default]
    Full,
}

impl Scale {
    /// The name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Full => "full",
        }
    }
}

/// Changes to an experiment by the command line.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Settings `path=value`, such as `topology.aqm.limit=240`.
    pub set: Vec<String>,
    /// Replaces the experiment's seed.
    pub seed: Option<u64>,
    /// Replaces the number of repeats.
    pub repeat: Option<u32>,
    /// Quick or full.
    pub scale: Scale,
    /// Removes the scheme under study, for the null test.
    pub without_scheme: bool,
    /// Directory with the published distributions of `http-unc`, for traffic of that kind without `data`.
    pub unc_data: Option<String>,
}

/// A checked experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Path below `experiments/` without `.toml`, or the file's name.
    pub id: String,
    /// Path of its file; `experiments/…` for the embedded copy.
    pub file: String,
    /// Title of the report.
    pub title: String,
    /// The publication that it reproduces.
    pub source: String,
    /// An introduction for the report, in Markdown.
    pub about: String,
    /// Additional columns of the time series to plot.
    pub plot: Vec<String>,
    /// Axes of the sweep.
    pub axes: Vec<aqmkit_results::Axis>,
    /// Published values that it claims to reproduce.
    pub expects: Vec<Expect>,
    /// Published tables whose cells are among the claims.
    pub tables: Vec<aqmkit_results::Table>,
    /// Predictions by equations, drawn into plots of time series.
    pub predictions: Vec<aqmkit_results::Overlay>,
    /// The matrix of small plots in the report.
    pub overview: Option<aqmkit_results::Overview>,
    /// Figures of a paper to reproduce in the report.
    pub figures: Vec<aqmkit_results::Figure>,
    /// Windows of the results: the union over all combinations.
    pub windows: Vec<Window>,
    /// Number of runs of each combination.
    pub repeat: u32,
    /// Base seed from which the seeds of runs are derived.
    pub seed: u64,
    /// Which combinations share seeds.
    pub seeds: Seeds,
    /// Quick or full.
    pub scale: Scale,
    /// Warnings: valid settings that are probably a mistake.
    pub warnings: Vec<Problem>,
    /// The text that it was parsed from, and the changes of the command line.
    origin: Arc<(String, Overrides)>,
    runs: Vec<(BTreeMap<String, String>, Arc<Resolved>)>,
}

impl Experiment {
    /// Reads an experiment by its id, such as `cbt/blast`, or by the path of its file. An id is looked up in
    /// `./experiments`, in the directory `$AQMKIT_EXPERIMENTS`, and in the embedded copy.
    ///
    /// # Errors
    /// When there is none, and those of [`Experiment::parse`].
    pub fn load(name_or_path: &str, overrides: &Overrides) -> Result<Experiment, Problem> {
        Self::load_with(name_or_path, overrides, &Catalogues::default())
    }

    /// Like [`Experiment::load`], with these catalogues.
    ///
    /// # Errors
    /// Those of [`Experiment::load`].
    pub fn load_with(
        name_or_path: &str,
        overrides: &Overrides,
        catalogues: &Catalogues,
    ) -> Result<Experiment, Problem> {
        let (file_name, text) = find(name_or_path)?;
        Self::parse_with(&file_name, &text, overrides, catalogues)
    }

    /// Parses the text of an experiment; `file_name` is its name in messages.
    ///
    /// Both scales are checked, as published and with `[quick]`, whichever is requested.
    ///
    /// # Errors
    /// The first error, with its location.
    pub fn parse(file_name: &str, text: &str, overrides: &Overrides) -> Result<Experiment, Problem> {
        Self::parse_with(file_name, text, overrides, &Catalogues::default())
    }

    /// Like [`Experiment::parse`], with these catalogues.
    ///
    /// # Errors
    /// Those of [`Experiment::parse`].
    pub fn parse_with(
        file_name: &str,
        text: &str,
        overrides: &Overrides,
        catalogues: &Catalogues,
    ) -> Result<Experiment, Problem> {
        bounded::check(file_name, text, &bounded::EXPERIMENT)?;
        let document = Node::document(&Text::new(file_name, text))?;
        Self::of_document(file_name, document, text.to_owned(), overrides, catalogues)
    }

    /// Checks an experiment that a program has built, as [`Experiment::parse_with`] does with a text. Errors have no
    /// location; `name` is used instead of the file's name.
    ///
    /// # Errors
    /// The first error.
    pub fn from_table(
        name: &str,
        table: &toml::Table,
        overrides: &Overrides,
        catalogues: &Catalogues,
    ) -> Result<Experiment, Problem> {
        Self::of_document(name, Node::of_table(table), table.to_string(), overrides, catalogues)
    }

    /// Builds the experiment from a document that was parsed from `text`.
    fn of_document(
        file_name: &str,
        document: Node,
        text: String,
        overrides: &Overrides,
        catalogues: &Catalogues,
    ) -> Result<Experiment, Problem> {
        let document = with_unc_data(document, overrides);
        let files = Files::beside(file_name, catalogues);
        let full = Variant::of(&document, &[], &files)?;
        let without = Without::of(&document)?;
        full.check_without(&without, &files)?;
        let scope = full.scope();
        // Claims and figures only concern results; they are ignored without the feature.
        let claimed = |key: &str| if cfg!(feature = "claims") { document.get(key) } else { None };
        let mut expects = match claimed("expect") {
            Some(list) => read_expects(list, &scope)?,
            None => Vec::new(),
        };
        let mut tables = Vec::new();
        if let Some(list) = claimed("expect_table") {
            for (table, cells) in read_tables(list, &scope)? {
                tables.push(table);
                expects.extend(cells);
            }
        }
        let predictions = match claimed("predict") {
            Some(list) => read_predictions(list, &scope)?,
            None => Vec::new(),
        };
        let overview = claimed("overview").map(|node| read_overview(node, &scope)).transpose()?;
        let figures = claimed("figure").map_or(Ok(Vec::new()), |list| read_figures(list, &scope))?;
        let quick = match document.get("quick") {
            Some(changes) => Some(Variant::of(&shortened(&document, changes)?, &[], &files)?),
            None => None,
        };
        let mut variant = match overrides.scale {
            Scale::Full => full,
            Scale::Quick => quick.unwrap_or(full),
        };
        if !overrides.set.is_empty() {
            let settings = overrides.set.iter().map(|s| Patch::from_argument(s)).collect::<Result<Vec<_>, _>>()?;
            variant = Variant::of(&variant.document, &settings, &files)?;
        }
        if overrides.without_scheme {
            variant = variant.without(&without, &files)?;
        }
        check_plot(&variant, &scope)?;
        let experiment = variant.experiment(catalogue::id_of(file_name), overrides)?;
        let origin = Arc::new((text, overrides.clone()));
        let file = file_name.to_owned();
        Ok(Experiment { file, expects, tables, predictions, overview, figures, origin, ..experiment })
    }

    /// The runs: every combination and repeat, with the repeats of a combination consecutive.
    #[must_use]
    pub fn plan(&self) -> Vec<RunSpec> {
        let repeats = |(labels, run): &(BTreeMap<String, String>, Arc<Resolved>)| {
            let seed = self.seeds.of_cell(self.seed, labels);
            (1..=self.repeat).map(|r| RunSpec::new(labels, run, seed, r)).collect::<Vec<_>>()
        };
        self.runs.iter().flat_map(repeats).collect()
    }

    /// The settings of the experiment in words: link, round trip, buffer, traffic, hosts, control, ECN and times.
    #[cfg(feature = "claims")]
    #[must_use]
    pub fn setting(&self) -> Vec<aqmkit_results::Fact> {
        setting::setting(self.runs.iter().map(|(_, run)| &**run))
    }

    /// The congestion control of each class whose TCP flows have the same one in all runs; empty unless classes differ.
    #[cfg(feature = "claims")]
    #[must_use]
    pub fn controls(&self) -> BTreeMap<String, String> {
        setting::controls(self.runs.iter().map(|(_, run)| &**run))
    }

    /// A hash of everything that determines the results of all runs.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for run in self.plan() {
            hasher.update(run.hash.as_bytes());
        }
        hasher.finalize().to_string()
    }
}

/// Upper limit for the number of runs; more are probably a mistake.
const MAX_RUNS: usize = 1_000_000;

/// Applies the changes of `[quick]` to the document.
fn shortened(document: &Node, changes: &Node) -> Result<Node, Problem> {
    if !changes.is_table() {
        return Err(Problem::new("quick is not a table")
            .right("write [quick] with the changes below it")
            .at(&changes.at));
    }
    let mut tree = document.without(&["quick"]);
    for patch in Patch::from_table(changes, &[])? {
        if is_of_the_results(patch.path.root()) {
            let problem = Problem::new(format!("{} cannot be changed by [quick]", patch.path.root()));
            return Err(problem.right("both scales claim the same published values").at(&patch.at));
        }
        patch.apply(&mut tree)?;
    }
    Ok(tree)
}

/// Sets the directory of the published distributions for each `http-unc` that has no `data`.
fn with_unc_data(mut document: Node, overrides: &Overrides) -> Node {
    let (Some(directory), Value::Table(entries)) = (&overrides.unc_data, &mut document.value) else { return document };
    let traffic = entries.iter_mut().filter(|e| e.key == "traffic");
    let lists = traffic.filter_map(|e| if let Value::Array(nodes) = &mut e.node.value { Some(nodes) } else { None });
    for node in lists.flatten() {
        if node.get("kind").and_then(Node::as_str) != Some("http-unc") || node.get("data").is_some() {
            continue;
        }
        let at = node.at.clone();
        if let Value::Table(keys) = &mut node.value {
            keys.push(Entry { key: "data".to_owned(), node: Node::string(&at, directory), at });
        }
    }
    document
}

/// Checks that the columns in `plot` exist at the chosen scale or in the published experiment.
fn check_plot(variant: &Variant, published: &Scope) -> Result<(), Problem> {
    let list = variant.document.get("plot");
    let own = variant.scope();
    let one = |(i, column): (usize, &String)| {
        let found = check_plotted(column, &published.names);
        let found = found.or_else(|e| check_plotted(column, &own.names).map_err(|_| e));
        found.map_err(|e| match list {
            Some(list) => e.at(&list.elements().get(i).unwrap_or(list).at),
            None => e,
        })
    };
    variant.root.plot.iter().enumerate().try_for_each(one)
}

/// The experiment with one set of changes, and every combination resolved.
struct Variant {
    document: Node,
    root: shape::Root,
    axes: Vec<Axis>,
    /// The trees of all combinations; those with topology and traffic have a run.
    combinations: Vec<Combination>,
    runs: Vec<(BTreeMap<String, String>, Arc<Resolved>)>,
}

impl Variant {
    /// The experiment with the scale and settings of the command line, before its scheme is removed.
    fn of_overrides(document: &Node, overrides: &Overrides, files: &Files) -> Result<Variant, Problem> {
        let document = match (overrides.scale, document.get("quick")) {
            (Scale::Quick, Some(changes)) => shortened(document, changes)?,
            _ => document.clone(),
        };
        let document = with_unc_data(document, overrides);
        let settings = overrides.set.iter().map(|s| Patch::from_argument(s)).collect::<Result<Vec<_>, _>>()?;
        Variant::of(&document, &settings, files)
    }

    fn of(document: &Node, settings: &[Patch], files: &Files) -> Result<Variant, Problem> {
        let mut document = document.clone();
        let (early, late): (Vec<Patch>, Vec<Patch>) =
            settings.iter().cloned().partition(|s| is_of_the_file(s.path.root()));
        early.iter().try_for_each(|s| s.apply(&mut document))?;
        let root = read_root(&document)?;
        let mut axes = document.get("sweep").map_or(Ok(Vec::new()), read_axes)?;
        check_apart(&document, &axes)?;
        let skip = document.get("sweep").map_or(Ok(Skip::default()), |sweep| Skip::read(sweep, &axes))?;
        let late = narrow(&mut axes, late)?;
        let mut all = combinations(&document, &axes, &late)?;
        all.retain(|combination| !skip.has(&combination.labels));
        if all.is_empty() {
            return Err(Problem::new("skip removes all combinations").right("leave out fewer"));
        }
        let resolved = all.iter().map(|c| {
            let run = resolve(&c.tree, files).map_err(|e| locate(e, c, &all, files))?;
            Ok(run.map(|run| (c.labels.clone(), Arc::new(run))))
        });
        let named = |(mut labels, run): (BTreeMap<String, String>, Arc<Resolved>)| {
            // Without a sweep the label names the discipline, for tables and legends.
            if axes.is_empty() {
                labels.insert("aqm".to_owned(), run.links[run.measured].aqm.name().to_owned());
            }
            (labels, run)
        };
        let runs = resolved.collect::<Result<Vec<_>, Problem>>()?.into_iter().flatten().map(named).collect();
        Ok(Variant { document, root, axes, combinations: all, runs })
    }

    /// Checks the changes of `[null]`, so that mistakes are reported before the null test.
    fn check_without(&self, without: &Without, files: &Files) -> Result<(), Problem> {
        let Without::Changes(_) = without else { return Ok(()) };
        for combination in &self.combinations {
            let mut tree = combination.tree.clone();
            without.change(&mut tree)?;
            resolve(&tree, files)?;
        }
        Ok(())
    }

    /// Removes the scheme under study from all combinations.
    fn without(mut self, without: &Without, files: &Files) -> Result<Variant, Problem> {
        for ((_, run), combination) in self.runs.iter_mut().zip(&mut self.combinations) {
            without.change(&mut combination.tree)?;
            if let Some(mut changed) = resolve(&combination.tree, files)? {
                without.replace(&mut changed, &combination.tree)?;
                *run = Arc::new(changed);
            }
        }
        Ok(self)
    }

    /// The names that claims can refer to.
    fn scope(&self) -> Scope {
        let mut scope = Scope::of_axes(&self.axes);
        let mut add = |list: fn(&mut Scope) -> &mut Vec<String>, name: &str| {
            let list = list(&mut scope);
            if !list.iter().any(|n| n == name) {
                list.push(name.to_owned());
            }
        };
        for (_, run) in &self.runs {
            run.windows.iter().for_each(|w| add(|s| &mut s.windows, &w.name));
            run.classes.iter().for_each(|c| add(|s| &mut s.names.classes, c));
            run.groups.iter().for_each(|g| add(|s| &mut s.names.apps, &g.name));
            run.links.iter().filter(|l| l.report).for_each(|l| add(|s| &mut s.names.links, &l.name));
        }
        for group in self.runs.iter().flat_map(|(_, run)| &run.groups) {
            // `None` if kinds are not declared; an empty list if there are none.
            let Some(kinds) = group.exchange_kinds() else { continue };
            let known = scope.names.kinds.entry(group.name.clone()).or_default();
            known.extend(
                kinds
                    .iter()
                    .filter(|kind| !known.iter().any(|k| k == *kind))
                    .map(ToString::to_string)
                    .collect::<Vec<_>>(),
            );
        }
        scope
    }

    /// Builds the experiment, without claims and predictions.
    fn experiment(self, id: String, overrides: &Overrides) -> Result<Experiment, Problem> {
        let repeat = overrides.repeat.unwrap_or(self.root.repeat);
        if repeat == 0 || self.runs.len().saturating_mul(repeat as usize) > MAX_RUNS {
            let problem = Problem::new(format!("{} combinations with {repeat} repeats each", self.runs.len()));
            return Err(problem.right(format!("an experiment must have 1 to {MAX_RUNS} runs")));
        }
        let mut windows: Vec<Window> = Vec::new();
        for window in self.runs.iter().flat_map(|(_, run)| &run.windows) {
            if !windows.iter().any(|w| w.name == window.name) {
                windows.push(window.clone());
            }
        }
        let labels = |a: &Axis| a.choices.iter().map(|c| c.label.clone()).collect();
        Ok(Experiment {
            id,
            file: String::new(),
            title: self.root.title,
            source: self.root.source,
            about: self.root.about,
            plot: self.root.plot,
            axes: self.axes.iter().map(|a| aqmkit_results::Axis { name: a.name.clone(), labels: labels(a) }).collect(),
            expects: Vec::new(),
            tables: Vec::new(),
            predictions: Vec::new(),
            overview: None,
            figures: Vec::new(),
            windows,
            repeat,
            seed: overrides.seed.unwrap_or(self.root.seed),
            seeds: self.root.seeds,
            scale: overrides.scale,
            origin: Arc::default(),
            warnings: warnings(self.combinations.iter().map(|c| &c.tree), self.runs.iter().map(|(_, run)| &**run)),
            runs: self.runs,
        })
    }
}

/// Adds the affected combinations to a problem: the axes that it depends on, with the labels of this combination.
fn locate(problem: Problem, combination: &Combination, all: &[Combination], files: &Files) -> Problem {
    let mut there: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut possible = there.clone();
    for c in all {
        let same = resolve(&c.tree, files).is_err_and(|e| e.is_same(&problem));
        for (axis, label) in &c.labels {
            possible.entry(axis).or_default().insert(label);
            there.entry(axis).or_default().extend(same.then_some(label.as_str()));
        }
    }
    let matter = combination.labels.iter().filter(|(axis, _)| there.get(axis.as_str()) != possible.get(axis.as_str()));
    problem.occurring(matter.map(|(axis, label)| (axis.clone(), label.clone())).collect())
}
