//! Parses the acknowledgement of a TCP segment.

use aqmkit_aqm::Ack;
use etherparse::{TcpHeaderSlice, TcpOptionElement};

use super::network::transport;

/// The acknowledgement in an IP packet, if it is a complete TCP segment without SYN. Its connection is left zero,
/// because that depends on the flow key's salt.
pub(super) fn read(packet: &[u8]) -> Option<Ack> {
    let (start, protocol) = transport(packet)?;
    if protocol != 6 {
        return None;
    }
    let segment = packet.get(start..)?;
    let tcp = TcpHeaderSlice::from_slice(segment).ok()?;
    if !tcp.ack() || tcp.syn() {
        return None;
    }
    let number = tcp.acknowledgment_number();
    let (mut pure, mut sack_end) = (true, number);
    let after = |a: u32, b: u32| (a.wrapping_sub(b) as i32) > 0;
    for option in tcp.options_iterator() {
        match option {
            Ok(TcpOptionElement::Noop | TcpOptionElement::Timestamp(..)) => {}
            Ok(TcpOptionElement::SelectiveAcknowledgement(first, others)) => {
                for (begin, end) in std::iter::once(first).chain(others.into_iter().flatten()) {
                    // D-SACK: a block below the cumulative ACK reports a duplicate (RFC 2883).
                    pure &= !after(number, begin);
                    sack_end = if after(end, sack_end) { end } else { sack_end };
                }
            }
            // Unknown options, or options sent only once.
            _ => pure = false,
        }
    }
    let other_flags = tcp.fin() || tcp.rst() || tcp.psh() || tcp.urg();
    let empty = segment.len() == tcp.slice().len();
    let marks = u8::from(tcp.ece()) | u8::from(tcp.cwr()) << 1 | u8::from(tcp.ns()) << 2;
    Some(Ack { connection: 0, number, sack_end, pure: pure && empty && !other_flags, marks })
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, TcpOptionElement::*};

    use super::*;

    fn packet(change: impl FnOnce(&mut etherparse::TcpHeader), data: &[u8]) -> Vec<u8> {
        let mut tcp = etherparse::TcpHeader::new(80, 5000, 1, 1000);
        (tcp.ack, tcp.acknowledgment_number) = (true, 7000);
        change(&mut tcp);
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp_header(tcp).write(&mut bytes, data).unwrap();
        bytes
    }

    #[test]
    fn a_bare_acknowledgement_is_pure() {
        let bare = Ack { connection: 0, number: 7000, sack_end: 7000, pure: true, marks: 0 };
        assert_eq!(read(&packet(|_| {}, &[])), Some(bare));
        assert_eq!(read(&packet(|tcp| tcp.set_options(&[Noop, Noop, Timestamp(5, 6)]).unwrap(), &[])), Some(bare));
        assert_eq!(read(&packet(|tcp| tcp.ece = true, &[])), Some(Ack { marks: 1, ..bare }));
        let blocks = |tcp: &mut etherparse::TcpHeader| {
            tcp.set_options(&[SelectiveAcknowledgement((8000, 9000), [Some((9500, 9900)), None, None])]).unwrap();
        };
        assert_eq!(read(&packet(blocks, &[])), Some(Ack { sack_end: 9900, ..bare }));
    }

    #[test]
    fn what_says_more_is_not() {
        let pure = |bytes: &[u8]| read(bytes).map(|ack| ack.pure);
        assert_eq!(pure(&packet(|_| {}, &[1])), Some(false), "data");
        assert_eq!(pure(&packet(|tcp| tcp.fin = true, &[])), Some(false));
        assert_eq!(pure(&packet(|tcp| tcp.set_options(&[WindowScale(2)]).unwrap(), &[])), Some(false));
        let twice = |tcp: &mut etherparse::TcpHeader| {
            tcp.set_options(&[SelectiveAcknowledgement((5000, 6000), [None, None, None])]).unwrap();
        };
        assert_eq!(pure(&packet(twice, &[])), Some(false), "a report of duplicates");
        assert_eq!(read(&packet(|tcp| tcp.syn = true, &[])), None);
        assert_eq!(read(&packet(|tcp| tcp.ack = false, &[])), None);
        let whole = packet(|_| {}, &[]);
        assert_eq!(read(&whole[..whole.len() - 1]), None, "cut off");
    }
}
