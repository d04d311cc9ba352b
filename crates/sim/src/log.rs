//! A log of packet events at the queues of links: arrivals, departures, drops and marks. Displays are drawn from it.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

/// An event of a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketEvent {
    /// It arrived.
    Arrival = 0,
    /// It left the queue, and its transmission began.
    Departure = 1,
    /// The queue dropped it.
    Drop = 2,
    /// The queue marked it with congestion experienced.
    Mark = 3,
}

/// One event of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When.
    pub at: Instant,
    /// What.
    pub what: PacketEvent,
    /// The link, as an index into [`crate::Scenario::links`].
    pub link: u16,
    /// The group of its application, as an index into [`crate::Scenario::groups`].
    pub group: u16,
    /// The application it belongs to, by its number in the run.
    pub app: u32,
    /// Its length in bytes, with headers.
    pub len: u32,
    /// How long it waited in the queue until it left or was dropped; for an arrival and a mark, so far.
    pub waited: Duration,
}

/// The latest records of the watched links.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// By link.
    watched: Vec<bool>,
    records: VecDeque<Record>,
    capacity: usize,
    /// Records so far, including those no longer in the list.
    seen: u64,
}

impl Log {
    /// An empty list of the events at some links, which keeps the latest `capacity` records.
    #[must_use]
    pub fn new(links: impl IntoIterator<Item = usize>, capacity: usize) -> Self {
        let mut watched = Vec::new();
        for link in links {
            if watched.len() <= link {
                watched.resize(link + 1, false);
            }
            watched[link] = true;
        }
        Log { watched, records: VecDeque::new(), capacity, seen: 0 }
    }

    /// Whether the events of a link are recorded.
    pub(crate) fn watches(&self, link: usize) -> bool {
        self.watched.get(link).is_some_and(|watched| *watched)
    }

    pub(crate) fn add(&mut self, record: Record) {
        self.seen += 1;
        if self.records.len() >= self.capacity {
            self.records.pop_front();
        }
        if self.capacity > 0 {
            self.records.push_back(record);
        }
    }

    /// Number of events since the start.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The stored records, oldest first.
    #[must_use]
    pub fn records(&self) -> impl ExactSizeIterator<Item = &Record> {
        self.records.iter()
    }

    /// Takes all records, oldest first.
    pub fn take(&mut self) -> Vec<Record> {
        self.records.drain(..).collect()
    }
}
