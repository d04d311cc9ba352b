//! Data files of traffic models and links, such as traces, in the directory of the experiment.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aqmkit_files::bounded::{self, Bound};
use aqmkit_traffic::model::{Data, Format, ParamError, Population};
use aqmkit_traffic::registry::Spec;

use super::catalogue::embedded;
use super::catalogues::Catalogues;
use super::problem::Problem;
use super::recording::recorded_capture;
use super::varying::{Varying, parse_trace};

/// The catalogues, and a cache of data files that all combinations of a sweep share.
pub(super) struct Files {
    pub(super) catalogues: Catalogues,
    beside: PathBuf,
    data: RefCell<BTreeMap<String, (Data, String)>>,
    populations: RefCell<Vec<(Spec, Arc<dyn Population>)>>,
    traces: RefCell<BTreeMap<String, Varying>>,
}

impl Files {
    /// Looks for files in the directory of the experiment file, then in the embedded tree.
    pub(super) fn beside(experiment: &str, catalogues: &Catalogues) -> Self {
        let beside = Path::new(experiment).parent().unwrap_or(Path::new("")).to_path_buf();
        let (data, populations, traces) = Default::default();
        Files { catalogues: catalogues.clone(), beside, data, populations, traces }
    }

    /// Reads a text file of limited size.
    fn read(&self, name: &str, bound: &Bound) -> Result<String, Problem> {
        let path = self.beside.join(name);
        let called = path.display().to_string();
        let text = match (File::open(&path), embedded(&path)) {
            (Ok(file), _) => bounded::text_of_file(&called, file, bound),
            (Err(_), Some(bytes)) => bounded::text_of(&called, bytes, bound),
            (Err(e), None) => return Err(unreadable(&path, &e)),
        };
        text.map_err(Problem::from)
    }

    /// Reads a file in ISO 8859-1 of limited size.
    fn read_latin1(&self, name: &str, bound: &Bound) -> Result<String, Problem> {
        let (path, file) = self.open(name)?;
        Ok(bounded::latin1_of(&path.display().to_string(), file, bound)?)
    }

    /// Opens a file, beside the experiment or embedded.
    fn open(&self, name: &str) -> Result<(PathBuf, Box<dyn Read + Send>), Problem> {
        let path = self.beside.join(name);
        match (File::open(&path), embedded(&path)) {
            (Ok(file), _) => Ok((path, Box::new(file))),
            (Err(_), Some(bytes)) => Ok((path, Box::new(bytes))),
            (Err(e), None) => Err(unreadable(&path, &e)),
        }
    }

    /// The contents of a traffic's data file, and their hash; read once for all combinations.
    pub(super) fn data(&self, name: &str, spec: &Spec) -> Result<(Data, String), Problem> {
        if let Some(data) = self.data.borrow().get(name) {
            return Ok(data.clone());
        }
        let (data, hash) = match spec.format() {
            Format::Text => {
                let text = self.read(name, bounded::of_traffic(spec.name()))?;
                let hash = blake3::hash(text.as_bytes()).to_string();
                (Data::Text(Arc::new(text)), hash)
            }
            Format::Latin1 => {
                let text = self.read_latin1(name, bounded::of_traffic(spec.name()))?;
                let hash = blake3::hash(text.as_bytes()).to_string();
                (Data::Text(Arc::new(text)), hash)
            }
            Format::Capture => {
                let (path, file) = self.open(name)?;
                let (recording, hash) = recorded_capture(&path.display().to_string(), file)?;
                (Data::Capture(Arc::new(recording)), hash)
            }
        };
        self.data.borrow_mut().insert(name.to_owned(), (data.clone(), hash.clone()));
        Ok((data, hash))
    }

    /// The trace of a link's rate; read once for all combinations.
    pub(super) fn trace(&self, name: &str) -> Result<Varying, Problem> {
        if let Some(trace) = self.traces.borrow().get(name) {
            return Ok(trace.clone());
        }
        let trace = parse_trace(name, &self.read(name, &bounded::RATES)?)?;
        self.traces.borrow_mut().insert(name.to_owned(), trace.clone());
        Ok(trace)
    }

    /// The population for these parameters; prepared once for all combinations.
    pub(super) fn population(&self, spec: &Spec, data: &[Data]) -> Result<Arc<dyn Population>, ParamError> {
        if let Some((_, made)) = self.populations.borrow().iter().find(|(s, _)| s == spec) {
            return Ok(Arc::clone(made));
        }
        let made: Arc<dyn Population> = Arc::from(spec.prepare(data)?);
        self.populations.borrow_mut().push((spec.clone(), Arc::clone(&made)));
        Ok(made)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("{} cannot be read: {error}", path.display()))
        .right("file names are relative to the experiment file")
}
