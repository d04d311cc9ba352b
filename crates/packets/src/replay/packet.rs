//! A captured packet while it is queued.

use std::cell::Cell;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};

use crate::frame::Frame;
use crate::wire::View;

/// Length of the Ethernet header, which a pseudo-header replaces.
const ETHERNET: u32 = 14;

/// A packet of a capture.
pub(super) type Captured = Frame<Passage>;

/// Data attached to a queued packet.
#[derive(Debug)]
pub(super) struct Passage {
    /// Packet number in the file.
    pub number: u64,
    /// Arrival time.
    pub arrived: Instant,
    /// Parsed headers on arrival.
    pub view: View,
    pub link_type: i32,
    /// Length of its pseudo-header, if the capture has one in place of the link-layer header.
    pub pseudo: Option<u32>,
    /// Sojourn time; a `Cell`, because observers only borrow packets.
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
