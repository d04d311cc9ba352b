//! Profiles of current standards, and of a simulator.

use aqmkit_base::{Bytes, Duration};

use super::{
    ByteCounting, DelayedAck, EcnFeedback, EcnPackets, IdleSince, LossDetection, Profile, RateReduction, Timer, seconds,
};
use crate::congestion::{Kind, cubic, dctcp, ledbat, prague};
use crate::rate::{lda, scp, tfrc};

/// Larger than any window that a test link fills.
const UNLIMITED: Bytes = Bytes(1 << 30);

impl Profile {
    /// Current standards, with exact timers: RFC 5681, 6298, 6582 and 6928; no limit by the receiver (1 GiB, about the
    /// largest window that RFC 7323 can scale to), acknowledgements delayed by 40 ms.
    #[must_use]
    pub fn rfc() -> Self {
        Profile {
            congestion: Kind::NewReno,
            cubic: cubic::Params::default(),
            dctcp: dctcp::Params::default(),
            prague: prague::Params::default(),
            ledbat: ledbat::Params::default(),
            tfrc: tfrc::Params::default(),
            scp: scp::Params::default(),
            lda: lda::Params::default(),
            mss: Bytes(1448),
            header: Bytes(52),
            initial_window: 10,
            syn_opens_window: false,
            initial_ssthresh: Bytes(1 << 30),
            cwnd_limit: Bytes(1 << 30),
            byte_counting: ByteCounting::Never,
            slow_start_when_equal: false,
            slow_start_after_idle: true,
            idle_since: IdleSince::Sent,
            cwnd_validation: false,
            receive_window: UNLIMITED,
            tcp_moderate_rcvbuf: false,
            tcp_rmem: [Bytes(4096), Bytes(131_072), Bytes(6 << 20)],
            scaling_ratio: 0.5,
            tcp_wmem: [Bytes(4096), Bytes(16_384), UNLIMITED],
            route_pipe: Bytes::ZERO,
            timestamps: true,
            sack: false,
            loss_detection: LossDetection::Sack,
            limited_transmit: false,
            early_retransmit: false,
            tail_loss_probe: false,
            rate_reduction: RateReduction::No,
            cwr_state: false,
            whole_segments: false,
            dsack: false,
            undo: false,
            frto: false,
            ecn: false,
            least_after_mark: 1,
            ecn_feedback: EcnFeedback::Classic,
            ecn_option: true,
            ecn_packets: EcnPackets::Data,
            nagle: true,
            minshall: false,
            gso_max_size: Bytes::ZERO,
            gso_time: Duration::from_micros(977),
            delayed_ack: DelayedAck::After(Duration::from_millis(40)),
            quick_acks: 0,
            comp_sack_delay: Duration::ZERO,
            timer: Timer::Exact,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            min_variation: Duration::ZERO,
            max_rto: Duration::from_secs(60),
            backoff_of_minimum: true,
            max_backoff: 1 << 16,
            max_retransmits: 15,
            syn: seconds(&[1, 2, 4, 8, 16, 32, 64]),
            syn_ack: seconds(&[1, 2, 4, 8, 16, 32]),
        }
    }

    /// The one-way TCP agents of ns-2 as they are usually configured, for comparisons: segments of 1000 bytes plus 40
    /// of header (timestamps are free there), every segment acknowledged, a minimum timeout of 200 ms, no limit by the
    /// receiver.
    #[must_use]
    pub fn ns2() -> Self {
        Profile {
            mss: Bytes(1000),
            header: Bytes(40),
            initial_window: 2,
            slow_start_after_idle: false,
            nagle: false,
            delayed_ack: DelayedAck::None,
            max_backoff: 64,
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_millis(200),
            syn: seconds(&[3, 6, 12, 24, 48]),
            syn_ack: seconds(&[3, 6, 12, 24, 48]),
            ..Self::rfc()
        }
    }
}
