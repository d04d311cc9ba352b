//! The record of a captured packet while it is in the queue.

use std::cell::Cell;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};

use crate::frame::Frame;
use crate::wire::View;

/// A packet of a capture.
pub(super) type Captured = Frame<Story>;

/// Where it comes from, and what has happened to it.
#[derive(Debug)]
pub(super) struct Story {
    /// Its place in the file.
    pub number: u64,
    /// When it came.
    pub arrived: Instant,
    /// What it was when it came.
    pub view: View,
    pub link_type: i32,
    /// What happens is told to a watch, which sees the packet without owning it.
    pub waited: Cell<Duration>,
    pub marked: Cell<Option<Why>>,
}
