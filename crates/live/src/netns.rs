//! Network namespaces held by file descriptors only: not bound to a path, they disappear when the process ends for any
//! reason.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// A network namespace. It exists as long as this value, a process inside it, or a file of one of its devices.
#[derive(Debug)]
pub struct Netns {
    fd: OwnedFd,
    cookie: u64,
}

impl Netns {
    /// Creates a new, empty namespace.
    ///
    /// # Errors
    /// When permission is missing (`CAP_SYS_ADMIN`).
    pub fn create() -> io::Result<Self> {
        on_own_thread(|| {
            // SAFETY: the flag affects only this thread's network namespace. Flags that unshare the file table or
            // memory, which Rust relies on being shared, would be unsound.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            Netns::current()
        })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// When `/proc` is not mounted.
    pub fn current() -> io::Result<Self> {
        Netns::at("/proc/thread-self/ns/net")
    }

    /// The namespace of a file below `/proc/PID/ns` or `/run/netns`.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a namespace that this process may enter.
    pub fn at(path: &str) -> io::Result<Self> {
        let fd = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let handle = fd.try_clone()?;
        let cookie = on_own_thread(move || {
            move_into_link_name_space(handle.as_fd(), Some(LinkNameSpaceType::Network))?;
            cookie()
        })?;
        Ok(Netns { fd, cookie })
    }

    /// Looks up a namespace by its cookie, among those that have processes or names.
    #[must_use]
    pub fn find(cookie: u64) -> Option<Self> {
        let named = std::fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|e| e.path());
        let named = named.filter_map(|path| path.to_str().map(str::to_owned));
        let held = processes().into_iter().map(|pid| format!("/proc/{pid}/ns/net"));
        let own = std::iter::once("/proc/thread-self/ns/net".to_owned());
        own.chain(named).chain(held).filter_map(|path| Netns::at(&path).ok()).find(|n| n.cookie == cookie)
    }

    /// The namespace's cookie (`SO_NETNS_COOKIE`), unique until reboot.
    #[must_use]
    pub const fn cookie(&self) -> u64 {
        self.cookie
    }

    /// Runs a closure inside the namespace, on a separate thread; the caller stays in its own.
    ///
    /// # Errors
    /// When the namespace cannot be entered, or the error of `work`.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_own_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Moves the calling thread into the namespace permanently.
    ///
    /// # Errors
    /// When permission is missing (`CAP_SYS_ADMIN`).
    pub fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// A path through which other processes can enter while this one runs.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd())
    }

    /// A second handle to the same namespace.
    ///
    /// # Errors
    /// When file descriptors are exhausted.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Netns { fd: self.fd.try_clone()?, cookie: self.cookie })
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn on_own_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that entered a namespace panicked")))
    })
}

/// The cookie of the calling thread's network namespace. Needs no capability.
///
/// # Errors
/// When the kernel does not report it (before Linux 5.14).
pub fn cookie() -> io::Result<u64> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::DGRAM, None)?;
    let mut value = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: `value` and `length` outlive the call, and `length` is the size of `value`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    if answer == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Writes a sysctl of the calling thread's network namespace, such as `net.ipv4.tcp_ecn`.
///
/// # Errors
/// When the kernel lacks it or rejects the value.
pub fn set_sysctl(name: &str, value: &str) -> io::Result<()> {
    std::fs::write(sysctl_path(name), value)
        .map_err(|e| io::Error::new(e.kind(), format!("sysctl {name} = {value}: {e}")))
}

/// Reads a sysctl of the calling thread's network namespace.
///
/// # Errors
/// When the kernel lacks it.
pub fn sysctl(name: &str) -> io::Result<String> {
    Ok(std::fs::read_to_string(sysctl_path(name))?.trim().to_owned())
}

pub(crate) fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// The ids of all processes, from `/proc`.
pub(crate) fn processes() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect()
}
