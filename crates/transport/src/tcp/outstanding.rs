//! The SACK scoreboard (RFC 6675): the sender's state of the data in flight.

use aqmkit_base::Instant;

use super::accurate::Counting;
use super::acks::DUP_THRESHOLD;
use super::clock::Alarm;
use super::prr::Prr;
use super::rack::Rack;
use super::ranges::{Range, Ranges};
use super::sent::Sent;
use super::undo::Undo;
use super::usage::Usage;
use crate::profile::{LossDetection, Profile};
use crate::segment::Segment;

/// The purpose of the sender's single timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WaitsFor {
    #[default]
    Retransmission,
    /// Tail loss probe (RFC 8985 section 7.2).
    Probe,
    /// The end of the reordering window (RFC 8985 section 6.2 step 5).
    Reordering,
}

/// A tail loss probe without an answer yet (RFC 8985 section 7.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// Answered when this is acknowledged (`TLP.end_seq`).
    pub(super) end: u64,
    /// Whether the probe was a retransmission (`TLP.is_retrans`).
    pub(super) resent: bool,
}

/// Allocated when SACK first reports anything, or at the start if segments are recorded, so that an endpoint that needs
/// neither stays small.
#[derive(Clone, Debug)]
pub(super) struct Outstanding {
    /// Ranges SACKed above the cumulative ACK.
    pub(super) sacked: Ranges,
    /// Above the data retransmitted in this recovery (`HighRxt`).
    pub(super) high_rxt: u64,
    /// No rescue retransmission until this is acknowledged (`RescueRxt`).
    pub(super) rescue_rxt: u64,
    pub(super) prr: Prr,
    /// Whether `prr` responds to a mark, with no known losses.
    pub(super) cwr: bool,
    pub(super) rack: Rack,
    pub(super) probe: Option<Probe>,
    pub(super) waits_for: WaitsFor,
    /// When the retransmission timer expires, whatever else the alarm is set for.
    pub(super) expires: Alarm,
    /// The segments in flight, if the profile or the congestion control needs the record.
    pub(super) sent: Option<Box<Sent>>,
    /// The state to restore if the last reduction proves spurious.
    pub(super) undo: Option<Box<Undo>>,
    /// The byte counters of accurate ECN.
    pub(super) counting: Option<Box<Counting>>,
    /// How much of the window is used.
    pub(super) usage: Usage,
    /// End of the last segment that was not full (Linux's `snd_sml`).
    pub(super) short_end: u64,
    /// Number of reductions undone.
    pub(super) undone: u32,
}

impl Default for Outstanding {
    fn default() -> Self {
        Outstanding {
            sacked: Ranges::default(),
            high_rxt: 0,
            rescue_rxt: 0,
            prr: Prr::default(),
            cwr: false,
            rack: Rack::default(),
            probe: None,
            waits_for: WaitsFor::default(),
            expires: Alarm::OFF,
            sent: None,
            undo: None,
            counting: None,
            usage: Usage::default(),
            short_end: 0,
            undone: 0,
        }
    }
}

/// The effect of one acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Brought {
    /// Bytes that were SACKed for the first time.
    pub(super) sacked: u64,
    /// Bytes delivered: acknowledged or SACKed for the first time (`DeliveredData` of RFC 6937).
    pub(super) delivered: u64,
}

impl Outstanding {
    /// `Update` of RFC 6675: processes an acknowledgement that is not old. `max` is above the data sent.
    pub(super) fn update(&mut self, seg: &Segment, una: u64, max: u64, now: Instant) -> Brought {
        let mut brought = Brought { sacked: 0, delivered: seg.ack - una - self.sacked.within(una, seg.ack) };
        self.sacked.remove_below(seg.ack);
        if let Some(sent) = &mut self.sent {
            sent.begin_ack();
            let rack = &mut self.rack;
            sent.on_acked(seg.ack, now, |e| rack.on_delivered(e, true, now));
        }
        for (start, end) in seg.options.held(seg.ack) {
            // A block above `SND.MAX` is invalid.
            if end <= max {
                brought.sacked += self.on_block(Range { start, end }, now);
            }
        }
        brought.delivered += brought.sacked;
        brought
    }

    /// Returns how many bytes of the block are new.
    fn on_block(&mut self, block: Range, now: Instant) -> u64 {
        let new = block.len() - self.sacked.within(block.start, block.end);
        if new == 0 {
            return 0;
        }
        // Only new parts are looked up in the record: a block grows by a segment at a time.
        if let Some(sent) = &mut self.sent {
            let mut gap = self.sacked.gap(block.start);
            while gap.start < block.end {
                let rack = &mut self.rack;
                let piece = Range { start: gap.start, end: gap.end.min(block.end) };
                sent.on_sacked(piece, now, |e| rack.on_delivered(e, false, now));
                gap = self.sacked.gap(piece.end);
            }
        }
        self.sacked.insert(block);
        new
    }

