//! Changes while the run is in progress.

use aqmkit_aqm::ParamError;
use aqmkit_base::{Duration, Instant};
use aqmkit_traffic::{Application, Event};

use super::{SimEvent, World};
use crate::change::{Change, Transport};
use crate::host::Host;
use crate::link::Link;
use crate::scenario::{self, Delays};

impl World<'_> {
    /// Whether a link could have other settings.
    pub(crate) fn check_link(&self, from: &scenario::Link, to: &scenario::Link) -> Result<(), ParamError> {
        Link::check_change(from, to, &self.meter.plan().classes)
    }

    /// Applies a change now, after all other events of this instant.
    pub(crate) fn change(&mut self, change: Change) -> Result<(), ParamError> {
        match change {
            Change::Link { link, to } => self.change_link(link, &to)?,
            Change::Delays { group, routes, delays } => self.change_delays(group, &routes, delays),
            Change::Traffic { group, keep, begin, transport } => self.change_traffic(group, keep, begin, transport),
        }
        self.deliver_events();
        Ok(())
    }

    fn change_link(&mut self, link: usize, to: &scenario::Link) -> Result<(), ParamError> {
        let classes = &self.meter.plan().classes;
        let rate = self.links[link].transmitter.rate();
        let resent = self.links[link].change(to, classes, self.now)?;
        if to.rate != rate {
            self.meter.rate(link, to.rate, self.now);
        }
        if let Some(resent) = resent {
            self.meter.continued(link, self.now, resent.to);
            self.reschedule(resent.from, resent.to, SimEvent::LinkFree { link: link as u32 });
            if let Some((packet, arrival)) = &mut self.links[link].sent_last {
                let (packet, from) = (*packet, std::mem::replace(arrival, resent.arrival(*arrival)));
                self.reschedule(from, resent.arrival(from), SimEvent::Arrival { packet });
            }
        }
        self.account(link);
        // The queue may have held its packets back; with other parameters it may release them.
        if self.links[link].transmitter.busy_until().is_none() && self.links[link].backlog().packets > 0 {
            self.transmit(link);
        }
        Ok(())
    }

    /// Reschedules a pending event.
    fn reschedule(&mut self, from: Instant, to: Instant, event: SimEvent) {
        if from != to {
            self.cancelled.push((from, event));
            self.event_queue.put(to, event);
        }
    }

    /// Whether an event was rescheduled, and does not happen now.
    #[cold]
    pub(super) fn is_cancelled(&mut self, at: Instant, event: SimEvent) -> bool {
        let found = self.cancelled.iter().position(|cancelled| *cancelled == (at, event));
        found.map(|i| self.cancelled.swap_remove(i)).is_some()
    }

    fn change_delays(&mut self, group: usize, routes: &[(Duration, Duration)], delays: Delays) {
        let paths = self.groups[group].paths.clone();
        for (ends, (forward, reverse)) in paths.iter().zip(routes) {
            self.paths[ends[0] as usize].delay = *forward;
            self.paths[ends[1] as usize].delay = *reverse;
        }
        if self.groups[group].delays == delays {
            return;
        }
        self.groups[group].delays = delays;
        let members: Vec<u32> = self.meter.plan().groups[group].members().map(|app| app as u32).collect();
        for app in members {
            let index = self.apps[app].index;
            let open: Vec<u32> = self.apps[app].connections().collect();
            for conn in open {
                let server = self.server_of(conn);
                let extra = self.extra_delay(group as u16, index, server);
                self.set_extra_delay(conn, extra);
            }
            if self.reply_delays.contains_key(&app) {
                let extra = self.new_reply_delay(app);
                self.reply_delays.insert(app, extra);
            }
        }
    }

    fn change_traffic(
        &mut self,
        group: usize,
        keep: usize,
        begin: Vec<Box<dyn Application>>,
        transport: Option<Box<Transport>>,
    ) {
        let members: Vec<u32> = self.meter.plan().groups[group].members().map(|app| app as u32).collect();
        let leaving: Vec<u32> = members.iter().skip(keep).copied().filter(|&app| !self.apps[app].stopped).collect();
        leaving.iter().for_each(|&app| self.deliver_event(app, Event::Stop));
        leaving.iter().for_each(|&app| self.stop_app(app));
        if let Some(transport) = transport {
            (self.groups[group].profile, self.groups[group].stack) = (transport.profile, transport.stack);
        }
        let now = self.now;
        let (start, stop) = self.spans[group];
        let first = keep.min(members.len());
        for (i, model) in begin.into_iter().enumerate() {
            let index = first + i;
            let app = match members.get(index) {
                Some(&app) => {
                    self.apps.replace(app, model);
                    app
                }
                None => self.join_app(group, index, model),
            };
            // An application added before its group's start begins with it; one added after its end never does.
            self.apps.set_stopped(app, now >= stop);
            if now >= start && now < stop {
                self.deliver_event(app, Event::Start);
            }
        }
    }

    /// Adds an application to a group. Returns its number.
    fn join_app(&mut self, group: usize, index: usize, model: Box<dyn Application>) -> u32 {
        self.apps.join(group, &self.meter.plan().groups[group].name, index, model);
        let app = self.meter.join(group);
        debug_assert_eq!(app + 1, self.apps.all().len(), "applications have the same numbers everywhere");
        app as u32
    }
}
