//! Which congestion controls connections can use: the kernel's, and ours where it lacks one.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

use crate::LiveError;
use crate::bpf::kernel_types::tells_types;
use crate::bpf::tcp::{OURS, register};
use crate::netns::sysctl;

/// What this process has registered. It goes with the process, however that ends.
static REGISTERED: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// Those that the kernel has at the moment.
#[must_use]
pub fn controls() -> Vec<String> {
    let text = sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Those that the kernel lacks and that can be loaded through BPF, as far as its types tell: whether the process may is another thing.
#[must_use]
pub fn addable() -> Vec<&'static str> {
    let known = controls();
    let can = tells_types();
    OURS.into_iter().filter(|name| can && !known.iter().any(|k| k == name)).collect()
}

/// Makes sure that the kernel has a congestion control: its own, a module's or a BPF program's, which is one of ours where
/// that is all there is. Ours stay for as long as the process lives.
///
/// # Errors
/// When there is none of this name, or ours cannot be loaded.
pub fn provide(name: &str) -> Result<(), LiveError> {
    // Nothing is left half done by a thread that panics here.
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