    /// `IsLost` of RFC 6675 holds for everything below this that is not SACKed: if it holds for a sequence number, it
    /// holds for all below.
    pub(super) fn lost_below(&self, p: &Profile) -> u64 {
        let (mut pieces, mut bytes, mut below) = (0, 0, 0);
        for range in self.sacked.as_slice().iter().rev() {
            pieces += 1;
            bytes += range.len();
            if pieces >= DUP_THRESHOLD || bytes > u64::from(DUP_THRESHOLD - 1) * p.mss.0 {
                below = range.start;
                break;
            }
        }
        if p.loss_detection == LossDetection::Fack {
            below = below.max(self.sacked.top().saturating_sub(u64::from(DUP_THRESHOLD) * p.mss.0));
        }
        below
    }

    /// `SetPipe` of RFC 6675: data neither lost nor SACKed, and retransmitted data.
    pub(super) fn pipe(&self, una: u64, max: u64, p: &Profile) -> u64 {
        let lost = self.lost_below(p).clamp(una, max);
        let again = self.high_rxt.clamp(una, max);
        (max - lost - self.sacked.within(lost, max)) + (again - una - self.sacked.within(una, again))
    }

    /// The first segment that is not SACKed, at or above `from` and below `below`.
    pub(super) fn hole(&self, from: u64, below: u64, mss: u64) -> Option<Range> {
        let gap = self.sacked.gap(from);
        (gap.start < below).then(|| Range { start: gap.start, end: gap.end.min(gap.start + mss) })
    }

    /// The last segment that is not SACKed (RFC 6675 `NextSeg` rule 4).
    pub(super) fn last_hole(&self, una: u64, max: u64, mss: u64) -> Option<Range> {
        let ranges = self.sacked.as_slice();
        let top = ranges.last().filter(|r| r.end >= max);
        let end = top.map_or(max, |r| r.start);
        let below = if top.is_some() { ranges.len().checked_sub(2) } else { ranges.len().checked_sub(1) };
        let start = below.map_or(una, |i| ranges[i].end).max(end.saturating_sub(mss));
        (start < end).then_some(Range { start, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_base::Bytes;

    fn profile(loss_detection: LossDetection) -> Profile {
        Profile { mss: Bytes(100), loss_detection, ..Profile::rfc() }
    }

    /// Segments of 100 bytes from 0 on; these were SACKed.
    fn scoreboard(sacked: &[u64]) -> Outstanding {
        let mut out = Outstanding::default();
        for n in sacked {
            out.on_block(Range { start: n * 100, end: n * 100 + 100 }, Instant::ZERO);
        }
        out
    }

    /// RFC 6675 section 4: three pieces above, or more than two segments' worth of bytes.
    #[test]
    fn a_segment_is_lost_below_three_pieces_or_more_than_two_segments() {
        let p = profile(LossDetection::Sack);
        for (sacked, lost) in [
            (&[][..], 0),
            (&[5], 0),
            (&[5, 6], 0),
            (&[5, 6, 7], 500),
            (&[5, 7, 9], 500),
            (&[2, 5, 7, 9], 500),
            (&[2, 5, 6, 7, 9], 500),
            (&[2, 7, 8, 9], 700),
        ] {
            assert_eq!(scoreboard(sacked).lost_below(&p), lost, "{sacked:?}");
        }
        // Pieces count, however short they are.
        let mut short = Outstanding::default();
        for (start, lost) in [(500, 0), (700, 0), (900, 500)] {
            short.on_block(Range { start, end: start + 10 }, Instant::ZERO);
            assert_eq!(short.lost_below(&p), lost);
        }
    }

    #[test]
    fn forward_acknowledgement_counts_holes_as_well() {
        let p = profile(LossDetection::Fack);
        assert_eq!(scoreboard(&[5]).lost_below(&p), 300);
        assert_eq!(scoreboard(&[2]).lost_below(&p), 0);
        assert_eq!(scoreboard(&[5, 6, 7]).lost_below(&p), 500);
    }

    /// Ten segments: 0, 1 and 4 are missing below 5, 6, 7; nothing is known about 8 and 9.
    #[test]
    fn the_pipe_counts_what_is_not_lost_and_what_was_sent_again() {
        let p = profile(LossDetection::Sack);
        let mut out = scoreboard(&[2, 3, 5, 6, 7]);
        assert_eq!(out.pipe(0, 1000, &p), 200);
        out.high_rxt = 200;
        assert_eq!(out.pipe(0, 1000, &p), 400);
        out.high_rxt = 500;
        assert_eq!(out.pipe(0, 1000, &p), 500);
        // 0 and 1 are acknowledged, and with them 2 and 3.
        let ack = Segment { ack: 400, ..Segment::default() };
        assert_eq!(out.update(&ack, 0, 1000, Instant::ZERO), Brought { sacked: 0, delivered: 200 });
        assert_eq!(out.pipe(400, 1000, &p), 300);
    }

    #[test]
    fn holes_are_found_in_order_and_the_last_from_above() {
        let out = scoreboard(&[2, 3, 5, 9]);
        let r = |start, end| Some(Range { start, end });
        assert_eq!(out.hole(0, 500, 100), r(0, 100));
        assert_eq!(out.hole(150, 500, 100), r(150, 200));
        assert_eq!(out.hole(200, 500, 100), r(400, 500));
        assert_eq!(out.hole(200, 400, 100), None);
        assert_eq!(out.last_hole(0, 1000, 100), r(800, 900));
        assert_eq!(out.last_hole(0, 1050, 100), r(1000, 1050));
        assert_eq!(scoreboard(&[]).last_hole(30, 70, 100), r(30, 70));
    }
}
