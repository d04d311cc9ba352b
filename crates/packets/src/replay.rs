//! Replay of a capture through a discipline in virtual time.
//!
//! Packets arrive at the times of the capture. The replay is open-loop: senders do not respond to drops, so it shows
//! how a discipline treats given traffic.
//!
//! Packets are streamed: memory holds the queue and the counters of 65536 flows.

mod capture;
mod clock;
mod flows;
mod output;
mod packet;
mod segments;
mod selection;
mod whole;

use std::cell::Cell;
use std::io::Read;

use aqmkit_aqm::{Backlog, Packet, ParamError, Why};
use aqmkit_base::{ClassId, Duration, Ecn, Instant, Transmission};

pub use capture::{CaptureError, Damage, Ended, Record, read};
pub use clock::{LONGEST_PAUSE, STEP, Step};
pub use flows::{FlowCount, FlowCounts};
pub use output::{OutputError, PcapWriter};
pub use selection::Selection;

use aqmkit_measure::Passed;

use crate::frame::Keys;
use crate::meter::Watch;
use crate::meter::{Measured, Meter};
use crate::shaper::{Setup, Shaper};
use crate::wire::{Classes, Flow, View};
use clock::Clock;
use packet::{Captured, Passage};
use segments::Cut;

/// The end of a packet: transmission or drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was transmitted.
    Sent {
        /// Sojourn time, from arrival to start of transmission.
        waited: Duration,
        /// Time of its last bit.
        left: Instant,
        /// Why it was marked, if it was.
        marked: Option<Why>,
    },
    /// It was dropped.
    Dropped {
        /// Why it was dropped.
        why: Why,
        /// When it was dropped.
        at: Instant,
    },
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Fate<'a> {
    /// Packet number in the capture, from 1.
    pub number: u64,
    /// Arrival time, relative to the first packet.
    pub arrived: Instant,
    /// Length on the wire, in bytes.
    pub length: u32,
    /// Traffic class.
    pub class: ClassId,
    /// Flow by its addresses and ports.
    pub flow: &'a Flow,
    /// ECN codepoint on arrival.
    pub ecn: Ecn,
    /// Whether it was sent or dropped.
    pub end: End,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// Time of its last bit, in nanoseconds since 1970.
    pub at: u64,
    /// `LINKTYPE_` number of its capture.
    pub link_type: i32,
    /// Length on the wire, in bytes.
    pub length: u32,
    /// Captured bytes, with CE set if it was marked; empty if [`Follow::wants_bytes`] is false.
    pub bytes: &'a [u8],
}

/// An observer of a replay. Its first error stops the replay and is returned at the end.
pub trait Follow {
    /// The error that stops the replay.
    type Error: From<CaptureError>;

    /// Whether [`Follow::sent`] needs the bytes of packets.
    fn wants_bytes(&self) -> bool {
        false
    }

