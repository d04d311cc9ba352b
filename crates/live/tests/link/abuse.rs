//! Abuse: garbage, floods, vanishing devices.

use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration as Wait, Instant as Wall};

use rustix::net::{AddressFamily, SocketType, netdevice, socket};

use super::*;

/// Resident memory of this process in bytes.
fn memory() -> u64 {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn file_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Packets of every length with random bytes: oversized ones, truncated headers, wrong length fields.
#[test]
fn garbage_is_survived() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let big = LinkSetup { mtu: 65_535, ..setup(BitRate::from_mbps(1000), Duration::ZERO, "fq-codel") };
    let link = Link::open(&big).unwrap();
    let sent = link.client.namespace.inside(|| {
        let raw = socket(AddressFamily::PACKET, SocketType::DGRAM, None)?;
        let index = netdevice::name_to_index(&raw, "aqmkit0")?;
        Ok(throw(&raw, index))
    });
    let sent = sent.unwrap();
    assert!(sent > 500, "only {sent} packets could be thrown");
    // Well-formed packets still pass.
    let (server, client) = connect(&link, 0);
    drop((server, client));
    let (measured, _) = link.close().unwrap();
    let up = &measured.directions[1].1[0].total;
    assert!(up.offered_packets >= sent / 2, "{up:?} of {sent}");
    assert_eq!(measured.vanished, None);
}

/// Sends 1000 garbage packets to a device; returns the number accepted.
fn throw(raw: &impl std::os::fd::AsFd, index: u32) -> u64 {
    let mut rng = aqmkit_base::Rng::stream(1, "garbage");
    let mut sent = 0;
    for i in 0..1000_u64 {
        let len = match i % 4 {
            0 => rng.below(60) + 1,
            1 => rng.below(1500) + 1,
            2 => rng.below(65_000) + 1,
            _ => 20,
        };
        let mut bytes: Vec<u8> = (0..len).map(|_| rng.bits() as u8).collect();
        bytes[0] = [0x45, 0x4f, 0x60, 0x00, 0xff, 0x44][(i % 6) as usize];
        sent += u64::from(packet_socket::send(raw, index, &bytes));
    }
    sent
}

/// Sends on an `AF_PACKET` socket with an address, which has no safe wrapper.
mod packet_socket {
    use std::os::fd::{AsFd, AsRawFd};

    /// Returns whether the kernel accepted the packet.
    pub(super) fn send(socket: &impl AsFd, index: u32, bytes: &[u8]) -> bool {
        // SAFETY: all zeros is a valid `sockaddr_ll`.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        to.sll_ifindex = index as i32;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `bytes` and `to` outlive the call, with the given lengths.
        let answer = unsafe {
            let (data, address) = (bytes.as_ptr().cast(), (&raw const to).cast());
            libc::sendto(socket.as_fd().as_raw_fd(), data, bytes.len(), libc::MSG_DONTWAIT, address, size)
        };
        answer >= 0
    }
}

