//! Loss intervals and the loss event rate (RFC 5348 sections 5.3 to 5.5).

/// The minimum discount factor.
const DISCOUNT_FLOOR: f64 = 0.25;

/// The lengths of the last loss intervals, in packets.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    /// Maximum number of closed intervals.
    most: usize,
    discounting: bool,
    /// Closed intervals, newest first, each with its discount.
    closed: Vec<(f64, f64)>,
    /// The packet that began the open interval; `None` before the first loss.
    start: Option<u64>,
}

impl Intervals {
    /// Starts without a loss; up to `most` closed intervals count.
    #[must_use]
    pub(super) fn new(most: u8, discounting: bool) -> Self {
        Intervals {
            most: usize::from(most),
            discounting,
            closed: Vec::with_capacity(usize::from(most) + 1),
            start: None,
        }
    }

    /// Whether there was no loss yet.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.start.is_none()
    }

    /// [section 5.4] 1 for the newer half, then falling: 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 for eight.
    fn weight(&self, i: usize) -> f64 {
        let n = self.most as f64;
        if 2 * i < self.most { 1.0 } else { 2.0 * (n - i as f64) / (n + 2.0) }
    }

    /// The first loss event begins with packet `seq`. The packets before it count as an interval of `length` (section
    /// 6.3.1).
    pub(super) fn first(&mut self, seq: u64, length: f64) {
        self.start = Some(seq);
        self.closed.push((length.max(1.0), 1.0));
    }

    /// Another loss event begins with packet `seq`: closes the open interval [section 5.3], and applies the discount
    /// due to its length to the earlier ones for good [section 5.5].
    pub(super) fn next(&mut self, seq: u64) {
        let Some(start) = self.start else { return };
        let length = seq.saturating_sub(start).max(1) as f64;
        let discount = self.discount(length);
        self.closed.iter_mut().for_each(|(_, d)| *d *= discount);
        self.closed.insert(0, (length, 1.0));
        self.closed.truncate(self.most);
        self.start = Some(seq);
    }

    /// Sums over the newest `count` closed intervals: weight times length, and weight; weights start at index `shift`.
    fn sums(&self, count: usize, shift: usize, discount: f64) -> (f64, f64) {
        self.closed.iter().take(count).enumerate().fold((0.0, 0.0), |(total, weights), (i, (length, d))| {
            let weight = self.weight(i + shift) * d * discount;
            (total + weight * length, weights + weight)
        })
    }

    /// [section 5.5] The discount of the closed intervals while the open one has this length.
    fn discount(&self, open: f64) -> f64 {
        let (total, weights) = self.sums(self.closed.len(), 0, 1.0);
        if !self.discounting || weights == 0.0 || open <= 2.0 * total / weights {
            return 1.0;
        }
        (2.0 * total / weights / open).max(DISCOUNT_FLOOR)
    }

    /// [sections 5.4, 5.5] The loss event rate if `highest` is the highest number received; zero before the first loss.
    /// The open interval replaces the oldest one if that lowers the rate.
    #[must_use]
    pub(super) fn loss_event_rate(&self, highest: u64) -> f64 {
        let Some(start) = self.start else { return 0.0 };
        let k = self.closed.len();
        let open = (highest + 1).saturating_sub(start) as f64;
        let (closed, closed_weights) = self.sums(k, 0, 1.0);
        let (rest, rest_weights) = self.sums(k.saturating_sub(1), 1, self.discount(open));
        let (with_open, weights) = (self.weight(0) * open + rest, self.weight(0) + rest_weights);
        (closed_weights / closed).min(weights / with_open.max(1.0)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed intervals of these lengths, the oldest first, and the number that began the open one.
    fn after(lengths: &[u64], discounting: bool) -> (Intervals, u64) {
        let mut intervals = Intervals::new(8, discounting);
        intervals.first(0, lengths[0] as f64);
        let mut start = 0;
        for length in &lengths[1..] {
            start += length;
            intervals.next(start);
        }
        (intervals, start)
    }

    fn is(seen: f64, expected: f64) {
        assert!((seen - expected).abs() < 1e-12, "{seen} instead of {expected}");
    }

    #[test]
    fn the_weights_are_those_of_the_rfc() {
        let intervals = Intervals::new(8, true);
        let weights: Vec<_> = (0..8).map(|i| intervals.weight(i)).collect();
        assert_eq!(weights, [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]);
    }

    /// By hand: the newest four count 1 each, then 0.8, 0.6, 0.4, 0.2, together 6. A ninth is forgotten.
    #[test]
    fn the_rate_is_one_over_the_weighted_mean() {
        let (intervals, start) = after(&[999, 80, 70, 60, 50, 40, 30, 20, 10], false);
        let total = 10.0 + 20.0 + 30.0 + 40.0 + 0.8 * 50.0 + 0.6 * 60.0 + 0.4 * 70.0 + 0.2 * 80.0;
        is(intervals.loss_event_rate(start), 6.0 / total);
        // The open interval counts as soon as it raises the mean: 100 in the newest place, the 80 dropped.
        let with_open = 100.0 + 10.0 + 20.0 + 30.0 + 0.8 * 40.0 + 0.6 * 50.0 + 0.4 * 60.0 + 0.2 * 70.0;
        is(intervals.loss_event_rate(start + 99), 6.0 / with_open);
    }

    /// By hand: two closed intervals of 100; the open one of 400 is four times their mean, so they count half: (400 +
    /// 50) / (1 + 0.5) = 300. At 2000 the discount would be 0.1, and is 0.25: (2000 + 25) / 1.25 = 1620.
    #[test]
    fn a_long_open_interval_makes_the_past_count_less() {
        let (intervals, start) = after(&[100, 100], true);
        is(intervals.loss_event_rate(start + 149), 1.0 / 125.0);
        is(intervals.loss_event_rate(start + 199), 1.0 / 150.0);
        is(intervals.loss_event_rate(start + 399), 1.0 / 300.0);
        is(intervals.loss_event_rate(start + 1999), 1.0 / 1620.0);
        let (plain, _) = after(&[100, 100], false);
        is(plain.loss_event_rate(start + 399), 1.0 / 250.0);
    }

    /// By hand: an open interval of 400 after one of 100 is four times as long, so that one counts half: (400 + 50) /
    /// 1.5 = 300.
    #[test]
    fn the_first_interval_is_discounted_as_well() {
        let (intervals, start) = after(&[100, 400], true);
        is(intervals.loss_event_rate(start), 1.0 / 300.0);
    }

    /// By hand: the second of two intervals counts 2 (2 - 1) / (2 + 2) = a half. Closed: 150 / 1.5; with the open one of 400 in the newest place:
    /// (400 + 50) / 1.5 = 300.
    #[test]
    fn of_two_intervals_the_older_counts_half() {
        let mut intervals = Intervals::new(2, false);
        intervals.first(0, 100.0);
        intervals.next(100);
        is(intervals.loss_event_rate(100), 1.0 / 100.0);
        is(intervals.loss_event_rate(100 + 399), 1.0 / 300.0);
    }

    /// By hand: the open interval of 400 is closed, the two of 100 keep the discount of a half:
    /// (400 + 50 + 50) / 2 = 250.
    #[test]
    fn the_discount_stays_with_the_past() {
        let (mut intervals, start) = after(&[100, 100], true);
        intervals.next(start + 400);
        is(intervals.loss_event_rate(start + 400), 1.0 / 250.0);
        intervals.next(start + 500);
        is(intervals.loss_event_rate(start + 500), 3.0 / 600.0);
    }

    #[test]
    fn before_the_first_loss_there_is_no_rate() {
        let mut intervals = Intervals::new(8, true);
        assert!(intervals.is_empty());
        is(intervals.loss_event_rate(1_000), 0.0);
        intervals.first(1_000, 50.0);
        is(intervals.loss_event_rate(1_000), 0.02);
    }
}
