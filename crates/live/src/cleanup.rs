//! The record of a running link or bridge, and the cleanup after a kill.
//!
//! Namespaces and devices of a link are held by file descriptors only, so they disappear with the last
//! process in them. Processes that a command had started may remain, and a killed bridge leaves offloads of
//! its interfaces disabled. The record identifies both; it is locked while its link or bridge runs, so that
//! a record without a lock is one of a process that was killed.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::ctl::{is_safe, prepare};
use crate::netns::{Netns, processes};
use crate::offload::SwitchedOff;

/// The state of a link or a bridge, for other processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The process.
    pub pid: u32,
    /// A short description of its command.
    pub title: String,
    /// For a link: the cookies of the namespaces that it created.
    pub cookies: Vec<u64>,
    /// The paths by which namespaces can be entered while it runs: the server's, the client's.
    pub paths: Vec<String>,
    /// The devices in them.
    pub devices: Vec<String>,
    /// The rates of the directions: down, up.
    pub rates_bps: Vec<u64>,
    /// For a bridge: the interfaces it uses and the settings it changed.
    pub bridge: Option<Taken>,
}

/// The interfaces that a bridge or a shaper uses, and the settings it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Its name.
    pub name: String,
    /// The cookie of the namespace of its interfaces; zero if the kernel has none.
    pub place: u64,
    /// Its interfaces.
    pub interfaces: Vec<String>,
    /// The offloads that it disabled.
    pub off: Vec<SwitchedOff>,
}

impl Taken {
    /// What uses them: a bridge has two interfaces, a shaper one.
    fn kind(&self) -> &'static str {
        if self.interfaces.len() == 1 { "shaper" } else { "bridge" }
    }
}

impl Record {
    /// Its name for `aqmkit ctl`.
    #[must_use]
    pub fn name(&self) -> String {
        self.bridge.as_ref().map_or_else(|| format!("link-{}", self.pid), |taken| taken.name.clone())
    }
}

/// A record that is locked while a link or a bridge runs, and removed when this value is dropped.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    /// Locked.
    file: File,
}

impl Held {
    /// Writes a record and locks it.
    ///
    /// # Errors
    /// When the directory cannot be written to.
    pub fn new(directory: &Path, record: &Record) -> io::Result<Self> {
        prepare(directory)?;
        let path = directory.join(format!("{}.json", record.pid));
        // It is locked before it gets its name, so that it is not taken for that of a killed process.
        let draft = directory.join(format!("{}.draft", record.pid));
        // A process with this id may have been killed here. A file or symbolic link at this path is replaced, not
        // written through.
        let _ = std::fs::remove_file(&draft);
        let mut options = File::options();
        let mut file = options.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(&draft)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&serde_json::to_vec(record).map_err(io::Error::other)?)?;
        std::fs::rename(&draft, &path)?;
        Ok(Held { path, file })
    }

    /// Replaces the record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn update(&mut self, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec(record).map_err(io::Error::other)?;
        // A single call, which a kill does not interrupt; the rest of the old text is removed afterwards.
        self.file.rewind()?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)
    }

    /// The file beside the record with the latest state of the link.
    #[must_use]
    pub fn look_path(&self) -> PathBuf {
        self.path.with_extension("look")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Remaining files are removed at the next start.
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
    /// Whether its process is still running.
    pub running: bool,
}

/// The largest size of a record, in bytes; longer files are ignored.
const LONGEST: u64 = 1 << 20;

