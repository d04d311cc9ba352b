//! Congestion control: how much may be in flight.
//!
//! The endpoint detects losses and marks and tells the control; the control never looks at segments. It
//! lives inside the endpoint as a variant of an enum, so that a connection is one piece of memory and a
//! call is a jump that the processor predicts. To add one: a file that implements [`CongestionControl`],
//! and a line in the list at the end of this one. A crate outside implements [`Scheme`] as well and adds it to a
//! [`Catalogue`](crate::Catalogue).

use aqmkit_base::{Duration, Ecn, Instant, ParamError};
use serde::{Deserialize, Serialize};

use super::profile::{EcnFeedback, EcnPackets, Profile};
use super::rate;
use super::tcp::{Rtt, Sent};
use aqmkit_base::page::Entry;

/// The one list of the calls that report an event to a control: `callbacks!(name!(…))` appends it to the arguments of the macro `name`.
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
mod hystart;
pub mod pacing;
mod window;
#[cfg(test)]
mod worked;

pub use self::added::{Added, Scheme};
pub use self::delivery::Sample;
pub use self::pacing::Pacer;
pub use self::window::Window;

/// What a congestion control may know at an event. Windows are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cx<'a> {
    /// Now.
    pub now: Instant,
    /// The endpoint's settings: segment size, initial window, limits.
    pub profile: &'a Profile,
    /// Bytes sent and not yet acknowledged, before this event.
    pub flight: u64,
    /// What the peer's receive window allows in flight.
    pub peer_window: u64,
    /// Whether SACK tells what has left the network (RFC 6675). Then duplicate acknowledgements and partial
    /// ones are not reported, and the window in recovery is the threshold: nothing to inflate.
    pub sack: bool,
    /// The record of what is in flight, where the control asks for it
    /// ([`CongestionControl::SAMPLES_DELIVERY`]).
    pub(super) sent: Option<&'a Sent>,
    /// Whether the peer's feedback says how much was marked, or only that something was (RFC 3168).
    pub counts_marks: bool,
    /// The round-trip time that this event has measured.
    pub sample: Option<Duration>,
    /// From the sender's timestamp of the data to the peer's of its acknowledgement (RFC 7323): the one-way delay of the data, plus the
    /// difference of the two clocks, which is constant. Nothing without timestamps.
    pub one_way: Option<Duration>,
    pub(super) rtt: &'a Rtt,
}

impl Cx<'_> {
    /// The sender's maximum segment size in bytes.
    #[must_use]
    pub fn mss(&self) -> u64 {
        self.profile.mss.0
    }

    /// So many bytes of window, or the whole segments of them where the profile counts those.
    #[must_use]
    pub fn whole(&self, bytes: u64) -> u64 {
        if self.profile.whole_segments { bytes - bytes % self.mss() } else { bytes }
    }

    /// The least window in bytes that a mark leaves.
    #[must_use]
    pub fn least_after_mark(&self) -> u64 {
        u64::from(self.profile.least_after_mark) * self.mss()
    }

    /// What the newest acknowledgement says of the rate of delivery, for controls that ask for it
    /// ([`CongestionControl::SAMPLES_DELIVERY`]). `min_rtt` is the shortest round trip known: a rate over less is no rate.
    #[must_use]
    pub fn delivery(&self, min_rtt: Duration) -> Option<Sample> {
        Sample::read(self, min_rtt)
    }

    /// The smoothed round-trip time, where there is one.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.smoothed(self.profile)
    }
}

/// When fast recovery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// With the first acknowledgement of anything new (RFC 2581, 4.4BSD's Reno).
    FirstAck,
    /// When everything that was in flight at its start is acknowledged; a partial acknowledgement shows
    /// the next hole (RFC 6582).
    FullAck,
}

/// How much may be in flight: one file for each scheme. All windows are in bytes.
pub trait CongestionControl {
    /// Whether the control needs to know when each segment was sent, and what was delivered by then.
    const SAMPLES_DELIVERY: bool = false;

    /// Whether it looks at each segment that is found to be lost ([`CongestionControl::on_losses`]).
    const WATCHES_LOSSES: bool = false;

    /// Whether it follows fast recovery with SACK segment by segment ([`CongestionControl::on_delivered`],
    /// [`CongestionControl::on_resent`]).
    const FOLLOWS_RECOVERY: bool = false;

    /// Whether the answer to a mark may be spread over a round trip in which nothing grows, where the profile has `cwr_state`: not
    /// where the control decides by itself what each acknowledgement does.
    const HELD_AFTER_MARKS: bool = true;

    /// Whether it spreads segments over time: whether it has a [`CongestionControl::pacer`].
    const PACES: bool = false;

    /// The ECN-capable codepoint it sends: ECT(1) asks for the low-latency service (RFC 9331).
    const ECT: Ecn = Ecn::Ect0;

    /// The ECN that it needs, if it is not the classic one.
    const NEEDS_ECN: Option<(EcnFeedback, EcnPackets)> = None;

    /// Congestion window and slow-start threshold.
    fn window(&self) -> &Window;

    /// The same, to change.
    fn window_mut(&mut self) -> &mut Window;

    /// When segments may go, if the control spreads them over time.
    fn pacer(&self) -> Option<&Pacer> {
        None
    }

    /// The same, to change.
    fn pacer_mut(&mut self) -> Option<&mut Pacer> {
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

    /// `acked` new bytes were acknowledged in fast recovery, and it goes on.
    fn on_partial_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.window_mut().deflate(acked, cx);
    }

