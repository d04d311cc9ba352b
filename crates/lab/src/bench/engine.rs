//! The engine's speed on standard scenarios, in total and by kind of event.

use aqmkit_base::{BitRate, Duration};
use aqmkit_experiment::{Experiment, Overrides};
use aqmkit_runs::clock::{cpu, now};
use aqmkit_sim::profile::{EventKind, Profile, Spent};
use aqmkit_sim::{Control, Scenario, Simulation};
use serde::Serialize;

use crate::error::LabError;

/// A scenario for comparing simulators; `bench/peers` has the same for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Name {
    /// 50 long transfers through 100 Mbit/s with RED, round trips from 20 to 300 ms
    S1,
    /// 1000 long transfers through 1 Gbit/s with RED, the same round trips
    S2,
    /// 940 short transfers in a second through 100 Mbit/s with RED, each with a connection of its own, round trip 100 ms
    S3,
}

/// The common part: the transport, and RED with thresholds proportional to the link rate.
const COMMON: &str = r#"
[topology.aqm]
name = "red"
limit = LIMIT
min = MIN
max = MAX
weight = 0.001953125
max_p = 0.1

[transport]
profile = "ns2"
mss = "1460b"
header = "40b"

[[traffic]]
"#;

const LONG: &str = "kind = \"bulk\"\nstagger = \"1s\"\nflows = ";
/// Transfers of 9 KB on average: about 70 % of 100 Mbit/s, including headers and handshakes.
const SHORT: &str = "kind = \"short-flows\"\nsources = 94\ninterval = \"100ms\"\nsize_max = \"1mb\"\n";

impl Name {
    /// All scenarios.
    pub const ALL: [Name; 3] = [Name::S1, Name::S2, Name::S3];

    fn label(self) -> &'static str {
        match self {
            Name::S1 => "S1",
            Name::S2 => "S2",
            Name::S3 => "S3",
        }
    }

    fn rate(self) -> BitRate {
        BitRate::from_mbps(if self == Name::S2 { 1000 } else { 100 })
    }

    /// The experiment file, for a run of this duration.
    fn text(self, duration: Duration) -> String {
        let times = self.rate().as_bps() / 100_000_000;
        let red = [("LIMIT", 500), ("MIN", 30), ("MAX", 90)];
        let common =
            red.iter().fold(COMMON.to_owned(), |text, (name, value)| text.replace(name, &(value * times).to_string()));
        let (delays, traffic) = match self {
            Name::S1 => (round_trips(50), format!("{LONG}50\n")),
            Name::S2 => (round_trips(1000), format!("{LONG}1000\n")),
            Name::S3 => ("delays = \"100ms\"".to_owned(), SHORT.to_owned()),
        };
        format!(
            "title = \"Dumbbell {}\"\nduration = \"{duration}\"\n[topology]\nrate = \"{}\"\n{delays}\nmean_packet = \"1500b\"\n{common}{traffic}",
            self.label(),
            self.rate(),
        )
    }

    fn scenario(self, duration: Duration) -> Result<Scenario, LabError> {
        let exp = Experiment::parse("bench", &self.text(duration), &Overrides::default())?;
        let empty = || LabError::Environment("the scenario of the benchmark is empty".to_owned());
        Ok(exp.plan().into_iter().next().ok_or_else(empty)?.scenario()?)
    }
}

/// Round-trip times spaced evenly from 20 to 300 ms.
fn round_trips(flows: u64) -> String {
    let each = (0..flows).map(|i| format!("\"{}us\"", 20_000 + 280_000 * i / (flows - 1)));
    format!("delays = {{ each = [{}] }}", each.collect::<Vec<_>>().join(", "))
}

/// The engine's speed on a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Speed {
    /// The scenario.
    pub scenario: &'static str,
    /// Packets that entered the links.
    pub packets: u64,
    /// Events that the engine processed.
    pub events: u64,
    /// The CPU time in seconds.
    pub cpu_s: f64,
    /// Packets per second of CPU time.
    pub packets_per_cpu_s: f64,
}

/// Measures the engine on a scenario.
///
/// # Errors
/// When the scenario cannot be run.
pub fn speed(name: Name, duration: Duration) -> Result<Speed, LabError> {
    let scenario = name.scenario(duration)?;
    let before = cpu();
    let output = aqmkit_sim::run(scenario, &mut |_| Control::Continue).map_err(|e| failed(&e))?;
    let cpu_s = cpu().saturating_sub(before).as_secs_f64();
    Ok(Speed {
        scenario: name.label(),
        packets: output.engine.packets,
        events: output.engine.events,
        cpu_s,
        packets_per_cpu_s: output.engine.packets as f64 / cpu_s,
    })
}

