//! Loss response: the pseudo-code of "Updating the Model Upon Packet Loss" and of recovery.

use aqmkit_base::Instant;

use super::Phase::{ProbeBwUp, ProbeRtt, Startup};
use super::{Draft, Saved};

impl Draft {
    pub(super) fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round_delivered = self.delivered;
            if self.saved.at != Some(self.delivered) {
                self.save_cwnd();
                let bounds = (self.bw_shortterm, self.inflight_shortterm, self.inflight_longterm);
                self.saved = Saved { at: Some(self.delivered), bounds: Some(bounds), phase: None };
            }
        }
        self.loss_in_round = true;
    }

    /// A segment of the stream was lost, with what was in flight when it was sent and what was lost since.
    pub(in super::super) fn handle_lost_packet(
        &mut self,
        (start, end): (u64, u64),
        tx_in_flight: u64,
        lost: u64,
        app_limited: bool,
        now: Instant,
    ) {
        self.note_loss();
        if start != self.lost_piece_end {
            self.lost_pieces += 1;
        }
        self.lost_piece_end = end;
        if lost as f64 > 0.02 * tx_in_flight as f64 {
            // The data in flight when the losses exceeded 2 % of it.
            let size = end - start;
            let inflight_prev = tx_in_flight.saturating_sub(size);
            let lost_prev = lost.saturating_sub(size);
            let lost_prefix = (0.02 * inflight_prev as f64 - lost_prev as f64) / (1.0 - 0.02);
            self.handle_inflight_too_high(inflight_prev + lost_prefix.max(0.0) as u64, app_limited, now);
        }
    }

    pub(super) fn handle_inflight_too_high(&mut self, inflight: u64, app_limited: bool, now: Instant) {
        if !self.bw_probe_samples {
            return;
        }
        (self.bw_probe_samples, self.prev_probe_too_high) = (false, true);
        if !app_limited {
            let target_inflight = self.bdp_multiple(self.bw, 1.0).min(self.cwnd);
            self.inflight_longterm = inflight.max((0.7 * target_inflight as f64) as u64);
        }
        if self.phase == ProbeBwUp {
            self.saved.phase = Some(ProbeBwUp);
            self.start_probe_bw_down(now);
        }
    }

    pub(in super::super) fn on_enter_fast_recovery(&mut self, flight: u64, now: Instant) {
        self.note_loss();
        (self.in_recovery, self.in_fast_recovery) = (true, true);
        if !self.set.sees_losses {
            self.handle_inflight_too_high(flight, false, now);
        }
    }

    pub(in super::super) fn on_enter_rto(&mut self) {
        self.note_loss();
        (self.in_recovery, self.in_fast_recovery) = (true, false);
        self.cwnd = self.set.smss;
    }

    pub(in super::super) fn on_exit_recovery(&mut self) {
        (self.in_recovery, self.in_fast_recovery) = (false, false);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    pub(in super::super) fn handle_spurious_loss_detection(&mut self) {
        self.on_exit_recovery();
        self.loss_in_round = false;
        self.reset_full_bw(0.0);
        let saved = std::mem::take(&mut self.saved);
        if let Some((bw, short, long)) = saved.bounds {
            self.bw_shortterm = self.bw_shortterm.max(bw);
            self.inflight_shortterm = self.inflight_shortterm.max(short);
            self.inflight_longterm = self.inflight_longterm.max(long);
        }
        if saved.phase == Some(Startup) && self.phase != Startup {
            self.full_bw_reached = false;
        }
        if self.phase != ProbeRtt && saved.phase.is_some_and(|phase| phase != self.phase) {
            match saved.phase {
                Some(Startup) => self.phase = Startup,
                _ => self.start_probe_bw_refill(),
            }
        }
    }
}
