//! # fq: fair queueing with pacing, as in Linux
//!
//! A queue for each flow, served in turns of a quantum, new flows first; a flow with a maximum rate waits between its turns. Linux uses it
//! on hosts, where TCP gives each connection a pacing rate; this is the part of it that a router has.
//!
//! ## Law
//!
//! ```text
//! arrival:  band = priomap[priority]; `limit` packets wait in the band: drop                 [fq_enqueue]
//!           no `maxrate`, no flow has packets, and fewer than 8 wait in the fast queue:
//!             append to the fast queue                                                       [fq_fastpath_check]
//!           flow = hash & orphan_mask; `flow_limit` packets wait in the flow: drop           [fq_classify]
//!           a flow out of turn joins the new flows of its last band (0 if it has none):
//!             its credit is initial_quantum at first, and at least quantum once it has been
//!             out of turn for more than refill_delay
//!           the flow's band = band; append
//!
//! request:  a packet of the fast queue                                                       [fq_dequeue]
//!           flows whose time has come join the old flows of their band                       [fq_check_throttled]
//!           band: the current one if its credit is positive and it has flows, else the next one:
//!             credit = min(credit + weight, weight)
//!           flow: the first of the new flows, else of the old ones
//!             credit <= 0:    credit += quantum, to the end of the old flows
//!             empty:          a new flow to the end of the old ones, an old one out of turn
//!             due = max(arrival of its first packet, its next time)
//!             now < due:      it leaves the flows until then
//!             now - due > ce_threshold: mark
//!             send; the credits of the flow and of the band -= length
//!
//! pacing:   after a packet of a flow, with `maxrate`
//!           maxrate <= low_rate_threshold:  credit = 0
//!           otherwise:                      length = max(length, quantum), only once credit <= 0
//!           gap = min(length / maxrate, 1 s)
//!           gap -= min(gap / 2, now - next time), if it has one
//!           next time = now + gap
//! ```
//!
//! So a flow may send `initial_quantum` at once, then one quantum in each `quantum / maxrate`; a timer that is late by less than half a gap takes nothing from its rate.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 10000 | capacity of each of the three bands |
//! | `flow_limit` | | packets | 100 | capacity of the queue of a flow |
//! | `quantum` | | size | 3000b | bytes of a turn; with `maxrate` the burst of a flow |
//! | `initial_quantum` | | size | 15000b | credit of a flow that is seen for the first time |
//! | `refill_delay` | | time | 40ms | time out of turn after which a flow has a quantum again |
//! | `maxrate` | | rate | | maximum rate of each flow; without it no flow waits |
//! | `pacing` | | | true | whether `maxrate` holds; `nopacing` of `tc` is `false` |
//! | `low_rate_threshold` | | rate | 550kbit | at a `maxrate` up to this, a flow sends packet by packet in place of turns |
//! | `timer_slack` | | time | 10us | the timer that wakes the queue for a waiting flow fires this much later |
//! | `ce_threshold` | | time | | mark packets that were in the queue longer than this, time in which their flow had to wait not counted |
//! | `orphan_mask` | | | 1023 | forwarded packets whose hashes are equal in these bits are one flow, so at 1023 there are 1024 flows |
//! | `priomap` | | | 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 | the band of each of the 16 priorities: see `prio` |
//! | `weights` | | | 589824 196608 65536 | bytes of a turn of each band |
//! | `salt` | | | 0 | salt of the hash: determines which flows are one |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Only packets that a router forwards are here. Linux has a flow for each socket of its own machine, paces it at the rate that TCP or `SO_MAX_PACING_RATE` gives it, and sends no packet before the departure time that is
//!    written on it; packets that arrive at a router have neither, and flows are told by a hash. So `horizon`, `horizon_cap` and `horizon_drop`, which bound departure times, and `offload_horizon` are left out. Connections that pace themselves
//!    (`pacing` of a profile) do it before this queue.
//! 2. Linux forgets a flow that was idle for three seconds when it comes across it in the same tree; after that the flow has `initial_quantum` again. Here no flow is forgotten: with `orphan_mask` their number is bounded. `buckets`, the number of
//!    trees, changes nothing else and is left out.
//! 3. Lengths are those of IP packets, and `quantum` and `initial_quantum` are two and ten of 1500 bytes; Linux counts the MAC header, 3028 and 15140.
//! 4. Times are exact: Linux counts `refill_delay` in jiffies, and its timer fires anywhere within `timer_slack`; here it fires at the end, as on a machine that is idle.
//! 5. The limit may be in bytes. When it is lowered, packets at the end of the longest flow are dropped, of those in the band; Linux drops what it would send next.
//! 6. The salt is a parameter, so that runs are repeatable. What is larger than the limit is dropped before it can use the fast queue.
//! 7. `fq` was the name of fair queueing by finish numbers, which is `wfq` now.
//!
//! ## Limits
//!
//! No signal of congestion but a full queue and `ce_threshold`: with 100 packets for each flow, a bulk transfer has a delay of its own of 100 packets times the number of backlogged flows. For a router, `fq-codel`
//! is the better choice. New flows begin in band 0 whatever their priority. Two flows with one hash share a turn and a `maxrate`. `orphan_mask` and `salt` cannot change while packets wait. State: 1024 flows of about 60 bytes. Per packet: one hash, flows
//! whose credit is used up, and with `maxrate` `log2 n` steps in a heap of `n` waiting flows. A quantum below 256 bytes is refused, because a packet could need too many turns.
//!
//! ## Evidence
//!
//! `tests/oracle/fq.rs` transcribes `fq_enqueue`, `fq_dequeue` and `fq_check_throttled` with plain lists, with and without `maxrate`, on random and bursty traces with equal decisions; `tests/aqm/fq.rs` checks turns, the fast queue, gaps,
//! bands and marks by hand, and shares and rates in the long run. `bench/linux/agree.sh` puts it beside Linux 7.3.
//!
//! ## References
//!
//! * Linux, `net/sched/sch_fq.c`, E. Dumazet, as in 7.x: with the bands of 6.7 and the fast queue of 6.7; tc-fq(8). Names in
//!   brackets are its functions.

