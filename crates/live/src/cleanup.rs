//! State files of running links and bridges, and the cleanup after one was killed.
//!
//! Namespaces and devices of a link are held by file descriptors only, so they disappear with the last process in them.
//! But processes started by a command may survive a kill, and a killed bridge leaves its interfaces' offloads disabled.
//! The record identifies both. It is locked (flock) while its link or bridge runs, so an unlocked record is that of a
//! killed process.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::ctl::{is_dead, is_safe, prepare, title};
use crate::handover;
use crate::netns::{Netns, processes};
use crate::offload::DisabledOffload;

/// The record of a running link or bridge, for other processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Process id.
    pub pid: u32,
    /// A short description of its command.
    pub title: String,
    /// For a link: the cookies (`SO_NETNS_COOKIE`) of the namespaces it created.
    pub cookies: Vec<u64>,
    /// Paths to enter its namespaces while it runs: the server's, the client's.
    pub paths: Vec<String>,
    /// Its devices in those namespaces.
    pub devices: Vec<String>,
    /// The rates in bit/s: down, up.
    pub rates_bps: Vec<u64>,
    /// For a bridge: the interfaces it uses and the settings it changed.
    pub bridge: Option<BridgeState>,
}

/// The interfaces that a bridge or a shaper uses, and the settings it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeState {
    /// Its name for `aqmkit ctl`.
    pub name: String,
    /// The cookie of its network namespace; zero if the kernel does not report one.
    pub place: u64,
    /// Interface names: two for a bridge, one for a shaper.
    pub interfaces: Vec<String>,
    /// The offloads it disabled.
    pub off: Vec<DisabledOffload>,
    /// Whether a kernel bridge forwards between the interfaces once the process ends.
    pub fail_open: bool,
}

impl Record {
    /// Its name for `aqmkit ctl`.
    #[must_use]
    pub fn name(&self) -> String {
        self.bridge.as_ref().map_or_else(|| format!("link-{}", self.pid), |state| state.name.clone())
    }
}

