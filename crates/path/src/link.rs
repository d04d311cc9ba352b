//! The settings of one direction of a path.

use std::str::FromStr;
use std::sync::Arc;
use std::time;

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::near::suggest;
use aqmkit_base::read::Value;
use aqmkit_base::trace::Trace;
use aqmkit_base::units::{parse_duration, parse_rate};
use aqmkit_base::wire::{Jitter, Loss, Reorder, Wire};
use aqmkit_base::{BitRate, Framing, Instant, ParamError};

use crate::clock;
use crate::shaper::Setup;

/// One direction of a path: a queue, a transmitter and a wire, in the terms of `tc` and of aqmkit's experiment files.
///
/// Quantities are strings with units, as in `tc`. They are read by [`Path::new`](crate::Path::new), which reports the
/// first that is wrong. The default queue is a `fifo` of 60 packets, the default wire is perfect.
///
/// ```
/// use aqmkit_path::Link;
/// use std::time::Duration;
///
/// let link = Link::new("20mbit", "15ms")              // rate, one-way delay
///     .queue("fq_codel").set("target", "5ms").set("ecn", true)
///     .loss("0.1%").jitter("2ms").reorder("1%,5ms")
///     .rate_at(Duration::from_secs(20), "2mbit");     // what a handover does
/// # aqmkit_path::Path::<()>::new(&link, 1).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    name: Option<String>,
    rate: String,
    delay: String,
    queue: String,
    parameters: Vec<(String, Value)>,
    trace: Option<String>,
    loss: Option<String>,
    mark: Option<String>,
    jitter: Option<String>,
    reorder: Option<String>,
    overhead: i32,
    changes: Vec<(time::Duration, Change)>,
}

/// A change during the run.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    Rate(String),
    Delay(String),
}

impl Link {
    /// A link of this rate (`20mbit`) and one-way propagation delay (`15ms`).
    #[must_use]
    pub fn new(rate: &str, delay: &str) -> Self {
        Link {
            name: None,
            rate: rate.to_owned(),
            delay: delay.to_owned(),
            queue: "fifo".to_owned(),
            parameters: Vec::new(),
            trace: None,
            loss: None,
            mark: None,
            jitter: None,
            reorder: None,
            overhead: 0,
            changes: Vec::new(),
        }
    }

    /// A link whose rate varies as in a trace of mahimahi: `trace` is the contents of the file, one delivery
    /// opportunity of 1500 bytes a line, in milliseconds. It repeats. Disciplines assume its mean rate.
    #[must_use]
    pub fn traced(trace: &str, delay: &str) -> Self {
        Link { trace: Some(trace.to_owned()), ..Link::new("", delay) }
    }

    /// The queue discipline, by its name: `fifo`, `red`, `codel`, `fq_codel`, `pie`, `dualpi2`, `cake`, … (`aqmkit
    /// describe` lists all). Parameters set so far are kept.
    #[must_use]
    pub fn queue(mut self, discipline: &str) -> Self {
        discipline.clone_into(&mut self.queue);
        self
    }

    /// A parameter of the discipline, as in an experiment file: `("limit", 100)`, `("target", "5ms")`, `("ecn", true)`.
    #[must_use]
    pub fn set(mut self, parameter: &str, value: impl Into<Value>) -> Self {
        self.parameters.retain(|(name, _)| name != parameter);
        self.parameters.push((parameter.to_owned(), value.into()));
        self
    }

    /// Losses on the wire, behind the queue: `1%`, `every=100,burst=2`, or the Gilbert-Elliott model `p=1%,r=25%`.
    #[must_use]
    pub fn loss(mut self, loss: &str) -> Self {
        self.loss = Some(loss.to_owned());
        self
    }

    /// Marks of ECN-capable packets on the wire, written like [`Link::loss`].
    #[must_use]
    pub fn mark(mut self, mark: &str) -> Self {
        self.mark = Some(mark.to_owned());
        self
    }

    /// An additional delay of each packet, uniform from zero to this. Packets stay in order, unless `,overtaking` is
    /// appended.
    #[must_use]
    pub fn jitter(mut self, jitter: &str) -> Self {
        self.jitter = Some(jitter.to_owned());
        self
    }

    /// Reordering: `1%,5ms` delays one in a hundred packets by 5 ms, so that later ones overtake it.
    #[must_use]
    pub fn reorder(mut self, reorder: &str) -> Self {
        self.reorder = Some(reorder.to_owned());
        self
    }

    /// Bytes that the link layer adds to each packet.
    #[must_use]
    pub fn overhead(mut self, bytes: i32) -> Self {
        self.overhead = bytes;
        self
    }

