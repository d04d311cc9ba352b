//! The client of the control socket.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::{Answer, Change, Question, Report};
use crate::cleanup::records;

/// Timeout of a reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// Timeout when a socket is only probed.
const GLANCE: Duration = Duration::from_millis(200);

/// Maximum length of a reply, in bytes.
const LONGEST: u64 = 16 << 20;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// No bridge or link of this name is running.
    #[error("nothing named {0} is running")]
    NotRunning(String),
    /// The bottleneck refused the change; its message.
    #[error("{0}")]
    Refused(String),
    /// It is running but does not reply: its process is stopped or hangs.
    #[error("{name}: {} does not answer", process(*pid))]
    Silent {
        /// The name of the bridge or link.
        name: String,
        /// Its process id, if it has a record.
        pid: Option<u32>,
    },
    /// The socket belongs to another user, or failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The socket's path.
        path: PathBuf,
        /// The underlying error.
        error: io::Error,
    },
}

/// A client of one bottleneck's control socket.
#[derive(Clone, Debug)]
pub struct Client {
    name: String,
    path: PathBuf,
    patience: Duration,
}

impl Client {
    /// A client of the bottleneck called `name`.
    #[must_use]
    pub fn new(directory: &Path, name: &str) -> Self {
        Client { name: name.to_owned(), path: directory.join(format!("{name}.sock")), patience: PATIENCE }
    }

    /// As given, with another reply timeout.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Client { patience, ..self }
    }

    /// Requests the bottleneck's state.
    ///
    /// # Errors
    /// When it is not running, or its socket may not be used.
    pub fn report(&self) -> Result<Report, CtlError> {
        self.ask(&Question::Report)
    }

    /// Requests a change; returns the state afterwards.
    ///
    /// # Errors
    /// As [`Client::report`], and when the change is refused.
    pub fn change(&self, change: Change) -> Result<Report, CtlError> {
        self.ask(&Question::Change(change))
    }

    fn ask(&self, question: &Question) -> Result<Report, CtlError> {
        let failed = |error| CtlError::Io { path: self.path.clone(), error };
        let stream = reach(&self.path, self.patience).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => CtlError::NotRunning(self.name.clone()),
            ErrorKind::WouldBlock => self.silent(),
            _ => failed(error),
        })?;
        let answer = exchange(&stream, question).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => self.silent(),
            _ => failed(error),
        })?;
        match answer {
            Answer::Report(report) => Ok(*report),
            Answer::Refused(why) => Err(CtlError::Refused(why)),
        }
    }

    fn silent(&self) -> CtlError {
        let running = records(self.path.parent().unwrap_or(Path::new("/"))).into_iter().filter(|found| found.running);
        let pid = running.map(|found| found.record).find(|record| record.name() == self.name).map(|record| record.pid);
        CtlError::Silent { name: self.name.clone(), pid }
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(|| "its process".to_owned(), |pid| format!("process {pid}"))
}

fn exchange(mut stream: &UnixStream, question: &Question) -> io::Result<Answer> {
    stream.write_all(&serde_json::to_vec(question)?)?;
    stream.write_all(b"\n")?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Connects to a socket, with `patience` as the timeout of connecting, requests and replies: the listen backlog of a
/// hung process fills up, and the next connect would block forever. A connect with a timeout ends with `EINTR` when its
/// process is stopped and continued, even without a signal handler (signal(7)): it is called again.
fn reach(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    for which in [Timeout::Send, Timeout::Recv] {
        set_socket_timeout(&socket, which, Some(patience))?;
    }
    let address = SocketAddrUnix::new(path)?;
    retry_on_intr(|| connect(&socket, &address))?;
    Ok(socket.into())
}

/// Whether a socket has no listener because its process was killed. A hung process still has one.
pub(crate) fn is_dead(path: &Path) -> bool {
    reach(path, GLANCE).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
}

/// The names of running bridges and links.
///
/// # Errors
/// When the directory exists but cannot be read.
pub fn running(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?.flatten(),
    };
    let sockets = entries.filter_map(|e| e.file_name().to_str()?.strip_suffix(".sock").map(str::to_owned));
    let listens = |name: &String| match reach(&directory.join(format!("{name}.sock")), GLANCE) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    };
    let mut names: Vec<String> = sockets.filter(listens).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::{Command, id};

    use super::*;
    use crate::cleanup::{BridgeState, Held, Record};
    use crate::ctl::prepare;

    /// A listener that never accepts, like a stopped process; eventually its backlog is full.
    #[test]
    fn a_process_that_hangs_is_named_however_many_have_asked() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        prepare(&run).unwrap();
        let state =
            BridgeState { name: "wan".into(), interfaces: vec!["a".into(), "b".into()], ..BridgeState::default() };
        let _held = Held::new(&run, &Record { pid: 4711, bridge: Some(state), ..Record::default() }).unwrap();
        let path = run.join("wan.sock");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 2).unwrap();
        let patience = Duration::from_millis(20);
        let client = Client::new(&run, "wan").with_patience(patience);
        let ask = || client.report().unwrap_err().to_string();
        assert_eq!(ask(), "wan: process 4711 does not answer");
        let waiting: Vec<_> = (0..20).map_while(|_| reach(&path, patience).ok()).collect();
        assert!(waiting.len() < 20);
        assert_eq!(ask(), "wan: process 4711 does not answer");
        assert_eq!(running(&run).unwrap(), ["wan"]);
        assert!(!is_dead(&path));
    }
    #[test]
    fn a_client_that_is_stopped_and_continued_asks_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wan.sock");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let _fills_the_backlog = reach(&path, GLANCE).unwrap();
        let pause = format!("sleep 0.1; kill -STOP {0}; sleep 0.01; kill -CONT {0}", id());
        let mut shell = Command::new("sh").args(["-c", &pause]).spawn().unwrap();
        let error = reach(&path, Duration::from_millis(500)).unwrap_err();
        assert!(shell.wait().unwrap().success());
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}
