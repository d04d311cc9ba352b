//! Capabilities: checked before a link is set up, dropped afterwards.

use caps::{CapSet, Capability, CapsHashSet};

/// Needed to create a link: namespaces, devices, routes.
pub const NEEDED: [Capability; 2] = [Capability::CAP_SYS_ADMIN, Capability::CAP_NET_ADMIN];

/// Whether the calling thread may create a link.
#[must_use]
pub fn may_make_links() -> bool {
    NEEDED.iter().all(|c| caps::has_cap(None, CapSet::Effective, *c).unwrap_or(false))
}

/// Whether the calling thread may load BPF programs and register them with the kernel. Capabilities in a child user
/// namespace do not count.
#[must_use]
pub fn may_load_programs() -> bool {
    let has = |one| caps::has_cap(None, CapSet::Effective, one).unwrap_or(false);
    let bpf = has(Capability::CAP_BPF) || has(Capability::CAP_SYS_ADMIN);
    bpf && has(Capability::CAP_NET_ADMIN) && in_first_user_namespace()
}

/// Whether this process is in the initial user namespace.
fn in_first_user_namespace() -> bool {
    /// `PROC_USER_INIT_INO` of Linux's `include/linux/proc_ns.h`.
    const FIRST: &str = "user:[4026531837]";
    // A kernel without user namespaces has no such file.
    std::fs::read_link("/proc/self/ns/user").map_or(true, |place| place.as_os_str() == FIRST)
}

/// Drops every capability of the calling thread.
pub fn keep_none() {
    keep(&CapsHashSet::new());
}

/// Drops every capability of the calling thread except those of packet sockets, needed when an interface returns:
/// `CAP_NET_RAW` and `CAP_NET_ADMIN`, `CAP_IPC_LOCK` for locked ring memory, and `CAP_BPF` because `AF_XDP` reloads its
/// program.
pub fn keep_only_packets() {
    use Capability::{CAP_BPF, CAP_IPC_LOCK, CAP_NET_ADMIN, CAP_NET_RAW};
    let needed = [CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK, CAP_BPF];
    let has = needed.into_iter().filter(|c| caps::has_cap(None, CapSet::Permitted, *c).unwrap_or(false));
    keep(&has.collect());
}

/// Drops every capability of the calling thread except `CAP_KILL`: a command may run as another user (`--user`), and
/// its children may change their user (`sudo`). A pidfd opened earlier does not help, since the kernel checks the
/// sender's credentials at each signal.
pub fn keep_only_kill() {
    let has = caps::has_cap(None, CapSet::Permitted, Capability::CAP_KILL).unwrap_or(false);
    keep(&CapsHashSet::from_iter(has.then_some(Capability::CAP_KILL)));
}

fn keep(set: &CapsHashSet) {
    for kind in [CapSet::Effective, CapSet::Permitted] {
        // Dropping capabilities is always permitted.
        let _ = caps::set(None, kind, set);
    }
}
