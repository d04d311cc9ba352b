#![allow(clippy::print_stderr, reason = "it says why it was skipped")]

use std::process::{Command, Stdio};

use aqmkit_live::netns::Netns;

use super::Desk;
use super::link::{aqmkit, signal, text, until};

#[test]
fn wrong_arguments_are_named() {
    let desk = Desk::new();
    desk.run("shape no-such-if --rate 8mbit").wrong(&["no interface no-such-if", "This machine has"]);
    desk.run("shape lo").wrong(&["--rate"]);
    desk.run("shape lo --rate 8mbit --aqm coddel").wrong(&["did you mean codel?"]);
    desk.run("shape lo --rate 8mbit --ingress-aqm pie").wrong(&["--ingress-aqm has no rate", "--rate 20mbit/95mbit"]);
    desk.run("shape lo --rate 8mbit --name a/b").wrong(&["is not a valid name"]);
}

#[test]
fn a_configuration_file_is_read_and_checked() {
    let desk = Desk::new();
    desk.write(
        "wan.toml",
        "[shape]\ninterface = \"eth9\"\nrate = \"8mbit\"\ningress-rate = \"9mbit\"\naqm = \"pie\"\n",
    );
    let told = desk.run("check wan.toml").good();
    assert!(told.contains("at eth9, 8mbit pie for what leaves, 9mbit pie for what arrives"), "{told}");
    desk.run("shape --config wan.toml").wrong(&["no interface eth9"]);
    desk.run("shape --config wan.toml eth8").wrong(&["no interface eth8"]);
    desk.write("bad.toml", "[shape]\ninterfaces = [\"eth9\"]\n");
    desk.run("check bad.toml").wrong(&["bad.toml:2: shape has no option \"interfaces\"", "did you mean interface?"]);
    desk.write("bad.toml", "[shape]\ninterface = []\n");
    desk.run("check bad.toml").wrong(&["bad.toml:2: interface has one value"]);
}

/// A namespace with the interface `wan`, and the host behind it; `None` if they cannot be created.
fn place() -> Option<[Netns; 2]> {
    let make = || -> std::io::Result<[Netns; 2]> {
        let [machine, host] = [Netns::create()?, Netns::create()?];
        let ip = |side: &Netns, line: &str| {
            let told = side.inside(|| Command::new("ip").args(line.split(' ')).output())?;
            if told.status.success() { Ok(()) } else { Err(std::io::Error::other(text(&told.stderr))) }
        };
        ip(&machine, "link add wan type veth peer name far")?;
        ip(&machine, &format!("link set far netns {}", host.path()))?;
        for (side, name, address) in [(&machine, "wan", "10.9.0.1/24"), (&host, "far", "10.9.0.2/24")] {
            ip(side, &format!("link set {name} up"))?;
            ip(side, &format!("addr add {address} dev {name}"))?;
        }
        Ok([machine, host])
    };
    let made = make();
    if let Err(e) = &made {
        eprintln!("skipped: veth interfaces cannot be made here ({e})");
    }
    made.ok()
}

/// Whether a datagram from the machine reaches the host within a few seconds.
fn reaches([machine, host]: &[Netns; 2]) -> bool {
    let server = host.inside(|| std::net::UdpSocket::bind("10.9.0.2:0")).unwrap();
    let client = machine.inside(|| std::net::UdpSocket::bind("10.9.0.1:0")).unwrap();
    server.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
    let to = server.local_addr().unwrap();
    (0..50).any(|_| {
        // Sending may fail while ARP resolves the address.
        let _ = client.send_to(b"there", to);
        server.recv(&mut [0; 10]).is_ok()
    })
}

#[test]
fn a_killed_process_leaves_the_interface_as_it_was() {
    leaves_the_interface_as_it_was("1");
    leaves_the_interface_as_it_was("2");
}

/// With this number of packet threads.
fn leaves_the_interface_as_it_was(threads: &str) {
    let Some(place) = place() else { return };
    let desk = Desk::new();
    let start = || {
        let mut command = aqmkit(&desk);
        command.args(["shape", "wan", "--rate", "8mbit", "--ingress-rate", "8mbit", "--threads", threads]);
        command.stdout(Stdio::piped());
        place[0].inside(|| command.stderr(Stdio::piped()).spawn()).unwrap()
    };
    let devices = || {
        let told = place[0].inside(|| Command::new("ip").args(["-o", "link", "show"]).output()).unwrap();
        text(&told.stdout).lines().count()
    };
    let before = devices();
    let runs = || desk.path().join("run/shape.sock").exists();
    let shape = std::cell::RefCell::new(start());
    until("it runs or cannot", || runs() || shape.borrow_mut().try_wait().unwrap().is_some());
    let mut shape = shape.into_inner();
    if !runs() {
        return eprintln!("skipped: {}", text(&shape.wait_with_output().unwrap().stderr));
    }
    assert!(reaches(&place));
    assert_eq!(devices(), before + 2);
    let second = start().wait_with_output().unwrap();
    assert!(text(&second.stderr).contains("wan already belongs to shape"), "{second:?}");
    signal(&shape, "-KILL");
    shape.wait().unwrap();
    assert!(reaches(&place), "frames pass without a queue");
    assert_eq!(devices(), before);
    let third = start();
    until("it runs", || {
        let told = place[0].inside(|| aqmkit(&desk).args(["ctl", "show"]).output()).unwrap();
        reaches(&place) && text(&told.stdout).contains("egress")
    });
    signal(&third, "-TERM");
    let ended = third.wait_with_output().unwrap();
    let said = text(&ended.stderr);
    assert!(
        said.contains("shaping what leaves and enters wan") && said.contains("wan has no queue of aqmkit"),
        "{said}"
    );
    assert!(text(&ended.stdout).contains("ingress"), "{ended:?}");
}
