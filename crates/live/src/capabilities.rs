//! Capabilities needed to set up a link, dropped afterwards.

use caps::{CapSet, Capability, CapsHashSet};

/// What making a link needs.
pub const NEEDED: [Capability; 2] = [Capability::CAP_SYS_ADMIN, Capability::CAP_NET_ADMIN];

/// Whether the calling thread may make a link.
#[must_use]
pub fn may_make_links() -> bool {
    NEEDED.iter().all(|c| caps::has_cap(None, CapSet::Effective, *c).unwrap_or(false))
}

/// Gives up every capability of the calling thread.
pub fn keep_none() {
    keep(&CapsHashSet::new());
}

/// Gives up every capability of the calling thread but those that packet sockets need: an interface may come back. Its
/// ring is memory, which a process that locks all of its own may only have with the right to lock; and `AF_XDP` needs its program
/// again.
pub fn keep_only_packets() {
    use Capability::{CAP_BPF, CAP_IPC_LOCK, CAP_NET_ADMIN, CAP_NET_RAW};
    let needed = [CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK, CAP_BPF];
    let has = needed.into_iter().filter(|c| caps::has_cap(None, CapSet::Permitted, *c).unwrap_or(false));
    keep(&has.collect());
}

/// Gives up every capability of the calling thread but that of ending processes: a command may have changed its user.
pub fn keep_only_kill() {
    let has = caps::has_cap(None, CapSet::Permitted, Capability::CAP_KILL).unwrap_or(false);
    keep(&CapsHashSet::from_iter(has.then_some(Capability::CAP_KILL)));
}

fn keep(set: &CapsHashSet) {
    for kind in [CapSet::Effective, CapSet::Permitted] {
        // A process may always have less; one that has nothing is left as it is.
        let _ = caps::set(None, kind, set);
    }
}
