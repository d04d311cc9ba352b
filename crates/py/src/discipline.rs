//! A discipline written in Python: an object with the hooks of `aqmkit.Aqm`, called for each packet.

use std::collections::BTreeMap;
use std::sync::Arc;

use aqmkit_aqm::custom::{Decide, Make};
use aqmkit_aqm::{PacketView, QueueView, Why, aqm, registry};
use aqmkit_base::{Instant, Rng};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::control::Control;

/// The decision about a packet: `PASS`, `DROP`, or `MARK`, which drops a packet that cannot carry a mark; none can unless the
/// transport uses ECN.
#[pyclass(frozen, eq, eq_int, hash, module = "aqmkit._aqmkit", rename_all = "UPPERCASE")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Verdict {
    /// Let it through.
    Pass,
    /// Let it through with Congestion Experienced set. A packet that cannot carry a mark is dropped, and none can unless
    /// the transport uses ECN.
    Mark,
    /// Discard it.
    Drop,
}

/// The callable and arguments with which `pickle` reconstructs an object.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyType>, &'static str));

#[pymethods]
impl Verdict {
    /// Makes verdicts picklable, so that an object with a verdict among its attributes can be copied.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let name = match self {
            Verdict::Pass => "PASS",
            Verdict::Mark => "MARK",
            Verdict::Drop => "DROP",
        };
        Ok((py.import("builtins")?.getattr("getattr")?, (py.get_type::<Verdict>(), name)))
    }
}

/// The link that a queue is attached to.
#[pyclass(frozen, get_all, module = "aqmkit._aqmkit")]
#[derive(Clone)]
pub(crate) struct Link {
    /// The link rate in bits per second.
    rate_bps: u64,
    /// The mean packet size in bytes, with headers.
    mean_packet_bytes: u64,
    /// The names of the traffic classes.
    classes: Vec<String>,
}

/// The packet as a discipline sees it.
#[pyclass(frozen, get_all, module = "aqmkit._aqmkit")]
pub(crate) struct Packet {
    /// Length in bytes, with headers.
    bytes: u32,
    /// The flow it belongs to: one direction of one connection.
    flow: u64,
    /// The name of its traffic class.
    traffic_class: Py<PyString>,
    /// Sojourn time in seconds: zero on arrival.
    sojourn_s: f64,
    /// Whether the packet is ECN-capable (ECT).
    ecn_capable: bool,
}

/// The queue at the time of a decision, not counting the packet that the decision is about.
#[pyclass(frozen, get_all, module = "aqmkit._aqmkit")]
pub(crate) struct Queue {
    /// Packets waiting.
    packets: u32,
    /// Bytes waiting.
    bytes: u64,
    /// On arrival: whether the packet does not fit. If so, it is dropped whatever the verdict.
    full: bool,
}

/// The current time, and the queue's random number generator.
#[pyclass(module = "aqmkit._aqmkit")]
pub(crate) struct Env {
    /// The time in nanoseconds since the start of the run.
    #[pyo3(get)]
    now_ns: u64,
    rng: Rng,
}

#[pymethods]
impl Env {
    /// The time in seconds since the start of the run.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now_ns as f64 / 1e9
    }

    /// The next number from the queue's generator, uniform on [0, 1). Every run with the same seed draws the same
    /// numbers.
    fn random(&mut self) -> f64 {
        self.rng.uniform()
    }
}

/// Creates the discipline of each queue by copying an object that has not seen a packet.
pub(crate) struct Prototype {
    pub(crate) object: Py<PyAny>,
    pub(crate) control: Arc<Control>,
}

impl Make for Prototype {
    fn make(&self, link: &registry::Link) -> Box<dyn Decide> {
        let started = Python::attach(|py| self.start(py, link));
        match started {
            Ok(hooks) => Box::new(InPython { hooks: Some(hooks), control: Arc::clone(&self.control) }),
            Err(error) => {
                self.control.fail(error);
                Box::new(InPython { hooks: None, control: Arc::clone(&self.control) })
            }
        }
    }
}

impl Prototype {
    fn start(&self, py: Python<'_>, link: &registry::Link) -> PyResult<Hooks> {
        let object = py.import("copy")?.call_method1("deepcopy", (&self.object,))?;
        let seen =
            Link { rate_bps: link.rate.as_bps(), mean_packet_bytes: link.mean_packet.0, classes: link.classes.clone() };
        object.call_method1("on_start", (seen,))?;
        let base = py.import("aqmkit.discipline")?.getattr("Aqm")?;
        let hook = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let inherited = object.get_type().getattr(name)?.is(&base.getattr(name)?);
            if inherited { Ok(None) } else { object.getattr(name).map(|h| Some(h.unbind())) }
        };
        Ok(Hooks {
            on_arrival: hook("on_arrival")?,
            on_departure: hook("on_departure")?,
            on_discard: hook("on_discard")?,
            on_empty: hook("on_empty")?,
            on_tick: hook("on_tick")?,
            gauges: hook("gauges")?,
            env: Py::new(py, Env { now_ns: 0, rng: Rng::stream(0, "") })?,
            classes: link.classes.iter().map(|name| PyString::new(py, name).unbind()).collect(),
            no_class: PyString::new(py, "").unbind(),
        })
    }
}