    /// Called before a packet is replayed.
    ///
    /// # Errors
    /// When the replay should stop.
    fn read(&mut self, _record: &Record<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Called once it is known what happened to a packet.
    ///
    /// # Errors
    /// When the replay should stop.
    fn fate(&mut self, _fate: &Fate<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Called when a packet was sent.
    ///
    /// # Errors
    /// When the replay should stop.
    fn sent(&mut self, _sent: &Sent<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The results of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// Counters and delays, in total and by class.
    pub window: Passed,
    /// Counts by flow.
    pub flows: FlowCounts,
    /// Packets with timestamps up to [`STEP`] before their predecessors, with which they arrive.
    pub unordered: u64,
    /// The first clock step, back or ahead; all steps are removed.
    pub step: Option<Step>,
    /// The number of steps.
    pub steps: u64,
    /// Blocks of an unknown kind, which were skipped.
    pub skipped: u64,
    /// Packets without an IP header.
    pub not_ip: u64,
    /// Packets excluded by the selection.
    pub left_out: u64,
    /// Packets longer than the MTU, which were segmented.
    pub cut: u64,
    /// Whether packets of both directions of a connection passed the queue.
    pub both_ways: bool,
    /// The place where the file is damaged, if it is.
    pub damage: Option<Damage>,
}

/// The salt is fixed, so that replays are repeatable.
const SALT: u64 = 0x6171_6d6b_6974_0002;

/// Why a replay failed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError<E> {
    /// A parameter of the discipline is invalid.
    #[error(transparent)]
    Parameter(#[from] ParamError),
    /// An error of the capture or of the observer.
    #[error("{0}")]
    Stopped(E),
}

/// Replays a whole capture through the link of `setup`.
///
/// # Errors
/// When a parameter cannot be used, the input is not a capture, or `follow` returns an error.
pub fn replay<F: Follow>(
    input: impl Read + Send,
    setup: &Setup,
    classes: &Classes,
    follow: &mut F,
) -> Result<Replayed, ReplayError<F::Error>> {
    replay_selected(input, setup, classes, &Selection::default(), follow)
}

/// Replays the selected packets of a capture through the link of `setup`.
///
/// # Errors
/// As [`replay`], and when a selected packet is longer than the MTU of the selection and cannot be cut.
pub fn replay_selected<F: Follow>(
    input: impl Read + Send,
    setup: &Setup,
    classes: &Classes,
    selection: &Selection,
    follow: &mut F,
) -> Result<Replayed, ReplayError<F::Error>> {
    let mut run = Run::new(setup, classes, selection, follow)?;
    let ended = read(input, &mut |record| run.packet(&record)).map_err(ReplayError::Stopped)?;
    run.release_held(None).map_err(ReplayError::Stopped)?;
    run.drain().map_err(ReplayError::Stopped)?;
    Ok(run.finish(ended))
}

/// A replay in progress.
struct Run<'a, F: Follow> {
    classes: &'a Classes,
    selection: &'a Selection,
    shaper: Shaper<Captured, Watcher<'a, F>>,
    now: Instant,
    clock: Clock,
    /// A packet whose timestamp is far ahead, until the next one tells whether it is right.
    held: Option<Held>,
    not_ip: u64,
    left_out: u64,
    cut: u64,
    both_ways: bool,
    /// Reusable buffer for segments.
    segment: Vec<u8>,
}

impl<'a, F: Follow> Run<'a, F> {
    fn new(
        setup: &Setup,
        classes: &'a Classes,
        selection: &'a Selection,
        follow: &'a mut F,
    ) -> Result<Self, ParamError> {
        let watcher = Watcher {
            meter: Meter::whole(classes.names()),
            flows: FlowCounts::default(),
            keeps: follow.wants_bytes(),
            follow,
            spare: Vec::new(),
            error: None,
        };
        let setup = Setup { classes: classes.names().to_vec(), ..setup.clone() };
        let shaper = Shaper::new(&setup, watcher, Instant::ZERO)?;
        Ok(Run {
            classes,
            selection,
            shaper,
            now: Instant::ZERO,
            clock: Clock::default(),
            held: None,
            not_ip: 0,
            left_out: 0,
            cut: 0,
            both_ways: false,
            segment: Vec::new(),
        })
    }

    fn packet(&mut self, record: &Record<'_>) -> Result<(), F::Error> {
        self.shaper.meter_mut().follow.read(record)?;
        let view = View::of(record.encapsulation, record.bytes);
        if !self.selection.takes(&view) {
            self.left_out += 1;
            return Ok(());
        }
        self.release_held(Some(record.at))?;
        if self.clock.is_ahead(record.at) {
            self.held = Some(Held::of(record));
            return Ok(());
        }
        self.arrival(record, view, None)
    }

    /// Processes the held packet, now that the following timestamp is known; `None` at the end of the capture.
    fn release_held(&mut self, next: Option<u64>) -> Result<(), F::Error> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let record = held.record();
        self.arrival(&record, View::of(record.encapsulation, record.bytes), next)
    }

    /// Advances the clock to a packet's arrival and admits it. `next` is the timestamp after its own, if needed.
    fn arrival(&mut self, record: &Record<'_>, view: View, next: Option<u64>) -> Result<(), F::Error> {
        self.now += self.clock.gap(record.number, record.at, next);
        let (bytes, left_out) = whole::with_open_length(view.network, record.bytes);
        if matches!(bytes, std::borrow::Cow::Owned(_)) {
            let record = Record { bytes: &bytes, length: record.length - left_out, ..*record };
            return self.admit(&record, View::of(record.encapsulation, record.bytes));
        }
        self.admit(record, view)
    }

    /// Admits a packet that is due, segmented if it exceeds the MTU.
    fn admit(&mut self, record: &Record<'_>, view: View) -> Result<(), F::Error> {
        let length = view.length(record.bytes, record.length).unwrap_or(0);
        match self.selection.mtu {
            Some(mtu) if length > mtu => {
                let too_long = || CaptureError::TooLong { number: record.number, length, mtu };
                let cut = Cut::of(&view, record, mtu).ok_or_else(too_long)?;
                self.segments(record, &cut)
            }
            _ => self.arrive(record, view),
        }
    }

    /// Admits a packet as back-to-back segments.
    fn segments(&mut self, record: &Record<'_>, cut: &Cut) -> Result<(), F::Error> {
        self.cut += 1;
        let mut segment = std::mem::take(&mut self.segment);
        for number in 0..cut.count() {
            let length = cut.segment(record.bytes, number, &mut segment);
            let view = View::of(record.encapsulation, &segment);
            self.arrive(&Record { length, bytes: &segment, ..*record }, view)?;
        }
        self.segment = segment;
        Ok(())
    }

    /// A packet arrives at the queue.
    fn arrive(&mut self, record: &Record<'_>, view: View) -> Result<(), F::Error> {
        let watcher = self.shaper.meter_mut();
        let mut bytes = watcher.spare.pop().unwrap_or_default();
        bytes.clear();
        if watcher.keeps {
            bytes.extend_from_slice(record.bytes);
        }
        self.both_ways =
            self.both_ways || view.flow.protocol().is_some() && watcher.flows.contains(view.flow.reversed().key(SALT));
        self.not_ip += u64::from(view.network.is_none());
        let passage = Passage {
            number: record.number,
            arrived: self.now,
            view,
            link_type: record.link_type,
            pseudo: record.encapsulation.pseudo_header(),
            waited: Cell::default(),
            marked: Cell::default(),
        };
        let keys = Keys::of(&view, self.shaper.flow(), SALT);
        let packet = Captured::new(&view, keys, self.classes.of(&view), bytes, passage.on_wire(record.length), passage);
        self.depart(self.now)?;
        self.shaper.arrive(packet, self.now);
        self.shaper.meter_mut().check()
    }

    /// Executes all departures up to `now`.
    fn depart(&mut self, now: Instant) -> Result<(), F::Error> {
        self.shaper.advance(now);
        while let Some(released) = self.shaper.release(now) {
            let first = self.clock.first();
            self.shaper.meter_mut().sent(released.packet, released.due, first)?;
        }
        self.shaper.meter_mut().check()
    }

    /// Executes all remaining departures.
    fn drain(&mut self) -> Result<(), F::Error> {
        while let Some(at) = self.shaper.wakeup().filter(|at| *at < Instant::FAR_FUTURE) {
            self.now = self.now.max(at);
            self.depart(self.now)?;
        }
        Ok(())
    }

    fn finish(mut self, ended: Ended) -> Replayed {
        let watcher = self.shaper.meter_mut();
        let mut windows = watcher.meter.windows(self.now);
        let window = windows.pop().unwrap_or_else(|| Passed { to: self.now, ..Passed::default() });
        Replayed {
            window,
            flows: std::mem::take(&mut watcher.flows),
            unordered: self.clock.unordered,
            step: self.clock.step,
            steps: self.clock.steps,
            skipped: ended.skipped,
            not_ip: self.not_ip,
            left_out: self.left_out,
            cut: self.cut,
            both_ways: self.both_ways,
            damage: ended.damage,
        }
    }
}

/// A packet with its own copy of the bytes.
struct Held {
    record: Record<'static>,
    bytes: Vec<u8>,
}

impl Held {
    fn of(record: &Record<'_>) -> Self {
        Held { bytes: record.bytes.to_vec(), record: Record { bytes: &[], ..*record } }
    }

