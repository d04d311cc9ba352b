//! The host that measures.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use aqmkit_estimate::measurement::{Measurement, Sample};

use crate::assemble::{Load, assemble};
use crate::probe::probe;
use crate::protocol::{
    Direction, LONGEST_REPLY, MOST_DATA, MOST_FLOWS, MOST_TIME, PATIENCE, Reply, Request, VERSION, hear, say,
};
use crate::transfer::{Bounds, Clock, receive, send};

/// Server and bounds of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// TCP connections in each direction, 1 to 64.
    pub flows: u32,
    /// How long they carry data, at most [`MOST_TIME`].
    pub time: Duration,
    /// How many bytes they carry in each direction at most.
    pub data: u64,
    /// Time without load before, between and behind the loads: it shows the base round trip, and the queues empty.
    pub idle: Duration,
}

/// The part of a test that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Sparse packets alone.
    Idle,
    /// Connections carry data to the server.
    Up,
    /// The queue empties.
    Pause,
    /// Connections carry data from the server.
    Down,
    /// The queue empties, and the last packets return.
    End,
}

/// The measurements of a test, one for each direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The load to the server, with the sparse packets before, beside and after it.
    pub up: Measurement,
    /// The load from it.
    pub down: Measurement,
}

/// Why a test failed.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct ActiveError {
    /// The problem.
    pub what: String,
    /// How to avoid it.
    pub right: String,
}

impl ActiveError {
    fn new(what: impl Into<String>, right: impl Into<String>) -> ActiveError {
        ActiveError { what: what.into(), right: right.into() }
    }

    /// A failed connection.
    fn lost(settings: &Settings, error: &io::Error) -> ActiveError {
        let Settings { host, port, .. } = settings;
        let reason = match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => "it did not answer in time".to_owned(),
            ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
            _ => error.to_string(),
        };
        ActiveError::new(
            format!("{host}, port {port}: {reason}"),
            format!("run `aqmkit measure --serve` there, and let TCP and UDP to port {port} through"),
        )
    }
}

/// Measures the path to a server; `begins` is called at the start of each part.
///
/// # Errors
/// When a setting is out of its range, the server cannot be reached, refuses, or its UDP packets do not return.
pub fn measure(settings: &Settings, begins: &mut dyn FnMut(Phase)) -> Result<Measured, ActiveError> {
    check(settings)?;
    let lost = |error: io::Error| ActiveError::lost(settings, &error);
    let clock = Clock::new();
    let control = connect(settings).map_err(lost)?;
    let server = control.peer_addr().map_err(lost)?;
    let asked = clock.now();
    say(&control, &Request::Begin { version: VERSION }).map_err(lost)?;
    let (token, at) = match hear(&control, LONGEST_REPLY).map_err(lost)? {
        Reply::Begun { token, at } => (token, at),
        Reply::Refused { why } => {
            return Err(ActiveError::new(why, "try again later, or with the same version on both hosts"));
        }
        Reply::Report { .. } => return Err(lost(ErrorKind::InvalidData.into())),
    };
    let path = Path { settings, server, token, clock };
    // The server's clock at the same moment is `at`, as nearly as the round trip permits.
    let behind = (asked + clock.now()) / 2.0 - at;
    let probes = path.probes().map_err(lost)?;
    let is_over = AtomicBool::new(false);
    let (loads, samples) = thread::scope(|scope| {
        let sparse = scope.spawn(|| probe(&probes, token, clock, &is_over));
        let loads = path.loads(begins);
        is_over.store(true, Ordering::Relaxed);
        (loads, sparse.join())
    });
    let samples = samples.map_err(|_| lost(ErrorKind::Other.into()))?.map_err(lost)?;
    let [up, down] = loads.map_err(lost)?;
    if samples.iter().all(|sample| sample.rtt.is_none()) {
        let what = format!("no UDP packet to {}, port {}, came back", settings.host, settings.port);
        return Err(ActiveError::new(what, "let UDP to this port through, in both directions"));
    }
    say(&control, &Request::Report).map_err(lost)?;
    let Reply::Report { received, sent } = hear(&control, LONGEST_REPLY).map_err(lost)? else {
        return Err(lost(ErrorKind::InvalidData.into()));
    };
    Ok(path.assemble(&samples, up.with_received(received, behind), down.with_sent(sent, behind)))
}

