//! The client of the control socket.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Answer, Change, Question, Report};

/// The timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer, in bytes.
const LONGEST: u64 = 16 << 20;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// No bridge or link of this name is running.
    #[error("nothing named {0} is running")]
    NotRunning(String),
    /// The change was refused.
    #[error("{0}")]
    Refused(String),
    /// The socket belongs to someone else, or failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

/// The client of one bottleneck.
#[derive(Clone, Debug)]
pub struct Client {
    name: String,
    path: PathBuf,
}

impl Client {
    /// The client of the bottleneck `name`.
    #[must_use]
    pub fn new(directory: &Path, name: &str) -> Self {
        Client { name: name.to_owned(), path: directory.join(format!("{name}.sock")) }
    }

    /// The state of the bottleneck.
    ///
    /// # Errors
    /// When it does not run, or may not be asked.
    pub fn report(&self) -> Result<Report, CtlError> {
        self.ask(&Question::Report)
    }

    /// Changes it.
    ///
    /// # Errors
    /// As [`Client::report`], and when the change is refused.
    pub fn change(&self, change: Change) -> Result<Report, CtlError> {
        self.ask(&Question::Change(change))
    }

    fn ask(&self, question: &Question) -> Result<Report, CtlError> {
        let answer = self.exchange(question).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => CtlError::NotRunning(self.name.clone()),
            _ => CtlError::Io { path: self.path.clone(), error },
        })?;
        match answer {
            Answer::Report(report) => Ok(*report),
            Answer::Refused(why) => Err(CtlError::Refused(why)),
        }
    }

    fn exchange(&self, question: &Question) -> io::Result<Answer> {
        let mut stream = UnixStream::connect(&self.path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&serde_json::to_vec(question)?)?;
        stream.write_all(b"\n")?;
        let mut line = String::new();
        BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// The names of running bridges and links.
///
/// # Errors
/// When the directory is there and may not be read.
pub fn running(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?.flatten(),
    };
    let sockets = entries.filter_map(|e| e.file_name().to_str()?.strip_suffix(".sock").map(str::to_owned));
    let mut names: Vec<String> =
        sockets.filter(|name| UnixStream::connect(directory.join(format!("{name}.sock"))).is_ok()).collect();
    names.sort();
    Ok(names)
}
