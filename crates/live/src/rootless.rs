//! Whether an unprivileged user can create links in a user namespace, as `unshare -Urn aqmkit link` does. Tried in a
//! child process.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::tun;

/// The requirements of a link, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create a user namespace.
    Users,
    /// Create a network namespace inside it.
    Network,
    /// Open `/dev/net/tun`.
    File,
    /// Create a TUN device.
    Device,
}

const STEPS: [Step; 4] = [Step::Users, Step::Network, Step::File, Step::Device];

/// A failed step.
#[derive(Debug)]
pub struct Refused {
    /// The first step that failed.
    pub step: Step,
    /// The error of its system call.
    pub error: io::Error,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.step {
            Step::Users => "a user namespace cannot be created",
            Step::Network => "a network namespace cannot be created inside a user namespace",
            Step::File => "/dev/net/tun cannot be opened",
            Step::Device => "a TUN device cannot be created inside a user namespace",
        };
        write!(f, "{what}: {}", self.error)
    }
}

/// Tries all steps in a child process, which has ended when this returns, along with its namespaces and device.
///
/// # Errors
/// The first step that failed. Failure to start the child counts as the first step.
pub fn tried() -> Result<(), Refused> {
    let answer = ask().map_err(|error| Refused { step: Step::Users, error })?;
    match STEPS.get(usize::from(answer[0])) {
        None => Ok(()),
        Some(step) => Err(Refused { step: *step, error: io::Error::from_raw_os_error(answer[1].into()) }),
    }
}

/// The child's answer: the number of the failed step, and the errno.
fn ask() -> io::Result<[u8; 2]> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let maps = [("/proc/self/setgroups", "deny".to_owned())].into_iter();
    let ids = [("/proc/self/uid_map", geteuid().as_raw()), ("/proc/self/gid_map", getegid().as_raw())];
    let maps: Vec<(&str, String)> = maps.chain(ids.map(|(file, id)| (file, format!("0 {id} 1")))).collect();
    let told = write.try_clone()?;
    let steps = move || {
        let answer = match steps(&maps) {
            Ok(()) => [STEPS.len() as u8, 0],
            Err((step, error)) => [step, error.raw_os_error() as u8],
        };
        // If this fails, the parent reads an empty answer.
        let _ = rustix::io::write(told.as_fd(), &answer);
        // SAFETY: ends the process immediately.
        unsafe { libc::_exit(0) }
    };
    let mut command = Command::new("/proc/self/exe");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the closure only makes system calls, allocates nothing, and never returns, so no program is executed.
    unsafe { command.pre_exec(steps) };
    let mut child = command.spawn()?;
    // The child has its own copy; the parent's must be closed to read end-of-file.
    drop((command, write));
    let mut answer = [0; 2];
    let read_all = File::from(read).read_exact(&mut answer);
    child.wait()?;
    read_all.map(|()| answer)
}

/// Runs in the child; on failure the number of the step and the errno.
fn steps(maps: &[(&str, String)]) -> Result<(), (u8, Errno)> {
    let at = |step: u8| move |error| (step, error);
    // SAFETY: the process is single-threaded and short-lived.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(at(0))?;
    for (file, text) in maps {
        let opened = open(*file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        opened.and_then(|opened| rustix::io::write(&opened, text.as_bytes())).map_err(at(0))?;
    }
    // SAFETY: as above.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(at(1))?;
    let file = tun::try_open().map_err(at(2))?;
    tun::try_attach(&file).map_err(at(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parent stays in its namespaces, and reaps the child.
    #[test]
    fn it_is_tried_elsewhere() {
        let place = || [read_link("user"), read_link("net")];
        let before = place();
        // Some machines refuse; the error then names the step.
        let result = tried();
        assert!(result.is_ok() || result.is_err_and(|refused| refused.to_string().contains("cannot be")));
        assert_eq!(place(), before);
    }

    fn read_link(kind: &str) -> std::path::PathBuf {
        std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap()
    }
}
