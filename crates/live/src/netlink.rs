//! Interfaces, addresses and routes of the calling thread's network namespace, over rtnetlink.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Receive buffer in bytes; the kernel's dump replies are at most 32 KiB.
const ANSWER: usize = 64 * 1024;

/// An interface as reported by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// ifindex.
    pub index: u32,
    /// Interface name, such as `eth0`.
    pub name: String,
    /// MTU in bytes.
    pub mtu: u32,
    /// Packets transmitted.
    pub tx_packets: u64,
    /// Packets that the kernel dropped on transmit.
    pub tx_dropped: u64,
    /// The kind of its root qdisc.
    pub qdisc: String,
    /// ifindex of the bridge it is a port of (`IFLA_MASTER`); zero for none.
    pub controller: u32,
}

/// An rtnetlink socket in one network namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When the socket cannot be created.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// All interfaces of the namespace.
    ///
    /// # Errors
    /// When the request fails.
    pub fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        let answers = self.ask(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP)?;
        let links = answers.into_iter().filter_map(|m| match m {
            RouteNetlinkMessage::NewLink(link) => Some(interface(&link)),
            _ => None,
        });
        Ok(links.collect())
    }

    /// Looks up an interface by name.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn interface(&mut self, name: &str) -> io::Result<Interface> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("no interface is called {name}"));
        let mut asked = LinkMessage::default();
        asked.attributes.push(LinkAttribute::IfName(name.to_owned()));
        let answers = self.ask(RouteNetlinkMessage::GetLink(asked), NLM_F_ACK).map_err(|e| match e.raw_os_error() {
            Some(libc::ENODEV | libc::ERANGE | libc::EINVAL) => missing(),
            _ => e,
        })?;
        let found = answers.into_iter().find_map(|m| match m {
            RouteNetlinkMessage::NewLink(link) => Some(interface(&link)),
            _ => None,
        });
        found.ok_or_else(missing)
    }

    /// All addresses of the namespace.
    ///
    /// # Errors
    /// When the request fails.
    pub fn addresses(&mut self) -> io::Result<Vec<IpAddr>> {
        Ok(self.addresses_by_interface()?.into_iter().map(|(_, ip)| ip).collect())
    }

    /// The addresses of one interface.
    ///
    /// # Errors
    /// When the request fails.
    pub fn addresses_of(&mut self, index: u32) -> io::Result<Vec<IpAddr>> {
        let all = self.addresses_by_interface()?;
        Ok(all.into_iter().filter(|(of, _)| *of == index).map(|(_, ip)| ip).collect())
    }

    /// Every address with its ifindex.
    fn addresses_by_interface(&mut self) -> io::Result<Vec<(u32, IpAddr)>> {
        let answers = self.ask(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)?;
        let own = answers.into_iter().filter_map(|m| match m {
            RouteNetlinkMessage::NewAddress(address) => {
                let index = address.header.index;
                let ip = address.attributes.into_iter().find_map(|a| match a {
                    AddressAttribute::Local(ip) => Some(ip),
                    AddressAttribute::Address(ip) if ip.is_ipv6() => Some(ip),
                    _ => None,
                });
                ip.map(|ip| (index, ip))
            }
            _ => None,
        });
        Ok(own.collect())
    }

    /// Sets an interface up, optionally with an MTU and a `txqueuelen`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn set_up(&mut self, index: u32, mtu: Option<u32>, queue: Option<u32>) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        link.attributes.extend(mtu.map(LinkAttribute::Mtu));
        link.attributes.extend(queue.map(LinkAttribute::TxQueueLen));
        self.ask(RouteNetlinkMessage::SetLink(link), NLM_F_ACK).map(|_| ())
    }

    /// Creates a `veth` pair, the second device in the network namespace of the file `other`.
    ///
    /// # Errors
    /// When the kernel refuses, or has no veth.
    pub fn add_pair(&mut self, names: [&str; 2], other: BorrowedFd<'_>) -> io::Result<()> {
        let [mut here, mut there] = names.map(|name| {
            let mut link = LinkMessage::default();
            link.attributes.push(LinkAttribute::IfName(name.to_owned()));
            link
        });
        there.attributes.push(LinkAttribute::NetNsFd(other.as_raw_fd()));
        let peer = LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(there)));
        here.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), peer]));
        self.ask(RouteNetlinkMessage::NewLink(here), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(|_| ())
    }

    /// Creates a bridge device that floods multicast to all ports.
    ///
    /// # Errors
    /// When the kernel refuses, or has no bridge.
    pub fn add_bridge(&mut self, name: &str) -> io::Result<()> {
        let mut link = LinkMessage::default();
        let data = LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::MulticastSnooping(false)]));
        link.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge), data]),
        ];
        self.ask(RouteNetlinkMessage::NewLink(link), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(|_| ())
    }

    /// Enslaves an interface to a bridge.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn set_controller(&mut self, index: u32, bridge: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes = vec![LinkAttribute::Controller(bridge)];
        self.ask(RouteNetlinkMessage::SetLink(link), NLM_F_ACK).map(|_| ())
    }

    /// Deletes an interface.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn delete(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        self.ask(RouteNetlinkMessage::DelLink(link), NLM_F_ACK).map(|_| ())
    }

    /// Adds the address `local` to an interface, with `peer` at the far end.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add_address(&mut self, index: u32, local: IpAddr, peer: IpAddr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.index = index;
        message.header.family = family(local);
        message.header.prefix_len = bits(local);
        message.attributes = vec![AddressAttribute::Local(local), AddressAttribute::Address(peer)];
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL).map(|_| ())
    }

    /// Adds a route through an interface. Connections over it use the congestion control `cc`, if given.
    ///
    /// # Errors
    /// When the kernel refuses; `NotFound` if it lacks the congestion control.
    pub fn add_route(&mut self, index: u32, to: Destination, cc: Option<&str>) -> io::Result<()> {
        self.add_route_by(index, to, None, cc)
    }

    /// As [`Netlink::add_route`], optionally via a gateway on the interface's link.
    ///
    /// # Errors
    /// As [`Netlink::add_route`].
    pub fn add_route_by(
        &mut self,
        index: u32,
        to: Destination,
        router: Option<IpAddr>,
        cc: Option<&str>,
    ) -> io::Result<()> {
        let (family_of, prefix, attribute) = match to {
            Destination::Everything(AddressFamily::Inet6) => (AddressFamily::Inet6, 0, None),
            Destination::Everything(f) => (f, 0, None),
            Destination::Host(ip) => (family(ip), bits(ip), Some(RouteAttribute::Destination(ip.into()))),
            Destination::Network(ip, bits) => (family(ip), bits, Some(RouteAttribute::Destination(ip.into()))),
        };
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family_of,
            destination_prefix_length: prefix,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: match (family_of, router) {
                (AddressFamily::Inet, None) => RouteScope::Link,
                _ => RouteScope::Universe,
            },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![RouteAttribute::Oif(index)];
        message.attributes.extend(attribute);
        message.attributes.extend(router.map(|address| RouteAttribute::Gateway(address.into())));
        if let Some(name) = cc {
            message.attributes.push(RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(name.to_owned())]));
        }
        self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE).map(|_| ())
    }

    /// Sends a request and collects the replies.
    pub(crate) fn ask(&mut self, request: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        let bytes = self.message(request, flags);
        self.socket.send(&bytes, 0)?;
        let mut answers = Vec::new();
        while !self.receive(self.sequence, &mut answers)? {}
        Ok(answers)
    }

    /// Sends several requests in one system call, so that no signal can end the process between them. If one fails, the
    /// kernel still processes the others.
    ///
    /// # Errors
    /// The error of the first request that failed.
    pub(crate) fn change(&mut self, requests: Vec<(RouteNetlinkMessage, u16)>) -> io::Result<()> {
        let first = self.sequence + 1;
        let all: Vec<u8> = requests.into_iter().flat_map(|(r, flags)| self.message(r, flags | NLM_F_ACK)).collect();
        self.socket.send(&all, 0)?;
        let mut done = Ok(());
        for sequence in first..=self.sequence {
            let acknowledged = loop {
                match self.receive(sequence, &mut Vec::new()) {
                    Ok(false) => {}
                    Ok(true) => break Ok(()),
                    Err(e) => break Err(e),
                }
            };
            done = done.and(acknowledged);
        }
        done
    }

    /// Encodes a request with the next sequence number.
    fn message(&mut self, request: RouteNetlinkMessage, flags: u16) -> Vec<u8> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len().next_multiple_of(4)];
        message.serialize(&mut bytes);
        bytes
    }

    /// Reads one datagram of the reply to request `sequence`; returns true at its end. The kernel answers each request
    /// in separate datagrams.
    fn receive(&self, sequence: u32, answers: &mut Vec<RouteNetlinkMessage>) -> io::Result<bool> {
        let mut buffer = Vec::with_capacity(ANSWER);
        self.socket.recv(&mut buffer, 0)?;
        let mut rest = &buffer[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
            let length = (message.header.length as usize).next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
            if message.header.sequence_number != sequence {
                continue;
            }
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(e) if e.code.is_none() => return Ok(true),
                NetlinkPayload::Error(e) => return Err(e.to_io()),
                NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                _ => {}
            }
        }
        Ok(false)
    }
}

/// The destination of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The default route of an address family.
    Everything(AddressFamily),
    /// A single address.
    Host(IpAddr),
    /// A prefix: address and length in bits.
    Network(IpAddr, u8),
}

fn interface(link: &LinkMessage) -> Interface {
    let mut found = Interface { index: link.header.index, ..Interface::default() };
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => found.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => found.mtu = *mtu,
            LinkAttribute::Qdisc(name) => found.qdisc.clone_from(name),
            LinkAttribute::Controller(index) => found.controller = *index,
            LinkAttribute::Stats64(stats) => {
                (found.tx_packets, found.tx_dropped) = (stats.tx_packets, stats.tx_dropped);
            }
            _ => {}
        }
    }
    found
}

fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn bits(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_namespace_has_a_loopback() {
        let mut netlink = Netlink::open().unwrap();
        let lo = netlink.interface("lo").unwrap();
        assert_eq!((lo.name.as_str(), lo.index), ("lo", 1));
        assert!(netlink.interface("no such device").is_err());
    }
}
