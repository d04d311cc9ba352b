//! What an operating system did: every choice an endpoint makes, as data.
//!
//! A [`Profile`] is complete; it is made from a named one ([`Profile::named`], [`NAMES`]) and [`Overrides`]
//! of single fields. One profile serves any number of endpoints.

use aqmkit_base::{Bytes, Duration};
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
    /// A tick of this length for all of a host's connections: round trips are measured in ticks, with
    /// 4.4BSD's integer arithmetic, and a timeout of n ticks comes between n - 1 and n ticks later.
    Tick(Duration),
}

/// When data that came in order is acknowledged. Data out of order, data that fills a hole, and FINs are
/// acknowledged at once; so are two full segments, or half of the receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum DelayedAck {
    /// Every segment at once.
    None,
    /// At the next tick of a clock with this period, the same for all of a host's connections: 4.4BSD's
    /// 200 ms fast timer, so 0 to 200 ms later.
    Tick(Duration),
    /// So long after the first segment that is not acknowledged.
    After(Duration),
    /// As Linux does: about twice the time between arrivals, within these limits.
    Adaptive {
        /// What is waited where data comes fast.
        least: Duration,
        /// The longest.
        most: Duration,
    },
}

/// What makes a sender with SACK take a segment for lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossDetection {
    /// Three pieces, or more than two full segments, have come from above it (RFC 6675).
    #[default]
    Sack,
    /// Or data has come from more than three full segments above it, whatever lies between (Mathis and
    /// Mahdavi, Forward Acknowledgment, 1996): for networks that do not reorder.
    Fack,
    /// What was sent later has come, and a part of a round trip has passed in which it might have followed
    /// (RFC 8985). Finds lost retransmissions as well.
    Rack,
}

/// How a receiver tells the sender of congestion experienced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnFeedback {
    /// ECE from a mark until CWR: one signal in a round trip (RFC 3168 section 6.1.3).
    #[default]
    Classic,
    /// ECE for exactly the segments that were marked (RFC 8257 section 3.2). Negotiated as the classic way is, so
    /// both ends must be set to it.
    Dctcp,
    /// A counter of marks in three header bits (RFC 9768), and counters of bytes in an option. Falls back to the classic way where the peer does not
    /// know it.
    Accurate,
}

/// Which segments of a connection with ECN are ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnPackets {
    /// New data only (RFC 3168 sections 6.1.1, 6.1.4 and 6.1.5).
    #[default]
    Data,
    /// All of them, SYNs, pure acknowledgements and retransmissions as well: what Linux does for DCTCP, and the
    /// experiment that RFC 8311 section 4.3 opens the way to.
    All,
}

/// Where the window grows by what an acknowledgement covers (RFC 3465, without its limit) and not by a segment for each
/// acknowledgement, which is half as fast where they are delayed.
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

/// How fast recovery may send what replaces what was delivered: proportional rate reduction, or half a window of silence first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateReduction {
    /// Not in proportion.
    #[default]
    No,
    /// RFC 6937 with its slow-start reduction bound: below the threshold a segment more than was delivered, always.
    Rfc6937,
    /// RFC 9937: only for acknowledgements that bring something new in order and tell of no further loss; for the others what was
    /// delivered. So does Linux since 4.3: otherwise a sender that loses half of what it sends goes on for ever. `RecoverFS` is all that
    /// was in flight, as Linux has the window before, without what had been SACKed by then.
    Rfc9937,
}

/// From when on a connection counts as idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleSince {
    /// Since anything was received (4.4BSD's `t_idle`): what is asked for on a connection that was silent is answered with the old
    /// window.
    Received,
    /// Since data was last sent (RFC 5681 section 4.1, Linux's `lsndtime`).
    #[default]
    Sent,
}

