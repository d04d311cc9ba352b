//! The searched parameters of a discipline: their ranges and steps.

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::BitRate;
use toml::{Table, Value};

/// A discipline with the parameters of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Name in the catalogue.
    pub discipline: String,
    /// Name of the candidate: the discipline, and the parameters that differ from its defaults.
    pub label: String,
    /// Parameters as in an experiment file, without name and label; the install command sets these.
    pub parameters: Table,
    /// Kernel defaults that differ from the catalogue's, for parameters that the install command does not set;
    /// simulated with the others.
    pub implied: Table,
    /// Searched parameters with their values.
    pub searched: Vec<(String, String)>,
}

impl Candidate {
    /// The candidate as an entry in the sweep of an experiment.
    #[must_use]
    pub fn entry(&self) -> Table {
        let mut entry = self.implied.clone();
        entry.extend(self.parameters.clone());
        entry.insert("name".to_owned(), Value::String(self.discipline.clone()));
        entry.insert("label".to_owned(), Value::String(self.label.clone()));
        entry
    }
}

/// The grid of values that a parameter can take.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Steps {
    /// Two significant digits.
    Digits,
    /// Whole numbers.
    Whole,
    /// Multiples of the first value, up to the second.
    Multiples(f64, f64),
}

/// A searched parameter, on a logarithmic scale around its default.
#[derive(Clone, Debug)]
pub struct Knob {
    /// Parameter name.
    pub name: String,
    /// Default value in `unit`.
    default: f64,
    unit: String,
    steps: Steps,
    /// Range as decimal logarithms of the ratio to the default.
    pub range: (f64, f64),
}

/// Parameter name, a default for it if the discipline has none, and its steps.
type Turned = (&'static str, &'static str, Steps);

/// The parameters of Linux's disciplines that operators tune, with the defaults around which they are searched. The
/// gains of `pie` are in sixteenths, as in `tc`.
const OF_LINUX: &[(&str, &[Turned])] = &[
    ("fifo", &[("limit", "", Steps::Whole)]),
    (
        "red",
        &[
            ("min", "", Steps::Whole),
            ("max", "", Steps::Whole),
            ("max_p", "", Steps::Digits),
            ("burst", "", Steps::Whole),
        ],
    ),
    (
        "choke",
        &[
            ("min", "", Steps::Whole),
            ("max", "", Steps::Whole),
            ("max_p", "", Steps::Digits),
            ("burst", "", Steps::Whole),
        ],
    ),
    ("codel", &[("target", "", Steps::Digits), ("interval", "", Steps::Digits)]),
    ("fq-codel", &[("target", "", Steps::Digits), ("interval", "", Steps::Digits), ("quantum", "", Steps::Whole)]),
    (
        "pie",
        &[
            ("target", "", Steps::Digits),
            ("tupdate", "", Steps::Digits),
            ("alpha", "", SIXTEENTHS),
            ("beta", "", SIXTEENTHS),
        ],
    ),
    (
        "fq-pie",
        &[
            ("target", "", Steps::Digits),
            ("tupdate", "", Steps::Digits),
            ("alpha", "", SIXTEENTHS),
            ("beta", "", SIXTEENTHS),
            ("quantum", "", Steps::Whole),
        ],
    ),
    (
        "dualpi2",
        &[
            ("target", "", Steps::Digits),
            ("tupdate", "", Steps::Digits),
            ("alpha", "", Steps::Digits),
            ("beta", "", Steps::Digits),
        ],
    ),
    (
        "sfb",
        &[
            ("max", "", Steps::Whole),
            ("target", "", Steps::Whole),
            ("increment", "", Steps::Digits),
            ("decrement", "", Steps::Digits),
        ],
    ),
    ("sfq", &[("limit", "", Steps::Whole)]),
    (
        "gred",
        &[
            ("min", "7500b", Steps::Whole),
            ("max", "22500b", Steps::Whole),
            ("max_p", "0.02", Steps::Digits),
            ("burst", "12", Steps::Whole),
        ],
    ),
    (
        "hhf",
        &[
            ("limit", "", Steps::Whole),
            ("quantum", "", Steps::Whole),
            ("admit_bytes", "", Steps::Whole),
            ("reset_timeout", "", Steps::Digits),
            ("non_hh_weight", "", Steps::Whole),
        ],
    ),
    // The target follows from `rtt`.
    ("cake", &[("rtt", "", Steps::Digits)]),
    ("drr", &[("limit", "", Steps::Whole)]),
    ("wfq", &[("limit", "", Steps::Whole)]),
];

/// In `tc`, gains of `pie` are integers up to 32, in units of 1/16.
const SIXTEENTHS: Steps = Steps::Multiples(1.0 / 16.0, 2.0);