/// All records in a directory. A directory that others can write to is ignored, because records lead to killed
/// processes and changed interfaces.
#[must_use]
pub fn records(directory: &Path) -> Vec<Found> {
    if is_safe(directory).is_err() {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.filter_map(|e| Some(e.ok()?.path()));
    paths.filter(|p| p.extension().is_some_and(|e| e == "json")).filter_map(|p| found(p).ok()).collect()
}

fn found(path: PathBuf) -> io::Result<Found> {
    let file = File::open(&path)?;
    let running = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    Ok(Found { record: serde_json::from_slice(&short(&file)?).unwrap_or_default(), path, running })
}

/// The contents of a file, up to the largest size of a record.
pub(crate) fn short(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The running bridge that uses one of these interfaces of the namespace `place`.
#[must_use]
pub fn bridge_at(directory: &Path, place: u64, interfaces: &[String]) -> Option<(String, Record)> {
    let running = records(directory).into_iter().filter(|f| f.running).map(|f| f.record);
    running.filter(|r| r.bridge.as_ref().is_some_and(|taken| place != 0 && taken.place == place)).find_map(|record| {
        let taken = |name: &&String| record.bridge.as_ref().is_some_and(|t| t.interfaces.contains(name));
        interfaces.iter().find(taken).cloned().map(|name| (name, record))
    })
}

/// The remains of killed links, bridges and shapers, one sentence for each.
#[must_use]
pub fn leftovers(directory: &Path) -> Vec<String> {
    let left = |record: &Record| match &record.bridge {
        Some(taken) => {
            let off = taken.off.iter().map(|o| format!("{} of {}", o.offload, o.interface)).collect::<Vec<_>>();
            let off = if off.is_empty() { "nothing".to_owned() } else { format!("{} switched off", off.join(", ")) };
            format!("the {} {} was killed and left {off}", taken.kind(), taken.name)
        }
        None => {
            let many = inside(&record.cookies).len();
            format!("link {} was killed and left {many} processes in its namespaces", record.pid)
        }
    };
    records(directory).iter().filter(|f| !f.running).map(|f| left(&f.record)).collect()
}

/// The result of a cleanup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Records of links and bridges that were killed.
    pub records: usize,
    /// The number of records of bridges among them.
    pub bridges: usize,
    /// Processes that were left in the namespaces of links.
    pub processes: usize,
    /// Offloads that bridges had left disabled.
    pub offloads: usize,
}

/// Ends remaining processes of killed links, and restores the settings that killed bridges changed. Running ones are
/// not affected.
#[must_use]
pub fn clean(directory: &Path) -> Cleaned {
    let mut cleaned = Cleaned::default();
    for found in records(directory).into_iter().filter(|f| !f.running) {
        cleaned.processes += end_processes(&found.record.cookies);
        cleaned.offloads += found.record.bridge.as_ref().map_or(0, switch_on_again);
        let _ = std::fs::remove_file(found.path.with_extension("look"));
        if std::fs::remove_file(&found.path).is_ok() {
            cleaned.records += 1;
            cleaned.bridges += usize::from(found.record.bridge.is_some());
        }
    }
    remove_dead_sockets(directory);
    cleaned
}

/// Removes sockets without a listener, whose processes were killed.
fn remove_dead_sockets(directory: &Path) {
    if is_safe(directory).is_err() {
        return;
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path());
    for socket in entries.filter(|path| path.extension().is_some_and(|e| e == "sock")) {
        if UnixStream::connect(&socket).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused) {
            // Another process may have removed it.
            let _ = std::fs::remove_file(socket);
        }
    }
}

/// Enables the offloads that a bridge disabled. Interfaces and namespaces that are gone need nothing.
fn switch_on_again(taken: &Taken) -> usize {
    if taken.off.is_empty() {
        return 0;
    }
    let place = Netns::find(taken.place);
    let undone = place.and_then(|n| n.inside(|| Ok(taken.off.iter().filter(|o| o.undo().is_ok()).count())).ok());
    undone.unwrap_or(0)
}

/// Kills every process in one of these namespaces.
fn end_processes(cookies: &[u64]) -> usize {
    inside(cookies).into_iter().filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count()
}

