//! `link` and `doctor` as users run them. Tests that need permission to create links are skipped, with a message, where
//! it is missing.

#![cfg(live)]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and say why it was skipped")]
#![allow(clippy::disallowed_methods, reason = "real time passes in these tests")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Only one link at a time, because links compete for the processors.
static ALONE: Mutex<()> = Mutex::new(());

fn aqmkit(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aqmkit"));
    command.args(arguments).env("NO_COLOR", "1");
    command
}

fn run(arguments: &[&str]) -> Output {
    aqmkit(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ready() -> bool {
    let output = run(&["doctor"]);
    if output.status.success() {
        return true;
    }
    eprintln!("skipped: {}", text(&output.stderr));
    false
}

/// The results in this directory.
fn results(dir: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(dir.join("results.json")).unwrap()).unwrap()
}

/// Whether a process with this id exists and is not a zombie.
fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn wrong_usage_is_told_before_anything_is_made() {
    let refused = |arguments: &[&str], what: &str| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(what), "{}", text(&output.stderr));
    };
    refused(&["link", "--", "true"], "no rate");
    refused(&["link", "--rate", "10mbit"], "no command");
    refused(&["link", "--rate", "10", "--", "true"], "needs a unit");
    refused(&["link", "--rate", "10mbit", "--aqm", "coddel", "--", "true"], "did you mean codel");
    refused(&["link", "--rate", "10mbit", "--aqm", "red:minn=5", "--", "true"], "minn");
    refused(&["link", "--rate", "10mbit", "--class", "web", "--", "true"], "web=tcp:80");
}

