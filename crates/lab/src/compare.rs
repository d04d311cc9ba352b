//! Comparisons of several disciplines on one link with the same traffic. A comparison becomes the table of an
//! experiment file and runs like any other experiment.

mod disciplines;
pub(crate) mod ends;
mod experiment;
mod link;
mod mix;
mod room;
mod sweep;
mod text;
mod traffic;

use std::collections::BTreeSet;

use aqmkit_base::wire::Wire;
use aqmkit_base::{BitRate, Duration, Framing};
use aqmkit_results::{Entry, Results};
use aqmkit_runs::run;
use toml::{Table, Value};

pub use disciplines::LIMIT;
pub use link::{DATACENTRE, Driver, PRESETS};
pub use mix::Mix;
pub use room::Room;

/// A comparison. A field that is `None` takes its value from the preset, or else its default.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The disciplines, each as `NAME` or `NAME:PARAMETER=VALUE,…`.
    pub disciplines: Vec<String>,
    /// The rate of the compared direction; 10 Mbit/s by default.
    pub down: Option<BitRate>,
    /// The rate of the reverse direction. `None`: that direction is never congested.
    pub up: Option<BitRate>,
    /// The round-trip time without queueing; 50 ms by default.
    pub rtt: Option<Duration>,
    /// The framing of packets in both directions.
    pub framing: Framing,
    /// The impairments of the wire in both directions.
    pub wire: Wire,
    /// The transmit ring of the interface beneath each queue.
    pub driver: Option<Driver>,
    /// The name of a preset ([`PRESETS`]): rates and round-trip time of a type of access link.
    pub preset: Option<String>,
    /// The traffic.
    pub mix: Mix,
    /// The limit of every queue; [`LIMIT`] by default.
    pub limit: Option<Room>,
    /// Swept quantities: `red.max=20..200`, `rtt=10ms,50ms`.
    pub sweep: Vec<String>,
    /// The measured time; see [`Comparison::duration()`] for the default.
    pub duration: Option<Duration>,
    /// The warm-up time; see [`Comparison::warmup()`] for the default.
    pub warmup: Option<Duration>,
}

impl Comparison {
    /// The warm-up time, not counting any lengthening.
    #[must_use]
    pub fn warmup(&self) -> Duration {
        self.warmup.unwrap_or(if self.is_datacentre() { Duration::from_secs(1) } else { Duration::from_secs(10) })
    }

    /// The measured time. A datacentre has ten thousand round trips in a second, and its links carry a million packets.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.duration.unwrap_or(Duration::from_secs(if self.is_datacentre() { 2 } else { 60 }))
    }

    /// Whether TCP negotiates ECN and disciplines mark: on request, and in a datacentre.
    fn marks(&self) -> bool {
        self.mix.ecn || self.is_datacentre()
    }

    /// Whether the link is in a datacentre, whose hosts and traffic differ from those of an access link.
    fn is_datacentre(&self) -> bool {
        self.preset.as_deref() == Some(DATACENTRE)
    }
}

/// Sets the number of repeats and the warm-up in an experiment, if given.
#[must_use]
pub fn with_times(file: &Table, repeat: Option<u32>, warmup: Option<Duration>) -> Table {
    let mut file = file.clone();
    if let Some(repeat) = repeat {
        file.insert("repeat".to_owned(), Value::Integer(repeat.into()));
    }
    if let Some(warmup) = warmup {
        file.insert("warmup".to_owned(), Value::String(warmup.to_string()));
    }
    file
}

/// The directory name of a comparison: the disciplines, and a prefix of the hash of its file. The same comparison finds
/// its finished runs there.
#[must_use]
pub fn short_name(file: &Table, text: &str) -> String {
    let names = names(file);
    let all = names.join("-");
    let readable = match names.first() {
        Some(first) if all.len() > 40 => format!("{first}-and-{}-more", names.len() - 1),
        _ => all,
    };
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("{readable}-{}", &hash[..6])
}

