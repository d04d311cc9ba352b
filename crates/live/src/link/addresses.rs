//! Addressing and routing of links.
//!
//! `N` is 0 for the outermost link. A link inside link `N` gets a number from the block of `N`, which starts at `N` and
//! has the size of the lowest set bit of `N`, or 256 for 0. The first nested link takes the upper half of the block,
//! the next one the upper half of the rest, and so on. A single route per address family, to the link's block,
//! therefore reaches all links nested in it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_route::AddressFamily;

use crate::netlink::{Destination, Netlink};

/// The addresses of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Addresses {
    /// IPv4 and IPv6 address of the server's side.
    pub server: [IpAddr; 2],
    /// IPv4 and IPv6 address of the client's side.
    pub client: [IpAddr; 2],
}

impl Addresses {
    /// The addresses of link `n`.
    #[must_use]
    pub fn of(n: u8) -> Self {
        Addresses { server: addresses_of(n, SERVER), client: addresses_of(n, CLIENT) }
    }
}

/// Host part of the addresses of the server's side and the client's side.
const SERVER: u8 = 1;
const CLIENT: u8 = 2;

/// The IPv4 and IPv6 address of host part `host` on link `n`, from the benchmarking block 198.18.0.0/15 (RFC 2544) and
/// a unique local prefix (RFC 4193).
pub(super) fn addresses_of(n: u8, host: u8) -> [IpAddr; 2] {
    let v4 = Ipv4Addr::new(198, 18, n, host);
    let v6 = Ipv6Addr::new(0xfd61, 0x716d, 0x6b69, n.into(), 0, 0, 0, host.into());
    [v4.into(), v6.into()]
}

/// The number of the next link in the calling thread's namespace.
pub(super) fn free_number() -> io::Result<u8> {
    let here = Netlink::open()?.addresses()?;
    let ends: Vec<(u8, u8)> = here
        .iter()
        .filter_map(|ip| match ip {
            IpAddr::V4(v4) if v4.octets()[..2] == [198, 18] => Some((v4.octets()[2], v4.octets()[3])),
            _ => None,
        })
        .collect();
    let of = |host| ends.iter().filter(move |(_, h)| *h == host).map(|(number, _)| *number);
    let within = of(CLIENT).next();
    next_number(within, &of(SERVER).collect::<Vec<_>>()).ok_or_else(|| {
        io::Error::other("no more links are possible here: at most nine nested, and at most eight in parallel")
    })
}

/// The number of the next link inside link `within`, given the numbers in use.
fn next_number(within: Option<u8>, taken: &[u8]) -> Option<u8> {
    let Some(outer) = within else { return (!taken.contains(&0)).then_some(0) };
    // The largest free half of its block.
    let halves = (0..outer.trailing_zeros()).rev().map(|bit| outer + (1 << bit));
    halves.into_iter().find(|number| !taken.contains(number))
}

/// The networks reachable through a device, besides its peer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Behind {
    /// The default route.
    Everything,
    /// The block of link `N`: all links nested in it.
    Block(u8),
}

impl Behind {
    /// The route's destination, in the address family of `of`.
    pub(super) fn destination(self, of: IpAddr) -> Destination {
        match (self, of) {
            (Behind::Everything, IpAddr::V4(_)) => Destination::Everything(AddressFamily::Inet),
            (Behind::Everything, IpAddr::V6(_)) => Destination::Everything(AddressFamily::Inet6),
            (Behind::Block(number), _) => {
                let [v4, v6] = addresses_of(number, 0);
                // A block's size is the lowest set bit of its number.
                let free = number.trailing_zeros() as u8;
                if of.is_ipv4() { Destination::Network(v4, 24 - free) } else { Destination::Network(v6, 64 - free) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_within_links_have_blocks_of_their_own() {
        assert_eq!(next_number(None, &[]), Some(0));
        assert_eq!(next_number(None, &[0]), None);
        let row: Vec<u8> = std::iter::successors(Some(0), |n| next_number(Some(*n), &[])).collect();
        assert_eq!(row, [0, 128, 192, 224, 240, 248, 252, 254, 255]);
        let mut beside = Vec::new();
        while let Some(next) = next_number(Some(128), &beside) {
            beside.push(next);
        }
        assert_eq!(beside, [192, 160, 144, 136, 132, 130, 129]);
        assert_eq!(next_number(Some(128), &[192, 144]), Some(160), "a place that became free is used again");
        let block = |n| Behind::Block(n).destination(addresses_of(n, SERVER)[0]);
        assert_eq!(block(160), Destination::Network(Ipv4Addr::new(198, 18, 160, 0).into(), 19), "160 to 191");
        let v6 = Behind::Block(129).destination(addresses_of(129, SERVER)[1]);
        assert_eq!(v6, Destination::Network("fd61:716d:6b69:81::".parse().unwrap(), 64));
    }
}
