//! BPF programs assembled here and loaded with bpf(2), without a compiler or libbpf.
//!
//! Constants are those of `linux/bpf.h`. Programs are attached by BPF links, which are file descriptors: however the
//! process ends, the kernel detaches the programs.

pub(crate) mod code;
mod dctcp;
pub(crate) mod kernel_types;
pub(crate) mod struct_ops;
pub(crate) mod tcp;
pub(crate) mod tcx;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `enum bpf_cmd`, as far as used.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Command {
    MapCreate = 0,
    MapLookupElem = 1,
    MapUpdateElem = 2,
    ProgLoad = 5,
    ProgTestRun = 10,
    BtfLoad = 18,
    LinkCreate = 28,
}

/// Indices of 32-bit words in `union bpf_attr`, by command. Pointers take two words.
pub(crate) mod word {
    pub(crate) const MAP_TYPE: usize = 0;
    pub(crate) const KEY_SIZE: usize = 1;
    pub(crate) const VALUE_SIZE: usize = 2;
    pub(crate) const MAX_ENTRIES: usize = 3;
    pub(crate) const MAP_FLAGS: usize = 4;
    pub(crate) const MAP_BTF_FILE: usize = 12;
    pub(crate) const MAP_KERNEL_TYPE: usize = 15;

    pub(super) const UPDATED_MAP: usize = 0;
    pub(super) const KEY: usize = 2;
    pub(super) const VALUE: usize = 4;

    pub(super) const TESTED_PROGRAM: usize = 0;
    pub(super) const PACKET_SIZE: usize = 2;
    pub(super) const PACKET: usize = 4;
    pub(super) const REPEAT: usize = 8;
    pub(super) const NANOSECONDS: usize = 9;

    pub(crate) const PROG_TYPE: usize = 0;
    pub(super) const INSTRUCTION_COUNT: usize = 1;
    pub(super) const INSTRUCTIONS: usize = 2;
    pub(super) const LICENCE: usize = 4;
    pub(super) const LOG_LEVEL: usize = 6;
    pub(super) const LOG_SIZE: usize = 7;
    pub(super) const LOG: usize = 8;
    pub(crate) const EXPECTED_ATTACH_TYPE: usize = 17;
    pub(crate) const ATTACH_BTF_ID: usize = 27;

    pub(crate) const BTF: usize = 0;
    pub(crate) const BTF_SIZE: usize = 4;

    pub(crate) const LINKED_FILE: usize = 0;
    pub(crate) const LINK_TARGET: usize = 1;
    pub(crate) const LINK_ATTACH_TYPE: usize = 2;
}

/// kfuncs may only be called by GPL-compatible programs.
const LICENCE: &std::ffi::CStr = c"Dual MIT/GPL";

/// Size of the verifier log, in bytes.
const LOG: usize = 1 << 16;

/// `union bpf_attr` as 32-bit words, as long as these commands need; unset words are zero.
#[repr(C, align(8))]
pub(crate) struct Attr([u32; 32]);

impl Attr {
    /// An attribute with these words set.
    pub(crate) fn new(words: &[(usize, u32)]) -> Attr {
        let mut attr = Attr([0; 32]);
        words.iter().for_each(|(at, value)| attr.0[*at] = *value);
        attr
    }

    /// Sets a pointer, which takes two words.
    pub(crate) fn set_pointer<T: ?Sized>(&mut self, at: usize, to: *const T) {
        let address = (to.cast::<u8>().addr() as u64).to_ne_bytes();
        let [a, b, c, d, e, f, g, h] = address;
        self.0[at] = u32::from_ne_bytes([a, b, c, d]);
        self.0[at + 1] = u32::from_ne_bytes([e, f, g, h]);
    }
}

