//! The customers of an operator: what each leaf of a tree asked for, what it got, and how long its packets waited.
//!
//! A tree has thousands of them, so each has a small histogram of its delays, and results have sums: how many suffer, where they are, and a map of all
//! by load and delay.

use aqmkit_aqm::discipline::Circuit;
use aqmkit_base::{Duration, Instant};

use crate::arithmetic::{bits_per_s, share};
use crate::output::{AboveCircuits, CircuitCell, CircuitRecord, CircuitStats, Spread};

/// Steps of a histogram of delays for each doubling.
const STEPS: u32 = 8;
/// The first step ends at 2^16 ns, 66 us.
const FIRST: u32 = 16;
/// The last begins at 2^34 ns, 17 s.
const BUCKETS: usize = ((34 - FIRST) * STEPS) as usize + 2;

/// The customers at one link.
#[derive(Clone, Debug)]
pub struct Circuits {
    /// The link, in the order of the plan.
    pub link: usize,
    name: String,
    circuits: Vec<Circuit>,
    /// The circuit of each client.
    of_client: Vec<Option<u32>>,
    state: Vec<State>,
    /// By window: the counters at its start, while it is open, and then its results.
    opened: Vec<Option<(Instant, Vec<State>)>>,
    closed: Vec<Option<CircuitStats>>,
}

/// One circuit so far.
#[derive(Clone, Debug)]
struct State {
    offered_bytes: u64,
    sent_packets: u64,
    drops: u64,
    /// Packets that wait, and since when some do.
    waiting: u32,
    since: Instant,
    /// How long some waited, and the bytes of those that did.
    waited: Duration,
    waited_bytes: u64,
    delays: [u32; BUCKETS],
}

impl State {
    fn new() -> Self {
        State {
            offered_bytes: 0,
            sent_packets: 0,
            drops: 0,
            waiting: 0,
            since: Instant::ZERO,
            waited: Duration::ZERO,
            waited_bytes: 0,
            delays: [0; BUCKETS],
        }
    }

    fn left(&mut self, now: Instant) {
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 {
            self.waited += now.since(self.since);
        }
    }

    /// The counters from `earlier` to `now`.
    fn since(&self, earlier: &State, began: Instant, now: Instant) -> Counted {
        // Time of waiting that goes on at an edge counts with the part inside.
        let until = |state: &State, at: Instant| match state.waiting {
            0 => state.waited,
            _ => state.waited + at.since(state.since),
        };
        let delays: Vec<u32> = self.delays.iter().zip(&earlier.delays).map(|(after, before)| after - before).collect();
        Counted {
            offered_bytes: self.offered_bytes - earlier.offered_bytes,
            packets: self.sent_packets - earlier.sent_packets,
            drops: self.drops - earlier.drops,
            waited: until(self, now) - until(earlier, began),
            waited_bytes: self.waited_bytes - earlier.waited_bytes,
            p99_ms: percentile(&delays, 0.99),
            p50_ms: percentile(&delays, 0.5),
        }
    }
}

/// One circuit in one window.
struct Counted {
    offered_bytes: u64,
    packets: u64,
    drops: u64,
    waited: Duration,
    waited_bytes: u64,
    p99_ms: f64,
    p50_ms: f64,
}

fn bucket(waited: Duration) -> usize {
    let ns = waited.as_nanos();
    let Some(octave) = (63 - (ns | 1).leading_zeros()).checked_sub(FIRST) else { return 0 };
    let step = ns >> (octave + FIRST - STEPS.trailing_zeros()) & u64::from(STEPS - 1);
    (1 + (octave * STEPS) as usize + step as usize).min(BUCKETS - 1)
}

/// The longest delay of a bucket.
fn upper_ms(bucket: usize) -> f64 {
    let steps = bucket as f64;
    let octave = libm::floor(steps / f64::from(STEPS));
    let within = steps - octave * f64::from(STEPS);
    libm::exp2(f64::from(FIRST) + octave) * (1.0 + within / f64::from(STEPS)) / 1e6
}

