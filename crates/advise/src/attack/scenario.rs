//! A link with its traffic.

use aqmkit_aqm::registry::Spec;
use aqmkit_base::near::suggest;
use aqmkit_base::read::Value as Parameter;
use aqmkit_experiment::Catalogues;
use toml::{Table, Value};

use super::harm::Harm;
use super::target::{Control, Target, Unknown, discipline};

/// The group of the attacked control; of a discipline, one with a control that the search chooses.
pub const OWN: &str = "own";
/// The group beside it.
pub const OTHER: &str = "other";
/// The telephone call, if the harm is done to one.
pub const VOIP: &str = "voip";

/// The number of coordinates of the space, each from 0 to 1.
pub const AXES: usize = 13;

/// The queues behind which a control is attacked.
const QUEUES: [&str; 6] = ["fifo", "codel", "pie", "red", "dualpi2", "fq-codel"];
/// Buffers of a `fifo` in bandwidth-delay products.
const BUFFER: (f64, f64) = (0.1, 8.0);
/// The controls with which a discipline is attacked, and those beside them.
const CONTROLS: [&str; 4] = ["cubic", "newreno", "bbr", "prague"];
/// Rates to which a scenario is rounded, in kbit/s, and round trips in milliseconds.
const ROUND_RATES: [u64; 6] = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000];
const ROUND_TIMES: [u64; 6] = [5, 10, 20, 50, 100, 200];
/// Seconds before the measurement.
const WARMUP: u32 = 10;
/// The measured time in seconds: of the search, and the least to which a scenario is shortened. Less is shorter than the
/// cycles of BBR and of CUBIC, and what is found in it depends on the seed.
const LONGEST: u32 = 20;
const SHORTEST: u32 = 10;
/// Full packets, in bits.
const PACKET: f64 = 12_000.0;

/// Traffic beside the first group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beside {
    /// TCP for ever with this control.
    Tcp {
        /// The congestion control.
        control: Control,
        /// The number of flows.
        flows: u32,
    },
    /// Bursts of datagrams of 200 ms, one a second, at this multiple of the rate of the link.
    Burst(f64),
    /// Datagrams at this share of the rate.
    Constant(f64),
}

/// One bottleneck with at most five flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The rate of the bottleneck in kbit/s.
    pub rate: u64,
    /// The round trip of the first group, in milliseconds.
    pub rtt: u64,
    /// The round trip of the second group.
    pub far: u64,
    /// The discipline.
    pub queue: &'static str,
    /// The limit of a `fifo`, in packets; other disciplines have 1000.
    pub limit: u32,
    /// The control of the first group.
    pub control: Control,
    /// The flows of the first group.
    pub flows: u32,
    /// The cross traffic.
    pub beside: Option<Beside>,
    /// Random loss on the wire.
    pub loss: Option<f64>,
    /// The share of packets that come 5 ms late.
    pub reorder: Option<f64>,
    /// The factor by which the rate changes in the middle.
    pub step: Option<f64>,
    /// Whether the queue marks, and TCP asks for it.
    pub ecn: bool,
    /// Whether there is a telephone call.
    pub call: bool,
    /// The measured time in seconds.
    pub seconds: u32,
}

/// The space of scenarios that is searched: its coordinates are from 0 to 1.
#[derive(Clone, Debug)]
pub struct Space {
    /// The discipline or control under attack.
    pub target: Target,
    /// The discipline or control that runs in the same scenarios for comparison.
    pub reference: Target,
    /// The harm that is sought.
    pub harm: Harm,
    /// The disciplines behind which a control is attacked.
    queues: Vec<&'static str>,
    /// The least and the largest buffer of a `fifo`, in bandwidth-delay products of the first group.
    buffer: (f64, f64),
}

impl Space {
    /// The space of a target and a harm.
    #[must_use]
    pub fn of(target: Target, harm: Harm, catalogues: &Catalogues) -> Space {
        Space { target, reference: target.reference(catalogues), harm, queues: QUEUES.to_vec(), buffer: BUFFER }
    }

