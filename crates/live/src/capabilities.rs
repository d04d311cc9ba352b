//! Capabilities needed to set up a link, dropped afterwards.

use caps::{CapSet, Capability, CapsHashSet};

/// The capabilities needed to create a link.
pub const NEEDED: [Capability; 2] = [Capability::CAP_SYS_ADMIN, Capability::CAP_NET_ADMIN];

/// Whether the calling thread may create a link.
#[must_use]
pub fn may_make_links() -> bool {
    NEEDED.iter().all(|c| caps::has_cap(None, CapSet::Effective, *c).unwrap_or(false))
}

/// Drops every capability of the calling thread.
pub fn keep_none() {
    keep(&CapsHashSet::new());
}

/// Drops every capability of the calling thread except those of packet sockets, which are needed when an interface
/// returns. Locked ring memory needs the right to lock memory, and `AF_XDP` needs the right to load its program again.
pub fn keep_only_packets() {
    use Capability::{CAP_BPF, CAP_IPC_LOCK, CAP_NET_ADMIN, CAP_NET_RAW};
    let needed = [CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK, CAP_BPF];
    let has = needed.into_iter().filter(|c| caps::has_cap(None, CapSet::Permitted, *c).unwrap_or(false));
    keep(&has.collect());
}

/// Drops every capability of the calling thread except that of ending processes, because a command may have changed its
/// user.
pub fn keep_only_kill() {
    let has = caps::has_cap(None, CapSet::Permitted, Capability::CAP_KILL).unwrap_or(false);
    keep(&CapsHashSet::from_iter(has.then_some(Capability::CAP_KILL)));
}

fn keep(set: &CapsHashSet) {
    for kind in [CapSet::Effective, CapSet::Permitted] {
        // A process may always drop capabilities.
        let _ = caps::set(None, kind, set);
    }
}
