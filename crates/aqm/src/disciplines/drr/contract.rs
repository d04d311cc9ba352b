//! DRR+ contracts: a latency-critical flow sends at most a given amount per period.

use aqmkit_base::{Duration, FlowKey, Instant};

use super::Params;
use crate::classes::ClassSet;
use crate::link::Link;
use crate::params::{ParamError, in_range, positive_time};
use crate::storage::FlowCache;

/// The classes of flows with contracts, and the contract.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) critical: ClassSet,
    bytes: u64,
    period: Duration,
    flows: usize,
}

impl Terms {
    /// The contract described by the parameters, if they name classes for it.
    pub(super) fn new(params: &Params, link: &Link) -> Result<Option<Self>, ParamError> {
        if params.latency_critical.is_empty() {
            return Ok(None);
        }
        let missing = || ParamError::new("period", "nothing", "latency_critical needs a period");
        let critical = ClassSet::new("latency_critical", link, &params.latency_critical)?;
        let period = positive_time("period", params.period.ok_or_else(missing)?)?;
        in_range("contracts", f64::from(params.contracts), 1.0, 1_048_576.0)?;
        Ok(Some(Terms { critical, bytes: params.contract.0, period, flows: params.contracts as usize }))
    }

    /// Flows whose contract is watched.
    pub(super) fn flows(&self) -> usize {
        self.flows
    }
}

/// Bytes that a flow has sent in its period.
#[derive(Clone, Copy, Debug)]
struct Sent {
    since: Instant,
    bytes: u64,
}

/// Tracks which flows keep their contract.
#[derive(Clone, Debug)]
pub(super) struct Police {
    sent: FlowCache<Sent>,
}

impl Police {
    pub(super) fn new(terms: &Terms) -> Self {
        Police { sent: FlowCache::new(terms.flows) }
    }

    /// A packet of a latency-critical flow arrives: returns whether the flow keeps its contract. A violation restarts
    /// the period, like the paper's timer, which every packet resets; so only silence restores the flow.
    pub(super) fn meets(&mut self, terms: &Terms, flow: FlowKey, len: u32, now: Instant) -> bool {
        let sent = self.sent.get_or(flow, || Sent { since: now, bytes: 0 });
        if now.since(sent.since) >= terms.period {
            *sent = Sent { since: now, bytes: 0 };
        }
        sent.bytes = sent.bytes.saturating_add(u64::from(len));
        let meets = sent.bytes <= terms.bytes;
        if !meets {
            sent.since = now;
        }
        meets
    }
}
