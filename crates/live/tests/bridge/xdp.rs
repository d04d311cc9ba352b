//! A bridge by `AF_XDP`. Where the kernel has none of it, the tests say so and are skipped.

use aqmkit_base::BitRate;
use aqmkit_live::LiveError;
use aqmkit_live::bridge::{Bridge, Io};
use aqmkit_live::offload::{TAGS, is_on};

use super::frames::all_frames_pass;
use super::{Place, ip};

/// A place and a bridge in it; nothing where the kernel has no `AF_XDP`.
fn bridged(rate: BitRate) -> Option<(Place, Bridge)> {
    let place = Place::new()?;
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
    // Between namespaces senders leave checksums to a card; the receiver would drop what has none.
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    assert!(place.reaches("[fd09::2]:7000", "[fd09::1]:7000"));
    place.transfer(3_000_000);
    let measured = bridge.close().unwrap();
    assert!(measured.directions[0].1[0].total.sent_packets > 2000, "{:?}", measured.directions[0].1[0].total);
}

/// More frames than there are slots, several times around: none is lost but by the discipline.
#[test]
fn the_rings_go_round() {
    let Some((place, bridge)) = bridged(BitRate::from_mbps(1000)) else { return };
    place.transfer(30_000_000);
    assert_eq!(bridge.control().report().refused, 0);
    let measured = bridge.close().unwrap();
    assert!(measured.directions[0].1[0].total.sent_packets > 2 * 4096);
}

#[test]
fn an_interface_that_vanishes_and_returns_is_taken_again() {
    let Some((place, bridge)) = bridged(BitRate::from_mbps(100)) else { return };
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    ip(&place.middle, "link del m1").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
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
