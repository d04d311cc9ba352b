#![allow(clippy::print_stderr, reason = "it says why it was skipped")]

use super::Desk;

#[test]
fn wrong_arguments_are_named() {
    let desk = Desk::new();
    desk.run("bridge lo lo --rate 8mbit").wrong(&["both ends"]);
    desk.run("bridge lo no-such-if --rate 8mbit").wrong(&["no interface called no-such-if", "This machine has"]);
    desk.run("bridge lo eth9").wrong(&["--rate"]);
    desk.run("bridge lo eth9 --rate 8mbit --aqm coddel").wrong(&["did you mean codel?"]);
    desk.run("bridge lo eth9 --rate 8mbit --metrics here").wrong(&["here"]);
    desk.run("bridge lo eth9 --rate 8mbit --name a/b").wrong(&["is no name"]);
}

/// As a user who is not root, where that can be tried.
#[test]
fn without_the_right_the_environment_is_to_blame() {
    let program = assert_cmd::cargo::cargo_bin("aqmkit");
    let desk = Desk::new();
    let copy = desk.path().join("aqmkit");
    std::fs::copy(program, &copy).unwrap();
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(desk.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&copy, all).unwrap();
    // Two interfaces of a namespace of one's own, in which one has no rights over packets.
    let script = format!(
        "ip link add x1 type veth peer name x2 && exec setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all {} bridge x1 x2 --rate 8mbit",
        copy.display()
    );
    let told = std::process::Command::new("unshare").args(["-n", "sh", "-c", &script]).output();
    let Ok(told) = told.map(|t| (t.status.code(), String::from_utf8_lossy(&t.stderr).into_owned())) else {
        return eprintln!("skipped: the program unshare is not here");
    };
    if told.1.contains("Operation not permitted") || told.0 == Some(127) {
        return eprintln!("skipped: namespaces cannot be made here");
    }
    assert_eq!(told.0, Some(3), "{told:?}");
    assert!(told.1.contains("the right to take frames from interfaces is missing"), "{told:?}");
}

#[test]
fn nothing_to_control_is_said() {
    let desk = Desk::new();
    let run = |line: &str| {
        let mut command = assert_cmd::Command::cargo_bin("aqmkit").unwrap();
        let told = command.env("AQMKIT_RUNTIME_DIR", desk.path()).args(line.split(' ')).output().unwrap();
        (
            told.status.code().unwrap(),
            String::from_utf8(told.stdout).unwrap() + &String::from_utf8(told.stderr).unwrap(),
        )
    };
    assert_eq!(run("ctl list"), (0, "nothing runs\n".to_owned()));
    for line in ["ctl show", "ctl set limit=5", "ctl watch"] {
        let (code, text) = run(line);
        assert!(
            code == 2 && text.contains("nothing runs") && text.contains("start a bridge or a link first"),
            "{text}"
        );
    }
    let (code, text) = run("ctl show --to wan");
    assert!(code == 2 && text.contains("nothing called wan runs"), "{text}");
    assert!(run("ctl set").1.contains("nothing is set"));
}
