//! Registers a table of functions written in BPF with the kernel (`Documentation/bpf/map_struct_ops.rst`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::kernel_types::{Btf, Structure};
use super::{Attr, Command, load, load_types, make, update, word};

const MAP_TYPE_STRUCT_OPS: u32 = 26;
const PROG_TYPE_STRUCT_OPS: u32 = 27;
const ATTACH_TYPE_STRUCT_OPS: u32 = 44;
/// The map is attached by a link (Linux 6.4); closing the link ends the registration.
const BY_LINK: u32 = 1 << 13;

/// A structure of the kernel whose members are functions, such as `struct tcp_congestion_ops`, as it is filled in.
pub(crate) struct Table<'a> {
    kernel: &'a Btf,
    name: &'static str,
    table: Structure,
    /// What the kernel wraps around it, and where it is in there.
    wrapper: Structure,
    base: usize,
    value: Vec<u8>,
    /// The map holds references to the programs, whose files can then be closed.
    programs: Vec<OwnedFd>,
}

impl<'a> Table<'a> {
    /// An empty one of the structure `name`, which the kernel wraps in `wrapper`.
    ///
    /// # Errors
    /// When the kernel does not have them.
    pub(crate) fn new(kernel: &'a Btf, name: &'static str, wrapper: &'static str) -> io::Result<Table<'a>> {
        let table = kernel.structure(name).ok_or_else(|| lacks(name))?;
        let wrapped = kernel.structure(wrapper).ok_or_else(|| lacks(wrapper))?;
        let base = kernel.member(wrapped, "data").ok_or_else(|| lacks(wrapper))?.offset;
        let value = vec![0; wrapped.size];
        Ok(Table { kernel, name, table, wrapper: wrapped, base, value, programs: Vec::new() })
    }

    /// Fills in a member.
    ///
    /// # Errors
    /// When the kernel does not have it.
    pub(crate) fn set(&mut self, member: &str, bytes: &[u8]) -> io::Result<()> {
        let lacking = || lacks(&format!("{}.{member}", self.name));
        let at = self.base + self.kernel.member(self.table, member).ok_or_else(lacking)?.offset;
        self.value.get_mut(at..at + bytes.len()).ok_or_else(lacking)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Loads a function and fills it in.
    ///
    /// # Errors
    /// When the kernel does not have the member, or refuses the program.
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

    /// Registers it, until the file is closed.
    ///
    /// # Errors
    /// When the kernel lacks support, something of this name is registered already (`EEXIST`), or permission is missing.
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
        // SAFETY: no addresses.
        let map = unsafe { make(Command::MapCreate, &map) }
            .map_err(|e| io::Error::new(e.kind(), format!("Linux 6.4 or newer is needed ({e})")))?;
        update(map.as_fd(), &[0; 4], &self.value)?;
        let link =
            Attr::new(&[(word::LINKED_FILE, map.as_raw_fd() as u32), (word::LINK_ATTACH_TYPE, ATTACH_TYPE_STRUCT_OPS)]);
        // SAFETY: no addresses.
        unsafe { make(Command::LinkCreate, &link) }
    }
}

fn lacks(what: &str) -> io::Error {
    io::Error::other(format!("this kernel has no {what}"))
}

/// Types of one's own, which a map has to name though it uses the kernel's: one integer.
fn own_types() -> io::Result<OwnedFd> {
    const HEADER: u32 = 24;
    const INTEGER: [u32; 4] = [0, 1 << 24, 4, 32];
    let length = size_of_val(&INTEGER) as u32;
    let header = [0x0001_eb9f, HEADER, 0, length, length, 1];
    let mut types: Vec<u8> = header.iter().chain(&INTEGER).flat_map(|w| w.to_ne_bytes()).collect();
    types.push(0);
    load_types(&types)
}
