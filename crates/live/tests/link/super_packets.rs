//! GSO super-packets on a link: the discipline sees each segment as a packet.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use super::traffic::transfer;
use super::*;

#[test]
fn large_transfers_are_intact() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    for family in [0, 1] {
        let link = Link::open(&setup(BitRate::from_mbps(10_000), Duration::ZERO, "fifo")).unwrap();
        transfer(&link, family, 200_000_000);
        let (measured, _) = link.close().unwrap();
        let down = measured.directions[0].1[0].total;
        assert!(down.sent_bytes / down.sent_packets <= 1500 && down.sent_packets > 200_000_000 / 1448, "{down:?}");
        assert!(measured.devices.iter().all(|d| d.too_long == 0), "{:?}", measured.devices);
    }
}

/// Datagrams sent with `UDP_SEGMENT` arrive one by one, unchanged.
#[test]
fn datagrams_that_were_sent_together_come_one_by_one() {
    const SIZE: usize = 100;
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    for (mbps, family) in [(10, 0), (10, 1), (10_000, 0), (10_000, 1)] {
        let link = Link::open(&setup(BitRate::from_mbps(mbps), Duration::ZERO, "fifo")).unwrap();
        let at = SocketAddr::new(link.addresses.server[family], 0);
        let server = link.server.namespace.inside(|| UdpSocket::bind(at)).unwrap();
        let own = SocketAddr::new(link.addresses.client[family], 0);
        let client = link.client.namespace.inside(|| UdpSocket::bind(own)).unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        server.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        let size = SIZE as libc::c_int;
        // SAFETY: the option value outlives the call, with the given length.
        let done = unsafe {
            let of = size_of_val(&size) as libc::socklen_t;
            libc::setsockopt(client.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, (&raw const size).cast(), of)
        };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        let sent = data(40 * SIZE + 30);
        client.send(&sent).unwrap();
        let mut buffer = [0; 2 * SIZE];
        for wanted in sent.chunks(SIZE) {
            let length = server.recv(&mut buffer).unwrap();
            assert!(buffer[..length] == *wanted, "{mbps} Mbit/s, {family}: {length}");
        }
        let up = link.close().unwrap().0.directions[1].1[0].total;
        // The kernel sends a few packets of its own.
        assert!((41..50).contains(&up.offered_packets), "{up:?}");
    }
}
