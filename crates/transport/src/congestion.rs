//! Congestion control: how much may be in flight.
//!
//! The endpoint detects losses and marks and tells the control; the control never looks at segments. It
//! is stored inside the endpoint as a variant of an enum, so that a connection is one block of memory and the
//! processor can predict calls. To add one: a file that implements [`CongestionControl`],
//! and a line in the list at the end of this one. A crate outside implements [`Scheme`] as well and adds it to a
//! [`Catalogue`](crate::Catalogue).

use aqmkit_base::{Duration, Ecn, Instant, ParamError};
use serde::{Deserialize, Serialize};

use super::profile::{EcnFeedback, EcnPackets, Profile};
use super::rate;
use super::tcp::{Rtt, Sent};

/// The list of the calls that report an event to a control: `callbacks!(name!(…))` appends it to the arguments of the macro `name`.
macro_rules! callbacks {
    ($then:ident!($($arguments:tt)*)) => {
        $then! {
            $($arguments)*
            fn on_ack(acked: u64);
            fn on_loss();
            fn on_dup_ack();
            fn on_partial_ack(acked: u64);
            fn on_delivered(delivered: u64);
            fn on_resent(bytes: u64);
            fn on_recovered(acked: u64);
            fn on_timeout(again: bool);
            fn on_timeout_mended();
            fn on_losses();
            fn on_spurious(before: Window);
            fn on_unused();
            fn on_handshake_timeout();
            fn on_ecn();
            fn on_feedback(delivered: u64, marked: u64);
            fn on_sample();
            fn on_restart();
            fn on_idle();
        }
    };
}

mod added;
mod delivery;
#[cfg_attr(not(feature = "faults"), allow(dead_code, unreachable_pub, reason = "chosen by tests only"))]
pub mod faults;
#[cfg(test)]
mod histories;
mod hystart;
pub mod pacing;
pub mod view;
mod window;
#[cfg(test)]
mod worked;

pub use self::added::{Added, Scheme};
pub use self::delivery::Sample;
pub use self::pacing::Pacer;
pub use self::view::{ModelView, Phase};
pub use self::window::Window;

/// The context of an event: everything a congestion control may read. Windows are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cx<'a> {
    /// The current time.
    pub now: Instant,
    /// The endpoint's settings: segment size, initial window, limits.
    pub profile: &'a Profile,
    /// Bytes sent and not yet acknowledged, before this event.
    pub flight: u64,
    /// The limit on data in flight while the window is being reduced after a mark (Linux's `TCP_CA_CWR`).
    pub reducing: Option<u64>,
    /// The bytes in flight that the peer's receive window allows.
    pub peer_window: u64,
    /// Whether SACK shows which data has left the network (RFC 6675). Duplicate and partial acknowledgements are then
    /// not reported, and the window in recovery is the threshold, without inflation.
    pub sack: bool,
    /// The record of the segments in flight, if the control requests it
    /// ([`CongestionControl::SAMPLES_DELIVERY`]).
    pub(super) sent: Option<&'a Sent>,
    /// Whether the peer's feedback counts marks, instead of only reporting that there was at least one (RFC 3168).
    pub counts_marks: bool,
    /// The round-trip time measured with this event, if any.
    pub sample: Option<Duration>,
    /// The difference between the sender's timestamp of the data and the peer's timestamp of its acknowledgement (RFC
    /// 7323): the one-way delay plus the constant offset of the two clocks. `None` without timestamps.
    pub one_way: Option<Duration>,
    pub(super) rtt: &'a Rtt,
}

impl Cx<'_> {
    /// The sender's maximum segment size in bytes.
    #[must_use]
    pub fn mss(&self) -> u64 {
        self.profile.mss.0
    }

    /// A window of `bytes`, rounded down to whole segments if the profile counts whole segments.
    #[must_use]
    pub fn whole(&self, bytes: u64) -> u64 {
        if self.profile.whole_segments { bytes - bytes % self.mss() } else { bytes }
    }

    /// The smallest window after a mark, in bytes.
    #[must_use]
    pub fn least_after_mark(&self) -> u64 {
        u64::from(self.profile.least_after_mark) * self.mss()
    }

    /// The rate of delivery measured with the latest acknowledgement, for controls that request it
    /// ([`CongestionControl::SAMPLES_DELIVERY`]). `min_rtt` is the shortest known round trip: rates over shorter intervals are not valid.
    #[must_use]
    pub fn delivery(&self, min_rtt: Duration) -> Option<Sample> {
        Sample::read(self, min_rtt)
    }

    /// The smoothed round-trip time, if one was measured.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.smoothed(self.profile)
    }
}

