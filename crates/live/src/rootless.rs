//! Whether a user without rights can make links in a user namespace, as `unshare -Urn aqmkit link` does. It is tried in a child process.

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

/// What a link needs, in the order in which it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A user namespace.
    Users,
    /// A network namespace inside.
    Network,
    /// The file `/dev/net/tun`.
    File,
    /// A TUN device.
    Device,
}

const STEPS: [Step; 4] = [Step::Users, Step::Network, Step::File, Step::Device];

/// What could not be done.
#[derive(Debug)]
pub struct Refused {
    /// The first step that failed.
    pub step: Step,
    /// Why.
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

/// Tries all steps. The child process has ended when this returns, and its namespaces and its device with it.
///
/// # Errors
/// The first step that failed. That no child process can be started counts as the first step.
pub fn tried() -> Result<(), Refused> {
    let answer = ask().map_err(|error| Refused { step: Step::Users, error })?;
    match STEPS.get(usize::from(answer[0])) {
        None => Ok(()),
        Some(step) => Err(Refused { step: *step, error: io::Error::from_raw_os_error(answer[1].into()) }),
    }
}

/// The answer of the child: the number of the step that failed, and the error.
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
        // The parent reads nothing then.
        let _ = rustix::io::write(told.as_fd(), &answer);
        // SAFETY: it ends the process at once.
        unsafe { libc::_exit(0) }
    };
    let mut command = Command::new("/proc/self/exe");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the closure makes system calls only, allocates nothing, and does not return, so that nothing is executed.
    unsafe { command.pre_exec(steps) };
    let mut child = command.spawn()?;
    // The closure has another one.
    drop((command, write));
    let mut answer = [0; 2];
    let read_all = File::from(read).read_exact(&mut answer);
    child.wait()?;
    read_all.map(|()| answer)
}

/// The steps, in the child; the number of the one that fails.
fn steps(maps: &[(&str, String)]) -> Result<(), (u8, Errno)> {
    let at = |step: u8| move |error| (step, error);
    // SAFETY: the process has one thread and ends soon.
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

    /// The process itself stays where it is, and its children are waited for.
    #[test]
    fn it_is_tried_elsewhere() {
        let place = || [read_link("user"), read_link("net")];
        let before = place();
        // Some machines refuse, and each names the step.
        let result = tried();
        assert!(result.is_ok() || result.is_err_and(|refused| refused.to_string().contains("cannot be")));
        assert_eq!(place(), before);
    }

    fn read_link(kind: &str) -> std::path::PathBuf {
        std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap()
    }
}
