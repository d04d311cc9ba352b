//! Disks that fill up during the work.

use assert_cmd::Command;

use super::{Desk, Told};

/// Shell commands that mount a small disk at `out`, in a mount namespace that ends with the shell.
const DISK: &str = "mkdir -p out && mount -t tmpfs -o size=$SIZE tmpfs out";

/// Runs a shell script in which `out` is a disk of this size and `aqmkit` is the command; `None` if such a disk cannot
/// be mounted.
fn on_a_small_disk(desk: &Desk, size: &str, line: &str) -> Option<Told> {
    let shell = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.current_dir(desk.path()).env_remove("AQMKIT_EXPERIMENTS").env("NO_COLOR", "1").env("SIZE", size);
        command.env("AQMKIT", env!("CARGO_BIN_EXE_aqmkit")).output().ok()
    };
    if !shell(DISK).is_some_and(|output| output.status.success()) {
        #[expect(clippy::print_stderr, reason = "who reads the log of the tests should know")]
        {
            eprintln!("skipped: no small disk can be made here (unshare, mount)");
        }
        return None;
    }
    let output = shell(&format!("{DISK} && {line}"))?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Some(Told { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) })
}

/// The disk fills up during the runs; after it has been enlarged, the command is repeated.
#[test]
fn a_disk_that_is_full_between_runs_loses_none_that_is_finished() {
    let desk = Desk::new();
    let line = "$AQMKIT run tiny.toml --jobs 1 --out out; echo code $?; ls out/runs | grep -c zst; ls -A out out/runs | grep -c aqmkit-; \
                mount -o remount,size=40m out; $AQMKIT -v run tiny.toml --jobs 1 --out out >table; echo code $?; ls -A out out/runs | grep -c aqmkit-";
    let Some(told) = on_a_small_disk(&desk, "12k", line) else { return };
    let words: Vec<&str> = told.out.split_whitespace().collect();
    let ["code", "3", kept, "0", "code", "0", "0"] = words[..] else { panic!("{told:?}") };
    let kept: usize = kept.parse().unwrap();
    assert!((1..4).contains(&kept), "{told:?}");
    for part in [
        "No space left",
        &format!("{kept} of 4 runs are finished and stored in out"),
        "free space",
        "repeat the command",
    ] {
        assert!(told.err.contains(part), "{part:?} is not in:\n{}", told.err);
    }
    assert!(!told.err.contains(".aqmkit-"), "{}", told.err);
    assert_eq!(told.err.matches("found in the store").count(), kept, "{}", told.err);
    let plain = desk.run("run tiny.toml --out out").good();
    assert_eq!(desk.read("table"), plain, "and the results are those of a disk with room");
}

/// The runs fit on the disk, but not the report.
#[test]
fn a_disk_that_is_full_at_the_end_keeps_the_runs_and_the_results_before() {
    let desk = Desk::new();
    let line = "echo old >out/report.html; $AQMKIT run tiny.toml --jobs 1 --out out; echo code $?; ls out/runs | grep -c zst; cat out/report.html";
    let Some(told) = on_a_small_disk(&desk, "600k", line) else { return };
    assert_eq!(told.out.split_whitespace().collect::<Vec<_>>(), ["code", "3", "4", "old"], "{told:?}");
    for part in ["out/report.html cannot be written: No space left", "free space", "repeat the command"] {
        assert!(told.err.contains(part), "{part:?} is not in:\n{}", told.err);
    }
}

#[test]
fn a_capture_that_does_not_fit_says_what_to_do() {
    let desk = Desk::new();
    let told = desk.run("run tiny.toml --pcap /dev/full");
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.err.contains("/dev/full") && told.err.contains("No space left"), "{told:?}");
    assert!(told.err.contains("free space on that disk, or name a file on another one"), "{told:?}");
    std::os::unix::fs::symlink("/dev/full", desk.path().join("full.sqlog")).unwrap();
    let trace = desk.run("run tiny.toml --qlog full.sqlog");
    assert_eq!(trace.code, 3, "{trace:?}");
    assert!(trace.err.contains("full.sqlog") && trace.err.contains("free space on that disk"), "{trace:?}");
    desk.run("-q run tiny.toml --pcap a.pcap").good();
    std::os::unix::fs::symlink("/dev/full", desk.path().join("full.csv")).unwrap();
    for (argument, file) in [("--out", "/dev/full"), ("--fates", "full.csv")] {
        let full = desk.run(&format!("replay a.pcap --aqm fifo --rate 1mbit {argument} {file}"));
        assert_eq!((full.code, full.out.as_str()), (3, ""), "{full:?}");
        assert!(
            full.err.contains(&format!("{file} cannot be written: ")) && full.err.contains("free space"),
            "{full:?}"
        );
    }
}

/// Files beside the experiments are never left half written.
#[test]
fn verdicts_that_do_not_fit_stay_as_they_were() {
    let desk = Desk::new();
    let row = |n: u32| format!("quick,other/experiment,{n},1,0.5,true,,\n");
    let rows: String = (0..400).map(row).collect();
    desk.write("verdicts.csv", &format!("scale,experiment,id,claim,measured,met,held,cells\n{rows}"));
    desk.write("published.csv", "id,source,where,what,unit,low,high,kind\n");
    let line = "cp verdicts.csv published.csv out; $AQMKIT -q reproduce tiny.toml --out r --record out >table; echo code $?; \
                cmp verdicts.csv out/verdicts.csv && echo same";
    let Some(told) = on_a_small_disk(&desk, "24k", line) else { return };
    assert_eq!(told.out.split_whitespace().collect::<Vec<_>>(), ["code", "3", "same"], "{told:?}");
    assert!(
        told.err.contains("out/verdicts.csv cannot be written: No space left") && told.err.contains("free space"),
        "{told:?}"
    );
}