/// The delay below which this share of the packets waited, to an eighth of an octave above; zero without packets.
fn percentile(delays: &[u32], of: f64) -> f64 {
    let total: u64 = delays.iter().map(|n| u64::from(*n)).sum();
    let mut left = (total as f64 * of).ceil() as u64;
    if left == 0 {
        return 0.0;
    }
    for (bucket, n) in delays.iter().enumerate() {
        left = left.saturating_sub((*n).into());
        if left == 0 {
            return upper_ms(bucket);
        }
    }
    upper_ms(delays.len())
}

/// A circuit with a 99th percentile of its delay above this suffers: with 50 ms of a path it is the 150 ms one way up to which ITU-T G.114 finds that
/// most applications are not affected.
pub const LATE_MS: f64 = 100.0;

/// A circuit that got less than this share of its plan while its packets waited suffers (chosen).
pub const SHORT: f64 = 0.5;

/// A circuit with fewer packets in a window is not judged.
pub const FEWEST_PACKETS: u64 = 100;

/// A share of its plan is told of a circuit whose packets waited for this share of the window at least; a short wait says little of a rate.
const LEAST_WAIT: f64 = 0.01;

/// Circuits and places that are listed by name.
const LISTED: usize = 10;

impl Circuits {
    /// The circuits of a link, if it has some; with this number of windows.
    #[must_use]
    pub fn new(link: usize, name: &str, circuits: Vec<Circuit>, windows: usize) -> Option<Self> {
        let clients = circuits.iter().flat_map(|circuit| &circuit.clients).max()?;
        let mut of_client = vec![None; *clients as usize + 1];
        for (i, circuit) in circuits.iter().enumerate() {
            circuit.clients.iter().for_each(|client| of_client[*client as usize] = Some(i as u32));
        }
        Some(Circuits {
            link,
            name: name.to_owned(),
            state: vec![State::new(); circuits.len()],
            circuits,
            of_client,
            opened: vec![None; windows],
            closed: vec![None; windows],
        })
    }

    fn of(&mut self, client: u32) -> Option<&mut State> {
        let circuit = (*self.of_client.get(client as usize)?)?;
        self.state.get_mut(circuit as usize)
    }

    /// A packet of this client was offered to the queue.
    pub fn offered(&mut self, client: u32, len: u32, now: Instant) {
        let Some(state) = self.of(client) else { return };
        state.offered_bytes += u64::from(len);
        if state.waiting == 0 {
            state.since = now;
        }
        state.waiting += 1;
    }

    /// A packet of this client left the queue.
    pub fn departed(&mut self, client: u32, len: u32, waited: Duration, now: Instant) {
        let Some(state) = self.of(client) else { return };
        state.sent_packets += 1;
        if !waited.is_zero() {
            state.waited_bytes += u64::from(len);
        }
        state.delays[bucket(waited)] += 1;
        state.left(now);
    }

    /// The queue dropped a packet of this client.
    pub fn dropped(&mut self, client: u32, now: Instant) {
        let Some(state) = self.of(client) else { return };
        state.drops += 1;
        state.left(now);
    }

    /// A window opens.
    pub fn open(&mut self, window: usize, now: Instant) {
        self.opened[window] = Some((now, self.state.clone()));
    }

    /// A window closes.
    pub fn close(&mut self, window: usize, now: Instant) {
        if let Some((began, before)) = self.opened[window].take() {
            self.closed[window] = Some(self.stats(began, &before, now));
        }
    }

    /// The results of a window that has ended.
    pub fn take(&mut self, window: usize) -> Option<CircuitStats> {
        self.closed.get_mut(window)?.take()
    }

