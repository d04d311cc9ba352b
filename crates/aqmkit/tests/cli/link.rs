//! Links as users start them. Tests are skipped, with a message, where network namespaces or TUN devices cannot be
//! created.

#![allow(clippy::print_stderr, reason = "it says why it was skipped")]

use std::process::{Child, Command, Output};
use std::time::Duration;

use aqmkit_live::netns::Netns;
use aqmkit_live::tun::Tun;
use serde_json::Value;

use super::Desk;
use super::bridge::threads;

/// Whether links can be created here.
pub(super) fn ready() -> bool {
    let tried = Netns::create().and_then(|n| n.inside(|| Tun::create("aqmkit0")));
    if let Err(e) = &tried {
        eprintln!("skipped: network namespaces or TUN devices cannot be made here ({e})");
    }
    tried.is_ok()
}

/// The command with its own directory for records and sockets; `sh` finds it as `$AQMKIT`.
pub(super) fn aqmkit(desk: &Desk) -> Command {
    let program = assert_cmd::cargo::cargo_bin("aqmkit");
    let mut command = Command::new(&program);
    command.current_dir(desk.path()).env("AQMKIT_RUNTIME_DIR", desk.path().join("run")).env("NO_COLOR", "1");
    command.env("AQMKIT", program).env_remove("AQMKIT_BASE");
    command
}

/// Runs a script in a link.
fn link(desk: &Desk, options: &[&str], script: &str) -> Output {
    let options = [&["link", "--rate", "20mbit"], options, &["--", "sh", "-c", script]].concat();
    aqmkit(desk).args(options).output().unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until a condition holds.
#[track_caller]
pub(super) fn until(what: &str, so: impl Fn() -> bool) {
    for _ in 0..3000 {
        if so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}: not in half a minute");
}

pub(super) fn signal(child: &Child, name: &str) {
    let told = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(told.unwrap().success());
}

#[test]
fn a_summary_that_cannot_be_written_is_told_before_the_command_runs() {
    let desk = Desk::new();
    for (file, why) in [("no/x.json", "no/x.json cannot be written: No such file"), (".", "Is a directory")] {
        let told = link(&desk, &["--out", file], "touch ran");
        let flat = text(&told.stderr).split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        assert!(told.status.code() == Some(2) && flat.contains(why) && flat.contains("--out"), "{flat}");
    }
    assert!(!desk.path().join("ran").exists());
}

#[test]
fn wrong_arguments_are_named() {
    let desk = Desk::new();
    desk.run("link --rate -5mbit -- true").wrong(&["\"-5mbit\" is not a rate", "negative"]);
    desk.run("link --rate 5mbit --delay -5ms -- true").wrong(&["\"-5ms\" is not a time", "negative"]);
    desk.run("link --rate 5mbit --class foo=tcp:99999 -- true").wrong(&["\"99999\" is not a port"]);
    desk.run("link --rate 5mbit --class foo=tcp:10-5 -- true").wrong(&["the port range 10-5 is reversed"]);
    desk.run("link --rate 5mbit --class foo=bar -- true").wrong(&["\"bar\" is not a rule", "for example web=tcp:80"]);
    desk.run("link --rate 5mbit --aqm codel:limit=foo -- true").wrong(&["such as \"60p\" or \"90kb\""]);
    desk.run("replay x --rate 5mbit --limit foo").wrong(&["such as \"60p\" or \"90kb\""]);
    desk.run("link --rate 10mbit --delay 1000000s -- true").wrong(&[
        "down: delay cannot be",
        "at 10mbit that would be 1192092 MiB in flight",
        "below 1 GiB",
    ]);
    desk.run("link --rate 5mbit --trace x -- true")
        .wrong(&["cannot be used with", "aqmkit link [OPTIONS] --trace <FILE> --"]);
    desk.run("link --rate 9999gbit -- true").wrong(&["rate cannot be", "at most 1tbit"]);
}

#[test]
fn a_command_that_cannot_be_started_is_told_why() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let start = |program: &str| aqmkit(&desk).args(["link", "--rate", "5mbit", "--", program]).output().unwrap();
    for (program, why) in [("nosuchcmd", "it is not found"), ("/etc/passwd", "permission denied")] {
        let told = start(program);
        let flat = text(&told.stderr).split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        assert!(told.status.code() == Some(2) && flat.contains(why), "{flat}");
    }
}

