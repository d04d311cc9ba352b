//! Files that are too large, damaged or edited: the command reports them, and nothing is lost.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use assert_cmd::Command;

use super::{Desk, TINY, Told};

/// An experiment with one traffic group that reads a file.
fn reading(traffic: &str) -> String {
    let begin = TINY.find("[[traffic]]").unwrap();
    format!("{}[[traffic]]\n{traffic}\n", &TINY[..begin])
}

impl Desk {
    /// A sparse file of a gigabyte of zeros.
    fn zeros(&self, name: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap().set_len(1 << 30).unwrap();
    }

    /// Runs the command with half a gigabyte of memory.
    fn run_in_little_memory(&self, line: &str) -> Told {
        let mut command = Command::new("sh");
        command.current_dir(self.path()).env_remove("AQMKIT_EXPERIMENTS").env("NO_COLOR", "1");
        let line = format!("ulimit -v 524288; exec {} {line}", env!("CARGO_BIN_EXE_aqmkit"));
        let output = command.args(["-c", &line]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Told { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The stored runs of `tiny`.
    fn run_files(&self) -> Vec<PathBuf> {
        let runs = std::fs::read_dir(self.path().join("results/tiny/runs")).unwrap();
        let mut found: Vec<_> =
            runs.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "zst")).collect();
        found.sort();
        found
    }
}

#[test]
fn a_gigabyte_of_zeros_is_refused_as_any_file() {
    let cases = [
        (
            "kind = \"abt\"\nvectors = \"zeros\"",
            "zeros",
            "it has 1 GiB, and a file of connection vectors has 512 MiB at most",
            "lines of tmix",
        ),
        (
            "kind = \"mpeg\"\nframes = \"zeros\"",
            "zeros",
            "it has 1 GiB, and a trace of a video has 256 MiB at most",
            "its size in bytes",
        ),
        (
            "kind = \"videoconf\"\ntrace = \"zeros\"",
            "zeros",
            "it has 1 GiB, and a trace of a conference has 512 MiB at most",
            "seconds and bytes",
        ),
        (
            "kind = \"http-mah\"\ndata = \"mah\"",
            "mah/HttpRequestLength.cdf",
            "has 64 MiB at most",
            "cumulative probability",
        ),
        ("kind = \"pcap\"\nfile = \"zeros\"", "zeros", "it is neither pcap nor pcapng", "pcap or pcapng"),
    ];
    for (traffic, name, what, right) in cases {
        let desk = Desk::new();
        desk.zeros(name);
        desk.write("tiny.toml", &reading(traffic));
        desk.run_in_little_memory("run tiny.toml").wrong(&[name, what, right, "tiny.toml:"]);
    }
    let desk = Desk::new();
    desk.zeros("zeros");
    desk.write("tiny.toml", &TINY.replace("rate = \"2mbit\"", "rate = { trace = \"zeros\" }"));
    desk.run_in_little_memory("run tiny.toml").wrong(&["zeros: it has 1 GiB", "whole milliseconds"]);
    desk.run_in_little_memory("replay zeros --aqm fifo --rate 1mbit").wrong(&["zeros: it is neither pcap nor pcapng"]);
    desk.run_in_little_memory("scoreboard --update zeros").wrong(&["it has 1 GiB, and a document has 16 MiB at most"]);
    desk.zeros("big.toml");
    desk.run_in_little_memory("run big.toml").wrong(&["big.toml: it has 1 GiB, and an experiment has 16 MiB at most"]);
}

#[test]
fn a_gigabyte_of_zeros_is_refused_beside_the_experiments() {
    let desk = Desk::new();
    for name in ["published.csv", "null-test.csv", "verdicts.csv"] {
        desk.zeros(&format!("experiments/{name}"));
        let line = if name == "verdicts.csv" { "scoreboard" } else { "run tiny.toml" };
        let what = format!("{name}: it has 1 GiB, and a list of published values or verdicts has 64 MiB at most");
        desk.run_in_little_memory(line).wrong(&[&what, "a CSV file with a heading"]);
        std::fs::remove_file(desk.path().join("experiments").join(name)).unwrap();
    }
    desk.zeros("experiments/x.toml");
    let listed = desk.run_in_little_memory("list experiments --json");
    assert!(listed.code == 0 && listed.out.contains("does not read"), "{listed:?}");
    desk.run_in_little_memory("run x").wrong(&["x.toml: it has 1 GiB"]);
}

#[test]
fn a_gigabyte_of_zeros_is_refused_in_a_directory_of_results() {
    let desk = Desk::new();
    desk.run("-q run tiny.toml").good();
    desk.zeros("results/tiny/runs/index.json");
    desk.run_in_little_memory("report results/tiny").wrong(&["index.json: it has 1 GiB", "runs/"]);
    desk.zeros("results/tiny/results.json");
    desk.run_in_little_memory("report results/tiny").wrong(&["results.json: it has 1 GiB"]);
    desk.run("-q run tiny.toml").good();
    desk.zeros("results/tiny/runs/parameters.json");
    let noted = desk.run_in_little_memory("report results/tiny");
    assert!(noted.code == 0 && noted.err.contains("parameters.json: it has 1 GiB"), "{noted:?}");
    desk.run("-q run tiny.toml").good();
    desk.zeros(desk.run_files()[0].strip_prefix(desk.path()).unwrap().to_str().unwrap());
    let told = desk.run_in_little_memory("report results/tiny");
    assert!(told.code == 0 && told.err.contains("it has 1 GiB; the maximum of a stored run is 256 MiB"), "{told:?}");
}

#[test]
fn a_run_that_unpacks_to_gigabytes_is_told_and_run_again() {
    let desk = Desk::new();
    desk.run("-q run tiny.toml").good();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    let zeros = vec![0; 1 << 24];
    (0..=64).for_each(|_| encoder.write_all(&zeros).unwrap());
    std::fs::write(&desk.run_files()[1], encoder.finish().unwrap()).unwrap();
    let told = desk.run_in_little_memory("report results/tiny");
    assert!(told.code == 0 && told.err.contains("it unpacks to more than 1 GiB"), "{told:?}");
    let again = desk.run_in_little_memory("run tiny.toml --jobs 1");
    assert!(again.code == 0 && again.err.contains("it is run again"), "{again:?}");
    assert_eq!(desk.run("report results/tiny").code, 0);
}

#[test]
fn a_damaged_run_is_named_with_what_mends_it() {
    let desk = Desk::new();
    let first = desk.run("-q run tiny.toml").good();
    let damaged = desk.run_files()[2].clone();
    std::fs::write(&damaged, "no zstd").unwrap();
    let told = desk.run("report results/tiny");
    let name = damaged.file_name().unwrap().to_str().unwrap();
    for part in ["warning: run aqm=", "repeat=", "is damaged", name, "the original command"] {
        assert!(told.code == 0 && told.err.contains(part), "{part:?} is not in {told:?}");
    }
    assert!(!told.err.contains("runs are stored"), "said once: {told:?}");
    assert!(desk.read("results/tiny/report.html").contains("is damaged"));
    assert_eq!(desk.run("run tiny.toml").out, first);
    desk.run("report results/tiny").good();
    std::fs::remove_file(damaged).unwrap();
    assert_eq!(
        desk.run("report results/tiny").err,
        "note: 3 of 4 runs are stored; run the experiment to complete them\n"
    );
}

#[test]
fn edited_results_are_noticed() {
    let desk = Desk::new();
    desk.run("-q run tiny.toml").good();
    let whole = desk.read("results/tiny/results.json");
    desk.run("report results/tiny").good();
    let told = "warning: results/tiny/results.json was changed after aqmkit wrote it: its checksum does not match";
    desk.write("results/tiny/results.json", &whole.replacen("\"title\": \"Tiny\"", "\"title\": \"Huge\"", 1));
    let report = desk.run("report results/tiny");
    assert!(report.code == 0 && report.err.starts_with(told), "{report:?}");
    assert!(desk.read("results/tiny/report.html").contains("its checksum does not match"));
    let again = desk.run("run tiny.toml");
    assert!(again.code == 0 && again.err.starts_with(told), "{again:?}");
    assert_eq!(desk.read("results/tiny/results.json"), whole, "it is as it was");
    desk.run("report results/tiny").good();
    // In the format of earlier versions.
    let (body, _) = whole.rsplit_once(",\n  \"checksum\"").unwrap();
    desk.write("results/tiny/results.json", &format!("{body}\n}}\n"));
    desk.run("report results/tiny").good();
}

#[test]
fn a_file_that_is_nearly_right_is_told_with_its_line() {
    let cases = [
        ("kind = \"abt\"\nvectors = \"f\"", "SEQ 0 1 1 1\n> 5\nSEQ 0 1\n", "f line 3", "two identifiers"),
        ("kind = \"mpeg\"\nframes = \"f\"", "I 5000\nP 900.5\n", "f line 2", "a whole number"),
    ];
    for (traffic, text, line, right) in cases {
        let desk = Desk::new();
        desk.write("f", text);
        desk.write("tiny.toml", &reading(traffic));
        desk.run("run tiny.toml").wrong(&[line, right]);
    }
    let desk = Desk::new();
    desk.write("published.csv", "id,source,where,what,unit,low,high,kind\nX,a,b,c,ms,9e1,9e1,value\n");
    desk.run("run tiny.toml").wrong(&["published.csv: line 2: X: low = \"9e1\" is not a number", "such as 90"]);
}
