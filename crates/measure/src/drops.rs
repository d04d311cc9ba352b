//! Assigns dropped packets to applications, if links and hosts are measured in different places.
//!
//! A link knows the connections of the packets that it drops; hosts know the applications of the connections. The two
//! are joined after the run. The key of a connection may be reused: the drop belongs to its last owner before the drop.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_base::{FlowKey, Instant};

/// Maximum number of drops that a link lists; if there are more, none can be assigned.
const MOST: usize = 1 << 20;

/// The packets that a link dropped, by connection.
#[derive(Clone, Debug, Default)]
pub struct DropLog {
    entries: Vec<(FlowKey, Instant)>,
    overflowed: bool,
}

/// The applications of connections.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// By key: the applications that owned the connection, each with the start of its ownership, in order.
    of: BTreeMap<FlowKey, Vec<(Instant, u32)>>,
    /// Applications whose packets have no unique key.
    unknown: BTreeSet<u32>,
}

impl DropLog {
    /// Records the drop of a packet of a connection.
    pub fn add(&mut self, connection: FlowKey, now: Instant) {
        if self.entries.len() < MOST {
            self.entries.push((connection, now));
        } else {
            self.overflowed = true;
        }
    }
}

impl Owners {
    /// Records that a connection belongs to an application from `from` on.
    pub fn owns(&mut self, app: u32, connection: FlowKey, from: Instant) {
        self.of.entry(connection).or_default().push((from, app));
    }

    /// Records that an application's packets share a connection key with those of others.
    pub fn cannot_tell(&mut self, app: u32) {
        self.unknown.insert(app);
    }

    /// Packets lost by each of `apps` applications; `None` if unknown.
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