    /// The same with a control behind these disciplines only.
    ///
    /// # Errors
    /// When one of them is unknown, or the target is a discipline, which is the queue itself.
    pub fn behind(self, queues: &[String], catalogues: &Catalogues) -> Result<Space, Unknown> {
        if let Target::Discipline(name) = self.target {
            let what = format!("{name} is attacked as the queue itself, so there is no other to choose");
            return Err((what, "leave it out; it is for congestion controls".to_owned()));
        }
        let find = |name: &String| {
            let unknown =
                || (format!("there is no discipline {name:?}"), suggest(name.trim(), catalogues.disciplines.names()));
            discipline(name.trim(), catalogues).ok_or_else(unknown)
        };
        Ok(Space { queues: queues.iter().map(find).collect::<Result<_, _>>()?, ..self })
    }

    /// The same with buffers of `fifo` of these bandwidth-delay products: `0.5`, or `0.1..1.5`.
    ///
    /// # Errors
    /// When it is not a positive number or range, or no `fifo` occurs in the space.
    pub fn buffered(self, text: &str) -> Result<Space, Unknown> {
        if !self.queues().contains(&"fifo") {
            let what = format!("there is no fifo here, only {}", self.queues().join(", "));
            return Err((what, "leave it out; it is the buffer of a fifo".to_owned()));
        }
        let one = |end: &str| end.trim().parse::<f64>().ok().filter(|bdps| (0.01..=100.0).contains(bdps));
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        match one(low).zip(one(high)).filter(|(low, high)| low <= high) {
            Some(buffer) => Ok(Space { buffer, ..self }),
            None => Err((
                format!("{text:?} is not a number of bandwidth-delay products"),
                "write 0.5, or a range such as 0.1..1.5, from 0.01 to 100".to_owned(),
            )),
        }
    }

    /// Whether the buffer of a scenario is as large as it should be: it has at least four packets, which are too many
    /// for a shallow buffer on a short and slow path.
    #[must_use]
    pub fn has(&self, scenario: &Scenario) -> bool {
        self.buffer == BUFFER || scenario.queue != "fifo" || scenario.bdps() <= self.buffer.1
    }

    /// The disciplines that occur in it.
    #[must_use]
    pub fn queues(&self) -> Vec<&'static str> {
        match self.target {
            Target::Discipline(name) => vec![name],
            Target::Control(_) => self.queues.clone(),
        }
    }

    /// The scenario at a place of the space.
    #[must_use]
    pub fn at(&self, place: &[f64; AXES]) -> Scenario {
        let [rate, rtt, far, buffer, what, flows, kind, others, strength, loss, reorder, step, ecn] = *place;
        let rate = two_digits(log(rate, 1e3, 5e4));
        let rtt = two_digits(log(rtt, 5.0, 200.0));
        let far = if far < 0.3 { rtt } else { two_digits(rtt as f64 * log((far - 0.3) / 0.7, 1.0, 10.0)).min(300) };
        let packets = rate as f64 * rtt as f64 / PACKET * log(buffer, self.buffer.0, self.buffer.1);
        let (queue, control) = match self.target {
            Target::Discipline(name) => (name, Control::tcp(choice(what, &CONTROLS))),
            Target::Control(control) => (choice(what, &self.queues), control),
        };
        let call = self.harm == Harm::VoipMos;
        let beside = self.beside(kind, 1 + (others * 1.99) as u32, strength);
        let optional = |x: f64, from: f64, low: f64, high: f64| {
            (x >= from).then(|| two_digits(log((x - from) / (1.0 - from), low, high) * 1e6) as f64 / 1e6)
        };
        Scenario {
            rate,
            rtt,
            far: if matches!(beside, Some(Beside::Tcp { .. })) { far } else { rtt },
            queue,
            limit: (packets as u32).clamp(4, 5_000),
            control,
            flows: 1 + (flows * if call { 1.99 } else { 2.99 }) as u32,
            beside,
            loss: optional(loss, 0.7, 1e-4, 2e-2),
            reorder: optional(reorder, 0.8, 1e-3, 3e-2),
            step: optional(step, 0.7, 0.1, 0.5),
            ecn: ecn >= 0.5,
            call,
            seconds: LONGEST,
        }
    }

    /// The traffic beside the first group, of what the harm allows.
    fn beside(&self, kind: f64, flows: u32, strength: f64) -> Option<Beside> {
        let tcp = |control| Some(Beside::Tcp { control, flows });
        match (self.target, self.harm) {
            (Target::Control(own), Harm::Unfairness) => tcp(own),
            (Target::Control(own), Harm::Starvation) => {
                let others: Vec<&'static str> =
                    CONTROLS.into_iter().filter(|other| Control::tcp(other) != own).collect();
                tcp(Control::tcp(choice(kind, &others)))
            }
            (Target::Discipline(_), Harm::Starvation | Harm::Unfairness) => tcp(Control::tcp(choice(kind, &CONTROLS))),
            _ => match (kind * 7.99) as usize {
                0 | 1 => None,
                2 => Some(Beside::Constant(two_digits(log(strength, 0.1, 0.9) * 1e3) as f64 / 1e3)),
                3 => Some(Beside::Burst(two_digits(log(strength, 1.0, 5.0) * 1e3) as f64 / 1e3)),
                number => tcp(Control::tcp(CONTROLS[number - 4])),
            },
        }
    }
}

