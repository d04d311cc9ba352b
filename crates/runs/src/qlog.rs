//! `run --qlog`: writes what the senders of a run do and decide as qlog traces.
//!
//! One file for each connection whose data cross the measured link, as JSON text sequences (RFC 7464, `.sqlog`), from the vantage
//! point of the sender of the data. Times are milliseconds since the beginning of the run, warm-up included. A stack that can trace
//! itself writes its own file; every other sender is traced by its packets and by its state after each event.
//!
//! TCP has no qlog schema. Congestion window, bytes in flight, round trips, pacing and the state of the congestion control mean the
//! same as in QUIC, and are logged as the recovery events of draft-ietf-quic-qlog-quic-events-13; packets have events of a namespace
//! of their own, `aqmkit`, because QUIC's require QUIC's headers. With [`Version::V03`] all events have the names and fields of qlog
//! 0.3, for qvis, where a packet number counts the packets that the sender has sent.
//!
//! | module | holds |
//! |---|---|
//! | `record` | the records of a file, in both versions |
//! | `sender` | the events of one connection, from its packets and states |

mod record;
mod sender;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aqmkit_base::Instant;
use aqmkit_experiment::RunSpec;
use aqmkit_sim::follow::{Follower, SenderState};
use aqmkit_sim::observe::{Parties, Sighting};
use aqmkit_sim::{Control, Progress};
use aqmkit_stack::Trace;

use self::record::{Header, write_record};
use self::sender::Sender;

/// The most connections of a run that are traced; each keeps a file open.
pub const MOST: usize = 100;

/// The version of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// draft-ietf-quic-qlog-main-schema-14.
    Draft,
    /// 0.3, as qvis reads it.
    V03,
}

/// Where traces go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The trace of the first connection, in this file.
    File(PathBuf),
    /// A file for each connection, in this directory, which is created.
    Directory(PathBuf),
}

impl Destination {
    /// A file if the name ends in `.sqlog`, else a directory.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let is_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("sqlog"));
        if is_file { Destination::File(path.to_owned()) } else { Destination::Directory(path.to_owned()) }
    }

    fn most(&self) -> usize {
        match self {
            Destination::File(_) => 1,
            Destination::Directory(_) => MOST,
        }
    }

    /// The file of a connection.
    fn file(&self, group: &str, connection: u64) -> PathBuf {
        let plain = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
        match self {
            Destination::File(file) => file.clone(),
            Destination::Directory(dir) => {
                dir.join(format!("connection-{connection}-{}.sqlog", group.chars().map(plain).collect::<String>()))
            }
        }
    }
}

/// The traces that were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Connections with a file.
    pub connections: usize,
    /// Further connections whose data crossed the link.
    pub left_out: usize,
}

/// Why traces could not be written.
#[derive(Debug, thiserror::Error)]
pub enum QlogError {
    /// The run failed.
    #[error("{0}")]
    Run(String),
    /// The user stopped the run.
    #[error("the run was stopped")]
    Stopped,
    /// A file or the directory cannot be written.
    #[error("cannot write to {}: {source}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Simulates a run and writes the traces of its senders.
///
/// # Errors
/// When the run fails or is stopped, or a file cannot be written.
pub fn trace(
    spec: &RunSpec,
    to: &Destination,
    version: Version,
    on_progress: &mut dyn FnMut(Progress) -> Control,
) -> Result<Traced, QlogError> {
    if let Destination::Directory(dir) = to {
        std::fs::create_dir_all(dir).map_err(|source| QlogError::Write { path: dir.clone(), source })?;
    }
    let scenario = spec.scenario().map_err(|e| QlogError::Run(e.to_string()))?;
    let groups = scenario.groups.iter().map(|group| group.name.clone()).collect();
    let mut tracer = Tracer::new(to, version, crate::run::name(&spec.labels), groups);
    let result = aqmkit_sim::run_followed(scenario, &mut tracer, on_progress);
    match (tracer.failed.take(), result) {
        (Some(error), _) => Err(error),
        (None, Err(aqmkit_sim::Error::Stopped)) => Err(QlogError::Stopped),
        (None, Err(other)) => Err(QlogError::Run(other.to_string())),
        (None, Ok(_)) => tracer.finish(),
    }
}

/// A connection that has a file.
struct Traces {
    file: Arc<Mutex<TraceFile>>,
    /// `None` where the stack writes its trace itself.
    sender: Option<Sender>,
}

/// A file, and the first error in writing it.
struct TraceFile {
    path: PathBuf,
    out: BufWriter<File>,
    failed: Option<io::Error>,
}

impl TraceFile {
    /// Writes with `write` unless writing has failed before.
    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.out).err();
        }
    }
}