/// Shapers and schedulers of classes, whose parameters say what the user wants, and `fq`, which is made for hosts.
const UNSEARCHED: [&str; 6] = ["tbf", "prio", "pfifo-fast", "ets", "htb", "fq"];

/// Parameters that are not searched: they describe the link and its packets, bound memory, or seed a hash.
const NO_KNOBS: &[&str] = &[
    "avpkt",
    "bandwidth",
    "bins",
    "buckets",
    "buffer",
    "candidates",
    "classic_protection",
    "contract",
    "contracts",
    "db",
    "divisor",
    "dq_threshold",
    "drop_batch",
    "ecn_prob",
    "flows",
    "freeze",
    "hash_seed",
    "hb_limit",
    "history",
    "levels",
    "limit",
    "max_drops",
    "max_flows",
    "max_monitored",
    "max_restricted",
    "memory_limit",
    "mtu",
    "penalty_burst",
    "penalty_rate",
    "regions",
    "rehash",
    "restricted_limit",
    "rtt",
    "salt",
    "sb_slots",
    "zombies",
];

/// Thresholds of RED in bytes, as in `tc`: 5 and 15 packets of 1500 bytes, with a limit of a thousand packets.
const RED: [(&str, &str); 3] = [("limit", "1500000b"), ("min", "7500b"), ("max", "22500b")];
/// Values that `tc` derives from them: the burst `(2 min + max) / 3`, in packets of 1000 bytes, and the probability at
/// `max`.
const RED_OF_TC: [(&str, Value); 2] = [("burst", Value::Integer(12)), ("max_p", Value::Float(0.02))];

