//! Bridges with `AF_XDP`. Tests are skipped, with a message, where the kernel lacks it.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use aqmkit_base::BitRate;
use aqmkit_live::LiveError;
use aqmkit_live::bridge::{Bridge, Io};
use aqmkit_live::netns::Netns;
use aqmkit_live::offload::{TAGS, is_on};

use super::frames::all_frames_pass;
use super::{Place, ip};

/// A bridge and its namespaces; `None` where the kernel lacks `AF_XDP`.
fn bridged(rate: BitRate) -> Option<(Place, Bridge)> {
    bridged_at(Place::new()?, rate)
}

fn bridged_at(place: Place, rate: BitRate) -> Option<(Place, Bridge)> {
    match place.bridge_by(Io::Xdp, "fifo", "{}", rate) {
        Ok(bridge) => Some((place, bridge)),
        Err(e @ LiveError::Lacks { .. }) => {
            eprintln!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn frames_pass_as_they_are_and_what_was_left_to_the_card_is_done() {
    let Some((place, bridge)) = bridged(BitRate::from_mbps(100)) else { return };
    all_frames_pass(&place);
    // Between namespaces, senders leave checksums to offload; the receiver would drop packets without one.
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    assert!(place.reaches("[fd09::2]:7000", "[fd09::1]:7000"));
    place.transfer(3_000_000);
    let measured = bridge.close().unwrap();
    assert!(measured.directions[0].1[0].total.sent_packets > 2000, "{:?}", measured.directions[0].1[0].total);
}

/// More frames than slots, several times around the rings: all losses are the discipline's.
#[test]
fn the_rings_go_round() {
    let Some((place, bridge)) = bridged(BitRate::from_mbps(1000)) else { return };
    place.transfer(30_000_000);
    assert_eq!(bridge.control().report().refused, 0);
    let measured = bridge.close().unwrap();
    assert!(measured.directions[0].1[0].total.sent_packets > 2 * 4096);
}

/// Namespaces whose interfaces have two receive queues; the kernel selects one by flow hash.
fn with_two_queues() -> Option<Place> {
    let place = Place::new()?;
    for (middle, side, outer, host) in [("m1", &place.a, "a0", 1), ("m2", &place.b, "b0", 2)] {
        ip(&place.middle, &format!("link del {middle}")).unwrap();
        place.attach_with(2, middle, side, outer, host).unwrap();
    }
    Some(place)
}

/// Sends `each` numbered datagrams of each of `FLOWS` flows, interleaved. All must arrive, in order within each flow.
fn flows_arrive(from: (&Netns, &str), to: (&Netns, &str), each: u32) {
    const FLOWS: usize = 32;
    let bind = |(side, address): (&Netns, &str)| side.inside(|| UdpSocket::bind((address, 0))).unwrap();
    let server = bind(to);
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let clients: Vec<UdpSocket> = (0..FLOWS).map(|_| bind(from)).collect();
    let mut came: BTreeMap<SocketAddr, Vec<u32>> = BTreeMap::new();
    let all: Vec<u32> = (0..each).collect();
    // As many at a time as fit the receiver's socket buffer.
    for some in all.chunks(4) {
        for number in some {
            for client in &clients {
                client.send_to(&number.to_be_bytes(), server.local_addr().unwrap()).unwrap();
            }
        }
        for _ in 0..some.len() * FLOWS {
            let mut buffer = [0; 4];
            let (_, client) = server.recv_from(&mut buffer).unwrap_or_else(|e| panic!("{e}: {came:?}"));
            came.entry(client).or_default().push(u32::from_be_bytes(buffer));
        }
    }
    assert!(came.len() == FLOWS && came.values().all(|numbers| *numbers == all), "{came:?}");
}

#[test]
fn frames_of_every_receive_queue_pass() {
    let Some((place, bridge)) = with_two_queues().and_then(|p| bridged_at(p, BitRate::from_mbps(1000))) else { return };
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    flows_arrive((&place.a, "10.9.0.1"), (&place.b, "10.9.0.2"), 20);
    flows_arrive((&place.b, "10.9.0.2"), (&place.a, "10.9.0.1"), 20);
    place.transfer(3_000_000);
    let idle = bridge.close().unwrap();
    assert!(idle.devices.iter().all(|d| (d.overrun, d.vanished) == (0, 0)), "{:?}", idle.devices);
}

/// `ethtool -L` in a namespace; false where unsupported.
fn channels(place: &Netns, arguments: [&str; 3]) -> bool {
    let run = || std::process::Command::new("ethtool").arg("-L").args(arguments).output();
    place.inside(run).is_ok_and(|told| told.status.success())
}

#[test]
fn a_receive_queue_that_is_added_is_read() {
    let Some(place) = with_two_queues() else { return };
    if !channels(&place.a, ["a0", "tx", "1"]) || !channels(&place.middle, ["m1", "rx", "1"]) {
        return eprintln!("skipped: the number of queues cannot be changed here");
    }
    let Some((place, bridge)) = bridged_at(place, BitRate::from_mbps(1000)) else { return };
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    assert!(channels(&place.middle, ["m1", "rx", "2"]) && channels(&place.a, ["a0", "tx", "2"]));
    std::thread::sleep(Duration::from_millis(700));
    flows_arrive((&place.a, "10.9.0.1"), (&place.b, "10.9.0.2"), 4);
    let measured = bridge.close().unwrap();
    assert!(measured.devices.iter().all(|d| d.vanished == 0), "{:?}", measured.devices);
}

#[test]
fn an_interface_that_vanishes_and_returns_is_taken_again() {
    let Some((place, bridge)) = bridged(BitRate::from_mbps(100)) else { return };
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    ip(&place.middle, "link del m1").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(bridge.is_up());
    place.attach("m1", &place.a, "a0", 1).unwrap();
    assert!(place.reaches("10.9.0.2:7001", "10.9.0.1:7001"), "it was another interface of this name");
}

#[test]
fn the_program_and_the_tags_go_back_with_the_bridge() {
    let Some((place, bridge)) = bridged(BitRate::from_mbps(100)) else { return };
    let state = || {
        let text = ip(&place.middle, "-d link show m1").unwrap();
        (text.contains("prog/xdp"), place.middle.inside(|| is_on("m1", &TAGS)).unwrap())
    };
    assert_eq!(state(), (true, false));
    let Err(second) = place.bridge_by(Io::Xdp, "fifo", "{}", BitRate::from_mbps(1)) else { panic!("there are two") };
    assert!(second.to_string().contains("already has an XDP program"), "{second}");
    drop(bridge);
    assert_eq!(state(), (false, true));
    place.bridge_by(Io::Xdp, "fifo", "{}", BitRate::from_mbps(1)).map(drop).unwrap();
}
