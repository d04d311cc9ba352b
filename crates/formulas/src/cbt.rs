//! Class-based thresholds: Parris 2001, chapters IV and VI.
//!
//! Thresholds and the resulting bandwidths are computed by the discipline's functions. Borrowing and the resulting
//! latency are predictions of the dissertation that the discipline does not compute; they are implemented here.

use std::collections::BTreeMap;

use aqmkit_aqm::disciplines::cbt as discipline;
use aqmkit_base::{BitRate, Bytes, Duration};

use super::{count, formula, rate, share, table, time};

type PerClass<T> = BTreeMap<String, T>;

table![
    Threshold,
    Latency,
    Bandwidth,
    Capacity,
    BandwidthRatio,
    ThresholdFrom,
    LatencyFrom,
    ThresholdShare,
    Share,
    OccupancyShare,
    ThresholdOccupancyShare,
    Excess,
    ExcessShare,
    Reallocation,
    Borrowed,
    Unused,
    LatencyUnused,
    PredictedLatency,
    SamplingDisparity,
];

fn bps(r: BitRate) -> f64 {
    r.as_bps() as f64
}

/// Size in bits of a number of packets.
fn bits(packets: f64, packet: Bytes) -> f64 {
    packets * packet.as_f64() * 8.0
}

fn of<T: Copy>(table: &PerClass<T>, class: &str, what: &str) -> Result<T, String> {
    table.get(class).copied().ok_or_else(|| {
        let known: Vec<_> = table.keys().map(String::as_str).collect();
        format!("{what} has no class {class:?}; it has {}", known.join(", "))
    })
}

/// For each class of `thresholds`, the bits that it may keep queued: `P Th`.
fn products(thresholds: &PerClass<f64>, packets: &PerClass<Bytes>) -> Result<PerClass<f64>, String> {
    thresholds.iter().map(|(c, th)| Ok((c.clone(), bits(*th, of(packets, c, "packets")?)))).collect()
}

fn total<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().sum()
}

fn sum(allocations: &PerClass<BitRate>) -> f64 {
    allocations.values().map(|b| bps(*b)).sum()
}

formula! {
    /// The threshold that limits a class to its bandwidth at this latency: `Th = B L / P`.
    "cbt-threshold", "Parris 2001, eqs 4.1, 4.9, 4.25, B.5",
    Threshold { bandwidth: BitRate, packet: Bytes, latency: Duration },
    |a| count(discipline::threshold(a.bandwidth, a.latency, a.packet))
}

formula! {
    /// The latency of a queue in which every class is at its threshold: `L = sum(P Th) / C`.
    "cbt-latency", "Parris 2001, eqs 4.2, 4.26, 6.1",
    Latency { thresholds: PerClass<f64>, packets: PerClass<Bytes>, capacity: BitRate },
    |a| time(total(products(&a.thresholds, &a.packets)?.values()) / bps(a.capacity))
}

formula! {
    /// The bandwidth of a class when every class is at its threshold: `B = P Th / sum(P Th) C`.
    "cbt-bandwidth", "Parris 2001, eqs 4.3, 6.2",
    Bandwidth { thresholds: PerClass<f64>, packets: PerClass<Bytes>, capacity: BitRate, class: String },
    |a| {
        let queued = products(&a.thresholds, &a.packets)?;
        let own = of(&queued, &a.class, "thresholds")?;
        rate(discipline::bandwidth(own / 8.0, total(queued.values()) / 8.0, a.capacity) * 8.0)
    }
}

formula! {
    /// Capacity as the sum of the allocations: `C = sum(B)`.
    "cbt-capacity", "Parris 2001, eq 4.4",
    Capacity { allocations: PerClass<BitRate> },
    |a| rate(sum(&a.allocations))
}

formula! {
    /// The ratio of two classes' bandwidths: `B_i / B_j = P_i Th_i / (P_j Th_j)`.
    "cbt-bandwidth-ratio", "Parris 2001, eq 4.5",
    BandwidthRatio { threshold: f64, packet: Bytes, other_threshold: f64, other_packet: Bytes },
    |a| share(bits(a.threshold, a.packet) / bits(a.other_threshold, a.other_packet))
}

formula! {
    /// A threshold derived from that of another class: `Th_i = B_i P_j Th_j / (B_j P_i)`.
    "cbt-threshold-from", "Parris 2001, eq 4.6",
    ThresholdFrom {
        bandwidth: BitRate, packet: Bytes, other_bandwidth: BitRate, other_packet: Bytes, other_threshold: f64,
    },
    |a| count(bps(a.bandwidth) * bits(a.other_threshold, a.other_packet) / (bps(a.other_bandwidth) * bits(1.0, a.packet)))
}

