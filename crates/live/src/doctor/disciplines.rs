//! Which of `tc`'s queue disciplines are available: as a kernel module, and in `tc` itself.

use std::path::Path;
use std::process::Command;

/// Availability of a discipline on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Whether the kernel has it, built in or as a module; `None` if unknown.
    pub kernel: Option<bool>,
    /// Whether `tc` supports it; `None` without `tc`.
    pub tc: Option<bool>,
}

impl Known {
    /// Looks up a discipline by its `tc` name.
    #[must_use]
    pub fn of(name: &str) -> Known {
        Known { kernel: in_kernel(name), tc: in_tc(name) }
    }

    /// A sentence saying what is missing; empty if nothing is known to be.
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

/// Looks for `sch_NAME` among loaded, built-in and installed modules.
fn in_kernel(name: &str) -> Option<bool> {
    // FIFOs are part of every kernel with CONFIG_NET_SCHED.
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
    // Without both lists nothing is known: a container does not see its host's modules.
    (found || lists.iter().all(Option::is_some)).then_some(found)
}

/// Asks `tc` to add the discipline to a nonexistent device with an option that no discipline has: if `tc` supports the
/// discipline, it rejects the option; otherwise it complains that it cannot parse options of this kind.
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

    /// Every machine has a FIFO; an unknown name is missing wherever that can be told.
    #[test]
    fn this_machine_has_a_fifo_and_not_everything() {
        assert_eq!(Known::of("pfifo").kernel, Some(true));
        let nonsense = Known::of("no_such_thing");
        assert!(nonsense.kernel != Some(true) && nonsense.tc != Some(true), "{nonsense:?}");
    }
}
