//! # TBF: token bucket filter
//!
//! Shapes to a rate. Tokens come at that rate into a bucket that holds `burst`; a packet is sent when there are tokens for all its bytes, and waits in
//! an inner queue until then. Nothing is dropped but by the inner queue.
//!
//! ## Law
//!
//! ```text
//! N(t) = min(burst, N(s) + rate (t - s)),  N(0) = burst                          [tbf]
//! arrival:     longer than burst, or than minburst with a peakrate: drop          [tbf_enqueue]
//!              else to the inner queue
//! request:     L, the length of the next packet, <= N(t): send, N -= L            [tbf_dequeue]
//!              else not before t + (L - N(t)) / rate
//! peakrate:    a second bucket of minburst bytes, which must have tokens as well
//! ```
//!
//! In any time T at most `burst + rate T` bytes leave, and with a peak rate at most `minburst + peakrate T`.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `rate` | R | rate | the link's | above the rate of the link, the queue builds up elsewhere |
//! | `burst` (`buffer`, `maxburst`) | B | size | 15000b | size of the bucket; longer packets are dropped. A live link needs what the rate sends between two timers, about a millisecond |
//! | `limit` | | queue length | | capacity of the inner FIFO; give it or `latency` |
//! | `latency` | | time | 50ms | the longest wait in the inner FIFO, which sets `limit`: `burst + rate latency`, and with a peak rate at most `minburst + peakrate latency` |
//! | `peakrate` | P | rate | no limit | rate at which a burst may leave; above `rate` |
//! | `minburst` (`mtu`) | M | size | 1500b | size of the bucket of `peakrate`; longer packets are dropped |
//! | `aqm` | | | a FIFO | the inner queue, a discipline as for a link: `"fq-codel"`, or `{ name = "red", min = 5 }`. It has its own `limit` |
//! | `flow` | | | connection | which packets form a flow for the inner queue: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ```toml
//! [topology.aqm]
//! name  = "tbf"
//! rate  = "9500kbit"
//! burst = "15kb"
//! aqm   = { name = "fq-codel", limit = 1000 }
//! ```
//!
//! ## Deviations
//!
//! 1. Tokens are fractions of bytes; Linux counts nanoseconds at the rate, so that times differ by less than a microsecond per packet.
//! 2. `rate` has a default, the rate of the link, and `burst` one of ten full packets; `tc` requires both. `limit` may be in packets.
//! 3. With `aqm`, `limit` and `latency` are refused; Linux takes and ignores them.
//! 4. Lengths are those of the link (`overhead`, `mpu` and `linklayer` of `tc` belong to the link; see the page on experiment files). Segments of offload, which Linux divides, come
//!    as single packets.
//! 5. The packet that waits for tokens has left an inner discipline that decides at departures, as in Linux; there it still counts against its limit.
//! 6. The inner discipline cannot be replaced while packets wait. A change refills the buckets in Linux; here a bucket stays as far from full as it was, and a packet that waits and is now longer than `burst`
//!    needs a full one (in Linux it waits for ever).
//!
//! ## Limits
//!
//! One packet more than the limit of an inner discipline may wait. The inner discipline sees a link of the slower of `rate` and the link: what it leaves to the link's rate follows from that. State: two numbers and a packet. Per packet:
//! that of the inner queue.
//!
//! ## Evidence
//!
//! `tests/oracle/tbf.rs` transcribes the law in whole nanoseconds, with equal decisions on random and bursty traces. `tests/aqm/trees.rs` has a burst and its tail worked by hand, the bound of bytes in any interval
//! on random traces, and drops of an inner queue, which are counted once.
//!
//! ## References
//!
//! * tbf: Linux, `net/sched/sch_tbf.c`, A. Kuznetsov, D. Torokhov; tc-tbf(8).

use aqmkit_base::{Amount, BitRate, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::child::{Child, ChildSpec, shaped};
use crate::discipline::{Discipline, Inner, discipline};
use crate::law::token_bucket::TokenBucket;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::Ring;
use crate::verdict::Why;

/// The parameters of a token bucket filter as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The rate; that of the link where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Size of the bucket.
    #[serde(alias = "buffer", alias = "maxburst")]
    pub burst: Bytes,
    /// Limit of the inner FIFO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// The same as the longest wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// The rate of a burst; no limit where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peakrate: Option<BitRate>,
    /// Size of the bucket of `peakrate`.
    #[serde(alias = "mtu")]
    pub minburst: Bytes,
    /// The inner queue; a FIFO where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<ChildSpec>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            rate: None,
            burst: Bytes(15_000),
            limit: None,
            latency: None,
            peakrate: None,
            minburst: Bytes(1500),
            aqm: None,
        }
    }
}

/// The wait for which the FIFO has room, where nothing is given.
const LATENCY: Duration = Duration::from_millis(50);

