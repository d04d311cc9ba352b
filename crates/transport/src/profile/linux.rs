//! Profiles of Linux.

use aqmkit_base::{Bytes, Duration};

use super::{ByteCounting, DelayedAck, LossDetection, Profile, RateReduction};
use crate::congestion::{Kind, cubic, dctcp};

impl Profile {
    /// Linux 3.18 (December 2014) with its defaults: CUBIC, ten segments to start with, SACK with forward
    /// acknowledgement, early retransmit, tail loss probes, proportional rate reduction; needless reductions are taken back, as
    /// D-SACKs, timestamps and F-RTO show them.
    ///
    /// The timeout is the round trip and at least 200 ms. The first 16 acknowledgements are not delayed, later
    /// ones by 40 to 200 ms. SYNs go at 0, 1, 3, 7, 15, 31 and 63 s, SYN-ACKs until 31 s.
    ///
    /// The receive window is autotuned (`crates/transport/src/tcp/autotuning.rs`), from `tcp_rmem` 4096 87380 6291456: half of the buffer is
    /// window. At most 4 MiB are unacknowledged (`tcp_wmem`).
    ///
    /// Where it differs from the sources: autotuning is that of 6.6, which grows the window by how much the rate grew, where
    /// 3.18 has two steps (`tcp_rcv_space_adjust`), and starts with half of the initial buffer, where 3.18 starts with 20 segments and a buffer that it
    /// has raised to about 360 KB; forward acknowledgement stays on
    /// when segments are reordered; early retransmit is RFC 5827's, without Linux's quarter of a round trip
    /// of delay; `HyStart` is that of 5.6 and later, which measures in microseconds; slow start
    /// after idle time goes back to the initial window at once and not by halves; quick acknowledgements do
    /// not come back after silence; F-RTO asks for the second acknowledgement, as RFC 5682 does, where Linux is content with the
    /// first that covers what was sent once; a sender that does not pace hands over segment by segment, because the rule by which 3.18 waits
    /// for larger super-packets is another one; a reduction takes its share of the data in flight, where Linux's CUBIC takes it of the window,
    /// used or not; blocks on an acknowledgement that was overtaken are not read; without SACK, data that duplicates have told of
    /// opens the window when it is acknowledged; and hosts do not remember one connection for the next.
    #[must_use]
    pub fn linux_3_18() -> Self {
        Profile {
            congestion: Kind::Cubic,
            cubic: cubic::Params {
                hystart: cubic::SlowStartEnd::Linux,
                catch_up: false,
                first_growth: 0.05,
                ..cubic::Params::default()
            },
            // Right since 5.1.
            dctcp: dctcp::Params { loss: dctcp::OnLoss::Alpha, ..dctcp::Params::default() },
            // Slow start since 3.13, avoidance since 4.0.
            byte_counting: ByteCounting::SlowStart,
            tcp_moderate_rcvbuf: true,
            tcp_rmem: [Bytes(4096), Bytes(87_380), Bytes(6 << 20)],
            scaling_ratio: 0.5,
            tcp_wmem: [Bytes(4096), Bytes(16_384), Bytes(4 << 20)],
            cwnd_validation: true,
            minshall: true,
            gso_max_size: Bytes(65_536),
            gso_time: Duration::from_micros(500),
            sack: true,
            loss_detection: LossDetection::Fack,
            limited_transmit: true,
            early_retransmit: true,
            tail_loss_probe: true,
            rate_reduction: RateReduction::Rfc6937,
            cwr_state: true,
            least_after_mark: 2,
            whole_segments: true,
            dsack: true,
            undo: true,
            frto: true,
            delayed_ack: DelayedAck::Adaptive { least: Duration::from_millis(40), most: Duration::from_millis(200) },
            quick_acks: 16,
            min_rto: Duration::from_millis(200),
            min_variation: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            ..Self::rfc()
        }
    }

    /// Linux 6 with its defaults (6.6 to 6.15 in what concerns buffers): as 3.18, but RACK finds the losses, forward acknowledgement and early
    /// retransmit are gone, avoidance too counts what an acknowledgement covers, and recovery sends no more than was delivered
    /// while losses go on. Segments leave the host together as `tcp_tso_autosize` and `tcp_tso_should_defer` have it, without what round trips
    /// below 8 ms add. `tcp_rmem` is 4096 131072 6291456, of which 0.66 are window: what the kernel measures with segments of 1448 bytes in a driver
    /// with buffers of 2048 (AWS ENA, netdev, January 2024); drivers that fill pages come close to 1. Since 6.16 `tcp_rmem[2]` is 32 MB and the growth
    /// another one. The same other differences from the sources.
    #[must_use]
    pub fn linux_6() -> Self {
        Profile {
            // Since 4.20.
            tcp_rmem: [Bytes(4096), Bytes(131_072), Bytes(6 << 20)],
            scaling_ratio: 0.66,
            loss_detection: LossDetection::Rack,
            early_retransmit: false,
            gso_time: Duration::from_nanos(1_000_000_000 / 1024),
            // Since 4.18.
            comp_sack_delay: Duration::from_millis(1),
            dctcp: dctcp::Params::default(),
            byte_counting: ByteCounting::Always,
            rate_reduction: RateReduction::Rfc9937,
            ..Self::linux_3_18()
        }
    }
}
