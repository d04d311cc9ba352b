use super::Desk;

#[test]
fn every_command_has_help_with_an_example() {
    let desk = Desk::new();
    for command in [
        "",
        "list",
        "describe",
        "compare",
        "characterize",
        "advise",
        "attack",
        "explain",
        "measure",
        "import",
        "export",
        "run",
        "play",
        "calibrate",
        "reproduce",
        "report",
        "bench",
        "replay",
        "bridge",
        "shape",
        "link",
        "ctl",
        "kernel",
    ] {
        let help = desk.run(&format!("{command} --help")).good();
        assert!(help.contains("Usage: aqmkit") && help.contains("Example") && help.contains("  aqmkit "), "{help}");
    }
}

#[test]
fn the_page_of_the_command() {
    insta::assert_snapshot!(Desk::new().run("--help").good());
}

#[test]
fn the_version_is_told() {
    let version = format!("aqmkit {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Desk::new().run("--version").good(), version);
}

#[test]
fn no_command_shows_help_and_is_wrong() {
    let told = Desk::new().run("");
    assert_eq!(told.code, 2);
    assert!(told.err.contains("Usage: aqmkit"), "{told:?}");
}
