//! The kernel's counters of a TCP connection (`TCP_INFO`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use aqmkit_base::Duration;

/// The requested size of `struct tcp_info`; older kernels return less.
const SIZE: usize = 248;

/// Offsets in `struct tcp_info` (`linux/tcp.h`), which only grows at its end.
const SND_MSS: usize = 16;
const UNACKED: usize = 24;
const RTT: usize = 68;
const SND_SSTHRESH: usize = 76;
const TOTAL_RETRANS: usize = 100;
const DATA_SEGS_OUT: usize = 156;
/// Since Linux 4.10, as the next two.
const BUSY_TIME: usize = 168;
const RWND_LIMITED: usize = 176;
const SNDBUF_LIMITED: usize = 184;
/// Since Linux 5.4.
const SND_WND: usize = 228;
/// Since Linux 6.7.
const TOTAL_RTO: usize = 240;

/// The slow-start threshold before the first reduction (`TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The sender of one end of a connection: what it may send at the moment, and what limited it so far. The kernel counts the times in ticks of its clock (4 ms at
/// 250 Hz).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// The largest payload of a segment in bytes (`tcpi_snd_mss`).
    pub segment: u64,
    /// The peer's receive window in bytes (`tcpi_snd_wnd`).
    pub window: u64,
    /// Bytes that are not acknowledged: full segments.
    pub unacknowledged: u64,
    /// The smoothed round-trip time; zero before the first sample.
    pub rtt: Duration,
    /// Whether no loss, mark or delay has set a slow-start threshold yet.
    pub no_threshold: bool,
    /// Time in which it had data to send or unacknowledged (`tcpi_busy_time`), that of the next two included.
    pub busy: Duration,
    /// Time in which the receive window limited it (`tcpi_rwnd_limited`).
    pub receive_window: Duration,
    /// Time in which the send buffer limited it (`tcpi_sndbuf_limited`).
    pub send_buffer: Duration,
}

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
        Self::with_sender(socket).map(|(counters, _)| counters)
    }

    /// Reads the counters and the state of the sender.
    ///
    /// # Errors
    /// When it is not a socket of TCP.
    pub fn with_sender(socket: &impl AsFd) -> io::Result<(TcpInfo, Sender)> {
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
        let time = |at: usize| {
            let us = bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
            Duration::from_nanos(us.saturating_mul(1000))
        };
        let counters = TcpInfo {
            data_segments: word(DATA_SEGS_OUT),
            retransmissions: word(TOTAL_RETRANS),
            timeouts: u16::from_ne_bytes([bytes[TOTAL_RTO], bytes[TOTAL_RTO + 1]]).into(),
        };
        let sender = Sender {
            segment: word(SND_MSS).into(),
            window: word(SND_WND).into(),
            unacknowledged: u64::from(word(UNACKED)) * u64::from(word(SND_MSS)),
            rtt: Duration::from_micros(word(RTT).into()),
            no_threshold: word(SND_SSTHRESH) >= INFINITE_SSTHRESH,
            busy: time(BUSY_TIME),
            receive_window: time(RWND_LIMITED),
            send_buffer: time(SNDBUF_LIMITED),
        };
        Ok((counters, sender))
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

    /// The receiver reads nothing: the sender fills its window, and the kernel counts the time.
    #[test]
    fn a_receiver_that_does_not_read_limits_the_sender() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _server = listener.accept().unwrap().0;
        client.set_nonblocking(true).unwrap();
        let fill = || while (&client).write(&[0; 65_536]).is_ok() {};
        let (_, before) = TcpInfo::with_sender(&client).unwrap();
        assert!(before.no_threshold && before.window > 0 && before.receive_window.is_zero(), "{before:?}");
        for _ in 0..20 {
            fill();
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let (_, full) = TcpInfo::with_sender(&client).unwrap();
        let least = Duration::from_millis(100);
        assert!(full.receive_window > least && full.busy >= full.receive_window + full.send_buffer, "{full:?}");
        assert!(!full.rtt.is_zero() && full.rtt < Duration::from_millis(100), "{full:?}");
    }
}