/// When fast recovery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// At the first acknowledgement of new data (RFC 2581, 4.4BSD's Reno).
    FirstAck,
    /// When all data in flight at its start is acknowledged; a partial acknowledgement shows
    /// the next lost segment (RFC 6582).
    FullAck,
}

/// A congestion control: decides how much data may be in flight. Each has its own file. All windows are in bytes.
pub trait CongestionControl {
    /// Whether the control needs the sending time of each segment and the data delivered by then.
    const SAMPLES_DELIVERY: bool = false;

    /// Whether it needs each segment that is detected as lost ([`CongestionControl::on_losses`]).
    const WATCHES_LOSSES: bool = false;

    /// Whether it follows fast recovery with SACK segment by segment ([`CongestionControl::on_delivered`],
    /// [`CongestionControl::on_resent`]).
    const FOLLOWS_RECOVERY: bool = false;

    /// Whether the response to a mark may be spread over a round trip without window growth, if the profile has `cwr_state`; `false`
    /// if the control itself decides about the window at each acknowledgement.
    const HELD_AFTER_MARKS: bool = true;

    /// Whether it spreads segments over time: whether it has a [`CongestionControl::pacer`].
    const PACES: bool = false;

    /// The ECN-capable codepoint it sends: ECT(1) asks for the low-latency service (RFC 9331).
    const ECT: Ecn = Ecn::Ect0;

    /// The kind of ECN that it needs, if not classic ECN.
    const NEEDS_ECN: Option<(EcnFeedback, EcnPackets)> = None;

    /// Congestion window and slow-start threshold.
    fn window(&self) -> &Window;

    /// Mutable access to the same.
    fn window_mut(&mut self) -> &mut Window;

    /// The pacer, if the control spreads segments over time.
    fn pacer(&self) -> Option<&Pacer> {
        None
    }

