//! # SRED: stabilized RED
//!
//! Estimates the number of flows without per-flow state: each arriving packet is compared with a random
//! entry of a list of recently seen flows (zombies), and the rate of hits is about one over the number of
//! flows. The drop probability depends on this rate and on the instantaneous queue, so that the queue
//! length does not depend on the number of flows.
//!
//! ## Law
//!
//! On arrival of a packet of flow `f`, with `q` the queue before it and B its limit:
//!
//! ```text
//! zombies fewer than M:  put (f, 0) in
//! else draw a zombie z:  z = f: count_z++, H = 1                               [ott99]
//!                        else H = 0, and with probability p z becomes (f, 0)
//!                        P <- (1 - a) P + a H                                  [ott99]
//! p_sred(q) = p_max      B/3 <= q                                              [ott99]
//!             p_max / 4  B/6 <= q < B/3
//!             0          q < B/6
//! p_zap = p_sred(q) min(1, 1 / (256 P)^2)                    simple SRED
//! p_zap = p_sred(q) min(1, 1 / (256 P)^2) (1 + H / P)        full SRED
//! ```
//!
//! 1/P estimates the number of flows. `P` falling from 1/10 to 1/100 raises the drop probability a
//! hundredfold, as N TCP flows require; above 256 flows it stays at `p_sred`. Full SRED drops packets with
//! a hit more often: flows that send more have more hits.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | B | queue length | 500000b | capacity of the queue; its unit is that of `q`. The paper's is 0.5 MB at 45 Mb/s: set it to about 90 ms of the link |
//! | `zombies` | M | | 1000 | length of the list; its memory is M/p packets, which should be a few round-trip times of traffic |
//! | `overwrite` | p | 1 | 0.25 | probability that a packet without a hit replaces the zombie |
//! | `weight` (`a`) | a | 1 | 1/M | weight of the newest comparison; p/M has the memory of the list, larger values are noisy |
//! | `max_p` (`probability`) | `p_max` | 1 | 0.15 | drop probability above B/3 with many flows |
//! | `full` | | | true | full SRED; else simple |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Until the list is full there are no comparisons and P stays 0; the drop probability of the first 1000
//!    packets is `p_sred`.
//! 2. The time stamp of a zombie is omitted: the paper does not use it for decisions.
//! 3. A product above one, which full SRED can give, counts as one.
//! 4. Marking instead of a drop with `p_zap` is not in the paper.
//! 5. The batched update, once per L packets, is omitted: it gives the same P with delay.
//!
//! ## Limits
//!
//! The queue has no bound below `limit`: with more than 256 flows it grows past B/3, and unresponsive flows
//! are dropped only a few times as often as others. The estimate assumes flows of equal rates; otherwise it
//! is the number of equal flows with the same hit probability. There are no drops below B/6. State: M
//! zombies, allocated as they come. Per packet: one draw for the list, one more without a hit, one to drop.
//!
//! ## Evidence
//!
//! `tests/oracle/sred.rs` transcribes the law above literally, with equal decisions on random and bursty
//! traces, for both variants; `tests/aqm/published_flows.rs` checks the three levels of `p_zap`, and 1/P
//! against the number of flows. They fail without the hit factor, with 1/P instead of its square, and with
//! a level that begins above its threshold.
//!
//! ## References
//!
//! * ott99: T. Ott, T. Lakshman, L. Wong, SRED: Stabilized RED, INFOCOM 1999.

use aqmkit_base::{Amount, FlowKey, Instant, Rng};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::ewma::Ewma;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, usable_limit};
use crate::verdict::{Verdict, Why};

/// Number of flows above which the drop probability no longer rises.
const MANY_FLOWS: f64 = 256.0;

/// The parameters of SRED as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Length of the list of zombies.
    pub zombies: u32,
    /// Probability that a packet without a hit replaces the zombie.
    pub overwrite: f64,
    /// Weight of the newest comparison; one over `zombies` if absent.
    #[serde(alias = "a", skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Drop probability above a third of the limit with many flows.
    #[serde(alias = "probability")]
    pub max_p: f64,
    /// Whether packets with a hit are dropped more often.
    pub full: bool,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Bytes(500_000),
            zombies: 1000,
            overwrite: 0.25,
            weight: None,
            max_p: 0.15,
            full: true,
            ecn: false,
        }
    }
}

