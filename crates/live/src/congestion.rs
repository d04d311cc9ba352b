//! Available congestion controls: the kernel's, and those that can be registered through BPF.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

use crate::LiveError;
use crate::bpf::kernel_types::has_btf;
use crate::bpf::tcp::{OURS, register};
use crate::capabilities::may_load_programs;
use crate::netns::sysctl;

/// Links of the congestion controls registered by this process; they are unregistered when it ends.
static REGISTERED: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// The kernel's available congestion controls (`tcp_available_congestion_control`).
#[must_use]
pub fn controls() -> Vec<String> {
    let text = sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Congestion controls that the kernel lacks but that can be registered through BPF, judging by its BTF and the calling
/// thread's capabilities.
#[must_use]
pub fn addable() -> Vec<&'static str> {
    let known = controls();
    let can = may_load_programs() && has_btf();
    OURS.into_iter().filter(|name| can && !known.iter().any(|k| k == name)).collect()
}

/// Makes a congestion control available: built in, as a module, or registered through BPF until this process ends.
///
/// # Errors
/// When the kernel has none of this name and none can be registered.
pub fn provide(name: &str) -> Result<(), LiveError> {
    // A panic while the lock is held leaves no inconsistent state.
    let mut registered = REGISTERED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let known = controls();
    if known.iter().any(|k| k == name) {
        return Ok(());
    }
    let what = format!("this kernel has no congestion control {name}");
    let has = known.join(", ");
    if !OURS.contains(&name) {
        let others = OURS.join(", ");
        let right = format!(
            "it has {has}, and {others} can be added. A module may provide it: modprobe tcp_{name}; or a BPF \
             program: bpftool struct_ops register FILE"
        );
        return Err(LiveError::lacks(what, right));
    }
    let added = register(name).map_err(|error| {
        let right = format!(
            "it has {has}. That of aqmkit needs root (CAP_BPF, CAP_NET_ADMIN), Linux 6.4 or newer and its types in /sys/kernel/btf/vmlinux; a module may provide it too: modprobe tcp_{name}"
        );
        LiveError::lacks(format!("{what}, and one could not be added: {error}"), right)
    })?;
    registered.push(added);
    Ok(())
}
