//! RED for each of SFQ's queues, as in Linux: it averages the queue's bytes, and is reset with the queue.

use aqmkit_base::{Amount, Bytes, Rng};

use super::Params;
use crate::law::early::{DropMode, Ramp};
use crate::law::ewma::{AveragingParams, Ewma};
use crate::link::Link;
use crate::packet::MarkRules;
use crate::params::{ParamError, in_range};
use crate::qdisc::Backlog;
use crate::verdict::Why;

/// Settings that all queues share.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Bytes that a queue may hold.
    pub(super) limit: u64,
    pub(super) marks: MarkRules,
    ramp: Ramp,
    weight: f64,
}

/// One queue's.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowRed {
    avg: Ewma,
    mode: DropMode,
}

impl FlowRed {
    /// Updates the average with the queue that an arrival sees.
    pub(super) fn average(&mut self, config: &Config, queue: Backlog) {
        self.avg.sample(config.weight, queue.bytes as f64);
    }

    /// The reason to drop or mark the arrival, if any.
    pub(super) fn decide(&mut self, config: &Config, queue: Backlog, rng: &mut Rng) -> Option<Why> {
        self.average(config, queue);
        self.mode.on_arrival(&config.ramp, self.avg.get(), queue.packets as u32, 1.0, rng)
    }
}

impl Params {
    /// The same with omitted RED parameters derived as in `tc`, if the queues have a RED.
    pub(super) fn with_red(&self, link: &Link) -> Result<Self, ParamError> {
        let Some(limit) = self.redflowlimit else {
            let red = [self.min.is_some(), self.max.is_some(), self.burst.is_some(), self.weight.is_some()];
            if red.contains(&true) {
                let want = "min, max, burst and weight are parameters of RED, which this enables";
                return Err(ParamError::new("redflowlimit", "nothing", want).cite("tc-sfq(8)"));
            }
            return Ok(self.clone());
        };
        let max = self.max.unwrap_or(Bytes(limit.0 / 4));
        let min = self.min.unwrap_or(Bytes(max.0 / 3));
        let avpkt = link.avpkt(self.avpkt)?;
        let usual = (2 * min.0).saturating_add(max.0) / avpkt.0.saturating_mul(3);
        let burst = self.burst.or(self.weight.is_none().then_some(u32::try_from(usual).unwrap_or(u32::MAX)));
        let averaging = AveragingParams { weight: self.weight, burst, avpkt: Some(avpkt), bandwidth: None };
        let full = averaging.complete(link, Amount::Bytes(min.0), 1.0)?;
        Ok(Params { min: Some(min), max: Some(max), avpkt: Some(avpkt), burst, weight: full.weight, ..self.clone() })
    }

    /// The RED of each queue, from complete parameters.
    pub(super) fn red(&self) -> Result<Option<Config>, ParamError> {
        let (Some(limit), Some(min), Some(max), Some(weight)) = (self.redflowlimit, self.min, self.max, self.weight)
        else {
            return Ok(None);
        };
        in_range("max", max.as_f64(), 1.0, limit.as_f64()).map_err(|e| e.cite("tc-sfq(8): redflowlimit"))?;
        let ramp = Ramp { min: min.as_f64(), max: max.as_f64(), max_p: self.probability, gentle: false }.check()?;
        let marks = MarkRules { ecn: self.ecn, harddrop: self.harddrop, nodrop: false };
        Ok(Some(Config { limit: limit.0, marks, ramp, weight }))
    }
}
