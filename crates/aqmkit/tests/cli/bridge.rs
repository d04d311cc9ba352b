#![allow(clippy::print_stderr, reason = "it says why it was skipped")]

use std::process::Command;

use aqmkit_live::netns::Netns;
use aqmkit_live::offload::{OFFLOADS, is_on, switch};

use super::Desk;
use super::link::{aqmkit, signal, text, until};

#[test]
fn wrong_arguments_are_named() {
    let desk = Desk::new();
    desk.run("bridge lo lo --rate 8mbit").wrong(&["both interfaces"]);
    desk.run("bridge lo no-such-if --rate 8mbit").wrong(&["no interface no-such-if", "This machine has"]);
    desk.run("bridge lo eth9").wrong(&["--rate"]);
    desk.run("bridge lo eth9 --rate 8mbit --aqm coddel").wrong(&["did you mean codel?"]);
    desk.run("bridge lo eth9 --rate 8mbit --metrics here:9000").wrong(&["here:9000", "write 127.0.0.1:9000"]);
    desk.run("bridge lo eth9 --rate 8mbit --metrics localhost:9000").wrong(&["no interface eth9"]);
    desk.run("bridge lo eth9 --rate 8mbit --name a/b").wrong(&["is not a valid name"]);
    desk.run("bridge lo eth9 --rate 8mbit --threads 3").wrong(&["3 is not in 1..=2"]);
}

#[test]
fn a_configuration_file_is_read_and_checked() {
    let desk = Desk::new();
    let file = |rest: &str| format!("[bridge]\ninterfaces = [\"lo\", \"eth9\"]\nrate = \"8mbit\"\n{rest}");
    desk.write("wan.toml", &file("aqm = \"codel:target=7ms\"\n"));
    let told = desk.run("check wan.toml").good();
    assert!(told.contains("wan.toml has no mistake") && told.contains("8mbit codel from lo to eth9"), "{told}");
    desk.run("bridge --config wan.toml").wrong(&["no interface eth9"]);
    desk.run("bridge --config wan.toml lo lo").wrong(&["both interfaces are lo"]);
    desk.write("two.toml", &file("threads = 2\n"));
    desk.run("check two.toml").good();
    desk.write("bad.toml", &file("threads = 0\n"));
    desk.run("check bad.toml").wrong(&["bad.toml:4: ", "0 is not in 1..=2"]);
    desk.run("bridge --config wan.toml --aqm coddel").wrong(&["did you mean codel?"]);
    desk.write("bad.toml", &file("aqm = \"coddel\"\n"));
    desk.run("check bad.toml").wrong(&["bad.toml:4: ", "did you mean codel?"]);
    desk.write("bad.toml", &file("json = true\nclass = [\"voice=dscp:460\", \"rest=*\"]\n"));
    desk.run("check bad.toml").wrong(&["bad.toml:5: "]);
    desk.write("bad.toml", "[bridge]\ninterfaces = [\"lo\", \"lo\"]\nrate = \"8mbit\"\n");
    desk.run("check bad.toml").wrong(&["bad.toml: both interfaces are lo"]);
    desk.write("bad.toml", "[brigde]\nrate = \"8mbit\"\n");
    desk.run("check bad.toml").wrong(&["bad.toml:1: brigde is not a command", "did you mean [bridge]?"]);
    desk.run("check wan.toml --set bridge.rate=20mbit").wrong(&["--set changes values of an experiment"]);
    desk.write("bad.toml", &file("metric = \"127.0.0.1:9000\"\n"));
    desk.run("check bad.toml").wrong(&["bad.toml:4: bridge has no option \"metric\"", "did you mean metrics?"]);
    desk.run("bridge --config bad.toml").wrong(&["bad.toml:4"]);
    desk.run("link --config wan.toml -- true").wrong(&["wan.toml is a configuration of aqmkit bridge"]);
    desk.run("bridge --config nosuch.toml").wrong(&["nosuch.toml cannot be read"]);
}

