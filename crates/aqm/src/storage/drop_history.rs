//! The flows that had packets dropped, by interval.

use aqmkit_base::FlowKey;

use super::FlowTable;

/// Maximum number of intervals that can be remembered.
pub const MAX_LISTS: usize = 16;

/// During an interval its list may be this many times longer than the part that is kept: the flows with the most drops
/// are known only at its end.
const SLACK: usize = 16;

/// The drops of a flow in each of the intervals, in any unit; zero for none.
type Drops = [u32; MAX_LISTS];

/// Lists of the flows that had drops in the last few intervals, with their amounts. Of each completed list only the
/// flows with the most drops are kept, and a list that has grown to sixteen times that accepts no new flows until it
/// ends, so memory is bounded whatever arrives.
#[derive(Clone, Debug)]
pub struct DropHistory {
    flows: FlowTable<Drops>,
    lists: usize,
    per_list: usize,
    current: usize,
    /// Flows in the current list.
    in_current: usize,
    /// The current list sorted by drops, when it is cut.
    sorted: Vec<(u32, FlowKey)>,
}

impl DropHistory {
    /// No drops yet, for the last `lists` intervals (at most [`MAX_LISTS`]), each of which keeps `per_list` flows.
    #[must_use]
    pub fn new(lists: usize, per_list: usize) -> Self {
        let lists = lists.clamp(1, MAX_LISTS);
        let most = per_list * (SLACK + lists - 1);
        let sorted = Vec::with_capacity(per_list * SLACK);
        DropHistory { flows: FlowTable::with_capacity(most), lists, per_list, current: 0, in_current: 0, sorted }
    }

    /// A packet of the flow was dropped; it counts as `amount`.
    pub fn record(&mut self, flow: FlowKey, amount: u32) {
        let drops = match self.flows.get_mut(flow) {
            Some(drops) if drops[self.current] > 0 => drops,
            _ if self.in_current >= self.per_list * SLACK => return,
            _ => {
                self.in_current += 1;
                self.flows.or_default(flow)
            }
        };
        drops[self.current] = drops[self.current].saturating_add(amount.max(1));
    }

    /// The interval has ended: only the flows with the most drops stay in its list (among equal ones those with smaller
    /// keys).
    pub fn cut(&mut self) {
        if self.in_current <= self.per_list {
            return;
        }
        let at = self.current;
        self.sorted.clear();
        self.sorted.extend(self.flows.iter().filter(|(_, drops)| drops[at] > 0).map(|(flow, drops)| (drops[at], flow)));
        self.sorted.sort_unstable_by_key(|&(drops, flow)| (std::cmp::Reverse(drops), flow));
        for &(_, flow) in &self.sorted[self.per_list..] {
            self.flows.change(flow, |drops| {
                drops[at] = 0;
                drops.iter().any(|&d| d > 0)
            });
        }
    }

    /// Begins the next interval; the oldest is removed.
    pub fn advance(&mut self) {
        self.current = (self.current + 1) % self.lists;
        self.in_current = 0;
        if !self.flows.is_empty() {
            let at = self.current;
            self.flows.retain(|_, drops| {
                drops[at] = 0;
                drops.iter().any(|&d| d > 0)
            });
        }
    }

    /// Whether there were no drops in any interval.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Whether the flow is in none of the lists.
    #[must_use]
    pub fn spared(&self, flow: FlowKey) -> bool {
        self.flows.get(flow).is_none()
    }

    /// Every flow with drops: the number of lists it is in, and its drops in all of them.
    pub fn iter(&self) -> impl Iterator<Item = (FlowKey, usize, u64)> {
        self.flows.iter().map(|(flow, drops)| {
            (flow, drops.iter().filter(|&&d| d > 0).count(), drops.iter().map(|&d| u64::from(d)).sum())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(history: &DropHistory) -> Vec<(u64, usize, u64)> {
        let mut all: Vec<_> = history.iter().map(|(flow, lists, drops)| (flow.0, lists, drops)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn drops_are_forgotten_with_their_interval() {
        let mut history = DropHistory::new(3, 10);
        for (interval, flows) in [[1, 2], [1, 3], [1, 1]].iter().enumerate() {
            if interval > 0 {
                history.advance();
            }
            flows.iter().for_each(|&flow| history.record(FlowKey(flow), 1));
        }
        assert_eq!(lists(&history), [(1, 3, 4), (2, 1, 1), (3, 1, 1)]);
        history.advance();
        assert_eq!(lists(&history), [(1, 2, 3), (3, 1, 1)]);
        assert!(history.spared(FlowKey(2)) && !history.spared(FlowKey(3)));
        history.advance();
        history.advance();
        assert!(history.is_empty());
    }

    #[test]
    fn only_the_flows_with_the_most_drops_stay() {
        let mut history = DropHistory::new(2, 2);
        for (flow, drops) in [(1, 1), (2, 5), (3, 1), (4, 3), (5, 3)] {
            (0..drops).for_each(|_| history.record(FlowKey(flow), 1));
        }
        history.cut();
        assert_eq!(lists(&history), [(2, 1, 5), (4, 1, 3)]);
    }

    #[test]
    fn no_number_of_flows_makes_it_grow() {
        let mut history = DropHistory::new(5, 50);
        for interval in 0..20 {
            (0..100_000).for_each(|flow| history.record(FlowKey(interval * 100_000 + flow), 1));
            assert!(history.iter().count() <= 50 * SLACK + 50 * 4);
            history.cut();
            history.advance();
        }
        assert_eq!(history.iter().count(), 50 * 4);
    }
}
