//! One queue as the rules see it: counters of the time that the sample spans, and what limits its rate.

use aqmkit_base::{BitRate, Duration};
use aqmkit_tc::{Class, Counters, Listing, Parent, Qdisc, Tin};

use super::{Known, Sample};

/// Bytes of a full-sized Ethernet packet without its check sum, as the kernel counts it.
pub(crate) const PACKET: u64 = 1514;

/// What limits the rate at which a queue sends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shaper {
    /// The device alone, as far as `tc` shows.
    Device,
    /// A shaper, and how often it held a packet back.
    Shaped { by: String, rate: BitRate, held: u64 },
}

/// A discipline with the numbers of the sample.
pub(crate) struct Queue<'a> {
    pub(crate) qdisc: &'a Qdisc,
    /// Differences since the earlier sample; backlogs are those of the later one.
    pub(crate) counters: Counters,
    /// The tins of CAKE, with counts since the earlier sample.
    pub(crate) tins: Vec<Tin>,
    earlier: Option<&'a Qdisc>,
    /// Time between the samples.
    pub(crate) seconds: Option<f64>,
    pub(crate) shaper: Shaper,
    pub(crate) known: &'a Known,
    /// `dev eth0`, or nothing where the listing has no device.
    pub(crate) dev: String,
}

impl<'a> Queue<'a> {
    /// `None` for a discipline without statistics.
    pub(crate) fn new(qdisc: &'a Qdisc, sample: Sample<'a>, known: &'a Known) -> Option<Queue<'a>> {
        let now = qdisc.counters?;
        let same = |other: &&Qdisc| {
            other.handle == qdisc.handle && other.device == qdisc.device && other.parent == qdisc.parent
        };
        let before = sample.earlier.and_then(|(listing, time)| Some((listing.qdiscs.iter().find(same)?, time)));
        let counters = before.and_then(|(earlier, _)| earlier.counters).map_or(now, |earlier| difference(now, earlier));
        Some(Queue {
            qdisc,
            counters,
            tins: tins(qdisc, before.map(|(earlier, _)| earlier)),
            earlier: before.map(|(earlier, _)| earlier),
            seconds: before.map(|(_, time)| time.as_secs_f64()).filter(|seconds| *seconds > 0.0),
            shaper: shaper(qdisc, sample),
            known,
            dev: qdisc.device.as_ref().map(|device| format!("dev {device} ")).unwrap_or_default(),
        })
    }

    /// A statistic of the discipline that counts up, since the earlier sample.
    pub(crate) fn counted(&self, name: &str) -> u64 {
        let earlier = self.earlier.map_or(0.0, |qdisc| qdisc.detail(name));
        (self.qdisc.detail(name) - earlier).max(0.0) as u64
    }

    /// A counter that `tc` prints among the options, since the earlier sample.
    pub(crate) fn counted_option(&self, name: &str) -> u64 {
        let count = |qdisc: &Qdisc| qdisc.count(name).unwrap_or(0);
        count(self.qdisc).saturating_sub(self.earlier.map_or(0, count))
    }

    /// Packets marked, by the discipline or by all tins.
    pub(crate) fn marked(&self) -> u64 {
        self.counted("ecn_mark") + self.counted("marked") + self.tins.iter().map(|tin| tin.marks).sum::<u64>()
    }

    /// Packets that arrived.
    pub(crate) fn arrived(&self) -> u64 {
        self.counters.packets + self.counters.dropped
    }

    /// A number of packets as a share of those that arrived.
    pub(crate) fn share(&self, packets: u64) -> f64 {
        if self.arrived() == 0 { 0.0 } else { packets as f64 / self.arrived() as f64 }
    }

    /// The rate of the bottleneck: the shaper's, or else what the user knows.
    pub(crate) fn rate(&self) -> Option<BitRate> {
        match &self.shaper {
            Shaper::Shaped { rate, .. } => Some(*rate),
            Shaper::Device => self.known.rate,
        }
    }

    /// The mean rate between two samples.
    pub(crate) fn throughput(&self) -> Option<BitRate> {
        self.seconds.map(|seconds| BitRate::from_bytes_per_sec(self.counters.bytes as f64 / seconds))
    }

    /// The time that a full-sized packet takes at the bottleneck's rate.
    pub(crate) fn packet_time(&self) -> Option<Duration> {
        self.rate().filter(|rate| rate.as_bps() > 0).map(|rate| rate.time_to_send(aqmkit_base::Bytes(PACKET)))
    }

    /// Enough packets for a conclusion from the absence of drops.
    pub(crate) fn busy(&self) -> bool {
        self.arrived() >= 10_000
    }

    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.qdisc.kind, self.qdisc.handle)
    }
}