#[test]
fn a_server_that_fails_is_told_of() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let told = link(&desk, &["--server", "exit 7", "--server", "true"], "true");
    let said = text(&told.stderr);
    assert!(said.contains("the server \"exit 7\" has ended with exit code 7"), "{said}");
    assert!(!said.contains("\"true\" has ended"), "one that served and ended well is no failure: {said}");
}

#[test]
fn a_rate_that_was_changed_is_in_the_summary() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    // The kernel answers that the port is closed.
    let script = "bash -c 'echo > /dev/udp/$AQMKIT_BASE/9'; sleep 1; $AQMKIT ctl set --rate 5mbit; sleep 1";
    let told = link(&desk, &["--out", "s.json"], script);
    let said = text(&told.stderr);
    let json: Value = serde_json::from_str(&desk.read("s.json")).unwrap();
    if json["valid"] == false {
        return eprintln!("skipped: this machine is too busy for a link: {said}");
    }
    assert!(said.contains("down: the rate became 5mbit after "), "{said}");
    let down = &json["links"]["down"];
    assert_eq!(down["rate_changes"][0]["rate_bps"], 5_000_000, "{down}");
    let mean = down["rate_bps"].as_f64().unwrap();
    assert!((5e6..20e6).contains(&mean), "{mean}");
    let share = down["throughput_bps"].as_f64().unwrap() / mean;
    assert!((down["utilization"].as_f64().unwrap() / share - 1.0).abs() < 1e-6, "{down}");
    // Quantities that a link cannot measure are left out rather than zero.
    let class = json["classes"]["down"]["other"].as_object().unwrap();
    for name in ["goodput_bps", "efficiency", "loss_rate_pps"] {
        assert!(class.contains_key("drop_rate") && !class.contains_key(name), "{class:?}");
    }
}

/// Datagrams to port 9 are shaped to a rate at which most of them are dropped; others have a queue of their own.
#[test]
fn a_link_runs_a_tree_from_a_file() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let voice =
        "name = \"voice\"\naqm = { name = \"tbf\", rate = \"400kbit\", burst = \"3000b\", limit = \"6000b\" }\n";
    let rest = "name = \"rest\"\nmatch = \"*\"\naqm = \"fq-codel\"\n";
    std::fs::write(desk.path().join("home.toml"), format!("name = \"prio\"\n[[class]]\n{voice}[[class]]\n{rest}"))
        .unwrap();
    let send = |port: u16| format!("for i in $(seq 100); do printf %01000d 0 > /dev/udp/$AQMKIT_BASE/{port}; done");
    let script = format!("bash -c '{}; {}; sleep 1'", send(9), send(10));
    let options = ["--aqm", "home.toml", "--class", "voice=udp:9", "--class", "rest=*", "--out", "s.json"];
    let told = link(&desk, &options, &script);
    let said = text(&told.stderr);
    let json: Value = serde_json::from_str(&desk.read("s.json")).unwrap_or_else(|e| panic!("{e}: {said}"));
    if json["valid"] == false {
        return eprintln!("skipped: this machine is too busy for a link: {said}");
    }
    let drops = |class: &str| json["classes"]["up"][class]["drop_rate"].as_f64().unwrap();
    assert!(drops("voice") > 0.3, "{json}");
    assert_eq!(drops("rest"), 0.0, "{json}");
}

#[test]
fn what_a_killed_link_leaves_is_told_and_ended() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let script = "sleep 300 & echo $! > pid; wait";
    let mut started = aqmkit(&desk).args(["link", "--rate", "5mbit", "--", "sh", "-c", script]).spawn().unwrap();
    until("the command runs", || desk.path().join("pid").exists() && desk.read("pid").ends_with('\n'));
    let pid = desk.read("pid");
    let alive = || std::path::Path::new("/proc").join(pid.trim()).exists();
    signal(&started, "-KILL");
    started.wait().unwrap();
    assert!(alive(), "what the shell had started lives on");
    let said = || text(&aqmkit(&desk).args(["ctl", "list"]).output().unwrap().stderr);
    // The kernel ends the shell with the link, but not at once.
    let left = format!("link {} was killed and left 1 process in its namespaces", started.id());
    until("the shell ends", || said().contains(&left));
    assert!(said().contains("aqmkit link --cleanup"), "{}", said());
    let told = aqmkit(&desk).args(["link", "--cleanup"]).output().unwrap();
    assert_eq!(text(&told.stdout), "1 killed link cleaned up, 1 process ended\n");
    until("it ends", || !alive());
    assert_eq!(said(), "");
}