/// Declares [`Profile`] and [`Overrides`] with the same fields.
macro_rules! profile {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)+) => {
        /// The choices of a TCP endpoint.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Profile {
            $($(#[$doc])* pub $field: $type,)+
        }

        /// Changes to a [`Profile`]: the fields that are not left out replace its own.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Overrides {
            $($(#[$doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)+
        }

        impl Overrides {
            /// The profile with the changes made.
            ///
            /// # Errors
            /// When an endpoint could not work with the result ([`Profile::check`]).
            pub fn apply(&self, mut profile: Profile) -> Result<Profile, ProfileError> {
                // What is said of ECN itself comes after what the control brings along.
                if let Some(needs) = self.congestion.and_then(Kind::needs_ecn) {
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
    /// The congestion control, or the transport in place of TCP.
    congestion: Kind,
    /// The parameters of `cubic`.
    cubic: congestion::cubic::Params,
    /// The parameters of `dctcp`.
    dctcp: congestion::dctcp::Params,
    /// The parameters of `prague`.
    prague: congestion::prague::Params,
    /// The parameters of `tfrc`.
    tfrc: rate::tfrc::Params,
    /// The parameters of `scp`.
    scp: rate::scp::Params,
    /// The parameters of `lda`.
    lda: rate::lda::Params,
    /// Maximum segment size: bytes of data in a full segment.
    mss: Bytes,
    /// Bytes of IP and TCP header on every segment: 40, or 52 with timestamps.
    header: Bytes,
    /// Initial congestion window in full segments.
    initial_window: u32,
    /// Whether the acknowledgement of a SYN-ACK opens the window as that of data does, under every control, so that the passive
    /// end starts with one segment more. BSD did so; RFC 2581 section 3.1 forbids it.
    syn_opens_window: bool,
    /// Initial slow-start threshold.
    initial_ssthresh: Bytes,
    /// The congestion window does not grow beyond this.
    cwnd_limit: Bytes,
    /// Whether what an acknowledgement covers decides how much the window grows. `cubic` and `prague` have rules of their own for
    /// avoidance, which count bytes.
    byte_counting: ByteCounting,
    /// Whether a window equal to the threshold grows as in slow start (4.4BSD) or as in avoidance.
    slow_start_when_equal: bool,
    /// Whether to go back to the initial window when nothing is in flight and the connection was idle for a
    /// retransmission timeout.
    slow_start_after_idle: bool,
    /// From when on it was idle.
    idle_since: IdleSince,
    /// Whether the window grows only while it is what limits: in avoidance where it was full in the last round trip, in slow start
    /// also where half of it was in flight (RFC 9438 section 5.8, Linux's `tcp_is_cwnd_limited`). Not for controls that pace. Needs
    /// SACK.
    cwnd_validation: bool,
    /// Bytes that the peer may have in flight towards this endpoint. Its application always reads, so the
    /// window advertised never changes.
    receive_window: Bytes,
    /// Whether to use the timestamps option (RFC 7323). The clock ticks with the timer, or every
    /// millisecond where that is exact.
    timestamps: bool,
    /// Whether to negotiate SACK (RFC 2018). Where both ends do, losses are mended by RFC 6675, whatever the
    /// congestion control; blocks cost 4 + 8 bytes of header for each. The control `sack` always does.
    sack: bool,
    /// When a segment is lost, where SACK is on. Otherwise the third duplicate acknowledgement says it.
    loss_detection: LossDetection,
    /// Whether the first two duplicate acknowledgements let new data go beyond the window (RFC 3042), and
    /// with SACK whatever they show to have left the network (RFC 6675 section 5 step 3).
    limited_transmit: bool,
    /// Whether fewer duplicates than three are enough where less than four segments are in flight and
    /// nothing is left to send (RFC 5827). Needs SACK.
    early_retransmit: bool,
    /// Whether to probe with a segment when no acknowledgement has come for two round trips, well before
    /// the retransmission timer (RFC 8985 section 7). Needs SACK.
    tail_loss_probe: bool,
    /// Whether recovery comes down to the threshold in proportion to what is delivered instead of waiting for half a window. Needs
    /// SACK.
    rate_reduction: RateReduction,
    /// Whether a mark brings the window down over the round trip after it, as `rate_reduction` says, and nothing grows until then
    /// (Linux's `TCP_CA_CWR`). Otherwise the window comes down at once and goes on growing. Needs SACK and a rate reduction.
    cwr_state: bool,
    /// Whether reductions leave whole segments, rounded down, as where the window is counted in segments (Linux).
    whole_segments: bool,
    /// Whether to report what has come twice (RFC 2883), and to learn from such reports: RACK waits longer for what is late
    /// (RFC 8985 section 6.2 step 4), and a probe is known to have been needless. Needs SACK.
    dsack: bool,
    /// Whether a reduction is taken back when D-SACKs for all that was sent again (RFC 3708) or older timestamps (RFC 3522) show
    /// that it was needless.
    undo: bool,
    /// Whether two new segments show if a timeout was needless (RFC 5682), and it is taken back.
    frto: bool,
    /// Whether to negotiate ECN.
    ecn: bool,
    /// The fewest segments that a mark leaves of the window, where the control halves: one in RFC 3168 and in what BSD hosts had, two in
    /// Linux. A window of one segment is not reduced further.
    least_after_mark: u8,
    /// How congestion experienced is fed back, where ECN is on. A control that needs another way than RFC 3168's
    /// (`dctcp`, `prague`) brings it along when [`Overrides`] name the control; what they say of ECN itself comes after.
    ecn_feedback: EcnFeedback,
    /// Whether accurate feedback also counts bytes, in an option on acknowledgements (RFC 9768 section 3.2.3). 8 to 12 bytes of header.
    ecn_option: bool,
    /// Which segments are ECN-capable, where ECN is on.
    ecn_packets: EcnPackets,
    /// Whether less than a full segment waits while anything is in flight (RFC 896).
    nagle: bool,
    /// Whether it waits only while another one that was not full is in flight (Minshall's variant of `nagle`, Linux's). Needs SACK.
    minshall: bool,
    /// When to acknowledge.
    delayed_ack: DelayedAck,
    /// How many acknowledgements of the start of a connection are not delayed: each segment has its own.
    quick_acks: u8,
    /// The clock of the retransmission timer.
    timer: Timer,
    /// Retransmission timeout before there is a measurement.
    initial_rto: Duration,
    /// Least retransmission timeout. With ticks a measurement also asks for three at least.
    min_rto: Duration,
    /// What the variation of round trips adds to the timeout at least (RFC 6298 section 2.3 has the clock's
    /// granularity, Linux the least timeout). For exact timers.
    min_variation: Duration,
    /// Largest retransmission timeout, and largest backed-off one.
    max_rto: Duration,
    /// Whether backoff multiplies the least timeout at least. FreeBSD 2.2 multiplied the estimate, which is
    /// 0 or 1 tick where round trips are far below a tick: such a connection hardly backs off.
    backoff_of_minimum: bool,
    /// What backoff multiplies the timeout by at most, beside `max_rto`: 64 in BSD and in ns-2.
    max_backoff: u32,
    /// Timeouts of one segment that are answered with a retransmission; the next one ends the connection.
    max_retransmits: u8,
    /// How long to wait after each SYN: one wait for each SYN sent, the connection is given up after the
    /// last.
    syn: Vec<Duration>,
    /// The same for SYN-ACKs.
    syn_ack: Vec<Duration>,
}

/// A profile that no endpoint can work with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {got}, but {must}")]
pub struct ProfileError {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub got: String,
    /// What it must be.
    pub must: &'static str,
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

    /// Whether an endpoint can work with it.
    ///
    /// # Errors
    /// Names the first field that cannot be what it is.
    pub fn check(&self) -> Result<(), ProfileError> {
        let err = |field, got: String, must| Err(ProfileError { field, got, must });
        let short = Bytes(u64::from(u32::MAX));
        if self.mss == Bytes::ZERO || self.mss > Bytes(65_535) {
            return err("mss", self.mss.to_string(), "it must be from 1 to 65535 bytes");
        }
        if self.receive_window == Bytes::ZERO || self.receive_window > short {
            return err("receive_window", self.receive_window.to_string(), "it must be from 1 byte to 4 GiB");
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
        self.cubic.check()?;
        self.dctcp.check()?;
        self.prague.check()?;
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

/// An error unless a parameter lies where it must.
pub(super) fn range(
    ok: bool,
    field: &'static str,
    got: &impl ToString,
    must: &'static str,
) -> Result<(), ProfileError> {
    if ok { Ok(()) } else { Err(ProfileError { field, got: got.to_string(), must }) }
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
        assert_eq!(error.to_string(), "min_rto is 100s, but it must be above zero and at most max_rto");
    }
}
