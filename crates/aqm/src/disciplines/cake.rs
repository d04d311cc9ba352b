//! # CAKE: common applications kept enhanced
//!
//! The functions of a home router in one discipline: a shaper without bursts, *tins* for differentiated services, fairness between hosts and then
//! between their flows, COBALT on the queue of each flow, and a filter for acknowledgements.
//!
//! ## Law
//!
//! ```text
//! arrival:  tin: by codepoint
//!           queue: the flow's hash selects a set of 8; the queue with the flow's tag, else an empty queue,
//!           else the queue of the hash, which is shared                            [cake: cake_hash]
//!           an idle queue joins the new (sparse) queues: deficit = quantum / host load
//!           over the limit: drop from the head of the longest queue of all tins;
//!           its COBALT's BLUE increases                                            [cake_drop]
//!
//! request:  not before time_next, unless failsafe_next has passed                  [cake_dequeue]
//!           shaped:   the last backlogged tin within its rate, else the tin that is due first
//!           unshaped: tins by deficit round robin
//!           in a tin: one decaying queue first, then the first new queue, else the first old one
//!           deficit <= 0: deficit += quantum / host load; a new queue becomes bulk; queue to the end of
//!                         the old ones, next queue
//!           deficit > 0:  send COBALT's next packet, deficit -= size
//!           empty queue:  leaves the lists, or decays until COBALT's state is idle
//!
//! size      = length with overhead, mpu and cells
//! sending:  time_next += size / bandwidth;  failsafe_next += 1.5 size / bandwidth  [cake_advance_shaper]
//!           tin's time_next += size / tin rate if that has passed, else at least now + size / tin rate
//! host load = bulk flows of its source or destination host, as `isolation` says, the larger; at least 1
//! quantum   = tin rate / 4096 of a second, from 300 to 1500 bytes; fractions are rounded at random
//! ```
//!
//! Each tin has COBALT's `target` and `interval` for its own rate: see the page `cobalt`. With `ingress`, dropped packets count as sent, and
//! only delays above two packets of each bulk flow count as standing.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 10240 | capacity of all queues together |
//! | `memlimit` (`memory_limit`) | | size | by `bandwidth` | the same limit in bytes: 4 times what `bandwidth` sends in an `rtt`, at least 4mb; without `bandwidth` only `limit` holds |
//! | `bandwidth` | | rate | no limit | rate of the shaper; must be slightly below the rate of the link; otherwise the queue builds up elsewhere |
//! | `diffserv` | | | diffserv3 | `besteffort`, `precedence`, `diffserv3`, `diffserv4` or `diffserv8`: the tins |
//! | `isolation` | | | triple-isolate | `flowblind`: one queue per tin. `srchost`, `dsthost`, `hosts`: a queue for each source, destination or pair. `flows`: for each flow. `dual-srchost`, `dual-dsthost`, `triple-isolate`: for each flow, and fair between sources, destinations, or both |
//! | `rtt` (`interval`) | interval | time | 100ms | about the longest usual round-trip time |
//! | `target` | target | time | `rtt` / 20 | acceptable standing delay; `tc` has no such parameter and derives it from `rtt` |
//! | `ingress` | | | false | shape incoming traffic: dropped packets count, because they have used the link |
//! | `ack_filter` | | | off | `on`: drop the older of two superfluous acknowledgements; `aggressive`: keep one |
//! | `overhead` | | | 0b | bytes that the link adds to each packet |
//! | `mpu` | | size | 0b | shortest packet of the link |
//! | `linklayer` (`atm`) | | | ethernet | `ethernet`, `atm` or `ptm`: the framing of the link |
//! | `mtu` | | size | 1514b | longest packet: sets the smallest `target` of a tin |
//! | `quantum` | | size | by the tin's rate | bytes that a flow sends per round |
//! | `salt` | | | 0 | salt of the hash: determines which flows share a queue |
//! | `classes` | | | | codepoints for classes of traffic: simulated packets have none of their own |
//! | `class` | | | `"*"` | name of a class, or `"*"` |
//! | `dscp` | | | be | its codepoint: `ef`, `cs1`, `af41`, or a number |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Codepoints are not cleared (`wash`), firewall marks and filters do not choose tins, addresses are not looked up in
//!    connection tracking (`nat`), and the rate is not estimated (`autorate-ingress`).
//! 2. A packet that is larger than the limit is dropped itself. The limit counts lengths of packets; Linux counts buffer memory.
//! 3. The longest queue is determined to 256 bytes; Linux's heap is exact.
//! 4. `1/sqrt(count)` and quotients of rates and quanta are exact; Linux uses tables and shifts.
//! 5. Linux compares SACK blocks one by one; here an acknowledgement with blocks is superfluous once a later one acknowledges all of
//!    them. Timestamps, which only grow on one connection, are not compared.
//! 6. The salt is a parameter, so that runs are repeatable. Large packets of segmentation offload arrive here as single packets.
//! 7. Without framing, `bandwidth` counts IP packets; Linux counts the MAC header as well (`raw`), so that the same `bandwidth` carries 0.93 % less there. Give
//!    `overhead` to the link to count it. The largest quantum is a full IP packet, 1500 bytes, as 1514 with the MAC header is in Linux.
//!
//! ## Limits
//!
//! A flow that changes its codepoint changes its tin and may be reordered. A tin has priority up to its share of the rate; above it, it gets only the capacity that others leave. Without `bandwidth`, the queue of the link itself must be short. An acknowledgement filter saves capacity of an upstream link, but
//! the sender sees fewer acknowledgements. State: 1024 queues and twice as many hosts for each
//! tin, in sets of eight that take memory when a flow or host first comes to them: from 2 kB for one flow to about 150 kB for a tin whose every queue was used. Per packet: up to 8 tags, the queues whose deficit is used up, and with the filter the packets of
//! the queue.
//!
//! ## Evidence
//!
//! `tests/oracle/cake.rs` transcribes `cake_enqueue`, `cake_dequeue` and `cake_hash` of `sch_cake.c` with plain lists, shaped and not, with tins and all kinds
//! of isolation, with equal decisions on random and bursty traces. `tests/aqm/cake.rs` checks shaper, tins, hosts and filter by hand and compares with runs without each rule. Wrong variants that were seen to fail: sets of one place, host loads that count sparse flows, a shaper that accumulates credit while idle.
//!
//! ## References
//!
//! * cake: Linux, `net/sched/sch_cake.c`, J. Morton, T. Hoeiland-Joergensen et al., 2014 to 2018; tc-cake(8).
//! * cake18: T. Hoeiland-Joergensen, D. Taht, J. Morton, Piece of CAKE: A Comprehensive Queue Management Solution for Home
//!   Gateways, IEEE LANMAN 2018.

