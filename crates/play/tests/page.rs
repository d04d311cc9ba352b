//! Checks that the embedded page was built from this source: the simulator in it, and everything else.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;

use aqmkit_play::Player;
use serde::Deserialize;
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Reads a file of the repository.
fn text(path: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{path}")).unwrap()
}

/// The page; `None` outside the repository.
#[allow(clippy::print_stderr, reason = "a test that skips says so")]
fn page() -> Option<String> {
    let page = std::fs::read_to_string(format!("{ROOT}/crates/lab/assets/play.html"));
    if page.is_err() {
        eprintln!("skipped: this is not the repository");
    }
    page.ok()
}

/// The content of an element `meta` of the page.
fn meta<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<meta name=\"{name}\" content=\"")).unwrap_or_default();
    rest.split('"').next().unwrap()
}

#[test]
fn the_built_page_has_the_simulator_of_this_source() {
    let Some(page) = page() else { return };
    let answer: Value = serde_json::from_str(&Player::default().call(r#"{"do": "catalogue"}"#)).unwrap();
    let ok = &answer["ok"];
    let wanted = [&ok["version"], &ok["simulator"], &ok["digest"]].map(|v| v.to_string().trim_matches('"').to_owned());
    assert_eq!(
        meta(&page, "aqmkit"),
        wanted.join(" "),
        "crates/lab/assets/play.html is of another version: run make web"
    );
}

/// The sources of the page besides the module, which `web/sources.ts` reads too: files and directories, and the endings of the files of
/// directories that count.
#[derive(Deserialize)]
struct Sources {
    sources: Vec<String>,
    endings: Vec<String>,
}

fn collect(path: &str, endings: &[String], found: &mut Vec<String>) {
    let place = Path::new(ROOT).join(path);
    if !place.is_dir() {
        found.push(path.to_owned());
        return;
    }
    for entry in std::fs::read_dir(place).unwrap() {
        let entry = entry.unwrap();
        let below = format!("{path}/{}", entry.file_name().to_str().unwrap());
        let counts =
            Path::new(&below).extension().is_some_and(|end| endings.iter().any(|counted| end == counted.as_str()));
        if entry.file_type().unwrap().is_dir() || counts {
            collect(&below, endings, found);
        }
    }
}

#[test]
fn the_built_page_is_of_these_sources() {
    let Some(page) = page() else { return };
    let mut files = Vec::new();
    let Sources { sources, endings } = serde_json::from_str(&text("web/sources.json")).unwrap();
    sources.iter().for_each(|path| collect(path, &endings, &mut files));
    files.sort();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().filter(|byte| **byte != b'\r') {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for file in &files {
        add(format!("{file}\n").as_bytes());
        add(&std::fs::read(Path::new(ROOT).join(file)).unwrap());
    }
    let stale = "crates/lab/assets/play.html was built before its sources changed (web/, crates/play/src or the \
                 experiments): make web rebuilds it";
    assert_eq!(meta(&page, "aqmkit-sources"), format!("{hash:016x}"), "{stale}");
}

/// The value of a constant in a source file, with multiplications evaluated.
fn constant(path: &str, name: &str) -> u64 {
    let source = text(path);
    let line = source.lines().find(|line| line.contains(&format!("const {name}"))).unwrap();
    let (_, value) = line.split_once('=').unwrap();
    value
        .trim_end_matches(';')
        .split('*')
        .map(|factor| factor.trim().replace('_', "").parse::<u64>().unwrap())
        .product()
}

#[test]
fn a_report_offers_no_run_that_the_page_refuses() {
    if page().is_none() {
        return;
    }
    let [report, share] = ["crates/lab/src/player.rs", "web/src/share.ts"];
    for name in ["LONGEST", "MOST_SETTINGS"] {
        assert_eq!(constant(report, name), constant(share, name), "{name} of {report} and of {share}");
    }
    let limits = "crates/play/src/limits.rs";
    assert_eq!(constant(report, "MOST_RUNS"), constant(limits, "RUNS"), "runs of {report} and of {limits}");
}
