//! Serves the page to browsers on this machine, with a given experiment or a running bottleneck.
//!
//! A request may have at most [`LONGEST`] bytes and must be complete within [`PATIENCE`]; at most [`MOST`] are handled
//! at once. Every response closes its connection. Requests with another host name are rejected, so that no web site can
//! read the experiment by letting its own name resolve to this address. The state of a bottleneck is served only to
//! requests with its token: see [`watched`](super::watched).

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::request::Request;
use super::watched::{self, Bottleneck};

/// Maximum size of a request in bytes, with headers and body.
const LONGEST: usize = 16 * 1024;

/// Compression level of the page; higher ones take more time than they save.
const LEVEL: i32 = 3;

/// Timeout for reading a request and writing the response.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of requests handled at the same time.
const MOST: usize = 16;

/// The content that is served.
struct Content {
    page: &'static str,
    /// The page compressed with zstd.
    compressed: Vec<u8>,
    /// The page's content security policy, repeated in the response header.
    policy: String,
    experiment: Option<String>,
    bottleneck: Option<Bottleneck>,
    port: u16,
}

/// A listening server for the page.
pub(crate) struct Site {
    listener: TcpListener,
    content: Arc<Content>,
}

impl Site {
    /// Listens on a port of the loopback address; 0 selects a free port.
    ///
    /// # Errors
    /// When the port is not available.
    pub(crate) fn open(
        port: u16,
        page: &'static str,
        experiment: Option<String>,
        bottleneck: Option<Bottleneck>,
    ) -> io::Result<Site> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let bound = listener.local_addr()?.port();
        let policy = format!("{}; frame-ancestors 'none'", policy_of(page));
        let compressed = zstd::encode_all(page.as_bytes(), LEVEL)?;
        let content = Content { page, compressed, policy, experiment, bottleneck, port: bound };
        Ok(Site { listener, content: Arc::new(content) })
    }

    /// The port on which it listens.
    pub(crate) fn port(&self) -> u16 {
        self.content.port
    }

    /// Serves requests until accepting fails; returns the error.
    pub(crate) fn serve(&self) -> io::Error {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => continue,
                Err(e) => return e,
            };
            // Above the limit, the connection is closed without a response; browsers try again.
            if open.fetch_add(1, Ordering::Relaxed) >= MOST {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (content, open) = (Arc::clone(&self.content), Arc::clone(&open));
            std::thread::spawn(move || {
                // Fails if the browser has closed the connection.
                let _ = answer(stream, &content);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }
}

/// Extracts the content security policy from the page.
fn policy_of(page: &str) -> &str {
    let after = page.split_once("Content-Security-Policy\" content=\"").map_or("default-src 'none'", |(_, rest)| rest);
    after.split('"').next().unwrap_or_default()
}

fn answer(mut stream: TcpStream, content: &Content) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let text = read(&mut stream)?;
    let request = Request::parse(&text);
    if let (Some(bottleneck), "GET", watched::STATES) = (&content.bottleneck, request.method, request.path)
        && request.is_for(content.port)
        && bottleneck.admits(&request, content.port)
    {
        let head = head("200 OK", "text/event-stream", None, content, "");
        stream.write_all(head.as_bytes())?;
        return bottleneck.send_states(&mut stream);
    }
    let (head, body) = respond(&request, content);
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)?;
    stream.shutdown(std::net::Shutdown::Write)
}

