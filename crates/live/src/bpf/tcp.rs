//! Registers a congestion control written in BPF with the kernel (`struct tcp_congestion_ops` in `include/net/tcp.h`).

use std::io;
use std::os::fd::OwnedFd;

use super::dctcp;
use super::kernel_types::Btf;
use super::struct_ops::Table;

/// `TCP_CONG_NON_RESTRICTED`: unprivileged processes may select it.
const NON_RESTRICTED: u32 = 1;
/// `TCP_CONG_NEEDS_ECN`: its connections negotiate ECN regardless of `tcp_ecn`.
const NEEDS_ECN: u32 = 2;
/// `TCP_CA_NAME_MAX`, including the terminating zero.
const NAME: usize = 16;

/// A member of `struct tcp_congestion_ops`, and the program for it.
pub(super) type Operation = (&'static str, Vec<u64>);

/// Byte offsets of the fields of `struct tcp_sock` that a congestion control uses.
pub(super) struct Socket {
    pub(super) snd_cwnd: i16,
    pub(super) snd_ssthresh: i16,
    pub(super) snd_una: i16,
    pub(super) snd_nxt: i16,
    pub(super) rcv_nxt: i16,
    pub(super) delivered: i16,
    pub(super) delivered_ce: i16,
    pub(super) ecn_flags: i16,
    /// `icsk_ack.pending`.
    pub(super) ack_pending: i16,
    /// `icsk_ca_priv`.
    pub(super) private: i16,
}

impl Socket {
    /// The layout in this kernel, or the path of a missing member.
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

/// The congestion controls available here.
pub(crate) const OURS: [&str; 1] = ["dctcp"];

/// Registers one of [`OURS`], until the returned link is closed and the last connection using it ends.
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
    let mut table = Table::new(&kernel, "tcp_congestion_ops", "bpf_struct_ops_tcp_congestion_ops")?;
    for (member, code) in operations {
        table.add(member, &code)?;
    }
    table.set("flags", &(NON_RESTRICTED | NEEDS_ECN).to_ne_bytes())?;
    table.set("name", name.as_bytes().get(..name.len().min(NAME - 1)).unwrap_or_default())?;
    table.register()
}
