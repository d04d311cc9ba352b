//! A program's maps: settings, counters, record of the installation.

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

/// Size of the `about` map in bytes, which holds [`super::About`]: as in `crates/kernel/bpf/classifier.bpf.c`.
pub(super) const ABOUT: usize = 4096;
/// 64-bit words of `struct statistics`: counters, marks and drops by reason, gauges.
const WORDS: usize = FIRST_REASON + 2 * Why::COUNT + GAUGES;
/// Index of the first mark counter.
const FIRST_REASON: usize = 7;
const GAUGES: usize = aqmkit_kernel::GAUGES;

/// A program's counters since installation, and its law's gauges.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Packets passed unmarked.
    pub passed: u64,
    /// Queue length in packets, as seen by the last arrival.
    pub waiting_packets: u64,
    /// Queue length in bytes, as seen by the last arrival.
    pub waiting_bytes: u64,
    /// Mean sojourn time in seconds of packets not dropped: with aqmkit's qdisc, of departed packets; with a stock
    /// qdisc, the backlog on arrival over the rate at that time. `None` before the first packet.
    pub mean_wait_s: Option<f64>,
    /// Packets passed without a decision, because another CPU held the lock for some 100 microseconds.
    pub undecided: u64,
    /// Marks, by reason.
    pub marks: BTreeMap<&'static str, u64>,
    /// Drops, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// The law's state: averages, probabilities, table sizes.
    pub gauges: BTreeMap<&'static str, f64>,
}

impl Statistics {
    /// Packets dropped, for any reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }

    /// [`Statistics::mean_wait_s`] as a duration.
    #[must_use]
    pub fn mean_wait(&self) -> Option<Duration> {
        self.mean_wait_s.map(Duration::from_secs_f64)
    }
}

/// 64-bit words of `struct queue` (`crates/kernel/bpf/queue.h`), and the indices of those read here.
const QUEUE_WORDS: usize = 12 + GAUGES;
const WAITING_PACKETS: usize = 0;
const WAITING_BYTES: usize = 1;
const LEFT: usize = 6;
const WAITED: usize = 7;
const OVERFLOWED: usize = 8;
const DROPPED_AT_HEAD: usize = 11;

/// File descriptors of a program's maps.
#[derive(Debug)]
pub(super) struct Maps {
    pub(super) settings: MapData,
    pub(super) active: MapData,
    statistics: MapData,
    about: MapData,
    /// State and rate of aqmkit's qdisc behind the classifier; unused with a stock qdisc.
    pub(super) queue: MapData,
    pub(super) pace: MapData,
    decisions: Option<MapData>,
}

pub(super) fn lacking(name: &str) -> io::Error {
    io::Error::other(format!("the program has no map {name}"))
}

