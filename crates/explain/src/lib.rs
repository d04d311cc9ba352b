//! Explains the statistics of Linux's queue disciplines in sentences: `aqmkit explain`.
//!
//! Each rule under `rules` looks for one cause and states the numbers that it rests on. The heaviest finding is the answer. A rule concludes only from
//! what the kernel counts and from what the user adds ([`Known`]); where that leaves several causes, the sentence names them.
//!
//! Statistics count from the moment a discipline was attached. With two samples ([`Sample::earlier`]) they are of the time between.

mod device;
mod finding;
mod queue;
mod rules;
mod words;

use aqmkit_base::{BitRate, Duration};
use aqmkit_tc::Listing;

pub use device::Explained;
pub use finding::{Finding, Weight};

/// What the user knows and `tc` does not print.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    /// The rate of the slowest link on this way, for example of the modem.
    pub rate: Option<BitRate>,
    /// The usual round-trip time to servers.
    pub rtt: Option<Duration>,
}

/// Statistics at one time, or between two times.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The later, or only, listing.
    pub now: &'a Listing,
    /// An earlier listing of the same machine, and the time between the two.
    pub earlier: Option<(&'a Listing, Duration)>,
}

/// Explains each device of a sample, in the order of the listing.
#[must_use]
pub fn explain(sample: Sample<'_>, known: &Known) -> Vec<Explained> {
    device::all(sample, known)
}
