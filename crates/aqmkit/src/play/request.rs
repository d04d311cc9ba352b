//! Parses HTTP requests.

/// The parts of an HTTP request.
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    /// The query: the part after `?`.
    pub(super) query: &'a str,
    headers: &'a str,
    pub(super) body: &'a str,
}

impl<'a> Request<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let (first, rest) = text.split_once("\r\n").unwrap_or((text, ""));
        let (headers, body) = rest.split_once("\r\n\r\n").unwrap_or((rest, ""));
        let mut words = first.split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Request { method, path, query, headers, body }
    }

    /// The value of a header; `name` is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        let mut fields = self.headers.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// Whether the Host header names this machine, rather than a site whose name was made to resolve to this address
    /// (DNS rebinding).
    pub(super) fn is_for(&self, port: u16) -> bool {
        let host = self.header("host").unwrap_or_default();
        ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{port}"))
    }

    /// Whether the browser accepts responses compressed with zstd.
    pub(super) fn accepts_zstd(&self) -> bool {
        self.header("accept-encoding").is_some_and(|all| all.split(',').any(|one| one.trim() == "zstd"))
    }
}