impl Maps {
    /// The maps of a freshly loaded object.
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
            queue: take("queue")?,
            pace: take("pace")?,
            decisions: match loaded.take_map("decisions") {
                Some(Map::RingBuf(data)) => Some(data),
                _ => None,
            },
        })
    }

    /// Takes the map of the decision log.
    pub(super) fn take_decisions(&mut self) -> io::Result<MapData> {
        self.decisions.take().ok_or_else(|| lacking("decisions"))
    }

    /// The maps of an already loaded program.
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
            queue: take("queue")?,
            pace: take("pace")?,
            decisions: None,
        })
    }

    /// Activates new settings: writes the inactive one of two entries, then switches the program to it, so that no
    /// packet sees half of them.
    pub(super) fn write_settings(&self, words: &[u64]) -> io::Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut active = [0; 8];
        look_up(self.active.fd().as_fd(), 0, &mut active)?;
        let other = u64::from_ne_bytes(active) + 1;
        update(self.settings.fd().as_fd(), &((other & 1) as u32).to_ne_bytes(), &bytes)?;
        update(self.active.fd().as_fd(), &[0; 4], &other.to_ne_bytes())
    }

    /// Sets the rate of aqmkit's qdisc.
    pub(super) fn write_rate(&self, rate: BitRate) -> io::Result<()> {
        // Nanoseconds per byte, shifted by `SHIFT` of `crates/kernel/bpf/queue.h`; fits even at 1 bit/s.
        let nanoseconds = 1e9 / rate.bytes_per_sec() * f64::from(1 << 20);
        update(self.pace.fd().as_fd(), &[0; 4], &(nanoseconds.round() as u64).to_ne_bytes())
    }

    /// Writes the installation record.
    pub(super) fn write_about(&self, text: &[u8]) -> io::Result<()> {
        update(self.about.fd().as_fd(), &[0; 4], text)
    }

    /// Reads the installation record.
    pub(super) fn about(&self) -> io::Result<Vec<u8>> {
        let mut text = vec![0; ABOUT];
        look_up(self.about.fd().as_fd(), 0, &mut text)?;
        text.truncate(text.iter().position(|b| *b == 0).unwrap_or(ABOUT));
        Ok(text)
    }

    /// Counters and gauges, including those of aqmkit's qdisc if it is installed.
    pub(super) fn statistics(&self, classifier: Option<&Classifier>, queued: bool) -> io::Result<Statistics> {
        let mut counted = self.decided(classifier)?;
        if queued {
            let queue = words::<QUEUE_WORDS>(&self.queue)?;
            (counted.waiting_packets, counted.waiting_bytes) = (queue[WAITING_PACKETS], queue[WAITING_BYTES]);
            counted.mean_wait_s = mean(queue[WAITED], queue[LEFT]);
            if queue[OVERFLOWED] > 0 {
                *counted.drops.entry(Why::Overflow.name()).or_default() += queue[OVERFLOWED];
            }
            if queue[DROPPED_AT_HEAD] > 0 {
                *counted.drops.entry(Why::Sojourn.name()).or_default() += queue[DROPPED_AT_HEAD];
            }
            // The classifier has counted them as passed.
            counted.passed = counted.passed.saturating_sub(queue[OVERFLOWED] + queue[DROPPED_AT_HEAD]);
        }
        Ok(counted)
    }

    /// The classifier's counters.
    fn decided(&self, classifier: Option<&Classifier>) -> io::Result<Statistics> {
        let all = words::<WORDS>(&self.statistics)?;
        let by_reason = |from: usize| -> BTreeMap<&'static str, u64> {
            let names = Why::ALL.iter().map(|why| why.name());
            names.zip(all[from..].iter().copied()).filter(|(_, n)| *n > 0).collect()
        };
        let drops = by_reason(FIRST_REASON + Why::COUNT);
        let admitted = all[0].saturating_sub(drops.values().sum());
        let gauges: [u64; GAUGES] = std::array::from_fn(|i| all[FIRST_REASON + 2 * Why::COUNT + i]);
        Ok(Statistics {
            packets: all[0],
            bytes: all[1],
            passed: all[2],
            waiting_packets: all[3],
            waiting_bytes: all[4],
            mean_wait_s: mean(all[5], admitted),
            undecided: all[6],
            marks: by_reason(FIRST_REASON),
            drops,
            gauges: classifier.map(|c| c.read_gauges(gauges).collect()).unwrap_or_default(),
        })
    }
}

/// The only element of an array map, as 64-bit words.
fn words<const COUNT: usize>(map: &MapData) -> io::Result<[u64; COUNT]> {
    let mut bytes = vec![0; 8 * COUNT];
    look_up(map.fd().as_fd(), 0, &mut bytes)?;
    let mut all = [0; COUNT];
    all.iter_mut().zip(bytes.as_chunks::<8>().0).for_each(|(to, word)| *to = u64::from_ne_bytes(*word));
    Ok(all)
}

/// A mean of nanoseconds in seconds; `None` for no samples.
fn mean(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64 * 1e-9)
}
