//! The kernel's counters of a TCP connection (`TCP_INFO`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The requested size of `struct tcp_info`; older kernels return less.
const SIZE: usize = 248;

/// Offsets in `struct tcp_info` (`linux/tcp.h`), which only grows at its end.
const TOTAL_RETRANS: usize = 100;
const DATA_SEGS_OUT: usize = 156;
/// Since Linux 6.7.
const TOTAL_RTO: usize = 240;

/// Counters of one end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Data segments sent, including retransmissions.
    pub data_segments: u32,
    /// Retransmitted segments.
    pub retransmissions: u32,
    /// RTOs; zero if the kernel does not count them (before Linux 6.7).
    pub timeouts: u32,
}

impl TcpInfo {
    /// Reads the counters of a socket.
    ///
    /// # Errors
    /// When the socket is not a TCP socket.
    pub fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
        let mut bytes = [0_u8; SIZE];
        let mut size = SIZE as libc::socklen_t;
        // SAFETY: both pointers are to values that outlive the call; the kernel writes no more than `size` bytes.
        let done = unsafe {
            let at = bytes.as_mut_ptr().cast();
            libc::getsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, at, &raw mut size)
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Ok(TcpInfo {
            data_segments: word(DATA_SEGS_OUT),
            retransmissions: word(TOTAL_RETRANS),
            timeouts: u16::from_ne_bytes([bytes[TOTAL_RTO], bytes[TOTAL_RTO + 1]]).into(),
        })
    }

    /// The increase since `earlier`.
    #[must_use]
    pub fn since(self, earlier: TcpInfo) -> TcpInfo {
        TcpInfo {
            data_segments: self.data_segments.wrapping_sub(earlier.data_segments),
            retransmissions: self.retransmissions.wrapping_sub(earlier.retransmissions),
            // `tcpi_total_rto` has 16 bits.
            timeouts: (self.timeouts as u16).wrapping_sub(earlier.timeouts as u16).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn segments_with_data_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let before = TcpInfo::of(&client).unwrap();
        assert_eq!(before, TcpInfo::default());
        for _ in 0..3 {
            client.write_all(b"x").unwrap();
            server.read_exact(&mut [0]).unwrap();
        }
        let sent = TcpInfo::of(&client).unwrap().since(before);
        // A delayed machine may retransmit.
        assert_eq!(sent.data_segments - sent.retransmissions, 3, "{sent:?}");
        assert_eq!(TcpInfo::of(&server).unwrap().data_segments, 0);
        assert!(TcpInfo::of(&UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