/// Run as a user other than root, if possible.
#[test]
fn without_the_right_the_environment_is_to_blame() {
    let program = assert_cmd::cargo::cargo_bin("aqmkit");
    let desk = Desk::new();
    let copy = desk.path().join("aqmkit");
    super::copy(&program, &copy);
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(desk.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&copy, all).unwrap();
    // A user namespace of its own, without capabilities over packets.
    let script = format!(
        "ip link add x1 type veth peer name x2 && exec setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all {} bridge x1 x2 --rate 8mbit",
        copy.display()
    );
    let told = Command::new("unshare").args(["-n", "sh", "-c", &script]).output();
    let Ok(told) = told.map(|t| (t.status.code(), String::from_utf8_lossy(&t.stderr).into_owned())) else {
        return eprintln!("skipped: the program unshare is not here");
    };
    if told.1.contains("Operation not permitted") || told.0 == Some(127) {
        return eprintln!("skipped: namespaces cannot be made here");
    }
    assert_eq!(told.0, Some(3), "{told:?}");
    assert!(told.1.contains("no permission to capture frames from interfaces"), "{told:?}");
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
    assert!(code == 2 && text.contains("nothing named wan is running"), "{text}");
    assert!(run("ctl set").1.contains("nothing is set"));
    assert!(run("ctl set --aqm coddel").1.contains("did you mean codel?"));
    assert!(run("ctl set target=5ms --aqm codel:target=9ms").1.contains("target is set twice"));
    assert!(run("ctl set --rate 0bit").1.contains("above zero"));
    let twice = run("ctl set target=20ms target=5ms");
    assert!(twice.0 == 2 && twice.1.contains("target is set twice"), "{twice:?}");
}

/// Run as a user who may not read the directory, which must not be reported as "nothing runs".
#[test]
fn a_directory_that_may_not_be_read_is_told() {
    let desk = Desk::new();
    let copy = desk.path().join("aqmkit");
    super::copy(&assert_cmd::cargo::cargo_bin("aqmkit"), &copy);
    for path in [desk.path(), &copy] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let run = desk.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::set_permissions(&run, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--clear-groups"]).arg(&copy).args(["ctl", "list"]);
    let Ok(told) = command.env("AQMKIT_RUNTIME_DIR", &run).output() else {
        return eprintln!("skipped: the program setpriv is not here");
    };
    let said = text(&told.stderr);
    if said.contains("Operation not permitted") || told.status.code() == Some(127) {
        return eprintln!("skipped: only root can become another user: {said}");
    }
    assert!(told.status.code() == Some(3) && said.contains("Permission denied"), "{said}");
}

/// A namespace with the interfaces `m1`, with GRO enabled, and `m2`.
fn place() -> Option<Netns> {
    let place = Netns::create().ok()?;
    let made = place.inside(|| {
        for (name, far) in [("m1", "a0"), ("m2", "b0")] {
            for line in [format!("link add {name} type veth peer name {far}"), format!("link set {name} up")] {
                let told = Command::new("ip").args(line.split(' ')).output()?;
                if !told.status.success() {
                    return Err(std::io::Error::other(text(&told.stderr)));
                }
            }
        }
        switch("m1", &OFFLOADS[2], true)
    });
    if let Err(e) = &made {
        eprintln!("skipped: veth interfaces cannot be made here ({e})");
    }
    made.is_ok().then_some(place)
}

fn joins(place: &Netns) -> bool {
    assert_eq!(OFFLOADS[2].name, "gro");
    place.inside(|| is_on("m1", &OFFLOADS[2])).unwrap()
}

#[test]
fn a_bridge_puts_its_interfaces_back_however_often_it_is_told_to_end() {
    puts_its_interfaces_back("1");
    puts_its_interfaces_back("2");
}

/// With this number of packet threads.
fn puts_its_interfaces_back(threads: &str) {
    let Some(place) = place() else { return };
    let desk = Desk::new();
    let bridge = |name: &str| {
        let mut command = aqmkit(&desk);
        command.args(["bridge", "m1", "m2", "--rate", "8mbit", "--name", name, "--threads", threads]);
        command
    };
    let mut first = place.inside(|| bridge("one").stdout(std::process::Stdio::null()).spawn()).unwrap();
    let files = || std::fs::read_dir(desk.path().join("run")).map_or(0, Iterator::count);
    until("it runs", || files() == 2);
    assert!(!joins(&place));
    let told = place.inside(|| bridge("two").output()).unwrap();
    let said = text(&told.stderr);
    assert!(told.status.code() == Some(2) && said.contains("m1 already belongs to one (process "), "{said}");
    let set = |rest: &[&str]| text(&aqmkit(&desk).args(["ctl", "set"]).args(rest).output().unwrap().stderr);
    let wrong = set(&["--direction", "sideways", "--rate", "5mbit"]);
    assert!(wrong.contains("one has no direction \"sideways\"") && wrong.contains("forth and back"), "{wrong}");
    for _ in 0..20 {
        signal(&first, "-INT");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // The code is 1 if the machine was too busy to keep up.
    let code = first.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    assert_eq!((joins(&place), files()), (true, 0));
}

/// The threads of a process, from `/proc`: name, capabilities, `no_new_privs`, and whether there is a seccomp filter.
pub(super) fn threads(pid: u32) -> Vec<(String, u64, bool, bool)> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let one = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap();
        let value = |name: &str| {
            let line = status.lines().find_map(|l| l.strip_prefix(name)).unwrap();
            line.trim().to_owned()
        };
        let rights = u64::from_str_radix(&value("CapPrm:"), 16).unwrap();
        (value("Name:"), rights, value("NoNewPrivs:") == "1", value("Seccomp:") == "2")
    };
    tasks.map(one).collect()
}

