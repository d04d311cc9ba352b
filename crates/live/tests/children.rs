//! Commands in a namespace, and all their descendants, are ended.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and say why it was skipped")]

use std::process::Stdio;

use aqmkit_live::children::{Children, Pid};
use aqmkit_live::netns::Netns;

/// The exit status of a child, if it ends within 30 seconds.
fn end_of(children: &mut Children, pid: Pid) -> Option<u8> {
    (0..3000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        children.reap();
        children.ended(pid)
    })
}

/// A single test, because it observes every child of the process.
#[test]
fn a_child_that_forks_and_dies_leaves_nobody_behind() {
    let Ok(namespace) = Netns::create() else {
        eprintln!("skipped: network namespaces cannot be made here");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    // A double-forked daemon that ignores SIGTERM, and an ordinary one.
    let script = format!(
        "trap '' TERM; (sh -c 'trap \"\" TERM; echo $$ >> {0}; while :; do sleep 1; done' &) ; \
         sleep 100 & echo $! >> {0}; while [ $(wc -l < {0}) -lt 2 ]; do sleep 0.05; done; exit 3",
        pids.display()
    );
    let mut children = Children::adopt().unwrap();
    let command = ["sh", "-c", &script].map(std::ffi::OsString::from);
    let first = children.start(&command, &namespace, &[("AQMKIT_BASE", "x".into())], Stdio::null()).unwrap();
    assert_eq!(end_of(&mut children, first), Some(3));
    let left = std::fs::read_to_string(&pids).unwrap();
    let alive = |pid: &str| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert_eq!(left.lines().filter(|pid| alive(pid)).count(), 2, "{left}");
    children.end();
    assert_eq!(left.lines().filter(|pid| alive(pid)).count(), 0, "{left}");
    // `timeout` creates its own process group.
    let grouped = ["timeout", "60", "sh", "-c", "exit 5"].map(std::ffi::OsString::from);
    let apart = children.start(&grouped, &namespace, &[], Stdio::null()).unwrap();
    assert_eq!(end_of(&mut children, apart), Some(5));
    let missing = ["/no/such/program"].map(std::ffi::OsString::from);
    assert!(children.start(&missing, &namespace, &[], Stdio::null()).is_err());
}
