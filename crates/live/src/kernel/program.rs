//! Loads programs into the kernel.

use std::os::fd::{AsFd, OwnedFd};

use aya::programs::SchedClassifier;
use aya::{Btf, Ebpf, EbpfLoader};

use super::functions::for_this_kernel;
use crate::LiveError;

/// Sizes of maps that depend on the program's use; minimal if unset.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapSizes {
    /// Arrivals that a replay holds at a time.
    pub(super) events: Option<u32>,
    /// Size of the decision log in bytes, a power of two.
    pub(super) decisions: Option<u32>,
}

/// Creates an object's maps and relocates its instructions for the running kernel.
///
/// # Errors
/// When the kernel has no BTF, or permission is missing.
pub(super) fn load(object: &[u8], sizes: MapSizes) -> Result<Ebpf, LiveError> {
    load_as_it_is(&for_this_kernel(object), sizes)
}

/// As [`load`], for an object whose kfunc calls are already resolved.
pub(super) fn load_as_it_is(object: &[u8], sizes: MapSizes) -> Result<Ebpf, LiveError> {
    let types = Btf::from_sys_fs().map_err(|e| {
        LiveError::lacks(
            format!("this kernel does not tell the layout of its structures: {e}"),
            "a kernel with CONFIG_DEBUG_INFO_BTF",
        )
    })?;
    let mut loader = EbpfLoader::new();
    loader.btf(Some(&types));
    for (map, size) in [("events", sizes.events), ("decisions", sizes.decisions)] {
        if let Some(size) = size {
            loader.map_max_entries(map, size);
        }
    }
    loader.load(object).map_err(|e| LiveError::lacks(format!("the program cannot be loaded: {}", chain(&e)), NEEDED))
}

const NEEDED: &str = "Linux 5.15 or later with CONFIG_BPF_SYSCALL, and root; aqmkit doctor says what is there";

/// Has the kernel verify one program of an object.
///
/// # Errors
/// When the verifier rejects it.
pub(super) fn verified(loaded: &mut Ebpf, name: &str) -> Result<OwnedFd, LiveError> {
    let refused = |why: String| LiveError::lacks(format!("the kernel refuses the program: {why}"), NEEDED);
    let program = loaded.program_mut(name).ok_or_else(|| refused(format!("there is no {name} in it")))?;
    let program: &mut SchedClassifier = program.try_into().map_err(|e| refused(chain(&e)))?;
    program.load().map_err(|e| refused(chain(&e)))?;
    let file = program.fd().map_err(|e| refused(chain(&e)))?;
    file.as_fd().try_clone_to_owned().map_err(|e| refused(e.to_string()))
}

/// An error with its sources; of a long verifier log, only the last lines.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        text += &format!(": {deeper}");
        cause = deeper.source();
    }
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(4)..].join(" / ")
}
