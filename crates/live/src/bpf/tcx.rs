//! Traffic control programs at interfaces (`tcx`, Linux 6.6).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::code::Code;
use super::{Attr, Command, load, make, word};
use crate::error::LiveError;

const PROG_TYPE_SCHED_CLS: u32 = 3;

/// The answer of a program that the next one decides, or the kernel goes on.
pub(crate) const NEXT: i32 = -1;
/// The answer that the packet is dropped.
pub(crate) const DROP: i32 = 2;

/// The offset of the mark in `struct __sk_buff`, what programs see of a packet.
pub(crate) const MARK: i16 = 8;

/// The helper `bpf_redirect(interface, flags)`, whose value is the answer of the program.
pub(crate) const REDIRECT: i32 = 23;
/// Its flag that the packet is received at the interface, not sent there.
pub(crate) const RECEIVED: i32 = 1;

/// A place of programs at an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hook {
    /// After reception.
    Ingress = 46,
    /// Before the queue discipline.
    Egress = 47,
}

/// A program at an interface. It is detached when this value is dropped, or the process ends.
#[derive(Debug)]
pub(crate) struct Attached {
    /// The link, which holds the program.
    _link: OwnedFd,
}

impl Attached {
    /// Attaches a program behind those that are there.
    ///
    /// # Errors
    /// When the process may not, there is no such interface, or the kernel has no such programs.
    pub(crate) fn to(index: u32, hook: Hook, code: Code) -> io::Result<Attached> {
        let program = load(&code.finish(), &[(word::PROG_TYPE, PROG_TYPE_SCHED_CLS)])?;
        let link = Attr::new(&[
            (word::LINKED_FILE, program.as_raw_fd() as u32),
            (word::LINK_TARGET, index),
            (word::LINK_ATTACH_TYPE, hook as u32),
        ]);
        // SAFETY: no addresses.
        let link = unsafe { make(Command::LinkCreate, &link) }?;
        Ok(Attached { _link: link })
    }
}

/// The error for people, of what `needs` such programs.
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
