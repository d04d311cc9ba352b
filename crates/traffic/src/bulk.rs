//! # bulk: transfers that never end
//!
//! Long-lived connections that always have data to send, such as file transfers. Only the congestion
//! control determines their rate.
//!
//! ## Model
//!
//! Each flow opens one connection, sends a small request, and receives endless data, or `size` bytes, as
//! fast as the transport allows (parris01 A.3.4.2). Flow `i` uses server `i mod servers`: 360 flows and 5
//! servers give 72 flows per server.
//!
//! Starts are spread uniformly over `stagger`. The dissertation started 60 processes on each machine, which took
//! seconds, and then waited for 12 minutes; flows that start at the same time lose their first windows together and
//! stay synchronised for long.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `flows` | | 20 | how many connections, or 0 for none; `experiments/cbt` has parris01's 360 (6 clients with 60 each) |
//! | `size` | size | without end | bytes to transfer, then the connection closes and the flow is over |
//! | `stagger` | time | 10s | start times are uniform on this span; with 0 all flows start at the same time |
//!
//! Exchanges: `transfer`, once a transfer of `size` is complete.
//!
//! ## Deviations
//!
//! 1. A connection that fails is opened again after a second (chosen; the dissertation does not mention this case).
//! 2. parris01 has 360 flows in chapter V and in all but one place of appendix A, which has 240. The default is 20, which suits a link of
//!    10 Mbit/s; 360 flows on such a link, with short round trips, keep it in permanent overload.
//!
//! ## Evidence
//!
//! `tests/traffic/bulk.rs`: flows per server, spread of the starts, closing after `size`. The load of 1.5 MB/s
//! (parris01 A.3.4.2) depends on the transport, not on this model.
//!
//! ## References
//!
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, appendix A.3.

use aqmkit_base::{Bytes, Duration, Instant, Rng};
use serde::{Deserialize, Serialize};

use super::model::{Data, Model, ParamError, Population, count_or_none, texts};
use super::{Action, Application, Conn, Cx, ENDLESS, Event, Exchange};

/// Size of the request in bytes.
const REQUEST: u64 = 64;
/// Delay before a failed connection is reopened.
const RETRY: Duration = Duration::from_secs(1);

/// The parameters of bulk transfers as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The number of connections; 0 for none.
    pub flows: usize,
    /// Bytes to transfer; `None` for endless transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Start times are uniform on [0, `stagger`].
    pub stagger: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { flows: 20, size: None, stagger: Duration::from_secs(10) }
    }
}

impl Model for Params {
    const NAME: &'static str = "bulk";

    fn check(&self) -> Result<(), ParamError> {
        count_or_none("flows", self.flows)?;
        if self.size == Some(Bytes::ZERO) {
            return Err(ParamError::new("size", "0b", "it must be at least 1b; omit it for an endless transfer"));
        }
        Ok(())
    }

    fn count(&mut self) -> Option<(&'static str, &mut usize)> {
        Some(("flows", &mut self.flows))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        Ok(Box::new(Flows(self.clone())))
    }
}

struct Flows(Params);

impl Population for Flows {
    fn instances(&self) -> usize {
        self.0.flows
    }

    fn bears_loss(&self) -> bool {
        self.0.size.is_none()
    }

    fn start_spread(&self) -> Option<(&'static str, Duration)> {
        Some(("stagger", self.0.stagger))
    }

    fn make(&self, index: usize, rng: &mut Rng) -> Box<dyn Application> {
        Box::new(Flow {
            index,
            response: self.0.size.map_or(ENDLESS, |s| s.0),
            delay: self.0.stagger.mul_f64(rng.uniform()),
            started: Instant::ZERO,
            over: false,
        })
    }
}
struct Flow {
    index: usize,
    response: u64,
    /// The start of this flow, relative to the start of the traffic.
    delay: Duration,
    /// The time of the request.
    started: Instant,
    /// Set when the transfer is complete or the run has ended.
    over: bool,
}

const CONN: Conn = Conn(0);

impl Flow {
    fn open(&mut self, cx: &mut Cx<'_>) {
        self.started = cx.now;
        let server = (self.index as u64 % u64::from(cx.servers.max(1))) as u32;
        cx.want(Action::Open { conn: CONN, server });
        cx.want(Action::Request {
            conn: CONN,
            request: REQUEST,
            response: self.response,
            think: Duration::ZERO,
            close: self.response != ENDLESS,
        });
    }
}

impl Application for Flow {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            Event::Start => cx.want(Action::WakeAt(cx.now + self.delay)),
            Event::Wake => self.open(cx),
            Event::Response(_) => {
                self.over = true;
                cx.want(Action::Done(Exchange { kind: 0, started: self.started, bytes: self.response }));
            }
            Event::Closed(_) | Event::Failed(_) => cx.want(Action::WakeAt(cx.now + RETRY)),
            Event::Opened(_) => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["transfer"]
    }
}
