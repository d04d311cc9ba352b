use aqmkit_aqm::Why;
use aqmkit_base::BitRate;
use aqmkit_live::bridge::{Interface, Io};
use aqmkit_live::netns::Netns;
use aqmkit_live::port::{Outlet, Port};
use aqmkit_live::timing::Clock;
use aqmkit_packets::outgoing::Outgoing;

use super::Place;

#[test]
fn both_families_pass_both_ways() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(100)).unwrap();
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    assert!(place.reaches("[fd09::2]:7000", "[fd09::1]:7000"));
    let measured = bridge.close().unwrap();
    for (name, windows) in &measured.directions {
        assert!(windows[0].total.sent_packets >= 2, "{name}: {:?}", windows[0].total.sent_packets);
    }
}

#[test]
fn every_frame_passes_as_it_is() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(100)).unwrap();
    all_frames_pass(&place);
    assert!(bridge.is_up());
}

/// Frames pass unchanged: single- and double-tagged, non-IP, minimum and maximum length.
pub(super) fn all_frames_pass(place: &Place) {
    let open = |side: &Netns, name: &str| {
        side.inside(|| Ok(Interface::open(name, Io::Packet, Clock::start()))).unwrap().unwrap()
    };
    let (a, mut b) = (open(&place.a, "a0"), open(&place.b, "b0"));
    let frame = |kinds: &[u8], length: usize| {
        let mut frame = [&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8], kinds].concat();
        frame.extend((0..length - frame.len()).map(|i| i as u8));
        frame
    };
    let frames = [
        frame(&[0x88, 0xb5], 60),
        frame(&[0x81, 0, 0, 5, 0x88, 0xb5], 64),
        frame(&[0x88, 0xa8, 0x20, 5, 0x81, 0, 0, 6, 0x88, 0xb5], 500),
        frame(&[0x88, 0xb5], 1514),
        frame(&[0x81, 0, 0, 5, 0x88, 0xb5], 1518),
    ];
    for f in &frames {
        a.outlet().send(&[Outgoing::unchanged(&f.clone().into())], &mut |_, e| panic!("{e}"));
    }
    let mut came = Vec::new();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while came.len() < frames.len() && std::time::Instant::now() < end {
        match b.receive() {
            Ok(got) if got.packet()[..6] == frames[0][..6] => came.push(got.packet().to_vec()),
            Ok(_) => {}
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
    assert_eq!(came, frames);
}

/// The receiving kernel drops packets with a wrong checksum, and counts CE marks.
#[test]
fn marks_reach_the_receiver_with_right_checksums() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("step", r#"{ "threshold": 3, "not_ect": "pass" }"#, BitRate::from_mbps(20)).unwrap();
    let took = place.transfer(2_000_000).as_secs_f64();
    Place::settled(&bridge);
    let measured = bridge.close().unwrap();
    let marked = measured.directions[0].1[0].total.marked[Why::Step as usize];
    let text = place.b.inside(|| std::fs::read_to_string("/proc/thread-self/net/netstat")).unwrap();
    let mut lines = text.lines().filter(|l| l.starts_with("IpExt:")).map(str::split_whitespace);
    let (mut names, mut values) = (lines.next().unwrap(), lines.next().unwrap());
    let place_of = names.position(|n| n == "InCEPkts").unwrap();
    let counted: u64 = values.nth(place_of).unwrap().parse().unwrap();
    assert!(marked > 10, "{marked}");
    assert_eq!(counted, marked);
    // 2 MB take 0.83 s at 20 Mbit/s with headers; allow more on a busy machine.
    assert!((0.8..60.0).contains(&took), "{took}");
}