#[test]
fn doctor_looks_at_everything() {
    let output = run(&["doctor", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = found["checks"].as_array().unwrap().iter().filter_map(|c| c["name"].as_str()).collect();
    for name in ["rights", "namespaces", "TUN", "AF_PACKET", "AF_XDP", "congestion control", "ECN", "timers"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn the_exit_code_and_the_address_are_the_commands() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let output = run(&["link", "--rate", "10mbit", "--", "sh", "-c", "echo $AQMKIT_BASE; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "198.18.0.1\n");
    let missing = run(&["link", "--rate", "10mbit", "--", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing.stderr));
}

#[test]
fn links_stand_in_a_row() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let path = env!("CARGO_BIN_EXE_aqmkit");
    let inner =
        format!("{path} -q link --rate 20mbit --delay 20ms -- sh -c 'echo $AQMKIT_BASE; ping -c 1 -W 20 $AQMKIT_BASE'");
    let output = run(&["-q", "link", "--rate", "20mbit", "--delay", "30ms", "--", "sh", "-c", &inner]);
    let said = text(&output.stdout);
    assert!(said.starts_with("198.18.0.1\n"), "{said} {}", text(&output.stderr));
    if !said.contains("PING") {
        eprintln!("skipped: the program ping is not here");
        return;
    }
    let time = said.split("time=").nth(1).and_then(|t| t.split(' ').next()).and_then(|t| t.parse::<f64>().ok());
    assert!(time.is_some_and(|ms| (100.0..2000.0).contains(&ms)), "{said} {}", text(&output.stderr));
}

/// The estimate is of the link: its rate in both directions, its round trip, and its one queue. Whether a busy machine's FIFO looks like one with an AQM is not tested.
#[test]
fn a_test_between_two_hosts_finds_the_link() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let path = env!("CARGO_BIN_EXE_aqmkit");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("measured.toml");
    let client = format!(
        "for n in 1 2 3 4 5 6 7 8 9; do {path} -q measure --to $AQMKIT_BASE --time 4s --json --out {} && exit; sleep 0.3; done",
        file.display()
    );
    let link = ["-q", "link", "--rate", "20mbit", "--delay", "15ms", "--aqm", "fifo:limit=100"];
    let output = aqmkit(&link)
        .args(["--server", &format!("{path} -q measure --serve"), "--", "sh", "-c", &client])
        .output()
        .unwrap();
    let said = text(&output.stdout);
    let both: serde_json::Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{}", text_of(&output)));
    for (direction, rate) in [("down", "down_bps"), ("up", "up_bps")] {
        let one = &both[direction];
        let value = |key: &str| one[key]["value"].as_f64().unwrap();
        assert!((18e6..22e6).contains(&value(rate)), "{one}");
        assert!((29.0..34.0).contains(&value("rtt_ms")), "{one}");
        assert!((30.0..70.0).contains(&value("sparse_delay_ms")), "100 packets of 1500 bytes are 60 ms: {one}");
        assert_eq!(one["fair_queueing"]["answer"], "no", "{one}");
    }
    let written = std::fs::read_to_string(file).unwrap();
    assert!(written.contains("\ndown = \"") && written.contains("\nup = \""), "{written}");
}

/// A server left in the background survives a killed link only until the next cleanup.
#[test]
fn after_a_kill_nothing_is_left_but_what_cleanup_ends() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pids");
    let script = format!("sleep 1000 & echo $! > {0}.x; echo $$ >> {0}.x; mv {0}.x {0}; wait", file.display());
    let mut link =
        aqmkit(&["-q", "link", "--rate", "1mbit", "--", "sh", "-c", &script]).stderr(Stdio::null()).spawn().unwrap();
    until("the command did not start", || file.exists());
    let pids = std::fs::read_to_string(&file).unwrap();
    let (background, command) = pids.trim().split_once('\n').unwrap();
    assert!(lives(background) && lives(command));
    let doctor = text(&run(&["doctor"]).stdout);
    assert!(doctor.contains(&format!("link {}", link.id())), "{doctor}");
    link.kill().unwrap();
    link.wait().unwrap();
    until("the command outlived its link", || !lives(command));
    let cleaned = text(&run(&["link", "--cleanup"]).stdout);
    assert!(cleaned.contains("1 killed link cleaned up"), "{cleaned}");
    until("the cleanup has left a process", || !lives(background));
}

#[test]
fn a_signal_ends_the_command_and_all_that_it_started() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pids");
    let script = format!("sleep 1000 & echo $! > {0}.x; mv {0}.x {0}; wait", file.display());
    let mut link =
        aqmkit(&["-q", "link", "--rate", "1mbit", "--", "sh", "-c", &script]).stderr(Stdio::null()).spawn().unwrap();
    until("the command did not start", || file.exists());
    let background = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let told = Command::new("kill").args(["-TERM", &link.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert_eq!(link.wait().unwrap().code(), Some(143), "128 and the number of the signal");
    assert!(!lives(&background));
}

/// A short form of `aqmkit run live/agree --live`, with one discipline and one congestion control.
#[test]
fn a_live_run_agrees_with_the_simulated_one() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let experiment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/live/agree.toml");
    let one = ["--set", "aqm=codel", "--set", "transport.congestion=reno", "--out", out];
    let output = aqmkit(&["-q", "run", experiment, "--live", "--scale", "quick"]).args(one).output().unwrap();
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    if told.contains("could not keep up") {
        eprintln!("skipped: {told}");
        return;
    }
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}\n{told}");
    let results = results(dir.path());
    // The criteria apply to longer runs on an idle machine; for short runs on any machine, the tolerance is larger.
    let list = results["agreements"].as_array().unwrap();
    let differ = |a: &serde_json::Value| a["simulated"].as_f64().unwrap() / a["live"].as_f64().unwrap();
    assert_eq!(list.len(), 4, "{list:?}");
    assert!(list.iter().all(|a| (0.5..2.0).contains(&differ(a))), "{list:?}");
    assert!((0.9..1.1).contains(&differ(&list[0])) && list[0]["what"] == "used, %", "{list:?}");
    let on: Vec<&str> = results["runs"].as_array().unwrap().iter().filter_map(|r| r["labels"]["on"].as_str()).collect();
    assert_eq!(on, ["simulated", "live"]);
}

/// Reno, with a queue that never overflows. The first flow is in slow start when the measurement begins, and the second
/// starts later. The congestion window limits both.
#[test]
fn what_limited_the_senders_of_a_live_run_is_in_its_results() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("limits.toml");
    let experiment = r#"
        title = "limits"
        duration = "2s"
        warmup = "1s"
        topology = { rate = "4mbit", delays = "50ms" }
        transport = { profile = "linux-6", congestion = "reno" }
        traffic = [
            { name = "first", kind = "bulk", flows = 1, stagger = "0s" },
            { name = "second", kind = "bulk", flows = 1, stagger = "0s", start = "500ms" },
        ]
        sweep.aqm = [{ name = "fifo", limit = "2000p" }]
    "#;
    std::fs::write(&file, experiment).unwrap();
    let output = aqmkit(&["-q", "run", "--live"]).arg(&file).args(["--out"]).arg(dir.path()).output().unwrap();
    let told = text_of(&output);
    if told.contains("could not keep up") {
        return eprintln!("skipped: {told}");
    }
    let results = results(dir.path());
    let runs = results["runs"].as_array().unwrap();
    let live = runs.iter().find(|run| run["labels"]["on"] == "live").unwrap();
    let of = |name: &str, what: &str| live["apps"][name]["limits"][what].as_f64().unwrap();
    for name in ["first", "second"] {
        let shares = ["application", "congestion_window", "receive_window", "send_buffer"].map(|limit| of(name, limit));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && shares[1] > 0.8, "{name}: {shares:?}");
    }
    let counted = ["first", "second"].map(|name| [of(name, "slow_start"), of(name, "late")]);
    assert_eq!(counted, [[1.0, 0.0], [0.0, 1.0]]);
    assert!(told.contains("1 of 1 flows of first were in their first slow start"), "{told}");
}