impl Scenario {
    /// Flows that the scenario has, with the call.
    #[must_use]
    pub fn all_flows(&self) -> u32 {
        let beside = match self.beside {
            None => 0,
            Some(Beside::Tcp { flows, .. }) => flows,
            Some(_) => 1,
        };
        self.flows + beside + u32::from(self.call)
    }

    /// TCP flows beside the first group.
    #[must_use]
    pub fn others(&self) -> u32 {
        match self.beside {
            Some(Beside::Tcp { flows, .. }) => flows,
            _ => 0,
        }
    }

    /// This scenario with `other` in the place of the discipline or control under attack.
    #[must_use]
    pub fn with(&self, other: Target) -> Scenario {
        match other {
            Target::Discipline(queue) => Scenario { queue, ..self.clone() },
            Target::Control(control) => {
                let beside = match self.beside {
                    // Flows of the attacked control at another distance.
                    Some(Beside::Tcp { control: same, flows }) if same == self.control => {
                        Some(Beside::Tcp { control, flows })
                    }
                    others => others,
                };
                Scenario { control, beside, ..self.clone() }
            }
        }
    }

    /// The scenario as an experiment, without repeats; its run has `label` as the label of its discipline.
    #[must_use]
    pub fn file(&self, label: &str) -> Table {
        let mut topology = Table::new();
        topology.insert("rate".to_owned(), text(format!("{}kbit", self.rate)));
        topology.insert("delays".to_owned(), text(format!("{}ms", self.rtt)));
        topology.extend(self.loss.map(|loss| ("loss".to_owned(), Value::Float(loss))));
        let late = |chance: f64| {
            let table = [("chance", Value::Float(chance)), ("delay", text("5ms".to_owned()))];
            Value::Table(table.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
        };
        topology.extend(self.reorder.map(|chance| ("reorder".to_owned(), late(chance))));
        let mut file = Table::new();
        file.insert("title".to_owned(), text(self.words()));
        file.insert("duration".to_owned(), text(format!("{}s", self.seconds)));
        file.insert("warmup".to_owned(), text(format!("{WARMUP}s")));
        file.insert("topology".to_owned(), Value::Table(topology));
        file.insert("transport".to_owned(), table([("profile", text("linux-6".to_owned()))]));
        file.insert("traffic".to_owned(), Value::Array(self.traffic()));
        file.insert("sweep".to_owned(), table([("aqm", Value::Array(vec![self.discipline(label)]))]));
        if let Some(factor) = self.step {
            let rate = table([("rate", text(format!("{}kbit", (self.rate as f64 * factor) as u64)))]);
            let change = table([("at", text(format!("{}ms", 500 * self.seconds))), ("topology", rate)]);
            file.insert("changes".to_owned(), Value::Array(vec![change]));
        }
        file
    }

    /// The discipline as an entry of a sweep.
    #[must_use]
    pub fn discipline(&self, label: &str) -> Value {
        let mut entry = vec![("name", text(self.queue.to_owned())), ("label", text(label.to_owned()))];
        let limit = if self.queue == "fifo" { i64::from(self.limit) } else { 1000 };
        if accepts(self.queue, "limit", Parameter::Integer(limit)) {
            entry.push(("limit", Value::Integer(limit)));
        }
        if self.ecn && accepts(self.queue, "ecn", Parameter::Bool(true)) {
            entry.push(("ecn", Value::Boolean(true)));
        }
        table(entry)
    }

    fn traffic(&self) -> Vec<Value> {
        let tcp = |name: &str, control: Control, flows: u32, rtt: u64| {
            let mut transport = vec![("congestion", text(control.name.to_owned()))];
            transport.extend(control.stack.map(|stack| ("stack", text(stack.to_owned()))));
            // These turn on the kind of ECN that they need, unless it is given.
            if self.ecn && !["prague", "dctcp"].contains(&control.name) {
                transport.push(("ecn", Value::Boolean(true)));
            }
            table([
                ("kind", text("bulk".to_owned())),
                ("name", text(name.to_owned())),
                ("class", text(name.to_owned())),
                ("flows", Value::Integer(flows.into())),
                ("delays", text(format!("{rtt}ms"))),
                ("transport", table(transport)),
            ])
        };
        let datagrams = |kind: &str, share: f64, more: &[(&'static str, &str)]| {
            let mut group = vec![
                ("kind", text(kind.to_owned())),
                ("name", text(OTHER.to_owned())),
                ("class", text(OTHER.to_owned())),
                ("rate", text(format!("{}kbit", (self.rate as f64 * share) as u64))),
                ("packet", text("1000b".to_owned())),
            ];
            group.extend(more.iter().map(|(key, value)| (*key, text((*value).to_owned()))));
            table(group)
        };
        let mut all = vec![tcp(OWN, self.control, self.flows, self.rtt)];
        all.extend(self.beside.map(|beside| match beside {
            Beside::Tcp { control, flows } => tcp(OTHER, control, flows, self.far),
            Beside::Burst(times) => {
                datagrams("on-off", times, &[("on", "200ms"), ("off", "800ms"), ("law", "constant")])
            }
            Beside::Constant(share) => datagrams("cbr", share, &[]),
        }));
        if self.call {
            all.push(table([
                ("kind", text("voip".to_owned())),
                ("name", text(VOIP.to_owned())),
                ("class", text(VOIP.to_owned())),
                ("calls", Value::Integer(1)),
            ]));
        }
        all
    }

    /// The scenario in a sentence. Different scenarios have different sentences.
    #[must_use]
    pub fn words(&self) -> String {
        let queue = match self.queue {
            "fifo" => format!("fifo of {} packets ({:.2} BDP)", self.limit, self.bdps()),
            other => other.to_owned(),
        };
        let mut all = vec![format!("{}, {queue}", rate(self.rate)), flows(self.flows, self.control, self.rtt)];
        all.extend(self.beside.map(|beside| match beside {
            Beside::Tcp { control, flows: number } => flows(number, control, self.far),
            Beside::Burst(times) => format!("a burst of 200 ms each second at {times:.1} times the rate"),
            Beside::Constant(share) => format!("datagrams at {:.0} % of the rate", 100.0 * share),
        }));
        if self.call {
            all.push("a telephone call".to_owned());
        }
        all.extend(self.loss.map(|loss| format!("{:.2} % loss", 100.0 * loss)));
        all.extend(self.reorder.map(|share| format!("{:.1} % of the packets 5 ms late", 100.0 * share)));
        all.extend(self.step.map(|factor| format!("after half the time {:.0} % of the rate", 100.0 * factor)));
        if self.ecn {
            all.push("ECN".to_owned());
        }
        format!("{}; {} s", all.join("; "), self.seconds)
    }

    /// The limit in bandwidth-delay products of the first group.
    #[must_use]
    pub fn bdps(&self) -> f64 {
        f64::from(self.limit) * PACKET / (self.rate as f64 * self.rtt as f64)
    }

    /// Scenarios that have one thing less than this, those with fewer flows first.
    #[must_use]
    pub fn simpler(&self) -> Vec<Scenario> {
        let one = || self.clone();
        let mut all = Vec::new();
        if self.flows > 1 {
            all.push(Scenario { flows: 1, ..one() });
            all.push(Scenario { flows: self.flows - 1, ..one() });
        }
        if let Some(Beside::Tcp { control, flows }) = self.beside.filter(|_| self.others() > 1) {
            all.push(Scenario { beside: Some(Beside::Tcp { control, flows: flows - 1 }), ..one() });
        }
        all.extend(self.beside.map(|_| Scenario { beside: None, far: self.rtt, ..one() }));
        all.extend(self.loss.map(|_| Scenario { loss: None, ..one() }));
        all.extend(self.reorder.map(|_| Scenario { reorder: None, ..one() }));
        all.extend(self.step.map(|_| Scenario { step: None, ..one() }));
        if self.ecn {
            all.push(Scenario { ecn: false, ..one() });
        }
        if self.far != self.rtt {
            all.push(Scenario { far: self.rtt, ..one() });
        }
        if self.seconds > SHORTEST {
            all.push(Scenario { seconds: (self.seconds / 2).max(SHORTEST), ..one() });
        }
        let (round_rate, round_rtt) = (nearest(self.rate, &ROUND_RATES), nearest(self.rtt, &ROUND_TIMES));
        if (round_rate, round_rtt) != (self.rate, self.rtt) {
            // The limit stays the same part of the bandwidth-delay product.
            let scale = (round_rate * round_rtt) as f64 / (self.rate * self.rtt) as f64;
            let limit = ((f64::from(self.limit) * scale) as u32).max(1);
            let far = if self.far == self.rtt { round_rtt } else { nearest(self.far, &ROUND_TIMES).max(round_rtt) };
            all.push(Scenario { rate: round_rate, rtt: round_rtt, far, limit, ..one() });
        }
        all
    }
}

/// Whether a discipline has this parameter.
fn accepts(discipline: &str, key: &str, value: Parameter) -> bool {
    Spec::named(discipline).is_some_and(|spec| spec.with(Parameter::Table(vec![(key.to_owned(), value)])).is_ok())
}

fn text(value: String) -> Value {
    Value::String(value)
}

fn table<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// From `low` to `high` on a logarithmic scale.
fn log(x: f64, low: f64, high: f64) -> f64 {
    low * (high / low).powf(x.clamp(0.0, 1.0))
}

/// Rounded to two significant digits.
fn two_digits(value: f64) -> u64 {
    let scale = 10_f64.powi((value.max(1.0).log10().floor() as i32 - 1).max(0));
    ((value / scale).round() * scale) as u64
}

fn choice(x: f64, of: &[&'static str]) -> &'static str {
    of[((x * of.len() as f64) as usize).min(of.len() - 1)]
}

/// The value of the list that is nearest by its factor.
fn nearest(value: u64, list: &[u64]) -> u64 {
    let far = |other: &u64| (*other as f64 / value as f64).ln().abs();
    list.iter().copied().min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(value)
}

fn rate(kbit: u64) -> String {
    if kbit >= 1000 { format!("{} Mbit/s", kbit as f64 / 1e3) } else { format!("{kbit} kbit/s") }
}

fn flows(number: u32, control: Control, rtt: u64) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} flow{plural} of {} over {rtt} ms", control.written())
}
