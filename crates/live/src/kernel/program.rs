//! Loading a program into the kernel.

use std::os::fd::{AsFd, OwnedFd};

use aya::programs::SchedClassifier;
use aya::{Btf, Ebpf, EbpfLoader};

use super::functions::for_this_kernel;
use crate::LiveError;

/// How large the maps are whose size depends on what a program is for; as small as possible where it is left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    /// Arrivals that a replay holds.
    pub(super) events: Option<u32>,
    /// Bytes of decisions that wait for their reader, a power of two.
    pub(super) decisions: Option<u32>,
}

/// The maps and instructions of an object, with the offsets of the running kernel.
///
/// # Errors
/// When the kernel has no type information, or does not let the process.
pub(super) fn load(object: &[u8], room: Room) -> Result<Ebpf, LiveError> {
    load_as_it_is(&for_this_kernel(object), room)
}

/// The same of an object that is meant for this kernel.
pub(super) fn load_as_it_is(object: &[u8], room: Room) -> Result<Ebpf, LiveError> {
    let types = Btf::from_sys_fs().map_err(|e| {
        LiveError::lacks(
            format!("this kernel does not tell the layout of its structures: {e}"),
            "a kernel with CONFIG_DEBUG_INFO_BTF",
        )
    })?;
    let mut loader = EbpfLoader::new();
    loader.btf(Some(&types));
    for (map, size) in [("events", room.events), ("decisions", room.decisions)] {
        if let Some(size) = size {
            loader.map_max_entries(map, size);
        }
    }
    loader.load(object).map_err(|e| LiveError::lacks(format!("the program cannot be loaded: {}", chain(&e)), NEEDED))
}

const NEEDED: &str = "Linux 5.15 or later with CONFIG_BPF_SYSCALL, and root; aqmkit doctor says what is there";

/// Lets the kernel verify one program of an object.
///
/// # Errors
/// When the kernel refuses it.
pub(super) fn verified(loaded: &mut Ebpf, name: &str) -> Result<OwnedFd, LiveError> {
    let refused = |why: String| LiveError::lacks(format!("the kernel refuses the program: {why}"), NEEDED);
    let program = loaded.program_mut(name).ok_or_else(|| refused(format!("there is no {name} in it")))?;
    let program: &mut SchedClassifier = program.try_into().map_err(|e| refused(chain(&e)))?;
    program.load().map_err(|e| refused(chain(&e)))?;
    let file = program.fd().map_err(|e| refused(chain(&e)))?;
    file.as_fd().try_clone_to_owned().map_err(|e| refused(e.to_string()))
}

/// An error with what caused it; of a long log, the last lines.
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