/// The hooks that a copy overrides, and reusable arguments for calling them.
struct Hooks {
    on_arrival: Option<Py<PyAny>>,
    on_departure: Option<Py<PyAny>>,
    on_discard: Option<Py<PyAny>>,
    on_empty: Option<Py<PyAny>>,
    on_tick: Option<Py<PyAny>>,
    gauges: Option<Py<PyAny>>,
    env: Py<Env>,
    classes: Vec<Py<PyString>>,
    no_class: Py<PyString>,
}

impl Hooks {
    fn packet(&self, py: Python<'_>, pkt: &PacketView) -> Packet {
        let class = self.classes.get(pkt.class.index()).unwrap_or(&self.no_class);
        Packet {
            bytes: pkt.len,
            flow: pkt.flow.0,
            traffic_class: class.clone_ref(py),
            sojourn_s: pkt.sojourn.as_secs_f64(),
            ecn_capable: pkt.ecn.is_capable(),
        }
    }

    /// Calls a hook that returns a verdict and may draw random numbers.
    fn decide(
        &self,
        hook: Option<&Py<PyAny>>,
        pkt: &PacketView,
        view: QueueView,
        env: &mut aqm::Env<'_>,
    ) -> PyResult<Verdict> {
        let Some(hook) = hook else { return Ok(Verdict::Pass) };
        Python::attach(|py| {
            {
                let mut seen = self.env.borrow_mut(py);
                seen.now_ns = env.now.as_nanos();
                seen.rng = env.rng.clone();
            }
            let answer = hook.bind(py).call1((self.packet(py, pkt), queue(view), &self.env))?;
            *env.rng = self.env.borrow(py).rng.clone();
            if answer.is_none() {
                return Ok(Verdict::Pass);
            }
            Ok(*answer.cast::<Verdict>().map_err(PyErr::from)?.get())
        })
    }
}

fn queue(view: QueueView) -> Queue {
    Queue { packets: view.packets, bytes: view.bytes, full: view.full }
}

/// A discipline in Python. After an exception it passes every packet until the run has stopped.
struct InPython {
    hooks: Option<Hooks>,
    control: Arc<Control>,
}

impl InPython {
    /// Calls `hook`, unless the run is stopping. An exception stops the run.
    fn call<T>(&self, hook: impl FnOnce(&Hooks) -> PyResult<T>) -> Option<T> {
        let hooks = self.hooks.as_ref().filter(|_| !self.control.stopped())?;
        hook(hooks).map_err(|error| self.control.fail(error)).ok()
    }

    /// Calls a hook that returns nothing.
    fn notify<'py, A>(&self, which: fn(&Hooks) -> Option<&Py<PyAny>>, args: impl Fn(Python<'_>, &Hooks) -> A)
    where
        A: for<'a> pyo3::call::PyCallArgs<'a>,
    {
        self.call(|hooks| {
            let Some(hook) = which(hooks) else { return Ok(()) };
            Python::attach(|py| hook.bind(py).call1(args(py, hooks)).map(|_| ()))
        });
    }

    fn verdict(verdict: Option<Verdict>, pkt: &PacketView, why: Why) -> aqmkit_aqm::Verdict {
        match verdict {
            None | Some(Verdict::Pass) => aqmkit_aqm::Verdict::Pass,
            Some(Verdict::Mark) => pkt.signal(true, why),
            Some(Verdict::Drop) => aqmkit_aqm::Verdict::Drop(why),
        }
    }
}

impl Decide for InPython {
    fn on_arrival(&mut self, pkt: PacketView, queue: QueueView, env: &mut aqm::Env<'_>) -> aqmkit_aqm::Verdict {
        let verdict = self.call(|hooks| hooks.decide(hooks.on_arrival.as_ref(), &pkt, queue, env));
        Self::verdict(verdict, &pkt, if queue.full { Why::Overflow } else { Why::Early })
    }

    fn on_departure(&mut self, pkt: PacketView, queue: QueueView, env: &mut aqm::Env<'_>) -> aqmkit_aqm::Verdict {
        let verdict = self.call(|hooks| hooks.decide(hooks.on_departure.as_ref(), &pkt, queue, env));
        Self::verdict(verdict, &pkt, Why::Sojourn)
    }

    fn on_discard(&mut self, pkt: PacketView, view: QueueView, now: Instant) {
        self.notify(|h| h.on_discard.as_ref(), |py, h| (h.packet(py, &pkt), queue(view), now.as_nanos()));
    }

    fn on_empty(&mut self, now: Instant) {
        self.notify(|h| h.on_empty.as_ref(), |_, _| (now.as_nanos(),));
    }

    fn on_tick(&mut self, view: QueueView, now: Instant) {
        self.notify(|h| h.on_tick.as_ref(), |_, _| (queue(view), now.as_nanos()));
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        let gauges = self.call(|hooks| {
            let Some(hook) = &hooks.gauges else { return Ok(BTreeMap::new()) };
            Python::attach(|py| hook.bind(py).call0()?.extract::<BTreeMap<String, f64>>())
        });
        gauges.unwrap_or_default().iter().for_each(|(name, value)| out(name, *value));
    }
}
