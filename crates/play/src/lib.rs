//! The simulator for a web page, which opens, advances, observes and changes experiments with requests in JSON.
//!
//! [`Player::call`] takes a request `{"do": NAME, ...}` and returns `{"ok": ...}`, or `{"error": {"message", "line",
//! "column", "hint"}}`. The requests are the variants of [`request::Request`]. Compiled for `wasm32-unknown-unknown`,
//! the crate imports nothing, so that a browser, Node and wasmtime run it alike; [`abi`] has its exports. All sizes are
//! bounded, and no input causes a panic.

pub mod abi;
mod catalogue;
mod change;
mod describe;
mod gauge;
mod limits;
mod look;
pub mod request;
mod session;

use std::collections::BTreeMap;

use aqmkit_experiment::Problem;
use miette::Diagnostic as _;
use request::Request;
use serde_json::{Value, json};
use session::Session;

/// The open experiments, by handle.
#[derive(Default)]
pub struct Player {
    sessions: BTreeMap<u32, Session>,
    last: u32,
}

impl Player {
    /// Answers a request; both are JSON.
    pub fn call(&mut self, request: &str) -> String {
        match Request::read(request).and_then(|read| self.answer(read)) {
            Ok(ok) => format!("{{\"ok\":{ok}}}"),
            Err(problem) => json!({"error": error(&problem)}).to_string(),
        }
    }

    fn answer(&mut self, request: Request) -> Result<String, Problem> {
        let answer: Value = match request {
            Request::Catalogue {} => catalogue::catalogue(),
            Request::Check { toml, set } => session::check(&toml, &set)?,
            Request::Open { toml, run, set, seed } => {
                if self.sessions.len() >= limits::SESSIONS {
                    let problem = Problem::new(format!("{} experiments are open", limits::SESSIONS));
                    return Err(problem.right("close one of them first"));
                }
                let session = Session::open(&toml, run, &set, seed)?;
                self.last += 1;
                let opened = session.describe(self.last);
                self.sessions.insert(self.last, session);
                opened
            }
            Request::Close { handle } => {
                self.session(handle)?;
                self.sessions.remove(&handle);
                Value::Null
            }
            Request::Restart { handle, keep } => {
                self.session(handle)?.restart(keep)?;
                self.session(handle)?.describe(handle)
            }
            Request::Advance { handle, until, events } => self.session(handle)?.advance(until, events)?,
            Request::Step { handle } => self.session(handle)?.step()?,
            Request::Look { handle, packets, flows } => return self.session(handle)?.look(packets, flows),
            Request::Change { handle, set } => self.session(handle)?.change(&set)?,
            Request::Experiment { handle, end } => self.session(handle)?.experiment(end),
            Request::Number { handle, window, metric, seconds } => {
                self.session(handle)?.number(&window, &metric, seconds.as_deref())?
            }
            Request::Digest { handle } => self.session(handle)?.digest()?,
        };
        Ok(answer.to_string())
    }

    fn session(&mut self, handle: u32) -> Result<&mut Session, Problem> {
        let gone = || Problem::new(format!("no experiment is open under the handle {handle}")).right("open one first");
        self.sessions.get_mut(&handle).ok_or_else(gone)
    }

    /// The records of packets since the last call, 24 bytes each, little-endian: the time (f64), the flow (u32), the
    /// bytes (u32), how long the packet has waited in seconds (f32), what happened (u8: 0 arrival, 1 departure, 2 drop,
    /// 3 mark), the queue (u8), the traffic (u16). Empty if the handle is not open.
    pub fn records(&mut self, handle: u32) -> Vec<u8> {
        self.sessions.get_mut(&handle).map(Session::records).unwrap_or_default()
    }
}

/// The `error` of an answer.
fn error(problem: &Problem) -> Value {
    let place = problem.location();
    json!({
        "message": problem.to_string(),
        "hint": problem.help().map(|help| help.to_string()),
        "line": place.as_ref().map(|p| p.line),
        "column": place.as_ref().map(|p| p.column),
    })
}
