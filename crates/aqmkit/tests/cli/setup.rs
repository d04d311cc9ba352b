//! Commands for setting up: templates, checks, completions and manual pages.

use crate::Desk;

#[test]
fn an_experiment_is_begun_checked_and_run() {
    let desk = Desk::new();
    let made = desk.run("init mine.toml");
    assert_eq!((made.code, made.out.contains("Wrote mine.toml")), (0, true), "{made:?}");
    let checked = desk.run("check mine.toml");
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(checked.out.contains("aqm: fifo, fq-codel, dualpi2") && checked.out.contains("6 runs"), "{checked:?}");
    let done = desk.run("run mine.toml --set duration=2s --repeat 1 --out done -q");
    assert_eq!(done.code, 0, "{done:?}");
    let again = desk.run("init mine.toml");
    assert_eq!((again.code, again.err.contains("mine.toml exists")), (2, true), "{again:?}");
}

#[test]
fn a_check_finds_mistakes_and_doubts() {
    let desk = Desk::new();
    let wrong = desk.run("check tiny.toml --set topology.aqm.limmit=5");
    assert_eq!(wrong.code, 2, "{wrong:?}");
    let doubtful = desk.run("check tiny.toml --set topology.rate=10Mbps");
    assert_eq!(doubtful.code, 0, "{doubtful:?}");
    assert!(doubtful.err.contains("warning") && doubtful.err.contains("write 10mbit"), "{doubtful:?}");
    assert!(desk.path().join("results").read_dir().is_err(), "nothing was run");
}

#[test]
fn shells_and_man_know_the_commands() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = desk.run(&format!("completions {shell}"));
        assert!(script.code == 0 && script.out.contains("reproduce"), "{shell}");
    }
    assert_eq!(desk.run("completions tcsh").code, 2);
    let made = desk.run("man pages");
    assert_eq!(made.code, 0, "{made:?}");
    assert!(desk.read("pages/aqmkit-compare.1").contains("preset"));
    let names: Vec<_> = desk.path().join("pages").read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("-help")), "{names:?}");
}

#[test]
fn a_comparison_is_saved_and_has_a_directory_of_its_own() {
    let desk = Desk::new();
    let first = desk.run("compare fifo red --bulk 1 --rate 1mbit --duration 1s --save mine/one.toml -q");
    assert_eq!(first.code, 0, "{first:?}");
    assert_eq!(desk.run("check mine/one.toml").code, 0);
    assert_eq!(desk.run("compare fifo red --bulk 2 --rate 1mbit --duration 1s -q").code, 0);
    assert_eq!(desk.path().join("results/compare").read_dir().unwrap().count(), 2);
}

#[test]
fn two_results_are_compared() {
    let desk = Desk::new();
    desk.run("run tiny.toml --out before -q").good();
    desk.run("run tiny.toml --set topology.delays=80ms --set sweep.aqm.red.max=30 --out after -q").good();
    let told = desk.run("diff before after --all").good();
    assert!(told.contains("red: max = 15p before, 30p after"), "{told}");
    assert!(told.contains("queue delay, mean ms") && told.contains("95 % interval"), "{told}");
    let same = desk.run("diff before before").good();
    assert!(same.contains("hence the same runs") && same.contains("0 of"), "{same}");
    desk.run("run tiny.toml --repeat 1 --out one -q").good();
    desk.run("run tiny.toml --repeat 1 --set topology.delays=80ms --out other -q").good();
    let once = desk.run("diff one other").good();
    assert!(once.contains("one run of each does not tell whether by chance"), "{once}");
    assert_eq!(desk.run("diff before nowhere").code, 2);
}
