//! The page that the command embeds is of this source: the simulator that it has inside, and everything else.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;

use aqmkit_play::Player;
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The page; `None` where this is not the repository.
#[allow(clippy::print_stderr, reason = "a test that skips says so")]
fn page() -> Option<String> {
    let page = std::fs::read_to_string(format!("{ROOT}/crates/lab/assets/play.html"));
    if page.is_err() {
        eprintln!("skipped: this is not the repository");
    }
    page.ok()
}

/// What an element `meta` of the page has.
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

/// Files and directories that the page is built from besides the module, as `web/sources.ts` has them.
const SOURCES: &[&str] = &[
    "crates/play/src",
    "experiments",
    "web/index.html",
    "web/package-lock.json",
    "web/package.json",
    "web/sources.ts",
    "web/src",
    "web/tsconfig.json",
    "web/vite.config.ts",
];

/// The endings of the files of directories that count.
const COUNTED: &[&str] = &["css", "rs", "toml", "ts", "tsx"];

fn collect(path: &str, found: &mut Vec<String>) {
    let place = Path::new(ROOT).join(path);
    if !place.is_dir() {
        found.push(path.to_owned());
        return;
    }
    for entry in std::fs::read_dir(place).unwrap() {
        let entry = entry.unwrap();
        let below = format!("{path}/{}", entry.file_name().to_str().unwrap());
        let counts = Path::new(&below).extension().is_some_and(|end| COUNTED.iter().any(|counted| end == *counted));
        if entry.file_type().unwrap().is_dir() || counts {
            collect(&below, found);
        }
    }
}

#[test]
fn the_built_page_is_of_these_sources() {
    let Some(page) = page() else { return };
    let mut files = Vec::new();
    SOURCES.iter().for_each(|path| collect(path, &mut files));
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
