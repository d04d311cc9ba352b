//! Profiles of BSD.

use aqmkit_base::{Bytes, Duration};

use super::{DelayedAck, IdleSince, Profile, Timer, seconds};
use crate::congestion::Kind;

impl Profile {
    /// 4.4BSD as Parris 2001, Table A.8 describes it.
    ///
    /// Timestamps are on ("RFC 1323: yes"), so a full segment carries 1448 bytes under 52 bytes of header
    /// and fills the 1500 of an Ethernet frame; the dissertation counts 1440 + 60 for the same frame. ECN
    /// is "optional" in the table, but its routers dropped throughout, so it is off. The window is the
    /// table's 16 KB: 11 full segments in flight. The SYNs are 4.4BSD's, at 0, 6 and 30 s, given up at 75
    /// s.
    ///
    /// Left out: the metrics that routes keep from one connection to the next (`route_pipe = "16384b"` has them), and the
    /// exemption of neighbours from slow start.
    #[must_use]
    pub fn bsd44() -> Self {
        Profile {
            congestion: Kind::Reno,
            initial_window: 1,
            initial_ssthresh: Bytes(1 << 20),
            // TCP_MAXWIN: nothing larger can be advertised without scaling.
            cwnd_limit: Bytes(65_535),
            slow_start_when_equal: true,
            idle_since: IdleSince::Received,
            receive_window: Bytes(16_384),
            delayed_ack: DelayedAck::Tick(Duration::from_millis(200)),
            timer: Timer::Tick(Duration::from_millis(500)),
            initial_rto: Duration::from_secs(6),
            max_rto: Duration::from_secs(64),
            max_backoff: 64,
            max_retransmits: 12,
            syn: seconds(&[6, 24, 45]),
            syn_ack: seconds(&[6, 24, 45]),
            ..Self::rfc()
        }
    }

    /// FreeBSD 2.2, what the dissertation's hosts ran (2.2.8), where its sources differ from the table:
    /// SYNs at 0, 3, 9, 21 and 45 s, two segments for a server to start with, and buffers rounded up to whole
    /// segments (16 KB to 17,280 bytes, 12 segments). The sources are those of the 2.2 branch in KAME's repository
    /// (`freebsd2/sys/netinet`), with what FreeBSD had put in before 2.2.8 of November 1998:
    ///
    /// * Headers of 60 bytes and segments of 1440: T/TCP is on (`tcp_do_rfc1644`), whose CC option takes 8 bytes beside the 12
    ///   of timestamps (`tcp_mss` in `tcp_input.c`). The dissertation's headers of TCP are 60 bytes (IV 4.1, table 4.1).
    /// * Routes keep the round-trip time and the threshold of ended connections (`in_rmx.c` 1.26; [`Route`](crate::Route)).
    /// * Backoff multiplies at least the minimum timeout (`TCP_REXMTVAL` in `tcp_var.h` 1.36.2.1 of April 1998). Until then it
    ///   multiplied the bare estimate: `backoff_of_minimum = false`.
    ///
    /// Left out: CC.ECHO and the window scale in a SYN-ACK, 12 bytes, and T/TCP's data in SYNs, for which a client has to ask.
    #[must_use]
    pub fn freebsd22() -> Self {
        Profile {
            syn_opens_window: true,
            mss: Bytes(1440),
            header: Bytes(60),
            receive_window: Bytes(12 * 1440),
            initial_rto: Duration::from_secs(3),
            route_pipe: Bytes(16_384),
            syn: seconds(&[3, 6, 12, 24, 30]),
            syn_ack: seconds(&[3, 6, 12, 24, 30]),
            ..Self::bsd44()
        }
    }

    /// FreeBSD 4.5: `NewReno`, timers in ticks of 10 ms, acknowledgements delayed by 100 ms,
    /// the SYNs of August 2001, at 0, 3, 6, 9, 12, 15, 21, 33 and 57 s, and two segments for a server to start with.
    ///
    /// The two segments, from its source: a connection made from the SYN cache begins in SYN-RECEIVED with `snd_una` at the
    /// initial sequence number (`syncache_socket`, `tcp_sendseqinit`), and `tcp_input` then sets `snd_max` and `snd_nxt` one
    /// beyond it, but not `snd_una`. The acknowledgement of the SYN-ACK passes on to the processing of acknowledgements on open
    /// connections, covers one byte there, and opens the window by `t_maxseg`, with `NewReno` as without. Read in two files of
    /// the 4.x branch that bear no revision, `tcp_syncache.c` and a `tcp_input.c` that calls it; that 4.5, the first release with
    /// a SYN cache, is the same is inferred. A SYN-ACK that was sent again leaves one segment before the acknowledgement, so two as well.
    #[must_use]
    pub fn freebsd45() -> Self {
        Profile {
            congestion: Kind::NewReno,
            syn_opens_window: true,
            delayed_ack: DelayedAck::After(Duration::from_millis(100)),
            timer: Timer::Tick(Duration::from_millis(10)),
            initial_rto: Duration::from_secs(3),
            syn: seconds(&[3, 3, 3, 3, 3, 6, 12, 24, 18]),
            // The SYN cache: three retries with doubling waits.
            syn_ack: seconds(&[3, 6, 12, 24]),
            ..Self::bsd44()
        }
    }
}
