use std::time::Duration;

use aqmkit_base::BitRate;
use aqmkit_live::LiveError;
use aqmkit_live::offload::{OFFLOADS, is_on};

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
    place.middle.inside(|| aqmkit_live::offload::switch("m1", gro, true)).unwrap();
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

#[test]
fn what_a_sender_left_to_its_card_is_told() {
    let Some(place) = Place::new() else { return };
    place
        .a
        .inside(|| {
            OFFLOADS
                .iter()
                .filter(|o| ["tso", "gso"].contains(&o.name))
                .try_for_each(|o| aqmkit_live::offload::switch("a0", o, true))
        })
        .unwrap();
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(100)).unwrap();
    place.transfer(100_000);
    let [(_, _, counts), _] = bridge.interfaces().unwrap();
    assert!(counts.too_long > 0, "{counts:?}");
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
    assert!(refused("fifo", "{}").to_string().starts_with("there is no interface called m2"));
    let parameter = refused("red", r#"{ "min": 5, "max": 3 }"#);
    assert!(matches!(parameter, LiveError::Parameter { .. }), "{parameter}");
}
