//! Connects the page to a running bottleneck: sends its state ten times a second, and accepts changes of its
//! parameters.
//!
//! Pages of other sites in the same browser and other users of the machine can reach the port. Requests therefore need
//! a token, which is in the fragment of the URL (browsers do not send it), and must not come from a page of another
//! origin.

use std::io::{self, Write};
use std::time::Duration;

use super::request::Request;

/// The URL path of the states, sent as server-sent events.
pub(super) const STATES: &str = "/live";

/// The URL path that changes are posted to.
pub(super) const CHANGES: &str = "/change";

/// The interval between two states.
const INTERVAL: Duration = Duration::from_millis(100);

/// Produces the states of a bottleneck as JSON, one per call; ends with an error.
pub(crate) type States = Box<dyn FnMut() -> Result<String, String> + Send>;

/// Applies a change, given as JSON, to a bottleneck.
pub(crate) type Change = Box<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// A bottleneck that the page shows.
pub(crate) struct Bottleneck {
    /// The token that requests must contain.
    pub(crate) token: String,
    /// Starts a sequence of states for a new reader.
    pub(crate) states: Box<dyn Fn() -> States + Send + Sync>,
    /// Applies changes; `None` if the page is read-only.
    pub(crate) change: Option<Change>,
}

impl Bottleneck {
    /// Whether a request has the token and comes from the page itself.
    pub(super) fn admits(&self, request: &Request<'_>, port: u16) -> bool {
        let ours = |origin: &str| ["127.0.0.1", "localhost"].iter().any(|n| origin == format!("http://{n}:{port}"));
        let same_site = request.header("sec-fetch-site").is_none_or(|site| site == "same-origin");
        let given = request.query.split('&').find_map(|part| part.strip_prefix("token="));
        same_site && request.header("origin").is_none_or(ours) && given.is_some_and(|given| equal(given, &self.token))
    }

    /// Status and body of the response to a request other than for states.
    pub(super) fn answer(&self, request: &Request<'_>, port: u16) -> (&'static str, String) {
        if !self.admits(request, port) {
            return ("403 Forbidden", "open the address that the command has printed\n".to_owned());
        }
        match (&self.change, request.method, request.path) {
            (_, "POST", CHANGES) if request.header("origin").is_none() => {
                ("403 Forbidden", "the request has no origin\n".to_owned())
            }
            (Some(change), "POST", CHANGES) => match change(request.body) {
                Ok(()) => ("200 OK", String::new()),
                Err(why) => ("400 Bad Request", why),
            },
            (None, "POST", CHANGES) => ("403 Forbidden", "it can only be looked at\n".to_owned()),
            _ => ("405 Method Not Allowed", "only changes are sent\n".to_owned()),
        }
    }

    /// Sends states until the reader disconnects or the bottleneck ends.
    pub(super) fn send_states(&self, reader: &mut impl Write) -> io::Result<()> {
        let mut states = (self.states)();
        loop {
            match states() {
                Ok(state) => write!(reader, "data: {state}\n\n")?,
                Err(why) => return write!(reader, "event: end\ndata: {}\n\n", why.replace('\n', " ")),
            }
            reader.flush()?;
            std::thread::sleep(INTERVAL);
        }
    }
}

/// Compares two strings in constant time.
fn equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bottleneck(writable: bool) -> Bottleneck {
        let states = || {
            let mut left = 2;
            Box::new(move || {
                left -= 1;
                if left >= 0 { Ok(format!("{left}")) } else { Err("it has\nended".to_owned()) }
            }) as States
        };
        let change: Change = Box::new(|body| if body == "{}" { Ok(()) } else { Err("no".to_owned()) });
        Bottleneck { token: "0123".to_owned(), states: Box::new(states), change: writable.then_some(change) }
    }

    fn admitted(headers: &str, target: &str) -> bool {
        let text = format!("GET {target} HTTP/1.1\r\nHost: localhost:80\r\n{headers}\r\n");
        bottleneck(false).admits(&Request::parse(&text), 80)
    }

    #[test]
    fn only_the_page_with_the_token_is_admitted() {
        assert!(admitted("", "/live?token=0123"));
        assert!(admitted("Origin: http://127.0.0.1:80\r\nSec-Fetch-Site: same-origin\r\n", "/live?a=b&token=0123"));
        for target in ["/live", "/live?token=", "/live?token=01234", "/live?token=0124", "/live?x=0123"] {
            assert!(!admitted("", target), "{target}");
        }
        for origin in ["https://example.org", "http://127.0.0.1:81", "null"] {
            assert!(!admitted(&format!("Origin: {origin}\r\n"), "/live?token=0123"), "{origin}");
        }
        assert!(!admitted("Sec-Fetch-Site: cross-site\r\n", "/live?token=0123"));
    }

    #[test]
    fn changes_need_the_token_an_origin_and_a_writable_bottleneck() {
        let status = |writable: bool, headers: &str, body: &str| {
            let text = format!("POST /change?token=0123 HTTP/1.1\r\n{headers}\r\n{body}");
            let (code, answer) = bottleneck(writable).answer(&Request::parse(&text), 80);
            format!("{code} {answer}").trim().to_owned()
        };
        let ours = "Origin: http://localhost:80\r\n";
        assert_eq!(status(true, ours, "{}"), "200 OK");
        assert_eq!(status(true, ours, "x"), "400 Bad Request no");
        assert!(status(false, ours, "{}").starts_with("403"));
        assert!(status(true, "", "{}").starts_with("403"));
        assert!(status(true, "Origin: http://evil.example\r\n", "{}").starts_with("403"));
    }

    #[test]
    fn states_are_told_until_the_end() {
        let mut told = Vec::new();
        bottleneck(false).send_states(&mut told).unwrap();
        assert_eq!(String::from_utf8(told).unwrap(), "data: 1\n\ndata: 0\n\nevent: end\ndata: it has ended\n\n");
    }
}
