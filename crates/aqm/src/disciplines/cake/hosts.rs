//! CAKE's set-associative tables: the queues of flows, and hosts with the number of their bulk flows.

/// Queues of a tin, and entries of its tables of hosts.
pub(super) const QUEUES: usize = 1024;
/// Ways of a set: a flow gets the queue of its hash or one of the other seven in its set.
const WAYS: usize = 8;

/// The indices of the set of a hash, the hash's own first.
pub(super) fn ways(hash: u32) -> impl Iterator<Item = usize> {
    let own = hash as usize % QUEUES;
    let (first, inner) = (own - own % WAYS, own % WAYS);
    (0..WAYS).map(move |i| first + (inner + i) % WAYS)
}

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: u32,
    /// Number of its flows with a standing queue.
    bulk: u32,
}

/// The hosts at one end of a tin's flows.
#[derive(Clone, Debug)]
pub(super) struct Hosts(Vec<Host>);

impl Hosts {
    pub(super) fn new() -> Self {
        Hosts(vec![Host::default(); QUEUES])
    }

    /// The entry of a host: its own, else one in its set without bulk flows, else that of its hash, which two hosts
    /// then share.
    pub(super) fn place(&mut self, hash: u32) -> usize {
        let own = hash as usize % QUEUES;
        let known = ways(hash).find(|&at| self.0[at].tag == hash);
        let at = known.or_else(|| ways(hash).find(|&at| self.0[at].bulk == 0)).unwrap_or(own);
        self.0[at].tag = hash;
        at
    }

    /// Number of the host's flows with a standing queue.
    pub(super) fn bulk(&self, host: usize) -> u32 {
        self.0[host].bulk
    }

    /// Increments or decrements that number.
    pub(super) fn count(&mut self, host: usize, more: bool) {
        let bulk = &mut self.0[host].bulk;
        *bulk = if more { *bulk + 1 } else { bulk.saturating_sub(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_eight_places_from_the_own_one_on() {
        assert_eq!(ways(13).collect::<Vec<_>>(), [13, 14, 15, 8, 9, 10, 11, 12]);
        assert_eq!(ways(1024 + 7).next(), Some(7));
    }

    /// Nine hosts of one set: eight have an entry of their own, and the ninth shares.
    #[test]
    fn hosts_share_when_their_set_is_full() {
        let mut hosts = Hosts::new();
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
