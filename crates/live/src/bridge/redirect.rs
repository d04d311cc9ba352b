//! The XDP program that redirects an interface's frames to the `AF_XDP` sockets of its receive queues.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::bpf::code::{Code, Reg, Size};
use crate::bpf::{Attr, Command, bpf_fd, load, update, word};

const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;

/// Redirects each frame to its queue's socket in the XSKMAP; without one, the frame continues into the network stack.
fn program(map: BorrowedFd<'_>) -> Vec<u64> {
    /// Offset of `rx_queue_index` in `struct xdp_md`.
    const QUEUE: i16 = 16;
    const PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    let mut code = Code::default();
    code.load(Size::U32, Reg::R2, Reg::R1, QUEUE);
    code.map(Reg::R1, map.as_raw_fd());
    code.set(Reg::R3, PASS);
    code.call_helper(REDIRECT_MAP);
    code.exit();
    code.finish()
}

/// An attached XDP program that redirects each queue's frames to a socket. Detached on drop.
#[derive(Debug)]
pub(super) struct Redirect {
    /// The BPF link, which holds the program and its map.
    _link: OwnedFd,
}

impl Redirect {
    /// Loads the program for the sockets of all receive queues, in order, and attaches it: in native mode if the driver
    /// supports it, otherwise in generic mode.
    ///
    /// # Errors
    /// When permission is missing (`CAP_BPF` and `CAP_NET_ADMIN`), or another program is attached (`EBUSY`).
    pub(super) fn attach(index: u32, sockets: &[BorrowedFd<'_>]) -> io::Result<Redirect> {
        let map = Attr::new(&[
            (word::MAP_TYPE, MAP_TYPE_XSKMAP),
            (word::KEY_SIZE, 4),
            (word::VALUE_SIZE, 4),
            (word::MAX_ENTRIES, sockets.len() as u32),
        ]);
        // SAFETY: the attributes contain no pointers.
        let map = unsafe { bpf_fd(Command::MapCreate, &map) }?;
        for (queue, socket) in (0_u32..).zip(sockets) {
            update(map.as_fd(), &queue.to_ne_bytes(), &socket.as_raw_fd().to_ne_bytes())?;
        }
        let program = load(&program(map.as_fd()), &[(word::PROG_TYPE, PROG_TYPE_XDP)])?;
        let link = Attr::new(&[
            (word::LINKED_FILE, program.as_raw_fd() as u32),
            (word::LINK_TARGET, index),
            (word::LINK_ATTACH_TYPE, ATTACH_TYPE_XDP),
        ]);
        // SAFETY: the attributes contain no pointers.
        let link = unsafe { bpf_fd(Command::LinkCreate, &link) }?;
        Ok(Redirect { _link: link })
    }
}
