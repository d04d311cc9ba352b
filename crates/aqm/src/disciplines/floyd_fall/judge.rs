//! The state of the flows, and which are restricted: Floyd and Fall 1999, section IV.

use std::collections::VecDeque;

use aqmkit_base::FlowKey;

use super::{Config, Params};
use crate::law::misbehaving::{Estimate, metric};
use crate::storage::FlowTable;

/// Drops in an interval: early ones in the unit that represents bytes, forced ones in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drops {
    pub(super) early: u64,
    pub(super) forced: u64,
}

impl Drops {
    pub(super) fn add(&mut self, more: Drops) {
        self.early += more.early;
        self.forced += more.forced;
    }
}

/// Arrivals and drops in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Packets dropped, and how many of them early.
    pub(super) drops: u64,
    pub(super) early_packets: u64,
    pub(super) by_kind: Drops,
}

impl Seen {
    fn loss(&self) -> f64 {
        if self.packets > 0 { self.drops as f64 / self.packets as f64 } else { 0.0 }
    }
}

/// Which test a flow failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cause {
    #[default]
    Unfriendly,
    Unresponsive,
    Disproportionate,
}

/// A restricted flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restricted {
    cause: Cause,
    /// Its rate and loss when it failed.
    then: Estimate,
    /// Its arrivals in this interval.
    pub(super) bytes: u64,
    /// It may be served once this many packets have left the open lane.
    pub(super) after: u64,
    /// Whether it was restricted during this interval only partly.
    fresh: bool,
}

type Past = VecDeque<(FlowKey, Estimate)>;

/// The flows' records.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    /// Drops in the open lane in this interval, by flow.
    dropped: FlowTable<Drops>,
    /// The largest flows of past intervals.
    history: Past,
    /// Flows that failed to respond once.
    suspects: Past,
    pub(super) restricted: FlowTable<Restricted>,
}

fn remember(list: &mut Past, most: u32, flow: FlowKey, estimate: Estimate) {
    while list.len() >= most as usize {
        list.pop_front();
    }
    list.push_back((flow, estimate));
}

/// The recorded estimate of the flow at its lowest drop rate.
fn at_lowest_loss(list: &Past, flow: FlowKey) -> Option<Estimate> {
    let own = list.iter().filter(|(known, _)| *known == flow).map(|(_, estimate)| *estimate);
    own.min_by(|a, b| a.loss.total_cmp(&b.loss))
}

impl Judge {
    pub(super) fn new(params: &Params) -> Self {
        Judge {
            dropped: FlowTable::with_capacity(params.max_flows as usize),
            history: VecDeque::with_capacity(params.history as usize),
            suspects: VecDeque::with_capacity(params.history as usize),
            restricted: FlowTable::with_capacity(params.max_restricted as usize),
        }
    }

    /// A packet of the flow was dropped in the open lane.
    pub(super) fn note(&mut self, params: &Params, flow: FlowKey, drop: Drops) {
        if self.dropped.len() < params.max_flows as usize {
            self.dropped.or_default(flow).add(drop);
        } else if let Some(known) = self.dropped.get_mut(flow) {
            known.add(drop);
        }
    }

    pub(super) fn next_interval(&mut self) {
        if !self.dropped.is_empty() {
            self.dropped.retain(|_, _| false);
        }
    }

    /// The flow that sends the most in the open lane, judging by its drops.
    fn largest(&self, config: &Config, open: &Seen) -> Option<(FlowKey, Estimate)> {
        let part = |drops: &Drops| {
            let early = [drops.early as f64, open.by_kind.early as f64];
            let forced = [drops.forced as f64, open.by_kind.forced as f64];
            metric(early, forced, open.early_packets as f64, open.drops as f64)
        };
        let flows = self.dropped.iter().map(|(flow, drops)| (part(drops), flow));
        // Ties go to the smallest key, independent of its position in the table.
        let (most, flow) = flows.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        Some((flow, Estimate { rate: most * open.bytes as f64 / config.interval, loss: open.loss() }))
    }

