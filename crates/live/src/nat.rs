//! Access from a link to other networks: an nftables table that masquerades the links' addresses.
//!
//! The table is owned by the netlink socket that created it (`NFT_TABLE_F_OWNER`, Linux 5.12): no other process can
//! change it, and the kernel removes it with the socket when the process ends for any reason. Constants are those of
//! `linux/netfilter/nf_tables.h`.

use std::io;

use netlink_sys::{Socket, SocketAddr};

const NETLINK_NETFILTER: isize = 12;
const SUBSYSTEM: u16 = 10;

const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;

const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;

const NESTED: u16 = 0x8000;
const TABLE_OWNED: u32 = 2;
const POST_ROUTING: u32 = 4;
/// `NF_IP_PRI_NAT_SRC`.
const SOURCE_TRANSLATION: u32 = 100;
const NETWORK_HEADER: u32 = 1;
const REGISTER: u32 = 1;
const EQUAL: u32 = 0;

/// The chain's name, and the prefix of the table's, which ends with the process id.
const NAME: &str = "aqmkit";

/// An address family, the offset of the source address in its header, and the links' prefix.
struct Family {
    number: u8,
    source: u32,
    links: &'static [u8],
}

const FAMILIES: [Family; 2] = [
    Family { number: libc::AF_INET as u8, source: 12, links: &[198, 18] },
    Family { number: libc::AF_INET6 as u8, source: 8, links: &[0xfd, 0x61, 0x71, 0x6d, 0x6b, 0x69] },
];

/// Masquerades the links' addresses until dropped.
#[derive(Debug)]
pub struct Nat {
    _socket: Socket,
}

impl Nat {
    /// Starts masquerading in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When the kernel lacks support, or `CAP_NET_ADMIN` is missing.
    pub fn open() -> io::Result<Nat> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        for family in FAMILIES {
            match transact(&socket, &family) {
                // A kernel without IPv6 masquerades IPv4 only.
                Err(_) if family.number == libc::AF_INET6 as u8 => {}
                result => result?,
            }
        }
        Ok(Nat { _socket: socket })
    }
}

/// Creates a family's table, chain and rule in one transaction.
fn transact(socket: &Socket, family: &Family) -> io::Result<()> {
    let table = text(&format!("{NAME}-{}", std::process::id()));
    let chain = text(NAME);
    let hook = [attribute(1, &word(POST_ROUTING)), attribute(2, &word(SOURCE_TRANSLATION))].concat();
    let load = [(1, REGISTER), (2, NETWORK_HEADER), (3, family.source), (4, family.links.len() as u32)];
    let load = load.map(|(kind, value)| attribute(kind, &word(value))).concat();
    let value = attribute(3 | NESTED, &attribute(1, family.links));
    let compare = [attribute(1, &word(REGISTER)), attribute(2, &word(EQUAL)), value].concat();
    let expressions = [expression("payload", &load), expression("cmp", &compare), expression("masq", &[])].concat();
    let number = family.number;
    let messages = [
        message(BATCH_BEGIN, REQUEST, 0, SUBSYSTEM, &[]),
        message(
            NEW_TABLE,
            REQUEST | ACK | CREATE,
            number,
            0,
            &[attribute(1, &table), attribute(2, &word(TABLE_OWNED))],
        ),
        message(
            NEW_CHAIN,
            REQUEST | ACK | CREATE,
            number,
            0,
            &[attribute(1, &table), attribute(3, &chain), attribute(4 | NESTED, &hook), attribute(7, &text("nat"))],
        ),
        message(
            NEW_RULE,
            REQUEST | ACK | CREATE | APPEND,
            number,
            0,
            &[attribute(1, &table), attribute(2, &chain), attribute(4 | NESTED, &expressions)],
        ),
        message(BATCH_END, REQUEST, 0, SUBSYSTEM, &[]),
    ];
    socket.send(&messages.concat(), 0)?;
    let mut acknowledged = 0;
    while acknowledged < 3 {
        acknowledged += answers(&socket.recv_from_full()?.0)?;
    }
    Ok(())
}

/// Counts the acknowledged messages in a reply.
fn answers(mut answer: &[u8]) -> io::Result<usize> {
    const HEADER: usize = 16;
    let mut many = 0;
    while let Some((length, rest)) = answer.split_first_chunk::<4>() {
        let length = (u32::from_ne_bytes(*length) as usize).max(HEADER);
        // `nlmsgerr.error` comes first in every reply that has one.
        let error = rest.get(HEADER - 4..).and_then(|b| b.first_chunk::<4>()).map_or(0, |b| i32::from_ne_bytes(*b));
        if error < 0 {
            return Err(io::Error::from_raw_os_error(-error));
        }
        many += 1;
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(many)
}

fn message(kind: u16, flags: u16, family: u8, resource: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
    const HEADERS: usize = 20;
    let body = attributes.concat();
    let mut bytes = ((HEADERS + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend([kind, flags].map(u16::to_ne_bytes).concat());
    // `nlmsg_seq` and `nlmsg_pid` are unused: replies on this socket arrive in order.
    bytes.extend([0; 8]);
    bytes.extend([family, 0]);
    bytes.extend(resource.to_be_bytes());
    bytes.extend(body);
    bytes
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = [(length as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

fn expression(name: &str, data: &[u8]) -> Vec<u8> {
    attribute(1 | NESTED, &[attribute(1, &text(name)), attribute(2 | NESTED, data)].concat())
}

fn word(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

/// A zero-terminated string.
fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}
