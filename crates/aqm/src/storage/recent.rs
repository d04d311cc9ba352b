//! The state of recently seen flows.

use aqmkit_base::{Duration, FlowKey, Instant};

use super::FlowTable;
use super::chain::Chain;

#[derive(Clone, Debug)]
struct Entry<V> {
    flow: FlowKey,
    seen: Instant,
    value: V,
}

/// A map from flows to small values that can remove the least recently seen flow, in constant time like any other
/// operation. It grows to the maximum number of flows so far and allocates nothing after that.
#[derive(Clone, Debug)]
pub struct RecentFlows<V> {
    place: FlowTable<usize>,
    entries: Vec<Entry<V>>,
    order: Chain,
}

impl<V> Default for RecentFlows<V> {
    fn default() -> Self {
        RecentFlows { place: FlowTable::default(), entries: Vec::new(), order: Chain::default() }
    }
}

impl<V: Default> RecentFlows<V> {
    /// Number of flows it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of a flow seen now, inserted with the default if missing; if `most` are held already, it replaces the
    /// least recently seen one.
    pub fn seen(&mut self, flow: FlowKey, most: usize, now: Instant) -> &mut V {
        let place = match self.place.get(flow) {
            Some(&place) => {
                self.order.remove(place);
                place
            }
            None => {
                while self.entries.len() >= most.max(1) {
                    self.forget_oldest();
                }
                let place = self.entries.len();
                *self.place.or_default(flow) = place;
                self.entries.push(Entry { flow, seen: now, value: V::default() });
                place
            }
        };
        self.order.push(place);
        self.entries[place].seen = now;
        &mut self.entries[place].value
    }

    /// Removes flows that have not been seen for longer than `idle`.
    pub fn expire(&mut self, idle: Duration, now: Instant) {
        while self.entries.get(self.order.first()).is_some_and(|e| now.since(e.seen) > idle) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let place = self.order.first();
        if place < self.entries.len() {
            self.order.remove(place);
            self.place.remove(self.entries.swap_remove(place).flow);
            self.order.moved(self.entries.len(), place);
            if let Some(moved) = self.entries.get(place) {
                *self.place.or_default(moved.flow) = place;
            }
        }
    }

    /// Every value, in no meaningful order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|e| &e.value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_remembers_the_latest(ops in prop::collection::vec((0_u64..30, 0_u64..3), 0..400), most in 1_usize..12) {
            let (mut recent, mut model) = (RecentFlows::<u64>::default(), Vec::<(u64, u64, u64)>::new());
            let (mut now, idle) = (0, 9);
            for (flow, wait) in ops {
                now += wait;
                recent.expire(Duration::from_nanos(idle), Instant::from_nanos(now));
                model.retain(|(_, seen, _)| now - seen <= idle);
                let count = recent.seen(FlowKey(flow), most, Instant::from_nanos(now));
                *count += 1;
                let before = model.iter().position(|(f, _, _)| *f == flow).map(|at| model.remove(at).2);
                if before.is_none() && model.len() == most {
                    model.remove(0);
                }
                model.push((flow, now, before.unwrap_or(0) + 1));
                prop_assert_eq!(*count, before.unwrap_or(0) + 1);
                prop_assert_eq!(recent.len(), model.len());
                let sum: u64 = model.iter().map(|m| m.2).sum();
                prop_assert_eq!(recent.values().sum::<u64>(), sum);
            }
        }
    }
}
