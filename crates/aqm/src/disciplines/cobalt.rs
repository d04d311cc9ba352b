//! # COBALT: CoDel and BLUE
//!
//! The algorithm on each queue of CAKE, here on one FIFO. CoDel keeps the standing delay of flows that respond near `target`. BLUE
//! is for the others: whenever the queue overflows its probability rises, and whenever the queue is empty it falls.
//!
//! ## Law
//!
//! For each packet taken from the head:
//!
//! ```text
//! over   = sojourn > target and sojourn > 4 mtu_time                                 [cake: cobalt_should_drop]
//! due    = count > 0 and now >= drop_next
//! over and not dropping:  dropping, drop_next = now + interval / sqrt(count)
//! over and count = 0:     count = 1
//! not over:               not dropping
//! due and dropping:       mark or drop; count += 1;  drop_next += interval / sqrt(count)
//! due and not dropping:   count -= 1, drop_next += interval / sqrt(count), while it is due and count > 0
//! p_drop > 0:             drop with p_drop, even what could be marked
//! count = 0:              drop_next = now + interval
//! else, drop_next passed and no drop:  drop_next = now
//! the last packet of the queue is not dropped
//!
//! overflow: p_drop += p_inc, count >= 1, drop_next = now, dropping                   [cobalt_queue_full]
//! empty:    p_drop -= p_dec; not dropping; due: count -= 1, drop_next += interval / sqrt(count)
//!                                                                                    [cobalt_queue_empty]
//! p_drop moves at most once in a target
//! ```
//!
//! With `mtu_time` the time of `mtu` on the link, `target` is at least 1.5 `mtu_time`, `interval` grows by as much as
//! `target` did, and is at least two of them. Unlike CoDel, `count` falls step by step at the pace at which it rose, so that
//! no time of re-entry is needed.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 1000 | capacity of the queue; packets are dropped from its head |
//! | `target` | target | time | 5ms | acceptable standing delay; also the shortest time between steps of `p_drop` |
//! | `interval` (`rtt`) | interval | time | 100ms | about the longest usual round-trip time; too short: flows with longer ones are dropped before they can react |
//! | `ecn` | | | true | mark ECN-capable packets instead of dropping them by CoDel's law |
//! | `mtu` | | size | 1514b | longest packet; below four of them no delay is a standing one |
//! | `p_inc` | `p_inc` | 1 | 1/256 | step of `p_drop` on overflow |
//! | `p_dec` | `p_dec` | 1 | 1/4096 | step of `p_drop` on an empty queue |
//!
//! ## Deviations
//!
//! 1. In Linux COBALT exists within CAKE only, and always marks what can be marked; `ecn` is CoDel's.
//! 2. Linux serves an idle queue again and again; here a link that stays idle steps `p_drop` down after every `target`, computed at the
//!    end of the idle period, so the result does not depend on how often an idle link polls the queue. Its `count` falls at the next
//!    packet that is in time.
//! 3. `1/sqrt(count)` is exact; Linux refines a 32-bit value by one Newton step from a count of 16 on.
//! 4. Linux's overflow counts the bytes of all queues of all tins.
//!
//! ## Limits
//!
//! One flow that does not respond drives `p_drop` up for all, since there is one queue; CAKE has one COBALT for each flow. `p_drop` takes 256
//! targets of overflow to reach one, and 4096 of emptiness to return. State: two times, a count, a probability. Per packet: three
//! comparisons, a square root for each drop, a draw while `p_drop` is above zero.
//!
//! ## Evidence
//!
//! `tests/oracle/cobalt.rs` transcribes the three functions of `sch_cake.c` with signed times, with equal decisions on random and bursty
//! traces with and without marks. `src/law/cobalt.rs` works the stairs of `count` and the steps of BLUE by hand; `tests/aqm/linux_and_docsis.rs` compares a
//! blast with `codel`, which does not bound it. Wrong variants that were seen to fail: a count that is reset instead of decreasing, BLUE that
//! marks, the last packet dropped, overflow from the tail.
//!
//! ## References
//!
//! * cake: Linux, `net/sched/sch_cake.c`, J. Morton, T. Hoeiland-Joergensen et al., 2014 to 2018.
//! * cake18: T. Hoeiland-Joergensen, D. Taht, J. Morton, Piece of CAKE: A Comprehensive Queue Management Solution for Home
//!   Gateways, IEEE LANMAN 2018, section III.
//! * feng99, rfc8289: see the pages `blue` and `codel`.

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, DropFrom, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::cobalt::{self, CobaltParams, Head};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, usable_limit};
use crate::verdict::Verdict;

/// The parameters of COBALT as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Acceptable standing delay.
    pub target: Duration,
    /// About the longest usual round-trip time.
    #[serde(alias = "rtt")]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped by CoDel.
    pub ecn: bool,
    /// The longest packet.
    pub mtu: Bytes,
    /// Step of BLUE's probability on overflow.
    pub p_inc: f64,
    /// Step of BLUE's probability on an empty queue.
    pub p_dec: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(1000.0),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            mtu: Bytes(1514),
            p_inc: 1.0 / 256.0,
            p_dec: 1.0 / 4096.0,
        }
    }
}

impl Discipline for Params {
    discipline!("cobalt", Cobalt);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Cobalt::config(self, link).map(|_| self.clone())
    }
}

/// COBALT's parameters, checked and adapted to the link.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    law: CobaltParams,
    ecn: bool,
}

/// COBALT on one queue.
#[derive(Clone, Debug)]
pub struct Cobalt {
    law: cobalt::Cobalt,
    /// Whether the link has gone idle since the last arrival.
    idle: bool,
}

impl Aqm for Cobalt {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        in_range("mtu", params.mtu.as_f64(), 1.0, 65_536.0)?;
        let &Params { target, interval, p_inc, p_dec, .. } = params;
        let law = CobaltParams { target, interval, mtu_time: Duration::ZERO, p_inc, p_dec }.check()?;
        let law = law.for_rate(Some(link.rate), params.mtu);
        Ok(Config { limit: usable_limit("limit", params.limit)?, law, ecn: params.ecn })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn overflow(_config: &Config) -> DropFrom {
        DropFrom::Front
    }

    fn new(_config: &Config, now: Instant) -> Self {
        Cobalt { law: cobalt::Cobalt::new(now), idle: false }
    }

    fn on_arrival(&mut self, config: &Config, _pkt: PacketView, _queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if self.idle {
            self.law.while_empty(&config.law, env.now);
            self.idle = false;
        }
        Verdict::Pass
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let head = Head { sojourn: pkt.sojourn, can_mark: config.ecn && pkt.ecn.is_capable(), bulk_flows: 0 };
        self.law.judge(&config.law, head, env.now, env.rng).verdict(queue.packets == 0)
    }

    fn on_discard(&mut self, config: &Config, _pkt: PacketView, _queue: QueueView, now: Instant) {
        self.law.queue_full(&config.law, now);
    }

    fn on_empty(&mut self, config: &Config, now: Instant) {
        if self.idle {
            self.law.while_empty(&config.law, now);
        } else {
            self.idle = true;
            self.law.queue_empty(&config.law, now);
        }
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("p", self.law.p_drop());
        out("count", f64::from(self.law.count()));
    }
}
