//! Finds experiments: in `./experiments`, in the directory `$AQMKIT_EXPERIMENTS`, and in the copy embedded in the
//! program, in this order.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::embedded::{self, slashed};
use super::problem::Problem;
use aqmkit_base::near::ranked;
use aqmkit_files::bounded::{self, Unread};

/// Name of the directory.
const TREE: &str = "experiments";

/// An experiment that can be run by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Path below the directory, without `.toml`: `cbt/blast`.
    pub id: String,
    /// Title, or the error if the file cannot be parsed.
    pub title: String,
    /// The publication that it reproduces.
    pub source: String,
    /// Path of its file; `None` for the embedded copy.
    pub path: Option<PathBuf>,
}

/// All experiments, by id. One that is in several directories is listed once, with the file that
/// [`super::Experiment::load`] would read.
#[must_use]
pub fn catalogue() -> Vec<CatalogueEntry> {
    let mut found: BTreeMap<String, CatalogueEntry> = BTreeMap::new();
    for root in roots() {
        let mut files = Vec::new();
        list(&root, &mut files);
        for path in files {
            let id = id_below(&root, &path);
            let text = bounded::text(&path, &bounded::EXPERIMENT);
            found.entry(id.clone()).or_insert_with(|| match text {
                Ok(text) => describe(id, &text, Some(path)),
                Err(e) => unreadable(id, &e, path),
            });
        }
    }
    for (path, text) in embedded::experiments() {
        let id = path.trim_end_matches(".toml").to_owned();
        found.entry(id.clone()).or_insert_with(|| describe(id, text, None));
    }
    found.into_values().collect()
}

/// All files with this name, such as `published.csv`, with their contents: the embedded one, those in the experiment
/// directories, and the one beside the experiment file. The nearest one comes last.
///
/// # Errors
/// When one exists but cannot be read.
pub fn library_files(name: &str, experiment: Option<&str>) -> Result<Vec<(PathBuf, String)>, Problem> {
    let embedded = embedded_text(name);
    let mut found: Vec<_> = embedded.map(|text| (Path::new(TREE).join(name), text.to_owned())).into_iter().collect();
    let beside = experiment.map(|file| Path::new(file).parent().unwrap_or(Path::new("")).to_owned());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in roots().into_iter().rev().chain(beside) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    for path in folders.into_iter().map(|f| f.join(name)) {
        match bounded::text(&path, &bounded::ROWS) {
            Ok(text) => found.push((path, text)),
            Err(_) if !path.is_file() => {
                let within = path.strip_prefix(TREE).ok().and_then(|below| embedded_text(&slashed(below)));
                found.extend(within.map(|text| (path.clone(), text.to_owned())));
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok(found)
}

/// Name and text of an experiment's file, found by id or path.
///
/// # Errors
/// When there is no such experiment, or it cannot be read.
pub fn find(name_or_path: &str) -> Result<(String, String), Problem> {
    let path = Path::new(name_or_path);
    if path.extension().is_some_and(|e| e == "toml") || path.is_file() {
        return Ok((name_or_path.to_owned(), bounded::text(path, &bounded::EXPERIMENT)?));
    }
    let file = format!("{name_or_path}.toml");
    for root in roots() {
        let candidate = root.join(&file);
        match bounded::text(&candidate, &bounded::EXPERIMENT) {
            Ok(text) => return Ok((candidate.to_string_lossy().into_owned(), text)),
            Err(_) if !candidate.is_file() => {}
            Err(e) => return Err(e.into()),
        }
    }
    match embedded_text(&file) {
        Some(text) => Ok((format!("{TREE}/{file}"), text.to_owned())),
        None => {
            let problem = Problem::new(format!("no experiment is called {name_or_path:?}"));
            Err(problem.right(nearest(name_or_path, &catalogue())))
        }
    }
}

/// Number of suggestions for an unknown experiment.
const OFFERED: usize = 3;

/// Help for an unknown experiment: the closest ids, from the same study if it exists.
fn nearest(name: &str, known: &[CatalogueEntry]) -> String {
    let study = name.split_once('/').map(|(study, _)| format!("{study}/"));
    let all = || known.iter().map(|e| e.id.as_str());
    let study = study.filter(|study| all().any(|id| id.starts_with(study.as_str()))).unwrap_or_default();
    let offered: Vec<&str> = ranked(name, all().filter(|id| id.starts_with(&study))).take(OFFERED).collect();
    let list = "`aqmkit list experiments` lists them";
    if offered.is_empty() { list.to_owned() } else { format!("the closest are {}; {list}", offered.join(", ")) }
}

/// An embedded file, by its path from `experiments/` on, which may contain `..`.
pub(super) fn embedded(path: &Path) -> Option<&'static [u8]> {
    embedded::file(without_parents(path).strip_prefix(TREE).ok()?)
}

/// The path with `..` resolved, because the embedded tree has no such entries.
fn without_parents(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            resolved.pop();
        } else {
            resolved.push(part);
        }
    }
    resolved
}

