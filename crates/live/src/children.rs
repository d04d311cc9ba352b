//! Starts and ends commands inside a namespace.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

pub use rustix::process::Pid;
use rustix::process::{
    Signal, WaitOptions, WaitStatus, kill_process, set_child_subreaper, set_parent_process_death_signal, wait,
};

use crate::netns::{Netns, processes};
use crate::user::User;

/// Time between SIGTERM and SIGKILL.
const PATIENCE: Duration = Duration::from_secs(2);

/// Interval at which processes are polled for exit.
const PAUSE: Duration = Duration::from_millis(10);

/// The child processes, and their descendants.
#[derive(Debug)]
pub struct Children {
    statuses: Vec<(Pid, WaitStatus)>,
    user: Option<User>,
}

impl Children {
    /// Makes this process a subreaper, so that orphaned descendants become its children.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn adopt() -> io::Result<Self> {
        set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(Children { statuses: Vec::new(), user: None })
    }

    /// Sets the user of further commands; `None` for the user of this process.
    pub fn run_as(&mut self, user: Option<User>) {
        self.user = user;
    }

    /// Starts a command in a namespace, with its standard output in `output`. It is killed when the calling *thread*
    /// ends for any reason.
    ///
    /// # Errors
    /// When the command cannot be started.
    pub fn start(
        &mut self,
        command: &[OsString],
        namespace: &Netns,
        env: &[(&str, String)],
        output: Stdio,
    ) -> io::Result<Pid> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
        let inside = namespace.try_clone()?;
        let mut process = Command::new(program);
        process.args(arguments).envs(env.iter().map(|(k, v)| (k, v))).stdout(output);
        let user = self.user.clone();
        if let Some(user) = &user {
            process.env("HOME", &user.home).env("USER", &user.name).env("LOGNAME", &user.name);
        }
        let before = move || {
            inside.enter()?;
            user.as_ref().map_or(Ok(()), User::become_it)?;
            // Last, because a change of credentials resets it.
            Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
        };
        // SAFETY: between fork and exec the closure only makes system calls and allocates nothing.
        unsafe { process.pre_exec(before) };
        let child = process.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| io::Error::other("a process without a number"))
    }

    /// Collects the exit status of every child that has ended, including those in other process groups, such as
    /// `timeout`.
    pub fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            self.statuses.push((pid, status));
        }
    }

    /// The exit status of an ended child: its exit code, or 128 plus the signal number, as in shells.
    #[must_use]
    pub fn ended(&self, pid: Pid) -> Option<u8> {
        let (_, status) = self.statuses.iter().find(|(p, _)| *p == pid)?;
        let code = status.exit_status().or_else(|| status.terminating_signal().map(|s| 128 + s));
        Some(code.and_then(|c| u8::try_from(c).ok()).unwrap_or(1))
    }

    /// Ends all remaining processes: SIGTERM, a grace period, SIGKILL.
    pub fn end(&mut self) {
        self.send(Signal::TERM);
        for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
            self.reap();
            if descendants().is_empty() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        // Each round catches orphans of the previous one, which have become children. Bounded, because a process that
        // cannot be killed (of another user, or in uninterruptible sleep) must not keep this one from ending.
        for _ in 0..100 {
            self.send(Signal::KILL);
            std::thread::sleep(PAUSE);
            self.reap();
            if descendants().is_empty() {
                return;
            }
        }
    }

    fn send(&self, signal: Signal) {
        for pid in descendants() {
            // It has ended already, or belongs to another user.
            let _ = kill_process(pid, signal);
        }
    }
}

/// All descendants of this process, from `/proc`.
fn descendants() -> Vec<Pid> {
    let parents: Vec<(i32, i32)> = processes().into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![rustix::process::getpid().as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        found.extend(
            parents
                .iter()
                .filter(|(pid, p)| *p == above && !found.contains(pid))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        next += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// The parent's process id; `None` for zombies, which need not be killed.
fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name in parentheses may contain any character.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    if state == "Z" { None } else { fields.next()?.parse().ok() }
}