/// # Safety
/// Every pointer in `attr` refers to memory that `command` may read or write, and that outlives the call.
pub(crate) unsafe fn bpf(command: Command, attr: &Attr) -> io::Result<libc::c_long> {
    // SAFETY: `attr` outlives the call and has the given size; its pointers are valid by contract. None of the commands
    // of this file writes to it.
    let answer =
        unsafe { libc::syscall(libc::SYS_bpf, command as libc::c_long, std::ptr::from_ref(attr), size_of::<Attr>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Executes a command that returns a new file descriptor.
///
/// # Safety
/// As [`bpf`]; and the command must return a file descriptor.
pub(crate) unsafe fn bpf_fd(command: Command, attr: &Attr) -> io::Result<OwnedFd> {
    // SAFETY: by contract.
    let descriptor = unsafe { bpf(command, attr) }?;
    // SAFETY: the kernel has just returned this descriptor, which nobody else owns. Descriptors fit an `int`.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}

/// Updates a map element.
pub(crate) fn update(map: BorrowedFd<'_>, key: &[u8; 4], value: &[u8]) -> io::Result<()> {
    let mut attr = Attr::new(&[(word::UPDATED_MAP, map.as_raw_fd() as u32)]);
    attr.set_pointer(word::KEY, key.as_ptr());
    attr.set_pointer(word::VALUE, value.as_ptr());
    // SAFETY: key and value have the sizes of the map's, and outlive the call.
    unsafe { bpf(Command::MapUpdateElem, &attr) }.map(drop)
}

/// Looks up an element of an array map; `value` has the map's value size, rounded up to 8 bytes.
pub(crate) fn look_up(map: BorrowedFd<'_>, index: u32, value: &mut [u8]) -> io::Result<()> {
    let key = index.to_ne_bytes();
    let mut attr = Attr::new(&[(word::UPDATED_MAP, map.as_raw_fd() as u32)]);
    attr.set_pointer(word::KEY, key.as_ptr());
    attr.set_pointer(word::VALUE, value.as_mut_ptr());
    // SAFETY: key and value have the sizes of the map's, and outlive the call.
    unsafe { bpf(Command::MapLookupElem, &attr) }.map(drop)
}

/// Loads BTF, which maps and programs can then refer to.
pub(crate) fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let mut attr = Attr::new(&[(word::BTF_SIZE, types.len() as u32)]);
    attr.set_pointer(word::BTF, types.as_ptr());
    // SAFETY: the types have the given size and outlive the call.
    unsafe { bpf_fd(Command::BtfLoad, &attr) }
}

/// Runs a `SCHED_CLS` program `repeat` times on a packet (`BPF_PROG_TEST_RUN`); returns the mean duration in
/// nanoseconds.
pub(crate) fn test_run(program: BorrowedFd<'_>, packet: &[u8], repeat: u32) -> io::Result<u32> {
    let mut attr = Attr::new(&[
        (word::TESTED_PROGRAM, program.as_raw_fd() as u32),
        (word::PACKET_SIZE, packet.len() as u32),
        (word::REPEAT, repeat),
    ]);
    attr.set_pointer(word::PACKET, packet.as_ptr());
    // SAFETY: the packet has the given size and outlives the call. The kernel writes the result into `attr`, which is
    // borrowed by nothing else.
    let answer =
        unsafe { libc::syscall(libc::SYS_bpf, Command::ProgTestRun as libc::c_long, &raw mut attr, size_of::<Attr>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(attr.0[word::NANOSECONDS]) }
}

/// Loads a program; `words` holds its type and type-specific attributes.
///
/// # Errors
/// When permission is missing, or the verifier rejects the program: the error then quotes the last line of its log.
pub(crate) fn load(code: &[u64], words: &[(usize, u32)]) -> io::Result<OwnedFd> {
    let mut attr = Attr::new(words);
    attr.0[word::INSTRUCTION_COUNT] = code.len() as u32;
    attr.set_pointer(word::INSTRUCTIONS, code.as_ptr());
    attr.set_pointer(word::LICENCE, LICENCE.as_ptr());
    // SAFETY: the instructions have the given count, the licence is zero-terminated, and both outlive the call.
    let first = unsafe { bpf_fd(Command::ProgLoad, &attr) };
    let Err(error) = first else { return first };
    let mut log = vec![0_u8; LOG];
    (attr.0[word::LOG_LEVEL], attr.0[word::LOG_SIZE]) = (1, LOG as u32);
    attr.set_pointer(word::LOG, log.as_mut_ptr());
    // SAFETY: as above, and the log has the given size.
    match unsafe { bpf_fd(Command::ProgLoad, &attr) } {
        Ok(program) => Ok(program),
        Err(_) => {
            let text = String::from_utf8_lossy(log.split(|b| *b == 0).next().unwrap_or_default()).into_owned();
            let said = text.lines().rev().find(|l| !l.is_empty() && !l.starts_with("processed"));
            Err(said.map_or(error, |line| io::Error::other(format!("the kernel's verifier says: {line}"))))
        }
    }
}
