//! The page that the command embeds has the simulator of this source inside.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_play::Player;
use serde_json::Value;

#[test]
#[allow(clippy::print_stderr, reason = "a test that skips says so")]
fn the_built_page_is_of_this_source() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/assets/play.html");
    let Ok(page) = std::fs::read_to_string(file) else {
        eprintln!("skipped: this is not the repository");
        return;
    };
    let answer: Value = serde_json::from_str(&Player::default().call(r#"{"do": "catalogue"}"#)).unwrap();
    let ok = &answer["ok"];
    let wanted = [&ok["version"], &ok["simulator"], &ok["digest"]].map(|v| v.to_string().trim_matches('"').to_owned());
    let (_, rest) = page.split_once("<meta name=\"aqmkit\" content=\"").unwrap();
    let found = rest.split('"').next().unwrap();
    assert_eq!(found, wanted.join(" "), "crates/lab/assets/play.html is of another version: run make web");
}