fn failed(error: &aqmkit_sim::Error) -> LabError {
    LabError::Environment(error.to_string())
}

/// CPU time per packet on a scenario, by kind of event.
#[derive(Clone, Debug, Serialize)]
pub struct Profiled {
    scenario: &'static str,
    packets: u64,
    /// Cost of reading the clock in nanoseconds, already subtracted from all rows.
    clock_ns: f64,
    rows: Vec<Row>,
}

/// One kind of event.
#[derive(Clone, Debug, Serialize)]
struct Row {
    event: &'static str,
    per_packet: f64,
    ns_per_event: f64,
    ns_per_packet: f64,
}

impl Row {
    fn of(event: &'static str, spent: Spent, packets: u64, clock_ns: f64) -> Self {
        let ns = (spent.ns as f64 - spent.events as f64 * clock_ns).max(0.0);
        let packets = packets.max(1) as f64;
        Row {
            event,
            per_packet: spent.events as f64 / packets,
            ns_per_event: ns / spent.events.max(1) as f64,
            ns_per_packet: ns / packets,
        }
    }
}

/// Times every event of a run. Interruptions by other processes are included.
///
/// # Errors
/// When the scenario cannot be run.
pub fn profile(name: Name, duration: Duration) -> Result<Profiled, LabError> {
    let start = now();
    let mut clock = || now().duration_since(start).as_nanos() as u64;
    let mut simulation = Simulation::new(name.scenario(duration)?).map_err(|e| failed(&e))?;
    let mut profile = Profile::default();
    let end = simulation.end();
    simulation.advance_profiled(end, &mut profile, &mut clock).map_err(|e| failed(&e))?;
    let packets = simulation.output().engine.packets;
    let clock_ns = clock_cost(&mut clock);
    let finding = Row::of("finding the next event", profile.finding, packets, clock_ns);
    let kinds = EventKind::ALL.iter().zip(profile.kinds).filter(|(_, spent)| spent.events > 0);
    let rows = kinds.map(|(kind, spent)| Row::of(kind.name(), spent, packets, clock_ns));
    Ok(Profiled { scenario: name.label(), packets, clock_ns, rows: std::iter::once(finding).chain(rows).collect() })
}

/// Nanoseconds between two consecutive readings of a clock.
fn clock_cost(clock: &mut dyn FnMut() -> u64) -> f64 {
    const READINGS: u64 = 100_000;
    let first = clock();
    let last = (1..READINGS).fold(first, |_, _| clock());
    (last - first) as f64 / READINGS as f64
}

impl Profiled {
    /// Formats the profile as a table.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!(
            "Where a packet's time goes, dumbbell {}:\n{:34} {:>10} {:>9} {:>10}",
            self.scenario, "", "per packet", "ns each", "ns a packet"
        );
        for row in &self.rows {
            let Row { event, per_packet, ns_per_event, ns_per_packet } = row;
            text.push_str(&format!("\n  {event:32} {per_packet:10.3} {ns_per_event:9.1} {ns_per_packet:11.1}"));
        }
        let sum: f64 = self.rows.iter().map(|row| row.ns_per_packet).sum();
        text.push_str(&format!("\n  {:32} {:10} {:9} {sum:11.1}\n", "all", "", ""));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_reach_from_end_to_end() {
        let text = round_trips(50);
        assert!(text.contains("\"20000us\"") && text.contains("\"300000us\""));
        assert_eq!(text.matches("us\"").count(), 50);
    }

    #[test]
    fn every_scenario_can_be_run_and_profiled() {
        for name in &Name::ALL {
            let duration = Duration::from_millis(1500);
            let speed = speed(*name, duration).unwrap();
            let profiled = profile(*name, duration).unwrap();
            assert!(speed.packets > 1000, "{speed:?}");
            assert_eq!(speed.packets, profiled.packets, "watching changes nothing");
            let events: f64 = profiled.rows[1..].iter().map(|row| row.per_packet).sum();
            assert!((events * speed.packets as f64 - speed.events as f64).abs() < 0.5, "{profiled:?}");
        }
    }
}
