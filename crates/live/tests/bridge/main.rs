//! Bridges between veth interfaces of separate namespaces. Tests are skipped, with a message, where those cannot be
//! created.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and say why it was skipped")]
#![allow(clippy::disallowed_methods, reason = "real time passes in these tests")]

mod control;
mod fail_open;
mod frames;
mod super_packets;
mod threads;
mod trouble;
mod xdp;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aqmkit_aqm::registry::Spec;
use aqmkit_base::BitRate;
use aqmkit_live::LiveError;
use aqmkit_live::bridge::{Bridge, BridgeSetup, Io};
use aqmkit_live::netns::{Netns, set_sysctl};
use aqmkit_live::offload::{OFFLOADS, OffloadLog, is_on, switch};
use aqmkit_live::running::Threads;
use aqmkit_packets::Setup;
use aqmkit_packets::wire::Classes;

/// Two threads in `bridge_two_threads.rs`, which includes the same tests.
fn threads() -> Threads {
    if env!("CARGO_CRATE_NAME").ends_with("two_threads") { Threads::Two } else { Threads::One }
}

/// One bridge at a time: they would compete for the CPU.
static ALONE: Mutex<()> = Mutex::new(());

/// `a0` in one namespace, `m1` and `m2` in the middle, `b0` in the third.
struct Place {
    a: Netns,
    middle: Netns,
    b: Netns,
    _alone: MutexGuard<'static, ()>,
}

/// Data without repetition, so that misplaced bytes are detected.
fn data(bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(8) as u64)
        .flat_map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i).to_le_bytes())
        .take(bytes)
        .collect()
}

/// Runs `ip` in a namespace.
fn ip(place: &Netns, line: &str) -> io::Result<String> {
    place.inside(|| {
        let out = Command::new("ip").args(line.split_whitespace()).output()?;
        match out.status.success() {
            true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
            false => Err(io::Error::other(format!("ip {line}: {}", String::from_utf8_lossy(&out.stderr)))),
        }
    })
}