/// Kernel defaults that differ from the catalogue's: those of `sch_dualpi2.c` in Linux 6.17 (RFC 9332 has a ramp,
/// classic protection of 6.25 % and deterministic marking by a counter), and RED without `harddrop`.
fn implied(name: &str) -> Table {
    let text = |value: &str| Value::String(value.to_owned());
    let of: &[(&str, Value)] = match name {
        "dualpi2" => &[
            ("random", Value::Boolean(true)),
            ("step_thresh", text("1ms")),
            ("min_qlen_step", Value::Integer(0)),
            ("classic_protection", Value::Float(0.1)),
            ("tupdate", text("16ms")),
            ("alpha", Value::Float(0.16)),
            ("beta", Value::Float(3.2)),
        ],
        "red" => &[("harddrop", Value::Boolean(false))],
        _ => &[],
    };
    of.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

/// Disciplines for which `tc` has the keywords `ecn` and `noecn` with different defaults: one of the two is always set.
const SAY_ECN: [&str; 4] = ["codel", "fq-codel", "pie", "fq-pie"];

/// Parameters of a `gred` virtual queue. Here there is only one, because the links of a search have no classes.
const OF_VIRTUAL_QUEUE: [&str; 4] = ["min", "max", "max_p", "burst"];

/// The parameter space of a discipline on a link.
#[derive(Clone, Debug)]
pub struct Space {
    discipline: String,
    base: Table,
    implied: Table,
    knobs: Vec<Knob>,
    rates: Vec<BitRate>,
}

impl Space {
    /// The space of the discipline with this name on links with these rates, with a queue limit of `limit` and marking
    /// if `ecn`. `None` if it needs parameters that only its user knows.
    #[must_use]
    pub fn of(name: &str, limit: &str, ecn: bool, rates: &[BitRate]) -> Option<Space> {
        if UNSEARCHED.contains(&name) {
            return None;
        }
        let (base, knobs, rates) = (Table::new(), Vec::new(), rates.to_vec());
        let mut space = Space { discipline: name.to_owned(), base, implied: implied(name), knobs, rates };
        let usual: Vec<(&str, Value)> = match name {
            "red" => RED.iter().map(|(key, value)| (*key, text(value))).chain(RED_OF_TC).collect(),
            "gred" => {
                let own = RED[1..].iter().map(|(key, value)| (*key, text(value))).chain(RED_OF_TC);
                let queue = Table::from_iter(own.map(|(key, value)| (key.to_owned(), value)));
                vec![(RED[0].0, text(RED[0].1)), ("classes", Value::Array(vec![Value::Table(queue)]))]
            }
            // `tc` has no parameter for cake's limit.
            "cake" => Vec::new(),
            // The values that tc derives from a limit of a thousand packets.
            "choke" => vec![
                ("limit", text("1000p")),
                ("min", text("83p")),
                ("max", text("250p")),
                ("burst", Value::Integer(139)),
                ("max_p", Value::Float(0.02)),
            ],
            // Linux's sfq serves one quantum per turn.
            "sfq" => vec![("limit", text(limit)), ("flows", Value::Integer(127)), ("quantum", text("1500b"))],
            _ => vec![("limit", text(limit))],
        };
        // Thresholds and the parameters derived from them are only valid together.
        let together: Table = usual.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let all_at_once = space.accepts(&together);
        if all_at_once {
            space.base = together;
        }
        let says = ecn || SAY_ECN.contains(&name);
        let one_by_one = usual.into_iter().filter(|_| !all_at_once);
        for (key, value) in one_by_one.chain(says.then_some(("ecn", Value::Boolean(ecn)))) {
            let mut with = space.base.clone();
            with.insert(key.to_owned(), value);
            if space.accepts(&with) {
                space.base = with;
            }
        }
        let first = Link::new(*space.rates.first()?);
        let effective = Table::try_from(space.spec(&space.base)?.effective(&first).ok()?).ok()?;
        if !space.accepts(&space.base) {
            return None;
        }
        space.knobs = match OF_LINUX.iter().find(|(linux, _)| *linux == name) {
            Some((_, turned)) => turned
                .iter()
                .filter_map(|(knob, default, steps)| {
                    let own = default.parse().map_or_else(|_| text(default), Value::Integer);
                    Knob::of(knob, effective.get(*knob).filter(|_| default.is_empty()).unwrap_or(&own), *steps)
                })
                .collect(),
            None => effective
                .iter()
                .filter(|(knob, _)| !NO_KNOBS.contains(&knob.as_str()))
                .filter_map(|(knob, value)| {
                    Knob::of(knob, value, if value.is_integer() { Steps::Whole } else { Steps::Digits })
                })
                .filter(|knob| space.turns(knob))
                .collect(),
        };
        Some(space)
    }

    /// Name of the discipline in the catalogue.
    #[must_use]
    pub fn discipline(&self) -> &str {
        &self.discipline
    }

    /// The searched parameters.
    #[must_use]
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// The candidate with default parameters.
    #[must_use]
    pub fn defaults(&self) -> Candidate {
        Candidate {
            discipline: self.discipline.clone(),
            label: self.discipline.clone(),
            parameters: self.base.clone(),
            implied: self.implied.clone(),
            searched: Vec::new(),
        }
    }

    /// The candidate at these coordinates, one per knob, and the coordinates of its rounded values. `None` if the
    /// discipline rejects the combination.
    #[must_use]
    pub fn at(&self, place: &[f64]) -> Option<(Candidate, Vec<f64>)> {
        let mut candidate = self.defaults();
        let mut rounded = Vec::new();
        for (knob, coordinate) in self.knobs.iter().zip(place) {
            let value = knob.value(*coordinate);
            rounded.push((value / knob.default).log10().clamp(knob.range.0, knob.range.1 - 1e-9));
            let written = knob.written(value);
            let shown = written.as_str().map_or_else(|| written.to_string(), str::to_owned);
            candidate.label.push_str(&format!(" {}={shown}", knob.name));
            candidate.searched.push((knob.name.clone(), shown));
            self.set(&mut candidate.parameters, &knob.name, written);
        }
        self.accepts(&candidate.parameters).then_some((candidate, rounded))
    }

    /// Sets a parameter at the level where the discipline has it.
    fn set(&self, parameters: &mut Table, name: &str, value: Value) {
        let queue = match parameters.get_mut("classes") {
            Some(Value::Array(queues)) if self.discipline == "gred" && OF_VIRTUAL_QUEUE.contains(&name) => {
                queues.first_mut().and_then(Value::as_table_mut)
            }
            _ => None,
        };
        match queue {
            Some(queue) => queue.insert(name.to_owned(), value),
            None => parameters.insert(name.to_owned(), value),
        };
    }

    fn spec(&self, parameters: &Table) -> Option<Spec> {
        let mut all = self.implied.clone();
        all.extend(parameters.clone());
        Spec::read(&self.discipline, serde_json::to_value(&all).ok()?).ok()
    }

    fn accepts(&self, parameters: &Table) -> bool {
        self.spec(parameters)
            .is_some_and(|spec| self.rates.iter().all(|rate| spec.effective(&Link::new(*rate)).is_ok()))
    }

    /// Whether the discipline accepts other values of this knob alone.
    fn turns(&self, knob: &Knob) -> bool {
        [0.5, 2.0_f64].iter().any(|factor| {
            let mut with = self.base.clone();
            self.set(&mut with, &knob.name, knob.written(knob.value(factor.log10())));
            self.accepts(&with)
        })
    }
}

fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}

