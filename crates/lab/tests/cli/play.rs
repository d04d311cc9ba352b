//! `play`: the page and what is served with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Desk, TINY};

/// `aqmkit play` while it serves; it ends with this value.
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

    /// Host and port of the address that was printed.
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
        // It may have ended by itself, which the test has noticed then.
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
}

#[test]
fn the_page_is_saved_as_a_file() {
    let desk = Desk::new();
    assert_eq!(desk.run("play --save page.html").good(), "");
    assert_eq!(desk.read("page.html"), aqmkit_lab::cli::play::page());
    desk.run("play tiny.toml --save page.html").wrong(&["--save writes the page without an experiment"]);
}

/// The experiment in a link to the page: what stored blocks of a deflate stream hold.
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

#[test]
fn a_report_opens_its_runs_in_the_page() {
    let desk = Desk::new();
    let out = desk.run("run tiny.toml --digests").good();
    assert!(desk.path().join("results/tiny/play.html").is_file());
    let report = desk.read("results/tiny/report.html");
    let links: Vec<&str> = report.split("play.html#e=").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(links.len(), 2, "two disciplines, the first of two repeats each");
    for link in links {
        desk.write("linked.toml", &unpacked(link));
        let told = desk.run("run linked.toml --out linked").good();
        let digest = told.lines().find_map(|line| line.strip_prefix("Digest: ")).unwrap().trim().to_owned();
        assert!(out.contains(&digest), "{digest} is not in {out}");
    }
    // The stored results have the links, too.
    std::fs::remove_file(desk.path().join("results/tiny/report.html")).unwrap();
    desk.run("report results/tiny").good();
    assert_eq!(desk.read("results/tiny/report.html"), report);
}

#[test]
fn what_the_page_cannot_open_has_no_link() {
    let desk = Desk::new();
    desk.write("ms", "10\n20\n30\n");
    desk.write("traced.toml", &TINY.replace("rate = \"2mbit\"", "rate = { trace = \"ms\" }"));
    desk.run("run traced.toml").good();
    assert!(!desk.path().join("results/traced/play.html").exists());
    assert!(!desk.read("results/traced/report.html").contains("play.html"));
}