/// The id of an experiment: the path of its file after `experiments/`, or else the file's name.
pub(super) fn id_of(file_name: &str) -> String {
    let path = Path::new(file_name).with_extension("");
    let parts: Vec<_> = path.components().collect();
    let after = parts.iter().rposition(|c| *c == Component::Normal(TREE.as_ref())).map(|i| &parts[i + 1..]);
    match after {
        Some(rest) if !rest.is_empty() => slashed(&rest.iter().collect::<PathBuf>()),
        _ => path.file_name().map_or_else(|| file_name.to_owned(), |n| n.to_string_lossy().into_owned()),
    }
}

fn roots() -> Vec<PathBuf> {
    let named = std::env::var_os("AQMKIT_EXPERIMENTS").map(PathBuf::from);
    [PathBuf::from(TREE)].into_iter().chain(named).collect()
}

fn id_below(root: &Path, path: &Path) -> String {
    slashed(&path.strip_prefix(root).unwrap_or(path).with_extension(""))
}

/// Adds the experiment files below a directory to `files`; skips directories that cannot be read.
fn list(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        // Symbolic links to directories are not followed: they could form a cycle.
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            list(&path, files);
        } else if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
}

/// The text of an embedded file, by its path below `experiments`.
fn embedded_text(name: &str) -> Option<&'static str> {
    embedded::file(Path::new(name)).and_then(|bytes| std::str::from_utf8(bytes).ok())
}

fn describe(id: String, text: &str, path: Option<PathBuf>) -> CatalogueEntry {
    let table = text.parse::<toml::Table>();
    let field = |key: &str| match &table {
        Ok(table) => table.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned(),
        Err(e) if key == "title" => format!("does not read: {}", e.message()),
        Err(_) => String::new(),
    };
    CatalogueEntry { title: field("title"), source: field("source"), id, path }
}

/// The entry of an experiment whose file cannot be parsed.
fn unreadable(id: String, error: &Unread, path: PathBuf) -> CatalogueEntry {
    CatalogueEntry { title: format!("does not read: {error}"), source: String::new(), id, path: Some(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "library")]
    fn embedded_files_are_found_from_beside_another_study() {
        assert!(embedded(Path::new("experiments/media/../models/cellular.down")).is_some());
        assert_eq!(embedded(Path::new("experiments/../Cargo.toml")), None);
        assert_eq!(embedded(Path::new("experiments/models/none.down")), None);
    }

    #[test]
    fn the_help_for_an_unknown_experiment_lists_its_study() {
        let entry = |id: &str| CatalogueEntry { id: id.to_owned(), title: "".into(), source: "".into(), path: None };
        let known = ["cbt/blast", "cbt/ramp", "dcn/targets"].map(entry);
        let listed = "`aqmkit list experiments` lists them";
        assert_eq!(nearest("cbt/blats", &known), format!("the closest are cbt/blast, cbt/ramp; {listed}"));
        assert!(nearest("ctb/ramp", &known).starts_with("the closest are cbt/ramp, "));
        assert_eq!(nearest("cbt/blast", &[]), listed);
    }

    #[test]
    fn the_id_is_the_path_below_experiments() {
        assert_eq!(id_of("experiments/cbt/blast.toml"), "cbt/blast");
        assert_eq!(id_of("/home/me/experiments/a/experiments/b.toml"), "b");
        assert_eq!(id_of("/tmp/mine.toml"), "mine");
        assert_eq!(id_of("mine"), "mine");
    }
}