    fn record(&self) -> Record<'_> {
        Record { bytes: &self.bytes, ..self.record }
    }
}

/// Counts events and reports them to the observer.
struct Watcher<'a, F: Follow> {
    meter: Meter,
    flows: FlowCounts,
    keeps: bool,
    follow: &'a mut F,
    /// Buffers of departed packets, for reuse.
    spare: Vec<Vec<u8>>,
    /// The first error of the observer.
    error: Option<F::Error>,
}

impl<F: Follow> Watcher<'_, F> {
    fn check(&mut self) -> Result<(), F::Error> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn sent(&mut self, mut packet: Captured, left: Instant, first: u64) -> Result<(), F::Error> {
        let end = End::Sent { waited: packet.passage.waited.get(), left, marked: packet.passage.marked.get() };
        self.follow.fate(&fate(&packet, end))?;
        let at = first.saturating_add(left.as_nanos());
        let (link_type, length) = (packet.passage.link_type, packet.passage.in_file(packet.len()));
        self.follow.sent(&Sent { at, link_type, length, bytes: &packet.bytes() })?;
        self.spare.push(packet.take_bytes());
        Ok(())
    }
}

fn fate(packet: &Captured, end: End) -> Fate<'_> {
    Fate {
        number: packet.passage.number,
        arrived: packet.passage.arrived,
        length: packet.len(),
        class: packet.class(),
        flow: &packet.passage.view.flow,
        ecn: packet.passage.view.ecn,
        end,
    }
}

impl<F: Follow> Watch<Captured> for Watcher<'_, F> {
    fn offered(&mut self, packet: &Captured, now: Instant) {
        self.meter.offered(packet, now);
        self.flows.arrived(packet.connection(), packet.passage.view.flow, packet.len());
    }

    fn departed(&mut self, packet: &Captured, waited: Duration, transmission: Transmission, now: Instant) {
        packet.passage.waited.set(waited);
        self.meter.departed(packet, waited, transmission, now);
    }

    fn continued(&mut self, until: Instant, now: Instant) {
        Watch::<Captured>::continued(&mut self.meter, until, now);
    }

    fn dropped(&mut self, mut packet: Captured, why: Why, arrived: Instant, now: Instant) {
        self.flows.dropped(packet.connection());
        let told = self.follow.fate(&fate(&packet, End::Dropped { why, at: now }));
        self.error = self.error.take().or(told.err());
        self.spare.push(packet.take_bytes());
        self.meter.dropped(packet, why, arrived, now);
    }

    fn marked(&mut self, packet: &Captured, why: Why, arrived: Instant, now: Instant) {
        packet.passage.marked.set(Some(why));
        self.flows.marked(packet.connection());
        self.meter.marked(packet, why, arrived, now);
    }

    fn queue(&mut self, backlog: Backlog, now: Instant) {
        Watch::<Captured>::queue(&mut self.meter, backlog, now);
    }
}
