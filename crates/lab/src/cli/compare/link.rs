//! The link of a comparison: from the arguments, a preset, or the defaults.

use aqmkit_base::near::suggest;
use aqmkit_base::{BitRate, Bytes, Duration, Framing, LinkLayer, Overhead};
use toml::{Table, Value};

use super::text::{string, table};
use crate::cli::args::Compare;
use crate::cli::fail::{Failure, wrong};

/// A typical link of a kind of access. The rates are those of common products, the round-trip times those to servers in
/// the same region; none is a measurement.
struct Preset {
    name: &'static str,
    down: BitRate,
    up: BitRate,
    rtt: Duration,
}

const PRESETS: [Preset; 6] = [
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
        name: "datacentre",
        down: BitRate::from_mbps(10_000),
        up: BitRate::from_mbps(10_000),
        rtt: Duration::from_micros(100),
    },
];

/// The link of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The rate of the compared direction.
    pub(super) down: BitRate,
    /// The rate of the other direction, if that has a queue.
    pub(super) up: Option<BitRate>,
    /// The round-trip time without queueing.
    pub(super) rtt: Duration,
    /// The framing of both directions.
    pub(super) framing: Framing,
}

impl Link {
    /// The link of these arguments. Options take precedence over the preset; the defaults are 10 Mbit/s in one
    /// direction and 50 ms.
    ///
    /// # Errors
    /// When there is no such preset.
    pub(super) fn of(args: &Compare) -> Result<Link, Failure> {
        let preset = args.preset.as_deref().map(preset).transpose()?;
        Ok(Link {
            down: args.rate.or(preset.map(|p| p.down)).unwrap_or(BitRate::from_mbps(10)),
            up: args.up.or(preset.map(|p| p.up)),
            rtt: args.rtt.or(preset.map(|p| p.rtt)).unwrap_or(Duration::from_millis(50)),
            framing: args.framing.framing(),
        })
    }

    /// The rates in words: `10mbit`, `50mbit down and 10mbit up`.
    #[must_use]
    pub(super) fn words(&self) -> String {
        match self.up {
            None => self.down.to_string(),
            Some(up) => format!("{} down and {up} up", self.down),
        }
    }

    /// The table `[topology]`. If there are two directions, both have the swept discipline, and the compared one is
    /// measured.
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
        topology
    }

    fn rates(&self) -> Table {
        let Some(up) = self.up else {
            return table([("rate", string(self.down)), ("delays", string(self.rtt))]);
        };
        let link = |name: &str, rate: BitRate| Value::Table(table([("name", string(name)), ("rate", string(rate))]));
        table([
            ("delays", string(self.rtt)),
            ("measured", string("down")),
            ("links", Value::Array(vec![link("down", self.down), link("up", up)])),
        ])
    }

    /// The keys that select the path of traffic `down` or up; empty if there is one direction.
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

fn preset(name: &str) -> Result<&'static Preset, Failure> {
    match PRESETS.iter().find(|preset| preset.name == name) {
        Some(preset) => Ok(preset),
        None => wrong(format!("there is no preset {name:?}"), suggest(name, PRESETS.iter().map(|preset| preset.name))),
    }
}