/// Processes that do answer are listed nevertheless.
#[test]
fn a_process_that_is_stopped_is_a_row_of_the_list() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let start = || {
        let mut command = aqmkit(&desk);
        command.args(["link", "--rate", "5mbit", "--", "sleep", "100"]).stderr(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let mut links = [start(), start()];
    let [stopped, other] = [links[0].id(), links[1].id()];
    let socket = |pid: u32| desk.path().join(format!("run/link-{pid}.sock")).exists();
    until("both run", || socket(stopped) && socket(other));
    signal(&links[0], "-STOP");
    let silent = format!("link-{stopped}: process {stopped} does not answer\n");
    let row = "down (server to client) 5mbit fifo, up (client to server) 5mbit fifo\n";
    let row = format!("link-{other}: link of process {other}, {row}");
    // `list` waits a second for each answer; if other links keep the machine busy, the running one may need longer.
    until("the list has both rows", || {
        let started = aqmkit_runs::clock::now();
        let told = aqmkit(&desk).args(["ctl", "list"]).output().unwrap();
        let took = aqmkit_runs::clock::now().duration_since(started);
        assert!(took < Duration::from_secs(10), "{took:?}");
        let said = text(&told.stdout);
        assert!(told.status.success() && said.contains(&silent), "{said}");
        said.contains(&row)
    });
    signal(&links[0], "-CONT");
    for child in &mut links {
        signal(child, "-TERM");
        child.wait().unwrap();
    }
}

/// The servers' head start and the shutdown are not part of the measured time.
#[test]
fn the_summary_is_of_the_time_of_the_command() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let script = "(trap '' TERM; exec sleep 4) & sleep 1";
    let told = link(&desk, &["--server", "sleep 9", "--json", "--class", "echo=icmp"], script);
    let json: Value = serde_json::from_slice(&told.stdout).unwrap();
    let duration = json["duration_s"].as_f64().unwrap();
    assert!((0.9..1.25).contains(&duration), "{duration}");
    let said = text(&link(&desk, &["--class", "echo=icmp"], "true").stderr);
    let starts = |line: &&str| line.trim_start_matches([' ', '│']).starts_with("echo");
    let classes = said.lines().filter(starts).count();
    assert!(said.contains("could not keep up") || classes == 2, "{said}");
}

#[test]
fn marks_that_cannot_be_are_told_of() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let said = |aqm: &str| text(&link(&desk, &["--ecn", "--aqm", aqm], "true").stderr);
    let plain = said("codel");
    assert!(plain.contains("down: codel drops and does not mark: --ecn needs --aqm codel:ecn=true"), "{plain}");
    let never = said("drr");
    assert!(never.contains("down: drr never marks: --ecn needs a discipline that does, as --aqm fq-codel"), "{never}");
    assert!(!said("codel:ecn=true").contains("does not mark") && !said("dualpi2").contains("does not mark"));
}

#[test]
fn a_quiet_link_prints_no_notes() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    // The path of the directory for records is a file.
    desk.write("file", "");
    let command = |options: &[&str]| {
        let mut command = aqmkit(&desk);
        command.env("AQMKIT_RUNTIME_DIR", desk.path().join("file")).args(options);
        command.args(["link", "--rate", "20mbit", "--ecn", "--aqm", "codel", "--server", "exit 7", "--", "true"]);
        text(&command.output().unwrap().stderr)
    };
    let (loud, quiet) = (command(&[]), command(&["-q"]));
    assert!(loud.matches("note: ").count() >= 4, "{loud}");
    assert!(!quiet.contains("note: ") && quiet.contains("down codel 20mbit, up codel 20mbit, "), "{quiet}");
}