fn check(settings: &Settings) -> Result<(), ActiveError> {
    let Settings { flows, time, data, .. } = settings;
    if !(1..=MOST_FLOWS).contains(flows) {
        return Err(ActiveError::new(format!("{flows} connections"), format!("between 1 and {MOST_FLOWS}")));
    }
    if *time > MOST_TIME || time.is_zero() {
        let what = format!("a load of {} s", time.as_secs_f64());
        return Err(ActiveError::new(what, format!("more than zero and no more than {} s", MOST_TIME.as_secs())));
    }
    if *data > MOST_DATA || *data == 0 {
        let what = format!("{data} bytes in each direction");
        return Err(ActiveError::new(what, format!("more than zero and no more than {MOST_DATA}")));
    }
    Ok(())
}

/// Connects to the first address that answers.
fn connect(settings: &Settings) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "no address has this name");
    for address in (settings.host.as_str(), settings.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A test that has begun.
struct Path<'a> {
    settings: &'a Settings,
    server: SocketAddr,
    token: u64,
    clock: Clock,
}

impl Path<'_> {
    fn probes(&self) -> io::Result<UdpSocket> {
        let any: SocketAddr = match self.server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(self.server)?;
        Ok(socket)
    }

    /// Loads the path to the server, then from it.
    fn loads(&self, begins: &mut dyn FnMut(Phase)) -> io::Result<[Load; 2]> {
        begins(Phase::Idle);
        thread::sleep(self.settings.idle);
        begins(Phase::Up);
        let up = self.load(Direction::Up)?;
        begins(Phase::Pause);
        thread::sleep(self.settings.idle);
        begins(Phase::Down);
        let down = self.load(Direction::Down)?;
        begins(Phase::End);
        thread::sleep(self.settings.idle);
        Ok([up, down])
    }

    fn load(&self, direction: Direction) -> io::Result<Load> {
        let Settings { flows, time, data, .. } = *self.settings;
        let bounds = Bounds { time, bytes: (data / u64::from(flows)).max(1) };
        let connect = |_| {
            let stream = TcpStream::connect_timeout(&self.server, PATIENCE)?;
            let (seconds, bytes) = (bounds.time.as_secs_f64(), bounds.bytes);
            say(&stream, &Request::Carry { token: self.token, direction, seconds, bytes })?;
            let port = stream.local_addr()?.port();
            Ok((stream, port))
        };
        let streams: Vec<(TcpStream, u16)> = (0..flows).map(connect).collect::<io::Result<_>>()?;
        let mut load = Load::new(direction);
        thread::scope(|scope| {
            let clock = self.clock;
            match direction {
                Direction::Up => {
                    let all: Vec<_> = streams
                        .into_iter()
                        .map(|(s, port)| scope.spawn(move || send(s, port, bounds, clock)))
                        .collect();
                    load.sent = all.into_iter().filter_map(|one| one.join().ok()).collect();
                }
                Direction::Down => {
                    let longest = bounds.time + PATIENCE;
                    let all: Vec<_> = streams
                        .into_iter()
                        .map(|(s, port)| scope.spawn(move || receive(s, port, longest, clock)))
                        .collect();
                    load.received = all.into_iter().filter_map(|one| one.join().ok()).collect();
                }
            }
        });
        Ok(load)
    }

    fn assemble(&self, samples: &[Sample], up: Load, down: Load) -> Measured {
        let is_v6 = matches!(self.server.ip().to_canonical(), std::net::IpAddr::V6(_));
        // Sparse packets behind the first load, from the moment when its queue has certainly emptied, belong to the second.
        let (name, between) = (&self.settings.host, (up.end(), down.begin()));
        let before_second = samples.iter().copied().filter(|sample| sample.at < between.1).collect();
        let first_idle = samples.iter().copied().take_while(|sample| sample.at < up.begin());
        let without_first = first_idle.chain(samples.iter().copied().filter(|sample| sample.at >= between.0)).collect();
        Measured { up: assemble(name, before_second, up, is_v6), down: assemble(name, without_first, down, is_v6) }
    }
}
