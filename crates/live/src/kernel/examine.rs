//! Checks this kernel's support for in-kernel disciplines.

use std::{fs, io};

use aqmkit_base::BitRate;
use aqmkit_kernel::CLASSIFIERS;
use aqmkit_packets::wire::Classes;

use super::qdisc::WRAPPER;
use super::{Place, program};
use crate::LiveError;
use crate::capabilities::may_make_links;
use crate::netns::Netns;
use crate::tun::Tun;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The requirement that was checked.
    pub name: &'static str,
    /// The feature that was found, or the reason why it is missing.
    pub what: Result<String, String>,
    /// The remedy.
    pub right: &'static str,
}

/// Checks everything that `aqmkit kernel` needs, in a separate namespace.
#[must_use]
pub fn examine() -> Vec<Found> {
    let types = fs::metadata("/sys/kernel/btf/vmlinux").map(|m| format!("available, {} KiB", m.len() / 1024));
    vec![
        Found {
            name: "kernel types",
            what: types.map_err(|e| e.to_string()),
            right: "a kernel with CONFIG_DEBUG_INFO_BTF",
        },
        Found {
            name: "BPF JIT",
            what: jit(&fs::read_to_string("/proc/sys/net/core/bpf_jit_enable")),
            right: "sysctl net.core.bpf_jit_enable=1",
        },
        Found {
            name: "kernel classifier",
            what: installs(Place::Classifier).map(|()| format!("works: {}", names())),
            right: "Linux 5.15 or later with NET_CLS_BPF, NET_SCH_INGRESS and NET_SCH_TBF, and root",
        },
        queue_discipline(),
    ]
}

/// The meaning of `net.core.bpf_jit_enable`.
fn jit(setting: &io::Result<String>) -> Result<String, String> {
    match setting.as_deref().map(str::trim) {
        Ok("0") => Err("off: each decision takes several times as long".to_owned()),
        Ok(_) => Ok("on".to_owned()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Ok("unknown here: only the first network namespace of the machine tells".to_owned())
        }
        Err(e) => Ok(format!("unknown here: {e}")),
    }
}

/// The kernel feature or permission without which no classifier can be installed. A kernel that refuses one particular program is not
/// reported here.
#[must_use]
pub fn lacking() -> Option<String> {
    if !may_make_links() {
        return Some("no permission to load BPF programs".to_owned());
    }
    if fs::metadata("/sys/kernel/btf/vmlinux").is_err() {
        return Some("the kernel does not tell the layout of its structures".to_owned());
    }
    let tried = Netns::create().and_then(|n| {
        n.inside(|| {
            let _device = Tun::create("aqmkit0")?;
            let index = crate::netlink::Netlink::open()?.interface("aqmkit0")?.index;
            super::tc::Tc::open(index)?.try_clsact()
        })
    });
    tried.err().map(|e| e.to_string())
}

/// Whether aqmkit's BPF qdisc can be installed. A kernel without BPF qdiscs is fine: the classifier does not need one.
fn queue_discipline() -> Found {
    let what = match lacks_queues() {
        None => installs(Place::Queue).map(|()| format!("works: {}", names())),
        Some(lacking) => Ok(format!("{lacking}; the classifier needs none")),
    };
    let right = "Linux 6.16 or later with NET_SCH_BPF, NET_CLS_BPF and NET_SCH_INGRESS, and root";
    Found { name: "kernel queue", what, right }
}

/// The feature that the kernel lacks for BPF qdiscs, if any, judging by its BTF.
#[must_use]
pub fn lacks_queues() -> Option<String> {
    let name = [b"\0", WRAPPER.as_bytes(), b"\0"].concat();
    let types = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let has = types.windows(name.len()).any(|window| window == name);
    (!has).then(|| "this kernel has no queue disciplines in BPF (Linux 6.16, NET_SCH_BPF)".to_owned())
}

/// The disciplines that can run in the kernel, and those with a single queue that cannot, with a pointer to the reason.
fn names() -> String {
    let names = CLASSIFIERS.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
    format!("{names}; not choke and red-pd: aqmkit describe choke")
}

/// Installs RED on a device of a separate namespace, and removes it.
fn installs(place: Place) -> Result<(), String> {
    let namespace = Netns::create().map_err(|e| e.to_string())?;
    let tried = namespace.inside(|| {
        let _device = Tun::create("aqmkit0")?;
        let spec = aqmkit_aqm::registry::Spec::named("red").ok_or(io::ErrorKind::NotFound)?;
        let wanted = super::Wanted {
            spec,
            rate: BitRate::from_mbps(10),
            mean_packet: aqmkit_base::Bytes(1000),
            classes: Classes::default(),
            place,
        };
        super::install("aqmkit0", &wanted).map_err(|e| io::Error::other(without_advice(e)))?;
        super::remove("aqmkit0").map_err(|e| io::Error::other(without_advice(e)))
    });
    tried.map_err(|e| e.to_string())
}

/// The error without its advice, which is to run doctor.
fn without_advice(error: LiveError) -> String {
    match error {
        LiveError::Lacks { what, .. } => what,
        other => other.to_string(),
    }
}

/// Checks whether the verifier accepts a discipline's program.
///
/// # Errors
/// The verifier's reason for the rejection.
pub fn verifies(name: &str) -> Result<(), LiveError> {
    let classifier = aqmkit_kernel::classifier(name)
        .map_err(|error| LiveError::Parameter { direction: "kernel".to_owned(), error })?;
    let mut loaded = program::load(classifier.object(), program::MapSizes::default())?;
    program::verified(&mut loaded, "classify").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_cannot_be_read_is_unknown() {
        assert_eq!(jit(&Ok("1\n".into())), Ok("on".to_owned()));
        assert!(jit(&Ok("0\n".into())).is_err_and(|why| why.starts_with("off")));
        let unknown = |kind: io::ErrorKind| jit(&Err(kind.into())).unwrap();
        assert!(unknown(io::ErrorKind::NotFound).starts_with("unknown here: only the first network namespace"));
        assert_eq!(unknown(io::ErrorKind::PermissionDenied), "unknown here: permission denied");
    }

    /// Errors of `aqmkit kernel` advise running doctor, which prints this.
    #[test]
    fn what_is_missing_is_told_without_the_advice_to_look_here() {
        let error = LiveError::lacks("the program cannot be loaded: no", "root; aqmkit doctor says what is there");
        assert_eq!(without_advice(error), "the program cannot be loaded: no");
    }
}
