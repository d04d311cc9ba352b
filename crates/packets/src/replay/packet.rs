//! The record of a captured packet while it is in the queue.

use std::cell::Cell;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};

use crate::frame::Frame;
use crate::wire::View;

/// Bytes of the Ethernet header, for which a pseudo-header stands.
const ETHERNET: u32 = 14;

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
    /// The length of its pseudo-header, if it has one in the place of a header on the wire.
    pub pseudo: Option<u32>,
    /// The sojourn time; in a cell, because observers see packets without owning them.
    pub waited: Cell<Duration>,
    pub marked: Cell<Option<Why>>,
}

impl Passage {
    /// The length on the wire of a packet with this length in the file.
    pub(super) fn on_wire(&self, length: u32) -> u32 {
        self.pseudo.map_or(length, |pseudo| length.saturating_sub(pseudo) + ETHERNET)
    }

    /// The length in the file of a packet with this length on the wire.
    pub(super) fn in_file(&self, length: u32) -> u32 {
        self.pseudo.map_or(length, |pseudo| length.saturating_sub(ETHERNET) + pseudo)
    }
}
