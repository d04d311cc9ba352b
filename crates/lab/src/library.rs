//! Files stored beside the experiments: published values, outcomes of the null test, verdicts.

use std::path::{Path, PathBuf};

use aqmkit_experiment::{Experiment, Problem, Scale, library_files};
use aqmkit_files::{bounded, full, put};
use aqmkit_results::Results;
use aqmkit_study::null_test::{self, Outcomes};
use aqmkit_study::recorded::{self, Records};
use aqmkit_study::verdict;
use aqmkit_study::verdict::Published;

use crate::error::{LabError, wrong};

/// Name of the file with published values.
const PUBLISHED: &str = "published.csv";

/// The published values that an experiment can refer to: those embedded in the program, in the directories of
/// experiments, and in the experiment's own directory.
///
/// # Errors
/// When one of the files is invalid.
pub fn published(exp: &Experiment) -> Result<Published, LabError> {
    let help = "its columns are id, source, where, what, unit, low, high, kind, and perhaps within";
    let mut all = Published::default();
    gather(PUBLISHED, Some(&exp.file), help, |text| Published::parse(text).map(|rows| all.extend(rows)))?;
    Ok(all)
}

/// Like [`published`], after checking the claims of the experiment against them.
///
/// # Errors
/// When one of the files or a claim is invalid.
pub fn checked(exp: &Experiment) -> Result<Published, LabError> {
    let published = published(exp)?;
    if let Err(e) = verdict::check(&exp.expects, &published) {
        return wrong(
            e,
            "a claim needs a row of published.csv: the program's, or one beside the experiment (docs/experiment-format.md)",
        );
    }
    Ok(published)
}

/// The outcomes of the null test: those embedded in the program, in the directories of experiments, and in the
/// directory of `file`, if given.
///
/// # Errors
/// When one of the files is invalid.
pub fn null_test(file: Option<&str>) -> Result<Outcomes, LabError> {
    let help = "aqmkit reproduce --null --record DIR writes it again";
    let mut all = Outcomes::default();
    gather(null_test::FILE, file, help, |text| Outcomes::parse(text).map(|rows| all.extend(rows)))?;
    Ok(all)
}

/// The stored verdicts, from the same places as in [`null_test()`].
///
/// # Errors
/// When one of the files is invalid.
pub fn records() -> Result<Records, LabError> {
    let help = "aqmkit reproduce --record DIR writes it again";
    let mut all = Records::default();
    gather(recorded::FILE, None, help, |text| Records::parse(text).map(|rows| all.extend(rows)))?;
    Ok(all)
}

/// A directory of experiments, for storing outcomes and verdicts.
pub struct Directory(PathBuf);

impl Directory {
    /// Opens a directory that contains published values.
    ///
    /// # Errors
    /// When it contains none.
    pub fn open(path: &Path) -> Result<Directory, LabError> {
        if path.join(PUBLISHED).is_file() {
            return Ok(Directory(path.to_owned()));
        }
        let what = format!("{} has no {PUBLISHED}", path.display());
        wrong(what, "give the directory of the experiments: --record experiments")
    }

    /// Stores the verdicts on an experiment, replacing those of the same scale.
    ///
    /// # Errors
    /// When the file is invalid, or cannot be written.
    pub fn record(&self, results: &Results) -> Result<(), LabError> {
        let mut kept = self.read(recorded::FILE, Records::parse)?;
        kept.replace(Records::of([results]));
        self.write(recorded::FILE, &kept.text()?)
    }

    /// Stores the outcomes of the null test of these experiments at a scale.
    ///
    /// # Errors
    /// When the file is invalid, or cannot be written.
    pub fn record_null_test(&self, scale: Scale, experiments: &[&str], outcomes: Outcomes) -> Result<(), LabError> {
        let mut kept = self.read(null_test::FILE, Outcomes::parse)?;
        kept.replace(scale, experiments, outcomes);
        self.write(null_test::FILE, &kept.text()?)
    }

    fn read<T: Default>(&self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, LabError> {
        let path = self.0.join(name);
        match bounded::text(&path, &bounded::ROWS) {
            Ok(text) => parse(&text).or_else(|e| wrong(format!("{}: {e}", path.display()), "delete it to start again")),
            Err(e) if e.is_missing() => Ok(T::default()),
            Err(e) => Err(Problem::from(e).into()),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), LabError> {
        let path = self.0.join(name);
        put(&path, text).map_err(|e| LabError::unwritten(&e, full::RESULTS, "choose a writable directory"))
    }
}

fn gather(
    name: &str,
    file: Option<&str>,
    help: &str,
    mut take: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), LabError> {
    for (path, text) in library_files(name, file)? {
        if let Err(e) = take(&text) {
            return wrong(format!("{}: {e}", path.display()), help);
        }
    }
    Ok(())
}
