//! TCP profiles: the behaviour of an operating system as data.
//!
//! A complete [`Profile`] is a named one ([`Profile::named`], [`NAMES`]) with [`Overrides`] of single
//! fields. Any number of endpoints can share a profile.

use aqmkit_base::{Bytes, Duration, ParamError};
use serde::{Deserialize, Serialize};

use super::congestion::{self, Kind};
use super::rate;
use super::segment::Segment;

mod bsd;
mod linux;
mod standard;

/// The clock that drives the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Timer {
    /// Times are exact (RFC 6298 with a clock granularity of zero, or of 1 ms where timestamps measure).
    Exact,
    /// A timer tick of this length, shared by all connections of a host: round trips are measured in ticks,
    /// with 4.4BSD's integer arithmetic, and a timeout of n ticks expires n - 1 to n ticks later.
    Tick(Duration),
}

/// When in-order data is acknowledged. Out-of-order data, data that fills a hole, FINs, two full segments,
/// and half of the receive window are acknowledged at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum DelayedAck {
    /// No delay: every segment is acknowledged at once.
    None,
    /// At the next tick of a clock with this period, the same for all of a host's connections: 4.4BSD's
    /// 200 ms fast timer, so 0 to 200 ms later.
    Tick(Duration),
    /// This long after the first unacknowledged segment.
    After(Duration),
    /// As in Linux: about twice the time between arrivals, within these limits.
    Adaptive {
        /// Minimum delay, for fast arrivals.
        least: Duration,
        /// The longest.
        most: Duration,
    },
}

/// The loss detection of a sender with SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossDetection {
    /// A segment is lost if three discontiguous blocks, or more than two full segments, above it were
    /// SACKed (RFC 6675).
    #[default]
    Sack,
    /// Also if data more than three full segments above it was SACKed (Mathis and Mahdavi, Forward
    /// Acknowledgment, 1996): for networks without reordering.
    Fack,
    /// A segment is lost if a later one was delivered and the reordering window has passed (RFC 8985). Also
    /// detects lost retransmissions.
    Rack,
}

/// How a receiver feeds back congestion experienced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnFeedback {
    /// ECE from a mark until CWR: one signal in a round trip (RFC 3168 section 6.1.3).
    #[default]
    Classic,
    /// ECE for exactly the marked segments (RFC 8257 section 3.2). Negotiated like classic ECN, so both
    /// ends must be configured.
    Dctcp,
    /// A counter of marks in three header bits (RFC 9768), and counters of bytes in an option. Falls back
    /// to classic feedback if the peer does not support it.
    Accurate,
}

/// Which segments of a connection with ECN are ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnPackets {
    /// New data only (RFC 3168 sections 6.1.1, 6.1.4 and 6.1.5).
    #[default]
    Data,
    /// All segments, including SYNs, pure acknowledgements and retransmissions: as Linux does for DCTCP,
    /// and as RFC 8311 section 4.3 permits as an experiment.
    All,
}

/// Where the window grows by acknowledged bytes (RFC 3465, without its limit) instead of one segment per
/// acknowledgement, which is half as fast with delayed acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ByteCounting {
    /// Nowhere (RFC 5681 equations 2 and 3).
    #[default]
    Never,
    /// In slow start.
    SlowStart,
    /// In congestion avoidance too.
    Always,
}

/// The sending rate during recovery: proportional rate reduction, or no transmissions for half a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateReduction {
    /// Not in proportion.
    #[default]
    No,
    /// RFC 6937 with its slow-start reduction bound: below the threshold always one segment more than was
    /// delivered.
    Rfc6937,
    /// RFC 9937: one segment more only for acknowledgements that advance and report no further loss,
    /// otherwise only what was delivered. Linux 4.3 and later do this too; without it a sender that loses
    /// half its data never leaves recovery. `RecoverFS` is all data in flight, like the former window in
    /// Linux, without data SACKed by then.
    Rfc9937,
}

