use std::time::Duration;

use aqmkit_base::BitRate;
use aqmkit_live::LiveError;
use aqmkit_live::bridge::Io;
use aqmkit_live::cleanup::{BridgeState, Record, clean};
use aqmkit_live::offload::{DisabledOffload, OFFLOADS, OffloadLog, is_on, switch};

use super::{Place, ip};

#[test]
fn an_interface_that_vanishes_and_returns_is_survived() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("codel", "{}", BitRate::from_mbps(100)).unwrap();
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    ip(&place.middle, "link set m2 down").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    ip(&place.middle, "link set m2 up").unwrap();
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"), "it went down and came up");
    ip(&place.middle, "link del m1").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(bridge.is_up());
    place.attach("m1", &place.a, "a0", 1).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(place.reaches("10.9.0.2:7001", "10.9.0.1:7001"), "it was another interface of this name");
    let [(name, there, counts), _] = bridge.interfaces().unwrap();
    assert_eq!((name.as_str(), there, counts.vanished), ("m1", true, 1));
}

#[test]
fn interfaces_are_left_as_they_were() {
    let Some(place) = Place::new() else { return };
    let gro = OFFLOADS.iter().find(|o| o.name == "gro").unwrap();
    place.middle.inside(|| switch("m1", gro, true)).unwrap();
    let state = || {
        let text = ip(&place.middle, "-d link show m1").unwrap();
        (text.contains("promiscuity 1"), place.middle.inside(|| is_on("m1", gro)).unwrap())
    };
    assert_eq!(state(), (false, true));
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(100)).unwrap();
    assert_eq!(state(), (true, false));
    drop(bridge);
    assert_eq!(state(), (false, true));
}

/// At any time of a kill, the record contains all disabled offloads.
#[test]
fn what_is_switched_off_is_written_down_before() {
    let Some(place) = Place::new() else { return };
    let gro = OFFLOADS.iter().find(|o| o.name == "gro").copied().unwrap();
    place.middle.inside(|| switch("m1", &gro, true)).unwrap();
    let (sender, notes) = std::sync::mpsc::channel();
    let note = OffloadLog::new(move |off: &DisabledOffload| {
        let on = OFFLOADS.iter().find(|o| o.name == off.offload).and_then(|o| is_on(&off.interface, o).ok());
        sender.send((off.clone(), on)).unwrap();
    });
    let _bridge = place.bridge_noting(note).unwrap();
    let (off, on) = notes.recv().unwrap();
    assert_eq!((off.interface.as_str(), off.offload.as_str(), on), ("m1", "gro", Some(true)));
    assert!(!place.middle.inside(|| is_on("m1", &gro)).unwrap());
    // A new interface of the same name is recorded too.
    ip(&place.middle, "link del m1").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    ip(&place.middle, "link add m9 type veth peer name n9").unwrap();
    place.middle.inside(|| switch("m9", &gro, true)).unwrap();
    ip(&place.middle, "link set m9 name m1").unwrap();
    ip(&place.middle, "link set m1 up").unwrap();
    let (again, still) = notes.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(again.interface == "m1" && again.index != off.index && still == Some(true), "{again:?}");
}

/// The state after a kill: only the record knows which offloads were on.
#[test]
fn what_a_killed_bridge_has_switched_off_is_switched_on_again() {
    let Some(place) = Place::new() else { return };
    let gro = OFFLOADS.iter().find(|o| o.name == "gro").unwrap();
    let on = |name: &str| place.middle.inside(|| is_on(name, gro)).unwrap();
    place.middle.inside(|| switch("m1", gro, true)).unwrap();
    place.middle.inside(|| switch("m2", gro, false)).unwrap();
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(100)).unwrap();
    let off = bridge.disabled_offloads().unwrap();
    assert_eq!(off.iter().map(|o| (o.interface.as_str(), o.offload.as_str())).collect::<Vec<_>>(), [("m1", "gro")]);
    drop(bridge);
    place.middle.inside(|| switch("m1", gro, false)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let killed = |left: Vec<DisabledOffload>| {
        let place_of = place.middle.cookie();
        let state = BridgeState { name: "test".into(), place: place_of, off: left, ..BridgeState::default() };
        let record = Record { pid: 1, bridge: Some(state), ..Record::default() };
        std::fs::write(directory.path().join("1.json"), serde_json::to_vec(&record).unwrap()).unwrap();
    };
    // A process keeps the namespace alive, like the killed bridge's.
    let holder = place.middle.inside(|| std::process::Command::new("sleep").arg("100").spawn());
    let mut holder = holder.unwrap();
    killed(off.clone());
    let cleaned = clean(directory.path());
    assert_eq!((cleaned.bridges, cleaned.offloads, on("m1"), on("m2")), (1, 1, true, false));
    // Another interface of the same name is left alone.
    let other = off.into_iter().map(|o| DisabledOffload { index: o.index + 1000, ..o }).collect();
    place.middle.inside(|| switch("m1", gro, false)).unwrap();
    killed(other);
    assert_eq!((clean(directory.path()).offloads, on("m1")), (0, false));
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn a_raised_mtu_is_noticed() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(100)).unwrap();
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    for (side, name) in [(&place.a, "a0"), (&place.middle, "m1"), (&place.middle, "m2"), (&place.b, "b0")] {
        ip(side, &format!("link set {name} mtu 4000")).unwrap();
    }
    std::thread::sleep(Duration::from_millis(500));
    let server = place.b.inside(|| std::net::UdpSocket::bind("10.9.0.2:7003")).unwrap();
    let client = place.a.inside(|| std::net::UdpSocket::bind("10.9.0.1:7003")).unwrap();
    server.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    client.send_to(&[7; 3900], "10.9.0.2:7003").unwrap();
    assert_eq!(server.recv(&mut [0; 5000]).unwrap(), 3900);
    let [(_, _, counts), _] = bridge.interfaces().unwrap();
    assert_eq!((counts.too_long, counts.vanished), (0, 0), "{counts:?}");
}