#[test]
fn no_thread_of_a_bridge_has_more_rights_than_it_needs() {
    has_no_more_rights_than_it_needs(1);
    has_no_more_rights_than_it_needs(2);
}

/// With this number of packet threads.
fn has_no_more_rights_than_it_needs(number: usize) {
    let Some(place) = place() else { return };
    let desk = Desk::new();
    let mut command = aqmkit(&desk);
    command.args(["bridge", "m1", "m2", "--rate", "8mbit", "--metrics", "127.0.0.1:0"]);
    command.args(["--threads", &number.to_string()]);
    let mut bridge = place
        .inside(|| {
            let up = Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
            assert!(up.success());
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn()
        })
        .unwrap();
    let of_packets = [12, 13, 14, 39].iter().fold(0_u64, |set, bit| set | 1 << bit);
    let safe = || {
        let all = threads(bridge.id());
        let fine = |(name, rights, bare, filtered): &(String, u64, bool, bool)| match name.as_str() {
            "bottleneck" => rights & !of_packets == 0 && *bare && *filtered,
            _ => *rights == 0 && *bare && *filtered,
        };
        let moving = all.iter().filter(|(name, ..)| name == "bottleneck").count();
        all.len() >= 4 + number && moving == number && all.iter().all(fine)
    };
    until("every thread has given up its rights", safe);
    signal(&bridge, "-INT");
    bridge.wait().unwrap();
}

/// The watchdog depends on the thread that moves packets, so that a bridge which hangs is restarted.
#[test]
fn a_service_manager_is_told_how_the_bridge_fares() {
    is_told_how_the_bridge_fares("1");
    is_told_how_the_bridge_fares("2");
}