mod queue;

use aqmkit_base::{Amount, BitRate, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use self::queue::Fq;
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{ParamError, in_range, usable_limit};
use crate::priority::{self, DEFAULT_MAP, PRIORITIES};
use crate::qdisc::Qdisc;

/// Number of bands.
const BANDS: usize = 3;

/// Default weights of the bands: 9, 3 and 1 times 64 KiB.
const WEIGHTS: [u32; BANDS] = [9 << 16, 3 << 16, 1 << 16];

/// The parameters of fq as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of each band.
    pub limit: Amount,
    /// Capacity of the queue of a flow, in packets.
    pub flow_limit: u32,
    /// Bytes of a turn.
    pub quantum: Bytes,
    /// Credit of a flow that is seen for the first time.
    pub initial_quantum: Bytes,
    /// Time out of turn after which a flow has a quantum again.
    pub refill_delay: Duration,
    /// Maximum rate of each flow; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxrate: Option<BitRate>,
    /// Whether `maxrate` holds.
    pub pacing: bool,
    /// The `maxrate` up to which a flow sends packet by packet.
    pub low_rate_threshold: BitRate,
    /// How late the timer fires that wakes the queue for a waiting flow.
    pub timer_slack: Duration,
    /// Delay above which packets are marked; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// The bits of the hash that distinguish flows.
    pub orphan_mask: u32,
    /// The band of each priority.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priomap: Vec<u8>,
    /// Bytes of a turn of each band.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<u32>,
    /// Salt of the hash: determines which flows are one.
    pub salt: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(10_000.0),
            flow_limit: 100,
            quantum: Bytes(3000),
            initial_quantum: Bytes(15_000),
            refill_delay: Duration::from_millis(40),
            maxrate: None,
            pacing: true,
            low_rate_threshold: BitRate::from_bps(550_000),
            timer_slack: Duration::from_micros(10),
            ce_threshold: None,
            orphan_mask: 1023,
            priomap: Vec::new(),
            weights: Vec::new(),
            salt: 0,
        }
    }
}

