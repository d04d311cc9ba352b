//! Send limits: what keeps a TCP sender from sending more.

/// The reason why the sender of an open TCP connection sends no more at this moment.
///
/// Linux accounts for the same limits in `tcp_info` (`tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`; `tcp_chrono_start` in
/// `net/ipv4/tcp_output.c`). Of several limits the congestion window counts first, as there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendLimit {
    /// The application: everything written was sent.
    Application,
    /// The congestion window, or pacing.
    CongestionWindow,
    /// The peer's receive window.
    ReceiveWindow,
    /// The local send buffer.
    SendBuffer,
}