impl Place {
    /// Creates the namespaces and interfaces; `None` where that is impossible.
    fn new() -> Option<Place> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let made = Place::make(alone);
        if let Err(e) = &made {
            eprintln!("skipped: namespaces with veth interfaces cannot be made here ({e})");
        }
        made.ok()
    }

    fn make(alone: MutexGuard<'static, ()>) -> io::Result<Place> {
        let place = Place { a: Netns::create()?, middle: Netns::create()?, b: Netns::create()?, _alone: alone };
        place.attach("m1", &place.a, "a0", 1)?;
        place.attach("m2", &place.b, "b0", 2)?;
        Ok(place)
    }

    /// Creates a veth pair `middle`, `outer`.
    fn attach(&self, middle: &str, side: &Netns, outer: &str, host: u8) -> io::Result<()> {
        self.attach_with(1, middle, side, outer, host)
    }

    /// As [`Place::attach`], with this number of queues per direction.
    fn attach_with(&self, queues: u32, middle: &str, side: &Netns, outer: &str, host: u8) -> io::Result<()> {
        let queued = |name: &str| format!("{name} numrxqueues {queues} numtxqueues {queues}");
        ip(&self.middle, &format!("link add {} type veth peer name {}", queued(middle), queued(outer)))?;
        ip(&self.middle, &format!("link set {outer} netns {}", side.path()))?;
        ip(&self.middle, &format!("link set {middle} up"))?;
        ip(side, &format!("addr add 10.9.0.{host}/24 dev {outer}"))?;
        ip(side, &format!("addr add fd09::{host}/64 dev {outer} nodad"))?;
        ip(side, &format!("link set {outer} up"))?;
        side.inside(|| {
            set_sysctl("net.ipv4.tcp_ecn", "1")?;
            // Have the kernel segment before the bridge.
            let mut cut = OFFLOADS.iter().filter(|o| ["tso", "gso"].contains(&o.name));
            // If an XDP program is attached at the peer, as by an earlier bridge, the kernel has disabled it already
            // and rejects the change.
            cut.try_for_each(|o| match switch(outer, o, false) {
                Err(e) if is_on(outer, o)? => Err(e),
                _ => Ok(()),
            })
        })
    }

    fn bridge(&self, aqm: &str, parameters: &str, rate: BitRate) -> Result<Bridge, LiveError> {
        self.bridge_by(Io::Packet, aqm, parameters, rate)
    }

    fn bridge_by(&self, io: Io, aqm: &str, parameters: &str, rate: BitRate) -> Result<Bridge, LiveError> {
        self.bridge_with(io, aqm, parameters, rate, OffloadLog::none())
    }

    /// A bridge that logs the offloads it disables.
    fn bridge_noting(&self, note: OffloadLog) -> Result<Bridge, LiveError> {
        self.bridge_with(Io::Packet, "fifo", "{}", BitRate::from_mbps(100), note)
    }

    fn bridge_with(
        &self,
        io: Io,
        aqm: &str,
        parameters: &str,
        rate: BitRate,
        note: OffloadLog,
    ) -> Result<Bridge, LiveError> {
        let table: serde_json::Value = serde_json::from_str(parameters).unwrap();
        let spec = Spec::read(aqm, table).unwrap();
        let direction = |name| Setup::new(name, rate, aqmkit_base::Duration::ZERO, spec.clone());
        let setup = BridgeSetup {
            interfaces: ["m1".to_owned(), "m2".to_owned()],
            io,
            threads: threads(),
            fail_open: false,
            directions: [direction("forth"), direction("back")],
            classes: Classes::default(),
            salt: 1,
        };
        self.middle.inside(|| Ok(Bridge::open_noting(&setup, "test", note))).unwrap()
    }

    /// Whether a datagram reaches `to` and a reply comes back within ten seconds.
    fn reaches(&self, to: &str, from: &str) -> bool {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let server = self.b.inside(|| UdpSocket::bind(address(to))).unwrap();
        let client = self.a.inside(|| UdpSocket::bind(address(from))).unwrap();
        let patience = Duration::from_millis(100);
        server.set_read_timeout(Some(patience)).unwrap();
        client.set_read_timeout(Some(patience)).unwrap();
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end {
            // Sending may fail during neighbour resolution.
            let _ = client.send_to(b"there", address(to));
            let mut buffer = [0; 10];
            if let Ok((5, back)) = server.recv_from(&mut buffer) {
                let _ = server.send_to(b"back", back);
                if client.recv(&mut buffer).is_ok_and(|n| &buffer[..n] == b"back") {
                    return true;
                }
            }
        }
        false
    }

    /// Waits until the bridge is empty: TCP retransmissions may still be queued after all data has arrived.
    fn settled(bridge: &Bridge) {
        let end = Instant::now() + Duration::from_secs(10);
        let control = bridge.control();
        // Two snapshots apart.
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(250));
            if control.report().directions.iter().all(|d| d.backlog_packets == 0) {
                return;
            }
        }
        panic!("packets stay in the bridge");
    }

    /// Enables segmentation offload on the outer interfaces, the default of senders.
    fn leave_segmentation(&self) {
        for (side, name) in [(&self.a, "a0"), (&self.b, "b0")] {
            let mut on = OFFLOADS.iter().filter(|o| ["tso", "gso"].contains(&o.name));
            side.inside(|| on.try_for_each(|o| switch(name, o, true))).unwrap();
        }
    }

    /// Sends `bytes` over TCP; returns the time taken.
    fn transfer(&self, bytes: usize) -> Duration {
        self.transfer_to("10.9.0.2:0", bytes)
    }

    /// As [`Place::transfer`], to an address of the third namespace.
    fn transfer_to(&self, address: &str, bytes: usize) -> Duration {
        let listener = self.b.inside(|| TcpListener::bind(address)).unwrap();
        let to = listener.local_addr().unwrap();
        let mut client = self.a.inside(|| TcpStream::connect_timeout(&to, Duration::from_secs(30))).unwrap();
        let mut server = listener.accept().unwrap().0;
        server.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let start = Instant::now();
        let sent = data(bytes);
        let mut received = Vec::new();
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let done = client.write_all(&sent);
                drop(client);
                done.map(|()| sent)
            });
            server.read_to_end(&mut received).unwrap();
            // The data has no repetition, so misplaced bytes are detected.
            assert!(received == sender.join().unwrap().unwrap(), "{} of {bytes} bytes came, or others", received.len());
        });
        start.elapsed()
    }
}
