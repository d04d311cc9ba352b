//! Rate-based transports: datagrams without retransmissions, sent at a rate that follows the receiver's reports.
//!
//! There is one file for each scheme. It has two halves: a [`Sending`] one, which decides when the next packet is sent,
//! and a [`Receiving`] one, which decides when to report and what. An [`Endpoint`] has what all schemes share: opening,
//! requests, sending, closing. To add one: a file with the two halves, and a line in the list at the end of this one. A
//! crate outside implements [`Scheme`] as well and adds it to a [`Catalogue`](crate::Catalogue).

use aqmkit_base::{Duration, Ecn, Instant};

use super::profile::Profile;

mod added;
mod endpoint;

pub(crate) use added::Of;
pub use added::{Added, Scheme};
pub use endpoint::{Endpoint, Output, Stats};

/// A packet between two endpoints, without its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Its content.
    pub content: Content,
    /// Bytes of data.
    pub len: u32,
    /// The ECN field of the IP packet that carries it.
    pub ecn: Ecn,
}

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Opens the connection, or carries requests from this byte on.
    Ask {
        /// Bytes of requests before these.
        from: u64,
    },
    /// Acknowledges [`Content::Ask`].
    Heard {
        /// Bytes of requests received.
        bytes: u64,
    },
    /// Carries data.
    Data(Data),
    /// Reports the received data to its sender.
    Report(Report),
    /// Ends the connection.
    Close,
}

/// The header of a packet with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The number of the packet, from 0.
    pub seq: u64,
    /// When it was sent, by the sender's clock.
    pub sent: Instant,
    /// The sender's round-trip time; zero while unknown.
    pub rtt: Duration,
    /// As in [`Content::Heard`].
    pub heard: u64,
    /// Whether it was sent directly after the previous packet, to measure the bottleneck.
    pub pair: bool,
}

/// A receiver's report. Each scheme uses some of the fields; the others are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// [`Data::sent`] of the packet that this echoes.
    pub echo: Instant,
    /// The time since that packet arrived.
    pub held: Duration,
    /// Its number.
    pub seq: u64,
    /// The rate of received data, in bytes per second.
    pub rate: f64,
    /// The loss rate as defined by the scheme, from 0 to 1.
    pub loss: f64,
    /// The rate of the bottleneck in bytes per second; zero while unknown.
    pub capacity: f64,
}

/// The context of a call.
#[derive(Clone, Copy, Debug)]
pub struct Cx<'a> {
    /// Now.
    pub now: Instant,
    /// The endpoint's settings.
    pub profile: &'a Profile,
}

impl Cx<'_> {
    /// Bytes of data in a full packet.
    #[must_use]
    pub fn segment(&self) -> f64 {
        self.profile.mss.as_f64()
    }
}

/// The sending half: controls the rate.
pub trait Sending {
    /// The receiver has reported.
    fn on_report(&mut self, report: &Report, cx: &Cx<'_>);

    /// When to call [`Sending::on_timer`], if at all.
    fn timer(&self) -> Option<Instant>;

    /// The timer has expired, for example because reports are missing.
    fn on_timer(&mut self, cx: &Cx<'_>);

    /// When the next packet may be sent; `None` while waiting for a report.
    fn next(&self, cx: &Cx<'_>) -> Option<Instant>;

    /// The packet with this number is being sent. `more`: further data is waiting.
    fn on_sent(&mut self, seq: u64, more: bool, cx: &Cx<'_>);

    /// The round-trip time, if one was measured.
    fn rtt(&self) -> Option<Duration>;

    /// The current rate, in bytes of data per second.
    fn rate(&self, cx: &Cx<'_>) -> f64;

    /// Whether the packet with this number is sent directly after the previous one, to measure the bottleneck.
    fn pairs(&self, _seq: u64) -> bool {
        false
    }
}

/// The receiving half: decides when to report and what.
pub trait Receiving {
    /// A packet with `len` bytes of data has arrived; `marked`: with Congestion Experienced. Returns a report to send at once, if
    /// any.
    fn on_data(&mut self, data: &Data, len: u32, marked: bool, cx: &Cx<'_>) -> Option<Report>;

    /// When to call [`Receiving::on_timer`], if at all.
    fn timer(&self) -> Option<Instant>;

    /// The timer has expired. Returns a report to send, if any.
    fn on_timer(&mut self, cx: &Cx<'_>) -> Option<Report>;
}

/// Creates, from the list of transports, their modules, names and pages, and the enums that an endpoint holds.
macro_rules! transports {
    ($($(#[$attr:meta])* $name:ident => $module:ident, $text:literal;)+) => {
        $(pub mod $module;)+

        /// The rate-based transports.
        #[derive(Clone, Debug)]
        pub enum Kind {
            $($(#[$attr])* $name,)+
            /// One that a program has added to a [`Catalogue`](crate::Catalogue).
            Added(Added),
        }

        aqmkit_base::pages! { "rate-based transport" in "rate/": $($module, $text;)+ }

        /// The sending half of a connection.
        #[derive(Clone, Debug)]
        enum Sender {
            $($name($module::Sender),)+
            Added(added::Sender),
        }

        impl Sender {
            fn new(kind: &Kind, cx: &Cx<'_>) -> Self {
                match kind {
                    $(Kind::$name => Sender::$name($module::Sender::new(cx)),)+
                    Kind::Added(added) => Sender::Added(added.sender(cx)),
                }
            }

            fn half(&self) -> &dyn Sending {
                match self {
                    $(Sender::$name(s) => s,)+
                    Sender::Added(s) => s.half(),
                }
            }

            fn half_mut(&mut self) -> &mut dyn Sending {
                match self {
                    $(Sender::$name(s) => s,)+
                    Sender::Added(s) => s.half_mut(),
                }
            }
        }

        /// The receiving half of a connection.
        #[derive(Clone, Debug)]
        enum Receiver {
            $($name($module::Receiver),)+
            Added(added::Receiver),
        }

        impl Receiver {
            fn new(kind: &Kind, profile: &Profile) -> Self {
                match kind {
                    $(Kind::$name => Receiver::$name($module::Receiver::new(profile)),)+
                    Kind::Added(added) => Receiver::Added(added.receiver(profile)),
                }
            }

            fn half(&self) -> &dyn Receiving {
                match self {
                    $(Receiver::$name(r) => r,)+
                    Receiver::Added(r) => r.half(),
                }
            }

            fn half_mut(&mut self) -> &mut dyn Receiving {
                match self {
                    $(Receiver::$name(r) => r,)+
                    Receiver::Added(r) => r.half_mut(),
                }
            }
        }
    };
}

transports! {
    /// RFC 5348.
    Tfrc => tfrc, "tfrc";
    /// Cen, Pu and Walpole.
    Scp => scp, "scp";
    /// Sisalem and Schulzrinne.
    Lda => lda, "lda";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Segment, congestion};

    #[test]
    fn every_transport_has_its_name_and_its_page() {
        for entry in ALL {
            let page = page(entry.name).unwrap();
            assert!(page.starts_with(&format!("# {}: ", entry.name)), "{}", entry.name);
            for section in ["## Law", "## Parameters", "## Deviations", "## Evidence", "## References"] {
                assert!(page.contains(section), "{} has no {section}", entry.name);
            }
            let kind: congestion::Kind = serde_json::from_str(&format!("{:?}", entry.name)).unwrap();
            assert!(kind.rate_based().is_some());
        }
    }

    #[test]
    fn a_packet_is_hardly_larger_than_a_segment() {
        assert!(size_of::<Packet>() <= size_of::<Segment>() + 24, "{}", size_of::<Packet>());
    }
}
