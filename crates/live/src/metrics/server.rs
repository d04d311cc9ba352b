//! The one page that is served over HTTP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tiny_http::{Header, Method, Response, Server};

use super::page;
use crate::ctl::Report;

/// What the format calls itself.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A server that runs until this value goes.
pub struct MetricsServer {
    server: Arc<Server>,
    address: SocketAddr,
}

impl MetricsServer {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

/// Serves `/metrics` at `address`, in a thread of its own.
///
/// # Errors
/// When nobody may listen there.
pub fn serve(address: SocketAddr, report: impl Fn() -> Report + Send + 'static) -> io::Result<MetricsServer> {
    let server = Arc::new(Server::http(address).map_err(io::Error::other)?);
    let address = server.server_addr().to_ip().unwrap_or(address);
    let ours = Arc::clone(&server);
    let thread = std::thread::Builder::new().name("aqmkit-metrics".to_owned());
    thread.spawn(move || {
        for request in ours.incoming_requests() {
            let known = matches!(request.url(), "/metrics" | "/") && *request.method() == Method::Get;
            let response = match page(report()).ok().filter(|_| known) {
                Some(text) => Response::from_string(text),
                None => Response::from_string("the page is /metrics\n").with_status_code(404),
            };
            let kind = Header::from_bytes("Content-Type", if known { TYPE } else { "text/plain" });
            let response = kind.into_iter().fold(response, Response::with_header);
            // Who asked may have gone.
            let _ = request.respond(response);
        }
    })?;
    Ok(MetricsServer { server, address })
}