/// A record, locked while its link or bridge runs and removed on drop.
#[derive(Debug)]
pub struct Held {
    path: PathBuf,
    /// Holds the lock.
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
        // The file is locked before it is renamed into place, so that it is never mistaken for that of a killed
        // process.
        let draft = directory.join(format!("{}.draft", record.pid));
        // A killed process with the same id may have left a file, or an attacker a symbolic link: unlink it rather than
        // write through it.
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
        // A single write, which a kill does not interrupt; then the rest of the old text is cut off.
        self.file.rewind()?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)
    }

    /// The file beside the record that holds the link's latest snapshot.
    #[must_use]
    pub fn snapshot_path(&self) -> PathBuf {
        self.path.with_extension("look")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A file that cannot be removed now is removed at the next start.
        let _ = std::fs::remove_file(self.snapshot_path());
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A record read from the directory.
#[derive(Debug)]
pub struct Found {
    /// Its contents.
    pub record: Record,
    /// The path of the record.
    pub path: PathBuf,
    /// Whether the process is still running, that is, holds the lock.
    pub running: bool,
}

/// Maximum size of a record in bytes; longer files are ignored.
const LONGEST: u64 = 1 << 20;

/// All records in a directory. A directory writable by others is ignored, because cleanup kills processes and changes
/// interfaces on the word of a record.
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

/// The contents of a file, up to the maximum size of a record.
pub(crate) fn short(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The running bridge that uses one of these interfaces of the namespace with cookie `place`: its name and record.
#[must_use]
pub fn bridge_at(directory: &Path, place: u64, interfaces: &[String]) -> Option<(String, Record)> {
    let running = records(directory).into_iter().filter(|f| f.running).map(|f| f.record);
    running.filter(|r| r.bridge.as_ref().is_some_and(|state| place != 0 && state.place == place)).find_map(|record| {
        let used = |name: &&String| record.bridge.as_ref().is_some_and(|t| t.interfaces.contains(name));
        interfaces.iter().find(used).cloned().map(|name| (name, record))
    })
}

/// Removes records of killed processes that used one of these interfaces, because another process uses them now.
pub fn forget(directory: &Path, place: u64, interfaces: &[String]) {
    let same =
        |state: &BridgeState| state.place == place && state.interfaces.iter().any(|name| interfaces.contains(name));
    for found in records(directory).into_iter().filter(|f| !f.running && f.record.bridge.as_ref().is_some_and(same)) {
        // Another process may have removed it first.
        let _ = std::fs::remove_file(found.path);
    }
}

/// Leftovers of killed links, bridges and shapers, and kernel bridges still forwarding: one sentence each, with the command that cleans up.
#[must_use]
pub fn leftovers(directory: &Path) -> Vec<String> {
    let all = records(directory);
    let forwarding = handover::forwarding(&all);
    let forwarded = |state: &BridgeState| forwarding.iter().any(|device| device.is_between(state));
    let left = |record: &Record| match &record.bridge {
        Some(state) if state.off.is_empty() && forwarded(state) => None,
        Some(state) => {
            let off = state.off.iter().map(|o| format!("{} of {}", o.offload, o.interface)).collect::<Vec<_>>();
            let (off, right) = match off.is_empty() {
                true => ("nothing but its record".to_owned(), "removes that"),
                false => (format!("{} switched off", off.join(", ")), "switches them on again"),
            };
            Some(format!(
                "the {} was killed and left {off}; aqmkit link --cleanup {right}",
                title(&state.name, &state.interfaces)
            ))
        }
        None => {
            let many = counted(inside(&record.cookies).len(), "process", "processes");
            Some(format!(
                "link {} was killed and left {many} in its namespaces; aqmkit link --cleanup cleans up",
                record.pid
            ))
        }
    };
    let killed = all.iter().filter(|f| !f.running).filter_map(|f| left(&f.record));
    killed.chain(forwarding.iter().filter_map(handover::Forwarding::warning)).collect()
}

/// A count with its noun in the right number.
fn counted(many: usize, one: &str, more: &str) -> String {
    format!("{many} {}", if many == 1 { one } else { more })
}

/// The result of a cleanup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Killed links whose records were removed.
    pub links: usize,
    /// Killed bridges and shapers whose records were removed.
    pub bridges: usize,
    /// Processes killed in namespaces of killed links.
    pub processes: usize,
    /// Offloads enabled again.
    pub offloads: usize,
}

impl std::fmt::Display for Cleaned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            (self.links, "killed link cleaned up", "killed links cleaned up"),
            (self.processes, "process ended", "processes ended"),
            (self.bridges, "killed bridge or shaper cleaned up", "killed bridges or shapers cleaned up"),
            (self.offloads, "offload switched on again", "offloads switched on again"),
        ];
        let parts = parts.into_iter().filter(|(many, ..)| *many > 0).map(|(many, one, more)| counted(many, one, more));
        let text = parts.collect::<Vec<_>>().join(", ");
        f.write_str(if text.is_empty() { "nothing to clean up" } else { &text })
    }
}

/// Kills the processes of killed links, and restores the settings that killed bridges changed. Running links and
/// bridges are not affected. A kernel bridge that took over from a killed bridge keeps forwarding, and its record
/// stays.
#[must_use]
pub fn clean(directory: &Path) -> Cleaned {
    let mut cleaned = Cleaned::default();
    let all = records(directory);
    let forwarding = handover::forwarding(&all);
    for found in all.into_iter().filter(|f| !f.running) {
        cleaned.processes += end_processes(&found.record.cookies);
        cleaned.offloads += found.record.bridge.as_ref().map_or(0, restore_offloads);
        let stays =
            |state: &BridgeState| forwarding.iter().any(|device| device.made_here() && device.is_between(state));
        if found.record.bridge.as_ref().is_some_and(stays) {
            keep_without_offloads(&found);
            continue;
        }
        let _ = std::fs::remove_file(found.path.with_extension("look"));
        if std::fs::remove_file(&found.path).is_ok() {
            match found.record.bridge {
                Some(_) => cleaned.bridges += 1,
                None => cleaned.links += 1,
            }
        }
    }
    remove_dead_sockets(directory);
    cleaned
}

/// Removes the offloads from a record, once they are restored.
fn keep_without_offloads(found: &Found) {
    let mut record = found.record.clone();
    let Some(state) = record.bridge.as_mut().filter(|state| !state.off.is_empty()) else { return };
    state.off.clear();
    // If this fails, they are enabled once more at the next start.
    let _ = serde_json::to_vec(&record).map(|text| std::fs::write(&found.path, text));
}

