//! Serves the page and the given experiment to browsers on this machine.
//!
//! A request has at most [`LONGEST`] bytes and must be there within [`PATIENCE`]; at most [`MOST`] are answered at the same
//! time. Every answer closes its connection. A request that names another host is refused, so that no web site can
//! read the experiment by pointing its own name at this address.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The longest request with its headers, in bytes.
const LONGEST: usize = 16 * 1024;

/// The timeout for requests and answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// Requests that are answered at the same time.
const MOST: usize = 16;

/// What is served.
#[derive(Debug)]
struct Content {
    page: &'static str,
    /// The content security policy of the page, which the header repeats.
    policy: String,
    experiment: Option<String>,
    port: u16,
}

/// A page at an address of this machine.
#[derive(Debug)]
pub(super) struct Site {
    listener: TcpListener,
    content: Arc<Content>,
}

impl Site {
    /// Listens at a port of the loopback address; port 0 takes any that is free.
    ///
    /// # Errors
    /// When the port is not available.
    pub(super) fn open(port: u16, page: &'static str, experiment: Option<String>) -> io::Result<Site> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let bound = listener.local_addr()?.port();
        let policy = format!("{}; frame-ancestors 'none'", policy_of(page));
        Ok(Site { listener, content: Arc::new(Content { page, policy, experiment, port: bound }) })
    }

    /// The port on which it listens.
    pub(super) fn port(&self) -> u16 {
        self.content.port
    }

    /// Serves until connections can no longer be accepted; returns the error.
    pub(super) fn serve(&self) -> io::Error {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => continue,
                Err(e) => return e,
            };
            // Above the limit the connection is closed without an answer; a browser tries again.
            if open.fetch_add(1, Ordering::Relaxed) >= MOST {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (content, open) = (Arc::clone(&self.content), Arc::clone(&open));
            std::thread::spawn(move || {
                // The browser may have closed the connection.
                let _ = answer(stream, &content);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
}

/// The content security policy in the head of a page.
fn policy_of(page: &str) -> &str {
    let after = page.split_once("Content-Security-Policy\" content=\"").map_or("default-src 'none'", |(_, rest)| rest);
    after.split('"').next().unwrap_or_default()
}

fn answer(mut stream: TcpStream, content: &Content) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read(&mut stream)?;
    let (head, body) = respond(&request, content);
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)
}

/// Reads a request up to the end of its headers, at most [`LONGEST`] bytes.
fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    let mut part = [0; 2048];
    while request.len() <= LONGEST && !request.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut part)? {
            0 => break,
            n => request.extend_from_slice(&part[..n]),
        }
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

/// Headers and body of the answer to a request.
fn respond<'a>(request: &str, content: &'a Content) -> (String, &'a str) {
    let mut lines = request.lines();
    let mut words = lines.next().unwrap_or_default().split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let host = lines
        .filter_map(|line| line.split_once(':'))
        .find_map(|(name, value)| name.eq_ignore_ascii_case("host").then_some(value.trim()))
        .unwrap_or_default();
    let ours = ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{}", content.port));
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let (status, kind, body) = match (method, path, &content.experiment) {
        _ if !ours => ("421 Misdirected Request", "text/plain", "this address serves 127.0.0.1 only\n"),
        ("GET" | "HEAD", "/", _) => ("200 OK", "text/html", content.page),
        ("GET" | "HEAD", "/experiment.toml", Some(text)) => ("200 OK", "application/toml", text.as_str()),
        ("GET" | "HEAD", _, _) => ("404 Not Found", "text/plain", "the page is at /\n"),
        _ => ("405 Method Not Allowed", "text/plain", "only GET is answered\n"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nContent-Security-Policy: {}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len(),
        content.policy,
    );
    (head, if method == "HEAD" { "" } else { body })
}

#[cfg(test)]
mod tests {
    use super::{Content, policy_of, respond};

    fn content(experiment: Option<&str>) -> Content {
        Content {
            page: "<html>",
            policy: "default-src 'none'".to_owned(),
            experiment: experiment.map(str::to_owned),
            port: 80,
        }
    }

    fn status(request: &str, experiment: Option<&str>) -> String {
        let content = content(experiment);
        let (head, body) = respond(request, &content);
        let code = head.split_whitespace().nth(1).unwrap_or_default();
        format!("{code} {body}")
    }

    #[test]
    fn the_page_and_the_experiment_are_served() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", None), "200 <html>");
        assert_eq!(status("GET /?x HTTP/1.1\r\nhost: localhost:80\r\n\r\n", None), "200 <html>");
        assert_eq!(status("HEAD / HTTP/1.1\r\nHost: localhost:80\r\n\r\n", None), "200 ");
        let experiment = "GET /experiment.toml HTTP/1.1\r\nHost: localhost:80\r\n\r\n";
        assert_eq!(status(experiment, Some("title = \"a\"")), "200 title = \"a\"");
        assert!(status(experiment, None).starts_with("404"));
    }

    #[test]
    fn other_hosts_methods_and_paths_are_refused() {
        assert!(status("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", None).starts_with("421"));
        assert!(status("GET / HTTP/1.1\r\n\r\n", None).starts_with("421"));
        assert!(status("POST / HTTP/1.1\r\nHost: localhost:80\r\n\r\n", None).starts_with("405"));
        assert!(status("GET /../etc/passwd HTTP/1.1\r\nHost: localhost:80\r\n\r\n", None).starts_with("404"));
        assert!(status("", None).starts_with("421"));
    }

    #[test]
    fn the_policy_is_the_one_in_the_page() {
        let page =
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-a='\" />";
        assert_eq!(policy_of(page), "default-src 'none'; script-src 'sha256-a='");
        assert_eq!(policy_of("<html>"), "default-src 'none'");
    }
}