/// The start of an idle period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleSince {
    /// Since the last reception (4.4BSD's `t_idle`): the response to a request after an idle period is sent
    /// with the old window.
    Received,
    /// Since data was last sent (RFC 5681 section 4.1, Linux's `lsndtime`).
    #[default]
    Sent,
}

/// Declares [`Profile`] and [`Overrides`] with the same fields.
macro_rules! profile {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)+) => {
        /// All parameters of a TCP endpoint.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Profile {
            $($(#[$doc])* pub $field: $type,)+
        }

        /// Changes to a [`Profile`]: given fields replace its own.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Overrides {
            $($(#[$doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)+
        }

        impl Overrides {
            /// The names of the fields.
            pub(crate) const FIELDS: &[&str] = &[$(stringify!($field)),+];

            /// The profile with the changes applied.
            ///
            /// # Errors
            /// If the result is invalid ([`Profile::check`]), or the receive window is both fixed and autotuned.
            pub fn apply(&self, mut profile: Profile) -> Result<Profile, ParamError> {
                if self.receive_window.is_some() {
                    if self.tcp_moderate_rcvbuf == Some(true) {
                        let want = "a receive_window that is set is fixed, as with SO_RCVBUF; leave one of the two out";
                        return Err(ParamError::new("tcp_moderate_rcvbuf", "true", want));
                    }
                    profile.tcp_moderate_rcvbuf = false;
                }
                // Explicit ECN fields override those that the control sets.
                if let Some(needs) = self.congestion.as_ref().and_then(Kind::needs_ecn) {
                    profile.ecn = true;
                    (profile.ecn_feedback, profile.ecn_packets) = needs;
                }
                $(if let Some(value) = &self.$field {
                    profile.$field = value.clone();
                })+
                profile.check()?;
                Ok(profile)
            }
        }
    };
}

profile! {
    /// The congestion control, or a transport other than TCP.
    congestion: Kind,
    /// The parameters of `cubic`.
    cubic: congestion::cubic::Params,
    /// The parameters of `dctcp`.
    dctcp: congestion::dctcp::Params,
    /// The parameters of `prague`.
    prague: congestion::prague::Params,
    /// The parameters of `ledbat`.
    ledbat: congestion::ledbat::Params,
    /// The parameters of `tfrc`.
    tfrc: rate::tfrc::Params,
    /// The parameters of `scp`.
    scp: rate::scp::Params,
    /// The parameters of `lda`.
    lda: rate::lda::Params,
    /// Maximum segment size: bytes of data in a full segment.
    mss: Bytes,
    /// Bytes of IP and TCP header on every segment: 40, or 52 with timestamps, 60 with those of T/TCP.
    header: Bytes,
    /// Initial congestion window in full segments.
    initial_window: u32,
    /// Whether the acknowledgement of a SYN-ACK opens the window like one of data, under every control, so
    /// that the passive end starts with one more segment. BSD did this; RFC 2581 section 3.1 forbids it.
    syn_opens_window: bool,
    /// Initial slow-start threshold.
    initial_ssthresh: Bytes,
    /// Maximum congestion window.
    cwnd_limit: Bytes,
    /// Whether the window grows by acknowledged bytes. `cubic` and `prague` have their own rules for
    /// congestion avoidance, which count bytes.
    byte_counting: ByteCounting,
    /// Whether a window equal to the threshold grows as in slow start (4.4BSD) or as in avoidance.
    slow_start_when_equal: bool,
    /// Whether to return to the initial window after an idle period of a retransmission timeout.
    slow_start_after_idle: bool,
    /// The start of this idle period.
    idle_since: IdleSince,
    /// Congestion window validation: the window grows only while it limits the sender; in avoidance if it
    /// was full in the last round trip, in slow start also if half of it was in flight (RFC 9438 section
    /// 5.8, Linux's `tcp_is_cwnd_limited`). Not for controls with pacing. Needs SACK.
    cwnd_validation: bool,
    /// The advertised receive window where `tcp_moderate_rcvbuf` is off. It never changes, because the application always reads. Setting
    /// it turns autotuning off, as `SO_RCVBUF` does.
    receive_window: Bytes,
    /// Receive-window autotuning, as Linux's sysctl of this name: the window follows the rate at which data arrives
    /// (`crates/transport/src/tcp/autotuning.rs`).
    tcp_moderate_rcvbuf: bool,
    /// Linux's sysctl: smallest, initial and largest receive buffer; autotuning starts at the second and ends at the third. The
    /// first, for a host short of memory, has no effect.
    tcp_rmem: [Bytes; 3],
    /// The share of the receive buffer that data fills, in (0, 1]; the rest is overhead of buffers. Linux 6.6 and later measures it
    /// (`tp->scaling_ratio`); before, `tcp_adv_win_scale = 1` fixed it at a half.
    scaling_ratio: f64,
    /// Linux's sysctl: smallest, initial and largest send buffer. At most the third is unacknowledged at any time; the buffer is always twice
    /// the congestion window up to there, so the other two have no effect. A real application is woken when a third of a full buffer is free; here it writes at once.
    tcp_wmem: [Bytes; 3],
    /// The pipe size of the routes of a BSD host (`rmx_sendpipe`, its default send buffer): a route keeps the round-trip time and the
    /// slow-start threshold of ended connections for those to come, the threshold once it is below half of this size
    /// (`crates/transport/src/tcp/route.rs`). 0: nothing is kept. Needs a timer that ticks.
    route_pipe: Bytes,
    /// Whether to use the timestamps option (RFC 7323). Its clock ticks with the timer, or every
    /// millisecond for exact timers.
    timestamps: bool,
    /// Whether to negotiate SACK (RFC 2018). If both ends do, recovery follows RFC 6675 under any
    /// congestion control; the option takes 4 + 8 bytes per block. The control `sack` always does.
    sack: bool,
    /// Loss detection with SACK. Without SACK it is the third duplicate acknowledgement.
    loss_detection: LossDetection,
    /// Limited transmit: the first two duplicate acknowledgements allow new data beyond the window (RFC
    /// 3042); with SACK, as much data as they show to have left the network (RFC 6675 section 5 step 3).
    limited_transmit: bool,
    /// Early retransmit: fewer than three duplicates suffice with less than four segments in flight and no
    /// new data (RFC 5827). Needs SACK.
    early_retransmit: bool,
    /// Tail loss probe: send a segment after two round trips without an acknowledgement, before the
    /// retransmission timeout (RFC 8985 section 7). Needs SACK.
    tail_loss_probe: bool,
    /// Whether recovery reduces the data in flight in proportion to deliveries instead of pausing for half
    /// a window. Needs SACK.
    rate_reduction: RateReduction,
    /// Whether a mark reduces the window gradually over the next round trip, by `rate_reduction`, without
    /// growth in that time (Linux's `TCP_CA_CWR`). Otherwise the window is reduced at once and continues to
    /// grow. Needs SACK and a rate reduction.
    cwr_state: bool,
    /// Whether reductions round the window down to whole segments, as in Linux.
    whole_segments: bool,
    /// Whether to report duplicate data (D-SACK, RFC 2883) and use such reports: RACK widens its reordering
    /// window (RFC 8985 section 6.2 step 4), and spurious probes are detected. Needs SACK.
    dsack: bool,
    /// Whether to undo a reduction if D-SACKs for all retransmissions (RFC 3708) or older timestamps (RFC
    /// 3522) show that it was spurious.
    undo: bool,
    /// F-RTO: whether to detect spurious timeouts with two new segments and undo them (RFC 5682).
    frto: bool,
    /// Whether to negotiate ECN.
    ecn: bool,
    /// Minimum window after a mark, in segments, for controls that halve: one in RFC 3168 and BSD, two in
    /// Linux. A window of one segment is not reduced further.
    least_after_mark: u8,
    /// The ECN feedback. A control that needs other feedback than RFC 3168 (`dctcp`, `prague`) sets it when
    /// [`Overrides`] select the control; explicit ECN fields take precedence.
    ecn_feedback: EcnFeedback,
    /// Whether accurate feedback also counts bytes, in an option on acknowledgements (RFC 9768 section 3.2.3). 8 to 12 bytes of header.
    ecn_option: bool,
    /// Which segments are ECN-capable, where ECN is on.
    ecn_packets: EcnPackets,
    /// Nagle's algorithm: a partial segment waits while data is in flight (RFC 896).
    nagle: bool,
    /// Minshall's variant of `nagle`, used by Linux: it waits only while another partial segment is in
    /// flight. Needs SACK.
    minshall: bool,
    /// Segmentation offload (TSO, GSO): the largest number of bytes that leave the host at once, as segments back to back; 0: each segment
    /// by itself. The number is what the pacing rate sends in `gso_time`, at least two segments; new data waits while the window has room
    /// for less, unless that is a third of the window or waiting would take long (Linux's `tcp_tso_autosize`, `tcp_tso_should_defer`).
    /// `prague` has 250 us and at least one segment. Needs SACK and RACK to wait.
    gso_max_size: Bytes,
    /// How long the pacing rate takes for what leaves at once: `sk_pacing_shift` of Linux is 1/1024 s, before 4.0 half a millisecond.
    gso_time: Duration,
    /// When to acknowledge.
    delayed_ack: DelayedAck,
    /// Number of acknowledgements at the start of a connection that are not delayed.
    quick_acks: u8,
    /// Compressed acknowledgements: while data is missing, the acknowledgements that report what came above it wait for each other, a
    /// twentieth of the round trip and at most this long, from the fourth of a hole on (Linux's `tcp_comp_sack_delay_ns`); 0: each goes at
    /// once, as RFC 5681 section 4.2 has it. The sender's segments then leave in bursts during recovery. Needs SACK.
    comp_sack_delay: Duration,
    /// The clock of the retransmission timer.
    timer: Timer,
    /// Retransmission timeout before there is a measurement.
    initial_rto: Duration,
    /// Minimum retransmission timeout. With ticks it is also at least three ticks after a measurement.
    min_rto: Duration,
    /// Minimum of the variation term of the timeout (the clock granularity in RFC 6298 section 2.3, the
    /// minimum timeout in Linux). For exact timers.
    min_variation: Duration,
    /// Largest retransmission timeout, and largest backed-off one.
    max_rto: Duration,
    /// Whether backoff multiplies at least the minimum timeout. FreeBSD 2.1 to 2.2.6 multiplied the estimate, which
    /// is 0 or 1 tick for round trips far below a tick, so such a connection hardly backs off.
    backoff_of_minimum: bool,
    /// Maximum backoff factor, in addition to `max_rto`: 64 in BSD and ns-2.
    max_backoff: u32,
    /// Maximum retransmissions of a segment by timeout; the next timeout ends the connection.
    max_retransmits: u8,
    /// Timeouts of successive SYNs; the connection is given up after the last.
    syn: Vec<Duration>,
    /// The same for SYN-ACKs.
    syn_ack: Vec<Duration>,
}

/// The names of the profiles that [`Profile::named`] knows.
pub const NAMES: [&str; 7] = ["bsd44", "freebsd22", "freebsd45", "linux-3.18", "linux-6", "rfc", "ns2"];

impl Profile {
    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "bsd44" => Some(Self::bsd44()),
            "freebsd22" => Some(Self::freebsd22()),
            "freebsd45" => Some(Self::freebsd45()),
            "linux-3.18" => Some(Self::linux_3_18()),
            "linux-6" => Some(Self::linux_6()),
            "rfc" => Some(Self::rfc()),
            "ns2" => Some(Self::ns2()),
            _ => None,
        }
    }

    /// Checks the profile.
    ///
    /// # Errors
    /// Names the first invalid field.
    pub fn check(&self) -> Result<(), ParamError> {
        let err = |field: &str, got: String, want: &str| Err(ParamError::new(field, got, want));
        let short = Bytes(u64::from(u32::MAX));
        if self.mss == Bytes::ZERO || self.mss > Bytes(65_535) {
            return err("mss", self.mss.to_string(), "it must be from 1 to 65535 bytes");
        }
        if self.receive_window == Bytes::ZERO || self.receive_window > short {
            return err("receive_window", self.receive_window.to_string(), "it must be from 1 byte to 4 GiB");
        }
        for (field, sizes) in [("tcp_rmem", &self.tcp_rmem), ("tcp_wmem", &self.tcp_wmem)] {
            if sizes[0] == Bytes::ZERO || sizes[2] > short || !sizes.is_sorted() {
                let got = format!("{} {} {}", sizes[0], sizes[1], sizes[2]);
                return err(field, got, "it must be three sizes from 1 byte to 4 GiB, the smallest first");
            }
        }
        if !(self.scaling_ratio > 0.0 && self.scaling_ratio <= 1.0) {
            return err("scaling_ratio", self.scaling_ratio.to_string(), "it must be above 0 and at most 1");
        }
        if self.max_backoff == 0 {
            return err("max_backoff", "0".to_owned(), "it multiplies the timeout; 1 means no backoff");
        }
        if self.initial_window == 0 {
            return err("initial_window", "0".to_owned(), "it must be above zero");
        }
        if self.least_after_mark == 0 {
            return err("least_after_mark", "0".to_owned(), "it must be at least one segment");
        }
        if self.cwnd_limit < self.mss {
            return err("cwnd_limit", self.cwnd_limit.to_string(), "it must be at least one segment");
        }
        if self.keeps_routes() && self.timer == Timer::Exact {
            let want = "routes keep metrics in timer ticks; set timer, or 0b to keep nothing";
            return err("route_pipe", self.route_pipe.to_string(), want);
        }
        if self.min_rto.is_zero() || self.min_rto > self.max_rto {
            return err("min_rto", self.min_rto.to_string(), "it must be above zero and at most max_rto");
        }
        if self.initial_rto.is_zero() || self.initial_rto > self.max_rto {
            return err("initial_rto", self.initial_rto.to_string(), "it must be above zero and at most max_rto");
        }
        for (field, waits) in [("syn", &self.syn), ("syn_ack", &self.syn_ack)] {
            if waits.is_empty() || waits.len() > 255 || waits.iter().any(|w| w.is_zero()) {
                return err(field, format!("{waits:?}"), "it needs from 1 to 255 waits above zero");
            }
        }
        self.congestion.check()?;
        self.cubic.check()?;
        self.dctcp.check()?;
        self.prague.check()?;
        self.ledbat.check()?;
        self.tfrc.check()?;
        self.scp.check()?;
        self.lda.check()?;
        match (self.timer, self.delayed_ack) {
            (Timer::Tick(Duration::ZERO), _) => err("timer", "0s".to_owned(), "the tick must be above zero"),
            (_, DelayedAck::Adaptive { least, most }) if least.is_zero() || least > most => {
                err("delayed_ack", format!("{least} to {most}"), "least must be above zero and at most `most`")
            }
            (_, DelayedAck::Tick(Duration::ZERO)) => err("delayed_ack", "0s".to_owned(), "the tick must be above zero"),
            _ => Ok(()),
        }
    }

    /// Whether to negotiate SACK.
    #[must_use]
    pub fn wants_sack(&self) -> bool {
        self.sack || self.congestion == Kind::Sack
    }

    /// Whether losses are detected by time, where SACK was negotiated.
    pub(super) fn uses_rack(&self) -> bool {
        self.loss_detection == LossDetection::Rack
    }

    /// The initial receive window. Linux reserves half of the buffer for overhead until it has seen data
    /// (`TCP_DEFAULT_SCALING_RATIO`, before 6.6 `tcp_adv_win_scale`), and offers at most what fits into a SYN, whose
    /// window is not scaled (`tcp_select_initial_window`).
    #[must_use]
    #[inline]
    pub fn first_receive_window(&self) -> u64 {
        if self.tcp_moderate_rcvbuf {
            (self.tcp_rmem[1].0 / 2).clamp(1, u64::from(u16::MAX))
        } else {
            self.receive_window.0
        }
    }

    /// The largest receive window that the host ever advertises.
    #[must_use]
    pub fn largest_receive_window(&self) -> u64 {
        let first = self.first_receive_window();
        if self.tcp_moderate_rcvbuf { first.max(self.window_from_space(self.tcp_rmem[2].0)) } else { first }
    }

    /// The window that the scale of RFC 7323 has to cover: the whole largest buffer (`tcp_select_initial_window`).
    #[must_use]
    pub fn scaled_receive_window(&self) -> u64 {
        if self.tcp_moderate_rcvbuf { self.tcp_rmem[2].0 } else { self.receive_window.0 }
    }

    /// Window for a receive buffer of this size (Linux's `tcp_win_from_space`).
    pub(super) fn window_from_space(&self, space: u64) -> u64 {
        (space as f64 * self.scaling_ratio) as u64
    }

    /// Bytes of the IP packet that carries a segment: headers, SACK blocks, data.
    #[must_use]
    #[inline]
    pub fn wire_len(&self, segment: &Segment) -> Bytes {
        Bytes(self.header.0 + segment.options.wire_len() + u64::from(segment.len))
    }

    /// The initial congestion window in bytes.
    #[must_use]
    pub fn initial_window_bytes(&self) -> u64 {
        u64::from(self.initial_window) * self.mss.0
    }
}

