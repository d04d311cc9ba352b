//! Ranges of the sequence space: data received above a hole, and data that the peer reports as received.

/// Sequence numbers from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Range {
    pub(super) fn len(self) -> u64 {
        self.end - self.start
    }
}

/// Disjoint ranges, ascending, none adjacent to the next. Allocates with the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(Vec<Range>);

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_slice(&self) -> &[Range] {
        &self.0
    }

    /// Inserts a range, merging it with those it overlaps or touches; returns the merged range.
    pub(super) fn insert(&mut self, new: Range) -> Range {
        let from = self.0.partition_point(|r| r.end < new.start);
        let to = self.0.partition_point(|r| r.start <= new.end);
        if from == to {
            self.0.insert(from, new);
            return new;
        }
        let joined = Range { start: new.start.min(self.0[from].start), end: new.end.max(self.0[to - 1].end) };
        self.0[from] = joined;
        self.0.drain(from + 1..to);
        joined
    }

    /// Removes everything below `seq`.
    pub(super) fn remove_below(&mut self, seq: u64) {
        let gone = self.0.partition_point(|r| r.end <= seq);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.start = first.start.max(seq);
        }
    }

    /// The range that holds `seq`.
    pub(super) fn at(&self, seq: u64) -> Option<Range> {
        let i = self.0.partition_point(|r| r.end <= seq);
        self.0.get(i).copied().filter(|r| r.start <= seq)
    }

    /// The first gap at or above `seq`; the one above all ranges ends at `u64::MAX`.
    pub(super) fn gap(&self, seq: u64) -> Range {
        let mut i = self.0.partition_point(|r| r.end <= seq);
        let mut start = seq;
        if let Some(r) = self.0.get(i).filter(|r| r.start <= seq) {
            start = r.end;
            i += 1;
        }
        Range { start, end: self.0.get(i).map_or(u64::MAX, |r| r.start) }
    }

    /// Above the highest range, or 0.
    pub(super) fn top(&self) -> u64 {
        self.0.last().map_or(0, |r| r.end)
    }

    /// How much of the ranges lies from `start` to before `end`.
    pub(super) fn within(&self, start: u64, end: u64) -> u64 {
        let from = self.0.partition_point(|r| r.end <= start);
        let ranges = self.0[from..].iter().take_while(|r| r.start < end);
        ranges.map(|r| r.end.min(end) - r.start.max(start)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn r(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    #[test]
    fn ranges_join_what_they_touch() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(r(10, 20)), r(10, 20));
        assert_eq!(ranges.insert(r(30, 40)), r(30, 40));
        assert_eq!(ranges.insert(r(20, 25)), r(10, 25));
        assert_eq!(ranges.as_slice(), [r(10, 25), r(30, 40)]);
        assert_eq!(ranges.insert(r(5, 30)), r(5, 40));
        assert_eq!((ranges.as_slice().len(), ranges.top()), (1, 40));
    }

    #[test]
    fn gaps_and_sums_cut_ranges_at_their_ends() {
        let mut ranges = Ranges::default();
        ranges.insert(r(10, 20));
        ranges.insert(r(30, 40));
        assert_eq!(ranges.gap(5), r(5, 10));
        assert_eq!(ranges.gap(10), r(20, 30));
        assert_eq!(ranges.gap(25), r(25, 30));
        assert_eq!(ranges.gap(39), r(40, u64::MAX));
        assert_eq!((ranges.within(0, 100), ranges.within(15, 32), ranges.within(20, 30)), (20, 7, 0));
        assert_eq!((ranges.at(19), ranges.at(20), ranges.at(30)), (Some(r(10, 20)), None, Some(r(30, 40))));
        ranges.remove_below(15);
        assert_eq!(ranges.as_slice(), [r(15, 20), r(30, 40)]);
        ranges.remove_below(20);
        assert_eq!(ranges.as_slice(), [r(30, 40)]);
    }
}
