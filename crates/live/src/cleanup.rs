//! The record of a running link, and what is done about links that were killed.
//!
//! Namespaces and devices are held by file descriptors only, so they go with the process. What can stay behind is a
//! process that a command had started in the background. The record says in which namespaces to look for it; it is
//! locked while its link runs, so that a record without a lock is one of a link that was killed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::children::processes;
use crate::netns::Netns;

/// Where records are.
pub const DIRECTORY: &str = "/run/aqmkit";

/// What is known of a link from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The process.
    pub pid: u32,
    /// What it runs, in short.
    pub title: String,
    /// The cookies of the namespaces that it made.
    pub cookies: Vec<u64>,
    /// Where the namespaces can be entered while it runs: the server's, the client's.
    pub paths: Vec<String>,
    /// The devices in them.
    pub devices: Vec<String>,
    /// The rates of the directions: down, up.
    pub rates_bps: Vec<u64>,
}

/// A record that is held while a link runs, and removed with this value.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    _lock: File,
}

impl Held {
    /// Writes a record and locks it.
    ///
    /// # Errors
    /// When the directory cannot be written to.
    pub fn new(directory: &Path, record: &Record) -> io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let path = directory.join(format!("{}.json", record.pid));
        // Locked before it has a name, so that nobody takes it for one left behind.
        let draft = directory.join(format!("{}.draft", record.pid));
        let mut file = File::create(&draft)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&serde_json::to_vec(record).map_err(io::Error::other)?)?;
        std::fs::rename(&draft, &path)?;
        Ok(Held { path, _lock: file })
    }

    /// The file beside the record that holds the latest look at the link.
    #[must_use]
    pub fn look_path(&self) -> PathBuf {
        self.path.with_extension("look")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Whatever stays is removed by the next start.
        let _ = std::fs::remove_file(self.look_path());
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A record as it was found.
#[derive(Debug)]
pub struct Found {
    /// The record.
    pub record: Record,
    /// Its file.
    pub path: PathBuf,
    /// Whether its link still runs.
    pub running: bool,
}

/// Every record in a directory.
#[must_use]
pub fn records(directory: &Path) -> Vec<Found> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.filter_map(|e| Some(e.ok()?.path()));
    paths.filter(|p| p.extension().is_some_and(|e| e == "json")).filter_map(|p| found(p).ok()).collect()
}

fn found(path: PathBuf) -> io::Result<Found> {
    let mut file = File::open(&path)?;
    let running = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Found { record: serde_json::from_str(&text).unwrap_or_default(), path, running })
}

/// What was cleaned up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Records of links that were killed.
    pub records: usize,
    /// Processes that were left in their namespaces.
    pub processes: usize,
}

/// Ends what links that were killed have left behind. Running links are not touched.
#[must_use]
pub fn clean(directory: &Path) -> Cleaned {
    let mut cleaned = Cleaned::default();
    for found in records(directory).into_iter().filter(|f| !f.running) {
        cleaned.processes += end_processes(&found.record.cookies);
        let _ = std::fs::remove_file(found.path.with_extension("look"));
        // The socket by which it could be changed.
        let _ = std::fs::remove_file(directory.join(format!("link-{}.sock", found.record.pid)));
        cleaned.records += usize::from(std::fs::remove_file(&found.path).is_ok());
    }
    cleaned
}

/// Kills every process in one of these namespaces. A cookie is never given twice while the machine runs, so it
/// cannot be another's namespace.
fn end_processes(cookies: &[u64]) -> usize {
    let own = Netns::current().map(|n| n.cookie()).unwrap_or_default();
    let inside = |pid: &i32| {
        let cookie = Netns::at(&format!("/proc/{pid}/ns/net")).map(|n| n.cookie());
        cookie.is_ok_and(|c| c != own && cookies.contains(&c))
    };
    let left = processes().into_iter().filter(inside).filter_map(Pid::from_raw);
    left.filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_running_while_it_is_held_and_gone_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let record = Record { pid: 1, title: "x".into(), ..Record::default() };
        let held = Held::new(dir.path(), &record).unwrap();
        let found = records(dir.path());
        assert_eq!((found.len(), found[0].running, &found[0].record), (1, true, &record));
        assert_eq!(clean(dir.path()), Cleaned::default());
        drop(held);
        assert!(records(dir.path()).is_empty());
    }

    #[test]
    fn what_a_killed_link_left_is_cleaned_and_so_is_a_record_of_garbage() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("7.json"), serde_json::to_vec(&Record::default()).unwrap()).unwrap();
        std::fs::write(dir.path().join("8.json"), "not json").unwrap();
        assert!(records(dir.path()).iter().all(|f| !f.running));
        assert_eq!(clean(dir.path()), Cleaned { records: 2, processes: 0 });
        assert!(records(dir.path()).is_empty());
    }
}