impl Params {
    /// `weights` with its default filled in.
    fn all_weights(&self) -> Result<Vec<u32>, ParamError> {
        if self.weights.is_empty() {
            return Ok(WEIGHTS.to_vec());
        }
        if self.weights.len() != BANDS {
            let got = format!("{} weights", self.weights.len());
            return Err(ParamError::new("weights", got, "there are three bands, each with a weight").cite("tc-fq(8)"));
        }
        for (i, weight) in self.weights.iter().enumerate() {
            in_range(&format!("weights[{i}]"), f64::from(*weight), 16_384.0, f64::from(i32::MAX))
                .map_err(|e| e.cite("Linux: FQ_MIN_WEIGHT"))?;
        }
        Ok(self.weights.clone())
    }
}

impl Discipline for Params {
    discipline!("fq");

    const TELLS_HOSTS: bool = true;

    fn marks(&self) -> bool {
        self.ce_threshold.is_some()
    }

    fn doubts(&self, link: &Link) -> Vec<String> {
        let idle = self.maxrate.filter(|rate| self.pacing && *rate >= link.rate);
        let doubt = |rate| {
            format!(
                "fq: the maxrate of {rate} is not below the {} of the link, so no flow ever waits for it; lower maxrate",
                link.rate
            )
        };
        idle.map(doubt).into_iter().collect()
    }

    fn effective(&self, _link: &Link) -> Result<Self, ParamError> {
        usable_limit("limit", self.limit)?;
        in_range("flow_limit", f64::from(self.flow_limit), 1.0, f64::INFINITY)?;
        in_range("quantum", self.quantum.as_f64(), 256.0, 1_048_576.0)
            .map_err(|e| e.cite("tc-fq(8); below 256 bytes a packet takes many rounds"))?;
        in_range("initial_quantum", self.initial_quantum.as_f64(), 0.0, f64::from(i32::MAX))
            .map_err(|e| e.cite("Linux: it is a signed number of 32 bits"))?;
        if let Some(rate) = self.maxrate {
            in_range("maxrate", rate.as_bps() as f64, 8.0, f64::MAX)?;
        }
        in_range("orphan_mask", f64::from(self.orphan_mask), 0.0, 1_048_575.0)?;
        let priomap = priority::complete(&self.priomap, BANDS, &DEFAULT_MAP)?;
        Ok(Params { priomap, weights: self.all_weights()?, ..self.clone() })
    }

    fn build<P: Packet + 'static>(&self, link: &Link, _now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Fq::<P>::new(Config::new(self, link)?)))
    }
}

/// Pacing of the flows.
#[derive(Clone, Copy, Debug)]
struct Pacing {
    /// Bytes per second.
    rate: u64,
    /// Whether a flow sends packet by packet.
    by_packet: bool,
}

/// The parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    limit: Amount,
    flow_limit: u64,
    quantum: i64,
    initial_quantum: i64,
    refill_delay: Duration,
    /// Whether packets may use the fast queue.
    fast: bool,
    pacing: Option<Pacing>,
    timer_slack: Duration,
    ce_threshold: Option<Duration>,
    mask: u32,
    priomap: [u8; PRIORITIES],
    weights: [i64; BANDS],
    salt: u64,
}

impl Config {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let full = params.effective(link)?;
        let by_packet = |rate: BitRate| rate.as_bps() / 8 <= full.low_rate_threshold.as_bps() / 8;
        let paced = full.maxrate.filter(|_| full.pacing);
        Ok(Config {
            limit: full.limit,
            flow_limit: u64::from(full.flow_limit),
            quantum: full.quantum.0 as i64,
            initial_quantum: full.initial_quantum.0 as i64,
            refill_delay: full.refill_delay,
            fast: full.maxrate.is_none(),
            pacing: paced.map(|rate| Pacing { rate: rate.as_bps() / 8, by_packet: by_packet(rate) }),
            timer_slack: full.timer_slack,
            ce_threshold: full.ce_threshold,
            mask: full.orphan_mask,
            priomap: std::array::from_fn(|i| full.priomap[i]),
            weights: std::array::from_fn(|i| i64::from(full.weights[i])),
            salt: full.salt,
        })
    }
}