impl Discipline for Params {
    discipline!("sred", Sred);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Ok(Params { weight: Some(Sred::config(self, link)?.weight), ..self.clone() })
    }
}

/// SRED's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    zombies: usize,
    overwrite: f64,
    weight: f64,
    max_p: f64,
    full: bool,
    ecn: bool,
}

impl Config {
    /// The drop probability by queue length alone.
    fn p_sred(&self, queue: QueueView) -> f64 {
        let (q, b) = (queue.length(self.limit.unit()), self.limit.value());
        if q >= b / 3.0 {
            self.max_p
        } else if q >= b / 6.0 {
            self.max_p / 4.0
        } else {
            0.0
        }
    }

    /// The drop probability at the hit rate `p`, for a packet with or without a hit.
    fn p_zap(&self, queue: QueueView, p: f64, hit: bool) -> f64 {
        let flows_squared = 1.0 / (MANY_FLOWS * p * MANY_FLOWS * p);
        // No hits yet: assume the maximum number of flows.
        let few = if p > 0.0 { flows_squared.min(1.0) } else { 1.0 };
        // A hit has made p positive.
        let favour = if self.full && hit { 1.0 + 1.0 / p } else { 1.0 };
        self.p_sred(queue) * few * favour
    }
}

/// A recently seen flow.
#[derive(Clone, Copy, Debug)]
struct Zombie {
    flow: FlowKey,
    /// Hits since it entered the list.
    count: u32,
}

/// SRED's state.
#[derive(Clone, Debug)]
pub struct Sred {
    zombies: Vec<Zombie>,
    /// P: the average hit rate.
    hit_rate: Ewma,
    /// Hits on a zombie that was hit before; heavy flows have many.
    repeated: Ewma,
}

impl Sred {
    /// Compares a packet with a zombie; returns whether it hit.
    fn compare(&mut self, config: &Config, flow: FlowKey, rng: &mut Rng) -> bool {
        if self.zombies.len() < config.zombies {
            self.zombies.push(Zombie { flow, count: 0 });
            return false;
        }
        let zombie = &mut self.zombies[rng.below(config.zombies as u64) as usize];
        let hit = zombie.flow == flow;
        if hit {
            self.repeated.sample(config.weight, f64::from(u8::from(zombie.count > 0)));
            zombie.count = zombie.count.saturating_add(1);
        } else if rng.chance(config.overwrite) {
            *zombie = Zombie { flow, count: 0 };
        }
        self.hit_rate.sample(config.weight, f64::from(u8::from(hit)));
        hit
    }
}

impl Aqm for Sred {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, _link: &Link) -> Result<Config, ParamError> {
        in_range("zombies", params.zombies.into(), 1.0, 1e6)?;
        in_range("overwrite", params.overwrite, 0.0, 1.0)?;
        in_range("max_p", params.max_p, 0.0, 1.0)?;
        let weight = params.weight.unwrap_or(1.0 / f64::from(params.zombies));
        in_range("weight", weight, f64::MIN_POSITIVE, 1.0)?;
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            zombies: params.zombies as usize,
            overwrite: params.overwrite,
            weight,
            max_p: params.max_p,
            full: params.full,
            ecn: params.ecn,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(_config: &Config, _now: Instant) -> Self {
        Sred { zombies: Vec::new(), hit_rate: Ewma::default(), repeated: Ewma::default() }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let hit = self.compare(config, pkt.flow, env.rng);
        if queue.full {
            Verdict::Drop(Why::Overflow)
        } else if env.rng.chance(config.p_zap(queue, self.hit_rate.get(), hit)) {
            pkt.signal(config.ecn, Why::Early)
        } else {
            Verdict::Pass
        }
    }

    fn on_change(&mut self, _old: &Config, new: &Config, _now: Instant) -> Result<(), ParamError> {
        self.zombies.truncate(new.zombies);
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        let p = self.hit_rate.get();
        out("hit_rate", p);
        out("flows", if p > 0.0 { 1.0 / p } else { 0.0 });
        out("repeated_hits", self.repeated.get());
    }
}