impl Params {
    /// The limit in bytes that `latency` stands for.
    fn room(&self, latency: Duration, link: &Link) -> Amount {
        let after = |rate: BitRate, burst: Bytes| burst.as_f64() + rate.bytes_per_sec() * latency.as_secs_f64();
        let sustained = after(self.rate.unwrap_or(link.rate), self.burst);
        let peak = self.peakrate.map_or(f64::INFINITY, |rate| after(rate, self.minburst));
        Amount::Bytes(sustained.min(peak) as u64)
    }

    /// Fills in `limit`, and `latency` where that sets it.
    fn complete_limit(&mut self, link: &Link) -> Result<(), ParamError> {
        match (self.limit, self.latency) {
            (Some(limit), None) => usable_limit("limit", limit).map(drop),
            // As `effective` itself writes them.
            (Some(limit), Some(latency)) if limit == self.room(latency, link) => Ok(()),
            (Some(_), Some(latency)) => Err(ParamError::new("latency", latency, "give either limit or latency")),
            (None, given) => {
                let latency = given.unwrap_or(LATENCY);
                self.latency = Some(latency);
                self.limit = Some(self.room(latency, link));
                Ok(())
            }
        }
    }
}

impl Discipline for Params {
    discipline!("tbf");

    const TELLS_HOSTS: bool = true;

    fn marks(&self) -> bool {
        self.aqm.as_ref().is_some_and(|aqm| aqm.spec().marks())
    }

    fn inner(&self, link: &Link) -> Vec<Inner> {
        let at = shaped(link, self.rate.unwrap_or(link.rate));
        self.aqm
            .iter()
            .map(|aqm| Inner { path: "aqm".to_owned(), spec: aqm.spec().clone(), link: at.clone() })
            .collect()
    }

    fn doubts(&self, link: &Link) -> Vec<String> {
        let rate = self.rate.filter(|rate| *rate > link.rate);
        let fast = rate.map(|rate| {
            format!(
                "tbf: the rate of {rate} is above the {} of the link, so it never waits for tokens and the queue is that of the link; lower rate",
                link.rate
            )
        });
        fast.into_iter().collect()
    }

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let rate = self.rate.unwrap_or(link.rate);
        let mut full = Params { rate: Some(rate), ..self.clone() };
        in_range("rate", rate.as_bps() as f64, 8.0, f64::MAX)?;
        in_range("burst", self.burst.as_f64(), 1.0, f64::from(u32::MAX)).map_err(|e| e.cite("tc-tbf(8)"))?;
        in_range("minburst", self.minburst.as_f64(), 1.0, f64::from(u32::MAX))?;
        if let Some(peak) = self.peakrate.filter(|peak| *peak <= rate) {
            return Err(ParamError::new("peakrate", peak, format!("it must be above rate, {rate}")).cite("tc-tbf(8)"));
        }
        match &self.aqm {
            None => full.complete_limit(link)?,
            Some(aqm) => {
                let given = self.limit.map(|limit| ("limit", limit.to_string()));
                let given = given.or_else(|| self.latency.map(|latency| ("latency", latency.to_string())));
                if let Some((field, got)) = given {
                    return Err(ParamError::new(field, got, "with aqm, give the limit to the inner discipline"));
                }
                full.aqm = Some(aqm.effective(&shaped(link, rate))?);
            }
        }
        Ok(full)
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Tbf::<P>::new(self, link, now)?))
    }
}

/// The parameters of the buckets and of the inner queue, checked.
#[derive(Clone, Debug)]
struct Config {
    /// The rates in bytes per second, with the sizes of their buckets: one, or two with a peak rate.
    buckets: Vec<(f64, f64)>,
    /// The longest packet.
    longest: u64,
    /// The limit of the own FIFO.
    limit: Amount,
    /// The inner queue, where it is not the own FIFO, with the link that it sees.
    child: Option<(ChildSpec, Link)>,
}

impl Config {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let full = params.effective(link)?;
        let rate = full.rate.unwrap_or(link.rate);
        let peak = full.peakrate.map(|peak| (peak, full.minburst));
        let buckets: Vec<(BitRate, Bytes)> = std::iter::once((rate, full.burst)).chain(peak).collect();
        Ok(Config {
            buckets: buckets.iter().map(|(each, size)| (each.bytes_per_sec(), size.as_f64())).collect(),
            longest: buckets.iter().map(|(_, size)| size.0).min().unwrap_or_default(),
            limit: full.limit.unwrap_or(Amount::Packets(f64::INFINITY)),
            child: full.aqm.map(|aqm| (aqm, shaped(link, rate))),
        })
    }
}

/// Where packets wait for tokens.
enum Room<P> {
    Own(Ring<P>),
    Inner(Child<P>),
}

