//! # FRED: flow random early drop
//!
//! RED that counts the queued packets of each flow: flows with few packets (fragile) are not dropped early,
//! others (robust) are dropped early as by RED, and a flow with more than its share is limited to it. Only
//! flows with a queued packet have state.
//!
//! ## Law
//!
//! On arrival of a packet of flow `f`, with `q` and `q_f` the packets waiting before it:
//!
//! ```text
//! q = 0: update the averages                                                    [parris01 fig 3.14]
//! q_f >= min, or q_f >= avgcq and strikes_f > 1:   strikes_f++, drop            (fair share)
//! min <= avg < max: count++; where q_f >= max(minq, avgcq), drop as RED does, count = 0   (early)
//! avg < min:        count = -1
//! avg >= max:       where q_f >= 2, drop and count = 0                          (two-packet mode)
//! else enqueue, after updating the averages
//! ```
//!
//! On departure the averages are updated with the remaining queue, and the state of a flow without packets
//! is removed.
//!
//! ```text
//! avg   <- (1 - w) avg + w q;  q empty for `idle`: avg <- (1 - w)^(idle * drain_rate - 1) avg
//! avgcq <- max(avg / Nactive, 1)                                                [parris01 fig 3.13]
//! ```
//!
//! With `many_flows = false`, Lin and Morris's first version, which needs more buffers than flows: the
//! fair-share test also takes a flow with `q_f > 2 avgcq` while `avg >= max`, and every other packet is
//! dropped there, instead of packets that find two of their flow queued.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `q_limit` | packets | 240 | capacity of the queue; with more busy flows than half of `limit`, it bounds the queue instead of `max` |
//! | `min` | `Th_min` | packets | 5 | average below which there are no early drops, **and** the maximum number of queued packets per flow |
//! | `max` | `Th_max` | packets | 60 | average above which each flow may have two packets |
//! | `weight` | w | 1 | 1/256 | weight of the newest sample |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.1 | early drop probability when the average reaches `max` |
//! | `minq` | minq | packets | 2 | packets of a flow that are exempt from early drops; Lin and Morris: 2, for large buffers 4 |
//! | `avpkt` | | size | the link's mean | typical packet size: sets the drain rate |
//! | `many_flows` | | | true | allow every flow two packets above `max`, for more flows than buffers |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early; the fair-share and two-packet rules always drop |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Figure 3.14 has no test of `q_limit`: here a packet that passes every test is dropped if the queue is
//!    full; strikes and counts do not change.
//! 2. The figures set `idle` but never clear it; here an arrival ends the idle period, which therefore
//!    counts once, and an idle period shorter than one packet counts as zero.
//! 3. The text has `avg <= Th_min` and `avg > Th_max` where the figure has `<` and `>=`; the figure is
//!    followed.
//! 4. Figure 3.14 has a surplus closing brace before `Nactive++`; here `Nactive` is the size of the flow
//!    table.
//! 5. "A flow is the set of packets sharing a common source-destination address tuple" [parris01 III.3.3.1]
//!    can be read as a pair of hosts. Here it is a connection, unless `flow` says otherwise: Figure 3.12
//!    has "`flow_classify(P)`; // returns the connection id of packet P", and only socket
//!    addresses, which include ports, agree with flows that "outnumber the number of buffers" (III.3.3),
//!    "hundreds" of flows (III.3.3.2), and a queue of 240 filled by two packets of each (Figure 5.12).
//!    `experiments/cbt/README.md` compares both readings.
//! 6. An overdue early drop happens at once (see RED, deviation 3). Marking is not in the sources.
//! 7. The averages `avg` and `avgcq` are exact. A kernel has no floating point, and an `avgcq` in whole packets, rounded down, would drop
//!    robust flows sooner; what parris01's module did is not known, and its cells do not decide it.
//!
//! ## Limits
//!
//! A flow may be limited because of one burst, and low-rate flows that are never idle (a video stream) are
//! limited to two packets like a blast. State: one table entry for each flow with a packet in the queue, so
//! at most `limit`. Per packet: one or two look-ups, one or two multiplies, one draw for robust flows.
//!
//! ## Evidence
//!
//! `tests/oracle/fred.rs` transcribes Figures 3.12 to 3.15 literally, for both variants, with equal
//! decisions on random and bursty traces; `tests/aqm/closed_forms.rs` checks the bound of the two-packet mode.
//!
//! ## References
//!
//! * lin97: D. Lin, R. Morris, Dynamics of Random Early Detection, SIGCOMM 1997.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter III.3.3.

use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Bytes, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::early::{Ramp, drop_early};
use crate::law::ewma::{Averaging, AveragingParams, QueueAverage};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::storage::FlowTable;
use crate::verdict::{Verdict, Why};

/// The parameters of FRED as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Average below which nothing is dropped early; also the most packets that any flow may queue.
    pub min: Amount,
    /// Average above which each flow may have only two packets.
    pub max: Amount,
    /// Weight of the newest sample of the queue.
    pub weight: f64,
    /// Early drop probability as the average reaches `max`.
    #[serde(alias = "probability")]
    pub max_p: f64,
    /// Packets per flow that are exempt from early drops.
    pub minq: u32,
    /// Size of a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether every flow may have two packets above `max`.
    pub many_flows: bool,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            min: Amount::Packets(5.0),
            max: Amount::Packets(60.0),
            weight: 1.0 / 256.0,
            max_p: 0.1,
            minq: 2,
            avpkt: None,
            many_flows: true,
            ecn: false,
        }
    }
}

