//! The largest flows by bytes, in bounded memory.

use std::collections::BTreeMap;

use aqmkit_base::FlowKey;
use serde::Serialize;

use crate::wire::Flow;

/// The counters of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowCount {
    /// The flow, as text.
    #[serde(serialize_with = "as_text")]
    pub flow: Flow,
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
}

fn as_text<S: serde::Serializer>(flow: &Flow, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(flow)
}

/// Maximum number of flows with counters. When it is exceeded, the lower half by bytes is discarded, so the
/// count of a flow may be too small but never too large.
const MOST: usize = 1 << 16;

/// Counters by flow.
#[derive(Debug, Default)]
pub struct FlowCounts {
    flows: BTreeMap<FlowKey, FlowCount>,
    forgotten: u64,
}

impl FlowCounts {
    /// Counts the arrival of a packet.
    pub fn arrived(&mut self, key: FlowKey, flow: Flow, bytes: u32) {
        if self.flows.len() >= MOST && !self.flows.contains_key(&key) {
            self.forget_the_lower_half();
        }
        let count = self.flows.entry(key).or_insert(FlowCount { flow, packets: 0, bytes: 0, dropped: 0, marked: 0 });
        count.packets += 1;
        count.bytes += u64::from(bytes);
    }

    /// Whether a flow has counters.
    #[must_use]
    pub fn contains(&self, key: FlowKey) -> bool {
        self.flows.contains_key(&key)
    }

    /// Counts the drop of a packet.
    pub fn dropped(&mut self, key: FlowKey) {
        if let Some(count) = self.flows.get_mut(&key) {
            count.dropped += 1;
        }
    }

    /// Counts the mark of a packet.
    pub fn marked(&mut self, key: FlowKey) {
        if let Some(count) = self.flows.get_mut(&key) {
            count.marked += 1;
        }
    }

    fn forget_the_lower_half(&mut self) {
        let mut sizes: Vec<(u64, FlowKey)> = self.flows.iter().map(|(key, count)| (count.bytes, *key)).collect();
        let half = sizes.len() / 2;
        sizes.select_nth_unstable(half);
        for (_, key) in &sizes[..half] {
            self.flows.remove(key);
        }
        self.forgotten += half as u64;
    }

    /// The number of counted flows, and the number of times that counters were discarded.
    #[must_use]
    pub fn number(&self) -> (u64, u64) {
        (self.flows.len() as u64, self.forgotten)
    }

    /// The largest flows by bytes, in descending order.
    #[must_use]
    pub fn top(&self, number: usize) -> Vec<FlowCount> {
        let mut all: Vec<&FlowCount> = self.flows.values().collect();
        all.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.flow.cmp(&b.flow)));
        all.into_iter().take(number).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::LinkFlow;

    #[test]
    fn large_flows_stay_however_many_small_ones_come() {
        let mut counts = FlowCounts::default();
        let flow = |n: u64| Flow::Link(LinkFlow { kind: n as u16, ..LinkFlow::default() });
        for n in 0..300_000 {
            counts.arrived(FlowKey(n), flow(n), 100);
            counts.arrived(FlowKey(7), flow(7), 1500);
        }
        counts.dropped(FlowKey(7));
        counts.dropped(FlowKey(300_001));
        let top = counts.top(2);
        assert_eq!((top[0].bytes, top[0].dropped), (300_000 * 1500 + 100, 1));
        assert!(counts.flows.len() <= MOST && counts.number().1 > 200_000, "{:?}", counts.number());
    }
}