    fn stats(&self, began: Instant, before: &[State], now: Instant) -> CircuitStats {
        let seconds = now.since(began).as_secs_f64();
        let counted = self.state.iter().zip(before).map(|(after, before)| after.since(before, began, now));
        let records: Vec<CircuitRecord> =
            self.circuits.iter().zip(counted).map(|(circuit, counted)| record(circuit, &counted, seconds)).collect();
        let active: Vec<&CircuitRecord> = records.iter().filter(|record| record.packets >= FEWEST_PACKETS).collect();
        let count = |is: fn(&CircuitRecord) -> bool| active.iter().filter(|record| is(record)).count() as u64;
        let mut worst: Vec<&CircuitRecord> = active.iter().copied().filter(|record| record.suffers()).collect();
        worst.sort_by(|a, b| b.p99_ms.total_cmp(&a.p99_ms).then_with(|| a.name.cmp(&b.name)));
        CircuitStats {
            link: self.name.clone(),
            circuits: self.circuits.len() as u64,
            active: active.len() as u64,
            suffering: count(CircuitRecord::suffers),
            late: count(CircuitRecord::is_late),
            short: count(CircuitRecord::is_short),
            p99_ms: three(active.iter().map(|record| record.p99_ms)),
            plan_share: three(active.iter().filter_map(|record| record.plan_share)),
            drop_rate: share(
                active.iter().map(|record| record.drops).sum(),
                active.iter().map(|record| record.drops + record.packets).sum(),
            ),
            cells: cells(&active),
            above: self.above(&active),
            worst: worst.into_iter().take(LISTED).cloned().collect(),
        }
    }

    /// The classes above that have most of those that suffer.
    fn above(&self, active: &[&CircuitRecord]) -> Vec<AboveCircuits> {
        let mut all: std::collections::BTreeMap<&str, AboveCircuits> = std::collections::BTreeMap::new();
        for record in active {
            let of = all.entry(&record.above).or_insert_with(|| AboveCircuits {
                name: record.above.clone(),
                active: 0,
                suffering: 0,
            });
            of.active += 1;
            of.suffering += u64::from(record.suffers());
        }
        let mut all: Vec<AboveCircuits> = all.into_values().filter(|of| of.suffering > 0).collect();
        all.sort_by_key(|of| std::cmp::Reverse(of.suffering));
        all.truncate(LISTED);
        all
    }
}

fn record(circuit: &Circuit, counted: &Counted, seconds: f64) -> CircuitRecord {
    let plan = circuit.plan.as_bps() as f64;
    let waited = counted.waited.as_secs_f64();
    let got = bits_per_s(counted.waited_bytes as f64, waited) / plan;
    CircuitRecord {
        name: circuit.name.clone(),
        above: circuit.above.clone(),
        plan_bps: plan,
        load: bits_per_s(counted.offered_bytes as f64, seconds) / plan,
        packets: counted.packets,
        drops: counted.drops,
        p50_ms: counted.p50_ms,
        p99_ms: counted.p99_ms,
        plan_share: (waited >= LEAST_WAIT * seconds).then_some(got.min(1.0)),
    }
}

impl CircuitRecord {
    /// Whether a hundredth of its packets waited longer than [`LATE_MS`].
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.p99_ms > LATE_MS
    }

    /// Whether it got less than [`SHORT`] of its plan while packets waited.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.plan_share.is_some_and(|share| share < SHORT)
    }

    /// Whether it is one or the other.
    #[must_use]
    pub fn suffers(&self) -> bool {
        self.is_late() || self.is_short()
    }
}

fn three(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get(((values.len() as f64 - 1.0) * share).round() as usize).copied();
    Some(Spread { p10: at(0.1)?, p50: at(0.5)?, p90: at(0.9)?, max: at(1.0)? })
}

