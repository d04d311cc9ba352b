//! Socket options, and interface queries by `ioctl`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sets an option of a socket.
pub(super) fn set<T>(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer is to a value that outlives the call, and the size is that of the value; the kernel reads
    // no more.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads and clears the pending error of a socket.
pub(super) fn take_error(socket: BorrowedFd<'_>) -> Option<io::Error> {
    rustix::net::sockopt::socket_error(socket).ok()?.err().map(Into::into)
}

/// A request about the interface `name`.
pub(super) fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a valid `ifreq`: an empty name and a union of numbers and pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.is_empty() || name.contains('\0') {
        return Err(io::Error::new(io::ErrorKind::NotFound, "this is not a valid interface name"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Performs the query `code`.
pub(super) fn ask(socket: BorrowedFd<'_>, code: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: `code` is one of those that read and write a `struct ifreq`, which outlives the call, and with it what it
    // points at.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), code as _, std::ptr::from_mut(request)) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
