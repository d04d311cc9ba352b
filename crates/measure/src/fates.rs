//! Drops and marks by the arrival of the packets: a packet that a discipline drops or marks at the head of the queue counts where it
//! arrived, so that no window and no interval has more drops than arrivals.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_base::Instant;

use crate::series::Columns;

/// What a queue did to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Dropped(Why),
    Marked(Why),
}

/// Packets of those that arrived in one stretch of time, by what became of them.
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

/// The intervals of the series that have ended, for the drops and marks that still come to their packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    /// Where each ended.
    ends: Vec<Instant>,
    /// The packets that arrived in each: of the link, then of each class.
    arrived: Vec<u32>,
    /// Packets dropped or marked after the interval of their arrival had ended, by interval and place in `arrived`.
    late: BTreeMap<(usize, usize, Fate), u32>,
}

impl Ended {
    /// An interval has ended, with these arrivals: of the link, then of each class.
    pub(crate) fn push(&mut self, end: Instant, arrived: impl Iterator<Item = u64>) {
        self.ends.push(end);
        self.arrived.extend(arrived.map(|n| u32::try_from(n).unwrap_or(u32::MAX)));
    }

    /// A packet of a class that arrived in one of these intervals is dropped or marked now.
    pub(crate) fn late(&mut self, arrived: Instant, class: usize, fate: Fate) {
        let interval = self.ends.partition_point(|end| *end <= arrived);
        *self.late.entry((interval, 0, fate)).or_default() += 1;
        if class + 1 < self.width() {
            *self.late.entry((interval, class + 1, fate)).or_default() += 1;
        }
    }

    /// The link and the classes.
    fn width(&self) -> usize {
        self.arrived.len() / self.ends.len().max(1)
    }

    /// Adds what came late to the columns. `paths` are those of the link and of the classes; `loss_pps` is what one drop in an
    /// interval adds to the loss rate of a flow, by class.
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
                        // A reason that had not occurred before then has no value there yet.
                        let count = |before: f64| if before.is_nan() { added } else { before + added };
                        columns.change(&format!("{path}.drops.{}", why.name()), *interval, count);
                    }
                }
            }
        }
    }
}