/// A follower that writes traces.
struct Tracer<'a> {
    to: &'a Destination,
    version: Version,
    run: String,
    /// The names of the groups.
    groups: Vec<String>,
    traces: BTreeMap<u64, Traces>,
    left_out: BTreeSet<u64>,
    failed: Option<QlogError>,
}

impl<'a> Tracer<'a> {
    fn new(to: &'a Destination, version: Version, run: String, groups: Vec<String>) -> Self {
        Tracer { to, version, run, groups, traces: BTreeMap::new(), left_out: BTreeSet::new(), failed: None }
    }

    fn group(&self, parties: &Parties) -> &str {
        self.groups.get(usize::from(parties.group)).map_or("", String::as_str)
    }

    fn path(&self, parties: &Parties) -> PathBuf {
        self.to.file(self.group(parties), parties.conversation)
    }

    /// A new file for a connection, if it is to have one.
    fn open(&mut self, parties: &Parties) -> Option<Arc<Mutex<TraceFile>>> {
        if self.failed.is_some() {
            return None;
        }
        if self.traces.len() >= self.to.most() {
            self.left_out.insert(parties.conversation);
            return None;
        }
        let path = self.path(parties);
        match File::create(&path) {
            Ok(file) => Some(Arc::new(Mutex::new(TraceFile { path, out: BufWriter::new(file), failed: None }))),
            Err(source) => {
                self.failed = Some(QlogError::Write { path, source });
                None
            }
        }
    }

    /// Writes the events of a connection, whose file is opened at the first. A connection without a file has none.
    fn on(&mut self, now: Instant, parties: &Parties, act: impl FnOnce(&mut Sender) -> Vec<record::Event>) {
        if !self.traces.contains_key(&parties.conversation) {
            let Some(file) = self.open(parties) else { return };
            let title = self.run.clone();
            let (server, client, number) = (parties.server, parties.client, parties.conversation);
            let description =
                format!("sender of connection {number} of {}: server {server} to client {client}", self.group(parties));
            let version = self.version;
            lock(&file).write(|out| write_record(out, &Header::new(version, &title, &description)));
            self.traces.insert(number, Traces { file, sender: Some(Sender::default()) });
        }
        let Some(Traces { file, sender: Some(sender) }) = self.traces.get_mut(&parties.conversation) else { return };
        let version = self.version;
        for event in act(sender) {
            lock(file).write(|out| write_record(out, &event.record(version, now)));
        }
    }

    /// Writes what is buffered.
    fn finish(self) -> Result<Traced, QlogError> {
        for traces in self.traces.values() {
            let mut file = lock(&traces.file);
            let written = file.failed.take().map_or_else(|| file.out.flush(), Err);
            written.map_err(|source| QlogError::Write { path: file.path.clone(), source })?;
        }
        Ok(Traced { connections: self.traces.len(), left_out: self.left_out.len() })
    }
}

fn lock(file: &Mutex<TraceFile>) -> MutexGuard<'_, TraceFile> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Follower for Tracer<'_> {
    fn sent(&mut self, now: Instant, packet: &Sighting) {
        self.on(now, &packet.parties, |sender| sender.sent(packet));
    }

    fn received(&mut self, now: Instant, packet: &Sighting) {
        self.on(now, &packet.parties, |sender| sender.received(packet));
    }

    fn state(&mut self, now: Instant, parties: &Parties, state: &SenderState) {
        self.on(now, parties, |sender| sender.state(state));
    }

    fn trace(&mut self, parties: &Parties) -> Option<Trace> {
        let file = self.open(parties)?;
        self.traces.insert(parties.conversation, Traces { file: Arc::clone(&file), sender: None });
        Some(Box::new(move |bytes| lock(&file).write(|out| out.write_all(bytes))))
    }
}
