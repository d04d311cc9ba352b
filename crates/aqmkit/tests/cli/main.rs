//! The command as users run it.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod again;
#[cfg(live)]
mod bridge;
mod calibrate;
mod documents;
mod explain;
mod files;
mod full;
mod good;
#[cfg(target_os = "linux")]
mod hangup;
mod help;
mod import;
#[cfg(live)]
mod link;
mod measure;
mod null_test;
mod pcap;
mod play;
mod qlog;
mod replay;
#[cfg(live)]
mod rootless;
mod setup;
#[cfg(live)]
mod shape;
mod wrong;

use std::path::Path;

use assert_cmd::Command;

/// A tiny experiment: two disciplines, two repeats, two seconds.
const TINY: &str = r#"
title = "Tiny"
source = "nowhere"
duration = "2s"
repeat = 2
[topology]
rate = "2mbit"
delays = "20ms"
[sweep]
aqm = ["fifo", { name = "red", min = 5, max = 15 }]
[[traffic]]
kind = "bulk"
class = "tcp"
flows = 3
stagger = "100ms"
"#;

/// Copies a program that will be executed. Uses `cp`, because a file open for writing in this process could be
/// inherited by a process that another test forks at that moment, and the kernel does not execute files that are open
/// for writing.
#[cfg(live)]
fn copy(program: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg(program).arg(to).status().unwrap();
    assert!(status.success(), "cp: {status}");
}

/// A temporary working directory for the command, with the experiment `tiny`.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        desk.write("tiny.toml", TINY);
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Runs the command with these arguments, separated by spaces.
    fn run(&self, line: &str) -> Told {
        let mut command = Command::cargo_bin("aqmkit").unwrap();
        command.current_dir(self.path()).env_remove("AQMKIT_EXPERIMENTS").env("NO_COLOR", "1");
        let output = command.args(line.split_whitespace()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Told { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The exit code and the output of a command.
#[derive(Debug)]
struct Told {
    code: i32,
    out: String,
    err: String,
}

impl Told {
    #[track_caller]
    fn good(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.err, "", "nothing beside the results");
        self.out
    }

    /// Asserts that it failed with a single message which contains these texts, and did not panic.
    #[track_caller]
    fn wrong(&self, parts: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{self:?}");
        let flat = self.err.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(flat.contains(part), "{part:?} is not in:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked") && !self.err.contains("RUST_BACKTRACE"), "{}", self.err);
    }
}
