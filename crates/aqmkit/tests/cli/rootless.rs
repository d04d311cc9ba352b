//! The command run by a user other than root, inside and outside a user namespace. Tests are skipped, with a message,
//! where these are unavailable.

#![allow(clippy::print_stderr, reason = "it says why it was skipped")]

use std::process::{Command, Output};

use super::Desk;
use super::link::{ready, text};

/// A user other than root, with a copy of the command that this user may execute.
struct User(Desk);

impl User {
    /// `None` if there is no such user, or no user namespace.
    fn new() -> Option<User> {
        if !ready() {
            return None;
        }
        let desk = Desk::new();
        let copy = desk.path().join("aqmkit");
        super::copy(&assert_cmd::cargo::cargo_bin("aqmkit"), &copy);
        for path in [desk.path(), &copy] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        }
        let user = User(desk);
        let able = user.run(&["unshare", "-Urn", "test", "-w", "/dev/net/tun"]);
        if !able.as_ref().is_ok_and(|told| told.status.success()) {
            eprintln!("skipped: user namespaces cannot be made here, or have no TUN devices: {able:?}");
            return None;
        }
        Some(user)
    }

    fn run(&self, line: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"]).args(line);
        let other_places = ["AQMKIT_BASE", "XDG_RUNTIME_DIR", "AQMKIT_RUNTIME_DIR"];
        for name in other_places {
            command.env_remove(name);
        }
        command.current_dir("/").env("TMPDIR", self.0.path()).env("NO_COLOR", "1").output()
    }

    /// Runs the command; returns its exit code and its output without line breaks.
    fn aqmkit(&self, before: &[&str], line: &[&str]) -> (Option<i32>, String) {
        let program = self.0.path().join("aqmkit");
        let told = self.run(&[before, &[program.to_str().unwrap()], line].concat()).unwrap();
        let said = text(&told.stdout) + &text(&told.stderr);
        (told.status.code(), said.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" "))
    }
}

/// As root of a network namespace of its own.
const INSIDE: [&str; 2] = ["unshare", "-Urn"];

#[test]
fn a_link_needs_no_root() {
    let Some(user) = User::new() else { return };
    let link = ["link", "--rate", "20mbit", "--", "sh", "-c", "ping -q -c 2 -i 0.2 $AQMKIT_BASE; exit 7"];
    let (code, said) = user.aqmkit(&INSIDE, &link);
    assert!(code == Some(7) && !said.contains("no record can be kept"), "{said}");
    let (_, bare) = user.aqmkit(&[], &link);
    assert!(bare.contains("unshare -Urn aqmkit link"), "{bare}");
}

#[test]
fn what_a_user_namespace_does_not_have_is_named() {
    let Some(user) = User::new() else { return };
    let link =
        |options: &[&str]| user.aqmkit(&INSIDE, &[&["link", "--rate", "20mbit"], options, &["--", "true"]].concat());
    let (code, other) = link(&["--user", "65534"]);
    if other.contains("there is no user") {
        return eprintln!("skipped: there is no user 65534");
    }
    assert!(code == Some(2) && other.contains("this user namespace has no user") && other.contains("leave out --user"));
    let (failed, lost) = link(&["--nat"]);
    assert!(failed == Some(3) && lost.contains("no address but that of the loopback"), "{lost}");
}

#[test]
fn doctor_tries_a_user_namespace_and_tells_what_works() {
    let Some(user) = User::new() else { return };
    let (code, plain) = user.aqmkit(&[], &["doctor"]);
    assert!(
        plain.contains("can be created in a user namespace") && plain.contains("unshare -Urn aqmkit link"),
        "{plain}"
    );
    assert_eq!(code, Some(0), "links can run: {plain}");
    let (same, inside) = user.aqmkit(&INSIDE, &["doctor"]);
    assert!(
        same == Some(0) && !inside.contains("can be added"),
        "only root of the machine can add a control: {inside}"
    );
    assert!(inside.contains("unknown here") && !inside.contains("off: each decision"), "{inside}");
    assert!(!inside.contains("aqmkit doctor"), "it is this one: {inside}");
}
