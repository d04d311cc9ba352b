//! The state of a bottleneck: counters since its start. The difference of two reports gives the values
//! between them.

use std::collections::BTreeMap;

use aqmkit_aqm::registry::Link;
use serde::{Deserialize, Serialize};

use super::control::Shown;
use super::settings;
use crate::measured::{DirectionLook, Look, Trouble};
use crate::port::Counts;
use aqmkit_measure::by_reason;
use aqmkit_packets::Buckets;
use aqmkit_packets::meter::Counters;
use aqmkit_packets::shaper::Setup;

/// The state of a bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `bridge`, `link` or `shape`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The interfaces that it uses; empty for a link, whose devices are its own.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// The id of its process.
    pub pid: u32,
    /// The time of the report, in seconds since the start.
    pub at_s: f64,
    /// Its directions.
    pub directions: Vec<DirectionReport>,
    /// Lateness of departures.
    pub late: Buckets,
    /// Packets that a device refused.
    pub refused: u64,
    /// Reads that failed.
    pub failed_reads: u64,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// Its name.
    pub name: String,
    /// Where its packets come from and go to, in words.
    #[serde(default)]
    pub way: String,
    /// The settings of its link other than the rate, as far as there are any: delay, losses and framing, by the names of their options.
    #[serde(default)]
    pub link: BTreeMap<String, String>,
    /// Its discipline.
    pub discipline: String,
    /// The parameters, including derived ones.
    pub parameters: serde_json::Value,
    /// Its rate.
    pub rate_bps: u64,
    /// Packets waiting.
    pub backlog_packets: u64,
    /// Bytes waiting.
    pub backlog_bytes: u64,
    /// All packets.
    pub total: Counted,
    /// The classes by name.
    pub classes: BTreeMap<String, Counted>,
    /// The discipline's own gauges: averages, probabilities.
    pub gauges: BTreeMap<String, f64>,
    /// Packets that arrived at the device but never reached the discipline.
    #[serde(default)]
    pub device: Counts,
    /// Packets that its configured wire has lost.
    #[serde(default)]
    pub lost_packets: u64,
}

/// Counters of packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Packets that arrived.
    pub offered_packets: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped, by reason.
    pub drops: BTreeMap<String, u64>,
    /// Packets marked, by reason.
    pub marks: BTreeMap<String, u64>,
    /// Sojourn time of the packets sent.
    pub waited: Buckets,
}

impl From<&Counters> for Counted {
    fn from(counters: &Counters) -> Self {
        let c = &counters.traffic;
        Counted {
            offered_packets: c.offered_packets,
            offered_bytes: c.offered_bytes,
            sent_packets: c.sent_packets,
            sent_bytes: c.sent_bytes,
            drops: by_reason(&c.dropped),
            marks: by_reason(&c.marked),
            waited: counters.waited,
        }
    }
}

impl Report {
    /// The report of a snapshot of a bottleneck with these settings.
    pub(super) fn of(shown: &Shown, setups: &[Setup], look: &Look) -> Report {
        let Trouble { refused, failed_reads } = look.trouble;
        let directions = setups.iter().zip(&shown.ways).zip(&look.directions);
        let directions = directions.map(|((setup, way), seen)| direction(setup, way, seen)).collect();
        Report {
            kind: shown.kind.to_owned(),
            name: shown.name.clone(),
            interfaces: shown.interfaces.clone(),
            pid: std::process::id(),
            at_s: look.at.as_secs_f64(),
            directions,
            late: look.late,
            refused,
            failed_reads,
        }
    }

    /// What it is, in words: `bridge wan between eth1 and eth2`. The name of a link says what it is.
    #[must_use]
    pub fn title(&self) -> String {
        if self.interfaces.is_empty() { self.name.clone() } else { title(&self.name, &self.interfaces) }
    }
}

/// What uses interfaces, in words: a bridge has two of them, a shaper one. Its name is left out where it is the usual one.
pub(crate) fn title(name: &str, interfaces: &[String]) -> String {
    let named = |what: &str, usual| if name == usual { what.to_owned() } else { format!("{what} {name}") };
    match interfaces {
        [interface] => format!("{} of {interface}", named("shaper", "shape")),
        several => format!("{} between {}", named("bridge", "bridge"), several.join(" and ")),
    }
}

fn direction(setup: &Setup, way: &str, look: &DirectionLook) -> DirectionReport {
    let classes = setup.classes.iter().cloned().zip(look.classes.iter().map(Counted::from));
    DirectionReport {
        name: setup.name.clone(),
        way: way.to_owned(),
        link: settings::of(setup),
        discipline: setup.aqm.name().to_owned(),
        parameters: parameters(setup),
        rate_bps: setup.rate.as_bps(),
        backlog_packets: look.backlog.packets,
        backlog_bytes: look.backlog.bytes,
        total: Counted::from(&look.counters),
        classes: classes.collect(),
        gauges: look.gauges.iter().filter(|gauge| gauge.1.is_finite()).cloned().collect(),
        lost_packets: look.lost,
        device: look.device,
    }
}

/// The parameters in effect.
fn parameters(setup: &Setup) -> serde_json::Value {
    let link = Link { rate: setup.rate, mean_packet: setup.mean_packet, classes: setup.classes.clone() };
    let effective = setup.aqm.effective(&link).unwrap_or_else(|_| setup.aqm.clone());
    serde_json::to_value(effective).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_what_it_is_and_its_name_once() {
        let title = |kind: &str, name: &str, interfaces: &[&str]| {
            let interfaces = interfaces.iter().map(|interface| (*interface).to_owned()).collect();
            Report { kind: kind.into(), name: name.into(), interfaces, ..Report::default() }.title()
        };
        assert_eq!(title("bridge", "bridge", &["l1", "r1"]), "bridge between l1 and r1");
        assert_eq!(title("bridge", "wan", &["l1", "r1"]), "bridge wan between l1 and r1");
        assert_eq!(title("shape", "shape", &["eth0"]), "shaper of eth0");
        assert_eq!(title("shape", "home", &["eth0"]), "shaper home of eth0");
        assert_eq!(title("link", "link-7", &[]), "link-7");
    }
}
