//! Explains the statistics of Linux's queue disciplines, from files or of this machine.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use aqmkit_base::Duration;
use aqmkit_experiment::Problem;
use aqmkit_explain::{Explained, Known, Sample};
use aqmkit_files::bounded;
use aqmkit_tc::{Listing, Parent};

use crate::error::{LabError, wrong};

/// Where statistics come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file with the output of `tc`.
    File(PathBuf),
    /// Standard input.
    Input,
    /// A device of this machine, or all of them; `tc` is called.
    Machine(Option<String>),
}

/// A request to explain statistics.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// The statistics.
    pub source: Source,
    /// A file with earlier statistics of the same machine.
    pub earlier: Option<PathBuf>,
    /// The time between two samples: of this machine, or of the two files.
    pub between: Option<Duration>,
    /// Facts that the user adds.
    pub known: Known,
}

/// Reads the statistics and explains each device. Takes a second sample of this machine after [`Inquiry::between`].
///
/// # Errors
/// When a file cannot be read or is no output of `tc`, there is no such device, or `tc` is missing.
pub fn explain(inquiry: &Inquiry) -> Result<Vec<Explained>, LabError> {
    let between = inquiry.between.unwrap_or_default();
    let (earlier, now) = match (&inquiry.source, &inquiry.earlier) {
        (Source::Machine(_), Some(_)) => {
            return wrong(
                "an earlier file belongs to a file",
                "for two samples of this machine give the time between them alone",
            );
        }
        (source, Some(earlier)) => (Some((of_file(earlier)?, between)), of(source)?),
        (Source::Machine(device), None) if !between.is_zero() => {
            let first = of_machine(device.as_deref())?;
            std::thread::sleep(std::time::Duration::from_nanos(between.as_nanos()));
            (Some((first, between)), of_machine(device.as_deref())?)
        }
        (source, None) => (None, of(source)?),
    };
    let sample = Sample { now: &now, earlier: earlier.as_ref().map(|(listing, time)| (listing, *time)) };
    let explained = aqmkit_explain::explain(sample, &inquiry.known);
    if explained.is_empty() {
        return wrong(
            "no queue discipline in it keeps packets",
            "noqueue and ingress have nothing to explain; name the device that sends to the slow link",
        );
    }
    Ok(explained)
}

fn of(source: &Source) -> Result<Listing, LabError> {
    match source {
        Source::File(path) => of_file(path),
        Source::Input => of_text("standard input", std::io::stdin().lock()),
        Source::Machine(device) => of_machine(device.as_deref()),
    }
}

fn of_file(path: &Path) -> Result<Listing, LabError> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|e| {
        LabError::Problem(
            Problem::new(format!("{name} cannot be read: {e}"))
                .right("give a file with the output of `tc -s qdisc show`, - for standard input, or a device"),
        )
    })?;
    of_text(&name, file)
}

fn of_text(name: &str, input: impl Read) -> Result<Listing, LabError> {
    let text = bounded::text_of(name, input, &bounded::TC).map_err(|unread| {
        let problem = Problem::new(unread.to_string());
        LabError::Problem(match unread.right() {
            Some(right) => problem.right(right),
            None => problem,
        })
    })?;
    parsed(name, &text)
}

fn parsed(name: &str, text: &str) -> Result<Listing, LabError> {
    aqmkit_tc::read(text)
        .or_else(|error| wrong(format!("{name}: {error}"), "tc -s qdisc show dev eth0 | aqmkit explain -"))
}

/// Calls `tc` for the disciplines, and for the classes of devices that have some.
fn of_machine(device: Option<&str>) -> Result<Listing, LabError> {
    let mut words = vec!["-s", "-j", "qdisc", "show"];
    words.extend(device.iter().flat_map(|device| ["dev", device]));
    let mut listing = parsed("tc", &tc(&words)?)?;
    let mut classful: Vec<String> = Vec::new();
    for qdisc in &listing.qdiscs {
        let below = matches!(qdisc.parent, Parent::Class(_));
        let name = qdisc.device.clone().or_else(|| device.map(str::to_owned));
        if let Some(name) = name.filter(|name| below && !classful.contains(name)) {
            classful.push(name);
        }
    }
    for name in classful {
        let text = tc(&["-s", "class", "show", "dev", &name])?;
        // A device with a discipline for each transmit queue has classes without statistics, or none.
        listing.classes.extend(aqmkit_tc::read(&text).map(|classes| classes.classes).unwrap_or_default());
    }
    Ok(listing)
}

pub(crate) fn tc(words: &[&str]) -> Result<String, LabError> {
    let called = Command::new("tc").args(words).output();
    let output = called.map_err(|e| {
        LabError::Environment(format!(
            "tc cannot be called: {e}\n  it is part of iproute2; or give a file with its output"
        ))
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return wrong(format!("tc {} failed: {why}", words.join(" ")), "ip link shows the devices of this machine");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
