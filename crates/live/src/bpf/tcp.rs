//! Registers a congestion control written in BPF with the kernel (`Documentation/bpf/map_struct_ops.rst`,
//! `struct tcp_congestion_ops` in `include/net/tcp.h`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::kernel_types::{Btf, Structure};
use super::{Attr, Command, dctcp, load, make, update, word};

const MAP_TYPE_STRUCT_OPS: u32 = 26;
const PROG_TYPE_STRUCT_OPS: u32 = 27;
const ATTACH_TYPE_STRUCT_OPS: u32 = 44;
/// The map is attached by a link (Linux 6.4); closing the link removes the congestion control.
const BY_LINK: u32 = 1 << 13;

/// Any user may select it.
const NON_RESTRICTED: u32 = 1;
/// Its connections negotiate ECN, regardless of the sysctl.
const NEEDS_ECN: u32 = 2;
/// The longest name, with the zero after it.
const NAME: usize = 16;

/// A member of `struct tcp_congestion_ops`, and its code.
pub(super) type Operation = (&'static str, Vec<u64>);

/// The offsets of the fields of the kernel's `struct tcp_sock` that a congestion control uses, in bytes.
pub(super) struct Socket {
    pub(super) snd_cwnd: i16,
    pub(super) snd_ssthresh: i16,
    pub(super) snd_una: i16,
    pub(super) snd_nxt: i16,
    pub(super) rcv_nxt: i16,
    pub(super) delivered: i16,
    pub(super) delivered_ce: i16,
    pub(super) ecn_flags: i16,
    /// Flags of pending acknowledgements.
    pub(super) ack_pending: i16,
    /// The private memory of the congestion control.
    pub(super) private: i16,
}

impl Socket {
    /// The layout in this kernel, or the name of a missing member.
    pub(super) fn of(kernel: &Btf) -> Result<Socket, &'static str> {
        let socket = kernel.structure("tcp_sock").ok_or("tcp_sock")?;
        let at = |path: &'static str| {
            let member = kernel.member(socket, path).ok_or(path)?;
            i16::try_from(member.offset).map_err(|_| path)
        };
        Ok(Socket {
            snd_cwnd: at("snd_cwnd")?,
            snd_ssthresh: at("snd_ssthresh")?,
            snd_una: at("snd_una")?,
            snd_nxt: at("snd_nxt")?,
            rcv_nxt: at("rcv_nxt")?,
            delivered: at("delivered")?,
            delivered_ce: at("delivered_ce")?,
            ecn_flags: at("ecn_flags")?,
            ack_pending: at("inet_conn.icsk_ack.pending")?,
            private: at("inet_conn.icsk_ca_priv")?,
        })
    }
}

/// The congestion controls that can be registered.
pub(crate) const OURS: [&str; 1] = ["dctcp"];

/// Registers one of [`OURS`]. It remains until the file is closed, and until its last connection ends.
///
/// # Errors
/// When the kernel lacks support, or permission is missing.
pub(crate) fn register(name: &str) -> io::Result<OwnedFd> {
    let kernel = Btf::of_kernel()?;
    let lacks = |what: &str| io::Error::other(format!("this kernel has no {what}"));
    let operations = match name {
        "dctcp" => dctcp::operations(&kernel).map_err(lacks)?,
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    let table = kernel.structure("tcp_congestion_ops").ok_or_else(|| lacks("tcp_congestion_ops"))?;
    let wrapper = "bpf_struct_ops_tcp_congestion_ops";
    let value_type = kernel.structure(wrapper).ok_or_else(|| lacks(wrapper))?;
    let base = kernel.member(value_type, "data").ok_or_else(|| lacks(wrapper))?.offset;

    let mut value = vec![0_u8; value_type.size];
    let mut set = |member: &'static str, bytes: &[u8]| {
        let at = base + kernel.member(table, member).ok_or_else(|| lacks(member))?.offset;
        value.get_mut(at..at + bytes.len()).ok_or_else(|| lacks(member))?.copy_from_slice(bytes);
        Ok::<_, io::Error>(())
    };
    // The map holds references to the programs, whose files can be closed.
    let mut programs = Vec::new();
    for (member, code) in operations {
        let program = load_operation(&kernel, table, member, &code)?;
        set(member, &(program.as_raw_fd() as u64).to_ne_bytes())?;
        programs.push(program);
    }
    set("flags", &(NON_RESTRICTED | NEEDS_ECN).to_ne_bytes())?;
    set("name", name.as_bytes().get(..name.len().min(NAME - 1)).unwrap_or_default())?;
    attach(value_type, &value)
}

fn load_operation(kernel: &Btf, table: Structure, member: &'static str, code: &[u64]) -> io::Result<OwnedFd> {
    let about = kernel.member(table, member);
    let index = about.ok_or_else(|| io::Error::other(format!("tcp_congestion_ops has no {member}")))?.index;
    let loaded = load(
        code,
        &[
            (word::PROG_TYPE, PROG_TYPE_STRUCT_OPS),
            (word::EXPECTED_ATTACH_TYPE, index),
            (word::ATTACH_BTF_ID, table.id),
        ],
    );
    loaded.map_err(|e| io::Error::new(e.kind(), format!("{member}: {e}")))
}

fn attach(value_type: Structure, value: &[u8]) -> io::Result<OwnedFd> {
    let types = own_types()?;
    let map = Attr::new(&[
        (word::MAP_TYPE, MAP_TYPE_STRUCT_OPS),
        (word::KEY_SIZE, 4),
        (word::VALUE_SIZE, value_type.size as u32),
        (word::MAX_ENTRIES, 1),
        (word::MAP_FLAGS, BY_LINK),
        (word::MAP_BTF_FILE, types.as_raw_fd() as u32),
        (word::MAP_KERNEL_TYPE, value_type.id),
    ]);
    // SAFETY: no addresses.
    let map = unsafe { make(Command::MapCreate, &map) }
        .map_err(|e| io::Error::new(e.kind(), format!("Linux 6.4 or newer is needed ({e})")))?;
    update(map.as_fd(), &[0; 4], value)?;
    let link =
        Attr::new(&[(word::LINKED_FILE, map.as_raw_fd() as u32), (word::LINK_ATTACH_TYPE, ATTACH_TYPE_STRUCT_OPS)]);
    // SAFETY: no addresses.
    unsafe { make(Command::LinkCreate, &link) }
}

/// Types of one's own, which a map has to name though it uses the kernel's: one integer.
fn own_types() -> io::Result<OwnedFd> {
    const HEADER: u32 = 24;
    const INTEGER: [u32; 4] = [0, 1 << 24, 4, 32];
    let length = size_of_val(&INTEGER) as u32;
    let header = [0x0001_eb9f, HEADER, 0, length, length, 1];
    let mut types: Vec<u8> = header.iter().chain(&INTEGER).flat_map(|w| w.to_ne_bytes()).collect();
    types.push(0);
    let mut attr = Attr::new(&[(word::BTF_SIZE, types.len() as u32)]);
    attr.point(word::BTF, types.as_ptr());
    // SAFETY: the types, as long as is said, outlive the call.
    unsafe { make(Command::BtfLoad, &attr) }
}