    /// Mutable access to the same.
    fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        None
    }

    /// The model of the path, if the control has one. Segments have `mss` bytes. It is read by displays and tests only.
    fn model_view(&self, _mss: u64) -> Option<ModelView> {
        None
    }

    /// When fast recovery ends.
    fn leaves_recovery(&self) -> Leaves {
        Leaves::FullAck
    }

    /// `acked` new bytes were acknowledged outside of recovery, and the acknowledgement carried no echo of
    /// congestion experienced.
    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>);

    /// The third duplicate acknowledgement: a loss, fast recovery begins.
    fn on_loss(&mut self, cx: &Cx<'_>);

    /// One more duplicate acknowledgement during fast recovery.
    fn on_dup_ack(&mut self, cx: &Cx<'_>) {
        self.window_mut().cwnd += cx.mss();
    }

    /// `acked` new bytes were acknowledged in fast recovery, which continues.
    fn on_partial_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.window_mut().deflate(acked, cx);
    }

    /// An acknowledgement in fast recovery, or the one that started it, has delivered this many bytes. Only with SACK, and if
    /// [`CongestionControl::FOLLOWS_RECOVERY`].
    fn on_delivered(&mut self, _delivered: u64, _cx: &Cx<'_>) {}

    /// Further bytes were considered lost after the start of fast recovery, and retransmitted. Called under the same conditions as
    /// [`CongestionControl::on_delivered`].
    fn on_resent(&mut self, _bytes: u64, _cx: &Cx<'_>) {}

    /// `acked` new bytes were acknowledged, and fast recovery is over.
    fn on_recovered(&mut self, acked: u64, cx: &Cx<'_>) {
        self.window_mut().recovered(acked, cx);
    }

    /// The retransmission timer expired. `again`: nothing was acknowledged since its last expiry.
    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>);

    /// All data that was in flight when the timer expired has been acknowledged.
    fn on_timeout_mended(&mut self, _cx: &Cx<'_>) {}

    /// Losses were detected. Called before the recovery that they may start, and only if
    /// [`CongestionControl::WATCHES_LOSSES`] and the profile detects losses by time.
    fn on_losses(&mut self, _cx: &Cx<'_>) {}

    /// The last reduction, after a loss or a timeout, was spurious: nothing was lost. `before` is the window
    /// before the reduction.
    fn on_spurious(&mut self, before: Window, _cx: &Cx<'_>) {
        self.window_mut().restore(before);
    }

    /// A SYN or SYN-ACK was retransmitted. The initial window after it is one segment (RFC 5681 section 3.1).
    fn on_handshake_timeout(&mut self, cx: &Cx<'_>) {
        self.window_mut().cwnd = cx.mss();
    }

    /// New data was acknowledged, but the window was not full and does not grow (see `cwnd_validation` of profiles).
    fn on_unused(&mut self, _cx: &Cx<'_>) {}

    /// The peer echoed Congestion Experienced. Called at most once per window of data, and not in recovery.
    fn on_ecn(&mut self, cx: &Cx<'_>);

    /// An acknowledgement on a connection with ECN reports that `delivered` bytes have arrived, `marked` of them
    /// in marked packets. For controls that count marks. Called before the other calls for
    /// the same segment, and also for duplicate acknowledgements, each of which counts as one segment.
    fn on_feedback(&mut self, _delivered: u64, _marked: u64, _cx: &Cx<'_>) {}

    /// An acknowledgement was processed, and the record of the segments in flight is up to date. Called last, and only
    /// if [`CongestionControl::SAMPLES_DELIVERY`].
    fn on_sample(&mut self, _cx: &Cx<'_>) {}

    /// Data is about to be sent, and nothing is in flight.
    fn on_restart(&mut self, _cx: &Cx<'_>) {}

    /// Data is about to be sent after the connection was idle for longer than the retransmission timeout.
    fn on_idle(&mut self, cx: &Cx<'_>) {
        self.window_mut().restart(cx.profile);
    }
}

/// The accessors of a control with the fields `window` and `pacer`.
macro_rules! window_and_pacer {
    () => {
        fn window(&self) -> &Window {
            &self.window
        }

        fn window_mut(&mut self) -> &mut Window {
            &mut self.window
        }

        fn pacer(&self) -> Option<&Pacer> {
            Some(&self.pacer)
        }

        fn pacer_mut(&mut self) -> Option<&mut Pacer> {
            Some(&mut self.pacer)
        }
    };
}

/// A control that is small enough to be stored inside the endpoint; the others are boxed.
type Inline<C> = C;

/// Creates, from the list of controls, their modules, their names, and the enum that an endpoint holds. The second part of the
/// list has the rate-based transports, which are selected by the same key.
macro_rules! controls {
    (
        $($(#[$attr:meta])* $name:ident => $holder:ident<$module:ident::$control:ident>, $text:literal;)+
        { $($rate:ident, $rate_text:literal;)+ }
    ) => {
        $(pub mod $module;)+

        /// The congestion controls by name, those of TCP and the rate-based transports.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub enum Kind {
            $($(#[$attr])* #[serde(rename = $text)] $name,)+
            $(
                /// A rate-based transport instead of TCP.
                #[serde(rename = $rate_text)] $rate,
            )+
            /// One that a program has added to a [`Catalogue`](crate::Catalogue), which alone reads it.
            #[serde(skip_deserializing)]
            Added(Added),
        }

        aqmkit_base::pages! { "congestion control" in "congestion/": $($module, $text;)+ }

        impl Kind {
            /// The name in experiment files.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Kind::$name => $text,)+
                    $(Kind::$rate => $rate_text,)+
                    Kind::Added(added) => added.name(),
                }
            }

            /// Checks the parameters of an added control; those of the others are fields of the profile.
            pub(crate) fn check(&self) -> Result<(), ParamError> {
                match self {
                    Kind::Added(added) => added.check(),
                    _ => Ok(()),
                }
            }

            /// [`CongestionControl::ECT`].
            #[must_use]
            pub fn ect(&self) -> Ecn {
                match self {
                    $(Kind::$name => $module::$control::ECT,)+
                    $(Kind::$rate => Ecn::Ect0,)+
                    Kind::Added(added) => added.ect(),
                }
            }

            /// [`CongestionControl::NEEDS_ECN`].
            #[must_use]
            pub fn needs_ecn(&self) -> Option<(EcnFeedback, EcnPackets)> {
                match self {
                    $(Kind::$name => $module::$control::NEEDS_ECN,)+
                    $(Kind::$rate => None,)+
                    Kind::Added(added) => added.needs_ecn(),
                }
            }

            /// Whether it needs losses to be found individually, by SACK and RACK (RFC 8985). Without them it sees a
            /// recovery as one loss, and counts lost data as in flight until it is repaired.
            #[must_use]
            pub fn wants_rack(&self) -> bool {
                matches!(self, Kind::Bbr | Kind::Bbr3)
            }

            /// Whether its slow start ends at the slow-start threshold, which the first loss, mark or delay lowers.
            /// Other controls keep the initial threshold forever; an added control may do either.
            #[must_use]
            pub fn ends_slow_start_at_threshold(&self) -> bool {
                !matches!(self, Kind::Bbr | Kind::Bbr3 | Kind::Ledbat | Kind::Added(_)) && self.rate_based().is_none()
            }

            /// The transport, if it is not TCP.
            #[must_use]
            pub fn rate_based(&self) -> Option<rate::Kind> {
                match self {
                    $(Kind::$name => None,)+
                    $(Kind::$rate => Some(rate::Kind::$rate),)+
                    Kind::Added(added) => added.rate_based().map(rate::Kind::Added),
                }
            }
        }

        /// The state of a control for one connection.
        #[derive(Clone, Debug)]
        pub(super) enum Control {
            $($name($holder<$module::$control>),)+
            Added(added::Running),
        }

        callbacks!(controls!(@dispatch [$($name)+]));

        impl Control {
            /// For a rate-based transport, which has no control, the default one.
            pub(super) fn new(profile: &Profile) -> Self {
                match &profile.congestion {
                    $(Kind::$name => Control::$name(<$holder<$module::$control>>::from($module::$control::new(profile))),)+
                    $(Kind::$rate => Control::Reno(reno::Reno::new(profile)),)+
                    Kind::Added(added) => match added.begin(profile) {
                        Some(control) => Control::Added(control),
                        None => Control::Reno(reno::Reno::new(profile)),
                    },
                }
            }

            pub(super) fn samples_delivery(&self) -> bool {
                match self {
                    $(Control::$name(_) => <$module::$control as CongestionControl>::SAMPLES_DELIVERY,)+
                    Control::Added(c) => c.constants().samples_delivery,
                }
            }

            pub(super) fn is_held_after_marks(&self) -> bool {
                match self {
                    $(Control::$name(_) => <$module::$control as CongestionControl>::HELD_AFTER_MARKS,)+
                    Control::Added(c) => c.constants().held_after_marks,
                }
            }

            pub(super) fn follows_recovery(&self) -> bool {
                match self {
                    $(Control::$name(_) => <$module::$control as CongestionControl>::FOLLOWS_RECOVERY,)+
                    Control::Added(c) => c.constants().follows_recovery,
                }
            }

            pub(super) fn watches_losses(&self) -> bool {
                match self {
                    $(Control::$name(_) => <$module::$control as CongestionControl>::WATCHES_LOSSES,)+
                    Control::Added(c) => c.constants().watches_losses,
                }
            }

            pub(super) fn cwnd(&self) -> u64 {
                match self {
                    $(Control::$name(c) => c.window().cwnd,)+
                    Control::Added(c) => c.window().cwnd,
                }
            }

            pub(super) fn ssthresh(&self) -> u64 {
                match self {
                    $(Control::$name(c) => c.window().ssthresh,)+
                    Control::Added(c) => c.window().ssthresh,
                }
            }

            pub(super) fn window_mut(&mut self) -> &mut Window {
                match self {
                    $(Control::$name(c) => c.window_mut(),)+
                    Control::Added(c) => c.window_mut(),
                }
            }

            pub(super) fn window(&self) -> Window {
                match self {
                    $(Control::$name(c) => *c.window(),)+
                    Control::Added(c) => *c.window(),
                }
            }

            /// Called for every segment: tests a constant, without dereferencing boxed controls that do not pace.
            pub(super) fn pacer(&self) -> Option<&Pacer> {
                match self {
                    $(Control::$name(c) if <$module::$control>::PACES => c.pacer(),)+
                    Control::Added(c) => c.pacer(),
                    _ => None,
                }
            }

            pub(super) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
                match self {
                    $(Control::$name(c) if <$module::$control>::PACES => c.pacer_mut(),)+
                    Control::Added(c) => c.pacer_mut(),
                    _ => None,
                }
            }

            pub(super) fn model_view(&self, mss: u64) -> Option<ModelView> {
                match self {
                    $(Control::$name(c) => c.model_view(mss),)+
                    Control::Added(c) => c.model_view(mss),
                }
            }

            pub(super) fn leaves_recovery(&self) -> Leaves {
                match self {
                    $(Control::$name(c) => c.leaves_recovery(),)+
                    Control::Added(c) => c.leaves_recovery(),
                }
            }
        }
    };
    (@dispatch $names:tt $(fn $method:ident($($arg:ident: $type:ty),*);)+) => {
        impl Control {
            $(controls!(@method $names $method($($arg: $type),*));)+
        }
    };
    (@method [$($name:ident)+] $method:ident($($arg:ident: $type:ty),*)) => {
        controls!(@body $method ($($arg: $type),*) ($($arg,)*) $($name)+);
    };
    (@body $method:ident ($($arg:ident: $type:ty),*) $pass:tt $($name:ident)+) => {
        pub(super) fn $method(&mut self, $($arg: $type,)* cx: &Cx<'_>) {
            match self {
                $(Control::$name(c) => controls!(@call c $method cx $pass),)+
                Control::Added(c) => controls!(@call c $method cx $pass),
            }
        }
    };
    (@call $c:ident $method:ident $cx:ident ($($arg:ident,)*)) => {
        $c.$method($($arg,)* $cx)
    };
}

controls! {
    /// 4.4BSD's Reno: fast recovery ends with the first new acknowledgement.
    #[default]
    Reno => Inline<reno::Reno>, "reno";
    /// RFC 6582 over RFC 5681.
    NewReno => Inline<newreno::NewReno>, "newreno";
    /// The same window with SACK, which it negotiates regardless of the profile.
    Sack => Inline<sack::Sack>, "sack";
    /// RFC 9438.
    Cubic => Box<cubic::Cubic>, "cubic";
    /// RFC 8257.
    Dctcp => Box<dctcp::Dctcp>, "dctcp";
    /// Scalable, for the low-latency service.
    Prague => Box<prague::Prague>, "prague";
    /// Version 1: a model of the path.
    Bbr => Box<bbr::Bbr>, "bbr";
    /// Version 3: the model also responds to losses.
    Bbr3 => Box<bbr3::Bbr3>, "bbr3";
    /// RFC 6817: less than best effort.
    Ledbat => Box<ledbat::Ledbat>, "ledbat";
    /// Reduces the window by the lost segments only.
    Relentless => Box<relentless::Relentless>, "relentless";
    {
        Tfrc, "tfrc";
        Scp, "scp";
        Lda, "lda";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_has_its_name_and_its_page() {
        for entry in ALL {
            let page = page(entry.name).unwrap();
            assert!(page.starts_with(&format!("# {}: ", entry.name)), "{}", entry.name);
            for section in ["## Law", "## Parameters", "## Deviations", "## Evidence", "## References"] {
                assert!(page.contains(section), "{} has no {section}", entry.name);
            }
            let kind: Kind = serde_json::from_str(&format!("{:?}", entry.name)).unwrap();
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("{:?}", entry.name));
        }
        assert!(find("reno").is_some() && find("vegas").is_none());
    }
}