/// As the guide recommends: the kernel builds GSO packets, which is cheap, and segments them before the device.
#[test]
fn without_tso_the_kernel_cuts_what_it_joins() {
    let Some(place) = Place::new() else { return };
    let offload = |name| OFFLOADS.iter().find(|o| o.name == name).unwrap();
    place.a.inside(|| switch("a0", offload("gso"), true)).unwrap();
    assert!(!place.a.inside(|| is_on("a0", offload("tso"))).unwrap());
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(100)).unwrap();
    place.transfer(1_000_000);
    let [(_, _, counts), _] = bridge.interfaces().unwrap();
    assert_eq!(counts.too_long, 0, "{counts:?}");
}

/// As if the process is stopped or starved: the kernel's ring overflows.
#[test]
fn what_the_kernel_drops_in_front_of_the_bridge_is_counted_while_it_runs() {
    let Some(place) = Place::new() else { return };
    for io in [Io::Packet, Io::Xdp] {
        let bridge = match place.bridge_by(io, "fifo", "{}", BitRate::from_mbps(1000)) {
            Ok(bridge) => bridge,
            Err(e) if io == Io::Xdp => {
                eprintln!("skipped: {e}");
                return;
            }
            Err(e) => panic!("{e}"),
        };
        assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
        let control = bridge.control();
        let holder = std::thread::spawn({
            let control = control.clone();
            move || control.ask(0, |_, _| std::thread::sleep(Duration::from_secs(1)))
        });
        std::thread::sleep(Duration::from_millis(200));
        let flood = place.a.inside(|| std::net::UdpSocket::bind("10.9.0.1:7002")).unwrap();
        for _ in 0..20_000 {
            // The device queue may be full.
            let _ = flood.send_to(&[7; 18], "10.9.0.2:9");
        }
        assert!(holder.join().unwrap().is_some());
        std::thread::sleep(Duration::from_millis(500));
        let report = control.report();
        let lost = report.directions[0].device.overrun;
        assert!(lost > 1000, "{io:?}: {lost}");
        let page = aqmkit_live::metrics::page(report).unwrap();
        let line = page.lines().find(|l| l.starts_with("aqmkit_overrun_packets_total")).unwrap();
        assert!(line.ends_with(&format!(" {lost}")), "{line}");
        let doubts = bridge.close().unwrap().doubts(0).join("\n");
        assert!(doubts.contains("the kernel dropped"), "{io:?}: {doubts}");
    }
}

#[test]
fn what_cannot_be_bridged_is_said() {
    let Some(place) = Place::new() else { return };
    let refused = |aqm, parameters| match place.bridge(aqm, parameters, BitRate::from_mbps(1)) {
        Ok(_) => panic!("there is a bridge"),
        Err(error) => error,
    };
    ip(&place.middle, "link set m2 down").unwrap();
    let down = refused("fifo", "{}");
    assert_eq!(down.to_string(), "m2 is down\n  ip link set m2 up");
    assert!(matches!(down, LiveError::Lacks { .. }));
    ip(&place.middle, "link del m2").unwrap();
    assert!(refused("fifo", "{}").to_string().starts_with("there is no interface m2"));
    let parameter = refused("red", r#"{ "min": 5, "max": 3 }"#);
    assert!(matches!(parameter, LiveError::Parameter { .. }), "{parameter}");
}