/// Removes sockets without a listener: their processes were killed.
fn remove_dead_sockets(directory: &Path) {
    if is_safe(directory).is_err() {
        return;
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path());
    for socket in entries.filter(|path| path.extension().is_some_and(|e| e == "sock")) {
        if is_dead(&socket) {
            // Another process may have removed it first.
            let _ = std::fs::remove_file(socket);
        }
    }
}

/// Re-enables the offloads that a bridge disabled, unless the interface or namespace is gone. Returns their number.
fn restore_offloads(state: &BridgeState) -> usize {
    if state.off.is_empty() {
        return 0;
    }
    let place = Netns::find(state.place);
    let undone = place.and_then(|n| n.inside(|| Ok(state.off.iter().filter(|o| o.undo().is_ok()).count())).ok());
    undone.unwrap_or(0)
}

/// Kills every process in these namespaces, and returns their number.
fn end_processes(cookies: &[u64]) -> usize {
    inside(cookies).into_iter().filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count()
}

/// Every process in these namespaces. Cookies are unique until reboot, so no other namespace can match.
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
        let mut state = BridgeState {
            name: "wan".into(),
            place: 7,
            interfaces: vec!["a".into(), "b".into()],
            ..BridgeState::default()
        };
        let record = |bridge: &BridgeState| Record { pid: 9, bridge: Some(bridge.clone()), ..Record::default() };
        let mut held = Held::new(dir.path(), &record(&state)).unwrap();
        let at =
            |place, names: [&str; 2]| bridge_at(dir.path(), place, &names.map(str::to_owned)).map(|(n, r)| (n, r.pid));
        assert_eq!(at(7, ["c", "b"]), Some(("b".to_owned(), 9)));
        assert_eq!((at(7, ["c", "d"]), at(8, ["a", "b"])), (None, None));
        state.off = vec![DisabledOffload { interface: "b".into(), index: 1, offload: "gro".into() }];
        held.update(&record(&state)).unwrap();
        assert_eq!(records(dir.path())[0].record, record(&state));
        assert!(leftovers(dir.path()).is_empty());
        // The state after a kill: the record exists, unlocked.
        let path = held.path.clone();
        let text = std::fs::read(&path).unwrap();
        drop(held);
        std::fs::write(path, text).unwrap();
        assert_eq!(at(7, ["a", "b"]), None);
        assert_eq!(
            leftovers(dir.path()),
            [
                "the bridge wan between a and b was killed and left gro of b switched off; aqmkit link --cleanup switches them on again"
            ]
        );
        assert_eq!(clean(dir.path()), Cleaned { bridges: 1, ..Cleaned::default() }, "there is no namespace 7");
    }

    #[test]
    fn what_has_one_interface_is_called_a_shaper() {
        let dir = tempfile::tempdir().unwrap();
        let state =
            BridgeState { name: "shape".into(), place: 7, interfaces: vec!["eth0".into()], ..BridgeState::default() };
        let held = Held::new(dir.path(), &Record { pid: 9, bridge: Some(state), ..Record::default() }).unwrap();
        let text = std::fs::read(&held.path).unwrap();
        let path = held.path.clone();
        drop(held);
        std::fs::write(path, text).unwrap();
        assert_eq!(
            leftovers(dir.path()),
            ["the shaper of eth0 was killed and left nothing but its record; aqmkit link --cleanup removes that"]
        );
        forget(dir.path(), 8, &["eth0".to_owned()]);
        assert_eq!(leftovers(dir.path()).len(), 1, "another namespace has another eth0");
        forget(dir.path(), 7, &["eth0".to_owned()]);
        assert!(leftovers(dir.path()).is_empty());
    }

    #[test]
    fn a_cleanup_tells_what_it_did_and_no_more() {
        let told = |links, processes, bridges, offloads| Cleaned { links, bridges, processes, offloads }.to_string();
        assert_eq!(told(0, 0, 0, 0), "nothing to clean up");
        assert_eq!(told(0, 0, 1, 0), "1 killed bridge or shaper cleaned up");
        assert_eq!(told(1, 1, 0, 0), "1 killed link cleaned up, 1 process ended");
        let all = "2 killed links cleaned up, 3 processes ended, 2 killed bridges or shapers cleaned up, 2 offloads switched on again";
        assert_eq!(told(2, 3, 2, 2), all);
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
        assert_eq!(clean(dir.path()), Cleaned { links: 2, ..Cleaned::default() });
        assert!(records(dir.path()).is_empty());
    }
}
