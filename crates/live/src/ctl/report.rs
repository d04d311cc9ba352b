//! The state of a bottleneck, with counters since its start: subtract two reports for the values of an interval.

use std::collections::BTreeMap;

use aqmkit_aqm::registry::Link;
use serde::{Deserialize, Serialize};

use super::control::Shown;
use super::settings;
use crate::measured::{DirectionSnapshot, Snapshot, Trouble};
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
    /// Its name for `aqmkit ctl`.
    pub name: String,
    /// The interfaces it uses; empty for a link, which creates its devices.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// Process id.
    pub pid: u32,
    /// Time of the report, in seconds since the start.
    pub at_s: f64,
    /// The directions: `down` and `up`, `egress` and `ingress`, or the two of a bridge.
    pub directions: Vec<DirectionReport>,
    /// Lateness of departures relative to the ideal transmitter.
    pub late: Buckets,
    /// Packets that the output device refused.
    pub refused: u64,
    /// Failed reads from the input devices.
    pub failed_reads: u64,
}

/// The state of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// The direction's name.
    pub name: String,
    /// Its source and destination, in words.
    #[serde(default)]
    pub way: String,
    /// Settings of the emulated link other than the rate (delay, loss, framing), by option name; unset ones are absent.
    #[serde(default)]
    pub link: BTreeMap<String, String>,
    /// The name of the discipline.
    pub discipline: String,
    /// Its parameters, including derived ones.
    pub parameters: serde_json::Value,
    /// The link's rate in bit/s.
    pub rate_bps: u64,
    /// Packets queued.
    pub backlog_packets: u64,
    /// Bytes queued.
    pub backlog_bytes: u64,
    /// Counters over all classes.
    pub total: Counted,
    /// Counters by class name.
    pub classes: BTreeMap<String, Counted>,
    /// The discipline's own gauges: averages, probabilities.
    pub gauges: BTreeMap<String, f64>,
    /// Packets dropped on the device before the discipline.
    #[serde(default)]
    pub device: Counts,
    /// Packets lost by the emulated link's random loss.
    #[serde(default)]
    pub lost_packets: u64,
}

/// Packet counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Packets that arrived at the queue.
    pub offered_packets: u64,
    /// Bytes that arrived at the queue.
    pub offered_bytes: u64,
    /// Packets sent by the link.
    pub sent_packets: u64,
    /// Bytes sent by the link.
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
    /// The report of a snapshot.
    pub(super) fn of(shown: &Shown, setups: &[Setup], snapshot: &Snapshot) -> Report {
        let Trouble { refused, failed_reads } = snapshot.trouble;
        let directions = setups.iter().zip(&shown.ways).zip(&snapshot.directions);
        let directions = directions.map(|((setup, way), seen)| direction(setup, way, seen)).collect();
        Report {
            kind: shown.kind.to_owned(),
            name: shown.name.clone(),
            interfaces: shown.interfaces.clone(),
            pid: std::process::id(),
            at_s: snapshot.at.as_secs_f64(),
            directions,
            late: snapshot.late,
            refused,
            failed_reads,
        }
    }

    /// A heading such as `bridge wan between eth1 and eth2`. A link's name is heading enough.
    #[must_use]
    pub fn title(&self) -> String {
        if self.interfaces.is_empty() { self.name.clone() } else { title(&self.name, &self.interfaces) }
    }
}

/// A heading for a bridge (two interfaces) or a shaper (one). The name is omitted if it is the default.
pub(crate) fn title(name: &str, interfaces: &[String]) -> String {
    let named = |what: &str, usual| if name == usual { what.to_owned() } else { format!("{what} {name}") };
    match interfaces {
        [interface] => format!("{} of {interface}", named("shaper", "shape")),
        several => format!("{} between {}", named("bridge", "bridge"), several.join(" and ")),
    }
}

fn direction(setup: &Setup, way: &str, snapshot: &DirectionSnapshot) -> DirectionReport {
    let classes = setup.classes.iter().cloned().zip(snapshot.classes.iter().map(Counted::from));
    DirectionReport {
        name: setup.name.clone(),
        way: way.to_owned(),
        link: settings::of(setup),
        discipline: setup.aqm.name().to_owned(),
        parameters: parameters(setup),
        rate_bps: setup.rate.as_bps(),
        backlog_packets: snapshot.backlog.packets,
        backlog_bytes: snapshot.backlog.bytes,
        total: Counted::from(&snapshot.counters),
        classes: classes.collect(),
        gauges: snapshot.gauges.iter().filter(|gauge| gauge.1.is_finite()).cloned().collect(),
        lost_packets: snapshot.lost,
        device: snapshot.device,
    }
}

/// The parameters in effect, including derived ones.
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
