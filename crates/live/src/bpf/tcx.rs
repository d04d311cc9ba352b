//! Attaches programs to the tcx hooks of an interface (Linux 6.6).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::code::Code;
use super::{Attr, Command, bpf_fd, load, word};
use crate::error::LiveError;

const PROG_TYPE_SCHED_CLS: u32 = 3;

/// `TCX_NEXT`: run the next program, or continue as without one.
pub(crate) const NEXT: i32 = -1;
/// `TCX_DROP`.
pub(crate) const DROP: i32 = 2;

/// Offset of `mark` in `struct __sk_buff`.
pub(crate) const MARK: i16 = 8;

/// `BPF_FUNC_redirect`: `bpf_redirect(ifindex, flags)`, whose return value is the program's verdict.
pub(crate) const REDIRECT: i32 = 23;
/// `BPF_F_INGRESS`: redirect to the interface's ingress rather than its egress.
pub(crate) const RECEIVED: i32 = 1;

/// `enum bpf_attach_type` of the tcx hooks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hook {
    /// Before the network stack sees a received packet.
    Ingress = 46,
    /// Before the qdisc.
    Egress = 47,
}

/// An attached program, detached when this value is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Attached {
    /// The BPF link, which holds the program.
    _link: OwnedFd,
}

impl Attached {
    /// Attaches a program after those already attached.
    ///
    /// # Errors
    /// When permission is missing, there is no such interface, or the kernel has no tcx.
    pub(crate) fn to(index: u32, hook: Hook, code: Code) -> io::Result<Attached> {
        let program = load(&code.finish(), &[(word::PROG_TYPE, PROG_TYPE_SCHED_CLS)])?;
        let link = Attr::new(&[
            (word::LINKED_FILE, program.as_raw_fd() as u32),
            (word::LINK_TARGET, index),
            (word::LINK_ATTACH_TYPE, hook as u32),
        ]);
        // SAFETY: no addresses.
        let link = unsafe { bpf_fd(Command::LinkCreate, &link) }?;
        Ok(Attached { _link: link })
    }
}

/// Explains why a tcx program, which `needs` requires, could not be attached.
pub(crate) fn refused(error: io::Error, needs: &str) -> LiveError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => LiveError::lacks(
            "no permission to attach a program to an interface (CAP_NET_ADMIN, CAP_BPF)",
            "run it as root, for example with sudo",
        ),
        Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOSYS) => LiveError::lacks(
            "this kernel cannot attach a traffic control program that ends with its process",
            format!("{needs} needs Linux 6.6 or later"),
        ),
        _ => LiveError::System { doing: "cannot attach a traffic control program".into(), error },
    }
}