/// Every process in one of these namespaces. The kernel does not reuse a cookie while the machine runs, so no other
/// namespace matches.
fn inside(cookies: &[u64]) -> Vec<Pid> {
    let own = Netns::current().map(|n| n.cookie()).unwrap_or_default();
    let is_inside = |pid: &i32| {
        let cookie = Netns::at(&format!("/proc/{pid}/ns/net")).map(|n| n.cookie());
        cookie.is_ok_and(|c| c != own && cookies.contains(&c))
    };
    if cookies.is_empty() {
        return Vec::new();
    }
    processes().into_iter().filter(is_inside).filter_map(Pid::from_raw).collect()
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
    fn a_bridge_is_found_by_its_interfaces_while_it_runs() {
        let dir = tempfile::tempdir().unwrap();
        let mut taken =
            Taken { name: "wan".into(), place: 7, interfaces: vec!["a".into(), "b".into()], off: Vec::new() };
        let record = |bridge: &Taken| Record { pid: 9, bridge: Some(bridge.clone()), ..Record::default() };
        let mut held = Held::new(dir.path(), &record(&taken)).unwrap();
        let at =
            |place, names: [&str; 2]| bridge_at(dir.path(), place, &names.map(str::to_owned)).map(|(n, r)| (n, r.pid));
        assert_eq!(at(7, ["c", "b"]), Some(("b".to_owned(), 9)));
        assert_eq!((at(7, ["c", "d"]), at(8, ["a", "b"])), (None, None));
        taken.off = vec![SwitchedOff { interface: "b".into(), index: 1, offload: "gro".into() }];
        held.update(&record(&taken)).unwrap();
        assert_eq!(records(dir.path())[0].record, record(&taken));
        assert!(leftovers(dir.path()).is_empty());
        // As a kill leaves it: there, and not locked.
        let path = held.path.clone();
        let text = std::fs::read(&path).unwrap();
        drop(held);
        std::fs::write(path, text).unwrap();
        assert_eq!(at(7, ["a", "b"]), None);
        assert_eq!(leftovers(dir.path()), ["the bridge wan was killed and left gro of b switched off"]);
        assert_eq!(
            clean(dir.path()),
            Cleaned { records: 1, bridges: 1, ..Cleaned::default() },
            "there is no namespace 7"
        );
    }

    #[test]
    fn what_has_one_interface_is_called_a_shaper() {
        let dir = tempfile::tempdir().unwrap();
        let taken = Taken { name: "home".into(), place: 7, interfaces: vec!["eth0".into()], off: Vec::new() };
        let held = Held::new(dir.path(), &Record { pid: 9, bridge: Some(taken), ..Record::default() }).unwrap();
        let text = std::fs::read(&held.path).unwrap();
        let path = held.path.clone();
        drop(held);
        std::fs::write(path, text).unwrap();
        assert_eq!(leftovers(dir.path()), ["the shaper home was killed and left nothing"]);
    }

    #[test]
    fn a_socket_without_a_listener_is_removed_and_one_in_use_is_not() {
        use std::os::unix::net::UnixListener;
        let dir = tempfile::tempdir().unwrap();
        let bind = |name: &str| UnixListener::bind(dir.path().join(name)).unwrap();
        drop(bind("dead.sock"));
        let _alive = bind("alive.sock");
        let _ = clean(dir.path());
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["alive.sock"]);
    }

    #[test]
    fn a_planted_link_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("other");
        std::fs::write(&other, "precious").unwrap();
        let run = dir.path().join("run");
        prepare(&run).unwrap();
        std::os::unix::fs::symlink(&other, run.join("5.draft")).unwrap();
        let _held = Held::new(&run, &Record { pid: 5, ..Record::default() }).unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
        assert_eq!(records(&run).len(), 1);
        let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&run, everyone).unwrap();
        assert!(records(&run).is_empty(), "anyone could have put them there");
        assert!(Held::new(&run, &Record { pid: 6, ..Record::default() }).is_err());
    }

    #[test]
    fn what_a_killed_link_left_is_cleaned_and_so_is_a_record_of_garbage() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("7.json"), serde_json::to_vec(&Record::default()).unwrap()).unwrap();
        std::fs::write(dir.path().join("8.json"), "not json").unwrap();
        assert!(records(dir.path()).iter().all(|f| !f.running));
        assert_eq!(clean(dir.path()), Cleaned { records: 2, ..Cleaned::default() });
        assert!(records(dir.path()).is_empty());
    }
}