impl Discipline for Params {
    discipline!("fred", Fred);

    const THRESHOLDS: &'static [&'static str] = &["min", "max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Fred::config(self, link)?;
        Ok(Params { avpkt: Some(link.avpkt(self.avpkt)?), ..self.clone() })
    }
}

/// FRED's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    ramp: Ramp,
    averaging: Averaging,
    minq: f64,
    many_flows: bool,
    ecn: bool,
}

/// A flow with packets waiting.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Packets waiting.
    len: u32,
    /// How often it exceeded its share (strikes).
    strikes: u32,
}

/// FRED's state.
#[derive(Clone, Debug)]
pub struct Fred {
    avg: QueueAverage,
    /// Average queue length per active flow.
    avgcq: f64,
    /// Packets since the last early drop while in the band.
    count: f64,
    flows: FlowTable<Flow>,
}

impl Fred {
    /// The second half of Figure 3.13: any flow may have one packet.
    fn update_share(&mut self, active: usize) {
        self.avgcq = (self.avg.get() / active.max(1) as f64).max(1.0);
    }

    /// Figure 3.13 as an arrival runs it.
    fn compute_avg(&mut self, config: &Config, queue: QueueView, now: Instant) {
        self.avg.on_arrival(config.averaging, f64::from(queue.packets), now);
        self.update_share(self.flows.len());
    }

    /// Whether a flow with this many packets queued exceeds its share.
    fn unfair(&self, config: &Config, flow: Flow) -> bool {
        let len = f64::from(flow.len);
        len >= config.ramp.min
            || (!config.many_flows && self.avg.get() >= config.ramp.max && len > 2.0 * self.avgcq)
            || (len >= self.avgcq && flow.strikes > 1)
    }

    /// The three modes of Figure 3.14, after the fair-share test.
    fn by_mode(&mut self, config: &Config, pkt: PacketView, flow: Flow, env: &mut Env<'_>) -> Verdict {
        let avg = self.avg.get();
        if avg < config.ramp.min {
            self.count = -1.0;
            return Verdict::Pass;
        }
        if avg >= config.ramp.max {
            if config.many_flows && flow.len < 2 {
                return Verdict::Pass;
            }
            self.count = 0.0;
            return Verdict::Drop(Why::Forced);
        }
        self.count += 1.0;
        let robust = f64::from(flow.len) >= self.avgcq.max(config.minq);
        if robust && drop_early(config.ramp.base_probability(avg), self.count, env.rng) {
            self.count = 0.0;
            return pkt.signal(config.ecn, Why::Early);
        }
        Verdict::Pass
    }

    /// A packet has left the queue: a flow without packets is removed.
    fn leave(&mut self, pkt: PacketView) {
        self.flows.change(pkt.flow, |flow| {
            flow.len -= 1;
            flow.len > 0
        });
    }
}

impl Aqm for Fred {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let packets = |field, length| in_unit(field, length, Counting::Packets);
        packets("limit", params.limit)?;
        let (min, max) = (packets("min", params.min)?, packets("max", params.max)?);
        in_range("min", min, 1.0, f64::INFINITY)
            .map_err(|e| e.cite("min is the maximum of queued packets per flow"))?;
        let of_queue =
            AveragingParams { weight: Some(params.weight), avpkt: params.avpkt, ..AveragingParams::default() };
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            ramp: Ramp { min, max, max_p: params.max_p, gentle: false }.check()?,
            averaging: of_queue.check(link, params.min, params.weight)?,
            minq: f64::from(params.minq),
            many_flows: params.many_flows,
            ecn: params.ecn,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(_config: &Config, now: Instant) -> Self {
        Fred { avg: QueueAverage::new(now), avgcq: 1.0, count: -1.0, flows: FlowTable::default() }
    }

    /// Figure 3.14.
    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.packets == 0 {
            self.compute_avg(config, queue, env.now);
        }
        let flow = self.flows.get(pkt.flow).copied().unwrap_or_default();
        if self.unfair(config, flow) {
            if let Some(known) = self.flows.get_mut(pkt.flow) {
                known.strikes = known.strikes.saturating_add(1);
            }
            return Verdict::Drop(Why::Unfair);
        }
        let verdict = self.by_mode(config, pkt, flow, env);
        if let Verdict::Drop(_) = verdict {
            return verdict;
        }
        if queue.full {
            return Verdict::Drop(Why::Overflow);
        }
        self.flows.or_default(pkt.flow).len += 1;
        self.compute_avg(config, queue, env.now);
        verdict
    }

    /// Figure 3.15.
    fn on_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.avg.sample(config.averaging.weight, f64::from(queue.packets));
        // The departing flow still counts as active, even with its last packet.
        self.update_share(self.flows.len());
        if queue.packets == 0 {
            self.avg.on_empty(env.now);
        }
        self.leave(pkt);
        Verdict::Pass
    }

    fn on_discard(&mut self, _config: &Config, pkt: PacketView, queue: QueueView, now: Instant) {
        self.leave(pkt);
        if queue.packets == 0 {
            self.avg.on_empty(now);
        }
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("avg", self.avg.get());
        out("avgcq", self.avgcq);
        out("flows", self.flows.len() as f64);
    }
}
