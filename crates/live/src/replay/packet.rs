//! A packet of a capture on its way through a queue.

use std::cell::Cell;

use aqmkit_aqm::{Packet, Why};
use aqmkit_base::{ClassId, Duration, Ecn, FlowKey, Instant};

use crate::wire::{self, View};

/// A packet of a capture.
#[derive(Debug)]
pub(super) struct Captured {
    /// Its place in the file.
    pub number: u64,
    /// When it came.
    pub arrived: Instant,
    /// Its length on the wire.
    pub len: u32,
    pub key: FlowKey,
    pub class: ClassId,
    /// What it was when it came.
    pub view: View,
    pub link_type: i32,
    /// Its codepoint now.
    pub ecn: Ecn,
    /// What was captured of it, where it is wanted again.
    pub bytes: Vec<u8>,
    /// What has happened to it: told to a watch, which sees it without owning it.
    pub waited: Cell<Duration>,
    pub marked: Cell<Option<Why>>,
}

impl Packet for Captured {
    fn len(&self) -> u32 {
        self.len
    }

    fn flow(&self) -> FlowKey {
        self.key
    }

    fn class(&self) -> ClassId {
        self.class
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
        if let Some(network) = self.view.network {
            wire::mark_ce(&mut self.bytes, network);
        }
    }
}
