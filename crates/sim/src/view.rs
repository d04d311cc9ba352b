//! The observable state of a run in progress: queues, senders, gauges.

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Backlog, InnerQueue, ParamError, Stats};
use aqmkit_base::{BitRate, Duration, Ecn, Instant};
use aqmkit_measure::{Traffic, utilization};
use aqmkit_transport::congestion::ModelView;

use crate::host::Host;
use crate::packet::Queued;
use crate::world::World;

/// A snapshot of a link.
pub struct LinkView<'a, 'o> {
    world: &'a World<'o>,
    link: usize,
    /// Its rate; with a trace, the mean rate.
    pub rate: BitRate,
    /// The backlog of its queue.
    pub backlog: Backlog,
    /// Packets waiting behind the queue, in the driver's ring.
    pub in_ring: u64,
    /// The counters of its queue since the start.
    pub stats: &'a Stats,
    /// The traffic that has passed it since the start; `None` if the results do not report it.
    pub passed: &'a Traffic,
    /// The end of the current transmission.
    pub busy_until: Option<Instant>,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingPacket {
    /// The application it belongs to, by its number in the run.
    pub app: u32,
    /// The group of this application.
    pub group: u16,
    /// Its length in bytes, with headers.
    pub len: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// How long it has waited.
    pub waited: Duration,
}

impl<'a, 'o> LinkView<'a, 'o> {
    /// The gauges of its discipline.
    #[must_use]
    pub fn gauges(&self) -> Vec<(String, f64)> {
        let mut gauges = Vec::new();
        self.world.links()[self.link].probe(&mut |name, value| gauges.push((name.to_owned(), value)));
        gauges
    }

    /// Shows every queued packet: one inner queue after another, each from its head.
    pub fn packets(&self, see: &mut dyn FnMut(InnerQueue<'_>, WaitingPacket)) {
        self.world.links()[self.link].waiting_packets(&mut |queue, packet: &Queued| {
            let flight = self.world.flight(packet.id);
            let waiting = WaitingPacket {
                app: flight.app,
                group: self.world.group_of(flight.app),
                len: packet.len,
                ecn: packet.ecn,
                waited: self.world.now().since(flight.queued),
            };
            see(queue, waiting);
        });
    }

    /// Utilisation since the start.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        let (capacity, seconds) = (self.world.capacity_bps(self.link), self.world.now().as_secs_f64());
        utilization(self.world.passed_bytes(self.link), capacity, seconds)
    }

    pub(crate) fn new(world: &'a World<'o>, link: usize) -> Self {
        let it = &world.links()[link];
        LinkView {
            world,
            link,
            rate: it.transmitter.rate(),
            backlog: it.backlog(),
            in_ring: it.driver.as_ref().map_or(0, |driver| driver.waiting()),
            stats: it.stats(),
            passed: world.passed(link),
            busy_until: it.transmitter.busy_until(),
        }
    }
}

/// A snapshot of an application and its connections.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowView {
    /// Its number in the run.
    pub app: u32,
    /// Its group.
    pub group: u16,
    /// Its number in its group.
    pub index: u32,
    /// Number of open connections; the fields that follow describe the first of them.
    pub connections: usize,
    /// Bytes of application data received since the start, each counted once.
    pub delivered: u64,
    /// Packets sent since the start.
    pub packets: u64,
    /// Packets lost since the start.
    pub drops: u32,
    /// The congestion window in bytes; `None` without TCP.
    pub window: Option<u64>,
    /// The slow-start threshold in bytes.
    pub ssthresh: Option<u64>,
    /// The smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// Bytes sent and not acknowledged.
    pub in_flight: Option<u64>,
    /// The rate at which a rate-based transport sends, in bits per second.
    pub rate: Option<f64>,
    /// The phase of the sender: see [`aqmkit_transport::Tcp::phase`]; empty without a connection.
    pub phase: &'static str,
    /// The model of the path, where the congestion control has one.
    pub model: Option<ModelView>,
    /// The estimate of the bytes in the network: see [`aqmkit_transport::Tcp::pipe`].
    pub pipe: Option<u64>,
}

/// The names of a discipline's gauges on a link, from an empty queue of this simulator.
///
/// # Errors
/// When a parameter cannot be used on this link.
pub fn gauges(spec: &Spec, link: &Link) -> Result<Vec<String>, ParamError> {
    let queue = spec.build::<Queued>(link, Instant::ZERO)?;
    let mut names = Vec::new();
    queue.probe(&mut |name, _| names.push(name.to_owned()));
    Ok(names)
}
