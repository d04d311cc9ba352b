//! The record of a captured packet while it is in the queue.

use std::cell::Cell;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};

use crate::frame::Frame;
use crate::wire::View;

/// A packet of a capture.
pub(super) type Captured = Frame<Passage>;

/// The origin of the packet, and its state.
#[derive(Debug)]
pub(super) struct Passage {
    /// Its number in the file.
    pub number: u64,
    /// Its arrival.
    pub arrived: Instant,
    /// Its headers on arrival.
    pub view: View,
    pub link_type: i32,
    /// The sojourn time; in a cell, because observers see packets without owning them.
    pub waited: Cell<Duration>,
    pub marked: Cell<Option<Why>>,
}
