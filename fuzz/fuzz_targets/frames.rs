//! Any bytes are a frame: it can be read and marked, and a mark changes nothing else.

#![no_main]

use aqmkit_packets::wire::{Classes, Encapsulation, View, checksum, mark_ce};
use libfuzzer_sys::fuzz_target;

const KINDS: [Encapsulation; 5] = [
    Encapsulation::Ethernet,
    Encapsulation::Ip,
    Encapsulation::Loopback,
    Encapsulation::LinuxSll,
    Encapsulation::LinuxSll2,
];

fuzz_target!(|data: &[u8]| {
    let Some((which, frame)) = data.split_first() else { return };
    let kind = KINDS[usize::from(*which) % KINDS.len()];
    let view = View::of(kind, frame);
    let _ = (Classes::default().of(&view), view.flow.key(1), view.flow.to_string());
    let Some(network) = view.network else {
        assert!(!view.ecn.is_capable());
        return;
    };
    let mut marked = frame.to_vec();
    assert_eq!(mark_ce(&mut marked, network), view.ecn.is_capable());
    let changed = marked.iter().zip(frame).filter(|(a, b)| a != b).count();
    assert!(marked.len() == frame.len() && changed <= 3);
    let after = View::of(kind, &marked);
    assert_eq!((after.flow, after.network, after.dscp), (view.flow, view.network, view.dscp));
    let again = marked.clone();
    mark_ce(&mut marked, network);
    assert_eq!(marked, again, "a second mark changes nothing");
    if checksum::complete(&mut marked, network) {
        let done = marked.clone();
        checksum::complete_where_open(&mut marked, network);
        assert_eq!(marked, done, "a checksum that is there is left alone");
    }
});