mod ack_filter;
mod hosts;
mod queue;
mod tins;

use aqmkit_base::flow::salt;
use aqmkit_base::framing::{LinkLayer, Overhead};
use aqmkit_base::{Amount, BitRate, Bytes, Duration, Framing, Instant};
use serde::{Deserialize, Serialize};

pub use self::ack_filter::AckFilter;
use self::queue::Cake;
pub use self::tins::Diffserv;
use crate::classes::{ClassMap, REST};
use crate::discipline::{Discipline, discipline};
use crate::dscp::Dscp;
use crate::law::cobalt::CobaltParams;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{ParamError, in_range, usable_limit};
use crate::qdisc::Qdisc;

/// The kinds of flow that have a queue of their own, and the level at which queues are fair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// One queue for all.
    #[serde(alias = "blind")]
    Flowblind,
    /// Each source has a queue.
    Srchost,
    /// Each destination has a queue.
    Dsthost,
    /// Each pair of hosts has a queue.
    Hosts,
    /// Each flow has a queue.
    Flows,
    /// Each flow has a queue, and sources have equal shares.
    DualSrchost,
    /// Each flow has a queue, and destinations have equal shares.
    DualDsthost,
    /// Each flow has a queue, and both sources and destinations have equal shares.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// Whether sources share equally, and whether destinations do.
    fn fair_between(self) -> (bool, bool) {
        let all = self == Isolation::TripleIsolate;
        (all || self == Isolation::DualSrchost, all || self == Isolation::DualDsthost)
    }
}

/// The codepoint of a class of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassParams {
    /// The name of a class of the link, or `*`.
    pub class: String,
    /// Its codepoint.
    pub dscp: Dscp,
}

impl Default for ClassParams {
    fn default() -> Self {
        ClassParams { class: REST.to_owned(), dscp: Dscp::default() }
    }
}

/// The parameters of CAKE as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of all queues together.
    pub limit: Amount,
    /// The same limit in bytes; derived from the rate if absent.
    #[serde(alias = "memory_limit", skip_serializing_if = "Option::is_none")]
    pub memlimit: Option<Bytes>,
    /// The rate of the shaper; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BitRate>,
    /// The tins.
    pub diffserv: Diffserv,
    /// Flow isolation.
    pub isolation: Isolation,
    /// About the longest usual round-trip time.
    #[serde(alias = "interval")]
    pub rtt: Duration,
    /// Acceptable standing delay; a twentieth of `rtt` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Duration>,
    /// Whether dropped packets count against the shaper.
    pub ingress: bool,
    /// Which acknowledgements the filter drops.
    pub ack_filter: AckFilter,
    /// Per-packet overhead of the link, in bytes.
    pub overhead: Overhead,
    /// Minimum packet size of the link.
    pub mpu: Bytes,
    /// Link-layer compensation.
    #[serde(alias = "atm")]
    pub linklayer: LinkLayer,
    /// The longest packet.
    pub mtu: Bytes,
    /// Bytes that a flow sends per round; by the rate of its tin if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
    /// Salt of the hash: determines which flows share a queue.
    pub salt: u64,
    /// Codepoints of classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassParams>,
}

