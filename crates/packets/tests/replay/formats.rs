use aqmkit_packets::replay::{CaptureError, ReplayError};
use proptest::prelude::*;

use super::files::{START, Wrong, link, packet, packets_of, pcap, run};

/// An integer in the byte order of the file.
fn word(big: bool, n: u32) -> [u8; 4] {
    if big { n.to_be_bytes() } else { n.to_le_bytes() }
}

fn half(big: bool, n: u16) -> [u8; 2] {
    if big { n.to_be_bytes() } else { n.to_le_bytes() }
}

fn sample() -> Vec<(u64, Vec<u8>)> {
    vec![(0, packet(1, 60, 0)), (1_500_000_000, packet(2, 1001, 1)), (1_500_001_000, packet(3, 1514, 2))]
}

/// A pcap file with microsecond or nanosecond timestamps.
fn old(big: bool, nanos: bool) -> Vec<u8> {
    let (magic, unit) = if nanos { (0xa1b2_3c4d, 1) } else { (0xa1b2_c3d4, 1000) };
    let mut file = word(big, magic).to_vec();
    file.extend([half(big, 2), half(big, 4)].concat());
    file.extend([0, 0, 65535, 1].map(|n| word(big, n)).concat());
    for (at, bytes) in sample() {
        let at = START + at;
        let length = bytes.len() as u32;
        let fraction = (at % 1_000_000_000) as u32 / unit;
        file.extend([(at / 1_000_000_000) as u32, fraction, length, length].map(|n| word(big, n)).concat());
        file.extend(bytes);
    }
    file
}

fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut padded = body.to_vec();
    padded.resize(body.len().next_multiple_of(4), 0);
    let length = word(big, padded.len() as u32 + 12);
    [&word(big, kind)[..], &length, &padded, &length].concat()
}

fn section(big: bool) -> Vec<u8> {
    let body = [&word(big, 0x1a2b_3c4d)[..], &half(big, 1), &half(big, 0), &[0xff; 8]].concat();
    block(big, 0x0a0d_0d0a, &body)
}

/// An interface with a timestamp resolution of 10^-`digits` s.
fn interface(big: bool, link_type: u16, digits: u8) -> Vec<u8> {
    let options = [&half(big, 9)[..], &half(big, 1), &[digits, 0, 0, 0], &[0; 4]].concat();
    block(big, 1, &[&half(big, link_type)[..], &[0, 0], &word(big, 65535), &options].concat())
}

fn enhanced(big: bool, which: u32, units: u64, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    let head = [which, (units >> 32) as u32, units as u32, length, length].map(|n| word(big, n)).concat();
    block(big, 6, &[head, bytes.to_vec()].concat())
}

/// Two sections with different resolutions, and a block of unknown type between them.
fn new(big: bool) -> Vec<u8> {
    let [first, second, third] = <[_; 3]>::try_from(sample()).unwrap();
    let micros = |at: u64| (START + at) / 1000;
    [
        section(big),
        interface(big, 1, 6),
        enhanced(big, 0, micros(first.0), &first.1),
        block(big, 0x0000_0bad, &[1; 20]),
        section(big),
        interface(big, 1, 6),
        interface(big, 1, 9),
        enhanced(big, 1, START + second.0, &second.1),
        enhanced(big, 0, micros(third.0), &third.1),
    ]
    .concat()
}

#[test]
fn every_dialect_reads_the_same() {
    for big in [false, true] {
        for nanos in [false, true] {
            assert_eq!(packets_of(&old(big, nanos)), sample(), "pcap, {big} {nanos}");
        }
        assert_eq!(packets_of(&new(big)), sample(), "pcapng, {big}");
    }
    assert_eq!(packets_of(&pcap(&sample())), sample(), "our own");
}

