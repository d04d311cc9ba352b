//! Registers a `struct_ops` map, a table of functions written in BPF, with the kernel
//! (`Documentation/bpf/map_struct_ops.rst`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::kernel_types::{Btf, Structure};
use super::{Attr, Command, bpf_fd, load, load_types, update, word};

const MAP_TYPE_STRUCT_OPS: u32 = 26;
const PROG_TYPE_STRUCT_OPS: u32 = 27;
const ATTACH_TYPE_STRUCT_OPS: u32 = 44;
/// `BPF_F_LINK`: the map is attached by a BPF link (Linux 6.4); closing the link unregisters it.
const BY_LINK: u32 = 1 << 13;

/// A kernel struct of function pointers, such as `struct tcp_congestion_ops`, being filled in.
pub(crate) struct Table<'a> {
    kernel: &'a Btf,
    name: &'static str,
    table: Structure,
    /// The `bpf_struct_ops_*` type around the struct, and the struct's offset in it.
    wrapper: Structure,
    base: usize,
    value: Vec<u8>,
    /// The loaded programs; the map takes references to them when it is registered.
    programs: Vec<OwnedFd>,
}

impl<'a> Table<'a> {
    /// An empty table of struct `name`, wrapped in `wrapper`.
    ///
    /// # Errors
    /// When the kernel's BTF lacks either.
    pub(crate) fn new(kernel: &'a Btf, name: &'static str, wrapper: &'static str) -> io::Result<Table<'a>> {
        let table = kernel.structure(name).ok_or_else(|| lacks(name))?;
        let wrapped = kernel.structure(wrapper).ok_or_else(|| lacks(wrapper))?;
        let base = kernel.member(wrapped, "data").ok_or_else(|| lacks(wrapper))?.offset;
        let value = vec![0; wrapped.size];
        Ok(Table { kernel, name, table, wrapper: wrapped, base, value, programs: Vec::new() })
    }

    /// Sets a member.
    ///
    /// # Errors
    /// When the struct has no such member.
    pub(crate) fn set(&mut self, member: &str, bytes: &[u8]) -> io::Result<()> {
        let lacking = || lacks(&format!("{}.{member}", self.name));
        let at = self.base + self.kernel.member(self.table, member).ok_or_else(lacking)?.offset;
        self.value.get_mut(at..at + bytes.len()).ok_or_else(lacking)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Loads a program and sets the function pointer of a member to it.
    ///
    /// # Errors
    /// When the struct has no such member, or the verifier rejects the program.
    pub(crate) fn add(&mut self, member: &str, code: &[u64]) -> io::Result<()> {
        let about = self.kernel.member(self.table, member).ok_or_else(|| lacks(&format!("{}.{member}", self.name)))?;
        let program = load(
            code,
            &[
                (word::PROG_TYPE, PROG_TYPE_STRUCT_OPS),
                (word::EXPECTED_ATTACH_TYPE, about.index),
                (word::ATTACH_BTF_ID, self.table.id),
            ],
        )
        .map_err(|e| io::Error::new(e.kind(), format!("{member}: {e}")))?;
        self.set(member, &(program.as_raw_fd() as u64).to_ne_bytes())?;
        self.programs.push(program);
        Ok(())
    }

    /// Registers the table, until the returned link is closed.
    ///
    /// # Errors
    /// When the kernel lacks support, the name is taken (`EEXIST`), or permission is missing.
    pub(crate) fn register(self) -> io::Result<OwnedFd> {
        let types = own_types()?;
        let map = Attr::new(&[
            (word::MAP_TYPE, MAP_TYPE_STRUCT_OPS),
            (word::KEY_SIZE, 4),
            (word::VALUE_SIZE, self.wrapper.size as u32),
            (word::MAX_ENTRIES, 1),
            (word::MAP_FLAGS, BY_LINK),
            (word::MAP_BTF_FILE, types.as_raw_fd() as u32),
            (word::MAP_KERNEL_TYPE, self.wrapper.id),
        ]);
        // SAFETY: the attributes contain no pointers.
        let map = unsafe { bpf_fd(Command::MapCreate, &map) }
            .map_err(|e| io::Error::new(e.kind(), format!("Linux 6.4 or newer is needed ({e})")))?;
        update(map.as_fd(), &[0; 4], &self.value)?;
        let link =
            Attr::new(&[(word::LINKED_FILE, map.as_raw_fd() as u32), (word::LINK_ATTACH_TYPE, ATTACH_TYPE_STRUCT_OPS)]);
        // SAFETY: the attributes contain no pointers.
        unsafe { bpf_fd(Command::LinkCreate, &link) }
    }
}

fn lacks(what: &str) -> io::Error {
    io::Error::other(format!("this kernel has no {what}"))
}

/// Minimal BTF with one integer type: a `struct_ops` map needs a BTF of its own, though its value type is the kernel's.
fn own_types() -> io::Result<OwnedFd> {
    const HEADER: u32 = 24;
    const INTEGER: [u32; 4] = [0, 1 << 24, 4, 32];
    let length = size_of_val(&INTEGER) as u32;
    let header = [0x0001_eb9f, HEADER, 0, length, length, 1];
    let mut types: Vec<u8> = header.iter().chain(&INTEGER).flat_map(|w| w.to_ne_bytes()).collect();
    types.push(0);
    load_types(&types)
}
