//! Restricts threads that read untrusted packets or requests, so that an attacker who controls one gains no privileges.
//!
//! `no_new_privs` keeps the thread from gaining rights by running a program
//! (`Documentation/userspace-api/no_new_privs.rst`). A seccomp filter refuses system calls that such a thread never
//! makes: running programs, loading code into the kernel, entering other namespaces, reading other processes. The
//! filter depends only on the number of the call, so the kernel caches its decision (since Linux 5.11), and permitted
//! calls cost almost nothing.

use std::io;

/// The rights that the calling thread still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// Loading a BPF program: if an interface returns, `AF_XDP` needs its program again.
    Bpf,
}

/// System calls that are refused with `EPERM`.
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

/// The architecture in the filter's data (`linux/audit.h`); `None` if it is unknown here.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};

/// System calls with this bit use another interface of the same kernel (x32).
const OTHER_INTERFACE: u32 = 0x4000_0000;

/// Permanently removes the calling thread's ability to gain rights, and system calls that it does not need; the same
/// for threads that it starts.
///
/// # Errors
/// When the kernel has neither; the thread continues without them.
pub fn confine(needs: Needs) -> io::Result<()> {
    // SAFETY: numbers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let Some(architecture) = ARCHITECTURE else { return Ok(()) };
    let mut program = filter(architecture, needs);
    let given = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program, as long as is said, outlives the call, and the kernel copies it.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const given) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The filter, in the instructions of the classic BPF.
fn filter(architecture: u32, needs: Needs) -> Vec<libc::sock_filter> {
    /// The offsets of the number of the call and of the architecture in `struct seccomp_data`.
    const NUMBER: u32 = 0;
    const OF_ARCHITECTURE: u32 = 4;
    let load = |k| libc::sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k };
    let jump =
        |kind: u32, k, jt, jf| libc::sock_filter { code: (libc::BPF_JMP | kind | libc::BPF_K) as u16, jt, jf, k };
    let end = |k| libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k };
    let more = if needs == Needs::Bpf { None } else { Some(libc::SYS_bpf) };
    let refused: Vec<u32> = REFUSED.into_iter().chain(more).map(|number| number as u32).collect();
    // The permission follows all comparisons, then the refusal.
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

    /// In a thread of its own, which alone is confined.
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
}
