//! Drops and marks by time of arrival. A packet that a discipline drops or marks at the head of the queue counts in the
//! window and interval of its arrival, so that none has more drops than arrivals.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_base::Instant;

use crate::series::Columns;

/// The decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Dropped(Why),
    Marked(Why),
}

/// Drops and marks of the packets that arrived in one period of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fates {
    /// Packets dropped, by reason.
    pub(crate) dropped: [u64; Why::COUNT],
    /// Packets marked, by reason.
    pub(crate) marked: [u64; Why::COUNT],
}

impl Fates {
    pub(crate) fn add(&mut self, fate: Fate) {
        match fate {
            Fate::Dropped(why) => self.dropped[why as usize] += 1,
            Fate::Marked(why) => self.marked[why as usize] += 1,
        }
    }

    pub(crate) fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) fn marks(&self) -> u64 {
        self.marked.iter().sum()
    }
}

/// The finished intervals of the series. Their packets can still be dropped or marked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    /// The ends of the intervals.
    ends: Vec<Instant>,
    /// Numbers of packets that arrived in each interval: of the link, then of each class.
    arrived: Vec<u32>,
    /// Packets dropped or marked after the interval of their arrival, by interval and index in `arrived`.
    late: BTreeMap<(usize, usize, Fate), u32>,
}

impl Ended {
    /// Ends an interval, with these arrivals: of the link, then of each class.
    pub(crate) fn push(&mut self, end: Instant, arrived: impl Iterator<Item = u64>) {
        self.ends.push(end);
        self.arrived.extend(arrived.map(|n| u32::try_from(n).unwrap_or(u32::MAX)));
    }

    /// Records the drop or mark of a packet that arrived in a finished interval.
    pub(crate) fn late(&mut self, arrived: Instant, class: usize, fate: Fate) {
        let interval = self.ends.partition_point(|end| *end <= arrived);
        *self.late.entry((interval, 0, fate)).or_default() += 1;
        if class + 1 < self.width() {
            *self.late.entry((interval, class + 1, fate)).or_default() += 1;
        }
    }

    /// Number of columns per interval: the link, and the classes.
    fn width(&self) -> usize {
        self.arrived.len() / self.ends.len().max(1)
    }

    /// Adds late drops and marks to the columns. `paths` holds the column prefixes of the link and of the classes;
    /// `loss_pps` is, by class, the per-flow loss rate that one drop per interval amounts to.
    pub(crate) fn amend(&self, columns: &mut Columns, paths: &[String], loss_pps: &[f64]) {
        for ((interval, place, fate), n) in &self.late {
            let (Some(path), Some(arrived)) =
                (paths.get(*place), self.arrived.get(interval * self.width() + place).filter(|all| **all > 0))
            else {
                continue;
            };
            let (whole, added) = (f64::from(*arrived), f64::from(*n));
            let share = |before: f64| ((before * whole).round() + added) / whole;
            match fate {
                Fate::Marked(_) => columns.change(&format!("{path}.mark_rate"), *interval, share),
                Fate::Dropped(why) => {
                    columns.change(&format!("{path}.drop_rate"), *interval, share);
                    if let Some(one) = place.checked_sub(1).and_then(|class| loss_pps.get(class)) {
                        columns.change(&format!("{path}.loss_rate_pps"), *interval, |before| before + added * one);
                        // If the reason had not occurred before, the column has no value there.
                        let count = |before: f64| if before.is_nan() { added } else { before + added };
                        columns.change(&format!("{path}.drops.{}", why.name()), *interval, count);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_base::Duration;

    /// A late drop or mark is added to the interval of the packet's arrival.
    #[test]
    fn what_is_decided_later_counts_where_the_packet_came() {
        let at = Instant::from_nanos;
        let mut ended = Ended::default();
        // The link, then two classes.
        ended.push(at(100), [10, 4, 6].into_iter());
        ended.push(at(200), [5, 5, 0].into_iter());
        for (arrived, class) in [(99, 1), (0, 1), (100, 0)] {
            ended.late(at(arrived), class, Fate::Dropped(Why::Overflow));
        }
        ended.late(at(199), 0, Fate::Marked(Why::Step));
        let paths = ["l", "a", "b"].map(str::to_owned);
        let mut columns = Columns::default();
        for known in [[0.1, 0.0, 1.0 / 6.0], [0.0; 3]] {
            for (path, rate) in paths.iter().zip(known) {
                columns.set(format!("{path}.drop_rate"), rate);
                columns.set(format!("{path}.mark_rate"), 0.0);
            }
            columns.set("a.loss_rate_pps".to_owned(), 0.0);
            columns.set("b.loss_rate_pps".to_owned(), 0.5);
            columns.set("b.drops.overflow".to_owned(), if known[0] > 0.0 { 1.0 } else { 0.0 });
            columns.end_row();
        }
        ended.amend(&mut columns, &paths, &[0.25, 0.5]);
        let series = Columns::side_by_side(std::iter::once(columns), Duration::from_secs(1)).columns;
        let rows = |name: &str| [series[name][0], series[name][1]];
        assert_eq!((rows("l.drop_rate"), rows("l.mark_rate")), ([0.3, 0.2], [0.0, 0.2]));
        assert_eq!((rows("a.drop_rate"), rows("a.mark_rate")), ([0.0, 0.2], [0.0, 0.2]));
        assert_eq!((rows("b.drop_rate"), rows("b.mark_rate")), ([0.5, 0.0], [0.0, 0.0]));
        assert_eq!((rows("a.loss_rate_pps"), rows("b.loss_rate_pps")), ([0.0, 0.25], [1.5, 0.5]));
        assert_eq!(rows("b.drops.overflow"), [3.0, 0.0]);
        assert!(rows("a.drops.overflow")[0].is_nan(), "there was none of this reason");
        assert_eq!(rows("a.drops.overflow")[1], 1.0, "the first of its reason");
    }
}