/// Five packets 1 ms apart, timestamped in units of 10^-n s or, with the high bit of the code set, 2^-n s.
#[test]
fn every_resolution_gives_the_same_times() {
    for code in [3, 6, 7, 9, 12, 0x80 | 10, 0x80 | 20, 0x80 | 30] {
        let units = if code & 0x80 == 0 { 10_u128.pow(code.into()) } else { 1 << (code & 0x7f) };
        let stamp = |i: u128| (u128::from(START) + i * 1_000_000) * units / 1_000_000_000;
        // Picoseconds since 1970 exceed the 64 bits of a timestamp, so the finest clock starts later.
        let base = if code == 12 { u128::from(START) / 1_000 * units / 1_000_000 } else { 0 };
        let packets =
            (0..5).flat_map(|i| enhanced(false, 0, u64::try_from(stamp(i) - base).unwrap(), &packet(1, 60, 0)));
        let file: Vec<u8> = [section(false), interface(false, 1, code)].concat().into_iter().chain(packets).collect();
        let (replayed, ..) = run(&file, &link("fifo", "{}")).unwrap();
        // From the first arrival to the end of the last transmission, 60 bytes at 8 Mbit/s; 2^-10 s are 0.98 ms.
        let ms = replayed.window.span().as_millis_f64();
        assert!((ms - 4.06).abs() < 1.0, "{code:#x}: {ms} ms");
        if code != 0x80 | 10 {
            assert!((ms - 4.06).abs() < 0.002, "{code:#x}: {ms} ms");
        }
    }
    let file = [section(false), interface(false, 1, 0x80 | 127), enhanced(false, 0, 1, &[0; 40])].concat();
    let told = refused(&file).to_string();
    assert!(told.contains("2^-127"), "{told}");
}

/// The Packet Block of early drafts: 16-bit interface and drop count, then as the Enhanced Packet Block.
fn obsolete(big: bool, which: u16, units: u64, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    let words = [(units >> 32) as u32, units as u32, length, length].map(|n| word(big, n)).concat();
    block(big, 2, &[half(big, which).to_vec(), half(big, 0).to_vec(), words, bytes.to_vec()].concat())
}

#[test]
fn obsolete_blocks_are_packets_and_unknown_ones_are_counted() {
    for big in [false, true] {
        let at = |i: u64| (START + i * 1_000_000) / 1000;
        let blocks = (0..10).map(|i| {
            let make = if i % 2 == 0 {
                obsolete(big, 0, at(i), &packet(1, 61, 0))
            } else {
                enhanced(big, 0, at(i), &packet(1, 61, 0))
            };
            [make, block(big, 0x0000_0bad, &[1; 20])].concat()
        });
        let file = [section(big), interface(big, 1, 6)].into_iter().chain(blocks).collect::<Vec<_>>().concat();
        let (replayed, fates, _) = run(&file, &link("fifo", "{}")).unwrap();
        assert_eq!((fates.len(), replayed.damage.clone()), (10, None), "{big}");
    }
}

/// Pseudo-headers of captures on device `any` are not on the wire: lengths equal those with Ethernet.
#[test]
fn a_pseudo_header_counts_as_the_header_that_it_stands_for() {
    let ethernet = packet(1, 100, 0);
    let cooked = [&[0, 4, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0, 8, 0][..], &ethernet[14..]].concat();
    let cooked2 = [&[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 2, 2, 2, 2, 2, 0, 0][..], &ethernet[14..]].concat();
    let loopback = [&[2, 0, 0, 0][..], &ethernet[14..]].concat();
    for (link_type, bytes) in [(1, ethernet), (113, cooked), (276, cooked2), (0, loopback)] {
        let blocks = (0..4).flat_map(|i| enhanced(false, 0, (START + i) / 1000, &bytes));
        let file: Vec<u8> =
            [section(false), interface(false, link_type, 6)].concat().into_iter().chain(blocks).collect();
        let (replayed, _, out) = run(&file, &link("fifo", "{}")).unwrap();
        assert_eq!(replayed.window.total.offered_bytes, 400, "link type {link_type}");
        assert_eq!(packets_of(&out)[0].1, bytes, "and is written as it was read");
    }
}

#[test]
fn a_file_without_packets_is_a_capture() {
    let (replayed, fates, out) = run(&old(false, false)[..24], &link("red", "{}")).unwrap();
    assert_eq!((replayed.window.total.offered_packets, fates.len(), replayed.damage), (0, 0, None));
    assert_eq!(packets_of(&out), []);
}

