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

use aqmkit_base::Instant;

use crate::discipline::{Discipline, discipline};
use crate::disciplines::pie::{self, Pie, params_with_pie};
use crate::flow_queuing::{FlowQueued, Fq, FqParams, params_with_fq};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::ParamError;
use crate::qdisc::Qdisc;

params_with_fq! {
    params_with_pie,
    /// The parameters of FQ-PIE as a user writes them.
    {}
}

impl FlowQueued for Params {
    type Aqm = Pie;

    fn scheduler(&self) -> FqParams {
        self.fq()
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
