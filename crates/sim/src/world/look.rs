//! Reads the observable state of the run in progress.

use aqmkit_base::Instant;
use aqmkit_measure::output::Engine;
use aqmkit_measure::{Output, Traffic};

use super::World;
use crate::link::Link;
use crate::log::{Log, PacketEvent, Record};
use crate::packet::Flight;
use crate::view::{FlowView, LinkView};

impl<'o> World<'o> {
    /// Events processed so far.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    pub(crate) fn links(&self) -> &[Link] {
        &self.links
    }

    pub(crate) fn flight(&self, id: u32) -> &Flight {
        self.arena.get(id)
    }

    pub(crate) fn group_of(&self, app: u32) -> u16 {
        self.apps[app].group
    }

    pub(crate) fn passed(&self, link: usize) -> &Traffic {
        self.meter.passed(link)
    }

    /// Bytes that a link has transmitted since the start.
    pub(crate) fn passed_bytes(&self, link: usize) -> f64 {
        self.meter.passed_bytes(link, self.now)
    }

    /// The mean capacity of a link since the start, in bits per second.
    pub(crate) fn capacity_bps(&self, link: usize) -> f64 {
        self.meter.plan().links[link].capacity_so_far_bps(Instant::ZERO, self.now)
    }

    pub(crate) fn link_view(&self, link: usize) -> LinkView<'_, 'o> {
        LinkView::new(self, link)
    }

    pub(crate) fn set_log(&mut self, log: Option<Log>) {
        self.log = log.map(Box::new);
    }

    pub(crate) fn log(&self) -> Option<&Log> {
        self.log.as_deref()
    }

    pub(crate) fn log_mut(&mut self) -> Option<&mut Log> {
        self.log.as_deref_mut()
    }

    /// Records an event of a packet at a link.
    #[cold]
    pub(super) fn record(&mut self, link: usize, what: PacketEvent, flight: &Flight) {
        let group = self.group_of(flight.app);
        let Some(log) = self.log.as_deref_mut().filter(|log| log.watches(link)) else { return };
        log.add(Record {
            at: self.now,
            what,
            link: link as u16,
            group,
            app: flight.app,
            len: flight.len,
            waited: self.now.since(flight.queued),
        });
    }

    /// As [`World::record`], for a packet in the arena.
    #[cold]
    pub(super) fn record_of(&mut self, link: usize, what: PacketEvent, id: u32) {
        if self.log.as_deref().is_some_and(|log| log.watches(link)) {
            let flight = self.arena.get(id).clone();
            self.record(link, what, &flight);
        }
    }

    /// The applications that have anything to show, in order.
    pub(crate) fn flow_views(&self, limit: usize) -> Vec<FlowView> {
        let shown = (0..self.apps.all().len() as u32).filter(|&app| {
            let it = &self.apps[app];
            it.connections().next().is_some() || (!it.stopped && self.meter.app(app).packets > 0)
        });
        shown.take(limit).map(|app| self.flow_view(app)).collect()
    }

    fn flow_view(&self, app: u32) -> FlowView {
        let it = &self.apps[app];
        let sent = self.meter.app(app);
        let sender = it.connections().next().map(|conn| self.sender_view(conn)).unwrap_or_default();
        FlowView {
            app,
            group: it.group,
            index: it.index,
            connections: it.connections().count(),
            delivered: sent.delivered,
            packets: sent.packets,
            drops: sent.drops,
            window: sender.window,
            ssthresh: sender.ssthresh,
            rtt: sender.rtt,
            in_flight: sender.in_flight,
            rate: sender.rate,
            phase: sender.phase,
            model: sender.model,
            pipe: sender.pipe,
        }
    }

    /// The measurements so far.
    pub(crate) fn output_so_far(&self) -> Output {
        let output = self.meter.output_so_far(self.now, &self.counters());
        Output { engine: Engine { events: self.events, ..output.engine }, ..output }
    }
}
