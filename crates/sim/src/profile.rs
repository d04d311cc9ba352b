//! The computing time of a run by kind of event.

/// The kind of an event, as far as its cost depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A packet arrives at a link: it enters the queue, and is sent at once if the link is free.
    AtLink,
    /// Data of a connection arrives at its receiver, which acknowledges it.
    Data,
    /// Another segment of a connection arrives: an acknowledgement, which makes the sender send, a SYN or a FIN.
    Acknowledgement,
    /// A datagram, or a packet of a rate-based transport, arrives at its receiver.
    Datagram,
    /// A link becomes free, and sends the next packet of its queue.
    LinkFree,
    /// A connection's timer may have expired.
    Timer,
    /// A server has processed a request.
    Request,
    /// An application wakes up.
    Wake,
    /// A window or an interval of the measurements begins or ends, or a group of applications starts or stops.
    Measurement,
}

impl EventKind {
    /// Every kind, in the order of the profile.
    pub const ALL: [EventKind; 9] = [
        EventKind::AtLink,
        EventKind::LinkFree,
        EventKind::Data,
        EventKind::Acknowledgement,
        EventKind::Datagram,
        EventKind::Timer,
        EventKind::Request,
        EventKind::Wake,
        EventKind::Measurement,
    ];

    /// A description in a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EventKind::AtLink => "packet arrives at a link",
            EventKind::LinkFree => "link becomes free",
            EventKind::Data => "data arrives at its receiver",
            EventKind::Acknowledgement => "acknowledgement arrives",
            EventKind::Datagram => "datagram arrives at its receiver",
            EventKind::Timer => "timer of a connection",
            EventKind::Request => "server has processed a request",
            EventKind::Wake => "application wakes up",
            EventKind::Measurement => "measurements, start and stop",
        }
    }
}

/// Number of events, and the time they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// How many.
    pub events: u64,
    /// Total nanoseconds, by the clock of [`Simulation::advance_profiled`](crate::Simulation::advance_profiled).
    pub ns: u64,
}

impl Spent {
    fn add(&mut self, ns: u64) {
        self.events += 1;
        self.ns += ns;
    }
}

/// Where the time of a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Finding the next event, and with many connections prefetching its state.
    pub finding: Spent,
    /// The events by their kind, in the order of [`EventKind::ALL`], each with everything that follows at the same moment.
    pub kinds: [Spent; EventKind::ALL.len()],
}

/// Observes the event loop of a run.
pub(crate) trait Probe {
    /// Whether it needs anything but the number of events.
    const WATCHES: bool;

    /// Whether senders are followed: see [`crate::follow`].
    fn follows(&self) -> bool;

    /// The next event was found.
    fn found(&mut self, kind: EventKind);

    /// The last event found was processed.
    fn processed(&mut self);
}

/// Observes nothing, and costs nothing.
impl Probe for () {
    const WATCHES: bool = false;

    #[inline(always)]
    fn follows(&self) -> bool {
        false
    }

    #[inline(always)]
    fn found(&mut self, _: EventKind) {}

    #[inline(always)]
    fn processed(&mut self) {}
}

/// Observes everything. One type for all that do, because each makes another copy of the event loop, and with more copies the
/// compiler inlines less of the ordinary one.
pub(crate) enum Watching<'p> {
    /// The time of each event.
    Time(Stopwatch<'p>),
    /// The senders that events concern.
    Senders,
}

impl Probe for Watching<'_> {
    const WATCHES: bool = true;

    fn follows(&self) -> bool {
        matches!(self, Watching::Senders)
    }

    fn found(&mut self, kind: EventKind) {
        if let Watching::Time(stopwatch) = self {
            stopwatch.found(kind);
        }
    }

    fn processed(&mut self) {
        if let Watching::Time(stopwatch) = self {
            stopwatch.processed();
        }
    }
}

/// Reads a clock before and after each event.
pub(crate) struct Stopwatch<'p> {
    profile: &'p mut Profile,
    /// Nanoseconds since some moment.
    clock: &'p mut dyn FnMut() -> u64,
    since: u64,
    kind: usize,
}

impl<'p> Stopwatch<'p> {
    pub(crate) fn new(profile: &'p mut Profile, clock: &'p mut dyn FnMut() -> u64) -> Self {
        let since = clock();
        Stopwatch { profile, clock, since, kind: 0 }
    }

    fn lap(&mut self) -> u64 {
        let now = (self.clock)();
        now.saturating_sub(std::mem::replace(&mut self.since, now))
    }
}

impl Stopwatch<'_> {
    fn found(&mut self, kind: EventKind) {
        let ns = self.lap();
        self.profile.finding.add(ns);
        self.kind = EventKind::ALL.iter().position(|k| *k == kind).unwrap_or(0);
    }

    fn processed(&mut self) {
        let ns = self.lap();
        self.profile.kinds[self.kind].add(ns);
    }
}
