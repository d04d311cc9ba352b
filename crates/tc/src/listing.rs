//! Queue disciplines and classes, as `tc` lists them.

use std::collections::BTreeMap;

use aqmkit_base::units::{parse_bytes, parse_duration, parse_rate};
use aqmkit_base::{BitRate, Bytes, Duration};

/// All that one or several calls of `tc` printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Queue disciplines, in the order of the output.
    pub qdiscs: Vec<Qdisc>,
    /// Classes, in the order of the output.
    pub classes: Vec<Class>,
    /// Filters, in the order of the output.
    pub filters: Vec<Filter>,
}

/// The place of a queue discipline or a class in the tree of its device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parent {
    /// The root: all packets that leave through the device.
    Root,
    /// The hook for packets that arrive (`ingress`, `clsact`).
    Ingress,
    /// Below a class, such as `1:10`.
    Class(String),
}

/// Counters that every queue discipline and class has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent; a segment of an offloading device counts as one.
    pub packets: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// How often a packet had to wait for a limit of the discipline.
    pub overlimits: u64,
    /// How often the device returned a packet because it was busy.
    pub requeues: u64,
    /// Bytes that wait now.
    pub backlog_bytes: u64,
    /// Packets that wait now.
    pub backlog_packets: u64,
}

/// A queue discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct Qdisc {
    /// Its name, such as `fq_codel`.
    pub kind: String,
    /// Its handle, such as `8001:`; `0:` for one that the kernel attached.
    pub handle: String,
    /// Its device; absent where `tc` was asked for one device.
    pub device: Option<String>,
    /// Where it is attached.
    pub parent: Parent,
    /// Options and their values in the notation of `tc`; an option without a value (`ecn`) has an empty one.
    pub options: BTreeMap<String, String>,
    /// Its counters (with `-s`).
    pub counters: Option<Counters>,
    /// Its own statistics by name (with `-s`), in bytes, bits per second and seconds.
    pub details: BTreeMap<String, f64>,
    /// The tins of CAKE (with `-s`).
    pub tins: Vec<Tin>,
    /// The line of the text, from 1; absent for JSON.
    pub line: Option<usize>,
}

/// A class of a classful discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The kind of its discipline, such as `htb`.
    pub kind: String,
    /// Its identifier, such as `1:10`.
    pub id: String,
    /// Its device, which only a script names.
    pub device: Option<String>,
    /// The class or discipline that it is part of.
    pub parent: Parent,
    /// As for [`Qdisc::options`]; `leaf` is the handle of the discipline below it.
    pub options: BTreeMap<String, String>,
    /// As for [`Qdisc::counters`].
    pub counters: Option<Counters>,
    /// As for [`Qdisc::details`].
    pub details: BTreeMap<String, f64>,
    /// As for [`Qdisc::line`].
    pub line: Option<usize>,
    /// The word of a comment behind the line of a script, which names it.
    pub name: Option<String>,
}

/// A filter that puts packets into a class, or redirects them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Its kind: `u32`, `flower`, `fw`, `matchall` and others.
    pub kind: String,
    /// Its device, where the text names it.
    pub device: Option<String>,
    /// The handle of the discipline that it belongs to, such as `1:`; `ffff:` for packets that arrive.
    pub parent: String,
    /// `ip`, `ipv6`, `all` and others.
    pub protocol: String,
    /// Filters with lower numbers are asked first.
    pub pref: u32,
    /// The class that packets go to.
    pub target: Option<String>,
    /// The device to which packets that arrive are redirected.
    pub redirect: Option<String>,
    /// The conditions that a packet must meet, all of them.
    pub conditions: Vec<Condition>,
    /// As for [`Qdisc::line`].
    pub line: Option<usize>,
}

/// One condition of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Every packet.
    Any,
    /// A codepoint of differentiated services.
    Dscp(u8),
    /// The number of a protocol of IP.
    Protocol(u8),
    /// The port of the source or the destination.
    Port {
        /// Whether it is the port of the destination.
        destination: bool,
        /// The port.
        port: u16,
    },
    /// The network of the source or the destination.
    Network {
        /// Whether it is the network of the destination.
        destination: bool,
        /// The network, as in `192.0.2.0/24`.
        network: String,
    },
    /// A mark of the firewall.
    Mark(u32),
    /// Something else, as written.
    Other(String),
}

/// One of CAKE's priority tins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tin {
    /// `Bulk`, `Best Effort`, `Video`, `Voice`, or `Tin 0` and so on.
    pub name: String,
    /// The rate above which the tin loses its priority.
    pub threshold: BitRate,
    /// The delay that its COBALT aims at.
    pub target: Duration,
    /// The interval of its COBALT.
    pub interval: Duration,
    /// A decaying maximum of the delay of its packets (`pk_delay`).
    pub peak_delay: Duration,
    /// A decaying mean of the delay of its packets (`av_delay`).
    pub mean_delay: Duration,
    /// A decaying minimum, the delay of sparse flows (`sp_delay`).
    pub sparse_delay: Duration,
    /// Packets sent and dropped.
    pub packets: u64,
    /// Bytes sent and dropped.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Acknowledgements that the filter dropped.
    pub ack_drops: u64,
    /// Flows without a standing queue, now.
    pub sparse_flows: u64,
    /// Flows with a standing queue, now.
    pub bulk_flows: u64,
    /// Flows that do not react to drops, now.
    pub unresponsive_flows: u64,
    /// Bytes of the longest packet.
    pub max_len: u64,
}

impl Qdisc {
    /// Whether an option without a value is set, such as `ecn`.
    #[must_use]
    pub fn has(&self, option: &str) -> bool {
        self.options.contains_key(option)
    }

    /// A rate option; `None` where it is absent or `unlimited`.
    #[must_use]
    pub fn rate(&self, option: &str) -> Option<BitRate> {
        rate(&self.options, option)
    }

    /// A time option.
    #[must_use]
    pub fn time(&self, option: &str) -> Option<Duration> {
        parse_duration(self.options.get(option)?).ok()
    }

    /// A size option in bytes. A bare number counts bytes.
    #[must_use]
    pub fn size(&self, option: &str) -> Option<Bytes> {
        let text = self.options.get(option)?;
        text.parse().map(Bytes).ok().or_else(|| parse_bytes(text).ok())
    }

    /// A count, such as `limit 10240p`.
    #[must_use]
    pub fn count(&self, option: &str) -> Option<u64> {
        self.options.get(option)?.trim_end_matches('p').parse().ok()
    }

    /// One of its own statistics; zero where it is absent.
    #[must_use]
    pub fn detail(&self, name: &str) -> f64 {
        self.details.get(name).copied().unwrap_or(0.0)
    }
}

impl Class {
    /// As [`Qdisc::rate`].
    #[must_use]
    pub fn rate(&self, option: &str) -> Option<BitRate> {
        rate(&self.options, option)
    }
}

fn rate(options: &BTreeMap<String, String>, option: &str) -> Option<BitRate> {
    parse_rate(options.get(option)?).ok()
}
