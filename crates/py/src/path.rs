//! A path for tests of transport stacks, with contents of any type of Python.

use std::time::Duration;

use aqmkit_path::{Datagram, Delays, Ecn, End, Link, Path, Report, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

/// A datagram that has arrived.
#[pyclass(frozen, get_all, module = "aqmkit._aqmkit")]
pub(crate) struct Arrival {
    /// When, in seconds since the start.
    at: f64,
    /// Where: `a` or `b`.
    to: &'static str,
    /// The object that was sent.
    content: Py<PyAny>,
    /// Length in bytes, with headers.
    bytes: u32,
    /// The ECN codepoint: `not-ect`, `ect0`, `ect1`, or `ce` if the path has marked it.
    ecn: &'static str,
}

/// A distribution of delays in seconds.
#[pyclass(frozen, get_all, module = "aqmkit._aqmkit", name = "PathDelays")]
#[derive(Clone, Copy)]
pub(crate) struct PathDelays {
    /// Arithmetic mean.
    mean: f64,
    /// Median.
    median: f64,
    /// 99th percentile.
    p99: f64,
    /// The longest.
    max: f64,
}

impl From<Delays> for PathDelays {
    fn from(delays: Delays) -> Self {
        let [mean, median, p99, max] =
            [delays.mean, delays.median, delays.p99, delays.max].map(|time| time.as_secs_f64());
        PathDelays { mean, median, p99, max }
    }
}

/// The numbers of one direction of a path in a time window.
#[pyclass(frozen, get_all, module = "aqmkit._aqmkit", name = "PathReport")]
pub(crate) struct PathReport {
    /// Datagrams that arrived at the queue.
    offered: u64,
    /// Datagrams that left the queue.
    sent: u64,
    /// Datagrams that arrived at the other end, of those that were polled.
    arrived: u64,
    /// Datagrams that the queue dropped, by reason.
    dropped: Py<PyDict>,
    /// Datagrams that the wire lost.
    lost: u64,
    /// Datagrams that the queue marked.
    marked: u64,
    /// Bits per second that passed, with headers.
    throughput_bps: f64,
    /// Throughput divided by the rate of the link.
    utilization: f64,
    /// Time in the queue.
    queue_delay: PathDelays,
    /// Time from sending to arrival.
    transit: PathDelays,
    /// The report as text.
    text: String,
}

#[pymethods]
impl PathReport {
    fn __str__(&self) -> &str {
        &self.text
    }
}

impl PathReport {
    fn new(py: Python<'_>, report: &Report) -> PyResult<Self> {
        let dropped = PyDict::new(py);
        for (why, packets) in &report.dropped {
            dropped.set_item(why.name(), packets)?;
        }
        Ok(PathReport {
            offered: report.offered,
            sent: report.sent,
            arrived: report.arrived,
            dropped: dropped.unbind(),
            lost: report.lost,
            marked: report.marked,
            throughput_bps: report.throughput_bps,
            utilization: report.utilization,
            queue_delay: report.queue_delay.into(),
            transit: report.transit.into(),
            text: report.to_string(),
        })
    }
}

/// A path between the ends `a` and `b`; `aqmkit.Path` makes one from keywords.
#[pyclass(unsendable, module = "aqmkit._aqmkit", name = "NativePath")]
pub(crate) struct NativePath(Path<Py<PyAny>>);

#[pymethods]
impl NativePath {
    #[new]
    fn new(there: &Bound<'_, PyDict>, back: &Bound<'_, PyDict>, seed: u64) -> PyResult<Self> {
        let path = Path::between(&link(there)?, &link(back)?, seed);
        path.map(NativePath).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// Sends anything as a datagram of `bytes` bytes, headers included.
    fn send(&mut self, from: &str, content: Py<PyAny>, bytes: u32, now: f64, ecn: &str, flow: u64) -> PyResult<()> {
        let datagram = Datagram::new(content, bytes).ecn(codepoint(ecn)?).flow(flow);
        self.0.send(end(from)?, datagram, time(now)?);
        Ok(())
    }

    /// When something happens next; None if nothing is under way.
    fn deadline(&self) -> Option<f64> {
        self.0.deadline().map(|at| at.as_secs_f64())
    }

    /// The next datagram that has arrived by `now`.
    fn poll(&mut self, now: f64) -> PyResult<Option<Arrival>> {
        Ok(self.0.poll(time(now)?).map(|arrival| Arrival {
            at: arrival.at.as_secs_f64(),
            to: match arrival.to {
                End::A => "a",
                End::B => "b",
            },
            bytes: arrival.datagram.len,
            ecn: name(arrival.datagram.ecn),
            content: arrival.datagram.content,
        }))
    }

    /// Packets that wait in the queue of those that an end has sent.
    fn waiting(&self, from: &str) -> PyResult<u64> {
        Ok(self.0.waiting(end(from)?))
    }

    /// The numbers of what an end has sent, of all the run or of a part of it.
    fn report(&self, py: Python<'_>, from: &str, window: Option<(f64, f64)>) -> PyResult<PathReport> {
        let from = end(from)?;
        let report = match window {
            None => self.0.report(from),
            Some((start, stop)) => self.0.window(from, time(start)?..time(stop)?),
        };
        PathReport::new(py, &report)
    }

    /// The queueing delay over time as a chart of text.
    fn chart(&self, from: &str) -> PyResult<String> {
        Ok(self.0.chart(end(from)?))
    }

    /// The same as an SVG file.
    fn svg(&self, from: &str) -> PyResult<String> {
        Ok(self.0.svg(end(from)?))
    }

    /// A hash of all events so far.
    fn digest(&self) -> u64 {
        self.0.digest()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }
}

/// A time in seconds, to the nearest nanosecond.
fn time(seconds: f64) -> PyResult<Duration> {
    match (0.0..1e9).contains(&seconds) {
        true => Ok(Duration::from_nanos((seconds * 1e9).round() as u64)),
        false => Err(PyValueError::new_err(format!("{seconds} is not a time: it must be in seconds since the start"))),
    }
}

fn end(name: &str) -> PyResult<End> {
    match name {
        "a" => Ok(End::A),
        "b" => Ok(End::B),
        _ => Err(PyValueError::new_err(format!("{name:?} is not an end of a path: write \"a\" or \"b\""))),
    }
}

const ECN: [(&str, Ecn); 4] = [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

fn codepoint(name: &str) -> PyResult<Ecn> {
    let found = ECN.into_iter().find(|(known, _)| *known == name);
    let wrong = || format!("{name:?} is not an ECN codepoint: write \"not-ect\", \"ect0\", \"ect1\" or \"ce\"");
    found.map(|(_, ecn)| ecn).ok_or_else(|| PyValueError::new_err(wrong()))
}

fn name(ecn: Ecn) -> &'static str {
    ECN.into_iter().find(|(_, known)| *known == ecn).map_or("not-ect", |(name, _)| name)
}

/// A link from its keywords; those that it does not know are parameters of the discipline.
fn link(keywords: &Bound<'_, PyDict>) -> PyResult<Link> {
    let text = |key: &str| -> PyResult<Option<String>> {
        let given = keywords.get_item(key)?.filter(|value| !value.is_none());
        given.map(|value| value.extract()).transpose()
    };
    let (rate, delay) = (text("rate")?.unwrap_or_default(), text("delay")?.unwrap_or_default());
    let mut link = match text("trace")? {
        Some(trace) => Link::traced(&trace, &delay),
        None => Link::new(&rate, &delay),
    };
    for (key, value) in keywords.iter().filter(|(_, value)| !value.is_none()) {
        link = with(link, &key.extract::<String>()?, &value)?;
    }
    Ok(link)
}

fn with(link: Link, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Link> {
    let text = || value.extract::<String>();
    let changes = || value.extract::<Vec<(f64, String)>>();
    let on_time = |(at, to): (f64, String)| -> PyResult<_> { Ok((time(at)?, to)) };
    Ok(match key {
        "rate" | "delay" | "trace" => link,
        "queue" => link.queue(&text()?),
        "loss" => link.loss(&text()?),
        "mark" => link.mark(&text()?),
        "jitter" => link.jitter(&text()?),
        "reorder" => link.reorder(&text()?),
        "overhead" => link.overhead(value.extract()?),
        "name" => link.name(&text()?),
        "rate_at" => changes()?
            .into_iter()
            .map(on_time)
            .try_fold(link, |link, change| change.map(|(at, rate)| link.rate_at(at, &rate)))?,
        "delay_at" => changes()?
            .into_iter()
            .map(on_time)
            .try_fold(link, |link, change| change.map(|(at, delay)| link.delay_at(at, &delay)))?,
        parameter => link.set(parameter, parameter_value(parameter, value)?),
    })
}

fn parameter_value(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // A bool is an int in Python.
    if let Ok(given) = value.cast::<PyBool>() {
        return Ok(Value::Bool(given.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Value::Integer(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Number(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::Text(value.extract()?));
    }
    let kind = value.get_type().name()?;
    Err(PyValueError::new_err(format!("{name} is a {kind}: it must be a number, a text, True or False")))
}