impl Params {
    /// The acceptable standing delay; the default is `tc`'s: a twentieth of `rtt`, at least a microsecond.
    fn target(&self) -> Duration {
        self.target.unwrap_or((self.rtt / 20).max(Duration::from_micros(1)))
    }
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(10_240.0),
            memlimit: None,
            bandwidth: None,
            diffserv: Diffserv::default(),
            isolation: Isolation::default(),
            rtt: Duration::from_millis(100),
            target: None,
            ingress: false,
            ack_filter: AckFilter::Off,
            overhead: Overhead(0),
            mpu: Bytes(0),
            linklayer: LinkLayer::Ethernet,
            mtu: Bytes(1514),
            quantum: None,
            salt: 0,
            classes: Vec::new(),
        }
    }
}

impl Discipline for Params {
    discipline!("cake");

    const TELLS_HOSTS: bool = true;

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let config = Config::new(self, link)?;
        Ok(Params { memlimit: config.memlimit.map(Bytes), target: Some(self.target()), ..self.clone() })
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Cake::<P>::new(Config::new(self, link)?, now)))
    }
}

/// A tin's parameters, from its share of the rate.
#[derive(Clone, Debug)]
struct TinRules {
    name: &'static str,
    rate: Option<BitRate>,
    quantum: i64,
    flow_quantum: u64,
    law: CobaltParams,
}

/// CAKE's parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    params: Params,
    memlimit: Option<u64>,
    framing: Framing,
    tins: Vec<TinRules>,
    map: Option<ClassMap>,
    /// Mixed from the parameter, which is a plain number.
    salt: u64,
}

impl Config {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        usable_limit("limit", params.limit)?;
        in_range("mtu", params.mtu.as_f64(), 1.0, 65_536.0)?;
        in_range("mpu", params.mpu.as_f64(), 0.0, 256.0).map_err(|e| e.cite("tc-cake(8)"))?;
        let (least, most) = (f64::from(Overhead::LEAST), f64::from(Overhead::MOST));
        in_range("overhead", f64::from(params.overhead.0), least, most).map_err(|e| e.cite("tc-cake(8)"))?;
        if let Some(rate) = params.bandwidth {
            in_range("bandwidth", rate.as_bps() as f64, 512.0, f64::MAX)
                .map_err(|e| e.cite("Linux: 64 bytes a second"))?;
        }
        if let Some(size) = params.quantum {
            in_range("quantum", size.as_f64(), 256.0, 1_048_576.0)
                .map_err(|e| e.cite("below 256 bytes a packet takes many rounds"))?;
        }
        if let Some(size) = params.memlimit {
            in_range("memlimit", size.as_f64(), 1.0, f64::INFINITY)?;
        }
        let (rtt, target) = (params.rtt, params.target());
        let law =
            CobaltParams { target, interval: rtt, mtu_time: Duration::ZERO, p_inc: 1.0 / 256.0, p_dec: 1.0 / 4096.0 };
        let law = law.check().map_err(|e| if e.field == "interval" { e.about("rtt", rtt) } else { e })?;
        let tin = |share: tins::Share| {
            let part = |rate: BitRate| BitRate::from_bps(((rate.as_bps() as f64 * share.part) as u64).max(512));
            let rate = params.bandwidth.map(part);
            let flow_quantum = params.quantum.map_or_else(|| tins::flow_quantum(rate), |size| size.0);
            TinRules {
                name: share.name,
                rate,
                quantum: share.quantum,
                flow_quantum,
                law: law.for_rate(rate, params.mtu),
            }
        };
        let in_four_rtts = |rate: BitRate| (4.0 * rate.bytes_per_sec() * rtt.as_secs_f64()) as u64;
        let by_rate = params.bandwidth.map(|rate| in_four_rtts(rate).max(4 << 20));
        let map = match params.classes.as_slice() {
            [] => None,
            // A class without an entry uses its packets' codepoints: the entry after the last.
            entries => {
                let named = entries.iter().map(|entry| entry.class.as_str());
                let others = (!entries.iter().any(|entry| entry.class == REST)).then_some(REST);
                Some(ClassMap::new(link, named.chain(others))?)
            }
        };
        Ok(Config {
            memlimit: params.memlimit.map(|size| size.0).or(by_rate),
            framing: Framing { overhead: params.overhead.0, mpu: params.mpu.0 as u32, linklayer: params.linklayer },
            tins: params.diffserv.shares().into_iter().map(tin).collect(),
            map,
            salt: salt(params.salt),
            params: params.clone(),
        })
    }

    /// The tin of a packet.
    fn tin<P: Packet>(&self, packet: &P) -> usize {
        let entry = self.map.as_ref().and_then(|map| self.params.classes.get(map.entry(packet.class())));
        let dscp = entry.map_or_else(|| packet.dscp(), |entry| entry.dscp);
        self.params.diffserv.tin(dscp.index())
    }
}
