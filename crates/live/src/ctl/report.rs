//! The state of a bottleneck: counters since its start. The difference of two reports gives the values
//! between them.

use std::collections::BTreeMap;

use aqmkit_aqm::registry::Link;
use serde::{Deserialize, Serialize};

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
    pub(super) fn of(kind: &str, name: &str, setups: &[Setup], look: &Look) -> Report {
        let Trouble { refused, failed_reads } = look.trouble;
        Report {
            kind: kind.to_owned(),
            name: name.to_owned(),
            pid: std::process::id(),
            at_s: look.at.as_secs_f64(),
            directions: setups.iter().zip(&look.directions).map(|(s, d)| direction(s, d)).collect(),
            late: look.late,
            refused,
            failed_reads,
        }
    }
}

fn direction(setup: &Setup, look: &DirectionLook) -> DirectionReport {
    let classes = setup.classes.iter().cloned().zip(look.classes.iter().map(Counted::from));
    DirectionReport {
        name: setup.name.clone(),
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
