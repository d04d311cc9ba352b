//! Data files that traffic models and links read: traces beside the experiment.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aqmkit_flows::traffic::model::{Population, TrafficError};
use aqmkit_flows::traffic::registry::Spec;

use super::catalogue::embedded;
use super::problem::Problem;
use super::rate::{Varying, parse_trace};

/// Where data files lie, and what was read of them: the combinations of a sweep share it.
pub(super) struct Files {
    beside: PathBuf,
    texts: RefCell<BTreeMap<String, String>>,
    populations: RefCell<Vec<(Spec, Arc<dyn Population>)>>,
    traces: RefCell<BTreeMap<String, Varying>>,
}

impl Files {
    /// Files are looked for beside the experiment file, then in the embedded tree.
    pub(super) fn beside(experiment: &str) -> Self {
        let beside = Path::new(experiment).parent().unwrap_or(Path::new("")).to_path_buf();
        Files { beside, texts: RefCell::default(), populations: RefCell::default(), traces: RefCell::default() }
    }

    /// The text of a file.
    pub(super) fn read(&self, name: &str) -> Result<String, Problem> {
        if let Some(text) = self.texts.borrow().get(name) {
            return Ok(text.clone());
        }
        let path = self.beside.join(name);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) => embedded(&path).map(str::to_owned).ok_or_else(|| {
                Problem::new(format!("{} cannot be read: {e}", path.display()))
                    .right("files are looked for beside the experiment file")
            })?,
        };
        self.texts.borrow_mut().insert(name.to_owned(), text.clone());
        Ok(text)
    }

    /// The trace of a link's rate, read once for all combinations.
    pub(super) fn trace(&self, name: &str) -> Result<Varying, Problem> {
        if let Some(trace) = self.traces.borrow().get(name) {
            return Ok(trace.clone());
        }
        let trace = parse_trace(name, &self.read(name)?)?;
        self.traces.borrow_mut().insert(name.to_owned(), trace.clone());
        Ok(trace)
    }

    /// The model that these parameters make, once for all combinations.
    pub(super) fn population(&self, spec: &Spec, texts: &[String]) -> Result<Arc<dyn Population>, TrafficError> {
        if let Some((_, made)) = self.populations.borrow().iter().find(|(s, _)| s == spec) {
            return Ok(Arc::clone(made));
        }
        let made: Arc<dyn Population> = Arc::from(spec.prepare(texts)?);
        self.populations.borrow_mut().push((spec.clone(), Arc::clone(&made)));
        Ok(made)
    }
}
