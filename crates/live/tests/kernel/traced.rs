//! Runs one of these tests in a child process, which is killed after a given number of netlink messages.

#![allow(unsafe_code, reason = "a process is traced by system calls")]

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use aqmkit_live::netns::Netns;

/// Set in the child's environment.
pub(super) const CHILD: &str = "AQMKIT_TEST_CHILD";
/// `PTRACE_GET_SYSCALL_INFO`, and the used part of `struct ptrace_syscall_info` (`linux/ptrace.h`).
const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
const ENTRY: u8 = 1;

#[repr(C)]
#[derive(Default)]
struct Info {
    op: u8,
    unused: [u8; 3],
    arch: u32,
    pointers: [u64; 2],
    number: u64,
    arguments: [u64; 6],
}

fn checked(answer: libc::c_long) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits until a thread of the child stops or ends; returns the thread and its status.
fn wait(pid: libc::pid_t) -> io::Result<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    // SAFETY: the status outlives the call. The child has its own process group.
    let thread = unsafe { libc::waitpid(-pid, &raw mut status, libc::__WALL) };
    checked(thread.into()).map(|()| (thread, status))
}

/// Runs a test in a namespace and kills it after this many messages. Returns true if it ended earlier.
pub(super) fn run_until(test: &str, namespace: &Netns, messages: usize) -> io::Result<bool> {
    namespace.inside(|| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--exact", test]).env(CHILD, "1").stdout(Stdio::null()).process_group(0);
        // SAFETY: the call is safe between fork and exec.
        unsafe {
            command.pre_exec(|| checked(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0)));
        }
        let mut child = command.spawn()?;
        let ended = follow(child.id() as libc::pid_t, messages);
        // It has ended in any case, and was waited for.
        let _ = child.kill();
        let _ = child.try_wait();
        ended
    })
}

fn follow(pid: libc::pid_t, messages: usize) -> io::Result<bool> {
    const SYSCALL_STOP: libc::c_int = libc::SIGTRAP | 0x80;
    wait(pid)?;
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACECLONE;
    // SAFETY: numbers only.
    checked(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) })?;
    let (mut sent, mut sending) = (0, BTreeSet::new());
    let mut stopped = pid;
    loop {
        // SAFETY: numbers only. A thread that was killed cannot go on.
        let _ = unsafe { libc::ptrace(libc::PTRACE_SYSCALL, stopped, 0, 0) };
        let (thread, status) = wait(pid)?;
        stopped = thread;
        if thread == pid && !libc::WIFSTOPPED(status) {
            return Ok(libc::WIFEXITED(status));
        }
        if !libc::WIFSTOPPED(status) || libc::WSTOPSIG(status) != SYSCALL_STOP {
            continue;
        }
        let mut info = Info::default();
        // SAFETY: the kernel writes at most as many bytes as is said into `info`, which outlives the call.
        checked(unsafe { libc::ptrace(GET_SYSCALL_INFO, thread, size_of::<Info>(), &raw mut info) })?;
        if info.op == ENTRY && info.number == libc::SYS_sendto as u64 {
            sending.insert(thread);
        } else if info.op != ENTRY && sending.remove(&thread) {
            sent += 1;
            if sent == messages {
                // SAFETY: numbers only.
                checked(unsafe { libc::kill(pid, libc::SIGKILL) }.into())?;
            }
        }
    }
}
