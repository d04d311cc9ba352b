//! Links whose wire sends from the ring of a driver.

use aqmkit_aqm::Dequeued;

use super::{SimEvent, World};
use crate::driver::{Driver, Waiting};
use crate::log::PacketEvent;
use crate::packet::Queued;

impl World<'_> {
    /// The wire of a link with a driver is idle: notifies the driver, which refills its ring. Returns the packet to
    /// send.
    #[cold]
    pub(super) fn next_of_ring(&mut self, link: usize) -> Dequeued<Queued> {
        let now = self.now;
        if let Some(at) = self.driver(link).and_then(|driver| driver.idle(now)) {
            self.event_queue.put(at, SimEvent::Driver { link: link as u32 });
        }
        self.fill_ring(link);
        if let Some(at) = self.links[link].transmitter.wait(now) {
            return Dequeued::NotBefore(at);
        }
        self.driver(link).and_then(Driver::send).map_or(Dequeued::Empty, Dequeued::Packet)
    }

    /// Lets a driver take packets out of its link's queue while its ring has room, and measures the queue.
    #[cold]
    pub(super) fn fill_ring(&mut self, link: usize) {
        let now = self.now;
        while self.driver(link).is_some_and(|driver| driver.has_room()) {
            match self.links[link].leave_queue(now) {
                Dequeued::Packet(packet) => {
                    let waited = now.since(self.arena.get(packet.id).queued);
                    if self.log.is_some() {
                        self.record_of(link, PacketEvent::Departure, packet.id);
                    }
                    if let Some(driver) = self.driver(link) {
                        driver.take(Waiting { packet, waited });
                    }
                }
                Dequeued::Empty => break,
                Dequeued::NotBefore(at) => {
                    if self.driver(link).is_some_and(|driver| driver.asks_again(at, now)) {
                        self.event_queue.put(at, SimEvent::Driver { link: link as u32 });
                    }
                    break;
                }
            }
        }
        self.account(link);
    }

    /// An interrupt, or the queue's packets are no longer held back.
    pub(super) fn driver_due(&mut self, link: usize) {
        let now = self.now;
        if let Some(driver) = self.driver(link) {
            driver.due(now);
        }
        if self.links[link].transmitter.busy_until().is_none() { self.transmit(link) } else { self.fill_ring(link) }
    }

    fn driver(&mut self, link: usize) -> Option<&mut Driver> {
        self.links[link].driver.as_deref_mut()
    }
}
