//! The host that serves. It takes part in one test at a time, and sends nothing to anybody who has not connected over TCP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::probe::{PAYLOAD, numbers};
use crate::protocol::{
    Direction, LONGEST_REQUEST, MOST_DATA, MOST_FLOWS, MOST_TIME, PATIENCE, Reply, Request, VERSION, hear, say,
};
use crate::transfer::{Bounds, Clock, Received, Sent, receive, send};

/// How long a test may be silent: the host that measures asks for the report behind the second load.
const SILENCE: Duration = Duration::from_secs(4 * MOST_TIME.as_secs());

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    probes: UdpSocket,
}

/// A test that runs.
#[derive(Debug, Default)]
struct Test {
    token: u64,
    peer: Option<IpAddr>,
    flows: u32,
    received: Vec<Received>,
    sent: Vec<Sent>,
}

type Current = Arc<Mutex<Option<Test>>>;

impl Server {
    /// Listens at an address, or at all addresses of the host. Port zero takes any that is free.
    ///
    /// # Errors
    /// When the port is taken or the address is not one of this host.
    pub fn bind(address: Option<IpAddr>, port: u16) -> io::Result<Server> {
        let listener = match address {
            Some(address) => TcpListener::bind((address, port))?,
            // A socket of IPv6 takes IPv4 as well; a kernel may have no IPv6.
            None => TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
                .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?,
        };
        let probes = UdpSocket::bind(listener.local_addr()?)?;
        Ok(Server { listener, probes })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the process ends.
    pub fn serve(self) -> ! {
        let current = Current::default();
        let clock = Clock::new();
        let of_probes = Arc::clone(&current);
        thread::spawn(move || reflect(&self.probes, &of_probes));
        loop {
            let Ok((stream, peer)) = self.listener.accept() else {
                // A connection that fails is its peer's concern. Too many open files are this process's: some end soon.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let current = Arc::clone(&current);
            thread::spawn(move || {
                let _ = attend(stream, peer, &current, clock);
            });
        }
    }
}

fn lock(current: &Mutex<Option<Test>>) -> MutexGuard<'_, Option<Test>> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends back the packets of the test that runs.
fn reflect(probes: &UdpSocket, current: &Current) {
    let mut bytes = [0; 2 * PAYLOAD];
    loop {
        let Ok((length, from)) = probes.recv_from(&mut bytes) else { continue };
        let Some((token, _)) = numbers(&bytes[..length]) else { continue };
        let is_known = lock(current)
            .as_ref()
            .is_some_and(|test| test.token == token && test.peer == Some(from.ip().to_canonical()));
        if is_known {
            let _ = probes.send_to(&bytes[..length], from);
        }
    }
}

/// Serves one connection. Its peer is known from its start: a connection that was reset no longer tells, but what it carried can be read.
fn attend(stream: TcpStream, peer: SocketAddr, current: &Current, clock: Clock) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    match hear(&stream, LONGEST_REQUEST)? {
        Request::Begin { version } => {
            let token = match begin(version, peer.ip().to_canonical(), current)? {
                Ok(token) => token,
                Err(why) => return say(&stream, &Reply::Refused { why }),
            };
            let served = accompany(&stream, token, current, clock);
            lock(current).take_if(|test| test.token == token);
            served
        }
        Request::Carry { token, direction, seconds, bytes } => {
            let bounds = bounds(seconds, bytes);
            let is_known = lock(current).as_mut().is_some_and(|test| {
                test.flows += 1;
                test.token == token && test.peer == Some(peer.ip().to_canonical()) && test.flows <= 2 * MOST_FLOWS
            });
            if is_known {
                carry(stream, peer.port(), direction, bounds, token, current, clock);
            }
            Ok(())
        }
        Request::Report => Ok(()),
    }
}

/// Begins a test and returns its number, or the reason why not.
fn begin(version: u32, peer: IpAddr, current: &Current) -> io::Result<Result<u64, String>> {
    if version != VERSION {
        return Ok(Err(format!("the server speaks version {VERSION} of the protocol, and this is version {version}")));
    }
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    let token = u64::from_ne_bytes(bytes);
    let mut current = lock(current);
    if let Some(test) = current.as_ref() {
        let who = test.peer.map_or_else(String::new, |other| format!(" of {other}"));
        return Ok(Err(format!("the server is in a test{who}")));
    }
    *current = Some(Test { token, peer: Some(peer), ..Test::default() });
    Ok(Ok(token))
}

/// Answers the host that began the test until it closes its connection.
fn accompany(stream: &TcpStream, token: u64, current: &Current, clock: Clock) -> io::Result<()> {
    say(stream, &Reply::Begun { token, at: clock.now() })?;
    stream.set_read_timeout(Some(SILENCE))?;
    while let Request::Report = hear(stream, LONGEST_REQUEST)? {
        let (received, sent) =
            lock(current).as_ref().map(|test| (test.received.clone(), test.sent.clone())).unwrap_or_default();
        say(stream, &Reply::Report { received, sent })?;
    }
    Ok(())
}

fn carry(
    stream: TcpStream,
    port: u16,
    direction: Direction,
    bounds: Bounds,
    token: u64,
    current: &Current,
    clock: Clock,
) {
    match direction {
        Direction::Up => {
            let received = receive(stream, port, bounds.time + PATIENCE, clock);
            if let Some(test) = lock(current).as_mut().filter(|test| test.token == token) {
                test.received.push(received);
            }
        }
        Direction::Down => {
            let sent = send(stream, port, bounds, clock);
            if let Some(test) = lock(current).as_mut().filter(|test| test.token == token) {
                test.sent.push(sent);
            }
        }
    }
}

/// The bounds that were asked for, no more than a server allows.
fn bounds(seconds: f64, bytes: u64) -> Bounds {
    let most = MOST_TIME.as_secs_f64();
    // `max` returns zero if the other is not a number.
    let time = Duration::from_secs_f64(seconds.max(0.0).min(most));
    Bounds { time, bytes: bytes.min(MOST_DATA) }
}