fn difference(now: Counters, earlier: Counters) -> Counters {
    Counters {
        bytes: now.bytes.saturating_sub(earlier.bytes),
        packets: now.packets.saturating_sub(earlier.packets),
        dropped: now.dropped.saturating_sub(earlier.dropped),
        overlimits: now.overlimits.saturating_sub(earlier.overlimits),
        requeues: now.requeues.saturating_sub(earlier.requeues),
        ..now
    }
}

/// The tins with the counts since an earlier sample; delays and flows are those of the later one.
fn tins(qdisc: &Qdisc, earlier: Option<&Qdisc>) -> Vec<Tin> {
    let before = earlier.map(|earlier| earlier.tins.as_slice()).unwrap_or_default();
    let since = |tin: &Tin| match before.iter().find(|other| other.name == tin.name) {
        Some(before) => Tin {
            packets: tin.packets.saturating_sub(before.packets),
            bytes: tin.bytes.saturating_sub(before.bytes),
            drops: tin.drops.saturating_sub(before.drops),
            marks: tin.marks.saturating_sub(before.marks),
            ack_drops: tin.ack_drops.saturating_sub(before.ack_drops),
            ..tin.clone()
        },
        None => tin.clone(),
    };
    qdisc.tins.iter().map(since).collect()
}

/// The shaper of `qdisc`: CAKE's own, or the tbf or class of HTB or HFSC above it. Packets held back count since the earlier sample.
fn shaper(qdisc: &Qdisc, sample: Sample<'_>) -> Shaper {
    let now = shaper_in(qdisc, sample.now);
    let before = sample.earlier.map(|(listing, _)| shaper_in(qdisc, listing));
    match (now, before) {
        (Shaper::Shaped { by, rate, held }, Some(Shaper::Shaped { held: before, .. })) => {
            Shaper::Shaped { by, rate, held: held.saturating_sub(before) }
        }
        (now, _) => now,
    }
}

fn shaper_in(qdisc: &Qdisc, listing: &Listing) -> Shaper {
    let held = |counters: Option<Counters>| counters.map_or(0, |counters| counters.overlimits);
    let own = match qdisc.kind.as_str() {
        "cake" => qdisc.rate("bandwidth"),
        "tbf" => qdisc.rate("rate"),
        _ => None,
    };
    if let Some(rate) = own {
        let same = |other: &&Qdisc| other.handle == qdisc.handle && other.device == qdisc.device;
        let counters = listing.qdiscs.iter().find(same).and_then(|same| same.counters);
        return Shaper::Shaped { by: qdisc.kind.clone(), rate, held: held(counters) };
    }
    let Parent::Class(parent) = &qdisc.parent else { return Shaper::Device };
    let class = |class: &&Class| class.id == *parent;
    if let Some((class, rate)) = listing.classes.iter().find(class).and_then(|class| Some((class, class.rate("ceil")?)))
    {
        return Shaper::Shaped {
            by: format!("class {} of {}", class.id, class.kind),
            rate,
            held: held(class.counters),
        };
    }
    let major = parent.split_once(':').map(|(major, _)| format!("{major}:"));
    let above =
        listing.qdiscs.iter().find(|other| Some(&other.handle) == major.as_ref() && other.device == qdisc.device);
    match above {
        Some(tbf) if tbf.kind == "tbf" => match tbf.rate("rate") {
            Some(rate) => Shaper::Shaped { by: format!("tbf {}", tbf.handle), rate, held: held(tbf.counters) },
            None => Shaper::Device,
        },
        _ => Shaper::Device,
    }
}