/// A short form of `aqmkit run live/kernel --kernel`: each packet is followed through the queue inside the kernel.
#[test]
fn a_run_inside_the_kernel_is_measured_as_a_live_one() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let experiment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/live/kernel.toml");
    let one = ["--set", "aqm=red", "--set", "duration=5s", "--set", "warmup=2s", "--out", out];
    let output = aqmkit(&["-q", "run", experiment, "--kernel", "--scale", "quick"]).args(one).output().unwrap();
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    if told.contains("could not keep up") || output.status.code() == Some(3) {
        eprintln!("skipped: {told}");
        return;
    }
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}\n{told}");
    let results = results(dir.path());
    let list = results["agreements"].as_array().unwrap();
    assert_eq!(list.len(), 4, "{list:?}");
    assert!(list.iter().all(|a| a["on"] == "kernel"), "{list:?}");
    let differ = |a: f64, b: f64| (0.4..2.5).contains(&(a / b));
    let close = |a: &serde_json::Value| differ(a["simulated"].as_f64().unwrap(), a["live"].as_f64().unwrap());
    assert!(list.iter().all(close), "{list:?}");
    let runs = results["runs"].as_array().unwrap();
    let on: Vec<&str> = runs.iter().filter_map(|r| r["labels"]["on"].as_str()).collect();
    assert_eq!(on, ["simulated", "kernel"]);
    let link = |i: usize| runs[i]["links"].as_object().unwrap().values().next().unwrap();
    let lost = [0, 1].map(|i| link(i)["drop_rate"].as_f64().unwrap());
    assert!(lost[1] > 0.001 && differ(lost[0], lost[1]), "{lost:?}");
    let by_reason = link(1)["drops"].as_object().unwrap();
    assert!(by_reason.get("early").and_then(serde_json::Value::as_u64) > Some(5), "{by_reason:?}");
}

#[test]
fn what_does_not_run_inside_the_kernel_is_refused_with_the_reason() {
    if !ready() {
        return;
    }
    let agree = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/live/agree.toml");
    let output = run(&["-q", "run", agree, "--kernel", "--scale", "quick"]);
    let told = text(&output.stderr);
    if output.status.code() == Some(3) {
        return eprintln!("skipped: {told}");
    }
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("cannot be run inside the kernel") && told.contains("does not run in the kernel"), "{told}");
}

