//! The link of a comparison: from the arguments, a preset, or the defaults.

use std::str::FromStr;

use aqmkit_base::near::suggest;
use aqmkit_base::wire::{self, Wire};
use aqmkit_base::{BitRate, Bytes, Duration, Framing, LinkLayer, Overhead};
use toml::{Table, Value};

use super::Comparison;
use super::text::{string, table};
use crate::error::{LabError, wrong};

/// The only preset that is not an access link.
pub const DATACENTRE: &str = "datacentre";

/// A typical access link, in round numbers rather than measured ones. `home-dsl` is within the bounds of ADSL2+ (ITU-T
/// G.992.5: at most 24 Mbit/s down and 1.4 up). `starlink` has the middle of the ranges that its operator announced for
/// its beta in 2020 (50 to 150 Mbit/s, 20 to 40 ms), and a longer path. `cable`, `fibre` and `lte` have rates of
/// advertised products. Round-trip times are to servers in the same region.
struct Preset {
    name: &'static str,
    down: BitRate,
    up: BitRate,
    rtt: Duration,
}

const ALL: [Preset; 6] = [
    Preset {
        name: "home-dsl",
        down: BitRate::from_mbps(16),
        up: BitRate::from_mbps(1),
        rtt: Duration::from_millis(40),
    },
    Preset { name: "cable", down: BitRate::from_mbps(200), up: BitRate::from_mbps(10), rtt: Duration::from_millis(30) },
    Preset {
        name: "fibre",
        down: BitRate::from_mbps(500),
        up: BitRate::from_mbps(100),
        rtt: Duration::from_millis(15),
    },
    Preset { name: "lte", down: BitRate::from_mbps(30), up: BitRate::from_mbps(10), rtt: Duration::from_millis(60) },
    Preset {
        name: "starlink",
        down: BitRate::from_mbps(100),
        up: BitRate::from_mbps(10),
        rtt: Duration::from_millis(50),
    },
    Preset {
        name: DATACENTRE,
        down: BitRate::from_mbps(10_000),
        up: BitRate::from_mbps(10_000),
        rtt: Duration::from_micros(100),
    },
];

/// The names of the presets.
pub const PRESETS: [&str; ALL.len()] = {
    let mut names = [""; ALL.len()];
    let mut i = 0;
    while i < ALL.len() {
        names[i] = ALL[i].name;
        i += 1;
    }
    names
};

/// The link of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ComparedLink {
    /// The rate of the compared direction.
    pub(super) down: BitRate,
    /// The rate of the reverse direction, if it has a queue.
    pub(super) up: Option<BitRate>,
    /// The round-trip time without queueing.
    pub(super) rtt: Duration,
    /// The framing of both directions.
    pub(super) framing: Framing,
    /// The impairments of both wires.
    wire: Wire,
    /// The driver beneath both queues.
    driver: Option<Driver>,
}

/// The transmit ring of a network interface: `256`, or `256,bql` with byte queue limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    ring: u32,
    bql: bool,
}

impl FromStr for Driver {
    type Err = String;

    fn from_str(text: &str) -> Result<Driver, String> {
        let (ring, bql) = match text.split_once(',') {
            None => (text, false),
            Some((ring, bql)) if bql.trim() == "bql" => (ring, true),
            Some((_, other)) => return Err(format!("{other:?} is not bql: write 256 or 256,bql")),
        };
        match ring.trim().parse() {
            Ok(ring) => Ok(Driver { ring, bql }),
            Err(_) => Err(format!("{ring:?} is not a number of packets: write 256 or 256,bql")),
        }
    }
}

impl ComparedLink {
    /// Combines the settings of a comparison with those of its preset, which they override. The defaults are 10 Mbit/s
    /// in one direction and 50 ms.
    ///
    /// # Errors
    /// When there is no such preset.
    pub(super) fn of(asked: &Comparison) -> Result<ComparedLink, LabError> {
        let preset = asked.preset.as_deref().map(preset).transpose()?;
        Ok(ComparedLink {
            down: asked.down.or(preset.map(|p| p.down)).unwrap_or(BitRate::from_mbps(10)),
            up: asked.up.or(preset.map(|p| p.up)),
            rtt: asked.rtt.or(preset.map(|p| p.rtt)).unwrap_or(Duration::from_millis(50)),
            framing: asked.framing,
            wire: asked.wire,
            driver: asked.driver,
        })
    }

    /// Describes the rates: `10mbit`, `50mbit down and 10mbit up`.
    #[must_use]
    pub(super) fn words(&self) -> String {
        match self.up {
            None => self.down.to_string(),
            Some(up) => format!("{} down and {up} up", self.down),
        }
    }

    /// The table `[topology]`. If there are two directions, both have the swept discipline, and the compared direction
    /// is measured.
    #[must_use]
    pub(super) fn topology(&self) -> Table {
        let mut topology = self.rates();
        let Framing { overhead, mpu, linklayer } = self.framing;
        let name = LinkLayer::ALL.iter().find(|(_, layer)| *layer == linklayer).map_or("", |(name, _)| name);
        let keys = [
            ("overhead", overhead != 0, string(Overhead(overhead))),
            ("mpu", mpu != 0, string(Bytes(mpu.into()))),
            ("linklayer", linklayer != LinkLayer::Ethernet, string(name)),
        ];
        topology.extend(keys.into_iter().filter(|key| key.1).map(|(key, _, value)| (key.to_owned(), value)));
        if let Some(Driver { ring, bql }) = self.driver {
            let driver = table([("ring", Value::Integer(ring.into())), ("bql", Value::Boolean(bql))]);
            topology.insert("driver".to_owned(), Value::Table(driver));
        }
        topology
    }

    fn rates(&self) -> Table {
        let wire = || wire::options(&self.wire).into_iter().map(|(key, value)| (key.to_owned(), string(value)));
        let Some(up) = self.up else {
            let mut keys = table([("rate", string(self.down)), ("delays", string(self.rtt))]);
            keys.extend(wire());
            return keys;
        };
        let link = |name: &str, rate: BitRate| {
            let mut keys = table([("name", string(name)), ("rate", string(rate))]);
            keys.extend(wire());
            Value::Table(keys)
        };
        table([
            ("delays", string(self.rtt)),
            ("measured", string("down")),
            ("links", Value::Array(vec![link("down", self.down), link("up", up)])),
        ])
    }

    /// The keys that select the path of traffic, `down` or up; empty if only one direction has a queue.
    #[must_use]
    pub(super) fn path(&self, down: bool) -> Table {
        if self.up.is_none() {
            return Table::new();
        }
        let (there, back) = if down { ("down", "up") } else { ("up", "down") };
        let list = |name: &str| Value::Array(vec![string(name)]);
        table([("path", list(there)), ("reverse", list(back))])
    }
}

fn preset(name: &str) -> Result<&'static Preset, LabError> {
    match ALL.iter().find(|preset| preset.name == name) {
        Some(preset) => Ok(preset),
        None => wrong(format!("there is no preset {name:?}"), suggest(name, ALL.iter().map(|preset| preset.name))),
    }
}
