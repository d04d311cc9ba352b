//! SIGHUP: closing the terminal stops a command, unless it was started with SIGHUP ignored, as by `nohup`.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Desk;

/// Starts a long run through another command.
fn long(desk: &Desk, starter: &str) -> Child {
    let script = format!("{starter} \"$AQMKIT\" run tiny.toml --set duration=10000min --out out");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(desk.path()).env("AQMKIT", assert_cmd::cargo::cargo_bin("aqmkit"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // It handles signals once its directory exists.
    for _ in 0..3000 {
        if desk.path().join("out/runs").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    child
}

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// The exit code, or `None` if it is still running after two seconds.
fn ended(child: &mut Child) -> Option<Option<i32>> {
    for _ in 0..200 {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

#[test]
fn the_end_of_a_terminal_stops_a_run_unless_it_is_ignored() {
    // The tests themselves may have been started by nohup.
    let plain = Desk::new();
    let mut stopped = long(&plain, "exec env --default-signal=HUP");
    send(&stopped, "-HUP");
    assert_eq!(ended(&mut stopped), Some(Some(130)));

    let nohup = Desk::new();
    let mut going = long(&nohup, "trap '' HUP; exec");
    send(&going, "-HUP");
    assert_eq!(ended(&mut going), None);
    send(&going, "-INT");
    assert_eq!(ended(&mut going), Some(Some(130)));
}
