//! CAKE's filter of TCP acknowledgements.

use serde::{Deserialize, Serialize};

use crate::packet::Ack;

/// Whether acknowledgements that a later one makes superfluous are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AckFilter {
    /// None is.
    #[default]
    Off,
    /// Drops the older of two superfluous ones, so that loss recovery still sees every other one.
    On,
    /// Drops also a single one if the arriving one follows it directly.
    Aggressive,
}

/// Whether `late` is after `early`, as 32-bit sequence numbers.
fn after(late: u32, early: u32) -> bool {
    (late.wrapping_sub(early) as i32) > 0
}

/// Whether `new` supersedes `old`: `old` is a pure acknowledgement that is not higher, and all its SACK blocks are
/// below `new`.
fn superfluous(old: Ack, new: Ack) -> bool {
    if !old.pure || after(old.number, new.number) {
        return false;
    }
    let old_blocks = after(old.sack_end, old.number);
    let new_blocks = after(new.sack_end, new.number);
    if old_blocks {
        // Blocks are not compared with those of the new one; only those below its number are certainly covered.
        return !after(old.sack_end, new.number);
    }
    new_blocks || after(new.number, old.number)
}

/// `cake_ack_filter`: which packet of a queue to drop in favour of the last one, which has just arrived. `acks` has the
/// acknowledgements of its connection with their positions, from the head on, without the last; `new` is at position
/// `last`.
pub(super) fn to_drop(
    filter: AckFilter,
    acks: impl Iterator<Item = (usize, Ack)>,
    last: usize,
    new: Ack,
) -> Option<usize> {
    let mut eligible: Option<(usize, u8)> = None;
    let mut found = 0;
    for (at, old) in acks {
        if eligible.is_some_and(|(_, marks)| marks != old.marks) {
            // Dropping it would lose its ECN feedback.
            eligible = None;
            found -= 1;
        }
        if !superfluous(old, new) {
            continue;
        }
        eligible = eligible.or(Some((at, old.marks)));
        found += 1;
        if found > 1 {
            return eligible.map(|(first, _)| first);
        }
    }
    let (first, marks) = eligible?;
    (filter == AckFilter::Aggressive && first + 1 == last && marks == new.marks).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ack(number: u32) -> Ack {
        Ack { connection: 1, number, sack_end: number, pure: true, marks: 0 }
    }

    fn dropped(filter: AckFilter, old: &[Ack], new: Ack) -> Option<usize> {
        to_drop(filter, old.iter().copied().enumerate(), old.len(), new)
    }

    #[test]
    fn the_older_of_two_goes() {
        assert_eq!(dropped(AckFilter::On, &[ack(1000)], ack(2000)), None, "one stays");
        assert_eq!(dropped(AckFilter::On, &[ack(1000), ack(2000)], ack(3000)), Some(0));
        assert_eq!(dropped(AckFilter::Aggressive, &[ack(1000)], ack(2000)), Some(0));
        assert_eq!(dropped(AckFilter::Aggressive, &[ack(u32::MAX - 5)], ack(3)), Some(0), "numbers go round");
    }

    #[test]
    fn what_says_something_of_its_own_stays() {
        let data = Ack { pure: false, ..ack(1000) };
        let echo = Ack { marks: 1, ..ack(1000) };
        let blocks = Ack { sack_end: 9000, ..ack(1000) };
        for old in [ack(2000), ack(3000), data, echo, blocks] {
            assert_eq!(dropped(AckFilter::Aggressive, &[old], ack(2000)), None, "{old:?}");
        }
        assert_eq!(dropped(AckFilter::Aggressive, &[blocks], ack(9000)), Some(0));
        let more = Ack { sack_end: 9000, ..ack(2000) };
        assert_eq!(dropped(AckFilter::Aggressive, &[ack(2000)], more), Some(0), "blocks are news");
    }

    /// An ECN echo separates: acknowledgements before it are not merged with those after it.
    #[test]
    fn a_change_of_the_ecn_echo_is_kept() {
        let echo = |number| Ack { marks: 1, ..ack(number) };
        assert_eq!(dropped(AckFilter::On, &[ack(1000), echo(2000)], echo(3000)), None);
        assert_eq!(dropped(AckFilter::On, &[ack(1000), echo(2000), echo(3000)], echo(4000)), Some(1));
    }
}