/// Counts circuits by what they asked for, in doublings of a share of the plan, and by the 99th percentile of their delay, five steps a decade.
fn cells(active: &[&CircuitRecord]) -> Vec<CircuitCell> {
    let mut cells: std::collections::BTreeMap<(i32, i32), (u64, u64)> = std::collections::BTreeMap::new();
    for record in active {
        let load = libm::floor(libm::log2(record.load.max(1e-9))).clamp(-10.0, 3.0) as i32;
        let delay = libm::floor(5.0 * libm::log10(record.p99_ms.max(1e-9))).clamp(-5.0, 19.0) as i32;
        let (circuits, suffering) = cells.entry((load, delay)).or_default();
        *circuits += 1;
        *suffering += u64::from(record.suffers());
    }
    let cell = |((load, delay), (circuits, suffering))| CircuitCell { load, delay, circuits, suffering };
    cells.into_iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use aqmkit_base::BitRate;

    use super::*;

    #[test]
    fn a_bucket_holds_the_delays_up_to_its_end() {
        for ns in [0, 1, 65_535, 65_536, 70_000, 1_000_000, 99_999_999, 100_000_000, 3_000_000_000] {
            let at = bucket(Duration::from_nanos(ns));
            let ms = ns as f64 / 1e6;
            assert!(ms < upper_ms(at) && (at == 0 || ms >= upper_ms(at - 1)), "{ns} ns is in {at}");
        }
        assert_eq!(bucket(Duration::from_secs(3600)), BUCKETS - 1);
    }

    fn two() -> Circuits {
        let circuit = |name: &str, client| Circuit {
            name: name.into(),
            above: "point".into(),
            clients: vec![client],
            plan: BitRate::from_mbps(8),
        };
        Circuits::new(0, "down", vec![circuit("a", 3), circuit("b", 5)], 1).unwrap()
    }

    /// In a second, a has 200 packets of 1000 bytes, one each 2 ms, and each waits 1 ms: it gets 8 Mbit/s while they wait. b has as many, which come
    /// together and leave one each 4 ms: 2 Mbit/s, and the last waits 800 ms. Client 4 is nobody.
    #[test]
    fn a_circuit_that_waits_long_or_gets_little_suffers() {
        let mut circuits = two();
        let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
        circuits.open(0, at(0));
        (0..200).for_each(|_| circuits.offered(5, 1000, at(0)));
        for i in 0..200_u64 {
            circuits.offered(3, 1000, at(2000 * i));
            circuits.departed(3, 1000, Duration::from_millis(1), at(2000 * i + 1000));
            circuits.offered(4, 1000, at(2000 * i));
        }
        (1..=200_u64).for_each(|i| circuits.departed(5, 1000, Duration::from_millis(4 * i), at(4000 * i)));
        circuits.close(0, at(1_000_000));
        let stats = circuits.take(0).unwrap();
        assert_eq!((stats.circuits, stats.active, stats.suffering, stats.late, stats.short), (2, 2, 1, 1, 1));
        assert_eq!(stats.worst.len(), 1);
        let b = &stats.worst[0];
        assert_eq!((b.name.as_str(), b.packets, b.load), ("b", 200, 0.2));
        assert!((b.plan_share.unwrap() - 0.25).abs() < 1e-9, "{b:?}");
        assert!((796.0..=796.0 * 1.125).contains(&b.p99_ms), "{b:?}");
        assert_eq!(stats.plan_share.unwrap().max, 1.0);
        assert_eq!(stats.above, [AboveCircuits { name: "point".into(), active: 2, suffering: 1 }]);
        let all: u64 = stats.cells.iter().map(|cell| cell.circuits).sum();
        assert_eq!((all, stats.cells.iter().map(|cell| cell.suffering).sum::<u64>()), (2, 1));
    }

    /// A wait that spans the edges of a window counts with the part inside, and a dropped packet waits no longer.
    #[test]
    fn a_wait_is_cut_at_the_edges_of_a_window() {
        let mut circuits = two();
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        circuits.offered(3, 1000, at(0));
        circuits.open(0, at(100));
        (0..200).for_each(|_| circuits.offered(3, 1000, at(100)));
        (0..200).for_each(|_| circuits.departed(3, 1000, Duration::from_millis(100), at(200)));
        circuits.dropped(3, at(500));
        circuits.close(0, at(1100));
        let worst = circuits.take(0).unwrap().worst;
        // 200 kB in 0.4 s are 4 Mbit/s, half of the plan: late alone.
        assert_eq!((worst[0].plan_share, worst[0].drops, worst[0].is_short()), (Some(0.5), 1, false));
    }
}
