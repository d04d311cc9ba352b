//! Rate-based transports: datagrams, none of them sent again, whose sender follows what the receiver reports.
//!
//! One file for each scheme. It has two halves: a [`Sending`] one, which says when the next packet may go, and a
//! [`Receiving`] one, which says when to report what. An [`Endpoint`] is what is the same for all of them: opening, asking,
//! sending, closing. To add one: a file with the two halves, and a line in the list at the end of this one.

use aqmkit_base::{Duration, Ecn, Instant};

use super::profile::Profile;
use aqmkit_base::page::Entry;

mod endpoint;

pub use endpoint::{Endpoint, Output, Stats};

/// What two endpoints say to each other: a datagram without its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// What it says.
    pub content: Content,
    /// Bytes of data.
    pub len: u32,
    /// The ECN field of the IP packet that carries it.
    pub ecn: Ecn,
}

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Opens the connection, or asks for something: the data continues the requests from this byte on.
    Ask {
        /// Bytes of requests before these.
        from: u64,
    },
    /// Answers [`Content::Ask`].
    Heard {
        /// Bytes of requests that have come.
        bytes: u64,
    },
    /// Carries data.
    Data(Data),
    /// Tells the sender of data what arrives.
    Report(Report),
    /// Ends the connection.
    Close,
}

/// The header of a packet with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number: 0 and up, one for each packet.
    pub seq: u64,
    /// When it was sent, by the sender's clock.
    pub sent: Instant,
    /// The round trip as the sender knows it; zero while it does not.
    pub rtt: Duration,
    /// As in [`Content::Heard`].
    pub heard: u64,
    /// Whether it was sent right behind the one before, to measure the bottleneck.
    pub pair: bool,
}

/// What a receiver reports. Each scheme uses some of it; the rest is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// [`Data::sent`] of the packet that this echoes.
    pub echo: Instant,
    /// How long ago that packet came.
    pub held: Duration,
    /// Its number.
    pub seq: u64,
    /// Bytes of data per second that arrive.
    pub rate: f64,
    /// The share that is lost, as the scheme defines it, from 0 to 1.
    pub loss: f64,
    /// The rate of the bottleneck in bytes per second; zero while unknown.
    pub capacity: f64,
}

/// What a half may know of a call.
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

/// The half that sends: how fast.
pub trait Sending {
    /// The state of a new connection.
    fn new(cx: &Cx<'_>) -> Self
    where
        Self: Sized;

    /// The receiver has reported.
    fn on_report(&mut self, report: &Report, cx: &Cx<'_>);

    /// When [`Sending::on_timer`] is to be called, if ever.
    fn timer(&self) -> Option<Instant>;

    /// The timer has expired: there was no report for too long.
    fn on_timer(&mut self, cx: &Cx<'_>);

    /// When the next packet may go; nothing while that depends on a report.
    fn next(&self, cx: &Cx<'_>) -> Option<Instant>;

    /// A packet of this number goes now. `more`: there is more to send than that.
    fn on_sent(&mut self, seq: u64, more: bool, cx: &Cx<'_>);

    /// The round trip, where one was measured.
    fn rtt(&self) -> Option<Duration>;

    /// The rate that is allowed now, in bytes of data per second.
    fn rate(&self, cx: &Cx<'_>) -> f64;

    /// Whether the packet of this number is to follow the one before at once, to measure the bottleneck.
    fn pairs(&self, _seq: u64) -> bool {
        false
    }
}

/// The half that receives: when to report what.
pub trait Receiving {
    /// The state of a new connection.
    fn new(profile: &Profile) -> Self
    where
        Self: Sized;

    /// A packet with `len` bytes of data has come; `marked`: it has experienced congestion. What to report at once, if
    /// anything.
    fn on_data(&mut self, data: &Data, len: u32, marked: bool, cx: &Cx<'_>) -> Option<Report>;

    /// When [`Receiving::on_timer`] is to be called, if ever.
    fn timer(&self) -> Option<Instant>;

    /// The timer has expired. What to report, if anything.
    fn on_timer(&mut self, cx: &Cx<'_>) -> Option<Report>;
}

/// From the list of transports: their modules, names and pages, and the enums that an endpoint holds.
macro_rules! transports {
    ($($(#[$attr:meta])* $name:ident => $module:ident, $text:literal;)+) => {
        $(pub mod $module;)+

        /// The rate-based transports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$attr])* $name,)+
        }

        /// Every rate-based transport, in the order of the catalogue.
        pub const ALL: &[Entry] = &[
            $(Entry::new($text, aqmkit_base::page!(include_str!(concat!(stringify!($module), ".rs")))),)+
        ];

        /// A sending half at work.
        #[derive(Clone, Debug)]
        enum Sender {
            $($name($module::Sender),)+
        }

        impl Sender {
            fn new(kind: Kind, cx: &Cx<'_>) -> Self {
                match kind { $(Kind::$name => Sender::$name(Sending::new(cx)),)+ }
            }

            fn half(&self) -> &dyn Sending {
                match self { $(Sender::$name(s) => s,)+ }
            }

            fn half_mut(&mut self) -> &mut dyn Sending {
                match self { $(Sender::$name(s) => s,)+ }
            }
        }

        /// A receiving half at work.
        #[derive(Clone, Debug)]
        enum Receiver {
            $($name($module::Receiver),)+
        }

        impl Receiver {
            fn new(kind: Kind, profile: &Profile) -> Self {
                match kind { $(Kind::$name => Receiver::$name(Receiving::new(profile)),)+ }
            }

            fn half(&self) -> &dyn Receiving {
                match self { $(Receiver::$name(r) => r,)+ }
            }

            fn half_mut(&mut self) -> &mut dyn Receiving {
                match self { $(Receiver::$name(r) => r,)+ }
            }
        }
    };
}

/// Looks up a rate-based transport by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|e| e.name == name)
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
            let page = entry.page();
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
