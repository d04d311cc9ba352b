//! Nested links: packets of the innermost client cross them all.

use std::io::{Read, Write};

use super::*;

/// Opens a link nested in another link's client namespace.
fn within(outer: &Link, rate: BitRate) -> Link {
    let setup = setup(rate, Duration::from_millis(1), "fifo");
    outer.client.namespace.inside(|| Ok(Link::open_within(&setup))).unwrap().unwrap()
}

/// Whether a link's client and another link's server reach each other.
fn reaches(client: &Link, server: &Link, family: usize) -> bool {
    let at = SocketAddr::new(server.addresses.server[family], 0);
    let listener = server.server.namespace.inside(|| TcpListener::bind(at)).unwrap();
    let to = listener.local_addr().unwrap();
    let patience = std::time::Duration::from_secs(20);
    let Ok(mut near) = client.client.namespace.inside(|| TcpStream::connect_timeout(&to, patience)) else {
        return false;
    };
    let mut far = listener.accept().unwrap().0;
    far.write_all(b"there").unwrap();
    let mut text = [0; 5];
    near.read_exact(&mut text).is_ok() && text == *b"there"
}

#[test]
fn four_links_stand_in_a_row_and_two_side_by_side() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let first = Link::open(&setup(BitRate::from_mbps(10), Duration::from_millis(1), "fifo")).unwrap();
    let second = within(&first, BitRate::from_mbps(20));
    let beside = within(&first, BitRate::from_mbps(20));
    let third = within(&second, BitRate::from_mbps(30));
    let third_beside = within(&beside, BitRate::from_mbps(30));
    let fourth = within(&third, BitRate::from_mbps(40));
    for family in [0, 1] {
        for inner in [&second, &beside, &third, &third_beside, &fourth] {
            assert!(reaches(inner, &first, family), "{:?} does not reach the outermost", inner.addresses);
        }
        assert!(reaches(&fourth, &second, family) && reaches(&fourth, &third, family));
    }
    let (measured, _) = first.close().unwrap();
    assert!(measured.directions.iter().all(|(_, windows)| windows[0].total.sent_packets > 0));
}