/// Reads a request with its body, up to [`LONGEST`] bytes.
fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    let mut part = [0; 2048];
    while request.len() <= LONGEST && !is_complete(&request) {
        match stream.read(&mut part)? {
            0 => break,
            n => request.extend_from_slice(&part[..n]),
        }
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

/// Whether a request has been received completely.
fn is_complete(request: &[u8]) -> bool {
    let Some(end) = request.windows(4).position(|w| w == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&request[..end]);
    let length = Request::parse(&text).header("content-length").and_then(|n| n.parse::<usize>().ok());
    request.len() >= (end + 4).saturating_add(length.unwrap_or(0))
}

/// Headers and body of the response.
fn respond<'a>(request: &Request<'_>, content: &'a Content) -> (String, Cow<'a, [u8]>) {
    let text = |body: &'a str| Cow::Borrowed(body.as_bytes());
    let mut coding = "";
    let (status, kind, body) = match (request.method, request.path, &content.experiment, &content.bottleneck) {
        _ if !request.is_for(content.port) => {
            ("421 Misdirected Request", "text/plain", text("this address serves 127.0.0.1 only\n"))
        }
        ("GET" | "HEAD", "/", ..) if request.accepts_zstd() => {
            coding = "Content-Encoding: zstd\r\n";
            ("200 OK", "text/html", Cow::Borrowed(content.compressed.as_slice()))
        }
        ("GET" | "HEAD", "/", ..) => ("200 OK", "text/html", text(content.page)),
        ("GET" | "HEAD", "/experiment.toml", Some(experiment), _) => ("200 OK", "application/toml", text(experiment)),
        ("GET" | "POST", watched::STATES | watched::CHANGES, _, Some(bottleneck)) => {
            let (status, body) = bottleneck.answer(request, content.port);
            (status, "text/plain", Cow::Owned(body.into_bytes()))
        }
        ("GET" | "HEAD", ..) => ("404 Not Found", "text/plain", text("the page is at /\n")),
        _ => ("405 Method Not Allowed", "text/plain", text("only GET is answered\n")),
    };
    let head = head(status, kind, Some(body.len()), content, coding);
    (head, if request.method == "HEAD" { Cow::Borrowed(&[]) } else { body })
}

/// Formats the headers of a response; `coding` is an additional header about the coding of the body.
fn head(status: &str, kind: &str, length: Option<usize>, content: &Content, coding: &str) -> String {
    let length = length.map(|bytes| format!("Content-Length: {bytes}\r\n")).unwrap_or_default();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\n{length}{coding}Vary: Accept-Encoding\r\nContent-Security-Policy: {}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        content.policy,
    )
}

#[cfg(test)]
mod tests {
    use super::{Content, is_complete, policy_of, respond};
    use crate::play::request::Request;

    fn content(experiment: Option<&str>) -> Content {
        Content {
            page: "<html>",
            compressed: b"zstd".to_vec(),
            policy: "default-src 'none'".to_owned(),
            experiment: experiment.map(str::to_owned),
            bottleneck: None,
            port: 80,
        }
    }

    fn status(request: &str, experiment: Option<&str>) -> String {
        let content = content(experiment);
        let (head, body) = respond(&Request::parse(request), &content);
        let code = head.split_whitespace().nth(1).unwrap_or_default();
        format!("{code} {}", String::from_utf8_lossy(&body))
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
    fn the_page_is_compressed_for_browsers_that_accept_it() {
        let content = content(None);
        let ask = |accepted: &str| {
            let request = format!("GET / HTTP/1.1\r\nHost: localhost:80\r\nAccept-Encoding: {accepted}\r\n\r\n");
            let (head, body) = respond(&Request::parse(&request), &content);
            (head.contains("Content-Encoding: zstd\r\n"), body.to_vec())
        };
        assert_eq!(ask("gzip, deflate, br, zstd"), (true, b"zstd".to_vec()));
        assert_eq!(ask("gzip, deflate, br"), (false, b"<html>".to_vec()));
    }

    #[test]
    fn a_request_ends_with_its_body() {
        assert!(!is_complete(b"GET / HTTP/1.1\r\nHost: x\r\n") && is_complete(b"GET / HTTP/1.1\r\n\r\n"));
        let post = "POST /change HTTP/1.1\r\nContent-Length: 4\r\n\r\n{\"a\"";
        assert!(is_complete(post.as_bytes()) && !is_complete(&post.as_bytes()[..post.len() - 1]));
        assert!(!is_complete(b"POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n"));
        let request = Request::parse("POST /change?token=a HTTP/1.1\r\nOrigin: http://x\r\n\r\n{}");
        assert_eq!((request.path, request.query, request.body), ("/change", "token=a", "{}"));
        assert_eq!((request.header("origin"), request.header("host")), (Some("http://x"), None));
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