    /// An acknowledgement in fast recovery has delivered so many bytes, or the one that began it. With SACK, and where it
    /// [`CongestionControl::FOLLOWS_RECOVERY`].
    fn on_delivered(&mut self, _delivered: u64, _cx: &Cx<'_>) {}

    /// So many bytes more than those with which fast recovery began were taken for lost, and sent again. Where
    /// [`CongestionControl::on_delivered`] is called.
    fn on_resent(&mut self, _bytes: u64, _cx: &Cx<'_>) {}

    /// `acked` new bytes were acknowledged, and fast recovery is over.
    fn on_recovered(&mut self, acked: u64, cx: &Cx<'_>) {
        self.window_mut().recovered(acked, cx);
    }

    /// The retransmission timer expired. `again` if nothing was acknowledged since it expired last.
    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>);

    /// What was in flight when the timer expired is acknowledged.
    fn on_timeout_mended(&mut self, _cx: &Cx<'_>) {}

    /// The record of what is in flight has found losses: before the recovery that they may begin, and only where
    /// [`CongestionControl::WATCHES_LOSSES`] and the profile detects losses by time.
    fn on_losses(&mut self, _cx: &Cx<'_>) {}

    /// The reduction that came last, by a loss or a timeout, proves to have been needless: nothing was lost. `before` is the window
    /// that it reduced.
    fn on_spurious(&mut self, before: Window, _cx: &Cx<'_>) {
        self.window_mut().restore(before);
    }

    /// A SYN or SYN-ACK had to be sent again. The initial window after it is one segment (RFC 5681 section 3.1).
    fn on_handshake_timeout(&mut self, cx: &Cx<'_>) {
        self.window_mut().cwnd = cx.mss();
    }

    /// New data was acknowledged, but the window was not full and does not grow (see `cwnd_validation` of profiles).
    fn on_unused(&mut self, _cx: &Cx<'_>) {}

    /// The peer echoed congestion experienced: at most once for each window of data, and not in recovery.
    fn on_ecn(&mut self, cx: &Cx<'_>);

    /// An acknowledgement on a connection with ECN: it says that `delivered` bytes have arrived, `marked` of them
    /// in packets that had experienced congestion. For schemes that count marks. Comes before the other calls for
    /// the same segment, and also for duplicate acknowledgements, each of which stands for one segment.
    fn on_feedback(&mut self, _delivered: u64, _marked: u64, _cx: &Cx<'_>) {}

    /// An acknowledgement was read, and the record of what is in flight is up to date with it. Comes last, and only
    /// where [`CongestionControl::SAMPLES_DELIVERY`].
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

/// A control that is small enough to live inside the endpoint; the others are boxed.
type Inline<C> = C;

/// From the list of controls: their modules, their names, and the enum that an endpoint holds. Behind it the transports
/// that are no TCP, which are chosen by the same names.
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
                /// A transport of its own, without TCP.
                #[serde(rename = $rate_text)] $rate,
            )+
            /// One that a program has added to a [`Catalogue`](crate::Catalogue), which alone reads it.
            #[serde(skip_deserializing)]
            Added(Added),
        }

        /// Every congestion control, in the order of the catalogue.
        pub const ALL: &[Entry] = &[
            $(Entry::new($text, aqmkit_base::page!(include_str!(concat!(stringify!($module), ".rs")))),)+
        ];

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

            /// The transport, where it is not TCP.
            #[must_use]
            pub fn rate_based(&self) -> Option<rate::Kind> {
                match self {
                    $(Kind::$name => None,)+
                    $(Kind::$rate => Some(rate::Kind::$rate),)+
                    Kind::Added(_) => None,
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
            /// A rate-based transport has none: its name gives what an unnamed one would be.
            pub(super) fn new(profile: &Profile) -> Self {
                match &profile.congestion {
                    $(Kind::$name => Control::$name(<$holder<$module::$control>>::from($module::$control::new(profile))),)+
                    $(Kind::$rate => Control::Reno(reno::Reno::new(profile)),)+
                    Kind::Added(added) => Control::Added(added.begin(profile)),
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

            /// Asked at every segment: a test of a constant, and for boxed controls that do not pace no look into the box.
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

/// Looks up a congestion control by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|e| e.name == name)
}

controls! {
    /// 4.4BSD's Reno: fast recovery ends with the first new acknowledgement.
    #[default]
    Reno => Inline<reno::Reno>, "reno";
    /// RFC 6582 over RFC 5681.
    NewReno => Inline<newreno::NewReno>, "newreno";
    /// The same window with SACK, which it negotiates whatever the profile says.
    Sack => Inline<sack::Sack>, "sack";
    /// RFC 9438.
    Cubic => Box<cubic::Cubic>, "cubic";
    /// RFC 8257.
    Dctcp => Box<dctcp::Dctcp>, "dctcp";
    /// Scalable, for the low-latency service.
    Prague => Box<prague::Prague>, "prague";
    /// Version 1: a model of the path.
    Bbr => Box<bbr::Bbr>, "bbr";
    /// Version 3: a model that heeds losses.
    Bbr3 => Box<bbr3::Bbr3>, "bbr3";
    /// RFC 6817: gives way to all others.
    Ledbat => Box<ledbat::Ledbat>, "ledbat";
    /// Takes off what was lost.
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
            let page = entry.page();
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
