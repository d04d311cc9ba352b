//! Estimates a path from files of measurements, and reads such estimates.

use std::fs::File;
use std::path::{Path, PathBuf};

use aqmkit_base::{BitRate, Rates};
use aqmkit_estimate::{Estimate, Given, Measured, Trial, estimate, read};
use aqmkit_experiment::Problem;
use aqmkit_files::bounded;

use crate::error::{LabError, wrong};

/// A request to estimate a path.
#[derive(Clone, Debug, Default)]
pub struct Inquiry {
    /// The files of one test.
    pub files: Vec<PathBuf>,
    /// When the load ran, as `20s..50s` since the first packet of the ping log.
    pub load: Option<(f64, f64)>,
    /// The result of a speed test.
    pub rate: Option<BitRate>,
}

/// Reads the files and estimates the path.
///
/// # Errors
/// When a file cannot be read or is no measurement, or the files cannot be placed on one time axis.
pub fn measure(inquiry: &Inquiry) -> Result<Estimate, LabError> {
    let mut files = Vec::new();
    for path in &inquiry.files {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            let problem = Problem::new(format!("{name} cannot be read: {error}"));
            LabError::from(problem.right("give files of one test: flent, irtt, iperf3 or ping, or a capture"))
        })?;
        files.push(read(&name, file).or_else(|error| wrong(error.what, error.right))?);
    }
    let rate_bps = inquiry.rate.map(|rate| rate.as_bps() as f64);
    let trial = Trial::of(files, Given { load: inquiry.load, rate_bps, ..Given::default() });
    Ok(estimate(&trial.or_else(|error| wrong(error.what, error.right))?))
}

/// Reads an estimate that `aqmkit measure` has written.
///
/// # Errors
/// When it cannot be read, is no estimate, or has no rate.
pub fn measured(path: &Path) -> Result<(Measured, Rates), LabError> {
    let name = path.display().to_string();
    let text = bounded::text(path, &bounded::MEASURED).map_err(Problem::from)?;
    let measured = Measured::parse(&name, &text).or_else(|error| wrong(error.what, error.right))?;
    let Some(first) = measured.down else {
        return wrong(
            format!("{name} has no rate, because no file showed it"),
            "write the rate of the link into it, for example down = \"50mbit\"",
        );
    };
    let rates = Rates { first, second: measured.up };
    Ok((measured, rates))
}