/// A queue that sends at a limited rate.
struct Tbf<P> {
    config: Config,
    buckets: Vec<TokenBucket>,
    room: Room<P>,
    stats: Stats,
}

impl<P: Packet + 'static> Tbf<P> {
    fn new(params: &Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let config = Config::new(params, link)?;
        let room = match &config.child {
            None => Room::Own(Ring::default()),
            Some((spec, at)) => Room::Inner(Child::new(spec, at, now)?),
        };
        let buckets = config.buckets.iter().map(|(_, burst)| TokenBucket::full(*burst, now)).collect();
        Ok(Tbf { config, buckets, room, stats: Stats::default() })
    }

    /// When the buckets have tokens for a packet of this length; nothing if they have. A packet that has become longer than a bucket, after a
    /// change, needs a full one.
    fn ready(&self, len: u32, now: Instant) -> Option<Instant> {
        let each = self.buckets.iter().zip(&self.config.buckets);
        each.filter_map(|(bucket, (rate, burst))| bucket.ready(f64::from(len).min(*burst), *rate, *burst, now)).max()
    }

    /// A bucket stays as far from full as it is when its size changes; one that is new is full.
    fn change_buckets(&mut self, to: &Config, now: Instant) {
        if self.config.buckets == to.buckets {
            return;
        }
        for (bucket, (old, new)) in self.buckets.iter_mut().zip(self.config.buckets.iter().zip(&to.buckets)) {
            bucket.resize(*old, new.1, now);
        }
        self.buckets.truncate(to.buckets.len());
        let more = &to.buckets[self.buckets.len()..];
        self.buckets.extend(more.iter().map(|(_, burst)| TokenBucket::full(*burst, now)));
    }
}

impl<P: Packet + 'static> Qdisc<P> for Tbf<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let fits = match &self.room {
            Room::Own(ring) => ring.fits(packet.len(), self.config.limit),
            Room::Inner(_) => true,
        };
        if u64::from(packet.len()) > self.config.longest || !fits {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        match &mut self.room {
            Room::Own(ring) => ring.push(packet, cx.now),
            Room::Inner(child) => child.enqueue(packet, &mut self.stats, cx),
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        let next = match &mut self.room {
            Room::Own(ring) => ring.view(0, cx.now).map_or(Dequeued::Empty, |next| Dequeued::Packet(next.len)),
            Room::Inner(child) => child.peek(&mut self.stats, cx),
        };
        let len = match next {
            Dequeued::Packet(len) => len,
            Dequeued::Empty => return Dequeued::Empty,
            Dequeued::NotBefore(at) => return Dequeued::NotBefore(at),
        };
        if let Some(at) = self.ready(len, cx.now) {
            return Dequeued::NotBefore(at);
        }
        for (bucket, (rate, burst)) in self.buckets.iter_mut().zip(&self.config.buckets) {
            bucket.spend(len.into(), *rate, *burst, cx.now);
        }
        let packet = match &mut self.room {
            Room::Own(ring) => ring.pop(cx.now).map(|(packet, _)| packet),
            Room::Inner(child) => child.dequeue(&mut self.stats, cx).packet(),
        };
        self.stats.dequeued += u64::from(packet.is_some());
        packet.map_or(Dequeued::Empty, Dequeued::Packet)
    }

    fn wakeup(&self) -> Option<Instant> {
        match &self.room {
            Room::Own(_) => None,
            Room::Inner(child) => child.wakeup(),
        }
    }

    fn on_wakeup(&mut self, cx: &mut Cx<'_, P>) {
        if let Room::Inner(child) = &mut self.room {
            child.on_wakeup(&mut self.stats, cx);
        }
    }

    fn backlog(&self) -> Backlog {
        match &self.room {
            Room::Own(ring) => ring.backlog(),
            Room::Inner(child) => child.backlog(),
        }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let config = Config::new(params.of::<Params>()?, link)?;
        match (&mut self.room, &config.child) {
            (Room::Own(ring), None) => {
                while ring.over(config.limit) {
                    if let Some((packet, _)) = ring.pop_tail(cx.now) {
                        cx.discard(packet, Why::Reconfigured, &mut self.stats);
                    }
                }
            }
            // With one child nothing else has changed when it refuses.
            (Room::Inner(child), Some((spec, at))) => child.reconfigure(spec, at, &mut self.stats, cx)?,
            _ => return Err(ParamError::new("aqm", "another discipline", "it cannot change while packets wait")),
        }
        self.change_buckets(&config, cx.now);
        self.config = config;
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        if let Room::Inner(child) = &self.room {
            child.probe("", out);
        }
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        match &self.room {
            Room::Own(ring) => ring.packets().for_each(|packet| see(InnerQueue::Only, packet)),
            Room::Inner(child) => child.waiting_inside(see),
        }
    }
}