    /// Changes the rate during the run, while packets are queued. Not for traces.
    #[must_use]
    pub fn rate_at(mut self, at: time::Duration, rate: &str) -> Self {
        self.changes.push((at, Change::Rate(rate.to_owned())));
        self
    }

    /// Changes the propagation delay during the run. Packets that are under way stay in order.
    #[must_use]
    pub fn delay_at(mut self, at: time::Duration, delay: &str) -> Self {
        self.changes.push((at, Change::Delay(delay.to_owned())));
        self
    }

    /// The name of the link. The streams of random numbers depend on it: a link of the simulator with the same name and
    /// seed draws the same numbers. By default, `there` for the direction from A to B, `back` for the other.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The set-up of a shaper, and its changes in the order of their times.
    pub(crate) fn read(&self, name: &str, seed: u64) -> Result<(Setup, Vec<(Instant, Setup)>), ParamError> {
        let trace = self.read_trace()?;
        let rate = match &trace {
            Some(trace) => trace.mean_rate(),
            None => read("rate", &self.rate, parse_rate)?,
        };
        let name = self.name.as_deref().unwrap_or(name);
        let setup = Setup {
            trace,
            wire: self.wire()?,
            framing: Framing::bytes(self.overhead),
            seed,
            ..Setup::new(
                name,
                at_least_one(rate, &self.rate)?,
                read("delay", &self.delay, parse_duration)?,
                self.spec()?,
            )
        };
        let changes = self.changes(&setup)?;
        Ok((setup, changes))
    }

    fn read_trace(&self) -> Result<Option<Arc<Trace>>, ParamError> {
        let Some(text) = &self.trace else { return Ok(None) };
        match Trace::parse("the trace", text) {
            Ok(trace) => Ok(Some(Arc::new(trace))),
            Err(e) => Err(ParamError::sentence("", e.to_string(), e.right)),
        }
    }

    fn wire(&self) -> Result<Wire, ParamError> {
        let jitter = option("jitter", self.jitter.as_deref(), Jitter::from_str)?.unwrap_or_default();
        Ok(Wire {
            loss: option("loss", self.loss.as_deref(), Loss::from_str)?.unwrap_or_default(),
            mark: option("mark", self.mark.as_deref(), Loss::from_str)?.unwrap_or_default(),
            jitter: jitter.time,
            overtaking: jitter.overtaking,
            reorder: option("reorder", self.reorder.as_deref(), Reorder::from_str)?,
            slot: None,
        })
    }

    fn spec(&self) -> Result<Spec, ParamError> {
        let Some(named) = Spec::named(&self.queue) else {
            let near = suggest(&self.queue, registry::ALL.iter().map(|entry| entry.name));
            return Err(ParamError::sentence("queue", format!("{:?} is not a discipline", self.queue), near));
        };
        named.with(Value::Table(self.parameters.clone())).map_err(|e| self.about_parameter(e))
    }

    /// An error about a parameter, as a sentence that names the discipline.
    pub(crate) fn about_parameter(&self, error: ParamError) -> ParamError {
        let written = error.as_written(&Value::Table(self.parameters.clone()));
        let said = written.of(&self.queue);
        ParamError::sentence("", said.what, said.right)
    }

    fn changes(&self, first: &Setup) -> Result<Vec<(Instant, Setup)>, ParamError> {
        let mut changes: Vec<_> = self.changes.iter().collect();
        changes.sort_by_key(|(at, _)| *at);
        let mut setup = first.clone();
        let mut all = Vec::new();
        for (at, change) in changes {
            match change {
                Change::Rate(_) if setup.trace.is_some() => {
                    let right = "the trace decides its rate: use rate_at without a trace, or write the change into it";
                    return Err(ParamError::sentence("rate_at", "the link follows a trace", right));
                }
                Change::Rate(rate) => setup.rate = at_least_one(read("rate_at", rate, parse_rate)?, rate)?,
                Change::Delay(delay) => setup.delay = read("delay_at", delay, parse_duration)?,
            }
            all.push((clock::instant(*at), setup.clone()));
        }
        Ok(all)
    }
}

/// A rate of zero would hold packets for ever.
fn at_least_one(rate: BitRate, text: &str) -> Result<BitRate, ParamError> {
    if rate == BitRate::default() {
        return Err(ParamError::new("rate", text, "it must be at least 1bit"));
    }
    Ok(rate)
}

fn read<T, E: ToString>(key: &str, text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, ParamError> {
    parse(text).map_err(|e| ParamError::sentence(key, e.to_string(), ""))
}

fn option<T, E: ToString>(
    key: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, ParamError> {
    text.map(|text| read(key, text, parse)).transpose()
}
