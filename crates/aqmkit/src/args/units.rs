//! Checks the systemd units in the guides.

use std::path::{Path, PathBuf};

use clap::Parser as _;

use super::{Cli, Command};

/// Each systemd unit runs the command that it is named after with valid arguments, and relies only on notifications
/// that the command sends.
#[test]
#[allow(clippy::print_stderr, reason = "a test that skips says so")]
fn units_run_commands_that_are_there() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let Ok(entries) = std::fs::read_dir(&guide) else {
        eprintln!("skipped: this is not the repository");
        return;
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut units: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "service")).collect();
    units.sort();
    let names: Vec<_> = units.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["aqmkit-bridge", "aqmkit-shape"]);
    for (path, name) in units.iter().zip(&names) {
        let text = std::fs::read_to_string(path).unwrap();
        let settings: Vec<(&str, &str)> =
            text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('=')).collect();
        let value = |key: &str| settings.iter().find(|(own, _)| *own == key).map(|(_, own)| *own);
        assert_eq!(value("Type"), Some("notify"), "{name}");
        assert!(value("WatchdogSec").is_some_and(|s| s.parse::<u32>().is_ok_and(|s| s > 1)), "{name}");
        let lines: Vec<&(&str, &str)> = settings.iter().filter(|(key, _)| key.starts_with("Exec")).collect();
        for (key, line) in &lines {
            let parsed = Cli::try_parse_from(line.split_whitespace()).unwrap_or_else(|e| panic!("{name}: {key}: {e}"));
            let right = match parsed.command {
                Command::Bridge(bridge) => *name == "aqmkit-bridge" && (bridge.cleanup || parsed.quiet),
                Command::Shape(_) => *name == "aqmkit-shape" && parsed.quiet,
                _ => false,
            };
            assert!(right && line.starts_with("/usr/local/bin/aqmkit "), "{name}: {line}");
        }
        assert!(lines.iter().any(|(key, _)| *key == "ExecStart"), "{name}");
        let command = name.strip_prefix("aqmkit-").unwrap();
        let page = std::fs::read_to_string(guide.join(command).with_extension("md")).unwrap();
        assert!(page.contains(&format!("({name}.service)")), "{command}.md does not name {name}.service");
    }
}
