//! One direction of a path: a shaper whose settings change on time, and its log.

use std::collections::VecDeque;

use aqmkit_base::{Instant, ParamError};
use aqmkit_measure::LinkInfo;

use crate::datagram::{Carried, Datagram};
use crate::link::Link;
use crate::log::{Event, Log};
use crate::shaper::{Released, Setup, Shaper};

pub(crate) struct Direction<T> {
    shaper: Shaper<Carried<T>, Log>,
    /// Changes to come.
    changes: VecDeque<(Instant, Setup)>,
    first: Setup,
}

impl<T: 'static> Direction<T> {
    pub(crate) fn new(link: &Link, name: &str, seed: u64) -> Result<Self, ParamError> {
        let (first, changes) = link.read(name, seed)?;
        let shaper = Shaper::new(&first, Log::default(), Instant::ZERO).map_err(|e| link.about_parameter(e))?;
        // A discipline may refuse the later rates.
        let mut rehearsal = Shaper::<Carried<T>, Log>::new(&first, Log::default(), Instant::ZERO)
            .map_err(|e| link.about_parameter(e))?;
        for (at, setup) in &changes {
            rehearsal.reconfigure(setup, *at).map_err(|e| link.about_parameter(e))?;
        }
        Ok(Direction { shaper, changes: changes.into(), first })
    }

    pub(crate) fn send(&mut self, datagram: Datagram<T>, now: Instant) {
        self.advance(now);
        let carried = Carried::new(datagram, self.shaper.flow(), now);
        self.shaper.arrive(carried, now);
    }

    /// Processes all that is due up to and including `now`, each at its own time.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some((at, setup)) = self.changes.pop_front_if(|(at, _)| *at <= now) {
            // Rehearsed when the path was made; what cannot be applied leaves the link as it is.
            let _ = self.shaper.reconfigure(&setup, at);
        }
        self.shaper.advance(now);
    }

    /// When the next packet arrives, of those that have left the queue.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.shaper.next_due()
    }

    /// When the next thing happens, if packets are under way.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let own = self.shaper.wakeup()?;
        Some(self.changes.front().map_or(own, |(at, _)| own.min(*at)))
    }

    pub(crate) fn take(&mut self, now: Instant) -> Option<(Instant, Datagram<T>)> {
        let Released { packet, due } = self.shaper.release(now)?;
        self.shaper.meter_mut().add(due, Event::Arrived(due.since(packet.sent)));
        Some((due, packet.datagram))
    }

    pub(crate) fn waiting(&self) -> u64 {
        self.shaper.backlog().packets
    }

    pub(crate) fn log(&self) -> &Log {
        self.shaper.meter()
    }

    /// The link as measurements need it.
    pub(crate) fn info(&self) -> LinkInfo {
        let rates = self.shaper.rates();
        LinkInfo {
            name: self.first.name.clone(),
            report: true,
            rate: self.first.rate,
            trace: self.first.trace.clone(),
            changes: rates.get(1..).unwrap_or_default().to_vec(),
        }
    }

    /// The link in a few words: `fifo, 10mbit`.
    pub(crate) fn title(&self) -> String {
        let trace = if self.first.trace.is_some() { " on average" } else { "" };
        format!("{}, {}{trace}", self.first.aqm.name(), self.first.rate)
    }
}
