//! Live links as users see them. Tests are skipped, with a message, where network namespaces or TUN devices cannot be
//! created.

#![allow(unsafe_code, reason = "a test may make system calls")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and say why it was skipped")]
#![allow(clippy::disallowed_methods, reason = "real time passes in these tests")]

mod abuse;
mod outside;
mod row;
mod super_packets;
mod traffic;

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Duration};
use aqmkit_live::link::{Link, LinkSetup};
use aqmkit_live::netns::Netns;
use aqmkit_live::running::Threads;
use aqmkit_live::tun::Tun;
use aqmkit_packets::Setup;
use aqmkit_packets::wire::Classes;

/// Two threads in `link_two_threads.rs`, which includes the same tests.
fn threads() -> Threads {
    if env!("CARGO_CRATE_NAME").ends_with("two_threads") { Threads::Two } else { Threads::One }
}

/// One link at a time: they would compete for the CPU.
static ALONE: Mutex<()> = Mutex::new(());

/// Whether links can be created here.
fn ready() -> bool {
    let tried = Netns::create().and_then(|n| n.inside(|| Tun::create("aqmkit0")));
    if let Err(e) = &tried {
        eprintln!("skipped: network namespaces or TUN devices cannot be made here ({e})");
    }
    tried.is_ok()
}

fn setup(rate: BitRate, delay: Duration, aqm: &str) -> LinkSetup {
    let direction = |name| Setup::new(name, rate, delay, Spec::named(aqm).unwrap());
    LinkSetup {
        down: direction("down"),
        up: direction("up"),
        classes: Classes::default(),
        plan: None,
        on_demand: false,
        ecn: None,
        cc: None,
        mtu: 1500,
        outside: false,
        threads: threads(),
        in_kernel: None,
    }
}

/// Data without repetition, so that misplaced bytes are detected.
fn data(bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(8) as u64)
        .flat_map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i).to_le_bytes())
        .take(bytes)
        .collect()
}

/// A TCP connection over a link: the server's and the client's end.
fn connect(link: &Link, family: usize) -> (TcpStream, TcpStream) {
    let address: IpAddr = link.addresses.server[family];
    let listener = link.server.namespace.inside(|| TcpListener::bind(SocketAddr::new(address, 0))).unwrap();
    let to = listener.local_addr().unwrap();
    let client = link.client.namespace.inside(|| TcpStream::connect(to)).unwrap();
    (listener.accept().unwrap().0, client)
}
