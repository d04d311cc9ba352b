//! The directory of an experiment's results, with every finished run.
//!
//! A run is stored in `runs/<hash>.cbor.zst` under the hash of everything that determines its output, so a finished run
//! is not repeated, whatever else changes in the experiment. Files are replaced atomically and have a checksum. The
//! format is CBOR instead of JSON because a series has NaN for missing values, and numbers must be restored bit by bit.
//! `results.json` has a checksum, too ([`checksum`]), which detects manual changes.

pub mod checksum;
pub mod damage;
pub mod packed;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use aqmkit_files::bounded::{self, Bound, Unread};
use aqmkit_measure::Output;
use aqmkit_results::{Player, Results, RunData};
use checksum::Seal;
use serde::{Deserialize, Serialize};

/// The directory of an experiment's results.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// Why a directory cannot be used for results.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be created or written to.
    #[error("cannot write to {}: {cause}", dir.display())]
    Unwritable {
        /// The directory in question.
        dir: PathBuf,
        /// The I/O error.
        cause: io::Error,
    },
    /// One of its files cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unread),
}

/// The result of looking up a run.
#[derive(Debug)]
pub enum Kept {
    /// The store does not have it.
    Missing,
    /// The stored output.
    Found(Box<Output>),
    /// Its file is damaged, for this reason.
    Broken(String),
}

/// The parameters of each label of the compared axis, as name and value.
pub type Parameters = BTreeMap<String, Vec<(String, String)>>;

/// The contents of `results.json`, and whether it is unchanged since aqmkit wrote it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The parsed results.
    pub results: Results,
    /// Whether the file is unchanged.
    pub seal: Seal,
}

/// Stored runs, read completely.
#[derive(Debug, Default)]
pub struct Runs {
    /// Runs that could be read, with their outputs.
    pub found: Vec<(Listed, Output)>,
    /// Listed runs without a file.
    pub missing: Vec<Listed>,
    /// Runs whose file cannot be read, and why.
    pub broken: Vec<(Listed, String)>,
}

impl Runs {
    /// The runs in the form that reports use.
    #[must_use]
    pub fn data(&self) -> Vec<RunData<'_>> {
        self.found.iter().map(|(listed, output)| RunData { labels: &listed.labels, output }).collect()
    }
}

/// A run and the hash under which it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Labels by axis, `repeat` and `seed`.
    pub labels: BTreeMap<String, String>,
    /// Key in the store.
    pub hash: String,
}

