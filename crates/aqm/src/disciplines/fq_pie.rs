//! # FQ-PIE: flow queuing with PIE
//!
//! The scheduler of FQ-CoDel with PIE in each queue: flows share the link equally, and PIE keeps the delay
//! of each queue at `target` by drops on arrival.
//!
//! ## Law
//!
//! The scheduler is on the page `fq-codel` [rfc8290 sec 4], the law of each queue on the page `pie`
//! [rfc8033 sec 4]. Every queue has its own probability, delay and burst allowance; all are updated at the
//! same instants, every `tupdate` from the start.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 10240 | capacity of all queues together |
//! | `memory_limit` (`memlimit`) | | size | 32mb | the same limit in bytes |
//! | `flows` | | | 1024 | number of queues; too few: flows share queues |
//! | `quantum` | | size | 1500b | bytes that a queue sends per round |
//! | `drop_batch` | | packets | 64 | maximum packets dropped at once when over the limit |
//! | `salt` | | | 0 | salt of the hash: determines which flows share a queue |
//! | `target` | `QDELAY_REF` | time | 15ms | target delay of each queue |
//! | `tupdate` | `T_UPDATE` | time | 15ms | time between updates; if halved, halve `alpha` |
//! | `alpha` | alpha | 1/s | 0.125 | weight of the error. `tc` writes it times 16 (2), from 0 to 32 |
//! | `beta` | beta | 1/s | 1.25 | weight of the change. `tc` writes it times 16 (20) |
//! | `max_burst` | `MAX_BURST` | time | 150ms | burst allowance: no drops for this long after an idle period |
//! | `ecn` | | | false | mark ECN-capable packets while the drop probability is below `ecn_prob` |
//! | `ecn_prob` (`mark_ecnth`) | `MAX_ECNTH` | 1 | 0.1 | `tc` writes it in percent (10) |
//! | `bytemode` (`byte_mode`) | | | false | drop in proportion to a packet's size over `avpkt` |
//! | `avpkt` | `MEAN_PKTSIZE` | size | the link's mean | no drop if at most two of these are in the queue |
//! | `derandomize` | | | true | as PIE's |
//! | `cap` | | | true | as PIE's |
//! | `decay` | | | idle | as PIE's |
//! | `dq_rate_estimator` | | | false | as PIE's; a queue's rate is its share of the link, which changes with the others |
//! | `dq_threshold` | `DQ_THRESHOLD` | size | 16kb | as PIE's |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Over the limit it drops from the longest queue, as in RFC 8290; `tc` drops the arriving packet.
//! 2. The timer of a queue is evaluated when the queue is used, for all elapsed periods, with the results
//!    of a punctual timer; `tc` walks over all queues each time.
//! 3. PIE's inactive state (`active_from`) is omitted: an empty queue becomes inactive by itself.
//! 4. The deviations of PIE and FQ-CoDel also apply. In Linux with HZ = 250 a period of 15 ms is 20 ms (see PIE).
//! 5. `memory_limit` is a limit; `tc` counts `memory_usage` against it but drops by `limit` alone.
//!
//! ## Limits
//!
//! As FQ-CoDel's. The probability of a queue rises over seconds, so only the fair share and the burst
//! allowance act on short flows. State: `flows` times about two hundred bytes; packets in one slab, at most
//! `limit`. Per packet: constant, and a few updates; the updates of an idle queue end after about a
//! hundred, when its state is zero.
//!
//! ## Evidence
//!
//! `tests/oracle/flow_queuing.rs` combines the transcription of FQ-CoDel's scheduler with that of RFC 8033,
//! with punctual timers for every queue, with equal decisions on random and bursty traces.
//!
//! ## References
//!
//! * rfc8033: see the page `pie`.
//! * rfc8290: see the page `fq-codel`.
//! * ramakrishnan19: G. Ramakrishnan et al., FQ-PIE Queue Discipline in the Linux Kernel, LCN 2019.

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::discipline::{Discipline, discipline};
use crate::disciplines::pie::{self, Decay, Pie};
use crate::flow_queuing::{FlowQueued, Fq, FqParams};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::ParamError;
use crate::qdisc::Qdisc;

/// The parameters of FQ-PIE as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Limit of all queues together.
    pub limit: Amount,
    /// The same limit in bytes.
    #[serde(alias = "memlimit")]
    pub memory_limit: Bytes,
    /// Number of queues.
    pub flows: u32,
    /// Bytes that a queue sends in a round.
    pub quantum: Bytes,
    /// The most packets dropped at once when over the limit.
    pub drop_batch: u32,
    /// Which flows share a queue.
    pub salt: u64,
    /// The delay to hold.
    pub target: Duration,
    /// Time between updates.
    pub tupdate: Duration,
    /// Weight of the error, per second.
    pub alpha: f64,
    /// Weight of the change, per second.
    pub beta: f64,
    /// How long after a quiet time nothing is dropped.
    pub max_burst: Duration,
    /// Whether ECN-capable packets are marked while that is enough.
    pub ecn: bool,
    /// From which drop probability on marking is not enough.
    #[serde(alias = "mark_ecnth")]
    pub ecn_prob: f64,
    /// Whether the probability is in proportion to the packet's size.
    #[serde(alias = "byte_mode")]
    pub bytemode: bool,
    /// Size of a typical packet; the link's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether drops are spread.
    pub derandomize: bool,
    /// Whether increments are bounded.
    pub cap: bool,
    /// Where the drop probability decays.
    pub decay: Decay,
    /// Whether the delay is estimated from the rate of departures.
    pub dq_rate_estimator: bool,
    /// Bytes over which that rate is measured.
    pub dq_threshold: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        let pie = pie::Params::default();
        Params {
            limit: Amount::Packets(10_240.0),
            memory_limit: Bytes(32 << 20),
            flows: 1024,
            quantum: Bytes(1500),
            drop_batch: 64,
            salt: 0,
            target: pie.target,
            tupdate: pie.tupdate,
            alpha: pie.alpha,
            beta: pie.beta,
            max_burst: pie.max_burst,
            ecn: pie.ecn,
            ecn_prob: pie.ecn_prob,
            bytemode: pie.bytemode,
            avpkt: pie.avpkt,
            derandomize: pie.derandomize,
            cap: pie.cap,
            decay: pie.decay,
            dq_rate_estimator: pie.dq_rate_estimator,
            dq_threshold: pie.dq_threshold,
        }
    }
}

impl FlowQueued for Params {
    type Aqm = Pie;

    fn scheduler(&self) -> FqParams {
        FqParams {
            limit: self.limit,
            memory_limit: self.memory_limit,
            flows: self.flows,
            quantum: self.quantum,
            drop_batch: self.drop_batch,
            salt: self.salt,
        }
    }

    fn aqm(&self) -> pie::Params {
        pie::Params {
            limit: self.limit,
            target: self.target,
            tupdate: self.tupdate,
            alpha: self.alpha,
            beta: self.beta,
            max_burst: self.max_burst,
            ecn: self.ecn,
            ecn_prob: self.ecn_prob,
            bytemode: self.bytemode,
            avpkt: self.avpkt,
            derandomize: self.derandomize,
            cap: self.cap,
            decay: self.decay,
            active_from: None,
            dq_rate_estimator: self.dq_rate_estimator,
            dq_threshold: self.dq_threshold,
        }
    }
}

impl Discipline for Params {
    discipline!("fq-pie");

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        self.check(link)?;
        Ok(Params { avpkt: Some(link.avpkt(self.avpkt)?), ..self.clone() })
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Fq::<P, Params>::new(self, link, now)?))
    }
}