/// Ten times the link rate: memory stays bounded, the discipline drops the excess, and the output is at the link rate.
#[test]
fn a_flood_is_dropped_by_the_discipline_in_bounded_memory() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let link = Link::open(&setup(BitRate::from_mbps(4), Duration::from_millis(5), "codel")).unwrap();
    let sink = link.server.namespace.inside(|| UdpSocket::bind(SocketAddr::new(link.addresses.server[0], 9))).unwrap();
    let source = link.client.namespace.inside(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    source.connect(sink.local_addr().unwrap()).unwrap();
    let (start, mut before, mut n) = (Wall::now(), 0, 0_u64);
    while start.elapsed() < Wait::from_secs(3) {
        // 40 Mbit/s in packets of 1000 bytes.
        while n < start.elapsed().as_micros() as u64 / 200 {
            // A full socket buffer is part of a flood.
            let _ = source.send(&[0; 972]);
            n += 1;
        }
        if before == 0 && start.elapsed() > Wait::from_secs(1) {
            before = memory();
        }
        std::thread::sleep(Wait::from_micros(500));
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more after two more seconds of flood");
    let (measured, _) = link.close().unwrap();
    let up = &measured.directions[1].1[0];
    assert!(up.total.drops() > 1000, "{:?}", up.total);
    let rate = up.total.sent_bytes as f64 * 8.0 / up.span().as_secs_f64();
    assert!(rate < 4.02e6, "{rate}");
}

/// Packets dropped by the kernel before the device appear in every report, not only in the summary.
#[test]
fn what_a_link_that_is_too_slow_never_saw_is_reported() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let link = Link::open(&setup(BitRate::from_mbps(100), Duration::ZERO, "fifo")).unwrap();
    let sink = link.server.namespace.inside(|| UdpSocket::bind(SocketAddr::new(link.addresses.server[0], 9))).unwrap();
    let source = link.client.namespace.inside(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    source.connect(sink.local_addr().unwrap()).unwrap();
    let overrun = || link.control.report().directions.iter().map(|d| d.device.overrun).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        // Stall the forwarding thread, as on an overloaded machine.
        scope.spawn(|| link.control.ask(1, |_, _| std::thread::sleep(Wait::from_secs(2))));
        std::thread::sleep(Wait::from_millis(300));
        (0..6000).for_each(|_| drop(source.send(&[0; 100])));
    });
    let start = Wall::now();
    while overrun()[1] < 1000 && start.elapsed() < Wait::from_secs(10) {
        std::thread::sleep(Wait::from_millis(50));
    }
    let seen = overrun();
    assert!(seen[1] >= 1000 && seen[0] < 1000, "{seen:?}");
    let (measured, elsewhere) = link.close().unwrap();
    assert_eq!(measured.dropped_before(elsewhere), seen.iter().sum::<u64>(), "each is counted once");
    assert!(measured.doubts(elsewhere).iter().any(|doubt| doubt.contains("packets before the discipline")));
}

#[test]
fn a_device_that_is_taken_away_ends_the_link_and_nothing_else() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let link = Link::open(&setup(BitRate::from_mbps(4), Duration::ZERO, "fifo")).unwrap();
    let deleted = link
        .client
        .namespace
        .inside(|| Command::new("ip").args(["link", "delete", "aqmkit0"]).status())
        .is_ok_and(|s| s.success());
    if !deleted {
        eprintln!("skipped: the program ip is not here");
        return;
    }
    let start = Wall::now();
    while link.is_up() && start.elapsed() < Wait::from_secs(30) {
        std::thread::sleep(Wait::from_millis(10));
    }
    assert!(!link.is_up());
    let (measured, _) = link.close().unwrap();
    // Either direction may notice first.
    let gone = measured.vanished.clone().unwrap();
    assert!(["the input device of up", "the output device of down"].contains(&gone.as_str()), "{gone}");
    assert!(measured.doubts(0)[0].contains("was removed"));
}

/// The kernel keeps retransmitting for a program that has exited; with the link gone, nobody answers.
#[test]
fn connections_that_were_left_end_with_the_link() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let link = Link::open(&setup(BitRate::from_mbps(1), Duration::from_millis(10), "fifo")).unwrap();
    let (server, client) = connect(&link, 0);
    server.set_nonblocking(true).unwrap();
    while (&server).write(&[7; 1 << 16]).is_ok() {}
    let place = link.server.namespace.try_clone().unwrap();
    drop((server, client));
    link.close().unwrap();
    let sockets = || {
        let text = place.inside(|| std::fs::read_to_string("/proc/thread-self/net/tcp")).unwrap();
        // Sockets in TIME_WAIT (06) are unowned and disappear with the namespace.
        text.lines().skip(1).filter(|l| l.split_whitespace().nth(3) != Some("06")).count()
    };
    let start = Wall::now();
    while sockets() > 0 && start.elapsed() < Wait::from_secs(20) {
        std::thread::sleep(Wait::from_millis(100));
    }
    assert_eq!(sockets(), 0, "after {:?}", start.elapsed());
}

/// Namespaces, devices and files of closed links do not accumulate.
#[test]
fn nothing_is_left_of_a_link() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let once = || {
        let link = Link::open(&setup(BitRate::from_mbps(4), Duration::ZERO, "red")).unwrap();
        let cookie = link.client.namespace.cookie();
        drop(connect(&link, 0));
        link.close().unwrap();
        cookie
    };
    once();
    let before = file_descriptors();
    let cookies: std::collections::BTreeSet<u64> = (0..5).map(|_| once()).collect();
    assert_eq!(file_descriptors(), before);
    assert_eq!(cookies.len(), 5, "a cookie is given once");
}
