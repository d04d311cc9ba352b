//! User-defined disciplines, which a program provides under an id.
//!
//! A [`Decide`] is an [`Aqm`] defined by the program. It governs a FIFO; [`Params`] are its parameters in
//! an experiment, and the simulator looks it up by id in [`Customs`]. The id must cover everything that
//! determines its behaviour, so that stored runs of changed code are not reused.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aqmkit_base::{Amount, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::fifo::Fifo;
use crate::link::Link;
use crate::packet::{Packet, PacketView};
use crate::params::{ParamError, positive_time, usable_limit};
use crate::qdisc::Qdisc;
use crate::verdict::Verdict;

/// The name under which experiments use any of them.
pub const NAME: &str = "custom";

/// The parameters of a user-defined discipline in an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Its id.
    pub id: String,
    /// Capacity of the queue.
    pub limit: Amount,
    /// The period of its timer, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Params { id: String::new(), limit: Amount::Packets(60.0), tick: None }
    }
}

impl Params {
    fn unknown(&self) -> ParamError {
        ParamError::new("id", &self.id, "a custom discipline needs the program that defines it")
    }
}

impl Discipline for Params {
    discipline!("custom");

    fn effective(&self, _link: &Link) -> Result<Self, ParamError> {
        usable_limit("limit", self.limit)?;
        self.tick.map_or(Ok(Duration::ZERO), |tick| positive_time("tick", tick))?;
        if self.id.is_empty() { Err(self.unknown()) } else { Ok(self.clone()) }
    }

    fn build<P: Packet + 'static>(&self, _link: &Link, _now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Err(self.unknown())
    }
}

/// The hooks of a user-defined [`Aqm`], with the same meaning.
pub trait Decide {
    /// As [`Aqm::on_arrival`].
    fn on_arrival(&mut self, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict;
    /// As [`Aqm::on_departure`].
    fn on_departure(&mut self, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict;
    /// As [`Aqm::on_discard`].
    fn on_discard(&mut self, pkt: PacketView, queue: QueueView, now: Instant);
    /// As [`Aqm::on_empty`].
    fn on_empty(&mut self, now: Instant);
    /// As [`Aqm::on_tick`].
    fn on_tick(&mut self, queue: QueueView, now: Instant);
    /// As [`Aqm::probe`].
    fn probe(&self, out: &mut dyn FnMut(&str, f64));
}

/// Creates the discipline of one queue in its initial state.
pub trait Make: Send + Sync {
    /// Creates the discipline for a queue at this link.
    fn make(&self, link: &Link) -> Box<dyn Decide>;
}

/// The user-defined disciplines, by id.
#[derive(Clone, Default)]
pub struct Customs(BTreeMap<String, Arc<dyn Make>>);

impl fmt::Debug for Customs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Customs {
    /// Adds one.
    pub fn insert(&mut self, id: impl Into<String>, make: Arc<dyn Make>) {
        self.0.insert(id.into(), make);
    }

    /// An empty queue at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used, or there is none of this id.
    pub fn build<P: Packet + 'static>(
        &self,
        params: &Params,
        link: &Link,
        now: Instant,
    ) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        let params = params.effective(link)?;
        let make = Arc::clone(self.0.get(&params.id).ok_or_else(|| params.unknown())?);
        Ok(Box::new(Fifo::<P, Custom>::of(Config { params, make, link: link.clone() }, now)))
    }
}

/// A [`Decide`] as an [`Aqm`].
struct Custom(Box<dyn Decide>);

/// The factory of a [`Custom`].
struct Config {
    params: Params,
    make: Arc<dyn Make>,
    link: Link,
}

impl Aqm for Custom {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, _link: &Link) -> Result<Config, ParamError> {
        Err(params.unknown())
    }

    fn limit(config: &Config) -> Amount {
        config.params.limit
    }

    fn new(config: &Config, _now: Instant) -> Self {
        Custom(config.make.make(&config.link))
    }

    fn on_arrival(&mut self, _: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.0.on_arrival(pkt, queue, env)
    }

    fn on_departure(&mut self, _: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.0.on_departure(pkt, queue, env)
    }

    fn on_discard(&mut self, _: &Config, pkt: PacketView, queue: QueueView, now: Instant) {
        self.0.on_discard(pkt, queue, now);
    }

    fn on_empty(&mut self, _: &Config, now: Instant) {
        self.0.on_empty(now);
    }

    fn tick(config: &Config) -> Option<Duration> {
        config.params.tick
    }

    fn on_tick(&mut self, _: &Config, queue: QueueView, now: Instant) {
        self.0.on_tick(queue, now);
    }

    fn probe(&self, _: &Config, out: &mut dyn FnMut(&str, f64)) {
        self.0.probe(out);
    }
}