impl Store {
    /// Opens a directory; creates it if necessary.
    ///
    /// # Errors
    /// When it cannot be created or written to.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        let runs = dir.join("runs");
        let probe = fs::create_dir_all(&runs).and_then(|()| tempfile::tempfile_in(&runs));
        match probe {
            Ok(_) => Ok(Store { dir: dir.to_owned() }),
            Err(cause) => Err(StoreError::Unwritable { dir: dir.to_owned(), cause }),
        }
    }

    /// Opens a directory that has results.
    ///
    /// # Errors
    /// When it has none.
    pub fn existing(dir: &Path) -> Result<Store, StoreError> {
        let file = dir.join("results.json");
        match fs::metadata(&file) {
            Ok(_) => Ok(Store { dir: dir.to_owned() }),
            Err(error) => Err(Unread::System { file: file.display().to_string(), error }.into()),
        }
    }

    /// Path of the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the run has a file; its contents are not checked.
    #[must_use]
    pub fn has(&self, hash: &str) -> bool {
        self.run_file(hash).is_file()
    }

    /// Refers to a directory that may not exist, for reading only.
    #[must_use]
    pub fn perhaps(dir: &Path) -> Store {
        Store { dir: dir.to_owned() }
    }

    /// The path of a run's file.
    #[must_use]
    pub(crate) fn run_file(&self, hash: &str) -> PathBuf {
        self.dir.join("runs").join(format!("{hash}.cbor.zst"))
    }

    /// Looks up a run.
    #[must_use]
    pub fn load(&self, hash: &str) -> Kept {
        match fs::File::open(self.run_file(hash)) {
            Ok(file) => packed::read(file).map_or_else(Kept::Broken, |o| Kept::Found(Box::new(o))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Kept::Missing,
            Err(e) => Kept::Broken(e.to_string()),
        }
    }

    /// Stores a run.
    ///
    /// # Errors
    /// When the file cannot be written, or exceeds the size limit for reading it back.
    pub fn save(&self, hash: &str, output: &Output) -> io::Result<()> {
        self.replace(&self.run_file(hash), &packed::pack(output)?)
    }

    /// Stores the list of runs, so that a report can be rebuilt without the experiment.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn save_list(&self, list: &[Listed]) -> io::Result<()> {
        self.replace(&self.dir.join("runs").join("index.json"), &serde_json::to_vec_pretty(list)?)
    }

    /// Stores the parameters of disciplines, so that a report can be rebuilt without the experiment.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save_parameters(&self, parameters: &Parameters) -> io::Result<()> {
        self.replace(&self.dir.join("runs").join("parameters.json"), &serde_json::to_vec_pretty(parameters)?)
    }

    /// Reads the stored parameters; empty if there are none.
    ///
    /// # Errors
    /// When the file cannot be parsed.
    pub fn parameters(&self) -> Result<Parameters, StoreError> {
        match self.read_json("parameters.json", &bounded::NOTES) {
            Err(StoreError::Unreadable(e)) if e.is_missing() => Ok(Parameters::default()),
            other => other,
        }
    }

    /// Stores how the page of `aqmkit play` opens the runs, so that a report can be rebuilt without the experiment.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save_player(&self, player: &Player) -> io::Result<()> {
        self.replace(&self.dir.join("runs").join("player.json"), &serde_json::to_vec(player)?)
    }

    /// Reads how the page of `aqmkit play` opens the runs; empty if it is not stored.
    ///
    /// # Errors
    /// When the file cannot be parsed.
    pub fn player(&self) -> Result<Player, StoreError> {
        match self.read_json("player.json", &bounded::NOTES) {
            Err(StoreError::Unreadable(e)) if e.is_missing() => Ok(Player::default()),
            other => other,
        }
    }

    /// Reads all runs of the stored list.
    ///
    /// # Errors
    /// When the list cannot be parsed.
    pub fn load_list(&self) -> Result<Runs, StoreError> {
        let listed: Vec<Listed> = self.read_json("index.json", &bounded::NOTES)?;
        let mut runs = Runs::default();
        for one in listed {
            match self.load(&one.hash) {
                Kept::Found(output) => runs.found.push((one, *output)),
                Kept::Missing => runs.missing.push(one),
                Kept::Broken(why) => runs.broken.push((one, why)),
            }
        }
        Ok(runs)
    }

    /// Reads the last stored results.
    ///
    /// # Errors
    /// When there are none, or they cannot be parsed.
    pub fn results(&self) -> Result<Stored, StoreError> {
        let file = self.dir.join("results.json");
        let text = bounded::text(&file, &bounded::RESULTS)?;
        let not_json = |e| bounded::not_json(&file.display().to_string(), &e, &bounded::RESULTS);
        let results = serde_json::from_str(&text).map_err(not_json)?;
        Ok(Stored { results, seal: checksum::check(&text) })
    }

    /// The duration of each run in the last results, by its labels without the seed.
    #[must_use]
    pub fn costs(&self) -> BTreeMap<BTreeMap<String, String>, f64> {
        let runs = self.results().map(|stored| stored.results.runs).unwrap_or_default();
        runs.into_iter().map(|e| (cost_key(&e.labels), e.engine.wall_s)).collect()
    }

    /// Reads a file that is stored with the runs.
    fn read_json<T: serde::de::DeserializeOwned>(&self, name: &str, bound: &Bound) -> Result<T, StoreError> {
        Ok(bounded::json(&self.dir.join("runs").join(name), bound)?)
    }

    /// Replaces a file atomically.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".aqmkit-").tempfile_in(path.parent().unwrap_or(&self.dir))?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }
}

/// The key under which a run's cost is stored: its labels without the seed.
#[must_use]
pub(crate) fn cost_key(labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let kept = labels.iter().filter(|(k, _)| *k != "seed" && *k != "window");
    kept.map(|(k, v)| (k.clone(), v.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_measure::output::Series;

    fn output() -> Output {
        let column = vec![1.0, f64::NAN, 0.1 + 0.2];
        let series = Series { interval_s: 1.0, columns: [("x".to_owned(), column)].into() };
        Output { series, exchanges_dropped: 7, ..Output::default() }
    }

    #[test]
    fn a_run_comes_back_bit_by_bit() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("a/b")).unwrap();
        assert!(matches!(store.load("h"), Kept::Missing));
        store.save("h", &output()).unwrap();
        let Kept::Found(back) = store.load("h") else { panic!("not found") };
        assert_eq!(back.exchanges_dropped, 7);
        let bits = |o: &Output| o.series.columns["x"].iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&output()));
    }

    #[test]
    fn a_damaged_run_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        store.save("h", &output()).unwrap();
        let path = store.run_file("h");
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(store.load("h"), Kept::Broken(_)));
        fs::write(&path, b"").unwrap();
        assert!(matches!(store.load("h"), Kept::Broken(_)));
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let error = Store::open(&file.join("results")).unwrap_err().to_string();
        assert!(error.starts_with("cannot write to ") && error.contains("file/results"), "{error}");
        assert!(Store::existing(dir.path()).unwrap_err().to_string().contains("results.json"));
    }
}
