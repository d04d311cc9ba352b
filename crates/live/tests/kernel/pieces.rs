//! GSO packets.

#![allow(unsafe_code, reason = "an option of a socket that the standard library does not have")]

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

use aqmkit_base::BitRate;
use aqmkit_live::kernel::{Place, Wanted, install};
use serde_json::json;

use super::installed::places;
use super::{pair, wanted};

const PACKET: usize = 1400;
const PACKETS: usize = 45;

/// Makes a socket send GSO packets with segments of [`PACKET`] bytes, segmented as late as possible.
fn send_in_one_piece(socket: &UdpSocket) -> std::io::Result<()> {
    let size = PACKET as libc::c_int;
    let length = size_of_val(&size) as libc::socklen_t;
    // SAFETY: the number outlives the call.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, (&raw const size).cast(), length)
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// 45 segments of 1442 bytes exceed both this limit and CSFQ's default of 64 kB: a GSO packet is admitted, and while it
/// is queued a second one is not, because its first segment does not fit. The BPF qdisc sends the first one at once.
#[test]
fn a_piece_larger_than_the_limit_is_let_in() {
    for place in places() {
        let pair = pair::Pair::new().unwrap();
        let receiver = pair.receiver.inside(|| UdpSocket::bind(("10.9.7.2", 5003))).unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let slow = Wanted { rate: BitRate::from_mbps(2), ..wanted("csfq", &json!({ "limit": "40kb" }), place) };
        let counted = pair.sender.inside(|| {
            let sender = UdpSocket::bind(("10.9.7.1", 0))?;
            // Resolve the neighbour first.
            sender.send_to(&[0; 100], ("10.9.7.2", 5003))?;
            receiver.recv(&mut [0; 2000])?;
            let found = install("veth0", &slow).map_err(std::io::Error::other)?;
            send_in_one_piece(&sender)?;
            for _ in 0..3 {
                // A drop may be reported to a local sender as an error.
                let _ = sender.send_to(&[0; PACKET * PACKETS], ("10.9.7.2", 5003));
            }
            found.statistics().map_err(std::io::Error::other)
        });
        let counted = counted.unwrap();
        let arrived = std::iter::from_fn(|| receiver.recv(&mut [0; 2000]).ok()).count();
        let wanted = if place == Place::Queue { 90 } else { 45 };
        assert_eq!((counted.packets, counted.passed, arrived), (135, wanted, wanted as usize), "{place:?} {counted:?}");
    }
}