formula! {
    /// The latency from one class's threshold: `L = (sum over the others of B_i P_j Th_j / B_j, plus P_j Th_j) / C`.
    "cbt-latency-from", "Parris 2001, eq 4.7",
    LatencyFrom { allocations: PerClass<BitRate>, class: String, threshold: f64, packet: Bytes, capacity: BitRate },
    |a| {
        let own = bps(of(&a.allocations, &a.class, "allocations")?);
        let queued = bits(a.threshold, a.packet);
        time(((sum(&a.allocations) - own) * queued / own + queued) / bps(a.capacity))
    }
}

formula! {
    /// The threshold from the latency and the ratios of bandwidths: `Th_j = L C / (P_j sum(B_i / B_j))`.
    "cbt-threshold-share", "Parris 2001, eq 4.8",
    ThresholdShare {
        allocations: PerClass<BitRate>, class: String, packet: Bytes, latency: Duration, capacity: BitRate,
    },
    |a| {
        let own = bps(of(&a.allocations, &a.class, "allocations")?);
        count(a.latency.as_secs_f64() * bps(a.capacity) / (bits(1.0, a.packet) * sum(&a.allocations) / own))
    }
}

formula! {
    /// A class's share of the link: `s = B / sum(B)`.
    "cbt-share", "Parris 2001, eqs 4.10, 4.11",
    Share { allocations: PerClass<BitRate>, class: String },
    |a| share(bps(of(&a.allocations, &a.class, "allocations")?) / sum(&a.allocations))
}

formula! {
    /// A class's share of the link, computed from the queued bytes of all classes that are not idle.
    "cbt-occupancy-share", "Parris 2001, eq 4.10 and section IV 5.2",
    OccupancyShare { occupancies: PerClass<Bytes>, class: String, idle: Vec<String> = Vec::new() },
    |a| {
        let busy = a.occupancies.iter().filter(|(c, _)| !a.idle.contains(c));
        share(of(&a.occupancies, &a.class, "occupancies")?.as_f64() / busy.map(|(_, b)| b.as_f64()).sum::<f64>())
    }
}

formula! {
    /// A class's share of the link from the thresholds: `s = P Th / sum(P Th)`.
    "cbt-threshold-occupancy-share", "Parris 2001, eq 4.10 and section V 2.1.2",
    ThresholdOccupancyShare { thresholds: PerClass<f64>, packets: PerClass<Bytes>, class: String },
    |a| {
        let queued = products(&a.thresholds, &a.packets)?;
        let own = of(&queued, &a.class, "thresholds")?;
        share(discipline::bandwidth(own, total(queued.values()), BitRate::from_bps(8)))
    }
}

/// State of a reallocation: bandwidths and loads by class.
struct Sharing<'a> {
    allocated: &'a PerClass<BitRate>,
    loads: PerClass<f64>,
    now: PerClass<f64>,
}

impl<'a> Sharing<'a> {
    fn new(allocated: &'a PerClass<BitRate>, loads: &PerClass<BitRate>) -> Result<Self, String> {
        let load = |c: &String| of(loads, c, "loads").map(|l| (c.clone(), bps(l)));
        Ok(Sharing {
            allocated,
            loads: allocated.keys().map(load).collect::<Result<_, _>>()?,
            now: allocated.iter().map(|(c, b)| (c.clone(), bps(*b))).collect(),
        })
    }

    /// Equation 4.12: the class's unused allocation.
    fn excess(&self, class: &str) -> f64 {
        let has = self.now.get(class).copied().unwrap_or(0.0);
        (has - self.loads.get(class).copied().unwrap_or(0.0)).max(0.0)
    }

    /// Equation 4.14: the unused allocation of all classes.
    fn total_excess(&self) -> f64 {
        self.now.keys().map(|c| self.excess(c)).sum()
    }

    /// Equation 4.15: the class's share of the excess; 0 if its load is satisfied.
    fn part(&self, class: &str) -> f64 {
        let wanting = |c: &str| self.now.get(c) < self.loads.get(c);
        let all: f64 = self.allocated.iter().filter(|(c, _)| wanting(c)).map(|(_, b)| bps(*b)).sum();
        let own = self.allocated.get(class).map_or(0.0, |b| bps(*b));
        if wanting(class) && all > 0.0 { own / all } else { 0.0 }
    }