#[test]
fn a_file_that_is_cut_off_is_replayed_as_far_as_it_goes() {
    for (file, first) in [(old(false, true), 24), (new(false), 28)] {
        for end in first..file.len() {
            let (replayed, fates, _) = run(&file[..end], &link("fifo", "{}")).unwrap();
            assert!(fates.len() <= 3);
            if let Some(damage) = replayed.damage {
                assert!(damage.offset < end as u64 && damage.what.contains("ends in the middle"), "{damage:?}");
                // Everything before the damage reads the same.
                let (again, same, _) = run(&file[..damage.offset as usize], &link("fifo", "{}")).unwrap();
                assert_eq!((again.damage, same), (None, fates));
            }
        }
    }
}

#[test]
fn damage_is_told_with_its_place() {
    let mut file = old(false, true);
    let second = 24 + 16 + 60;
    file[second + 8..second + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (replayed, fates, _) = run(&file, &link("fifo", "{}")).unwrap();
    assert_eq!((fates.len(), replayed.damage.unwrap().offset), (1, second as u64));
}

#[test]
fn zeros_are_no_packets() {
    let file = [old(false, true), vec![0; 1 << 20]].concat();
    let (replayed, fates, _) = run(&file, &link("fifo", "{}")).unwrap();
    let damage = replayed.damage.unwrap();
    assert_eq!((fates.len(), damage.offset), (3, old(false, true).len() as u64));
    assert!(damage.what.contains("zero bytes"), "{damage:?}");
}

#[test]
fn what_follows_the_last_packet_must_be_a_block() {
    let file = [new(false), vec![0x55; 40]].concat();
    let (replayed, fates, _) = run(&file, &link("fifo", "{}")).unwrap();
    assert_eq!((fates.len(), replayed.damage.unwrap().offset), (3, new(false).len() as u64));
}

#[track_caller]
fn refused(file: &[u8]) -> CaptureError {
    match run(file, &link("fifo", "{}")) {
        Err(ReplayError::Stopped(Wrong::Capture(error))) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_capture_is_refused() {
    assert!(matches!(refused(&[]), CaptureError::Empty));
    assert!(matches!(refused(b"GET / HTTP/1.0\r\n\r\nand more than a header"), CaptureError::NotACapture));
    assert!(matches!(refused(&old(false, false)[..20]), CaptureError::NotACapture));
    let wlan = [section(false), interface(false, 105, 6), enhanced(false, 0, 1, &[0; 40])].concat();
    assert!(matches!(refused(&wlan), CaptureError::LinkType { number: 1, link_type: 105 }));
    let astray =
        [section(false), interface(false, 1, 6), enhanced(false, 0, 1, &[0; 40]), enhanced(false, 5, 1, &[0; 40])];
    let told = refused(&astray.concat()).to_string();
    assert_eq!(told, "packet 2 is from interface 5, but only 1 described before it");
    let bare = [section(false), enhanced(false, 0, 1, &[0; 40])].concat();
    assert!(matches!(refused(&bare), CaptureError::NoInterface { number: 1, interface: 0, described: 0 }));
    let simple =
        [section(false), interface(false, 1, 6), block(false, 3, &[[60, 0, 0, 0].to_vec(), vec![0; 60]].concat())];
    assert!(matches!(refused(&simple.concat()), CaptureError::NoTime { number: 1 }));
    let many = [section(false), interface(false, 1, 6).repeat((1 << 16) + 1)].concat();
    assert!(matches!(refused(&many), CaptureError::Interfaces));
}

#[test]
fn one_file_cannot_hold_two_kinds_of_links() {
    let ip = packet(1, 60, 0)[14..].to_vec();
    let file = [
        section(false),
        interface(false, 1, 6),
        interface(false, 101, 6),
        enhanced(false, 0, 1, &packet(1, 60, 0)),
        enhanced(false, 1, 1, &ip),
    ];
    let error = run(&file.concat(), &link("fifo", "{}")).unwrap_err();
    let ReplayError::Stopped(Wrong::Output(error)) = error else { panic!("{error:?}") };
    assert!(error.to_string().ends_with("the capture has 1 and 101"), "{error}");
}

proptest! {
    #[test]
    fn any_change_of_a_file_is_survived(at: prop::sample::Index, value: u8, which in 0_usize..3) {
        let mut file = [old(true, false), new(true), new(false)][which].clone();
        let at = at.index(file.len());
        file[at] = value;
        let _ = run(&file, &link("codel", "{}"));
    }
}