#[test]
fn what_a_live_link_cannot_do_is_refused_with_the_reason() {
    if !ready() {
        return;
    }
    let output = run(&["-q", "run", "cbt/blast", "--live", "--scale", "quick"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot be run live"), "{}", text(&output.stderr));
}

/// A congestion control that no kernel has.
#[test]
fn what_the_kernel_lacks_is_named() {
    if !ready() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("prague.toml");
    let text = r#"
        title = "prague"
        duration = "1s"
        topology = { rate = "1mbit", delays = "1ms" }
        transport = { congestion = "prague" }
        traffic = [{ kind = "bulk", flows = 1 }]
    "#;
    std::fs::write(&file, text).unwrap();
    let output = aqmkit(&["-q", "run", "--live"]).arg(&file).args(["--out"]).arg(dir.path()).output().unwrap();
    let told = text_of(&output);
    if congestion_controls().contains("prague") {
        return eprintln!("skipped: this kernel has prague");
    }
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("no congestion control prague") && told.contains("modprobe tcp_prague"), "{told}");
}

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

fn congestion_controls() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default()
}

/// `reproduce --live` on a small experiment: pages and datagrams over real sockets, with all metrics.
#[test]
fn pages_and_datagrams_cross_a_live_link() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mixed.toml");
    let experiment = r#"
        title = "Pages and datagrams"
        duration = "5s"
        warmup = "1s"
        classes = ["web", "media", "silent"]
        topology = { rate = "10mbit", delays = "10ms", aqm = { name = "fifo", limit = 20 } }
        transport = { profile = "linux-6", congestion = "reno" }
        traffic = [
            { kind = "short-flows", class = "web", interval = "20ms", shape = 1.2, size_max = "300kb" },
            { kind = "cbr", class = "media", flows = 2, rate = "1mbit", packet = "1000b" },
            { kind = "bulk", class = "web", flows = 1, stagger = "0s" },
            { name = "paused", kind = "cbr", class = "media", rate = "5mbit", active = false },
        ]
    "#;
    std::fs::write(&file, experiment).unwrap();
    let output = aqmkit(&["-q", "reproduce", "--live", "--scale", "full", "--json", "--out"])
        .arg(dir.path())
        .arg(&file)
        .output();
    let output = output.unwrap();
    if text(&output.stderr).contains("could not keep up") {
        return eprintln!("skipped: {}", text(&output.stderr));
    }
    // Agreement needs an idle machine, but each quantity must have a simulated and a live value on any machine.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text_of(&output));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let what: Vec<&str> = told[0]["agreements"].as_array().unwrap().iter().filter_map(|a| a["what"].as_str()).collect();
    assert_eq!(what, ["used, %", "mean delay, ms", "fairness", "media, Mbit/s", "web, Mbit/s"]);
    let found = std::fs::read_dir(dir.path()).unwrap().filter_map(Result::ok).find(|e| e.path().is_dir()).unwrap();
    let results = results(&found.path());
    let live = results["runs"].as_array().unwrap().iter().find(|r| r["labels"]["on"] == "live").unwrap();
    let apps = &live["apps"];
    assert!(apps["short-flows"]["completed"]["transfer"].as_u64() > Some(50), "{apps}");
    assert!(apps["short-flows"]["response_time_ms"].as_object().is_some_and(|o| !o.is_empty()), "{apps}");
    // A queue of 20 packets cannot hold all of them.
    let again = |app: &str| apps[app]["retransmission_rate"].as_f64().unwrap();
    assert!(again("bulk") + again("short-flows") > 0.0, "{apps}");
    assert!(apps["cbr"]["counters"]["packets_received"].as_f64() > Some(10.0), "{apps}");
    assert_eq!(
        apps["paused"]["counters"]["packets_received"].as_f64(),
        Some(0.0),
        "traffic that is not active does not start"
    );
    // Datagrams are not retransmitted, and few are dropped; link and hosts count the same bytes.
    let efficiency = |class: &str| live["classes"][class]["efficiency"].as_f64().unwrap();
    assert!((0.5..=1.01).contains(&efficiency("media")) && (0.5..=1.01).contains(&efficiency("web")), "{live}");
    let page = std::fs::read_to_string(found.path().join("report.html")).unwrap();
    assert!(page.contains("<h2>Simulated and live</h2>"));
}