    /// One iteration of equation 4.17: classes allocated more than their load give up the surplus, and the others share
    /// it in proportion to their allocations. As in Table 4.7, a class that thereby exceeds its load gives up the
    /// surplus in the *next* iteration; the `min()` printed in the equation would lose it.
    fn step(&mut self) {
        let shared = self.total_excess();
        let next = self.now.iter().map(|(c, b)| (c.clone(), b - self.excess(c) + self.part(c) * shared));
        self.now = next.collect();
    }

    /// Performs `iteration` steps, or by default as many as there are classes: after that nothing changes (4.18).
    fn after(mut self, iteration: Option<usize>) -> Self {
        for _ in 0..iteration.unwrap_or(self.now.len()).min(10_000) {
            self.step();
        }
        self
    }
}

formula! {
    /// The unused allocation of a class, or of all: `E = max(B' - Load, 0)`.
    "cbt-excess", "Parris 2001, eqs 4.12, 4.14",
    Excess {
        allocations: PerClass<BitRate>, loads: PerClass<BitRate>, class: Option<String> = None,
        iteration: usize = 0,
    },
    |a| {
        let state = Sharing::new(&a.allocations, &a.loads)?.after(Some(a.iteration));
        match &a.class {
            None => rate(state.total_excess()),
            Some(c) => of(&state.now, c, "allocations").and_then(|_| rate(state.excess(c))),
        }
    }
}

formula! {
    /// A class's share of the excess: its allocation over those of all classes below their load.
    "cbt-excess-share", "Parris 2001, eq 4.15",
    ExcessShare { allocations: PerClass<BitRate>, loads: PerClass<BitRate>, class: String },
    |a| {
        let state = Sharing::new(&a.allocations, &a.loads)?;
        of(&state.now, &a.class, "allocations")?;
        share(state.part(&a.class))
    }
}

formula! {
    /// The bandwidth of a class after the excess of others has been redistributed, `B'`.
    "cbt-reallocation", "Parris 2001, eqs 4.13, 4.16 to 4.18",
    Reallocation {
        allocations: PerClass<BitRate>, loads: PerClass<BitRate>, class: String, iteration: Option<usize> = None,
    },
    |a| {
        let state = Sharing::new(&a.allocations, &a.loads)?.after(a.iteration);
        of(&state.now, &a.class, "allocations").and_then(rate)
    }
}

formula! {
    /// Bandwidth that a class borrows beyond its allocation: `B' - B`.
    "cbt-borrowed", "Parris 2001, sections IV 3.1.2 and 5.2.2",
    Borrowed { allocations: PerClass<BitRate>, loads: PerClass<BitRate>, class: String },
    |a| {
        let state = Sharing::new(&a.allocations, &a.loads)?.after(None);
        rate(of(&state.now, &a.class, "allocations")? - bps(of(&a.allocations, &a.class, "allocations")?))
    }
}

formula! {
    /// The transmission time of the unused part of a class's threshold: `(Th - q_avg) P / C`.
    "cbt-unused", "Parris 2001, eqs 4.22, 4.23",
    Unused { threshold: f64, average: f64, packet: Bytes, capacity: BitRate },
    |a| time(bits(a.threshold - a.average, a.packet) / bps(a.capacity))
}

formula! {
    /// The latency when classes do not fill their thresholds: `L' = L - sum((Th - q_avg) P) / C`.
    "cbt-latency-unused", "Parris 2001, eq 4.24",
    LatencyUnused {
        thresholds: PerClass<f64>, averages: PerClass<f64>, packets: PerClass<Bytes>, latency: Duration, capacity: BitRate,
    },
    |a| {
        let mut unused = 0.0;
        for (class, threshold) in &a.thresholds {
            unused += bits(threshold - of(&a.averages, class, "averages")?, of(&a.packets, class, "packets")?);
        }
        time(a.latency.as_secs_f64() - unused / bps(a.capacity))
    }
}

formula! {
    /// Latency of a class with more load than bandwidth, from its bandwidth: `L' = Th P / B'`.
    "cbt-predicted-latency", "Parris 2001, eq 4.27",
    PredictedLatency { threshold: f64, packet: Bytes, bandwidth: BitRate },
    |a| time(bits(a.threshold, a.packet) / bps(a.bandwidth))
}

formula! {
    /// How much less an old sample counts in the average of a class that is sampled more often: the exponent of `1 -
    /// w`.
    "sampling-disparity", "Parris 2001, section VI 5.1.1",
    SamplingDisparity { fast: f64, slow: f64, time: Duration },
    |a| count((a.fast - a.slow) * a.time.as_secs_f64())
}
