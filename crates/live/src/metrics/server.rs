//! Serves one page over HTTP on one thread with bounded memory.
//!
//! Anyone who can reach the address may connect, so each connection is limited: a request has at most [`LONGEST`]
//! bytes, and request and response must complete within [`PATIENCE`]. At most [`MOST`] connections are open; a new one
//! evicts the oldest. Every response closes its connection.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use aqmkit_base::{Duration, Instant};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

use super::page;
use crate::capabilities::keep_none;
use crate::confinement::{Needs, confine};
use crate::ctl::Report;
use crate::timing::{Clock, wait};

/// `Content-Type` of the page.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Maximum number of open connections.
const MOST: usize = 32;

/// Maximum length of a request with headers, in bytes.
const LONGEST: usize = 8192;

/// Timeout of a connection, from accept to the end of the response.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running server, stopped on drop.
pub struct MetricsServer {
    stop: Arc<OwnedFd>,
    address: SocketAddr,
}

impl MetricsServer {
    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // This fails only if the counter is already at its maximum, hence readable.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
    }
}

/// Serves `/metrics` at `address`, on its own thread.
///
/// # Errors
/// When binding to the address fails.
pub fn serve(address: SocketAddr, report: impl Fn() -> Report + Send + 'static) -> io::Result<MetricsServer> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
    let ours = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name("aqmkit-metrics".to_owned());
    thread.spawn(move || {
        // Requests are untrusted, so the thread parsing them gives up its capabilities.
        keep_none();
        // Confinement is best effort: older kernels lack seccomp.
        let _ = confine(Needs::Nothing);
        Listening { listener, connections: VecDeque::new(), clock: Clock::start() }.run(&ours, report);
    })?;
    Ok(MetricsServer { stop, address: bound })
}

/// State of the server thread.
struct Listening {
    listener: TcpListener,
    /// Oldest first.
    connections: VecDeque<Connection>,
    clock: Clock,
}

impl Listening {
    /// Serves until `stop` becomes readable.
    fn run(mut self, stop: &OwnedFd, report: impl Fn() -> Report) {
        loop {
            let until = self.connections.front().map_or(Instant::FAR_FUTURE, |first| first.until);
            let mut files = vec![PollFd::new(stop, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
            files.extend(self.connections.iter().map(Connection::awaited));
            // If poll(2) fails, pause rather than spin.
            if wait(&mut files, &self.clock, until).is_err() {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            if !files[0].revents().is_empty() {
                return;
            }
            let ready: Vec<bool> = files[2..].iter().map(|file| !file.revents().is_empty()).collect();
            let now = self.clock.now();
            let mut ready = ready.into_iter();
            self.connections.retain_mut(|connection| {
                let goes_on = !ready.next().unwrap_or(false) || connection.go_on(&report);
                goes_on && connection.until > now
            });
            self.accept(now);
        }
    }

    /// Accepts pending connections. Further ones wait in the listen backlog.
    fn accept(&mut self, now: Instant) {
        for _ in 0..MOST {
            match self.listener.accept() {
                Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                    if self.connections.len() == MOST {
                        self.connections.pop_front();
                    }
                    self.connections.push_back(Connection {
                        stream,
                        request: Vec::new(),
                        answer: None,
                        until: now + PATIENCE,
                    });
                }
                // The client closed it.
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(_) => return,
            }
        }
    }
}

/// One connection, from request to response.
struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    /// The unsent rest of the response, once the request is complete.
    answer: Option<VecDeque<u8>>,
    until: Instant,
}

impl Connection {
    fn awaited(&self) -> PollFd<'_> {
        PollFd::new(&self.stream, if self.answer.is_some() { PollFlags::OUT } else { PollFlags::IN })
    }

    /// Reads or writes as much as possible. Returns false when the connection is done.
    fn go_on(&mut self, report: impl Fn() -> Report) -> bool {
        match &mut self.answer {
            None => self.read(report),
            Some(rest) => send(&mut self.stream, rest),
        }
    }

    fn read(&mut self, report: impl Fn() -> Report) -> bool {
        let mut part = [0; 2048];
        let answer = match self.stream.read(&mut part) {
            Ok(0) => return false,
            Ok(n) => {
                self.request.extend_from_slice(&part[..n]);
                answered(&self.request, report)
            }
            Err(e) => return matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        let Some(text) = answer else { return true };
        self.request = Vec::new();
        let rest = self.answer.insert(text.into_bytes().into());
        send(&mut self.stream, rest)
    }
}

/// Writes as much as possible. Returns false when everything is sent or the connection is closed.
fn send(stream: &mut TcpStream, rest: &mut VecDeque<u8>) -> bool {
    match stream.write(rest.make_contiguous()) {
        Ok(n) => {
            rest.drain(..n);
            if rest.is_empty() {
                // The client may have closed the connection first.
                let _ = stream.shutdown(std::net::Shutdown::Write);
            }
            n > 0 && !rest.is_empty()
        }
        Err(e) => matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    }
}

/// The response to a request; `None` while its headers are incomplete.
fn answered(request: &[u8], report: impl Fn() -> Report) -> Option<String> {
    let whole = request.windows(4).any(|w| w == b"\r\n\r\n") || request.windows(2).any(|w| w == b"\n\n");
    if !whole {
        let long = "the request is too long\n";
        return (request.len() > LONGEST).then(|| response("431 Request Header Fields Too Large", "text/plain", long));
    }
    let line = request.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    Some(match (method, path) {
        ("GET", "/metrics" | "/") => match page(report()) {
            Ok(text) => response("200 OK", TYPE, &text),
            Err(_) => response("500 Internal Server Error", "text/plain", "the page cannot be written\n"),
        },
        _ => response("404 Not Found", "text/plain", "the page is /metrics\n"),
    })
}

fn response(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_connection_that_says_nothing_is_closed() {
        let server = serve("127.0.0.1:0".parse().unwrap(), Report::default).unwrap();
        let mut idle = TcpStream::connect(server.address()).unwrap();
        idle.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        idle.write_all(b"GET /metr").unwrap();
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn requests_that_are_not_for_the_page_are_refused() {
        let server = serve("127.0.0.1:0".parse().unwrap(), Report::default).unwrap();
        for (request, status) in [
            ("GET /?x=1 HTTP/1.0\r\n\r\n", "200"),
            ("GET /other HTTP/1.0\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.0\r\n\r\n", "404"),
            ("\n\n", "404"),
        ] {
            assert!(get(server.address(), request).starts_with(&format!("HTTP/1.1 {status} ")), "{request}");
        }
        let address = server.address();
        drop(server);
        let gone = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            TcpStream::connect(address).is_err()
        });
        assert!(gone, "it still listens");
    }
}
