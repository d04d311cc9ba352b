//! The available congestion controls: those of the kernel, and those that can be added through BPF.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

use crate::LiveError;
use crate::bpf::kernel_types::tells_types;
use crate::bpf::tcp::{OURS, register};
use crate::capabilities::may_load_programs;
use crate::netns::sysctl;

/// The congestion controls that this process has registered; they are removed when it ends.
static REGISTERED: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// The present congestion controls of the kernel.
#[must_use]
pub fn controls() -> Vec<String> {
    let text = sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Congestion controls that the kernel lacks and that the calling thread can load through BPF, as far as the kernel's types and the rights
/// show.
#[must_use]
pub fn addable() -> Vec<&'static str> {
    let known = controls();
    let can = may_load_programs() && tells_types();
    OURS.into_iter().filter(|name| can && !known.iter().any(|k| k == name)).collect()
}

/// Ensures that a congestion control is available: built in, as a module, or registered here through BPF. The latter
/// remains as long as the process.
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
