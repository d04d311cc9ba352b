//! Restricts threads that parse untrusted packets or requests, so that a compromised one cannot escalate privileges.
//!
//! `no_new_privs` prevents gaining privileges through execve(2) (`Documentation/userspace-api/no_new_privs.rst`). A
//! seccomp filter rejects system calls that such a thread never makes: executing programs, loading kernel code,
//! entering namespaces, tracing processes. The filter checks only the system call number, so the kernel caches allowed
//! calls in a bitmap (Linux 5.11) and they cost almost nothing.

use std::io;

/// Operations that the calling thread still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing of the following.
    Nothing,
    /// Load a BPF program: `AF_XDP` reloads its program when an interface returns.
    Bpf,
    /// Signal a command's processes.
    Signals,
    /// Use open files and connect to sockets, but open no file by path: root owns most files even without capabilities.
    Connections,
}

/// System calls rejected with `EPERM`.
const REFUSED: [libc::c_long; 34] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_setuid,
    libc::SYS_setresuid,
];

/// Rejected as well for threads that open no files by path.
const WITH_NAMES: &[libc::c_long] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_unlinkat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_renameat2,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
];

/// Legacy calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const WITH_OLD_NAMES: &[libc::c_long] = &[
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_unlink,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
];
#[cfg(target_arch = "aarch64")]
const WITH_OLD_NAMES: &[libc::c_long] = &[libc::SYS_renameat];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const WITH_OLD_NAMES: &[libc::c_long] = &[];

/// The `AUDIT_ARCH_*` value of `struct seccomp_data` (`linux/audit.h`); `None` on other architectures.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};

/// `__X32_SYSCALL_BIT`: system calls of the x32 ABI.
const OTHER_INTERFACE: u32 = 0x4000_0000;

/// Permanently sets `no_new_privs` and installs the seccomp filter, for the calling thread and the threads it starts.
///
/// # Errors
/// When the kernel lacks either; the thread then continues unconfined.
pub fn confine(needs: Needs) -> io::Result<()> {
    // SAFETY: no pointers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let Some(architecture) = ARCHITECTURE else { return Ok(()) };
    let mut program = filter(architecture, needs);
    let given = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program has the given length and outlives the call; the kernel copies it.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const given) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The system calls to reject.
fn refused(needs: Needs) -> Vec<libc::c_long> {
    let needed = |number: &libc::c_long| needs == Needs::Signals && *number == libc::SYS_kill;
    let mut refused: Vec<libc::c_long> = REFUSED.into_iter().filter(|number| !needed(number)).collect();
    if needs != Needs::Bpf {
        refused.push(libc::SYS_bpf);
    }
    if needs == Needs::Connections {
        refused.extend(WITH_NAMES.iter().chain(WITH_OLD_NAMES));
    }
    refused
}

/// The filter, in classic BPF.
fn filter(architecture: u32, needs: Needs) -> Vec<libc::sock_filter> {
    /// Offsets of `nr` and `arch` in `struct seccomp_data`.
    const NUMBER: u32 = 0;
    const OF_ARCHITECTURE: u32 = 4;
    let load = |k| libc::sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k };
    let jump =
        |kind: u32, k, jt, jf| libc::sock_filter { code: (libc::BPF_JMP | kind | libc::BPF_K) as u16, jt, jf, k };
    let end = |k| libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k };
    let refused: Vec<u32> = refused(needs).into_iter().map(|number| number as u32).collect();
    // The allow return follows all comparisons, then the EPERM return.
    let rest = refused.len() as u8;
    let mut program = vec![
        load(OF_ARCHITECTURE),
        jump(libc::BPF_JEQ, architecture, 0, rest + 3),
        load(NUMBER),
        jump(libc::BPF_JGE, OTHER_INTERFACE, rest + 1, 0),
    ];
    let compare = |(place, number): (usize, &u32)| jump(libc::BPF_JEQ, *number, rest - place as u8, 0);
    program.extend(refused.iter().enumerate().map(compare));
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program.push(end(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a separate thread, because confinement is permanent.
    #[test]
    fn a_confined_thread_runs_no_programs_and_still_works() {
        let confined = std::thread::spawn(|| {
            confine(Needs::Nothing).unwrap();
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let run = std::process::Command::new("true").spawn().map(drop).map_err(|e| e.kind());
            (status, run)
        });
        let (status, run) = confined.join().unwrap();
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        if ARCHITECTURE.is_some() {
            assert!(status.contains("Seccomp:\t2"), "{status}");
            assert_eq!(run, Err(io::ErrorKind::PermissionDenied));
        }
        std::process::Command::new("true").status().unwrap();
    }

    /// In separate threads, too.
    #[test]
    fn a_thread_keeps_what_it_needs() {
        if ARCHITECTURE.is_none() {
            return;
        }
        let own = rustix::process::getpid();
        // Signal 0 only checks permission.
        let signals = move |needs| {
            let ask = move || confine(needs).is_ok() && rustix::process::test_kill_process(own).is_ok();
            std::thread::spawn(ask).join().unwrap()
        };
        assert_eq!([Needs::Signals, Needs::Nothing, Needs::Connections].map(signals), [true, false, false]);
        let dir = tempfile::tempdir().unwrap();
        let (socket, file) = (dir.path().join("socket"), dir.path().join("file"));
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::fs::write(&file, "precious").unwrap();
        let confined = std::thread::spawn(move || {
            confine(Needs::Connections).unwrap();
            let connected = std::os::unix::net::UnixStream::connect(&socket).is_ok();
            let read = std::fs::read(&file).map(drop).map_err(|e| e.kind());
            (connected, read, std::fs::remove_file(&file).is_err(), std::thread::spawn(|| ()).join().is_ok())
        });
        assert_eq!(confined.join().unwrap(), (true, Err(io::ErrorKind::PermissionDenied), true, true));
    }
}
