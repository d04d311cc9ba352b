//! Which application lost which packet, where links and hosts are measured in different places.
//!
//! A link knows the connections of the packets that it drops, the hosts know whose connections they are. Both are joined when the run is
//! over. A key of a connection may come back: its last owner before the drop counts.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_base::{FlowKey, Instant};

/// Drops that a link lists; with more, nobody knows whose they were.
const MOST: usize = 1 << 20;

/// The packets that a link dropped, by connection.
#[derive(Clone, Debug, Default)]
pub struct DropLog {
    entries: Vec<(FlowKey, Instant)>,
    overflowed: bool,
}

/// Whose connections there were.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// By key: from when on it belonged to which application, in order.
    of: BTreeMap<FlowKey, Vec<(Instant, u32)>>,
    /// Applications with packets that have no such key.
    unknown: BTreeSet<u32>,
}

impl DropLog {
    /// A packet of a connection has been dropped.
    pub fn add(&mut self, connection: FlowKey, now: Instant) {
        if self.entries.len() < MOST {
            self.entries.push((connection, now));
        } else {
            self.overflowed = true;
        }
    }
}

impl Owners {
    /// From `from` on a connection belongs to an application.
    pub fn owns(&mut self, app: u32, connection: FlowKey, from: Instant) {
        self.of.entry(connection).or_default().push((from, app));
    }

    /// An application has sent packets that cannot be told from those of others.
    pub fn cannot_tell(&mut self, app: u32) {
        self.unknown.insert(app);
    }

    /// Packets lost by each of `apps` applications; nothing for those of which it is not known.
    #[must_use]
    pub fn drops(&self, apps: usize, logs: &[DropLog]) -> Vec<Option<u64>> {
        if logs.iter().any(|log| log.overflowed) {
            return vec![None; apps];
        }
        let mut drops = vec![Some(0); apps];
        for (connection, at) in logs.iter().flat_map(|log| &log.entries) {
            if let Some(Some(count)) = self.owner(*connection, *at).and_then(|app| drops.get_mut(app as usize)) {
                *count += 1;
            }
        }
        for app in &self.unknown {
            drops.get_mut(*app as usize).into_iter().for_each(|count| *count = None);
        }
        drops
    }

    fn owner(&self, connection: FlowKey, at: Instant) -> Option<u32> {
        let owners = self.of.get(&connection)?;
        owners.iter().rev().find(|(from, _)| *from <= at).map(|(_, app)| *app)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_is_its_owners_at_that_time() {
        let at = Instant::from_nanos;
        let mut owners = Owners::default();
        owners.owns(0, FlowKey(7), at(10));
        owners.owns(1, FlowKey(7), at(20));
        owners.owns(2, FlowKey(8), at(0));
        owners.cannot_tell(2);
        let mut log = DropLog::default();
        for (key, ns) in [(7, 5), (7, 10), (7, 19), (7, 20), (8, 3), (9, 3)] {
            log.add(FlowKey(key), at(ns));
        }
        assert_eq!(owners.drops(4, &[log]), [Some(2), Some(1), None, Some(0)]);
    }

    #[test]
    fn a_list_that_is_too_long_tells_nothing() {
        let mut log = DropLog::default();
        (0..=MOST).for_each(|_| log.add(FlowKey(1), Instant::ZERO));
        assert_eq!(Owners::default().drops(2, &[log]), [None, None]);
    }
}