#[test]
fn a_termination_is_prompt_and_has_its_own_code() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    for (name, code) in [("-TERM", 143), ("-HUP", 129)] {
        // The tests themselves may have been started by nohup, with SIGHUP ignored.
        let told = aqmkit(&desk);
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(told.get_program()).current_dir(desk.path());
        command.envs(told.get_envs().filter_map(|(key, value)| Some((key, value?))));
        command.args(["link", "--rate", "20mbit", "--", "sh", "-c", "touch runs; exec sleep 100"]);
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        until("it runs", || desk.path().join("runs").exists());
        std::fs::remove_file(desk.path().join("runs")).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let start = aqmkit_runs::clock::now();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let took = aqmkit_runs::clock::now().duration_since(start);
        assert!(took < Duration::from_millis(1500), "{took:?}");
    }
}

#[test]
fn the_command_runs_as_the_user_who_is_named() {
    if !ready() {
        return;
    }
    let desk = Desk::new();
    let nobody = |script: &str| link(&desk, &["--user", "65534"], script);
    if text(&nobody("true").stderr).contains("there is no user") {
        return eprintln!("skipped: there is no user 65534");
    }
    let told = nobody("id -u; id -Gn > /dev/null; echo $USER; ping -q -c 1 $AQMKIT_BASE > /dev/null; exit 7");
    let out = text(&told.stdout);
    assert!(out.starts_with("65534\n") && out.trim().lines().count() == 2, "{out} {}", text(&told.stderr));
    assert_eq!(told.status.code(), Some(7));
    desk.run("link --rate 5mbit --user nosuchuser -- true").wrong(&["there is no user nosuchuser"]);
    // Its background processes end with the link nevertheless.
    let ended = nobody("sleep 77 & true");
    let left = Command::new("pgrep").args(["-f", "^sleep 77$"]).output();
    assert!(ended.status.success() && left.is_ok_and(|o| o.stdout.is_empty()), "{}", text(&ended.stderr));
}

/// While the command runs. The page of `--play` is served by a separate process.
#[test]
fn no_thread_of_a_link_has_more_rights_than_it_needs() {
    if !ready() {
        return;
    }
    const KILL: u64 = 1 << 5;
    let desk = Desk::new();
    let mut command = aqmkit(&desk);
    let script = "grep NoNewPrivs /proc/self/status > bare; exec sleep 100";
    command.args(["link", "--rate", "5mbit", "--play", "--", "sh", "-c", script]).stderr(std::process::Stdio::piped());
    let mut link = command.spawn().unwrap();
    let mut said = std::io::BufReader::new(link.stderr.take().unwrap());
    let mut address = String::new();
    std::io::BufRead::read_line(&mut said, &mut address).unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    let safe = |(name, rights, bare, filtered): &(String, u64, bool, bool)| {
        let main = name.starts_with("aqmkit") && name != "aqmkit-ctl";
        rights & !(if main { KILL } else { 0 }) == 0 && *bare && *filtered
    };
    until("every thread has given up its rights", || {
        let all = threads(link.id());
        all.len() >= 3 && all.iter().all(safe)
    });
    let children = || std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", link.id())).unwrap();
    until("the page has given up its rights", || {
        let children = children();
        let pages = children.split_whitespace().filter_map(|pid| pid.parse().ok()).map(threads);
        let pages: Vec<_> = pages.filter(|all| all[0].0 == "aqmkit").collect();
        pages.len() == 1 && pages[0].len() >= 2 && pages[0].iter().all(|t| t.1 == 0 && t.2 && t.3)
    });
    let bare = || std::fs::read_to_string(desk.path().join("bare")).unwrap_or_default();
    until("the command has written what it may", || bare().ends_with('\n'));
    assert!(bare().ends_with("\t0\n"), "the command itself may use sudo");
    assert!(tells_a_state(address.trim()), "the page still tells the states");
    signal(&link, "-TERM");
    assert_eq!(link.wait().unwrap().code(), Some(143));
}

/// Whether the page at this URL shows the state of a link.
fn tells_a_state(address: &str) -> bool {
    let token = address.split("#live=").nth(1).unwrap();
    let host = address.trim_start_matches("http://").split('/').next().unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    std::io::Write::write_all(
        &mut stream,
        format!("GET /live?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(),
    )
    .unwrap();
    let mut states = std::io::BufReader::new(stream);
    (0..20).any(|_| {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut states, &mut line).unwrap();
        line.contains("\"kind\":\"link\"")
    })
}
