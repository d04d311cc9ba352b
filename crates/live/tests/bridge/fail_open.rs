//! The kernel bridge takes over when a bridge ends, and forwards nothing before.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use aqmkit_aqm::registry::Spec;
use aqmkit_base::BitRate;
use aqmkit_live::LiveError;
use aqmkit_live::bridge::{
    Bridge, BridgeSetup, Io, KernelDevice, kernel_bridge_of, kernel_bridges, remove_kernel_bridge,
};
use aqmkit_packets::Setup;
use aqmkit_packets::wire::Classes;

use super::{Place, ip, threads};

fn open(place: &Place, io: Io) -> Result<Bridge, LiveError> {
    let spec = Spec::read("fifo", serde_json::json!({})).unwrap();
    let direction = |name| Setup::new(name, BitRate::from_mbps(100), aqmkit_base::Duration::ZERO, spec.clone());
    let setup = BridgeSetup {
        interfaces: ["m1".to_owned(), "m2".to_owned()],
        io,
        threads: threads(),
        fail_open: true,
        directions: [direction("forth"), direction("back")],
        classes: Classes::default(),
        salt: 1,
    };
    place.middle.inside(|| Ok(Bridge::open(&setup, "test"))).unwrap()
}

/// Opens a bridge; skips the test if this machine cannot.
fn opened(place: &Place, io: Io) -> Option<Bridge> {
    match open(place, io) {
        Ok(bridge) => Some(bridge),
        Err(LiveError::Lacks { what, .. }) => {
            eprintln!("skipped: {what}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Number of datagrams, out of a hundred from `a` to `b`, that arrive; counts duplicates.
fn arrivals(place: &Place) -> usize {
    let server = place.b.inside(|| UdpSocket::bind("10.9.0.2:0")).unwrap();
    let client = place.a.inside(|| UdpSocket::bind("10.9.0.1:0")).unwrap();
    let to = server.local_addr().unwrap();
    for _ in 0..100 {
        // Sending may fail during neighbour resolution.
        let _ = client.send_to(b"there", to);
        std::thread::sleep(Duration::from_millis(2));
    }
    server.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    let mut count = 0;
    while Instant::now() < end && server.recv(&mut [0; 10]).is_ok() {
        count += 1;
    }
    count
}

fn taken_over(io: Io) {
    let Some(place) = Place::new() else { return };
    let Some(bridge) = opened(&place, io) else { return };
    let bridge_of = |name: &str| place.middle.inside(|| kernel_bridge_of(name)).unwrap();
    let (device, made_here) = bridge_of("m1").unwrap();
    assert!(made_here && bridge_of("m2") == Some((device.clone(), true)));
    assert!(place.reaches("10.9.0.2:4000", "10.9.0.1:4001"));
    assert_eq!(arrivals(&place), 100, "every datagram arrives once while the bridge runs");
    let forwarded = bridge.control().report().directions[0].total.offered_packets;
    assert!(forwarded >= 100, "they pass through the queue: {forwarded}");
    drop(bridge);
    assert!(place.reaches("10.9.0.2:4000", "10.9.0.1:4001"), "the kernel forwards");
    assert_eq!(arrivals(&place), 100);

    // The next bridge reuses the existing device.
    let again = opened(&place, io).unwrap();
    assert_eq!(bridge_of("m1"), Some((device.clone(), true)));
    assert_eq!(arrivals(&place), 100);
    let left = KernelDevice { name: device.clone(), made_here: true, ports: vec!["m1".to_owned(), "m2".to_owned()] };
    drop(again);
    assert_eq!(place.middle.inside(kernel_bridges).unwrap(), [left]);
    place.middle.inside(|| remove_kernel_bridge(&device)).unwrap();
    assert_eq!((bridge_of("m1"), arrivals(&place)), (None, 0));
}

#[test]
fn the_kernel_takes_over_at_the_end_and_forwards_nothing_before() {
    taken_over(Io::Packet);
}

#[test]
fn so_it_does_with_af_xdp() {
    taken_over(Io::Xdp);
}

#[test]
fn a_returned_interface_joins_again() {
    let Some(place) = Place::new() else { return };
    let Some(_bridge) = opened(&place, Io::Packet) else { return };
    ip(&place.middle, "link del m2").unwrap();
    place.attach("m2", &place.b, "b0", 2).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while place.middle.inside(|| kernel_bridge_of("m2")).unwrap().is_none() {
        assert!(Instant::now() < end, "it does not join");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(place.reaches("10.9.0.2:4000", "10.9.0.1:4001"));
    assert_eq!(arrivals(&place), 100);
}

#[test]
fn an_interface_with_an_address_or_of_another_bridge_is_refused() {
    let Some(place) = Place::new() else { return };
    let devices = || ip(&place.middle, "-o link show type bridge").unwrap();
    ip(&place.middle, "addr add 10.8.0.1/24 dev m2").unwrap();
    let told = open(&place, Io::Packet).err().map(|e| e.to_string());
    assert!(told.is_some_and(|t| t.contains("m2 has the address 10.8.0.1")));
    ip(&place.middle, "addr flush dev m2").unwrap();
    for (bridge, port) in [("br1", "m1"), ("br2", "m2")] {
        ip(&place.middle, &format!("link add {bridge} type bridge")).unwrap();
        ip(&place.middle, &format!("link set {port} master {bridge}")).unwrap();
    }
    let Some(refused) = open(&place, Io::Packet).err().map(|e| e.to_string()) else { panic!("it opens") };
    if refused.contains("this kernel cannot") {
        return eprintln!("skipped: {refused}");
    }
    assert!(refused.contains("m1 and m2 are ports of different bridges of the kernel"), "{refused}");
    assert_eq!(devices().lines().count(), 2, "no device is left by a failed start");
}