    /// Tests the largest flow; if it is to be restricted, returns the rate of the class. `entered` packets have entered
    /// the open lane so far.
    pub(super) fn detect(&mut self, config: &Config, open: &Seen, entered: u64) -> Option<f64> {
        let (flow, now) = self.largest(config, open)?;
        let (tests, params) = (config.tests, &config.params);
        if params.friendly && tests.unfriendly(now) {
            return self.restrict(params, flow, (Cause::Unfriendly, now, entered), tests.reference(now.loss));
        }
        if let Some(failed) = at_lowest_loss(&self.suspects, flow) {
            if !tests.unresponsive_again(failed, now) {
                return None;
            }
            self.suspects.retain(|(known, _)| *known != flow);
            return self.restrict(params, flow, (Cause::Unresponsive, now, entered), now.rate);
        }
        let past = at_lowest_loss(&self.history, flow);
        remember(&mut self.history, params.history, flow, now);
        if params.unresponsive && past.is_some_and(|past| tests.unresponsive(past, now)) {
            remember(&mut self.suspects, params.history, flow, now);
        } else if params.disproportionate && self.disproportionate(config, open, now) {
            return self.restrict(params, flow, (Cause::Disproportionate, now, entered), now.rate);
        }
        None
    }

    fn disproportionate(&self, config: &Config, open: &Seen, flow: Estimate) -> bool {
        config.tests.disproportionate(flow, self.dropped.len(), open.bytes as f64 / config.interval)
    }

    fn restrict(
        &mut self,
        params: &Params,
        flow: FlowKey,
        (cause, then, after): (Cause, Estimate, u64),
        guideline: f64,
    ) -> Option<f64> {
        if self.restricted.len() >= params.max_restricted as usize {
            return None;
        }
        *self.restricted.or_default(flow) = Restricted { cause, then, after, fresh: true, ..Restricted::default() };
        Some(params.half * guideline * self.restricted.len() as f64)
    }

    /// Whether a restricted flow would currently pass.
    fn behaves(&self, config: &Config, open: &Seen, flow: &Restricted, now: Estimate) -> bool {
        let passes = match flow.cause {
            Cause::Unfriendly => true,
            Cause::Unresponsive => !config.tests.unresponsive_again(flow.then, now),
            Cause::Disproportionate => !self.disproportionate(config, open, now),
        };
        passes && !config.tests.unfriendly(now)
    }

    /// Releases flows that behave; returns the factor by which the class changes.
    pub(super) fn reward(&mut self, config: &Config, open: &Seen, class: &Seen) -> Option<f64> {
        if self.restricted.is_empty() {
            return None;
        }
        let mut restricted = std::mem::take(&mut self.restricted);
        let before = restricted.len();
        restricted.retain(|_, flow| {
            let now = Estimate { rate: flow.bytes as f64 / config.interval, loss: class.loss() };
            flow.bytes = 0;
            std::mem::take(&mut flow.fresh) || !self.behaves(config, open, flow, now)
        });
        self.restricted = restricted;
        let kept = self.restricted.len() as f64 / before as f64;
        let too_easy = class.packets > 0 && class.loss() < 2.0 * open.loss();
        Some(if too_easy { kept / 2.0 } else { kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without arrivals nothing was lost.
    #[test]
    fn the_drop_rate_is_a_share_of_the_arrivals() {
        let loss = |packets, drops| Seen { packets, drops, ..Seen::default() }.loss();
        assert_eq!([loss(0, 0), loss(1, 0), loss(1, 1), loss(8, 2)], [0.0, 0.0, 1.0, 0.25]);
    }

    /// Only the first few flows with drops in an interval are remembered, with all of their drops.
    #[test]
    fn so_many_flows_are_remembered() {
        let params = Params { max_flows: 3, ..Params::default() };
        let mut judge = Judge::new(&params);
        for flow in [1, 2, 3, 4, 5, 3] {
            judge.note(&params, FlowKey(flow), Drops { early: 1, forced: 0 });
        }
        let early = |flow| judge.dropped.get(FlowKey(flow)).map(|drops| drops.early);
        assert_eq!([1, 2, 3, 4, 5].map(early), [Some(1), Some(1), Some(2), None, None]);
    }
}
