//! The clock, and real-time properties of threads.

use std::io;
use std::num::NonZeroU64;

use aqmkit_base::{Duration, Instant};
use rustix::event::{PollFd, Timespec, poll};
use rustix::mm::MlockAllFlags;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The priority of the thread that moves packets: above ordinary threads, below the kernel's own threads (50).
const PRIORITY: libc::c_int = 40;

/// The monotonic clock, relative to its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// A clock that shows zero now.
    #[must_use]
    pub fn start() -> Self {
        Clock { origin: monotonic() }
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.at_monotonic(monotonic())
    }

    /// Its time at this many nanoseconds of the machine's monotonic clock.
    #[must_use]
    pub(crate) fn at_monotonic(&self, nanoseconds: u64) -> Instant {
        Instant::from_nanos(nanoseconds.saturating_sub(self.origin))
    }
}

fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

/// The real-time properties that the machine granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Granted {
    /// `SCHED_FIFO`: ordinary processes cannot preempt the thread.
    pub realtime: bool,
    /// No page of the process is swapped out.
    pub locked: bool,
    /// Timers fire within a nanosecond of slack, not 50 µs.
    pub sharp: bool,
}

impl Granted {
    /// The properties that both of two threads have.
    #[must_use]
    pub(crate) fn and(self, other: Granted) -> Granted {
        Granted {
            realtime: self.realtime && other.realtime,
            locked: self.locked && other.locked,
            sharp: self.sharp && other.sharp,
        }
    }
}

/// Gives the calling thread real-time properties, as far as the machine permits.
#[must_use]
pub fn be_punctual() -> Granted {
    // The kernel's `sched_param` is the priority alone. The call itself, as musl's function of this name does nothing.
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

/// Asks for turns of 100 µs, which needs no right: the scheduler lets a thread with short turns run sooner once it wakes (EEVDF, Linux 6.12 and
/// later; earlier kernels ignore it). In a user namespace, where `SCHED_FIFO` is refused, packets are less late.
fn wake_soon() {
    // The first version of the kernel's `sched_attr` (`sched_setattr(2)`), which all kernels take.
    #[repr(C)]
    struct SchedAttr {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        /// Nanoseconds of a turn; for ordinary threads the kernel takes 100 µs to 100 ms.
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    // SAFETY: a number only; -1 would be a valid priority as well, so errors are those of the call below.
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
    // SAFETY: the attributes outlive the call, and zero means the calling thread. A kernel that refuses leaves the thread as it is.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
}

/// Locks the pages of the process in memory, also future ones once they are used, if no limit applies. With a limit,
/// allocations would fail after the thread has dropped the capability to exceed it.
fn lock_memory() -> bool {
    give_back_large_blocks();
    let unlimited = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None }).is_ok();
    let now = rustix::mm::mlockall(MlockAllFlags::CURRENT).is_ok();
    let later = unlimited.then(|| rustix::mm::mlockall(MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT));
    now && later.is_none_or(|done| done.is_ok())
}

/// Has the C library give blocks of 128 KiB and more, such as the tables of a replaced discipline, back to the kernel when they are freed.
/// It raises this threshold whenever it frees one, and gives the rest of its memory back by a call that the kernel refuses for
/// locked pages, so that each change would leave some behind.
fn give_back_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: numbers only.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10) };
}

/// Waits until a file is ready or the clock shows `until`.
///
/// # Errors
/// When the system call fails; an interruption is not a failure.
pub fn wait(files: &mut [PollFd<'_>], clock: &Clock, until: Instant) -> io::Result<()> {
    let rest = until.since(clock.now()).as_nanos();
    let timeout = Timespec { tv_sec: (rest / 1_000_000_000) as i64, tv_nsec: (rest % 1_000_000_000) as i64 };
    match poll(files, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Processor time that the calling thread has used.
#[must_use]
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_nanos((time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64)
}
