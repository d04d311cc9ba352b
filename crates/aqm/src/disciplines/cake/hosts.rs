//! CAKE's set-associative tables: the queues of flows, and hosts with the number of their bulk flows.
//!
//! A set takes memory when its first flow or host comes: an operator has thousands of these tables, and most of their sets are never used.

/// Queues of a tin, and entries of its tables of hosts.
pub(super) const QUEUES: usize = 1024;
/// Ways of a set: a flow gets the queue of its hash or one of the other seven in its set.
const WAYS: usize = 8;

/// Which sets of a table are in use, and where each is: sets are stored in the order of their first use.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    /// By set, one more than its place; empty until the first one is used.
    place: Vec<u8>,
    used: usize,
}

impl Sets {
    /// The places of the set of a hash, the hash's own first, and whether it was not in use before.
    pub(super) fn ways(&mut self, hash: u32) -> (impl Iterator<Item = usize> + Clone + use<>, bool) {
        if self.place.is_empty() {
            self.place.resize(QUEUES / WAYS, 0);
        }
        let own = hash as usize % QUEUES;
        let place = &mut self.place[own / WAYS];
        let new = *place == 0;
        if new {
            self.used += 1;
            *place = self.used as u8;
        }
        let first = WAYS * (usize::from(*place) - 1);
        ((0..WAYS).map(move |i| first + (own + i) % WAYS), new)
    }

    /// How many places are in use.
    pub(super) fn places(&self) -> usize {
        WAYS * self.used
    }

    /// The places in use by the numbers of their queues, which do not depend on what was used first.
    pub(super) fn by_number(&self) -> impl Iterator<Item = (usize, usize)> {
        let used = self.place.iter().enumerate().filter(|(_, place)| **place > 0);
        used.flat_map(|(set, place)| (0..WAYS).map(move |i| (WAYS * set + i, WAYS * (usize::from(*place) - 1) + i)))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: u32,
    /// Number of its flows with a standing queue.
    bulk: u32,
}

/// The hosts at one end of a tin's flows.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    sets: Sets,
    hosts: Vec<Host>,
}

impl Hosts {
    /// The entry of a host: its own, else one in its set without bulk flows, else that of its hash, which two hosts
    /// then share.
    pub(super) fn place(&mut self, hash: u32) -> usize {
        let (mut ways, new) = self.sets.ways(hash);
        if new {
            self.hosts.resize(self.sets.places(), Host::default());
        }
        let known = ways.clone().find(|&at| self.hosts[at].tag == hash);
        let free = || ways.clone().find(|&at| self.hosts[at].bulk == 0);
        let at = known.or_else(free).or_else(|| ways.next()).unwrap_or_default();
        self.hosts[at].tag = hash;
        at
    }

    /// How many entries are in use.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.sets.places()
    }

    /// Number of the host's flows with a standing queue.
    pub(super) fn bulk(&self, host: usize) -> u32 {
        self.hosts[host].bulk
    }

    /// Increments or decrements that number.
    pub(super) fn count(&mut self, host: usize, more: bool) {
        let bulk = &mut self.hosts[host].bulk;
        *bulk = if more { *bulk + 1 } else { bulk.saturating_sub(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_eight_places_from_the_own_one_on() {
        let mut sets = Sets::default();
        let mut ways = |hash| sets.ways(hash).0.collect::<Vec<_>>();
        // Set 1 is used first, then set 0; then set 1 again.
        assert_eq!(ways(13), [5, 6, 7, 0, 1, 2, 3, 4]);
        assert_eq!(ways(1024 + 7)[..2], [15, 8]);
        assert_eq!(ways(2048 + 8)[..2], [0, 1]);
        let numbers: Vec<(usize, usize)> = sets.by_number().collect();
        assert_eq!((sets.places(), numbers[0], numbers[7], numbers[8]), (16, (0, 8), (7, 15), (8, 0)));
    }

    /// All 128 sets have places of their own.
    #[test]
    fn every_queue_has_a_place() {
        let mut sets = Sets::default();
        let mut places: Vec<usize> = (0..1024).rev().filter_map(|hash| sets.ways(hash).0.next()).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..1024));
    }

    /// Nine hosts of one set: eight have an entry of their own, and the ninth shares.
    #[test]
    fn hosts_share_when_their_set_is_full() {
        let mut hosts = Hosts::default();
        let of_a_set = |i: u32| 1024 * (i + 1) + 3;
        let mut places: Vec<usize> = (0..8)
            .map(|i| {
                let at = hosts.place(of_a_set(i));
                hosts.count(at, true);
                at
            })
            .collect();
        assert_eq!(hosts.place(of_a_set(8)), 3);
        places.sort_unstable();
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
