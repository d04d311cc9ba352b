//! The path between two ends.

use std::fmt;
use std::time;

use aqmkit_base::{Instant, ParamError};

use crate::chart::chart;
use crate::clock;
use crate::datagram::{Arrival, Datagram, End};
use crate::direction::Direction;
use crate::link::Link;
use crate::report::Report;
use crate::svg::svg;

/// A path between the ends A and B, with a bottleneck in each direction, for datagrams with contents of type `T`.
///
/// Every call has the time since the start. Time does not run backwards: an earlier time than that of a call before
/// counts as that one. Late calls change nothing in what happens on the path, except that what a test sends late is
/// sent late.
pub struct Path<T> {
    there: Direction<T>,
    back: Direction<T>,
    now: Instant,
}

impl<T: 'static> Path<T> {
    /// A path that has this link in both directions. All random decisions derive from the seed.
    ///
    /// # Errors
    /// For a setting that cannot be read, and one that the discipline refuses: says which, and what would be right.
    pub fn new(link: &Link, seed: u64) -> Result<Self, ParamError> {
        Path::between(link, link, seed)
    }

    /// A path with one link from A to B, and another one back.
    ///
    /// # Errors
    /// As [`Path::new`].
    pub fn between(there: &Link, back: &Link, seed: u64) -> Result<Self, ParamError> {
        Ok(Path {
            there: Direction::new(there, "there", seed)?,
            back: Direction::new(back, "back", seed)?,
            now: Instant::ZERO,
        })
    }

    /// Sends a datagram from one end to the other. The queue may drop it at once, which only the results tell.
    pub fn send(&mut self, from: End, datagram: Datagram<T>, now: time::Duration) {
        let now = self.at(now);
        self.of_mut(from).send(datagram, now);
    }

    /// When something happens next on the path: call [`Path::poll`] then. `None` if nothing is under way.
    ///
    /// Not every deadline brings an arrival, since it may be that of a packet that leaves the queue. It may change with
    /// every call of another method.
    #[must_use]
    pub fn deadline(&self) -> Option<time::Duration> {
        let next = self.there.deadline().into_iter().chain(self.back.deadline()).min()?;
        Some(clock::since_start(next.max(self.now)))
    }

    /// The next datagram that has arrived at either end by `now`, in the order of arrival; at the same time, those at B
    /// first. Call it until it returns `None`.
    pub fn poll(&mut self, now: time::Duration) -> Option<Arrival<T>> {
        let now = self.at(now);
        self.there.advance(now);
        self.back.advance(now);
        let [b, a] = [&self.there, &self.back].map(|direction| direction.next_due().unwrap_or(Instant::FAR_FUTURE));
        let to = if b <= a { End::B } else { End::A };
        let (at, datagram) = self.of_mut(to.other()).take(now)?;
        Some(Arrival { at: clock::since_start(at), to, datagram })
    }

    /// Packets that wait in the queue of those that `from` has sent, up to the latest call.
    #[must_use]
    pub fn waiting(&self, from: End) -> u64 {
        self.of(from).waiting()
    }

    /// The numbers of what `from` has sent, from the start until the latest call or event.
    #[must_use]
    pub fn report(&self, from: End) -> Report {
        self.window(from, time::Duration::ZERO..clock::since_start(self.end()))
    }

    /// The numbers of a part of the run: packets that arrived at the queue, left it, or arrived at the other end from
    /// the start of the window until its end.
    #[must_use]
    pub fn window(&self, from: End, window: std::ops::Range<time::Duration>) -> Report {
        let direction = self.of(from);
        Report::new(direction.log(), &direction.info(), clock::instant(window.start), clock::instant(window.end))
    }

    /// The queueing delay of what `from` has sent over time, as a chart of text with the moments of drops, losses and
    /// marks. `Display` of the path shows it for both directions.
    #[must_use]
    pub fn chart(&self, from: End) -> String {
        chart(self.of(from).log(), self.end())
    }

    /// The same as an SVG file.
    #[must_use]
    pub fn svg(&self, from: End) -> String {
        let title = self.title(from);
        svg(self.of(from).log(), self.end(), &title)
    }

    /// A hash of all events so far. Two runs with equal digests were alike, to the nanosecond.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.there.log().digest() ^ self.back.log().digest().rotate_left(1)
    }

    fn end(&self) -> Instant {
        self.now.max(self.there.log().end()).max(self.back.log().end())
    }

    fn title(&self, from: End) -> String {
        let ends = match from {
            End::A => "A to B",
            End::B => "B to A",
        };
        format!("{ends}: {}", self.of(from).title())
    }

    fn of(&self, from: End) -> &Direction<T> {
        match from {
            End::A => &self.there,
            End::B => &self.back,
        }
    }

    fn of_mut(&mut self, from: End) -> &mut Direction<T> {
        match from {
            End::A => &mut self.there,
            End::B => &mut self.back,
        }
    }

    fn at(&mut self, now: time::Duration) -> Instant {
        self.now = self.now.max(clock::instant(now));
        self.now
    }
}

impl<T: 'static> fmt::Display for Path<T> {
    /// Both directions: numbers, and a chart where something was sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for from in [End::A, End::B] {
            let report = self.report(from);
            write!(f, "\n{}\n{report}\n", self.title(from))?;
            if report.offered > 0 {
                f.write_str(&self.chart(from))?;
            }
        }
        Ok(())
    }
}

impl<T: 'static> fmt::Debug for Path<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path").field("now", &self.now).finish_non_exhaustive()
    }
}
