//! The program that hands the frames of an interface to an `AF_XDP` socket: five instructions, loaded by the system call
//! `bpf`, so that neither a compiler nor a library is needed where aqmkit runs.
//!
//! Numbers are those of `linux/bpf.h`. The program is attached by a link, which is a file: it goes with the process,
//! however that ends, and the interface is then as it was.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;

const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;

/// `union bpf_attr`: as long as any of the commands above needs; what is not set is zero.
#[repr(C, align(8))]
struct Attr([u32; 32]);

impl Attr {
    fn new(words: &[(usize, u32)]) -> Attr {
        let mut attr = Attr([0; 32]);
        words.iter().for_each(|(at, value)| attr.0[*at] = *value);
        attr
    }

    /// Puts an address, which takes two words.
    fn point<T: ?Sized>(&mut self, at: usize, to: *const T) {
        let address = (to.cast::<u8>().addr() as u64).to_ne_bytes();
        let [a, b, c, d, e, f, g, h] = address;
        self.0[at] = u32::from_ne_bytes([a, b, c, d]);
        self.0[at + 1] = u32::from_ne_bytes([e, f, g, h]);
    }
}

/// # Safety
/// Every address in `attr` is of what `command` reads there, and lives until the call is over.
unsafe fn bpf(command: libc::c_long, attr: &Attr) -> io::Result<libc::c_long> {
    // SAFETY: `attr` outlives the call and is as long as is said; the rest is the caller's promise. None of the commands
    // of this file writes to it.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attr), size_of::<Attr>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

fn file(descriptor: libc::c_long) -> OwnedFd {
    // SAFETY: the kernel has just made it, and nobody else has it. Descriptors are small numbers.
    unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) }
}

/// An instruction: code, registers (source, destination), offset, number.
const fn instruction(code: u8, source: u8, destination: u8, offset: i16, number: i32) -> u64 {
    let registers = (source << 4 | destination) as u64;
    code as u64 | registers << 8 | (offset as u16 as u64) << 16 | (number as u32 as u64) << 32
}

/// Redirects each frame to the socket that the map has for its queue; where there is none, the kernel has it as ever.
fn program(map: BorrowedFd<'_>) -> [u64; 6] {
    /// Where `struct xdp_md` has the queue that a frame came by.
    const QUEUE: i16 = 16;
    /// The map's descriptor stands where its address will be.
    const A_MAP: u8 = 1;
    const PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    [
        instruction(0x61, 1, 2, QUEUE, 0),
        instruction(0x18, A_MAP, 1, 0, map.as_raw_fd()),
        instruction(0, 0, 0, 0, 0),
        instruction(0xb7, 0, 3, 0, PASS),
        instruction(0x85, 0, 0, 0, REDIRECT_MAP),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

/// A program at an interface, which hands the frames of queue 0 to a socket. It ends with this value.
#[derive(Debug)]
pub(super) struct Redirect {
    /// What holds the program and, by it, the map.
    _link: OwnedFd,
}

impl Redirect {
    /// Loads the program and attaches it: in the driver where that can, in front of the kernel's stack elsewhere.
    ///
    /// # Errors
    /// When the process may not (it needs `CAP_BPF` and `CAP_NET_ADMIN`), or another program is there (`EBUSY`).
    pub(super) fn attach(index: u32, socket: BorrowedFd<'_>) -> io::Result<Redirect> {
        // SAFETY: no addresses. Keys and values of four bytes, one entry.
        let map = file(unsafe { bpf(MAP_CREATE, &Attr::new(&[(0, MAP_TYPE_XSKMAP), (1, 4), (2, 4), (3, 1)])) }?);
        let map_fd = std::os::fd::AsFd::as_fd(&map);
        let (queue, value) = (0_u32, socket.as_raw_fd());
        let mut update = Attr::new(&[(0, map.as_raw_fd() as u32)]);
        update.point(2, &raw const queue);
        update.point(4, &raw const value);
        // SAFETY: both addresses are of four bytes that outlive the call.
        unsafe { bpf(MAP_UPDATE_ELEM, &update) }?;
        let code = program(map_fd);
        let mut load = Attr::new(&[(0, PROG_TYPE_XDP), (1, code.len() as u32)]);
        load.point(2, code.as_ptr());
        // The licence under which the kernel's helpers are called; this one is open to any.
        load.point(4, c"Dual MIT/GPL".as_ptr());
        // SAFETY: the instructions, as many as is said, and the text with its zero outlive the call.
        let program = file(unsafe { bpf(PROG_LOAD, &load) }?);
        let link = Attr::new(&[(0, program.as_raw_fd() as u32), (1, index), (2, ATTACH_TYPE_XDP)]);
        // SAFETY: no addresses.
        let link = file(unsafe { bpf(LINK_CREATE, &link) }?);
        Ok(Redirect { _link: link })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_laid_out_as_the_kernel_reads_them() {
        // r2 = *(u32 *)(r1 + 16), as clang writes it: 61 12 10 00 00 00 00 00.
        assert_eq!(instruction(0x61, 1, 2, 16, 0).to_le_bytes(), [0x61, 0x12, 0x10, 0, 0, 0, 0, 0]);
        // call 51: 85 00 00 00 33 00 00 00.
        assert_eq!(instruction(0x85, 0, 0, 0, 51).to_le_bytes(), [0x85, 0, 0, 0, 0x33, 0, 0, 0]);
    }
}
