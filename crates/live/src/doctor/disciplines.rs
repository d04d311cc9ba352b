//! Which queue disciplines of `tc` this machine has: the kernel's module, and the word in `tc`.

use std::path::Path;
use std::process::Command;

/// What is known of a discipline on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Whether the kernel has it, built in or as a module; `None` if that cannot be found out.
    pub kernel: Option<bool>,
    /// Whether `tc` knows the word; `None` without `tc`.
    pub tc: Option<bool>,
}

impl Known {
    /// What is known of the discipline that `tc` calls `name`.
    #[must_use]
    pub fn of(name: &str) -> Known {
        Known { kernel: in_kernel(name), tc: in_tc(name) }
    }

    /// What is missing, as a sentence; empty if nothing is known to be.
    #[must_use]
    pub fn missing(self, name: &str) -> String {
        let release = release().unwrap_or_else(|| "of this machine".to_owned());
        match (self.kernel, self.tc) {
            (Some(false), Some(false)) => format!("The kernel {release} has no {name}, and tc does not know it."),
            (Some(false), _) => format!("The kernel {release} has no {name}."),
            (_, Some(false)) => format!("tc does not know {name}; a newer iproute2 does."),
            _ => String::new(),
        }
    }
}

fn release() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned())
}

/// Looks for `sch_NAME` among what is loaded, what is built in and the modules on the disk.
fn in_kernel(name: &str) -> Option<bool> {
    // A FIFO is part of every kernel that schedules packets.
    if ["pfifo", "bfifo"].contains(&name) {
        return Some(true);
    }
    let module = format!("sch_{name}");
    if Path::new("/sys/module").join(&module).is_dir() {
        return Some(true);
    }
    let directory = Path::new("/lib/modules").join(release()?);
    let lists = ["modules.builtin", "modules.dep"].map(|list| std::fs::read_to_string(directory.join(list)).ok());
    let found = lists.iter().flatten().any(|text| text.contains(&format!("/{module}.ko")));
    // Without both lists nothing is known: a container has none of its host's.
    (found || lists.iter().all(Option::is_some)).then_some(found)
}

/// Asks `tc` to put it on a device that is not there, with a word that no discipline has: of a discipline that it knows it asks what that is, and of
/// another one it says that it cannot read options.
fn in_tc(name: &str) -> Option<bool> {
    let words = ["qdisc", "replace", "dev", "aqmkit-no-device", "root", name, "aqmkit-no-word"];
    let output = Command::new("tc").args(words).output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    Some(!said.contains("Unknown qdisc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let known = |kernel, tc| Known { kernel, tc };
        assert_eq!(known(None, None).missing("dualpi2"), "");
        assert!(known(Some(true), Some(false)).missing("dualpi2").contains("newer iproute2"));
        assert!(known(Some(false), Some(true)).missing("dualpi2").ends_with("has no dualpi2."));
    }

    /// A FIFO is everywhere, and a name that nobody has is nowhere where that can be told.
    #[test]
    fn this_machine_has_a_fifo_and_not_everything() {
        assert_eq!(Known::of("pfifo").kernel, Some(true));
        let nonsense = Known::of("no_such_thing");
        assert!(nonsense.kernel != Some(true) && nonsense.tc != Some(true), "{nonsense:?}");
    }
}
