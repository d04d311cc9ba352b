//! The maps of a program: its settings and its counters.

use std::collections::BTreeMap;
use std::io;

use aqmkit_aqm::Why;
use aqmkit_base::{BitRate, Duration};
use aqmkit_kernel::Classifier;
use aya::Ebpf;
use aya::maps::{Map, MapData};
use aya::programs::loaded_programs;
use serde::Serialize;
use std::os::fd::AsFd;

use crate::bpf::{look_up, update};

/// Bytes that a program holds for [`super::About`]: as in `crates/kernel/bpf/classifier.bpf.c`.
pub(super) const ABOUT: usize = 4096;
/// 64-bit words of its statistics: counters, marks and drops for each reason, gauges.
const WORDS: usize = FIRST_REASON + 2 * Why::COUNT + GAUGES;
/// The first word of the marks.
const FIRST_REASON: usize = 6;
const GAUGES: usize = aqmkit_kernel::GAUGES;

/// The counters of a program since it was installed, and the state of its law.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Packets that came.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that were let through without a mark.
    pub passed: u64,
    /// Packets that waited behind when the last one came.
    pub waiting_packets: u64,
    /// Bytes that waited then.
    pub waiting_bytes: u64,
    /// The bytes that packets found waiting which were not dropped, summed over these packets.
    pub found_bytes: u64,
    /// Marks, by reason.
    pub marks: BTreeMap<&'static str, u64>,
    /// Drops, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// The law's inner state: averages, probabilities, sizes of tables.
    pub gauges: BTreeMap<&'static str, f64>,
}

impl Statistics {
    /// Packets that were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }

    /// How long packets waited on average that were not dropped: what they found waiting, over the rate of the shaper. Nothing
    /// before the first packet.
    #[must_use]
    pub fn mean_wait(&self, rate: BitRate) -> Option<Duration> {
        let admitted = self.packets.saturating_sub(self.dropped());
        let bytes = self.found_bytes as f64 / admitted as f64;
        (admitted > 0).then(|| Duration::from_secs_f64(bytes / rate.bytes_per_sec()))
    }
}

/// The maps of a program.
#[derive(Debug)]
pub(super) struct Maps {
    settings: MapData,
    active: MapData,
    statistics: MapData,
    about: MapData,
    decisions: Option<MapData>,
}

pub(super) fn lacking(name: &str) -> io::Error {
    io::Error::other(format!("the program has no map {name}"))
}

impl Maps {
    /// Those of an object that was loaded just now.
    pub(super) fn of(loaded: &mut Ebpf) -> io::Result<Maps> {
        let mut take = |name: &str| match loaded.take_map(name) {
            Some(Map::Array(data)) => Ok(data),
            _ => Err(lacking(name)),
        };
        Ok(Maps {
            settings: take("settings")?,
            active: take("active")?,
            statistics: take("statistics")?,
            about: take("about")?,
            decisions: match loaded.take_map("decisions") {
                Some(Map::RingBuf(data)) => Some(data),
                _ => None,
            },
        })
    }

    /// Takes out where the decisions are written.
    pub(super) fn take_decisions(&mut self) -> io::Result<MapData> {
        self.decisions.take().ok_or_else(|| lacking("decisions"))
    }

    /// Those of a program in the kernel.
    pub(super) fn of_program(id: u32) -> io::Result<Maps> {
        let program = loaded_programs().filter_map(Result::ok).find(|p| p.id() == id);
        let gone = || io::Error::other("the program is gone");
        let ids = program.ok_or_else(gone)?.map_ids().map_err(io::Error::other)?.ok_or_else(gone)?;
        let mut maps = BTreeMap::new();
        for map_id in ids {
            let map = MapData::from_id(map_id).map_err(io::Error::other)?;
            let name = map.info().map_err(io::Error::other)?.name_as_str().unwrap_or_default().to_owned();
            maps.insert(name, map);
        }
        let mut take = |name: &str| maps.remove(name).ok_or_else(|| lacking(name));
        Ok(Maps {
            settings: take("settings")?,
            active: take("active")?,
            statistics: take("statistics")?,
            about: take("about")?,
            decisions: None,
        })
    }

    /// Makes settings effective: they are written to the unused one of two entries, and then the program is switched to it.
    pub(super) fn write_settings(&self, words: &[u64]) -> io::Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut active = [0; 8];
        look_up(self.active.fd().as_fd(), 0, &mut active)?;
        let other = u64::from_ne_bytes(active) + 1;
        update(self.settings.fd().as_fd(), &((other & 1) as u32).to_ne_bytes(), &bytes)?;
        update(self.active.fd().as_fd(), &[0; 4], &other.to_ne_bytes())
    }

    /// Writes the record of the installation.
    pub(super) fn write_about(&self, text: &[u8]) -> io::Result<()> {
        update(self.about.fd().as_fd(), &[0; 4], text)
    }

    /// The record of the installation.
    pub(super) fn about(&self) -> io::Result<Vec<u8>> {
        let mut text = vec![0; ABOUT];
        look_up(self.about.fd().as_fd(), 0, &mut text)?;
        text.truncate(text.iter().position(|b| *b == 0).unwrap_or(ABOUT));
        Ok(text)
    }

    /// Counters, and gauges under their names.
    pub(super) fn statistics(&self, classifier: Option<&Classifier>) -> io::Result<Statistics> {
        let mut bytes = [0; 8 * WORDS];
        look_up(self.statistics.fd().as_fd(), 0, &mut bytes)?;
        let word = |i: usize| bytes.get(8 * i..8 * i + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes);
        let by_reason = |from: usize| {
            let all = Why::ALL.iter().enumerate().map(|(i, why)| (why.name(), word(from + i)));
            all.filter(|(_, n)| *n > 0).collect()
        };
        let first_gauge = FIRST_REASON + 2 * Why::COUNT;
        Ok(Statistics {
            packets: word(0),
            bytes: word(1),
            passed: word(2),
            waiting_packets: word(3),
            waiting_bytes: word(4),
            found_bytes: word(5),
            marks: by_reason(FIRST_REASON),
            drops: by_reason(FIRST_REASON + Why::COUNT),
            gauges: classifier
                .map(|c| c.read_gauges(std::array::from_fn(|i| word(first_gauge + i))).collect())
                .unwrap_or_default(),
        })
    }
}
