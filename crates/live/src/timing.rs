//! The clock, and real-time scheduling.

use std::io;
use std::num::NonZeroU64;

use aqmkit_base::{Duration, Instant};
use rustix::event::{PollFd, Timespec, poll};
use rustix::mm::MlockAllFlags;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// `SCHED_FIFO` priority of forwarding threads: above ordinary threads, below the kernel's threaded interrupts (50).
const PRIORITY: libc::c_int = 40;

/// The monotonic clock, relative to its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// A clock that reads zero now.
    #[must_use]
    pub fn start() -> Self {
        Clock { origin: monotonic() }
    }

    /// Time since the clock was started.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.at_monotonic(monotonic())
    }

    /// Converts a `CLOCK_MONOTONIC` timestamp in nanoseconds.
    #[must_use]
    pub(crate) fn at_monotonic(&self, nanoseconds: u64) -> Instant {
        Instant::from_nanos(nanoseconds.saturating_sub(self.origin))
    }
}

fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

/// The real-time properties that a thread obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Granted {
    /// `SCHED_FIFO`: ordinary processes cannot preempt the thread.
    pub realtime: bool,
    /// All pages are locked in memory.
    pub locked: bool,
    /// Timer slack is 1 ns instead of 50 µs.
    pub sharp: bool,
}

impl Granted {
    /// The properties that both threads have.
    #[must_use]
    pub(crate) fn and(self, other: Granted) -> Granted {
        Granted {
            realtime: self.realtime && other.realtime,
            locked: self.locked && other.locked,
            sharp: self.sharp && other.sharp,
        }
    }
}

/// Requests real-time scheduling for the calling thread; returns what was granted.
#[must_use]
pub fn request_realtime() -> Granted {
    // The kernel's `sched_param` is just the priority. The raw system call, because musl's function is a stub.
    let parameter: libc::c_int = PRIORITY;
    // SAFETY: the parameter outlives the call, and zero means the calling thread.
    let done = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const parameter) };
    let realtime = done == 0;
    if !realtime {
        wake_soon();
    }
    Granted {
        realtime,
        locked: lock_memory(),
        sharp: rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).is_ok(),
    }
}

/// Requests time slices of 100 µs, which needs no capability: EEVDF (Linux 6.12) runs a thread with a shorter slice
/// sooner after wake-up; earlier kernels ignore it. It reduces lateness in a user namespace, where `SCHED_FIFO` is
/// refused.
fn wake_soon() {
    // `SCHED_ATTR_SIZE_VER0` (`sched_setattr(2)`), accepted by all kernels.
    #[repr(C)]
    struct SchedAttr {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        /// Slice in nanoseconds; for `SCHED_OTHER` the kernel clamps it to 0.1 to 100 ms.
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    // SAFETY: no pointers; -1 may also be a valid nice value, so an error shows only in the call below.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice,
        priority: 0,
        runtime: 100_000,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the attributes outlive the call, and zero means the calling thread. On error nothing changes.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
}

/// Locks current and future pages in memory, the latter once touched, unless `RLIMIT_MEMLOCK` applies: under a limit,
/// allocations would fail once the thread has dropped `CAP_IPC_LOCK`.
fn lock_memory() -> bool {
    give_back_large_blocks();
    let unlimited = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None }).is_ok();
    let now = rustix::mm::mlockall(MlockAllFlags::CURRENT).is_ok();
    let later = unlimited.then(|| rustix::mm::mlockall(MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT));
    now && later.is_none_or(|done| done.is_ok())
}

/// Makes malloc(3) return freed blocks of 128 KiB and more, such as the tables of a replaced discipline, to the kernel.
/// By default glibc raises this threshold when such a block is freed and trims the heap with a call the kernel rejects
/// for locked pages, so each change would leak.
fn give_back_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: numbers only.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10) };
}

/// Waits until a file is ready or `clock` reaches `until`.
///
/// # Errors
/// When poll(2) fails for another reason than a signal.
pub fn wait(files: &mut [PollFd<'_>], clock: &Clock, until: Instant) -> io::Result<()> {
    let rest = until.since(clock.now()).as_nanos();
    let timeout = Timespec { tv_sec: (rest / 1_000_000_000) as i64, tv_nsec: (rest % 1_000_000_000) as i64 };
    match poll(files, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// CPU time used by the calling thread.
#[must_use]
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_nanos((time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64)
}
