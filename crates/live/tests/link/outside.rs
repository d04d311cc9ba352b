//! A link with access to other networks: its client reaches whatever the machine reaches.

use std::io::{Read, Write};
use std::process::Command;

use aqmkit_live::netns::set_sysctl;

use super::*;

/// Runs `ip` in a namespace.
fn ip(place: &Netns, line: &str) -> std::io::Result<()> {
    let done = place.inside(|| Command::new("ip").args(line.split(' ')).status())?;
    if done.success() { Ok(()) } else { Err(std::io::Error::other(line.to_owned())) }
}

/// A machine at 10.8.0.1, and a host at 10.8.0.2 that has no route to the links.
fn machines() -> std::io::Result<(Netns, Netns)> {
    let (machine, other) = (Netns::create()?, Netns::create()?);
    ip(&machine, "link add out0 type veth peer name in0")?;
    ip(&machine, &format!("link set in0 netns {}", other.path()))?;
    ip(&machine, "addr add 10.8.0.1/24 dev out0")?;
    ip(&machine, "link set out0 up")?;
    ip(&machine, "link set lo up")?;
    ip(&other, "addr add 10.8.0.2/24 dev in0")?;
    ip(&other, "link set in0 up")?;
    Ok((machine, other))
}

/// As created by `unshare -n`: nothing outside would be reachable, and the command would wait forever.
#[test]
fn a_namespace_without_a_way_out_is_refused() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let empty = Netns::create().unwrap();
    empty.inside(|| set_sysctl("net.ipv4.ip_forward", "1")).unwrap();
    let outside = LinkSetup { outside: true, ..setup(BitRate::from_mbps(20), Duration::ZERO, "fifo") };
    let refused = empty.inside(|| Ok(Link::open(&outside))).unwrap().unwrap_err().to_string();
    assert!(refused.contains("no address but that of the loopback") && refused.contains("unshare -n"), "{refused}");
}

#[test]
fn a_client_reaches_what_its_machine_reaches_by_its_address() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let (machine, other) = match machines() {
        Ok(machines) => machines,
        Err(e) => return eprintln!("skipped: veth interfaces cannot be made here ({e})"),
    };
    let outside = LinkSetup { outside: true, ..setup(BitRate::from_mbps(20), Duration::from_millis(5), "fifo") };
    let open = || machine.inside(|| Ok(Link::open(&outside))).unwrap();
    machine.inside(|| set_sysctl("net.ipv4.ip_forward", "0")).unwrap();
    let refused = open().unwrap_err().to_string();
    assert!(refused.contains("does not forward") && refused.contains("sysctl -w net.ipv4.ip_forward=1"), "{refused}");
    machine.inside(|| set_sysctl("net.ipv4.ip_forward", "1")).unwrap();
    let link = match open() {
        Err(e @ aqmkit_live::LiveError::Lacks { .. }) => return eprintln!("skipped: {e}"),
        link => link.unwrap(),
    };
    let listener = other.inside(|| TcpListener::bind("10.8.0.2:80")).unwrap();
    let to = listener.local_addr().unwrap();
    let patience = std::time::Duration::from_secs(20);
    let connect = || link.client.namespace.inside(|| TcpStream::connect_timeout(&to, patience));
    let mut near = connect().unwrap();
    let (mut far, from) = listener.accept().unwrap();
    assert_eq!(from.ip(), "10.8.0.1".parse::<IpAddr>().unwrap());
    far.write_all(b"there").unwrap();
    let mut text = [0; 5];
    near.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"there");
    let (measured, _) = link.close().unwrap();
    assert!(measured.directions.iter().all(|(_, windows)| windows[0].total.sent_packets >= 3));
    // Devices and table are gone, so another link can be opened.
    open().unwrap().close().unwrap();
}