fn seconds(waits: &[u64]) -> Vec<Duration> {
    waits.iter().map(|&s| Duration::from_secs(s)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_profile_that_works() {
        for name in NAMES {
            let profile = Profile::named(name).unwrap();
            assert_eq!(profile.check(), Ok(()), "{name}");
            let text = serde_json::to_string(&profile).unwrap();
            assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile, "{name}");
        }
        assert_eq!(Profile::named("bsd43"), None);
    }

    /// BSD of that time had no segmentation offload, and simulators and standards have none; Linux compresses acknowledgements since 4.18.
    #[test]
    fn segments_leave_together_under_linux_alone() {
        for name in NAMES {
            let p = Profile::named(name).unwrap();
            assert_eq!(p.gso_max_size > Bytes::ZERO, name.starts_with("linux-"), "{name}");
            assert_eq!(!p.comp_sack_delay.is_zero(), name == "linux-6", "{name}");
        }
    }

    #[test]
    fn a_full_segment_fills_an_ethernet_frame() {
        for profile in [Profile::bsd44(), Profile::freebsd45(), Profile::rfc()] {
            assert_eq!(profile.mss + profile.header, Bytes(1500));
        }
    }

    #[test]
    fn overrides_replace_what_they_name() {
        let text =
            r#"{"syn": ["3s", "6s"], "timer": "exact", "delayed_ack": {"after": "40ms"}, "congestion": "newreno"}"#;
        let overrides: Overrides = serde_json::from_str(text).unwrap();
        let changed = overrides.apply(Profile::bsd44()).unwrap();
        assert_eq!(changed.syn, seconds(&[3, 6]));
        assert_eq!(changed.timer, Timer::Exact);
        assert_eq!(changed.delayed_ack, DelayedAck::After(Duration::from_millis(40)));
        assert_eq!(changed.mss, Bytes(1448));
        assert_eq!(serde_json::to_string(&Overrides::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<Overrides>(r#"{"msss": "1b"}"#).is_err());
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let overrides = Overrides { min_rto: Some(Duration::from_secs(100)), ..Overrides::default() };
        let error = overrides.apply(Profile::rfc()).unwrap_err();
        assert_eq!(error.to_string(), "min_rto = 100s is not valid: it must be above zero and at most max_rto");
    }
}
