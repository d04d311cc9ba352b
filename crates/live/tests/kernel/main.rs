//! In-kernel disciplines: verified programs against the disciplines (`replays`), and traffic through installed ones in
//! network namespaces.
//!
//! Tests are skipped, with a message, where kernel or permissions do not suffice.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, which says what it skipped")]

use std::net::UdpSocket;

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes};
use aqmkit_live::kernel::{Place, Wanted, install, installed, remove};
use aqmkit_packets::wire::Classes;
use serde_json::{Value, json};

mod installed;
/// Shared with the tests of `aqmkit-kernel`.
#[path = "../../../kernel/tests/equal/own_queue.rs"]
mod own_queue;
mod pair;
mod pieces;
mod processors;
mod replays;
mod steady;
/// Shared between tests too.
#[allow(dead_code, reason = "bursts, and the comparison without a kernel, are for the laws")]
#[path = "../../../kernel/tests/equal/trace.rs"]
mod trace;
mod traced;

fn spec(name: &str, table: &Value) -> Spec {
    Spec::read(name, table.clone()).unwrap()
}

/// The reason to skip, if any. A program rejected by the verifier is no reason.
fn cannot() -> Option<String> {
    let why = aqmkit_live::kernel::examine::lacking()?;
    eprintln!("skipped: {why}");
    Some(why)
}

/// A discipline in front of a 20 Mbit/s link.
fn wanted(name: &str, table: &Value, place: Place) -> Wanted {
    Wanted {
        spec: spec(name, table),
        rate: BitRate::from_mbps(20),
        mean_packet: Bytes(1500),
        classes: Classes::default(),
        place,
    }
}

/// Remains of a partly removed installation do not get in the way.
#[test]
fn a_shaper_without_its_program_is_taken_away() {
    if cannot().is_some() {
        return;
    }
    let wanted = wanted("red", &json!({}), Place::Classifier);
    let pair = pair::Pair::new().unwrap();
    let left = || {
        pair::run("tc qdisc add dev veth0 root handle a7d0: tbf rate 1mbit burst 5000 limit 100000")?;
        pair::run("tc qdisc add dev veth0 clsact")
    };
    let done = pair.sender.inside(|| {
        left()?;
        remove("veth0").map_err(std::io::Error::other)?;
        let nothing = remove("veth0").unwrap_err().to_string();
        left()?;
        let rate = install("veth0", &wanted).and_then(|i| i.wanted()).map_err(std::io::Error::other)?.rate;
        remove("veth0").map_err(std::io::Error::other)?;
        Ok((nothing, rate))
    });
    let (nothing, rate) = done.unwrap();
    assert!(nothing.contains("has no discipline") && rate == wanted.rate, "{nothing} {rate}");
}

/// A TUN device has no link layer: the IP header comes first.
#[test]
fn flows_are_told_apart_without_a_link_layer() {
    if cannot().is_some() {
        return;
    }
    let wanted = wanted("dcn", &json!({}), Place::Classifier);
    let namespace = aqmkit_live::netns::Netns::create().unwrap();
    let counted = namespace.inside(|| {
        let _device = aqmkit_live::tun::Tun::create("tun0")?;
        pair::ip("addr add 10.9.8.1/24 dev tun0")?;
        pair::ip("link set tun0 up")?;
        install("tun0", &wanted).map_err(std::io::Error::other)?;
        for _ in 0..3 {
            let socket = UdpSocket::bind(("10.9.8.1", 0))?;
            for _ in 0..6 {
                // A drop is reported to a local sender as an error.
                let _ = socket.send_to(&[0; 100], ("10.9.8.2", 9));
            }
        }
        installed("tun0").and_then(|i| i.statistics()).map_err(std::io::Error::other)
    });
    assert_eq!(counted.unwrap().gauges["flows"], 3.0);
}