/// The names of the compared disciplines without duplicates; labels of user-defined ones.
fn names(file: &Table) -> Vec<String> {
    let queues = file.get("sweep").and_then(|sweep| sweep.get("aqm")?.as_array());
    let mut names: Vec<String> = Vec::new();
    for queue in queues.into_iter().flatten() {
        let key = |key: &str| queue.get(key).and_then(Value::as_str);
        let name = key("name").filter(|name| *name != aqmkit_aqm::custom::NAME).or_else(|| key("label"));
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = name.or(queue.as_str()).unwrap_or_default().chars().map(plain).collect();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A warning about runs in which no packet passed any link during the measured time, so that the zeros in their results
/// say nothing about the disciplines.
#[must_use]
pub fn idle(results: &Results) -> Option<String> {
    let name = |entry: &Entry| {
        let mut labels = entry.labels.clone();
        labels.retain(|key, _| !["window", "seed"].contains(&key.as_str()));
        run::name(&labels)
    };
    let passed = |entry: &Entry| entry.links.values().any(|link| link.packets_per_s > 0.0);
    let all: BTreeSet<String> = results.runs.iter().map(name).collect();
    // One window with packets suffices, since others may be idle on purpose.
    let busy: BTreeSet<String> = results.runs.iter().filter(|entry| passed(entry)).map(name).collect();
    let idle: Vec<&str> = all.difference(&busy).map(String::as_str).collect();
    let first = idle.first()?;
    let which = if idle.len() == 1 { (*first).to_owned() } else { format!("{first} and {} more", idle.len() - 1) };
    Some(format!(
        "no packet passed in the measured time of {} of {} runs ({which}): their results are meaningless. Traffic \
         may have started later, or all packets were dropped; try a longer \
         warmup or duration",
        idle.len(),
        all.len()
    ))
}

#[cfg(test)]
mod tests {
    use aqmkit_sim::output::LinkStats;

    use super::*;

    fn entry(aqm: &str, window: &str, packets_per_s: f64) -> Entry {
        let link = LinkStats { packets_per_s, ..LinkStats::default() };
        let labels = [("aqm", aqm), ("repeat", "1"), ("window", window)];
        Entry {
            labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            links: [("bottleneck".to_owned(), link)].into(),
            ..Entry::default()
        }
    }

    #[test]
    fn runs_without_a_packet_are_told_of() {
        let of = |runs: &[Entry]| idle(&Results { runs: runs.to_vec(), ..Results::default() });
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[entry("red", "all", 9.0)]), None);
        assert_eq!(of(&[entry("red", "quiet", 0.0), entry("red", "blast", 9.0)]), None);
        let one = of(&[entry("red", "all", 0.0), entry("fifo", "all", 9.0)]).unwrap();
        assert!(one.contains("1 of 2 runs (aqm=red repeat=1)"), "{one}");
        let both = of(&[entry("red", "all", 0.0), entry("fifo", "all", 0.0)]).unwrap();
        assert!(both.contains("2 of 2 runs (aqm=fifo repeat=1 and 1 more)"), "{both}");
    }

    #[test]
    fn a_directory_is_named_after_the_disciplines() {
        let of = |text: &str| short_name(&text.parse().unwrap(), text);
        let named = |names: &[&str]| {
            let queues: Vec<String> = names.iter().map(|name| format!("{{ name = '{name}' }}")).collect();
            of(&format!("[sweep]\naqm = [{}]", queues.join(", ")))
        };
        assert!(named(&["fifo", "red", "red"]).starts_with("fifo-red-"));
        let many = ["fifo", "red", "pie", "codel", "blue", "rem", "pi", "afd", "sfb", "choke", "dualpi2", "fq-codel"];
        assert!(named(&many).starts_with("fifo-and-11-more-"), "{}", named(&many));
        let own =
            of("[sweep]\naqm = [{ name = 'custom', id = '0a', label = 'My Aqm' }, { name = 'red', label = 'red' }]");
        assert!(own.starts_with("my-aqm-red-"), "{own}");
    }
}
