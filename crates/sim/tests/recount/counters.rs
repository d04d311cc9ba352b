//! Counters of traffic models: rates per flow, frames, and the quality that users experience, counted a second time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aqmkit_base::{BitRate, Duration, Instant};
use aqmkit_sim::output::Output;
use aqmkit_sim::scenario::{Delays, WindowSpec};
use aqmkit_traffic::{Action, Application, Cx, Event};
use aqmkit_transport::Profile;

use super::common::{dumbbell, finish, group, spec};
use super::{at, same};

const COUNTERS: [&str; 15] = [
    "frames_playable",
    "frames_received",
    "i_bytes",
    "i_frames",
    "i_packets",
    "mos_intervals",
    "mos_sum",
    "packets_due",
    "packets_missed",
    "played_s",
    "stalled_s",
    "stalls",
    "switches",
    "video_bits",
    "video_s",
];

/// When which counter rose, and by how much.
type Rises = Arc<Mutex<Vec<(Instant, usize, f64)>>>;

/// Counts at random times by random amounts.
struct Counting {
    counters: &'static [&'static str],
    values: [f64; COUNTERS.len()],
    rises: Rises,
}

impl Application for Counting {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if event == Event::Wake {
            let which = cx.rng.below(self.counters.len() as u64) as usize;
            let amount = 10.0 * cx.rng.uniform();
            self.values[which] += amount;
            self.rises.lock().unwrap().push((cx.now, which, amount));
        }
        let gap = Duration::from_secs_f64(0.002 + 0.02 * cx.rng.uniform());
        cx.want(Action::WakeAt(cx.now + gap));
    }

    fn counters(&self) -> &'static [&'static str] {
        self.counters
    }

    fn counter(&self, index: usize) -> f64 {
        self.values[index]
    }
}

/// Two groups, the second of which counts frames only.
const GROUPS: [(&str, usize, &[&str]); 2] = [("all", 3, &COUNTERS), ("frames", 2, &[COUNTERS[0], COUNTERS[1]])];

fn run() -> (Output, [Rises; 2]) {
    let rises = [Rises::default(), Rises::default()];
    let groups = GROUPS.iter().zip(&rises).map(|(&(name, population, counters), rises)| {
        let one = |_| -> Box<dyn Application> {
            Box::new(Counting { counters, values: [0.0; COUNTERS.len()], rises: Arc::clone(rises) })
        };
        group(name, (0..population).map(one).collect(), Profile::rfc(), Delays::None)
    });
    let mut scenario = dumbbell(BitRate::from_mbps(1), spec("fifo", "{}"), groups.collect(), 0, 20);
    let window = |name: &str, from, to| WindowSpec { name: name.into(), from: at(from), to: at(to) };
    scenario.windows = vec![window("whole", 2.0, 20.0), window("part", 5.25, 11.5)];
    (scenario.origin, scenario.interval) = (at(2.0), Duration::from_millis(500));
    (finish(scenario), rises)
}

/// The metrics of a group between two moments, from what its applications noted.
fn counted(group: usize, rises: &Rises, from: f64, to: f64) -> BTreeMap<&'static str, f64> {
    let (_, population, counters) = GROUPS[group];
    let mut sums = vec![0.0; counters.len()];
    for &(when, which, amount) in rises.lock().unwrap().iter() {
        if (from..to).contains(&when.as_secs_f64()) {
            sums[which] += amount;
        }
    }
    let sum = |name: &str| COUNTERS.iter().position(|c| *c == name).and_then(|i| sums.get(i)).copied();
    let per_flow = |name: &str| sum(name).map(|sum| sum / (to - from) / population as f64);
    let mut metrics: BTreeMap<&str, f64> = counters.iter().map(|name| (*name, per_flow(name).unwrap())).collect();
    metrics.insert("frame_rate", per_flow("frames_received").unwrap());
    metrics.insert("playable_frame_rate", per_flow("frames_playable").unwrap());
    if group == 0 {
        let of = |name: &str| sum(name).unwrap();
        let watched = of("played_s") + of("stalled_s");
        // A quotient without a denominator is no number.
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { f64::NAN };
        metrics.extend([
            ("i_bytes_per_frame", ratio(of("i_bytes"), of("i_frames"))),
            ("i_packets_per_frame", ratio(of("i_packets"), of("i_frames"))),
            ("video_rate_bps", ratio(of("video_bits"), of("video_s"))),
            ("switches_per_min", ratio(60.0 * of("switches"), of("video_s"))),
            ("stalled", ratio(of("stalled_s"), watched)),
            ("stalls_per_min", ratio(60.0 * of("stalls"), watched)),
            ("mos", ratio(of("mos_sum"), of("mos_intervals"))),
            ("missed", ratio(of("packets_missed"), of("packets_due"))),
        ]);
    }
    metrics
}

#[test]
fn what_models_count_is_what_is_reported() {
    let (out, rises) = run();
    assert!(rises.iter().all(|rises| rises.lock().unwrap().len() > 3000));
    for (index, (name, population, _)) in GROUPS.iter().enumerate() {
        for window in &out.windows {
            let app = &window.apps[*name];
            assert_eq!(app.population, *population as u64);
            let mut reported: BTreeMap<&str, f64> = app.counters.iter().map(|(k, v)| (k.as_str(), *v)).collect();
            reported.extend(app.computed.iter().map(|(k, v)| (k.as_str(), *v)));
            reported.insert("frame_rate", app.frame_rate.unwrap());
            reported.insert("playable_frame_rate", app.playable_frame_rate.unwrap());
            let counted = counted(index, &rises[index], window.from_s + 2.0, window.to_s + 2.0);
            assert!(reported.keys().eq(counted.keys()), "{:?} of {:?}", reported.keys(), counted.keys());
            reported.iter().for_each(|(metric, value)| same(*value, counted[metric], metric));
        }
        let prefix = format!("apps.{name}.");
        let columns: Vec<_> =
            out.series.columns.iter().filter_map(|(path, c)| Some((path.strip_prefix(&prefix)?, c))).collect();
        assert_eq!(columns.len(), if index == 0 { 8 } else { 2 }, "{columns:?}");
        for (metric, column) in columns {
            assert_eq!(column.len(), 36);
            for (row, value) in column.iter().enumerate() {
                let from = 2.0 + 0.5 * row as f64;
                same(*value, counted(index, &rises[index], from, from + 0.5)[metric], metric);
            }
        }
    }
}