/// With this number of packet threads.
fn is_told_how_the_bridge_fares(threads: &str) {
    let Some(place) = place() else { return };
    let desk = Desk::new();
    let at = desk.path().join("notify");
    let manager = std::os::unix::net::UnixDatagram::bind(&at).unwrap();
    manager.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let mut command = aqmkit(&desk);
    command.args(["bridge", "m1", "m2", "--rate", "8mbit", "--threads", threads]).stdout(std::process::Stdio::null());
    command.env("NOTIFY_SOCKET", &at).env("WATCHDOG_USEC", "400000").stderr(std::process::Stdio::null());
    let mut bridge = place.inside(|| command.spawn()).unwrap();
    let told = || {
        let mut buffer = [0; 100];
        let n = manager.recv(&mut buffer).unwrap();
        text(&buffer[..n])
    };
    assert_eq!([told(), told(), told()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    signal(&bridge, "-TERM");
    until("it says that it ends", || told() == "STOPPING=1");
    bridge.wait().unwrap();
}

#[test]
fn what_a_killed_bridge_switched_off_is_told_and_switched_on() {
    let Some(place) = place() else { return };
    let desk = Desk::new();
    let start = || {
        let mut command = aqmkit(&desk);
        command.args(["bridge", "m1", "m2", "--rate", "8mbit"]).stdout(std::process::Stdio::null());
        place.inside(|| command.stderr(std::process::Stdio::null()).spawn()).unwrap()
    };
    let record = |pid: u32| desk.path().join(format!("run/{pid}.json"));
    let killed = || {
        let mut bridge = start();
        until("it runs", || record(bridge.id()).exists() && desk.path().join("run/bridge.sock").exists());
        signal(&bridge, "-KILL");
        bridge.wait().unwrap();
        assert!(!joins(&place));
        bridge.id()
    };
    let first = killed();
    let said = text(&aqmkit(&desk).args(["ctl", "list"]).output().unwrap().stderr);
    assert!(
        said.contains(
            "the bridge between m1 and m2 was killed and left gro of m1 switched off; aqmkit link --cleanup switches"
        ),
        "{said}"
    );
    let told = place.inside(|| aqmkit(&desk).args(["bridge", "--cleanup"]).output()).unwrap();
    assert!(
        text(&told.stdout).ends_with("1 killed bridge or shaper cleaned up, 1 offload switched on again\n")
            && joins(&place),
        "{told:?}"
    );
    assert!(!record(first).exists() && !desk.path().join("run/bridge.sock").exists());
    // The next bridge must not take settings left by the killed one for the original ones.
    killed();
    let mut last = start();
    until("it runs", || record(last.id()).exists() && desk.path().join("run/bridge.sock").exists());
    signal(&last, "-TERM");
    last.wait().unwrap();
    assert!(joins(&place));
}

/// Moves the peers of `m1` and `m2` to separate namespaces, with addresses.
fn hosts(place: &Netns) -> std::io::Result<[Netns; 2]> {
    let host = |far: &str, address: &str| -> std::io::Result<Netns> {
        let own = Netns::create()?;
        let ip = |line: String| Command::new("ip").args(line.split(' ')).status().map(|told| assert!(told.success()));
        place.inside(|| ip(format!("link set {far} netns {}", own.path())))?;
        own.inside(|| {
            ip(format!("addr add {address}/24 dev {far}"))?;
            ip(format!("link set {far} up"))
        })?;
        Ok(own)
    };
    Ok([host("a0", "10.9.0.1")?, host("b0", "10.9.0.2")?])
}

/// Whether a datagram from one host reaches the other within this time.
fn reaches([a, b]: &[Netns; 2], seconds: u64) -> bool {
    let server = b.inside(|| std::net::UdpSocket::bind("10.9.0.2:0")).unwrap();
    let client = a.inside(|| std::net::UdpSocket::bind("10.9.0.1:0")).unwrap();
    server.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
    let to = server.local_addr().unwrap();
    (0..10 * seconds).any(|_| {
        // Sending may fail while ARP resolves the address.
        let _ = client.send_to(b"there", to);
        server.recv(&mut [0; 10]).is_ok()
    })
}

#[test]
fn after_a_kill_the_kernel_forwards_until_the_next_bridge_or_a_cleanup() {
    after_a_kill_the_kernel_forwards("1");
    after_a_kill_the_kernel_forwards("2");
}

/// With this number of packet threads.
fn after_a_kill_the_kernel_forwards(threads: &str) {
    let Some(place) = place() else { return };
    let hosts = hosts(&place).unwrap();
    let desk = Desk::new();
    let start = |more: &[&str]| {
        let mut command = aqmkit(&desk);
        command.args(["bridge", "m1", "m2", "--rate", "8mbit", "--threads", threads]).args(more);
        command.stdout(std::process::Stdio::null());
        place.inside(|| command.stderr(std::process::Stdio::piped()).spawn()).unwrap()
    };
    let runs = || desk.path().join("run/bridge.sock").exists();
    let bridge = std::cell::RefCell::new(start(&["--fail-open"]));
    until("it runs or cannot", || runs() || bridge.borrow_mut().try_wait().unwrap().is_some());
    let mut bridge = bridge.into_inner();
    if !runs() {
        return eprintln!("skipped: {}", text(&bridge.wait_with_output().unwrap().stderr));
    }
    assert!(reaches(&hosts, 10));
    signal(&bridge, "-KILL");
    bridge.wait().unwrap();
    assert!(reaches(&hosts, 10), "the kernel forwards");
    forwarding_is_told(&desk, &place);
    // A bridge between two other interfaces must be left alone below.
    let ip = |line: &str| Command::new("ip").args(line.split(' ')).status().map(|told| told.success());
    assert!(place.inside(|| ip("link add aqmkit-900 type bridge")).unwrap());
    // Without --fail-open, the kernel's bridge must go, or every frame would arrive twice.
    let second = start(&[]);
    until("it runs", || reaches(&hosts, 1) && desk.path().join(format!("run/{}.json", second.id())).exists());
    signal(&second, "-TERM");
    let said = text(&second.wait_with_output().unwrap().stderr);
    assert!(said.contains("note: the kernel's bridge aqmkit-") && said.contains(" is removed"), "{said}");
    assert!(!reaches(&hosts, 1));
    assert!(place.inside(|| ip("link show aqmkit-900")).unwrap());
    let third = start(&["--fail-open"]);
    until("it runs", || reaches(&hosts, 1));
    signal(&third, "-TERM");
    let ended = text(&third.wait_with_output().unwrap().stderr);
    assert!(ended.contains("from now on the kernel forwards between m1 and m2"), "{ended}");
    assert!(reaches(&hosts, 10));
    let told = place.inside(|| aqmkit(&desk).args(["bridge", "--cleanup"]).output()).unwrap();
    assert!(text(&told.stdout).contains(" removed\n") && !reaches(&hosts, 1), "{told:?}");
}

/// While the kernel forwards for a killed bridge, all commands report it; a cleanup of links does not forget it.
fn forwarding_is_told(desk: &Desk, place: &Netns) {
    let run = |line: &str| place.inside(|| aqmkit(desk).args(line.split(' ')).output()).unwrap();
    let told = "the kernel forwards between m1 and m2 without a queue (aqmkit-";
    let right = "start the bridge again, or aqmkit bridge --cleanup removes it, which cuts the connection";
    let tells = |said: &str| assert!(said.contains(told) && said.contains(right), "{said}");
    tells(&text(&run("ctl list").stderr));
    let examined = text(&run("doctor").stdout);
    tells(&examined);
    assert!(!examined.contains("tso off"), "a bridge wants segmentation: {examined}");
    let cleaned = text(&run("link --cleanup").stdout);
    tells(&cleaned);
    assert!(cleaned.starts_with("1 offload switched on again\n") && joins(place), "{cleaned}");
    let again = text(&run("link --cleanup").stdout);
    tells(&again);
    assert!(again.starts_with("nothing to clean up\n"), "{again}");
}

#[test]
fn a_bridge_of_the_kernel_in_the_way_is_named() {
    let Some(place) = place() else { return };
    let desk = Desk::new();
    let told = place.inside(|| {
        for line in ["link add br0 type bridge", "link set m1 master br0"] {
            assert!(Command::new("ip").args(line.split(' ')).status()?.success());
        }
        aqmkit(&desk).args(["bridge", "m1", "m2", "--rate", "8mbit"]).output()
    });
    let told = told.unwrap();
    let said = text(&told.stderr);
    assert!(told.status.code() == Some(2) && said.contains("m1 is a port of the kernel's bridge br0"), "{said}");
}
