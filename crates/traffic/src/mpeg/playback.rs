//! The receiver: determines which frames are complete and which are playable.

use super::movie::Movie;

/// Number of frames that are remembered. Packets of a frame this far behind the newest are too late.
const WINDOW: usize = 4 * super::movie::MAX_GAP;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The frame number plus 1; 0 for an empty slot.
    frame: u64,
    packets: u32,
    complete: bool,
    playable: bool,
}

/// A receiver of a movie.
///
/// A frame is *received* when all of its packets are, and *playable* when all frames that it refers to are playable,
/// too. Packets may arrive in any order.
#[derive(Clone, Debug)]
pub struct Playback {
    slots: Vec<Slot>,
    /// Number of complete frames.
    pub received: u64,
    /// Number of playable frames.
    pub playable: u64,
}

impl Default for Playback {
    fn default() -> Self {
        Playback { slots: vec![Slot::default(); WINDOW], received: 0, playable: 0 }
    }
}

impl Playback {
    /// Records a packet of frame `n` of the stream, which has `packets` packets. Frame 0 of the stream is frame `first`
    /// of the movie.
    pub fn packet(&mut self, movie: &Movie, first: u64, n: u64, packets: u32) {
        let slot = &mut self.slots[(n % WINDOW as u64) as usize];
        if slot.frame > n + 1 {
            return; // Too late: the slot belongs to a later frame.
        }
        if slot.frame < n + 1 {
            *slot = Slot { frame: n + 1, ..Slot::default() };
        }
        slot.packets += 1;
        if slot.packets == packets {
            slot.complete = true;
            self.received += 1;
            self.mark_playable(movie, first, n);
        }
    }

    /// Finds frames that have become playable now that frame `n` is complete.
    fn mark_playable(&mut self, movie: &Movie, first: u64, n: u64) {
        let gap = movie.gap() as u64;
        let (mut low, mut high) = (n, n);
        // A playable frame only affects frames within `gap`, and these affect frames within theirs.
        while let Some(done) = (low..=high).find(|&m| self.can_play(movie, first, m)) {
            self.slots[(done % WINDOW as u64) as usize].playable = true;
            self.playable += 1;
            low = low.min(done.saturating_sub(gap));
            high = high.max(done + gap);
        }
    }

    /// Whether frame `m` is complete, not yet counted, and has only playable references.
    fn can_play(&self, movie: &Movie, first: u64, m: u64) -> bool {
        let new = self.slot(m).is_some_and(|s| s.complete && !s.playable);
        if !new {
            return false;
        }
        let frame = movie.frame(first + m);
        let shown = |r: Option<u64>| r.and_then(|r| self.slot(r)).is_some_and(|s| s.playable);
        let (back, ahead) = (u64::from(frame.back), u64::from(frame.ahead));
        (back == 0 || shown(m.checked_sub(back))) && (ahead == 0 || shown(Some(m + ahead)))
    }

    fn slot(&self, n: u64) -> Option<&Slot> {
        self.slots.get((n % WINDOW as u64) as usize).filter(|s| s.frame == n + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::movie::{Kind, pattern};
    use super::*;

    fn movie(closed: bool) -> Movie {
        let frames: Vec<_> = pattern("IBBPBB").unwrap().into_iter().map(|k| (k, 100)).collect();
        Movie::new(&frames, closed).unwrap()
    }

    /// Number of unplayable frames if only frame `lost` of 60 is lost.
    fn effective(closed: bool, lost: u64) -> u64 {
        let movie = movie(closed);
        let mut playback = Playback::default();
        // The last frames of an open group need one more I frame.
        for n in (0..61).filter(|&n| n != lost) {
            playback.packet(&movie, 0, n, 1);
        }
        assert_eq!(playback.received, 60);
        61 - playback.playable
    }

    #[test]
    fn an_open_group_loses_eight_five_and_one() {
        let lost: Vec<u64> = (30..36).map(|n| effective(false, n)).collect();
        assert_eq!(lost, [8, 1, 1, 5, 1, 1]); // Table A.6.
    }

    #[test]
    fn a_closed_group_loses_six_five_and_one() {
        let lost: Vec<u64> = (30..36).map(|n| effective(true, n)).collect();
        assert_eq!(lost, [6, 1, 1, 5, 1, 1]); // Chapter V: 6 for an I frame.
    }

    #[test]
    fn nothing_lost_is_all_playable_in_any_order() {
        let movie = movie(false);
        let mut playback = Playback::default();
        for n in (0..600).map(|n: u64| n ^ 3).chain(600..601) {
            for _ in 0..3 {
                playback.packet(&movie, 6, n, 3);
            }
        }
        assert_eq!((playback.received, playback.playable), (601, 601));
    }

    #[test]
    fn a_frame_needs_all_its_packets_and_not_too_late() {
        let movie = movie(false);
        let mut playback = Playback::default();
        playback.packet(&movie, 0, 0, 2);
        assert_eq!(playback.received, 0);
        playback.packet(&movie, 0, WINDOW as u64, 1);
        playback.packet(&movie, 0, 0, 2);
        assert_eq!((playback.received, playback.playable), (1, 1));
        assert_eq!(movie.frame(0).kind, Kind::I);
    }
}
