//! `play`: the page and what is served with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use aqmkit_experiment::{Experiment, Overrides};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Desk, TINY};

/// A running `aqmkit play`, which is killed on drop; and the URL that it printed.
struct Served(Child, String);

impl Served {
    fn start(desk: &Desk, arguments: &[&str]) -> Served {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aqmkit"));
        command.current_dir(desk.path()).args(["play", "--no-open", "--quiet"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Served(child, line.trim().to_owned())
    }

    /// Host and port of the printed URL.
    fn host(&self) -> &str {
        self.1.trim_start_matches("http://").split('/').next().unwrap()
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already, which the test has detected by then.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_page_is_served_with_a_strict_policy() {
    let served = Served::start(&Desk::new(), &[]);
    assert!(served.1.starts_with("http://127.0.0.1:") && served.1.ends_with('/'), "{}", served.1);
    let answer = served.get("/");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && body.starts_with("<!doctype html>"), "{head}");
    let policy = head.lines().find(|l| l.starts_with("Content-Security-Policy: default-src 'none'")).unwrap();
    assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
    assert!(served.get("/experiment.toml").starts_with("HTTP/1.1 404"));
}

#[test]
fn an_experiment_is_served_beside_the_page() {
    let desk = Desk::new();
    let served = Served::start(&desk, &["tiny.toml"]);
    assert!(served.1.ends_with("/#file"), "{}", served.1);
    assert!(served.get("/experiment.toml").ends_with(&desk.read("tiny.toml")));
}

#[test]
fn a_wrong_experiment_is_refused_before_anything_is_served() {
    let desk = Desk::new();
    desk.write("bad.toml", &TINY.replace("flows = 3", "flows = 1e12"));
    desk.run("play bad.toml --no-open").wrong(&["flows"]);
    desk.run("play nowhere --no-open").wrong(&["nowhere"]);
    desk.run("play bad.toml --save page.html").wrong(&["flows"]);
}

#[test]
fn the_page_is_saved_as_a_file() {
    let desk = Desk::new();
    assert_eq!(desk.run("play --save page.html").good(), "");
    assert_eq!(desk.read("page.html"), aqmkit_lab::player::page());
    assert_eq!(desk.run("play tiny.toml --save tiny.html").good(), "");
    let page = desk.read("tiny.html");
    let (_, rest) = page.split_once("<meta name=\"aqmkit-open\" content=\"#e=").unwrap();
    assert_eq!(unpacked(rest.split('"').next().unwrap()), desk.read("tiny.toml"));
}

/// The experiment in a link to the page: the stored blocks of a deflate stream.
fn unpacked(fragment: &str) -> String {
    let stream = URL_SAFE_NO_PAD.decode(fragment).unwrap();
    let (mut rest, mut text) = (&stream[..], Vec::new());
    while let [_, low, high, _, _, block @ ..] = rest {
        let (content, next) = block.split_at(usize::from(u16::from_le_bytes([*low, *high])));
        text.extend_from_slice(content);
        rest = next;
    }
    String::from_utf8(text).unwrap()
}

/// The fragment with which a report opens its runs.
fn fragment_of(report: &str) -> String {
    let (_, rest) = report.split_once("data-fragment=\"").unwrap();
    rest.split('"').next().unwrap().replace("&amp;", "&")
}

#[test]
fn a_report_opens_every_run_in_the_page() {
    let desk = Desk::new();
    desk.run("run tiny.toml").good();
    let report = desk.read("results/tiny/report.html");
    let (name, text) = (fragment_of(&report), desk.read("tiny.toml"));
    assert_eq!(unpacked(name.strip_prefix("e=").unwrap()), text, "once, with all of its runs");
    assert!(report.contains("<option>aqm red</option>") && report.contains("<option>2, seed "));
    // The page opens a run by its index in the plan, which is also that of the stored runs.
    let plan = Experiment::parse("tiny.toml", &text, &Overrides::default()).unwrap().plan();
    let listed: serde_json::Value = serde_json::from_str(&desk.read("results/tiny/runs/index.json")).unwrap();
    let stored: Vec<&str> = listed.as_array().unwrap().iter().map(|run| run["hash"].as_str().unwrap()).collect();
    assert_eq!(plan.iter().map(|run| run.hash.as_str()).collect::<Vec<_>>(), stored);
    assert_eq!(report.matches("<option>").count(), 2 + 2, "two disciplines, two repetitions");
    // The page is embedded in the report, not written beside it.
    assert!(report.len() < 2_000_000 && !desk.path().join("results/tiny/play.html").exists());
    let (_, inside) = report.split_once("id=\"player-page\">").unwrap();
    let inside: String = serde_json::from_str(inside.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(inside, aqmkit_lab::player::page());
    // `report` embeds the same page, or writes it beside the report on request.
    std::fs::remove_file(desk.path().join("results/tiny/report.html")).unwrap();
    desk.run("report results/tiny").good();
    assert_eq!(desk.read("results/tiny/report.html"), report);
    desk.run("report results/tiny --page-beside").good();
    assert_eq!(desk.read("results/tiny/play.html"), inside);
    let smaller = desk.read("results/tiny/report.html");
    assert!(smaller.len() + 900_000 < report.len() && fragment_of(&smaller) == name);
}

#[test]
fn a_report_opens_the_runs_as_they_were_asked_for() {
    let desk = Desk::new();
    desk.run("run tiny.toml --set topology.rate=3mbit --repeat 1").good();
    let report = desk.read("results/tiny/report.html");
    let fragment = fragment_of(&report);
    let (text, set) = fragment.strip_prefix("e=").unwrap().split_once("&set=").unwrap();
    assert_eq!(set, "topology.rate%3D3mbit");
    assert!(unpacked(text).contains("repeat = 1") && !report.contains("<select name=\"repeat\">"));
}

/// Many combinations take only the space of their names.
#[test]
fn a_large_sweep_is_opened_too() {
    let desk = Desk::new();
    let limits: Vec<String> =
        (1..=150).map(|n| format!("{{ name = \"fifo\", label = \"f{n}\", limit = {n} }}")).collect();
    let text = TINY.replace("duration = \"2s\"\nrepeat = 2", "duration = \"500ms\"");
    let text = text
        .replace("aqm = [\"fifo\", { name = \"red\", min = 5, max = 15 }]", &format!("aqm = [{}]", limits.join(", ")));
    desk.write("many.toml", &text);
    desk.run("run many.toml --quiet").good();
    let report = desk.read("results/many/report.html");
    assert_eq!(report.matches("<option>aqm ").count(), 150);
    assert_eq!(unpacked(fragment_of(&report).strip_prefix("e=").unwrap()), text);
}

#[test]
fn what_the_page_cannot_open_says_why() {
    let desk = Desk::new();
    desk.write("ms", "10\n20\n30\n");
    desk.write("traced.toml", &TINY.replace("rate = \"2mbit\"", "rate = { trace = \"ms\" }"));
    desk.run("run traced.toml").good();
    assert!(!desk.path().join("results/traced/play.html").exists());
    let report = desk.read("results/traced/report.html");
    assert!(report.contains("Its text alone cannot be read") && !report.contains("id=\"player-page\""));
    desk.run("play traced.toml --save page.html")
        .wrong(&["the page cannot open traced.toml", "Its text alone cannot be read"]);
}
