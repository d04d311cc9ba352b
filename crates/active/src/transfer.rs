//! A TCP connection that loads the path, at its two ends: the sender samples the kernel's counters, the receiver counts bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use aqmkit_live::tcp_info::TcpInfo;
use rustix::net::sockopt::set_socket_linger;
use serde::{Deserialize, Serialize};

/// Time between two samples or counts.
const INTERVAL: Duration = Duration::from_millis(100);
/// Bytes per system call.
const CHUNK: usize = 64 << 10;

/// Seconds since a fixed moment of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// A clock that begins now.
    #[expect(clippy::disallowed_methods, reason = "a measurement takes place in real time")]
    pub(crate) fn new() -> Clock {
        Clock(Instant::now())
    }

    /// Seconds since then.
    pub(crate) fn now(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// How long, and how much, a connection sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) bytes: u64,
}

/// A sender's samples of `TCP_INFO` for one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// The port of the host that measures, which tells connections apart.
    pub(crate) port: u16,
    /// The largest payload of a segment, in bytes.
    pub(crate) segment: u64,
    /// When, the smoothed round-trip time in seconds, and the retransmissions so far.
    pub(crate) samples: Vec<(f64, f64, u32)>,
}

/// A receiver's byte counts for one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Received {
    /// The port of the host that measures.
    pub(crate) port: u16,
    /// From when, until when, how many bytes.
    pub(crate) counts: Vec<(f64, f64, u64)>,
}

/// Sends until a bound is reached or the receiver closes, and then resets the connection: data that wait in a deep send buffer would load the path long after the end.
pub(crate) fn send(mut stream: TcpStream, port: u16, bounds: Bounds, clock: Clock) -> Sent {
    let chunk = [0; CHUNK];
    let mut sent = Sent { port, ..Sent::default() };
    let time = bounds.time.as_secs_f64();
    let begin = Clock::new();
    let mut left = bounds.bytes;
    let mut next = INTERVAL.as_secs_f64();
    let _ = stream.set_write_timeout(Some(INTERVAL));
    let _ = stream.set_nodelay(true);
    while left > 0 && begin.now() < time {
        let size = left.min(CHUNK as u64) as usize;
        match stream.write(&chunk[..size]) {
            Ok(0) => break,
            Ok(n) => left -= n as u64,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(_) => break,
        }
        if begin.now() >= next {
            next = begin.now() + INTERVAL.as_secs_f64();
            sample(&stream, clock, &mut sent);
        }
    }
    sample(&stream, clock, &mut sent);
    let _ = set_socket_linger(&stream, Some(Duration::ZERO));
    sent
}

fn sample(stream: &TcpStream, clock: Clock, sent: &mut Sent) {
    let Ok((counters, sender)) = TcpInfo::with_sender(stream) else { return };
    sent.segment = sent.segment.max(sender.segment);
    sent.samples.push((clock.now(), sender.rtt.as_secs_f64(), counters.retransmissions));
}

/// Receives until the sender ends or `longest` has passed.
pub(crate) fn receive(mut stream: TcpStream, port: u16, longest: Duration, clock: Clock) -> Received {
    let mut chunk = vec![0; CHUNK];
    let mut received = Received { port, ..Received::default() };
    let begin = Clock::new();
    let mut from = clock.now();
    let mut bytes = 0;
    let _ = stream.set_read_timeout(Some(INTERVAL));
    let mut goes_on = true;
    while goes_on && begin.now() < longest.as_secs_f64() {
        match stream.read(&mut chunk) {
            Ok(0) => goes_on = false,
            Ok(n) => bytes += n as u64,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            // The sender ends with a reset.
            Err(_) => goes_on = false,
        }
        let now = clock.now();
        if now - from >= INTERVAL.as_secs_f64() || !goes_on {
            received.counts.push((from, now, bytes));
            (from, bytes) = (now, 0);
        }
    }
    received
}