impl Knob {
    /// A knob around this default; `None` if the default is not a positive number.
    fn of(name: &str, default: &Value, steps: Steps) -> Option<Knob> {
        let (number, unit) = match default {
            Value::Integer(value) => (*value as f64, String::new()),
            Value::Float(value) => (*value, String::new()),
            Value::String(text) => {
                let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
                (text[..end].parse().ok()?, text[end..].to_owned())
            }
            _ => return None,
        };
        // A drop-tail queue often needs a much lower limit than its default of a thousand packets.
        let range = if name == "limit" { (-2.0, 0.5) } else { (-1.0, 1.0) };
        (number > 0.0).then(|| Knob { name: name.to_owned(), default: number, unit, steps, range })
    }

    /// The value at a coordinate, rounded to the grid.
    fn value(&self, coordinate: f64) -> f64 {
        let value = self.default * 10_f64.powf(coordinate);
        match self.steps {
            Steps::Digits => two_digits(value),
            Steps::Whole => two_digits(value).round().max(1.0),
            Steps::Multiples(step, most) => ((value / step).round().max(1.0) * step).min(most),
        }
    }

    fn written(&self, value: f64) -> Value {
        let whole = self.unit.is_empty() && (self.steps == Steps::Whole);
        match self.unit.as_str() {
            _ if whole => Value::Integer(value as i64),
            "" => Value::Float(value),
            unit @ ("s" | "ms" | "us") => Value::String(time(value, unit)),
            unit => Value::String(format!("{value}{unit}")),
        }
    }
}

/// Rounds to two significant digits.
fn two_digits(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

/// Formats a time in a unit in which it is at least one.
fn time(value: f64, unit: &str) -> String {
    let finer = match unit {
        "s" => Some("ms"),
        "ms" => Some("us"),
        _ => None,
    };
    match finer {
        Some(next) if value < 1.0 => time(two_digits(value * 1000.0), next),
        _ => format!("{value}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(name: &str) -> Space {
        Space::of(name, "1000p", false, &[BitRate::from_mbps(50), BitRate::from_mbps(10)]).unwrap()
    }

    #[test]
    fn values_are_rounded_to_what_one_would_type() {
        let of = |name: &str, place: &[f64]| space(name).at(place).unwrap().0.label;
        assert_eq!(of("codel", &[0.0, 0.0]), "codel target=5ms interval=100ms");
        assert_eq!(of("codel", &[-0.99, 0.1234]), "codel target=510us interval=130ms");
        assert_eq!(of("fifo", &[-1.37]), "fifo limit=43p");
        assert_eq!(of("pie", &[0.0, 0.0, -0.9, 0.9]), "pie target=15ms tupdate=15ms alpha=0.0625 beta=2.0");
        let (candidate, place) = space("pie").at(&[0.0, 0.0, -0.9, 0.9]).unwrap();
        assert!((place[2] - 0.5_f64.log10()).abs() < 1e-9, "the place is that of the rounded value: {place:?}");
        assert_eq!(candidate.entry()["limit"].as_str(), Some("1000p"));
    }

    #[test]
    fn the_virtual_queue_of_gred_has_the_thresholds() {
        let candidate = space("gred").at(&[0.0, 0.2, 0.0, 0.0]).unwrap().0;
        assert_eq!(candidate.label, "gred min=7500b max=36000b max_p=0.02 burst=12");
        let queue = candidate.parameters["classes"][0].as_table().unwrap();
        assert_eq!(queue["max"].as_str(), Some("36000b"));
        assert_eq!(candidate.parameters.keys().collect::<Vec<_>>(), ["classes", "limit"]);
        // The upper threshold is below the lower one.
        assert!(space("gred").at(&[0.9, -0.9, 0.0, 0.0]).is_none());
    }

    #[test]
    fn what_a_discipline_refuses_is_no_candidate() {
        // The upper threshold is below the lower one.
        assert!(space("red").at(&[0.9, -0.9, 0.0, 0.0]).is_none());
        assert!(space("red").at(&[0.0, 0.3, 0.0, 0.3]).is_some());
    }

    #[test]
    fn every_discipline_that_needs_no_parameters_has_a_space() {
        let all = aqmkit_aqm::registry::ALL;
        let with: Vec<Space> =
            all.iter().filter_map(|entry| Space::of(entry.name, "1000p", true, &[BitRate::from_mbps(50)])).collect();
        assert!(with.len() > 24, "{}", with.len());
        for space in &with {
            assert!(space.accepts(&space.defaults().parameters), "{}", space.discipline());
            assert!(space.knobs().iter().all(|knob| !knob.name.is_empty() && knob.range.0 < knob.range.1), "{space:?}");
        }
        let knobs = |name: &str| with.iter().find(|space| space.discipline() == name).map(|space| space.knobs().len());
        assert_eq!((knobs("fifo"), knobs("fq-codel")), (Some(1), Some(3)));
        assert!(knobs("blue").is_some_and(|knobs| knobs >= 2), "one that Linux does not have");
    }
}
